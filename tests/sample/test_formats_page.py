#!/usr/bin/env python3
"""docs/formats.md: every example is read as the format of its section, with frames; every format has one.

usage: test_formats_page.py --framezero BINARY
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "formats.md"


def read_as(framezero, path):
    """(format, number of frames), or the message."""
    done = subprocess.run([framezero, "symbolicate", path, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1], 0
    report = json.loads(done.stdout.splitlines()[0])
    return report["format"], sum(len(thread["frames"]) for thread in report["threads"])


def check(framezero):
    text = PAGE.read_text()
    listed = re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\)", text, re.M)
    problems = [f"{name}: its link goes to #{to}" for name, to in listed if name != to]
    for name, _ in listed:
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        example = re.search(r"^```\w+\n(.*?)^```$", section, re.M | re.S)
        named = re.search(r"^Example: `([^`]+)`$", section, re.M)
        if example:
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(example.group(1))
                file.flush()
                got, n = read_as(framezero, file.name)
        elif named:
            got, n = read_as(framezero, TOP / named.group(1))
        else:
            got, n = "no example", 0
        if got != name or n == 0:
            problems.append(f"{name}: read as {got}, {n} frames")
    return problems if listed else ["no table of formats"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framezero", required=True)
    problems = check(parser.parse_args().framezero)
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
