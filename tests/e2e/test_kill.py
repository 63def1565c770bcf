#!/usr/bin/env python3
"""kill -9 of server, workers and children in the middle of 1,000 posts: no acknowledged report is lost.

usage: test_kill.py --framezero BINARY [--reports N] [--kills K] [--seed S]

Four clients post reports and write down every id that was answered with 202 (a ledger). Meanwhile everything, or every
second time the process that answers, is killed K times at random moments and started again. In the end each id of the ledger must be there, with the body that was
sent, and finished; no report may be there twice.
"""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time

from framezero import Server


def make_report(n):
    return {
        "framezero": 1,
        "tags": {"number": str(n)},
        "addresses": [hex(0x100000000 + 16 * n), "0x100000100", hex(0x100000200 + n)],
        "images": [
            {"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Demo", "address": "0x100000000", "size": 1048576}
        ],
    }


class Client(threading.Thread):
    """Posts its share of the reports; one without an answer is sent again, as an SDK would."""

    def __init__(self, server, numbers, ledger, up):
        super().__init__()
        self.server, self.numbers, self.ledger, self.up = server, numbers, ledger, up
        self.error = None

    def post(self, n):
        body = json.dumps(make_report(n)).encode()
        end = time.monotonic() + 120
        while time.monotonic() < end:
            self.up.wait(60)
            try:
                status, answer = self.server.request("POST", "/api/v1/reports", body=body, token="ingest", timeout=10)
            except (OSError, ValueError):
                time.sleep(0.01)
                continue
            if status == 202:
                self.ledger.append((answer["id"], n))
                return
            if status != 503:
                raise RuntimeError(f"report {n}: {status} {answer}")
        raise RuntimeError(f"report {n} was not taken within 120 s")

    def run(self):
        try:
            for n in self.numbers:
                self.post(n)
        except Exception as error:  # the main thread reports it
            self.error = error


def finished(server, report_id):
    report = server.wait_report(report_id, deadline_s=120)
    status, raw = server.request("GET", f"/api/v1/reports/{report_id}?format=raw")
    return report["status"], json.loads(raw) if isinstance(raw, bytes) else raw


def count_reports(server):
    n, cursor = 0, None
    while True:
        parameters = {"limit": 500, **({"cursor": cursor} if cursor else {})}
        _, page = server.query("/api/v1/reports", **parameters)
        n += len(page["reports"])
        cursor = page.get("next_cursor")
        if not cursor:
            return n


def kill_serving(server):
    """Only the process that answers; the one above it starts another."""
    before = server.serving_pid
    os.kill(before, signal.SIGKILL)
    while server.serving_pid in (before, server.process.pid):
        time.sleep(0.001)
    server.wait_ready()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--reports", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print(f"seed {options.seed}")
    database = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
    server = Server(options.framezero, workers=2, database=database)
    server.start()
    ledger, up = [], threading.Event()
    up.set()
    clients = [Client(server, range(i, options.reports, 4), ledger, up) for i in range(4)]
    for client in clients:
        client.start()
    for kill in range(options.kills):
        # The next kill comes when a random further share of the reports has been acknowledged.
        mark = (kill + rng.random()) * options.reports / (options.kills + 1)
        while len(ledger) < mark and any(c.is_alive() for c in clients):
            time.sleep(0.001)
        up.clear()
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.02)
        started = time.monotonic()
        if kill % 2:
            kill_serving(server)
        else:
            server.kill_all()
            server.start()
        print(f"killed {'the serving process' if kill % 2 else 'all'} with {len(ledger)} acknowledged")
        print(f"serving again after {time.monotonic() - started:.2f} s")
        up.set()
    for client in clients:
        client.join()
        if client.error:
            raise client.error
    wrong = 0
    for report_id, n in ledger:
        status, raw = finished(server, report_id)
        if status in ("queued", "failed") or raw.get("tags", {}).get("number") != str(n):
            print(f"report {report_id} (number {n}): status {status}, tags {raw.get('tags')}")
            wrong += 1
    total = count_reports(server)
    print(f"{len(ledger)} acknowledged, {wrong} lost or unfinished, {total} stored")
    ok = wrong == 0 and len(ledger) == options.reports and total == options.reports
    code = server.stop()
    if code != 0:
        print(f"serve ended with {code} on SIGTERM")
    return 0 if ok and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
