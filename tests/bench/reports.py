#!/usr/bin/env python3
"""How many reports without memory a core symbolicates per second, beside another build of framezero.

    bench/reports.py [--framezero BIN] [--peer BIN] [--work DIR] [--reports N] [--rounds N] [--json FILE]

The report is that of docs/sample. Both builds serve on SQLite with one worker. In each
round, in turns, a server gets N such reports; what counts is the CPU time of its worker and the worker's children from the
first report to the last result, and in brackets of all processes. Ratios are taken within a round. With valgrind the
instructions of `framezero symbolicate` for one more report are counted, too: unlike times, they are the same in each run.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from framezero import Server  # noqa: E402

SAMPLE = TOP / "docs" / "sample"
FEW, MANY = 5, 45  # reports of one run under valgrind; the difference is 40


def report(number):
    made = json.loads((SAMPLE / "report.json").read_text(encoding="utf-8"))
    made.pop("id", None)
    made["note"] = number  # another body is another report
    return json.dumps(made).encode()


def cpu_s(pids):
    """CPU time of these processes and of those they have waited for: a child is replaced after some reports."""
    ticks = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        ticks += sum(int(field) for field in text.rpartition(")")[2].split()[11:15])  # utime, stime, cutime, cstime
    return ticks / os.sysconf("SC_CLK_TCK")


class Build:
    def __init__(self, binary, data):
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(parents=True)
        self.binary, self.n = binary, 0
        self.server = Server(binary, workers=1, data=str(data))
        self.server.start()
        status, answer = self.server.request("POST", "/api/v1/symbols?name=Demo.dSYM.zip",
                                             body=(SAMPLE / "Demo.dSYM.zip").read_bytes(), timeout=60)
        if status != 201:
            sys.exit(f"reports: the dSYM was answered with {status}: {answer}")
        self.send("?wait=30")

    def send(self, query=""):
        self.n += 1
        status, answer = self.server.request("POST", "/api/v1/reports" + query, body=report(self.n), timeout=60)
        if status not in (200, 202):
            sys.exit(f"reports: a report was answered with {status}: {answer}")
        return answer

    def work_pids(self):
        workers = self.server.pids_of("worker")
        return workers + [pid for worker in workers for pid in self.server.descendants(worker)]

    def measure(self, n):
        """Reports per second of CPU: of the worker and its children, of all processes; and by the clock."""
        began, work_s, all_s = time.monotonic(), cpu_s(self.work_pids()), cpu_s(self.server.descendants())
        for _ in range(n - 1):
            self.send()
        last = self.send("?wait=30")
        self.server.wait_report(last["id"])
        took = time.monotonic() - began
        work_s, all_s = cpu_s(self.work_pids()) - work_s, cpu_s(self.server.descendants()) - all_s
        return {"work": n / work_s, "all": n / all_s, "wall": n / took}


def instructions(binary, folder):
    """Of `framezero symbolicate`, for one more report; None without valgrind."""
    valgrind = shutil.which("valgrind")
    if not valgrind:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i in range(MANY):
        paths.append(folder / f"report{i}.json")
        paths[-1].write_bytes(report(i))
    counts = []
    for n in (FEW, MANY):
        run = subprocess.run([valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, "symbolicate", *paths[:n],
                              "--dsym", SAMPLE / "Demo.dSYM.zip", "--json", "-o", folder / "out"],
                             capture_output=True, text=True, check=True)
        counts.append(int(re.search(r"Collected : (\d+)", run.stderr).group(1)))
    return (counts[1] - counts[0]) / (MANY - FEW)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--peer", help="another build of framezero")
    parser.add_argument("--work", type=pathlib.Path, default=TOP / "build/release/bench", help="for files")
    parser.add_argument("--reports", type=int, default=300, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="write every sample to this file")
    args = parser.parse_args()
    binaries = {"framezero": args.framezero, **({"peer": args.peer} if args.peer else {})}
    work = args.work / "reports"
    builds, samples = {name: Build(binary, work / name) for name, binary in binaries.items()}, {name: [] for name in binaries}
    try:
        for i in range(args.rounds + 1):
            for name in sorted(builds, reverse=i % 2 == 1):
                found = builds[name].measure(args.reports)
                if i > 0:  # the first is not counted
                    samples[name].append(found)
            print(f"reports: round {i} of {args.rounds}", file=sys.stderr, flush=True)
    finally:
        for build in builds.values():
            build.server.stop()
    counts = {name: instructions(binary, work / "files") for name, binary in binaries.items()}
    for name, found in samples.items():
        rate = {key: statistics.median(one[key] for one in found) for key in ("work", "all", "wall")}
        count = f", {counts[name] / 1e6:.3f} M instructions for one" if counts[name] else ""
        print(f"{name:10} {rate['work']:.0f} reports a second and core ({rate['all']:.0f} with serving), "
              f"{rate['wall']:.0f} a second by the clock{count}")
    if args.peer:
        ratios = {key: statistics.median(a[key] / b[key] for a, b in zip(samples["framezero"], samples["peer"]))
                  for key in ("work", "all", "wall")}
        print(f"ratio      {ratios['work']:.3f} ({ratios['all']:.3f} with serving), {ratios['wall']:.3f} by the clock"
              + (f", {counts['framezero'] / counts['peer']:.3f} of the instructions" if counts["peer"] else ""))
    if args.json:
        args.json.write_text(json.dumps({"samples": samples, "instructions": counts}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
