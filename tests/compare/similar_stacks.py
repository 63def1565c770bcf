#!/usr/bin/env python3
"""How well similarity finds labelled crashes again: tests/compare/grouping_keys.py has the corpus.

usage: similar_stacks.py --framezero PROGRAM --similarity PROGRAM CORPUS [--alpha A --beta B --gamma G --unseen N] [--check]

Each report is compared with those of the other two builds, where all but one kind of crash occurs again. Prints how often the most
similar one is of the same kind, and above which score; and how many pairs of different kinds, in different issues, are above it.
--check fails if the first is right less often than docs/grouping.md says.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from grouping_keys import load

THRESHOLDS = (-1.0, -0.25, 0.0, 0.25)
GOAL = 53


def scores(options, reports, folder):
    files = []
    for n, (_, _, report) in enumerate(reports):
        files.append(pathlib.Path(folder) / f"{n}.json")
        files[-1].write_text(json.dumps(report), encoding="utf-8")
    values = [options.alpha, options.beta, options.gamma, options.unseen]
    done = subprocess.run([options.similarity, *map(str, values + files)], check=True, capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        a, b, score = line.split()
        found[int(a), int(b)] = found[int(b), int(a)] = float(score)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--similarity", required=True, help="build/dev/tests/compare/stack_similarity")
    parser.add_argument("--check", action="store_true")
    # As group_similarity_default() and server/api/api_issue_similar.c have them.
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--beta", type=float, default=0.2)
    parser.add_argument("--gamma", type=float, default=0.25)
    parser.add_argument("--unseen", type=int, default=50)
    parser.add_argument("corpus", type=pathlib.Path)
    options = parser.parse_args()
    reports = load(options.framezero, options.corpus)
    with tempfile.TemporaryDirectory() as folder:
        score = scores(options, reports, folder)
    first, everything = [], range(len(reports))
    for i, (label, build, _) in enumerate(reports):
        others = [k for k in everything if reports[k][1] != build]
        if any(reports[k][0] == label for k in others):
            best = max(others, key=lambda k: score[i, k])
            first.append((score[i, best], reports[best][0] == label))
    unlike = [score[i, k] for i in everything for k in everything if i < k and reports[i][0] != reports[k][0]
              and reports[i][2]["issue"]["hash"] != reports[k][2]["issue"]["hash"]]
    print(f"{len(first)} reports whose kind of crash is in another build; {len(unlike)} pairs of different kinds")
    print("score at least   first   right   pairs of different kinds")
    for least in THRESHOLDS:
        shown = [right for value, right in first if value >= least]
        print(f"{least:14.2f} {len(shown):7} {sum(shown):7} {sum(v >= least for v in unlike) / len(unlike):12.4f}")
    right = sum(right for _, right in first)
    if options.check and right < GOAL:
        sys.exit(f"{right} of {len(first)} are right, at least {GOAL} should be")


if __name__ == "__main__":
    main()
