#!/usr/bin/env python3
"""Runs an end-to-end test whose framezero, with all its processes, runs under valgrind; fails if any of them has an error.

usage: e2e_under_valgrind.py PROGRAM TEST ARGUMENTS...   (the test gets --framezero and the arguments)
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main():
    program, test, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="framezero-valgrind-") as logs:
        env = {**os.environ, "PROGRAM": os.path.abspath(program), "VALGRIND_LOGS": logs}
        status = subprocess.run([sys.executable, test, "--framezero", HERE / "framezero.sh", *arguments], env=env,
                                check=False).returncode
        found = {path.name: path.read_text(errors="replace") for path in sorted(pathlib.Path(logs).glob("*.log"))}
    faulty = {name: text for name, text in found.items() if text.strip()}
    for name, text in faulty.items():
        print(f"---- {name}\n{text[:8000]}")
    print(f"{len(found)} processes ran under valgrind, {len(faulty)} of them with errors")
    # No process at all means that nothing was looked at.
    return 1 if status or faulty or not found else 0


if __name__ == "__main__":
    sys.exit(main())
