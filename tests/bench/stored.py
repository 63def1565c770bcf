#!/usr/bin/env python3
"""Bytes and CPU time of stored reports, with dictionaries and without.

    bench/stored.py [--framezero BIN] [--work DIR] [--json FILE] [FOLDER...]

Reports are the files of the FOLDERs, by default of tests/golden, that framezero can read; each once. Their results are made
by `framezero symbolicate --json`, without symbol files. Of each format with at least LEAST reports, bodies and results are
divided into four parts; each part is packed without a dictionary and with one that was trained from the other three
(support/stored.c). CPU times are those of writing a body and its result, the least of three.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
LEAST, LARGEST, PARTS = 8, 1024 * 1024, ("body", "result")


def result_of(program, path):
    try:
        run = subprocess.run([program, "symbolicate", "--json", str(path)], capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return None
    lines = [line for line in run.stdout.split(b"\n") if line.startswith(b"{")]
    return lines[0] if lines else None  # of a file with several, the first


def collect(program, folders, work):
    """Files work/FORMAT/PART/NAME; how many reports of each format there are."""
    counts, seen = collections.Counter(), set()
    for path in sorted(p for f in folders for p in pathlib.Path(f).rglob("*") if p.is_file()):
        body = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        name = hashlib.sha256(body).hexdigest()[:16]
        result = result_of(program, path) if body and name not in seen else None
        seen.add(name)
        if not result or len(result) > LARGEST:
            continue
        kind = json.loads(result).get("format", "unknown")
        for part, content in zip(PARTS, (body, result)):
            (work / kind / part).mkdir(parents=True, exist_ok=True)
            (work / kind / part / name).write_bytes(content)
        counts[kind] += 1
    return counts


def measure(program, folder):
    names = ("n", "plain", "without", "with", "row", "ms_without", "ms_with", "ms_trained")
    run = subprocess.run([program, str(folder)], capture_output=True, text=True, check=True)
    return dict(zip(names, map(float, run.stdout.split())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", help="a folder for files (default: a new one)")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", default=[str(TOP / "tests/golden")])
    args = parser.parse_args()
    packer = pathlib.Path(args.framezero).parent / "bench_stored"
    if not packer.exists():
        sys.exit(f"stored: {packer} is missing: ./dev bench stored builds it")
    work = pathlib.Path(args.work or tempfile.mkdtemp()) / "stored"
    shutil.rmtree(work, ignore_errors=True)
    counts = collect(args.framezero, args.folders, work)
    figures = {kind: {part: measure(packer, work / kind / part) for part in PARTS}
               for kind, n in sorted(counts.items()) if n >= LEAST}
    print("| format | reports | bytes without | with | bodies | results | rows of dictionaries | ms without | with |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind, parts in figures.items():
        n = counts[kind]
        whole = {name: sum(part[name] for part in parts.values()) for name in parts["body"]}
        share = {part: f"{100 * one['with'] / one['without']:.0f} %" for part, one in parts.items()}
        print(f"| {kind} | {n} | {whole['without'] / n:,.0f} | {whole['with'] / n:,.0f} "
              f"({100 * whole['with'] / whole['without']:.0f} %) | {share['body']} | {share['result']} | {whole['row']:,.0f} "
              f"| {whole['ms_without']:.3f} | {whole['ms_with']:.3f} |")
    few = sorted(f"{kind} {n}" for kind, n in counts.items() if n < LEAST)
    if few:
        print(f"\nfewer than {LEAST}: {', '.join(few)}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
