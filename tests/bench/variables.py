#!/usr/bin/env python3
"""Reading all variables of a crash: 30 frames of a dSYM of 30 MB, beside lldb-19 on the same memory.

    bench/variables.py [--framezero BIN] [--work DIR] [--shape NAME...] [--rounds N] [--json FILE]

Three programs (support/variables_program.py) crash under tests/loader: many units, one unit, one unit of C++. They are made
once, in build/bench-corpus or where FRAMEZERO_BENCH_CORPUS points: about three minutes. In each round, one after the other:

    reading   bench_variables reads all values with an open index: the second of two times, with opening the DWARF
    lldb      the same by lldb-19 on a core file of the same memory, without loading the files
    report    a server's child: from the report as sent to the JSON as stored; it has the index and the dSYM open

Ratios are taken within a round; figures are medians of CPU time (of all threads), in brackets by the clock: on a machine that
is busy otherwise, a child waits, since it has the lowest priority. Memory is the highest anonymous memory of the child during
the reports: what it needs besides its mapped files.
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
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(TOP / "tests" / "e2e")]
from framezero import Server  # noqa: E402
from support import variables_program as program  # noqa: E402

TOOLS = program.TOOLS + ["lldb-19"]
REPORTS = 4  # in a round
GOALS = {"report_ms": ("most", 60), "ratio": ("least", 10), "memory_mib": ("most", 64)}
POLL_S = 0.001


def say(text):
    print(f"variables: {text}", file=sys.stderr, flush=True)


def reading(bench, work):
    """Milliseconds of each of two readings, by the clock and of CPU time, and how many lines they print."""
    shown = subprocess.run([bench, work / "dump", program.symbols(work), work / "crash", "2"], capture_output=True, text=True, check=True)
    times = re.findall(r"^([\d.]+) ms, CPU ([\d.]+) ms", shown.stderr, re.M)
    return [(float(wall), float(cpu)) for wall, cpu in times], shown.stdout.count("\n")


def lldb_ms(work):
    """The same of lldb-19."""
    environment = dict(os.environ, VARIABLES_FOLDER=str(work), VARIABLES_SLIDE="0x" + program.SLIDE)
    subprocess.run(["lldb-19", "-b", "-o", f"command script import {program.VARIABLES}/lldb_values.py"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env=environment, check=True)
    found = json.loads((work / "lldb.json").read_text(encoding="utf-8"))
    return found["ms"], found["cpu_ms"]


def cpu_ms(pids):
    """CPU time of these processes, which have one thread each."""
    return sum(int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) for pid in pids) / 1e6


class Memory(threading.Thread):
    """The highest anonymous memory of the workers' children, in bytes."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.pids, self.peak, self.is_over = server.worker_children, 0, False

    def run(self):
        while not self.is_over:
            for pid in self.pids:
                try:
                    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
                except OSError:
                    continue
                found = re.search(r"RssAnon:\s+(\d+) kB", text)
                self.peak = max(self.peak, int(found.group(1)) * 1024 if found else 0)
            time.sleep(POLL_S)


class Reports:
    """A server that has the files of one program; it symbolicates its report again and again."""

    def __init__(self, framezero, work):
        self.report = json.loads((work / "report.json").read_text(encoding="utf-8"))
        self.server, self.n, self.memory = Server(framezero, workers=1), 0, 0
        self.server.start()
        self.server.command("project", "set", "default", "--values", "on")
        for path in (program.symbols(work), work / "crash"):
            status, answer = self.server.request("POST", "/api/v1/symbols", body=path.read_bytes(), timeout=300)
            if status != 201:
                sys.exit(f"variables: {path} was answered with {status}: {answer}")
        self.send()  # opens the index and the dSYM

    def send(self):
        self.n += 1
        body = json.dumps({**self.report, "note": self.n}).encode()  # another body is another report
        status, answer = self.server.request("POST", "/api/v1/reports?wait=60", body=body, timeout=90)
        if status != 200 or not answer.get("threads"):
            sys.exit(f"variables: the report was answered with {status}: {answer}")
        return answer

    def measure(self):
        """Milliseconds of a report, by the clock and of CPU time; frames and variables of the last one."""
        memory, children, before = Memory(self.server), self.server.worker_children, len(self.server.log())
        memory.start()
        began = cpu_ms(children)
        for _ in range(REPORTS):
            answer = self.send()
        took = (cpu_ms(children) - began) / REPORTS
        memory.is_over = True
        memory.join()
        self.memory = max(self.memory, memory.peak)
        jobs = re.findall(r'msg="job" .*kind=report .*result=done .*ms=(\d+)', self.server.log()[before:])
        frames = [frame for thread in answer["threads"] for frame in thread["frames"]]
        n = sum(len(symbol.get("variables", [])) for frame in frames for symbol in frame.get("symbols", []))
        return (statistics.median(int(ms) for ms in jobs), took), len(frames), n


