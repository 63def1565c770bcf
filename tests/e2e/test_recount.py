#!/usr/bin/env python3
"""Counts of issues stay exact: thousands of reports, done again, deleted and renamed, while everything is killed.

usage: test_recount.py --framezero BINARY [--reports N] [--kills K] [--seed S]

Four clients post crashes of a few kinds: of named functions, of two reports of one run, sent twice, and without
names, until the dSYM arrives halfway. A fifth one has reports done again and deletes some, a sixth one applies rules
of grouping and takes them back. Meanwhile workers, children, the process that serves or all of them are killed with
SIGKILL. In the end every count of issues is that of the facts (recount.py), and each finished report has its facts.
"""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
import uuid

import recount
from case import SAMPLE, until
from framezero import Server, send

CLIENTS = 4
# Places in the sample's program, which make as many placeholders, and the five functions that have them.
PLACES = [0x104a40004, 0x104a40010, 0x104a40024, 0x104a40060, 0x104a40098, 0x104a400b4, 0x104a400c0, 0x104a400c8,
          0x104a400f0, 0x104a40108, 0x104a4010c, 0x104a40110, 0x104a40130]
FUNCTIONS = {"main", "checkout", "shop::cart::add", "shop::cart::total", "shop::price_of"}
SKIPPED = {"shop::cart::add", "shop::cart::total"}  # by the first of Ruler.RULES
NAMED = 5


