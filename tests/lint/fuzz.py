"""tests/fuzz/README.md lists the functions that take bytes of strangers and the fuzz target of each; this checks that it is true.

A check is a function from {path: text} to a list of "path: what is wrong", as in rules.py.
"""
import re

from source import line_of, without_comments

PAGE = "tests/fuzz/README.md"
TARGET = re.compile(r"^tests/fuzz/fuzz_(\w+)\.c$")
CMAKE = re.compile(r"fz_fuzz_target\((\w+)([^)]*)\)")
PARSER = re.compile(r"\b(\w+_(?:parse|decode))\(\s*(?:const\s+)?struct fz_span\b")
WHOSE = ("base/", "symbolicator/", "storage/", "server/")


def corpora(files):
    """{corpus: target} of the lists of targets."""
    found = {}
    for path, text in files.items():
        if path.startswith("tests/fuzz/") and path.endswith((".cmake", "CMakeLists.txt")):
            for name, rest in CMAKE.findall(re.sub(r"#.*", "", text)):
                names = rest.partition("CORPORA")[2].split() or [name]
                found.update(dict.fromkeys(names, name))
            for names in re.findall(r"foreach\(name ([\w ]+)\)\s+fz_fuzz_target\(\$\{name\}", text):
                found.update({name: name for name in names.split()})
    return found


def check_fuzz(files):
    """Rows name functions and targets that there are and that belong together; no target and no parser is without a row."""
    page, known, problems = files[PAGE], corpora(files), []
    programs = {TARGET.match(path)[1]: without_comments(text) for path, text in files.items() if TARGET.match(path)}
    listed = set()
    for found in re.finditer(r"^\|[^|\n]*\|([^|\n]*`[^|\n]*)\|([^|\n]*)\|$", page, re.M):
        where = f"{PAGE}:{line_of(page, found.start())}"
        functions, targets = (re.findall(r"`(\w+)`", text) for text in found.groups())
        listed.update(targets)
        problems += [f"{where}: no target is named {target}" for target in targets if target not in known]
        problems += [f"tests/fuzz/fuzz_{known[target]}.c:1: has no {function}(), as {where} says" for function in functions
                     for target in targets if target in known and not re.search(rf"\b{function}\b", programs.get(known[target], ""))]
    problems += [f"{PAGE}: no row has the target {corpus}" for corpus in sorted(set(known) - listed)]
    problems += [f"tests/fuzz/fuzz_{name}.c:1: no list has this target" for name in sorted(set(programs) - set(known.values()))]
    problems += [f"tests/fuzz/corpus/{corpus}: has no file" for corpus in sorted(known)
                 if not any(path.startswith(f"tests/fuzz/corpus/{corpus}/") for path in files)]
    for path, text in sorted(files.items()):
        if path.startswith(WHOSE) and path.endswith(".h"):
            bare = without_comments(text)
            problems += [f"{path}:{line_of(bare, found.start())}: {found[1]}() takes bytes and is not in {PAGE}"
                         for found in PARSER.finditer(bare) if f"`{found[1]}`" not in page]
    return problems


CHECKS = {"fuzz": check_fuzz}