def measure(shape, framezero, work, rounds):
    bench = pathlib.Path(framezero).parent / "bench_variables"
    reports, rows = Reports(framezero, work), []
    try:
        for i in range(rounds):
            row = {}
            (row["cold"], row["warm"]), lines = reading(bench, work)
            row["lldb"] = lldb_ms(work)
            row["report"], frames, variables = reports.measure()
            rows.append(row)
            say(f"{shape}: round {i + 1} of {rounds}")
    finally:
        reports.server.stop()
    figures = {}
    for i, suffix in enumerate(("_wall", "")):
        for key in ("cold", "warm", "lldb", "report"):
            figures[f"{key}_ms{suffix}"] = statistics.median(row[key][i] for row in rows)
        figures["ratio" + suffix] = statistics.median(row["lldb"][i] / row["warm"][i] for row in rows)
    return {"shape": shape, "dsym_mb": program.symbols(work).stat().st_size / 1e6, "frames": frames, "variables": variables,
            "lines": lines, **figures, "memory_mib": reports.memory / (1 << 20), "samples": rows}


def table(rows):
    out = ["| program | dSYM | variables | reading, first | reading | lldb-19 | lldb : reading | report | memory | goals |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        missed = [name for name, (sense, goal) in GOALS.items() if (row[name] > goal if sense == "most" else row[name] < goal)]
        verdict = "ok" if not missed else f"**missed: {', '.join(missed)}**"
        times = [f"{row[key + '_ms']:.1f} ({row[key + '_ms_wall']:.1f}) ms" for key in ("cold", "warm", "lldb", "report")]
        times.insert(3, f"{row['ratio']:.1f} × ({row['ratio_wall']:.1f})")
        out.append(f"| {row['shape']} | {row['dsym_mb']:.1f} MB | {row['variables']} in {row['frames']} frames | {' | '.join(times)} "
                   f"| {row['memory_mib']:.1f} MiB | {verdict} |")
    return "\n".join(out)


def make_all(folder, shapes):
    """The programs that are not there yet; one thread for each, as compiling the large units takes one core."""
    errors = []

    def make(shape):
        try:
            program.make(folder, shape)
        except (OSError, subprocess.CalledProcessError) as error:
            errors.append(f"{shape}: {error}")

    threads = [threading.Thread(target=make, args=(shape,)) for shape in shapes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        sys.exit("variables: " + "; ".join(errors))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", help="a folder for files (default: a new one)")
    parser.add_argument("--shape", action="append", choices=program.SHAPES, help="only this one; may be given again")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the figures and samples to this file")
    args = parser.parse_args()
    bench = pathlib.Path(args.framezero).parent / "bench_variables"
    missing = [tool for tool in TOOLS if not shutil.which(tool)] + ([] if bench.exists() else [bench.name])
    if missing:
        print(f"variables: left out, not here: {', '.join(missing)}")
        return 0
    folder = pathlib.Path(os.environ.get("FRAMEZERO_BENCH_CORPUS") or TOP / "build/bench-corpus").resolve() / "variables"
    shapes = args.shape or list(program.SHAPES)
    make_all(folder, shapes)
    load = os.getloadavg()[0]
    rows = [measure(shape, args.framezero, folder / shape, args.rounds) for shape in shapes]
    print(f"{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} cores, load {load:.1f} before and {os.getloadavg()[0]:.1f} "
          f"after, {args.rounds} rounds\n\n{table(rows)}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
