#!/usr/bin/env python3
"""The files of the page as a C source: embed.py FOLDER OUTPUT BROTLI [NAME=FILE…]. BROTLI: the program brotli. NAME: the path of a file that is not in
the folder.

Every file that a browser may ask for is written three times, plain and as gzip and brotli, without comments and indentation. All styles become one
file, and all modules three (join.py). All are under one prefix with the hash of all of them, so that relative imports work and each file can be
cached for ever. index.html is the only one that is not: its {{assets}} becomes that prefix, and {{styles}} the link to the styles.
"""
import gzip
import hashlib
import pathlib
import re
import subprocess
import sys

import join

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".zip": "application/zip",
}
# The page, and the screen that it begins with nearly always.
FIRST_SCREEN = ("app.js", "screens/issues.js")
# What asks for the data meanwhile.
EARLY = ("early.js",)
# What the other styles build on.
FIRST_STYLES = ("style/base.css", "style/tokens.css")
STYLE = "style.css"


# A line, or several, with nothing but a comment; and what each line begins with.
COMMENT = re.compile(r"^[ \t]*(?:/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)[ \t]*$", re.M)
# A type inside of a line; nothing that the page shows is written like it.
INNER_TYPE = re.compile(r"/\*\* @type [^*\n]*\*/ ?")
INDENT = re.compile(r"^[ \t]+", re.M)


def without_comments(path, data):
    """What a browser needs of a file: comments, types and indentation are a fifth of all that is sent. Lines stay where they are,
    so that an error names the line of the source."""
    if path.startswith("vendor/") or not path.endswith((".js", ".css")):
        return data
    text = COMMENT.sub(lambda found: "\n" * found.group().count("\n"), data.decode())
    return INNER_TYPE.sub("", INDENT.sub("", text)).encode()


def make_index(files, prefix):
    lists = {
        "{{assets}}": prefix,
        "{{styles}}": f'<link rel="stylesheet" href="{prefix}/{STYLE}">',
    }
    text = files["index.html"].decode()
    for name, value in lists.items():
        text = text.replace(name, value)
    return text.encode()


def join_styles(files):
    """All styles as one file: many small ones compress to half as much again."""
    paths = sorted((path for path in files if path.startswith("style/")), key=lambda path: (path not in FIRST_STYLES, path))
    files[STYLE] = b"".join(files.pop(path) for path in paths)


def make_files(found):
    """What is served, from what is in the folder."""
    files = {path: without_comments(path, data) for path, data in found.items()}
    join_styles(files)
    modules = {path: files.pop(path).decode() for path in sorted(files) if path.endswith((".js", ".mjs"))}
    sources = {path: found[path].decode() for path in modules}
    return files | {path: text.encode() for path, text in join.join(modules, sources, FIRST_SCREEN, EARLY).items()}


def c_array(name, data):
    rows = [",".join(map(str, data[at:at + 40])) for at in range(0, len(data), 40)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "};\n"


def brotli(program, data):
    # Python's standard library has none.
    made = subprocess.run([program, "--quality=11", "--lgwin=22", "--stdout"], input=data, stdout=subprocess.PIPE, check=False)
    if made.returncode != 0:
        sys.exit(f"{program} failed with status {made.returncode}")
    return made.stdout


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = {path.relative_to(folder).as_posix(): path.read_bytes()
             for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in TYPES}
    for name, path in (argument.split("=", 1) for argument in sys.argv[4:]):
        found[name] = pathlib.Path(path).read_bytes()
    files = make_files(found)
    whole = hashlib.sha256()
    for path, data in sorted(files.items()):
        whole.update(f"{path}\0{len(data)}\0".encode() + data)
    tag = whole.hexdigest()[:16]
    files["index.html"] = make_index(files, f"/assets/{tag}")
    arrays, rows = [], []
    for i, (path, data) in enumerate(sorted(files.items())):
        forms = {"plain": data, "gzip": gzip.compress(data, 9, mtime=0), "brotli": brotli(sys.argv[3], data)}
        arrays += [c_array(f"{name}_{i}", form) for name, form in forms.items()]
        arguments = ", ".join(f"{name}_{i}, sizeof({name}_{i})" for name in forms)
        rows.append(f'    {{"{path}", "{TYPES[pathlib.Path(path).suffix]}", {arguments}}},\n')
    output.write_text('#include "server/web/files.h"\n\n' + "".join(arrays) +
                      f'const char web_files_tag[] = "{tag}";\nconst struct web_file web_files_all[] = {{\n' + "".join(rows) +
                      f"}};\nconst size_t web_files_n = {len(rows)};\n", encoding="ascii")


if __name__ == "__main__":
    main()
