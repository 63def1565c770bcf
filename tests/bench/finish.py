#!/usr/bin/env python3
"""CPU time that a report takes from its claim to its stored result, beside another build of framezero.

    bench/finish.py [--framezero BIN] [--peer BIN] [--reports N] [--rounds N] [--files DIR] [--load NAME] [--json FILE]

Three loads, on SQLite with one worker:

    small      the same crash in two frames, with a few hundred bytes: what storing costs, and little else
    storm      docs/sample with its dSYM: one crash of one app, again and again
    typical    every .json and .ips file of DIR in turns, by default the KSCrash and .ips reports of tests/golden

In each round, both builds in turns, the worker is stopped while N reports come in and then has all of them before it, so
that batches are full. What counts is the CPU time of the worker and of its children until the last is done. Ratios are
taken within a round; their median is printed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import statistics
import sys
import time
import uuid

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from framezero import Server  # noqa: E402
from reports import SAMPLE, cpu_s  # noqa: E402

GOLDEN = [TOP / "tests/golden/kscrash", TOP / "tests/golden/ips"]
FILE_MAX = 256 * 1024
LOADS = ("small", "storm", "typical")
PARTS = ("worker", "child", "both")


def small(number):
    return json.dumps({"format": "framezero-1", "note": number, "app": {"name": "Shop", "version": "1.2"},
                       "signal": {"name": "SIGSEGV"},
                       "images": [{"name": "Shop", "path": "/private/var/containers/Shop.app/Shop", "base": "0x100000000",
                                   "size": 65536, "uuid": "01234567-89AB-CDEF-0123-456789ABCDEF"}],
                       "threads": [{"crashed": True, "frames": ["0x100000104", "0x100000304"]}]}).encode()


def storm(number):
    made = json.loads((SAMPLE / "report.json").read_text(encoding="utf-8"))
    made.pop("id", None)
    made["note"] = number  # another body is another report
    return json.dumps(made).encode()


class Typical:
    def __init__(self, folders):
        paths = sorted(p for f in folders for p in f.rglob("*") if p.suffix in (".json", ".ips") and p.name != "report.json")
        self.texts = [p.read_text(encoding="utf-8", errors="replace") for p in paths if p.stat().st_size <= FILE_MAX]

    def keep_accepted(self, send):
        """Folders may also hold what no report is; and what was sent once is known from then on."""
        self.texts = [text for text in self.texts if send(self.fresh(text))]
        if not self.texts:
            sys.exit("finish: no file of the folder is a report")

    @staticmethod
    def fresh(text):
        """The same crash of another time: its incident has another id."""
        for found in set(re.findall(r'"(?:incident_id|incident|id)"\s*:\s*"([0-9A-Fa-f-]{36})"', text)):
            text = text.replace(found, str(uuid.uuid4()).upper())
        return text.encode() + b"\n" * (uuid.uuid4().int % 64)

    def __call__(self, number):
        return self.fresh(self.texts[number % len(self.texts)])


class Build:
    def __init__(self, binary, data):
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(parents=True)
        self.server = Server(binary, workers=1, data=str(data))
        self.server.start()
        self.data, self.n = data, 0
        status, answer = self.server.request("POST", "/api/v1/symbols?name=Demo.dSYM.zip",
                                             body=(SAMPLE / "Demo.dSYM.zip").read_bytes(), timeout=60)
        if status != 201:
            sys.exit(f"finish: the dSYM was answered with {status}: {answer}")

    def is_report(self, body):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=30", body=body, timeout=60)
        return status == 200 and answer["status"] != "failed"

    def send(self, body):
        status, answer = self.server.request("POST", "/api/v1/reports", body=body, timeout=60)
        if status not in (200, 202):
            sys.exit(f"finish: a report was answered with {status}: {answer}")

    def cpu_ms(self):
        worker = self.server.pids_of("worker")[0]
        fields = pathlib.Path(f"/proc/{worker}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        tick_ms = 1000 / os.sysconf("SC_CLK_TCK")
        both_ms, worker_ms = cpu_s([worker] + self.server.descendants(worker)) * 1000, sum(map(int, fields[11:13])) * tick_ms
        return {"worker": worker_ms, "child": both_ms - worker_ms, "both": both_ms}

    def n_queued(self):
        db = sqlite3.connect(f"file:{self.data}/framezero.db?mode=ro", uri=True)
        try:
            return db.execute("SELECT count(*) FROM jobs").fetchone()[0]
        finally:
            db.close()

    def measure(self, load, n):
        worker = self.server.pids_of("worker")[0]
        os.kill(worker, signal.SIGSTOP)
        try:
            for _ in range(n):
                self.n += 1
                self.send(load(self.n))
            began = self.cpu_ms()
        finally:
            os.kill(worker, signal.SIGCONT)
        while self.n_queued() > 0:
            time.sleep(0.2)
        ended = self.cpu_ms()
        return {part: (ended[part] - began[part]) / n for part in PARTS}


def measure(name, load, binaries, args):
    builds = {key: Build(binary, args.work / "finish" / key) for key, binary in binaries.items()}
    samples = {key: [] for key in binaries}
    try:
        if isinstance(load, Typical):
            load.keep_accepted(lambda body: all(build.is_report(body) for build in builds.values()))
        for i in range(args.rounds + 1):
            for key in sorted(builds, reverse=i % 2 == 1):
                found = builds[key].measure(load, args.reports)
                if i > 0:  # the first fills caches
                    samples[key].append(found)
            print(f"finish: {name}, round {i} of {args.rounds}", file=sys.stderr, flush=True)
    finally:
        for build in builds.values():
            build.server.stop()
    return samples


def show(name, samples):
    for key, found in samples.items():
        ms = {part: statistics.median(one[part] for one in found) for part in PARTS}
        print(f"{name:8} {key:10} {ms['both']:.3f} ms a report: worker {ms['worker']:.3f}, child {ms['child']:.3f}")
    if "peer" in samples:
        ratio = {part: statistics.median(a[part] / b[part] for a, b in zip(samples["framezero"], samples["peer"]))
                 for part in PARTS}
        print(f"{name:8} ratio      {ratio['both']:.3f}: worker {ratio['worker']:.3f}, child {ratio['child']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--peer", help="another build of framezero")
    parser.add_argument("--work", type=pathlib.Path, default=TOP / "build/release/bench", help="for files")
    parser.add_argument("--reports", type=int, default=1000, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=pathlib.Path, action="append", help="a folder of typical reports")
    parser.add_argument("--load", choices=LOADS, action="append", help="only this one; may be given again")
    parser.add_argument("--json", type=pathlib.Path, help="write every sample to this file")
    args = parser.parse_args()
    binaries = {"framezero": args.framezero, **({"peer": args.peer} if args.peer else {})}
    loads = {"small": small, "storm": storm, "typical": Typical(args.files or GOLDEN)}
    samples = {}
    for name in args.load or LOADS:
        samples[name] = measure(name, loads[name], binaries, args)
        show(name, samples[name])
    if args.json:
        args.json.write_text(json.dumps(samples, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