def make_report(n):
    kind = n % 10
    if kind == 9:
        return make_report(n - 1)  # the same report once more
    made = {
        "framezero": 1, "id": f"{n:032x}", "tags": {"slot": str(n % 4), "number": str(n)},
        "app": {"id": "com.example.demo", "name": "Demo", "version": f"1.{n % 13}", "build": str(n % 3)},
        "os": {"name": "iOS", "version": f"18.{n % 5}"}, "device": {"model": f"iPhone{n % 6},1"}, "arch": "arm64",
        "environment": ("production", "beta")[n % 2], "user": {"id": f"user {n * 7 % 61}"},
        "crash": {"thread": 0, "signal": ("SIGSEGV", "SIGABRT")[n // 10 % 2], "reason": f"item {n} of order"},
        "images": [{"uuid": "4c4c442e-5555-3144-a138-7743844373d8", "name": "Demo", "arch": "arm64",
                    "path": "/private/var/containers/Bundle/Application/Demo.app/Demo", "address": "0x104a3c000",
                    "size": 32768}],
    }
    frames = [{"address": hex(PLACES[n // 10 % len(PLACES)])}]
    if kind < NAMED:
        frames = [{"address": hex(0x200000000 + n), "function": f"shop_function_{kind}"}]
        made["images"][0].update(uuid="4c4c445b-5555-3144-a129-88beb9d5eb60", address="0x200000000", size=1 << 20)
    if kind == 8:
        # Two reports of one run, which are one crash.
        made["run_id"] = str(uuid.UUID(int=n // 20))
        made["capture"] = {"way": ("signal", "corpse")[n // 10 % 2]}
    made["threads"] = [{"index": 0, "crashed": True, "frames": frames}]
    return made


class Client(threading.Thread):
    """Posts its share; what got no answer is sent again, as an SDK would."""

    def __init__(self, load, numbers):
        super().__init__(daemon=True)
        self.load, self.numbers, self.error = load, numbers, None

    def run(self):
        try:
            for n in self.numbers:
                answer = self.load.ask((202,), "POST", "/api/v1/reports", json.dumps(make_report(n)).encode())
                self.load.ids.append(answer["id"])
        except Exception as error:  # the main thread reports it
            self.error = error


class Meddler(threading.Thread):
    """Has reports processed again, and deletes some."""

    def __init__(self, load, rng):
        super().__init__(daemon=True)
        self.load, self.rng, self.error = load, rng, None
        self.deleted, self.again, self.ends = 0, 0, threading.Event()

    def run(self):
        try:
            while not self.ends.wait(0.004):
                if not self.load.ids:
                    continue
                report_id = self.rng.choice(self.load.ids)
                if self.rng.random() < 0.25:
                    self.load.ask((204, 404), "DELETE", f"/api/v1/reports/{report_id}")
                    self.deleted += 1
                else:
                    self.load.ask((202, 404, 409), "POST", f"/api/v1/reports/{report_id}/reprocess")
                    self.again += 1
        except Exception as error:
            self.error = error


class Ruler(threading.Thread):
    """Applies rules of grouping and takes them back, in the end all of them."""

    RULES = ['group-by function "shop_function_1"\nskip function "shop::cart::*"', 'group-by function "shop_function_*"',
             "fingerprint ignore", 'not-own image "Demo"']

    def __init__(self, load):
        super().__init__(daemon=True)
        self.load, self.error, self.applied, self.undone, self.ends = load, None, 0, 0, threading.Event()

    def run(self):
        try:
            while not self.ends.wait(0.2):
                rules = self.RULES[self.applied % len(self.RULES)]
                body = json.dumps({"rules": rules}).encode()
                if self.load.ask((200, 409), "PUT", "/api/v1/grouping", body):
                    self.applied += 1
                if self.applied % 3 == 0:
                    self.undo()
            while self.undo():
                pass
        except Exception as error:
            self.error = error

    def undo(self):
        """False: there is nothing to take back."""
        answer = self.load.ask((200, 409), "POST", "/api/v1/grouping/undo")
        self.undone += "version" in answer
        return "version" in answer


class Load:
    def __init__(self, server):
        self.server, self.ids, self.up = server, [], threading.Event()
        self.up.set()

    def ask(self, wanted, method, path, body=None):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            self.up.wait(60)
            try:
                status, answer = self.server.request(method, path, body=body, timeout=20)
            except (OSError, ValueError):
                time.sleep(0.01)
                continue
            if status in wanted:
                return answer
            if status != 503:
                raise RuntimeError(f"{method} {path}: {status} {answer}")
        raise RuntimeError(f"{method} {path}: no answer within 120 s")


def kill_some(load, rng, turn):
    """In turn: a child, a worker, the process that serves, everything."""
    server, what = load.server, ("child", "worker", "serving", "all")[turn % 4]
    if what == "child":
        for pid in server.worker_children[:1]:
            send(pid, signal.SIGKILL)
    elif what == "worker":
        send(rng.choice(server.pids_of("worker") or [0x7fffffff]), signal.SIGKILL)
    elif what == "serving":
        load.up.clear()
        send(server.serving_pid, signal.SIGKILL)
        time.sleep(0.05)
        server.wait_ready()
    else:
        load.up.clear()
        server.kill_all()
        server.start()
    load.up.set()


def run(load, options, rng):
    clients = [Client(load, range(i, options.reports, CLIENTS)) for i in range(CLIENTS)]
    meddler, ruler = Meddler(load, rng), Ruler(load)
    for thread in [*clients, meddler, ruler]:
        thread.start()
    for turn in range(options.kills):
        mark = (turn + rng.random()) * options.reports / (options.kills + 1)
        while len(load.ids) < mark and any(c.is_alive() for c in clients):
            time.sleep(0.001)
        if turn == options.kills // 2:
            with open(os.path.join(SAMPLE, "Demo.dSYM.zip"), "rb") as f:
                load.ask((201,), "POST", "/api/v1/symbols", f.read())
        kill_some(load, rng, turn)
    for client in clients:
        client.join()
    for thread in (meddler, ruler):
        thread.ends.set()
        thread.join()
    for thread in [*clients, meddler, ruler]:
        if thread.error:
            raise thread.error
    return meddler, ruler


def check(server):
    wrong = recount.wrong(server)
    # What a deleted report left may have lost its way to the names: rules came between, so that its issue was no
    # placeholder when they arrived.
    alive = ("EXISTS (SELECT 1 FROM variants v JOIN facts f ON f.variant_id = v.id WHERE v.issue_id = issues.id AND "
             "f.report_key >= 0)")
    titles = {row[0] for row in recount.rows(server, f"SELECT title FROM issues WHERE merged_into IS NULL AND {alive}")}
    want = {f"shop_function_{i}" for i in range(NAMED)} | FUNCTIONS
    # Two placeholders whose names arrive while a rule makes them one bug are one issue from then on.
    if titles - want or len(want - titles) > (want - titles <= SKIPPED):
        wrong.append(f"issues: {sorted(titles)}")
    left = recount.number(server, f"SELECT count(*) FROM issues WHERE is_placeholder = 1 AND {alive}")
    if left:
        wrong.append(f"{left} placeholders have no name yet")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--reports", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    server = Server(options.framezero, workers=3)
    server.start()
    load, started = Load(server), time.monotonic()
    meddler, ruler = run(load, options, random.Random(options.seed))
    posted = time.monotonic() - started
    until(lambda: recount.number(server, "SELECT count(*) FROM jobs WHERE state < 2") == 0, "all jobs", 300)
    took = time.monotonic() - started
    wrong = check(server)
    facts = recount.number(server, "SELECT count(*) FROM facts")
    print(f"{len(load.ids)} posts, {meddler.again} done again, {meddler.deleted} deletions, rules {ruler.applied} times "
          f"applied and {ruler.undone} times undone, {options.kills} kills; "
          f"{facts} facts; posted in {posted:.1f} s, done after {took:.1f} s")
    for line in wrong[:40]:
        print(line)
    if wrong:
        print(server.log_tail())
    code = server.stop()
    if code != 0:
        print(f"serve ended with {code} on SIGTERM")
    return 0 if not wrong and code == 0 and facts > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
