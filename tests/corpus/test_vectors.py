#!/usr/bin/env python3
"""The address vectors of the corpus (file, address -> frames) through `framezero index` and `framezero lookup`.

usage: test_vectors.py --framezero BINARY [CORPUS]

Exit codes: 0 all as expected or explained, 1 something differs, 77 the corpus is not there.

Explained differences (class: reason):
  not_a_function  LLVM's name is wrong: it is the nearest symbol before the address, although the
                  function had ended, or a symbol that is not a function (data, a section start).
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from matched_sets import compare_symbol, read_json  # noqa: E402

SKIPPED = 77


def lookup(binary, path, arch, addresses):
    with tempfile.TemporaryDirectory() as work:
        index = os.path.join(work, "index")
        made = subprocess.run(
            [binary, "index", path, "-o", index, "--arch", arch], stdout=subprocess.DEVNULL, check=False
        )
        if made.returncode != 0:
            return [[] for _ in addresses]
        lines = "".join(a + "\n" for a in addresses).encode()
        done = subprocess.run(
            [binary, "lookup", index, "--json"], input=lines, stdout=subprocess.PIPE, check=True
        )
    return [json.loads(line)["symbols"] for line in done.stdout.splitlines()]


def differences(ours, wanted):
    if len(ours) != len(wanted):
        yield f"{[s.get('function') for s in ours]}, wanted {[s['function'] for s in wanted]}"
        return
    for a, b in zip(ours, wanted):
        yield from compare_symbol(a, b)


def is_not_a_function(wanted):
    """One frame, no file, no line: a name out of the symbol table."""
    return len(wanted) == 1 and not wanted[0].get("file") and not wanted[0].get("line")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("corpus", nargs="?", default=os.environ.get("FRAMEZERO_CORPUS", ""))
    options = parser.parse_args()
    corpus = options.corpus or os.path.join(
        os.path.dirname(__file__), "..", "..", "..", "shared", "corpus"
    )
    vectors = sorted(glob.glob(os.path.join(corpus, "expected", "addr_vectors", "*.json")))
    if not vectors:
        print(f"skipped: there are no address vectors in {corpus} (set FRAMEZERO_CORPUS)")
        return SKIPPED
    n_files = n_addresses = n_wrong = n_explained = 0
    for path in vectors:
        vector = read_json(path)
        wanted = vector["lookups"]
        target = os.path.join(corpus, vector["object"])
        results = lookup(os.path.abspath(options.framezero), target, vector["arch"], [w["addr"] for w in wanted])
        n_files += 1
        n_addresses += len(wanted)
        for ours, want in zip(results, wanted):
            texts = list(differences(ours, want["frames"]))
            if texts and is_not_a_function(want["frames"]) and not ours:
                n_explained += 1
                continue
            n_wrong += bool(texts)
            for text in texts[:1]:
                print(f"{vector['object']} {vector['arch']} {want['addr']}: {text}")
    print(
        f"{n_files} files, {n_addresses} addresses, {n_wrong} unexplained differences, "
        f"{n_explained} explained: not_a_function"
    )
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
