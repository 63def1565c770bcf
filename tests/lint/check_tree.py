#!/usr/bin/env python3
"""Checks the project's files against one rule of rules.py: check_tree.py TOP RULE."""
import os
import pathlib
import subprocess
import sys

import rules

SKIPPED = {".git", "build", "framezero-data", "__pycache__"}


def tracked(top):
    """The files that git tracks; all files if this is not a clone."""
    if (top / ".git").exists():
        # git rejects a clone of another user without this option.
        output = subprocess.run(["git", "-c", f"safe.directory={top}", "-C", top, "ls-files", "-z"], check=True,
                                capture_output=True).stdout
        return [name for name in output.decode().split("\0") if name]
    names = []
    for folder, folders, found in os.walk(top):
        folders[:] = [name for name in folders if name not in SKIPPED]
        names += [os.path.relpath(os.path.join(folder, name), top) for name in found]
    return names


def not_executable(top, names):
    """Programs that cannot be called by their names, as help and pages tell."""
    problems = []
    for name in names:
        path = top / name
        if path.is_file() and path.read_bytes()[:2] == b"#!" and not os.access(path, os.X_OK):
            problems.append(f"{name}:1: is a program, but is not executable (chmod +x)")
    return problems


def main():
    top, names = pathlib.Path(sys.argv[1]), tracked(pathlib.Path(sys.argv[1]))
    if sys.argv[2] == "executable":
        problems = not_executable(top, names)
        print("\n".join(problems) or f"{len(names)} files: ok")
        return 1 if problems else 0
    rule = rules.CHECKS[sys.argv[2]]
    files = {}
    for name in names:
        path = top / name
        data = path.read_bytes() if path.is_file() else b"\0"
        if b"\0" not in data:
            files[name] = data.decode(errors="replace")
        elif sys.argv[2] == "fuzz" and path.is_file():
            files[name] = ""  # a seed counts, whatever is in it
    if not any(rules.is_code(name) for name in files):
        sys.exit(f"{top}: no sources found")
    problems = rule(files)
    print("\n".join(problems) or f"{len(files)} files: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
