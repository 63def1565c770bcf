#!/usr/bin/env python3
"""Replaces names as bitcode builds do: in LLVM IR each name of a function of the program becomes __hidden#N_.

usage: hide.py FILE.ll NAMES        in place; NAMES gets the names, number by number (a BCSymbolMap without its first line)
"""
import os
import re
import sys


def main():
    path, list_path = sys.argv[1:]
    names = open(list_path).read().split("\n")[:-1] if os.path.exists(list_path) else []
    numbers = {name: i for i, name in enumerate(names)}
    text = open(path).read()

    def number(name):
        if name not in numbers:
            numbers[name] = len(names)
            names.append(name)
        return numbers[name]

    defined = set(re.findall(r'^define [^@]*internal [^@]*@("(?:[^"])*"|[\w.$]+)\(', text, re.M))
    for quoted in sorted(defined):
        name = quoted.strip('"')
        plain = name[3:] if name.startswith("\\01") else "_" + name
        new = f'@"\\01__hidden#{number(plain)}_"'
        text = re.sub("@" + re.escape(quoted) + r"(?![\w.$])", lambda _: new, text)

    def plain_of(name):
        return name.removeprefix("\\\\01").removeprefix("\\01")

    def hide(match):
        line = match.group(0)
        for member in ("linkageName", "name"):
            line = re.sub(r"\b" + member + r': "((?:[^"\\]|\\.)*)"',
                          lambda m: f'{member}: "__hidden#{number(plain_of(m.group(1)))}_"' if m.group(1) else m.group(0), line)
        return line

    text = re.sub(r"^!\d+ = distinct !DISubprogram\(.*$|^!\d+ = !DISubprogram\(.*$", hide, text, flags=re.M)
    open(path, "w").write(text)
    with open(list_path, "w") as f:
        f.write("".join(name + "\n" for name in names))


if __name__ == "__main__":
    main()
