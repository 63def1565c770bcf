#!/usr/bin/env python3
"""One call of the system fails, the Nth of its kind, while the server does one thing: no process crashes, nothing is
acknowledged that is not there after a restart, and the next request works.

failures.py --framezero BINARY --shim LIBRARY [--points N | --all] [--memory SECONDS]

Without --all, the points are spread evenly over the calls that each action makes. Then one allocation in 20,000 and one in 200
fails, each for so many seconds (1), while clients send reports. --points 0: that alone.
"""

import argparse
import errno
import json
import mmap
import os
import shutil
import struct
import sys
import tempfile
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "e2e"))
from framezero import Server  # noqa: E402
from symbol_files import sample  # noqa: E402

# fail_shim.c has the same list.
KINDS = {"memory": (1, errno.ENOMEM), "write": (2, errno.ENOSPC), "sync": (3, errno.EIO), "rename": (4, errno.EIO),
         "open": (5, errno.EMFILE), "connect": (6, errno.ECONNREFUSED)}
SIZE = struct.calcsize("=iiqqqq")
SLOW_S = 3
UUID = "4c4c442e55553144a1387743844373d8"  # of the sample's dSYM


class Control:
    def __init__(self, folder):
        self.path = os.path.join(folder, "control")
        with open(self.path, "wb") as f:
            f.write(bytes(SIZE))
        os.chmod(self.path, 0o666)
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), SIZE)

    def arm(self, kind, nth, every=0):
        number, code = KINDS[kind]
        struct.pack_into("=qqqq", self.map, 8, nth, 0, 0, every)
        struct.pack_into("=ii", self.map, 0, number, code)

    def disarm(self):
        """How many calls there were, and how many failed."""
        struct.pack_into("=i", self.map, 0, 0)
        _, n_calls, n_failed, _ = struct.unpack_from("=qqqq", self.map, 8)
        return n_calls, n_failed


