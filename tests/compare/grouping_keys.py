#!/usr/bin/env python3
"""How well keys group labelled crashes: this project's key beside those of other products.

usage: grouping_keys.py --framezero PROGRAM CORPUS [--check]

CORPUS/matched/crashprobe-*/events/KIND.json are reports, the file name says which crash it is; dSYMs are beside them. Each
report is symbolicated once; the other keys are made from its JSON as the products describe theirs. Prints the number of
issues, B-cubed precision, recall and F1 of all reports, and F1 of those whose own code is on the stack. --check fails
unless this project's key has F1 = 1 on the latter and at least 0.92 on all.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# What no key can tell: the stack was overwritten on purpose, or the client lost the frame that crashed.
GOAL_ALL, GOAL_INTACT = 0.92, 1.0


def symbolicate(program, reports, symbols, folder):
    """The symbolicated reports, by the name of the file."""
    found = {}
    for report in reports:
        command = [program, "symbolicate", "--json", str(report), *(f"--dsym={path}" for path in symbols)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        found[report.name] = json.loads(lines[0])
    return found


def backtrace(report):
    if report.get("exception_backtrace"):
        return report["exception_backtrace"]["frames"]
    crashed = [t for t in report["threads"] if t.get("crashed")] or report["threads"][:1]
    return crashed[0]["frames"] if crashed else []


def calls(report, own_only=False, expand=True):
    """(function, file, line, own), inlined calls first."""
    found = []
    for frame in backtrace(report):
        own = "CrashLib" in (frame.get("image") or "") or "CrashProbe" in (frame.get("image") or "")
        symbols = frame["symbols"] or [{}]
        for symbol in symbols if expand else symbols[-1:]:
            name = symbol.get("function") or f"{frame.get('image')}+{frame.get('image_offset')}"
            found.append((name, (symbol.get("file") or "").rsplit("/", 1)[-1].lower(), symbol.get("line"), own))
    return [c for c in found if c[3]] if own_only else found


def parameterised(text):
    text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", "#", text or "", flags=re.I)
    return text[:200]


def message(report):
    crash = report.get("crash", {})
    return parameterised(crash.get("reason") or crash.get("diagnosis") or "")


def kind(report):
    crash = report.get("crash", {})
    return crash.get("exception") or crash.get("mach") or crash.get("signal") or ""


def short(name):
    name = re.sub(r" \(block\)$|^@objc ", "", name)
    return re.sub(r"\(.*", "", name) if name[0] not in "-+" else name


def bare(name):
    """Blocks and closures as the function around them, thunks stripped, modules left out."""
    name = short(name).split(" in ")[-1]
    return name if name[0] in "-+" else name.rsplit(".", 1)[-1]


SIGNALS = {"SIGSEGV": "access", "SIGBUS": "access", "SIGTRAP": "trap", "SIGILL": "trap", "SIGABRT": "abort"}


def first_own(report):
    own = [c for c in calls(report, own_only=True) if short(c[0]) != "__cxa_throw"]
    return own[0] if own else None


def first_or_top(report, change=short):
    own, frames = first_own(report), calls(report)
    return (change(own[0]),) if own else ("none",) + tuple(c[0] for c in frames[:1])


def called(report):
    """The system function that the first own frame called."""
    last = ""
    for name, _, _, own in calls(report, expand=False):
        if own and short(name) != "__cxa_throw":
            return last
        last = name
    return last


KEYS = {
    "type + parameterised message": lambda r: (kind(r), message(r)),
    "type + message + culprit": lambda r: (kind(r), message(r), first_or_top(r)),
    "top frame of any image": lambda r: tuple(short(c[0]) for c in calls(r)[:1]),
    "signal + first own function + file": lambda r: (r.get("crash", {}).get("signal"), first_or_top(r),
                                                     (first_own(r) or ("", ""))[1]),
    "class + file + line of the first own frame": lambda r: (r.get("crash", {}).get("exception"),
                                                             (first_own(r) or first_or_top(r) + (0, 0))[1:3]),
    "all own functions": lambda r: tuple(short(c[0]) for c in calls(r, own_only=True)) or first_or_top(r),
    "first own function": first_or_top,
    "... blocks and closures as their function": lambda r: first_or_top(r, bare),
    "... and the language exception's name": lambda r: (r.get("crash", {}).get("exception"), first_or_top(r, bare)),
    "... and access, trap or abort": lambda r: (SIGNALS.get(r.get("crash", {}).get("signal")), first_or_top(r, bare)),
    "... and the system function called": lambda r: (called(r), first_or_top(r, bare)),
    "framezero": lambda r: r["issue"]["hash"],
}


def b_cubed(labels, groups):
    """Precision and recall: for each report, the share of its group with its label, and of its label in its group."""
    size, of_label = collections.Counter(groups), collections.Counter(labels)
    both = collections.Counter(zip(labels, groups))
    pairs = list(zip(labels, groups))
    precision = sum(both[p] / size[p[1]] for p in pairs) / len(pairs)
    recall = sum(both[p] / of_label[p[0]] for p in pairs) / len(pairs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def is_intact(label, report):
    """The crash's own code is on the stack: a function of the class that the kind is named for."""
    if label.startswith("Smash_"):
        return False
    return any(re.search(r"\bcrash\]|CRLFrameless|CRLCrash|^crash$", c[0]) for c in calls(report, own_only=True))


def load(program, corpus):
    found = []
    for folder in sorted((corpus / "matched").glob("crashprobe-*")):
        reports = sorted((folder / "events").glob("*.json"))
        for name, report in symbolicate(program, reports, [folder / "dSYMs"], None).items():
            found.append((name.removesuffix(".json"), folder.name, report))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", action="store_true", help="print which reports share an issue")
    parser.add_argument("corpus", type=pathlib.Path)
    options = parser.parse_args()
    reports = load(options.framezero, options.corpus)
    labels = [label for label, _, _ in reports]
    intact = [i for i, (label, _, report) in enumerate(reports) if is_intact(label, report)]
    print(f"{len(reports)} reports of {len(set(labels))} kinds; {len(intact)} with an intact stack")
    print(f"{'key':45} issues     P     R    F1  F1 intact")
    for name, key in KEYS.items():
        groups = [key(report) for _, _, report in reports]
        precision, recall, f1 = b_cubed(labels, groups)
        whole = b_cubed([labels[i] for i in intact], [groups[i] for i in intact])[2]
        print(f"{name:45} {len(set(groups)):6} {precision:.3f} {recall:.3f} {f1:.3f} {whole:.3f}")
    if options.show:
        members = collections.defaultdict(list)
        for label, build, report in reports:
            members[report["issue"]["hash"]].append((label, build, report["issue"]["key"][0]))
        for group in sorted(members.values()):
            if len({label for label, _, _ in group}) > 1 or len(group) != 3:
                print(*group, sep="\n  ")
    if options.check and (f1 < GOAL_ALL or whole < GOAL_INTACT):
        sys.exit(f"F1 is {f1:.3f} (at least {GOAL_ALL}), {whole:.3f} on intact stacks (at least {GOAL_INTACT})")


if __name__ == "__main__":
    main()
