#!/usr/bin/env python3
"""How long programs take to start: `framezero --version`, `atos` with one address, and a child until it takes reports.

    bench/startup.py [--framezero BIN] [--peer BIN] [--work DIR] [--runs N] [--json FILE]

Each command runs N times, in turns with the same command of the peer: another build of framezero if one is given,
and always /bin/true, which shows what a process costs here. Times are medians, from the start of the process to its end.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = TOP / "docs" / "sample"


def run_ms(argv):
    began = time.monotonic()
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)]
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
    os.close(null)
    _, status = os.waitpid(pid, 0)
    took = (time.monotonic() - began) * 1000
    if status:
        sys.exit(f"startup: {' '.join(argv)} ended with status {status}")
    return took


def child_ms(program, runs):
    bench = pathlib.Path(program).parent / "bench_child_start"
    if not bench.exists():
        return None
    return json.loads(subprocess.run([str(bench), str(runs)], capture_output=True, check=True).stdout)["start_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--peer", help="another build of framezero")
    parser.add_argument("--work", help="a folder for files (default: a new one)")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    work = pathlib.Path(args.work or tempfile.mkdtemp())
    with zipfile.ZipFile(SAMPLE / "Demo.dSYM.zip") as archive:
        archive.extractall(work)
    dsym = str(work / "Demo.dSYM")
    programs = [args.framezero] + ([args.peer] if args.peer else [])
    commands = {
        "--version": lambda program: [program, "--version"],
        "atos, one address": lambda program: [program, "atos", "-o", dsym, "0x100000f00"],
    }
    figures = {}
    for name, argv in commands.items():
        times = {program: [] for program in [*programs, "/bin/true"]}
        for _ in range(args.runs):
            for program in programs:
                times[program].append(run_ms(argv(program)))
            times["/bin/true"].append(run_ms(["/bin/true"]))
        figures[name] = {program: round(statistics.median(all_of), 3) for program, all_of in times.items()}
    figures["child"] = {program: child_ms(program, args.runs) for program in programs}
    for name, row in figures.items():
        for program, took in row.items():
            print(f"{name:20} {program:60} {took if took is not None else '-':>8} ms")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
