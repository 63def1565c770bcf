#!/usr/bin/env python3
"""What docs/scaling.md computes with: bytes of a report per table and index of PostgreSQL, CPU time of a report per kind of process,
and what a second worker brings. Run below tests/contract/with_postgresql.sh; ./dev cluster-test --scale does so.

Reports are queued without a worker and then worked on by one worker, or by two, so that each count is of a full queue. Where cores
are few, two workers cannot be twice as fast: CPU time and waits for locks say what more cores would bring.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "faults"), os.path.join(HERE, "..", "bench")]

from cluster import Cluster  # noqa: E402
from framezero import Server  # noqa: E402
from ingest import cpu_s  # noqa: E402
from ledger import Sender  # noqa: E402
from recount import number, rows  # noqa: E402

SENDERS = 8
STACKS = 300
SIZE_QUERY = """SELECT coalesce(p.inhparent::regclass::text, c.oid::regclass::text), sum(pg_relation_size(c.oid)
  + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)), sum(pg_indexes_size(c.oid)) FROM pg_class c
  LEFT JOIN pg_inherits p ON p.inhrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND n.nspname = 'public' GROUP BY 1"""
INDEX_QUERY = """SELECT coalesce(p.inhparent::regclass::text, c.oid::regclass::text), sum(pg_relation_size(c.oid)) FROM pg_class c
  LEFT JOIN pg_inherits p ON p.inhrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'i' AND n.nspname = 'public' GROUP BY 1"""


def body(n):
    """A report of about 17 KB: one of some hundred stacks, and threads that no two reports share."""
    chance = random.Random(n)
    stack = random.Random(f"stack {int(STACKS * chance.random() ** 2)}")
    made = {"framezero": 1, "app": {"id": "com.example.demo", "version": f"1.{chance.randrange(20)}"}, "arch": "arm64",
            "os": {"name": "iOS", "version": f"18.{chance.randrange(5)}"}, "user": {"id": f"user-{chance.randrange(100000)}"},
            "tags": {"number": str(n)}, "crash": {"thread": 0, "signal": "SIGSEGV"},
            "images": [{"uuid": "4c4c442e-5555-3144-a138-7743844373d8", "name": "Demo", "address": "0x104000000", "size": 16777216}],
            "threads": [{"index": 0, "frames": [hex(0x104000000 + stack.randrange(1 << 24)) for _ in range(20)]}]}
    while len(json.dumps(made)) < 17 * 1024:
        made["threads"].append({"index": len(made["threads"]), "frames": [hex(0x104000000 + chance.randrange(1 << 24))
                                                                          for _ in range(30)]})
    return json.dumps(made).encode()


class Poster(Sender):
    def __init__(self, server, numbers):
        super().__init__(server, threading.Event())
        self.numbers = numbers

    def work(self):
        for n in self.numbers:
            self.post_until("/api/v1/reports", body(n), self.server.ingest_key, (200, 202))


def post(server, numbers):
    posters = [Poster(server, numbers[i::SENDERS]) for i in range(SENDERS)]
    for poster in posters:
        poster.start()
    for poster in posters:
        poster.join()
        if poster.error:
            raise poster.error


class Times:
    """CPU time per kind of process; that of PostgreSQL without its connections' ends, which its first process counts."""

    def __init__(self, server, cluster):
        self.server, self.cluster, self.began = server, cluster, time.monotonic()
        self.before = self.now()

    def now(self):
        workers = self.server.pids_of("worker")
        return {"serve": cpu_s([self.server.serving_pid]), "intake": cpu_s(set(self.server.pids_of("child")) -
                                                                           set(self.server.worker_children)),
                "workers": cpu_s(workers), "their children": cpu_s(self.server.worker_children),
                "postgres": cpu_s([self.cluster.first_pid(), *self.cluster.processes()])}

    def per_report(self, n):
        return {name: 1000 * (s - self.before[name]) / n for name, s in self.now().items()}


def line(what, times, n, seconds):
    each = ", ".join(f"{name} {ms:.2f}" for name, ms in times.items() if ms >= 0.005)
    print(f"{what}: {n / seconds:.0f}/s; CPU ms per report: {sum(times.values()):.2f} ({each})", flush=True)


def waits(server, stop, found):
    """How often a backend waited for a lock, of all looks at one that worked."""
    while not stop.wait(0.05):
        for kind, n in rows(server, "SELECT coalesce(wait_event_type, 'CPU'), count(*) FROM pg_stat_activity WHERE state = 'active' "
                            "AND datname = current_database() AND pid <> pg_backend_pid() GROUP BY 1"):
            found[kind] = found.get(kind, 0) + n


def drain(server, cluster, n, workers):
    server.workers = workers
    server.start()
    times, found, stop = Times(server, cluster), {}, threading.Event()
    looker = threading.Thread(target=waits, args=(server, stop, found))
    looker.start()
    end = times.began + 600
    while number(server, "SELECT count(*) FROM jobs WHERE state < 2") and time.monotonic() < end:
        time.sleep(0.05)
    seconds = time.monotonic() - times.began
    line(f"{workers} worker{'s' * (workers > 1)}", times.per_report(n), n, seconds)
    stop.set()
    looker.join()
    total = max(1, sum(found.values()))
    print("  backends at work: " + ", ".join(f"{kind} {100 * k / total:.0f} %" for kind, k in sorted(found.items())))
    server.terminate()
    return n / seconds


def sizes(server):
    subprocess.run(["psql", "-X", "-q", server.database, "-c", "VACUUM ANALYZE"], check=True, timeout=300)
    tables = {name: (int(size), int(index)) for name, size, index in rows(server, SIZE_QUERY)}
    indexes = {name: int(size) for name, size in rows(server, INDEX_QUERY)}
    return tables, indexes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--reports", type=int, default=4000, help="for one worker, and as many for two")
    options = parser.parse_args()
    server, n = Server(options.framezero, workers=0), options.reports
    cluster = Cluster(os.environ["FRAMEZERO_TEST_POSTGRESQL"])
    server.start()
    first = sizes(server)
    rates = []
    for turn, workers in enumerate((1, 2)):
        if turn:
            server.workers = 0
            server.start()
        times = Times(server, cluster)
        post(server, range(turn * n, turn * n + n))
        line("taking", times.per_report(n), n, time.monotonic() - times.began)
        server.terminate()
        rates.append(drain(server, cluster, n, workers))
    print(f"two workers: {rates[1] / rates[0]:.2f} x one, on {os.cpu_count()} cores with a load of {os.getloadavg()[0]:.0f}")
    tables, indexes = sizes(server)
    print(f"\nbytes per report, {2 * n} reports of {len(body(1)) / 1024:.0f} KB:\n\n| table | rows | indexes |\n|---|---|---|")
    grown = {name: tuple((now - before) / (2 * n) for now, before in zip(size, first[0].get(name, (0, 0))))
             for name, size in tables.items()}
    for name, (rows_b, index_b) in sorted(grown.items(), key=lambda item: -sum(item[1])):
        if rows_b + index_b >= 8:
            print(f"| {name} | {rows_b:.0f} | {index_b:.0f} |")
    print(f"| all | {sum(g[0] for g in grown.values()):.0f} | {sum(g[1] for g in grown.values()):.0f} |\n\n| index | bytes |\n|---|---|")
    grown = {name: (size - first[1].get(name, 0)) / (2 * n) for name, size in indexes.items()}
    for name, size in sorted(grown.items(), key=lambda item: -item[1])[:12]:
        print(f"| {name} | {size:.0f} |")
    server.stop()


if __name__ == "__main__":
    main()
