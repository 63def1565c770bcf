"""The checks of docs/ARCHITECTURE.md, whose tables say which module may use which, and of cycles.

Each check is a function from {path: text} to a list of "path:line: what is wrong"; test_rules.py breaks each one once.
"""
import re

import cycles
from source import included, is_code, matches

PAGE = "docs/ARCHITECTURE.md"


def table_under(text, heading, number=0):
    """The rows of a Markdown table below a heading, as lists of cells, without its head."""
    below = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\n)+", below + "\n", re.M)
    if len(tables) <= number:
        return []
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in tables[number].splitlines()[2:]]


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def modules(files):
    """{module: (modules that it may use, its public headers)}, as the page says."""
    return {row[0]: (set(re.findall(r"[\w/]+", row[1])), set(quoted(row[2])))
            for row in table_under(files.get(PAGE, ""), "Who may use whom")}


def module_of(path):
    """The module of a file: "storage", for server/http/http.h "http", for base/net/curl.c "base/net"."""
    parts = path.split("/")
    if parts[0] == "server":
        return parts[1] if len(parts) > 2 else "server"
    return "base/net" if path.startswith("base/net/") else parts[0]


def check_architecture(files):
    """What the page names exists, and its table has no cycle."""
    text, problems = files.get(PAGE, ""), []
    folders = {"/".join(path.split("/")[:depth]) + "/" for path in files for depth in range(1, path.count("/") + 1)}
    table = modules(files)
    for name, (uses, headers) in table.items():
        folder = next((folder for folder in (f"{name}/", f"server/{name}/") if folder in folders), None)
        if not folder:
            problems.append(f"{PAGE}: there is no module {name}")
        else:
            problems += [f"{PAGE}: there is no {folder}{header}" for header in sorted(headers) if folder + header not in files]
        problems += [f"{PAGE}: {name} uses {used}, which has no row" for used in sorted(uses - set(table))]
    for group in cycles.components({name: uses for name, (uses, _) in table.items()}):
        problems.append(f"{PAGE}: these modules use each other: {' '.join(group)}")
    described = {row[0].strip("`") for row in table_under(text, "Modules")}
    with_code = {path.rpartition("/")[0] + "/" for path in files if is_code(path) and path.endswith(".c")}
    problems += [f"{PAGE}: {folder} has no row" for folder in sorted(with_code - described)]
    for row in table_under(text, "Modules"):
        folder = row[0].strip("`")
        if "*" not in folder and folder not in folders:
            problems.append(f"{PAGE}: there is no {folder}")
        for name in quoted(row[2]):
            if not any(path == name or path.endswith("/" + name) for path in files) and name not in folders:
                problems.append(f"{PAGE}: there is no {name}")
    return problems


def check_dependencies(files):
    """A module uses only the modules it may, and only their public headers."""
    problems, table = [], modules(files)
    for path, line, found in matches(files, r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"'):
        target, here = included(path, found.group(1)), module_of(path)
        if target not in files:
            problems.append(f'{path}:{line}: "{target}" is not a path from the top of the tree')
            continue
        there = module_of(target)
        if there in (here, "base"):
            continue
        if there not in table.get(here, ((), ()))[0]:
            problems.append(f"{path}:{line}: {here} may not use {there}")
        elif target.partition(f"{there}/")[2] not in table.get(there, ((), ()))[1]:
            problems.append(f'{path}:{line}: "{target}" is private to {there}')
    return problems


def check_homes(files):
    """A third-party header is included in its library's home only."""
    problems = []
    homes = {quoted(row[0])[0]: quoted(row[1]) for row in table_under(files.get(PAGE, ""), "Who may use whom", 1)}
    for path, line, found in matches(files, r"^[ \t]*#[ \t]*include[ \t]+<([^>]+)>"):
        header = found.group(1)
        for library, places in homes.items():
            if header == library or (library.endswith("/") and header.startswith(library)):
                if not path.startswith(tuple(places)):
                    problems.append(f"{path}:{line}: <{header}> is used in {' and '.join(places)} only")
    return problems


def check_cycles(files):
    """No file and no module uses itself through others."""
    tree = cycles.Tree(files)
    problems = [f"{path}:1: in a cycle ({kind}): {cycles.chain(cycle)}"
                for kind, cycle in cycles.find(tree) for path in cycle.files]
    return problems + [f"{parent}{module}:1: in a cycle of modules: {' '.join(group)}"
                       for parent, group in cycles.module_cycles(tree) for module in group]


CHECKS = {
    "architecture": check_architecture,
    "dependencies": check_dependencies,
    "homes": check_homes,
    "cycles": check_cycles,
}
