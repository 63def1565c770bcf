#!/usr/bin/env python3
"""An .ips and the text that Apple's tools made of it: `symbolicate --rebuild --crash` writes that text, line by line.

usage: test_apple_text.py --framezero BINARY [CORPUS]

The pairs are found by process and time: a text is of an .ips that has the same "[pid]" and "Date/Time". Each difference
must be one of ALLOWED. Skipped (77) without the corpus.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys

# What may differ, and why.
ALLOWED = [
    ("empty lines at the ends", "Apple's text begins with one where its head was cut off, and ends with one or two",
     lambda theirs, ours: not theirs.strip() and not ours.strip()),
    ("columns of a changed name", "the image's name was replaced in the file after its line had been padded",
     lambda theirs, ours: theirs.split() == ours.split() and re.match(r"\d+ ", theirs)),
]


def load_ips(path):
    """The body of an .ips; None if the text is not an .ips."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    try:
        decoder = json.JSONDecoder()
        _, end = decoder.raw_decode(text)
        body, _ = decoder.raw_decode(text[end:].lstrip())
    except ValueError:
        return None
    return body if isinstance(body, dict) and "usedImages" in body else None


def find_pairs(corpus):
    bodies, texts = [], []
    for folder, _, names in os.walk(os.path.join(corpus, "reports")):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".ips"):
                bodies.append((path, load_ips(path)))
            elif name.endswith((".crash", ".txt", ".log")):
                with open(path, encoding="utf-8", errors="replace") as f:
                    texts.append((path, f.read()))
    for ips_path, body in bodies:
        if not body:
            continue
        time, pid = re.escape(str(body.get("captureTime"))), body.get("pid")
        for text_path, text in texts:
            if re.search(rf"^Date/Time: +{time}$", text, re.M) and re.search(rf"^Process: .*\[{pid}\]$", text, re.M):
                yield ips_path, text_path, text


def compare(theirs, ours):
    """(allowed, not allowed): lists of (reason, their line, our line)."""
    allowed, wrong = [], []
    matcher = difflib.SequenceMatcher(None, theirs, ours, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        for i in range(max(b - a, d - c)):
            their = theirs[a + i] if a + i < b else ""
            our = ours[c + i] if c + i < d else ""
            at_end = a == 0 or b == len(theirs)
            reason = next((name for name, _, allows in ALLOWED if allows(their, our) and
                           (at_end or name != ALLOWED[0][0])), None)
            (allowed if reason else wrong).append((reason, their, our))
    return allowed, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("corpus", nargs="?", default=os.environ.get("FRAMEZERO_CORPUS", ""))
    options = parser.parse_args()
    corpus = options.corpus or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "corpus")
    if not os.path.isdir(os.path.join(corpus, "reports")):
        print(f"skipped: no corpus at {corpus} (set FRAMEZERO_CORPUS)")
        return 77
    n_pairs, n_wrong = 0, 0
    for ips_path, text_path, text in find_pairs(corpus):
        done = subprocess.run([options.framezero, "symbolicate", "--rebuild", "--crash", ips_path],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, timeout=60)
        allowed, wrong = compare(text.splitlines(), done.stdout.decode().splitlines())
        print(f"{os.path.relpath(text_path, corpus)}: {len(text.splitlines())} lines, {len(allowed)} differ as is allowed, "
              f"{len(wrong)} otherwise")
        for reason, their, our in wrong + allowed:
            print(f"  {reason or 'WRONG'}\n    Apple: {their!r}\n    here:  {our!r}")
        n_pairs += 1
        n_wrong += len(wrong)
    if not n_pairs:
        print("no pair found")
    return 0 if n_pairs and not n_wrong else 1


if __name__ == "__main__":
    sys.exit(main())
