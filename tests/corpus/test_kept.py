#!/usr/bin/env python3
"""Texts and .ips of the corpus get the names that their JSON has, and keep every other byte.

usage: test_kept.py --framezero BINARY [CORPUS]

Exit codes: 0 all as expected, 1 something differs, 77 the corpus is not there (CTest shows it as skipped).
"""

import argparse
import difflib
import glob
import json
import os
import re
import subprocess
import sys

NO_FRAMES = {"frames": []}


def run(binary, path, symbols, *options):
    more = ["--dsym", symbols] if os.path.isdir(symbols) else []
    return subprocess.run([binary, "symbolicate", path, *more, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True, timeout=120).stdout


def count_names(report, but=()):
    """How many names the frames have, inlined calls included."""
    stacks = report["threads"] + [report.get("exception_backtrace", NO_FRAMES)]
    frames = [frame for stack in stacks for frame in stack["frames"] if frame.get("symbols")]
    return sum(len(f["symbols"]) for f in frames if f["symbols"][-1].get("source") not in but)


def check_text(raw, kept, report):
    """What is wrong, None if nothing is."""
    before, after = raw.split(b"\n"), kept.split(b"\n")
    n_added = 0
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        n_added += d - c
        for line in before[a:b] + after[c:d]:
            if not re.match(rb"\d+ +\S.*\s0x", line) and not line.startswith(b"(0x"):
                return f"a line that is not a frame changed: {line!r}"
    n_named = count_names(report, but=("client",))
    return None if n_added == n_named else f"{n_added} lines with new names, but {n_named} names"


def check_ips(raw, kept, report):
    bodies = []
    for text in (raw, kept):
        header, body = text.split(b"\n", 1)
        bodies.append((header, json.loads(body)))
    stacks = [t["frames"] for t in bodies[1][1]["threads"]] + [bodies[1][1].get("lastExceptionBacktrace", [])]
    n_named, n_wanted = sum("symbol" in frame for stack in stacks for frame in stack), count_names(report)
    if n_named != n_wanted:
        return f"{n_named} names, but the JSON has {n_wanted}"
    for _, body in bodies:
        body.pop("lastExceptionBacktrace", None)
        for thread in body["threads"]:
            thread.pop("frames")
    same = bodies[0][0] == bodies[1][0] and json.dumps(bodies[0][1]) == json.dumps(bodies[1][1])
    return None if same else "more than the frames changed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("corpus", nargs="?", default=os.environ.get("FRAMEZERO_CORPUS", ""))
    options = parser.parse_args()
    corpus = options.corpus or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "corpus")
    if not os.path.isdir(os.path.join(corpus, "matched")):
        print(f"skipped: no corpus at {corpus} (set FRAMEZERO_CORPUS)")
        return 77
    paths = [path for pattern in ("derived/*/*.crash", "derived/*/*.ips", "derived/*/*.callstack.txt", "clients/made/demo*.ips",
                                  "clients/made/demo.crash", "reports/apple-crash-text/*.crash",
                                  "reports/apple-crash-text/*.txt")
             for path in sorted(glob.glob(os.path.join(corpus, pattern)))]
    n_wrong, n_named = 0, 0
    for path in paths:
        name = os.path.basename(os.path.dirname(path))
        symbols = os.path.join(corpus, "clients", "made", "Demo.dSYM") if name == "made" else os.path.join(
            corpus, "matched", name, "dSYMs")
        is_ips = path.endswith(".ips")
        report = json.loads(run(options.framezero, path, symbols, "--json"))
        with open(path, "rb") as f:
            raw = f.read()
        wrong = (check_ips if is_ips else check_text)(
            raw, run(options.framezero, path, symbols, "--ips" if is_ips else "--crash"), report)
        n_named += count_names(report, but=("client",))
        if wrong:
            n_wrong += 1
            print(f"{os.path.relpath(path, corpus)}: {wrong}")
    print(f"{len(paths)} reports, {n_named} new names, {n_wrong} wrong")
    return 0 if paths and n_named and not n_wrong else 1


if __name__ == "__main__":
    sys.exit(main())
