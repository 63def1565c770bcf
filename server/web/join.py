"""Modules of the page as few files: a browser fetches three instead of eighty, and together they compress to two thirds.

join() copies the modules as they are, each into a function of its own that returns what it exports, after those that it imports. So names
of one module stay its own, and nothing is renamed or left out; import.meta.url becomes the address that the module itself would have:

    import { a, b as c } from "../lib/x.js";      ->      const lib_y = (() => {
    export const d = a + c;                               const { a, b: c } = lib_x;
                                                          const d = a + c;
                                                          return { d };
                                                          })();

There are three files: what `early` imports, which is small and runs first; what `starts` import beyond that; and the rest, which is loaded by the first
import() of any of it. Each has a source map with the sources, so that a debugger shows the files of the tree.
"""
import json
import posixpath
import re
import sys

EARLY, FIRST, REST = "early.js", "app.js", "rest.js"

# Not import(): that is for what is loaded later.
IMPORT = re.compile(r'^import\s*(?:(\w+)|\{([^}]*)\})\s*from\s*"(\.[^"]+)";', re.M)
FROM = re.compile(r'^export\s*\{([^}]*)\}\s*from\s*"(\.[^"]+)";', re.M)
DECLARED = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.M)
LISTED = re.compile(r"(?:^|(?<=[;}]))export\s*\{([^}]*)\};?\s*(?:$|(?=//# ))", re.M)
DEFAULT = re.compile(r"(?:^|(?<=[;}]))export default (?=function)", re.M)
# Of a library: its map is not here.
MAP = re.compile(r"^//# sourceMappingURL=.*", re.M)
LATER = re.compile(r'\bimport\("(\.[^"]+)"\)')


def target(path, name):
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def name_of(path):
    return re.sub(r"\W", "_", posixpath.splitext(path)[0])


def imports_of(path, text):
    return [target(path, found.group(found.re.groups)) for pattern in (IMPORT, FROM) for found in pattern.finditer(text)]


def order(files, starts, known=()):
    """The paths of `starts` and of what they import, each after what it imports; without those in `known`."""
    done, open_ = [], []

    def visit(path):
        if path in done or path in known:
            return
        if path not in files:
            sys.exit(f"{path} is imported and not there")
        if path in open_:
            sys.exit(f"{path} imports itself, by way of {', '.join(open_[open_.index(path) + 1:])}")
        open_.append(path)
        for one in imports_of(path, files[path]):
            visit(one)
        open_.pop()
        done.append(path)

    for start in starts:
        visit(start)
    return done


def pairs(text):
    """Of "a, b as c": ("a", "a"), ("b", "c")."""
    return [(words[0], words[-1]) for words in (part.split() for part in text.split(",")) if words]


def as_function(path, text, first):
    """The module as an expression that gives its exports. Lines stay where they are."""
    exports = []

    def imported(found):
        default, names, name = found.groups()
        wanted = [("default", default)] if default else pairs(names)
        return f"const {{ {', '.join(a if a == b else f'{a}: {b}' for a, b in wanted)} }} = {name_of(target(path, name))};"

    def listed(found):
        exports.extend((out, name) for name, out in pairs(found.group(1)))
        return ""

    def passed(found):
        source = name_of(target(path, found.group(2)))
        exports.extend((out, f"{source}.{name}") for name, out in pairs(found.group(1)))
        return ""

    def later(found):
        to = target(path, found.group(1))
        return f"Promise.resolve().then(() => {name_of(to)})" if to in first else f'import("./{REST}").then((all) => all.{name_of(to)})'

    # Where the module itself would be: both files are in the folder of all.
    text = MAP.sub("", text).replace("import.meta.url", f'new URL("{path}", import.meta.url)')
    exports += [(name, name) for name in DECLARED.findall(text)]
    text = IMPORT.sub(imported, text)
    text = LISTED.sub(listed, FROM.sub(passed, DECLARED.sub("", LATER.sub(later, text))))
    if DEFAULT.search(text):
        exports.append(("default", "default_"))
        text = DEFAULT.sub("const default_ = ", text)
    left = re.search(r"^(?:import\s*[\w{*]|export\s*(?:[{*]|default\b|let\b)).*", text, re.M)
    if left:
        sys.exit(f"{path}: join.py does not know this form: {left.group()}")
    given = ", ".join(out if out == name else f"{out}: {name}" for out, name in exports)
    return f"const {name_of(path)} = (() => {{ {text.rstrip()}\nreturn {{ {given} }}; }})();\n"


def number(value):
    """Of a source map: base64 VLQ."""
    digits, rest = "", abs(value) * 2 + (value < 0)
    while True:
        rest, low = rest >> 5, rest & 31
        digits += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[low + (32 if rest else 0)]
        if not rest:
            return digits


def source_map(file, parts, sources):
    """Says of each line from which it is. `parts`: path and number of lines, in order; "" for what is of no module."""
    rows, line_before, names = [], 0, [path for path, _ in parts if path]
    for path, n in parts:
        for line in range(n):
            is_next = path and line == 0 and path != names[0]
            rows.append("A" + number(int(bool(is_next))) + number(line - line_before) + "A" if path else "")
            line_before = line if path else line_before
    return json.dumps({"version": 3, "file": file, "sources": names, "sourcesContent": [sources[path] for path in names], "names": [],
                       "mappings": ";".join(rows)}, separators=(",", ":"))


def one_file(file, paths, head, tail, files, sources, first):
    texts = [as_function(path, files[path], first) for path in paths]
    parts = [("", head.count("\n")), *((path, text.count("\n")) for path, text in zip(paths, texts))]
    return {file: f"{head}{''.join(texts)}{tail}//# sourceMappingURL={file}.map\n", f"{file}.map": source_map(file, parts, sources)}


def join(files, sources, starts, early=()):
    """The files for a browser from {path: text}; `sources` has the texts as they are in the tree."""
    ahead = order(files, early)
    first = order(files, starts, ahead)
    known = ahead + first
    later = [target(path, name) for path, text in sorted(files.items()) for name in LATER.findall(text)]
    rest = order(files, sorted(set(later) - set(known)), known)

    def needed(paths, of):
        return sorted({name_of(one) for path in paths for one in imports_of(path, files[path]) if one in of} | {name_of(one) for one in later if one in of})

    def head(paths, *others):
        names = [(", ".join(needed(paths, of)), file) for of, file in others]
        return "".join(f'import {{ {shared} }} from "./{file}";\n' for shared, file in names if shared)

    def tail(names):
        return f"export {{ {', '.join(names)} }};\n"

    made = one_file(FIRST, first, head(first, (ahead, EARLY)), tail(needed(rest, first)), files, sources, known)
    if ahead:
        made |= one_file(EARLY, ahead, "", tail(needed(first + rest, ahead)), files, sources, known)
    if rest:
        given = [name_of(path) for path in later if path not in known]
        made |= one_file(REST, rest, head(rest, (ahead, EARLY), (first, FIRST)), tail(given), files, sources, known)
    return made
