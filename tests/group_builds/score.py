#!/usr/bin/env python3
"""Groups labelled crashes and says how well: B-cubed precision, recall and F1 of all reports and along each axis.

usage: score.py --framezero PROGRAM --loaders FOLDER --work FOLDER [--builds PATTERN,PATTERN] [--wrong]

The programs of programs/ are built in the ways of machine.py, crash in the loader in each way that they list, and each crash is
written in the formats of formats.py. labels.py says which bug it is. --check fails if a bug has several issues, an issue several
bugs, or two bugs in one function one variant, except for what labels.py lists as known.
"""
import argparse
import collections
import fnmatch
import os
import pathlib
import sys
from multiprocessing import Pool

import formats
import labels
import machine


def b_cubed(of, groups):
    size, of_label, both = collections.Counter(groups), collections.Counter(of), collections.Counter(zip(of, groups))
    pairs = list(zip(of, groups))
    precision = sum(both[p] / size[p[1]] for p in pairs) / len(pairs)
    recall = sum(both[p] / of_label[p[0]] for p in pairs) / len(pairs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def do_build(args):
    options, name = args
    problems = []
    if not options.again:
        machine.build(options.work, name)
        problems = machine.make(options.framezero, options.loaders, options.work, name, options.formats)
    rows = machine.collect(options.framezero, options.work, name, options.formats)
    return [(b, p, w, f, r["issue"], top(r)) for b, p, w, f, r in rows], problems


def top(report):
    frames = (report.get("exception_backtrace") or {}).get("frames") or next(
        (t["frames"] for t in report["threads"] if t.get("crashed")), [])
    return [(s.get("function"), s.get("rule"), f.get("image")) for f in frames[:6] for s in f.get("symbols") or [{}]]


def line(name, rows):
    of = [labels.label(r[1], r[2]) for r in rows]
    groups = [r[4]["hash"] for r in rows]
    precision, recall, f1 = b_cubed(of, groups)
    print(f"| {name} | {len(rows)} | {len(set(of))} | {len(set(groups))} | {precision:.3f} | {recall:.3f} | {f1:.3f} |")
    return f1


def axes(rows):
    yield "all", rows
    yield "stack intact", [r for r in rows if (r[1], r[2]) not in labels.BROKEN]
    yield "with the class", [r for r in rows if not labels.lacks_cause(*r[:4])]
    for title, of in (("arch", lambda r: r[0].split("-")[0]), ("level", lambda r: r[0].split("-")[1]),
                      ("DWARF", lambda r: r[0].split("-")[2]),
                      ("variation", lambda r: "".join(r[0].split("-")[3:]) or None), ("language", lambda r: r[1]),
                      ("format", lambda r: r[3])):
        for value in sorted({of(r) for r in rows} - {None}):
            yield f"{title} {value}", [r for r in rows if of(r) == value]


def wrong(rows):
    """Labels with several issues, and issues with several labels."""
    by_label, by_issue = collections.defaultdict(lambda: collections.defaultdict(list)), collections.defaultdict(set)
    for r in rows:
        by_label[labels.label(r[1], r[2])][r[4]["hash"]].append(r)
        by_issue[r[4]["hash"]].add(labels.label(r[1], r[2]))
    for label, issues in sorted(by_label.items()):
        if len(issues) > 1:
            print(f"SPLIT {label}: {len(issues)} issues")
            for found in sorted(issues.values(), key=len, reverse=True):
                print(f"   {len(found):4} {found[0][4]['key']} e.g. " + ", ".join(f"{r[0]}/{r[3]}" for r in found[:6]))
                if len(found) < sum(map(len, issues.values())) / 2:
                    print(f"        {found[0][5][:9]}")
    for issue, found in sorted(by_issue.items(), key=lambda item: sorted(item[1])):
        if len(found) > 1:
            one = next(r for r in rows if r[4]["hash"] == issue)
            print(f"MERGED {sorted(found)} {one[4]['key']}")


def unexpected(rows):
    """What is wrong and is not known to be."""
    known = {label for r in rows for pattern, some in labels.KNOWN.items() if fnmatch.fnmatch(r[0], pattern) for label in some}
    by_label, by_issue = collections.defaultdict(set), collections.defaultdict(set)
    for r in rows:
        if labels.lacks_cause(*r[:4]):
            continue
        by_label[labels.label(r[1], r[2])].add(r[4]["hash"])
        by_issue[r[4]["hash"]].add(labels.label(r[1], r[2]))
    found = [f"{label} is {len(issues)} issues" for label, issues in by_label.items() if len(issues) > 1 and label not in known]
    found += [f"{sorted(some)} are one issue" for some in by_issue.values() if len(some - known) > (0 if some & known else 1)]
    variants = {(r[0], r[3], r[1], r[2]): r[4]["variant"] for r in rows}
    for program, first, second in labels.VARIANTS:
        for build, kind in sorted({(r[0], r[3]) for r in rows}):
            if variants[build, kind, program, first] == variants[build, kind, program, second]:
                found.append(f"{program}: {first} and {second} are one variant in {build} {kind}")
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framezero", required=True, type=os.path.abspath)
    parser.add_argument("--loaders", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--builds", default=["*"], type=lambda text: text.split(","))
    parser.add_argument("--formats", default=list(formats.FORMATS), type=lambda text: text.split(","))
    parser.add_argument("--again", action="store_true", help="the reports are in the folder already")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    names = [name for name in machine.BUILDS if any(fnmatch.fnmatch(name, pattern) for pattern in options.builds)]
    options.work.mkdir(parents=True, exist_ok=True)
    rows, problems = [], []
    if not options.again:
        machine.build_system(options.work)
    with Pool(2) as pool:
        for made, trouble in pool.imap(do_build, [(options, name) for name in names]):
            rows += made
            problems += trouble
    print("\n".join(problems + [""]) if problems else "", end="")
    print("| | reports | bugs | issues | precision | recall | F1 |\n|---|---|---|---|---|---|---|")
    for name, some in axes(rows):
        line(name, some)
    if options.wrong:
        wrong(rows)
    found = problems + unexpected(rows) if options.check else []
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