class Failures:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="framezero-failures-")
        os.chmod(self.folder, 0o755)
        self.control = Control(self.folder)
        env = {"LD_PRELOAD": os.path.abspath(options.shim), "FAIL_SHIM_FILE": self.control.path}
        self.server = Server(options.framezero, workers=1, env=env)
        self.n = 0
        self.acked = {}  # {id: body}
        self.deleted = set()
        self.n_points = self.n_failed = self.n_refused = 0

    def body(self):
        self.n += 1
        return json.dumps({"framezero": 1, "addresses": [hex(0x1000 + self.n)],
                           "metadata": {"n": self.n, "run": time.monotonic_ns()}}).encode()

    def ask(self, *what, **how):
        """(None, None): no answer, which acknowledges nothing."""
        try:
            return self.server.request(*what, timeout=30, **how)
        except (OSError, ValueError):
            return None, None

    # ---- what a server does; each returns whether it was refused

    def send(self, path):
        body = self.body()
        status, answer = self.ask("POST", path, body=body)
        if isinstance(answer, bytes):  # the header of its type was lost for want of memory
            try:
                answer = json.loads(answer)
            except ValueError:
                status = None
        if status in (200, 202):
            self.acked[answer["id"]] = body
        return status not in (200, 202)

    def take(self):
        return self.send("/api/v1/reports")

    def finish(self):
        return self.send("/api/v1/reports?wait=2")

    def upload(self):
        status, _ = self.ask("POST", "/api/v1/symbols?name=Demo.dSYM.zip", body=sample("Demo.dSYM.zip"))
        if status == 201:
            self.control.disarm()
            status, answer = self.server.request("GET", f"/api/v1/symbols/{UUID}")
            assert (status, answer["symbols"][0]["state"]) == (200, "ready"), answer
        return status not in (200, 201, 202)

    def read(self):
        statuses = [self.ask("GET", path)[0] for path in ("/api/v1/reports", "/api/v1/issues")]
        return statuses != [200, 200]

    def delete(self):
        report_id = next(iter(self.acked))
        status, _ = self.ask("DELETE", f"/api/v1/reports/{report_id}")
        if status in (204, 404):
            assert status == 204, (report_id, status)
            self.deleted.add(report_id)
        # A delete without an answer may have been done or not.
        del self.acked[report_id]
        return status != 204

    # ---- points

    def works_again(self):
        end = time.monotonic() + 15
        while self.take():
            assert time.monotonic() < end, f"no report is taken any more:\n{self.server.log_tail()}"
            time.sleep(0.01)

    def check_alive(self, pids, what):
        now = [self.server.process.pid, self.server.serving_pid]
        assert now == pids, f"{what}: serve died:\n{self.server.log_tail()}"
        for word in ("SIGABRT", "SIGSEGV", "signal=6", "signal=11"):
            assert word not in self.server.log(), f"{what}: a process crashed:\n{self.server.log_tail()}"

    def points_of(self, n_calls, n_points):
        if self.options.all:
            return range(1, n_calls + 1)
        n_points = min(n_points, n_calls)
        return sorted({1 + i * n_calls // n_points for i in range(n_points)}) if n_points else []

    def run_action(self, action, kind, n_points):
        self.control.arm(kind, 0)  # only counts
        action()
        n_calls, _ = self.control.disarm()
        pids = [self.server.process.pid, self.server.serving_pid]
        for nth in self.points_of(n_calls, n_points):
            what = f"{action.__name__}, {kind} {nth} of {n_calls}"
            self.control.arm(kind, nth)
            began = time.monotonic()
            refused = action()
            _, n_failed = self.control.disarm()
            self.n_points += 1
            self.n_failed += n_failed
            self.n_refused += refused
            if time.monotonic() - began > SLOW_S:
                print(f"{what}: {time.monotonic() - began:.1f} s", flush=True)
            self.check_alive(pids, what)
            self.works_again()

    def run_start(self, kind, n_points):
        """A start that fails says why, or it succeeds."""
        self.server.terminate()
        self.control.arm(kind, 0)
        self.server.start()
        n_calls, _ = self.control.disarm()
        for nth in self.points_of(n_calls, n_points):
            self.server.terminate()
            before = len(self.server.log())
            self.control.arm(kind, nth)
            try:
                self.server.start()
            except RuntimeError:
                assert self.server.process.returncode in (1, 2), (kind, nth, self.server.log_tail())
                assert "framezero serve:" in self.server.log()[before:], (kind, nth, self.server.log_tail())
                self.server.process = None
                self.control.disarm()
                self.server.start()
            _, n_failed = self.control.disarm()
            self.n_points += 1
            self.n_failed += n_failed
            self.works_again()

    def check_acked(self):
        self.server.terminate()
        self.server.env.pop("LD_PRELOAD")
        self.server.start()
        for report_id, body in self.acked.items():
            report = self.server.wait_report(report_id)
            assert report["status"] in ("symbolicated", "partial", "unsymbolicated"), report
            status, raw = self.server.request("GET", f"/api/v1/reports/{report_id}?format=raw")
            raw = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
            assert status == 200 and json.loads(raw) == json.loads(body), (report_id, status, raw)
        for report_id in self.deleted:
            assert self.server.request("GET", f"/api/v1/reports/{report_id}")[0] == 404, report_id

    def memory_fails(self, seconds):
        for every in (20000, 200):
            stop = time.monotonic() + seconds
            counts = [0, 0]
            self.control.arm("memory", 0, every)

            def send():
                while time.monotonic() < stop:
                    counts[self.take()] += 1

            threads = [threading.Thread(target=send) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            _, n_failed = self.control.disarm()
            log = self.server.log()
            crashes = sum(log.count(word) for word in ("SIGABRT", "SIGSEGV", "signal=6", "signal=11"))
            print(f"1 of {every} allocations for {seconds} s: {n_failed} failed, {counts[0]} reports taken, {counts[1]} refused, "
                  f"{crashes} processes crashed")
            assert crashes == 0, self.server.log_tail()
            self.works_again()

    def run(self):
        self.server.start()
        try:
            self.take()
            kinds = [k for k in KINDS if k != "connect" or self.server.database]
            actions = [self.take, self.finish, self.upload, self.read, self.delete]
            each = max(1, self.options.points // (len(kinds) * (len(actions) + 1)))
            for kind in kinds if self.options.points or self.options.all else []:
                for action in actions:
                    self.run_action(action, kind, each)
                self.run_start(kind, each)
            self.memory_fails(self.options.memory)
            self.check_acked()
        finally:
            self.control.disarm()
            self.server.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
        print(f"{self.n_points} points, {self.n_failed} calls failed, {self.n_refused} requests refused, "
              f"{len(self.acked)} reports acknowledged and there")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--memory", type=int, default=1)
    Failures(parser.parse_args()).run()


if __name__ == "__main__":
    main()
