#!/usr/bin/env python3
"""How long do reports take to be acknowledged while other clients ask for what is expensive?

    bench/beside.py [--framezero BIN] [--work DIR] [--reports N] [--clients N] [--seconds S] [--rounds N] [--json FILE]

A server with N reports (200,000, made as in issues.py) gets ten reports a second, and beside them requests over 32 connections, each of
which asks again as soon as it has its answer: /metrics, a search for a text that no report has, a list of issues by a text, an
export. In turns with nothing beside, so that ratios are of the same minutes. The clients run in a process of their own with
the lowest priority: they are not what is measured.
"""
import argparse
import http.client
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "e2e"), str(TOP / "tests" / "bench")]
import issues  # noqa: E402
from ingest import make_body  # noqa: E402

ASKED = {
    "/metrics": "/metrics",
    "reports, text": "/api/v1/reports?q=zzzzqqqq",
    "issues, text": "/api/v1/issues?query=%22index%20out%22",
    "export": "/api/v1/export/reports",
}
PER_S = 10


def ask(port, token, path, ends, counts):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.time() < ends:
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            while answer.read(65536):
                if time.time() > ends:  # in the middle of a long one
                    connection.close()
                    return
            counts[answer.status] = counts.get(answer.status, 0) + 1
        except (OSError, http.client.HTTPException):
            counts["reset"] = counts.get("reset", 0) + 1
            connection.close()


def crowd(port, token, path, ends, clients):
    """In a process of its own: prints how many answers there were, by status."""
    os.nice(19)
    counts = {}
    threads = [threading.Thread(target=ask, args=(port, token, path, ends, counts)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(counts))


def post(server, seconds, numbers):
    """Milliseconds of each report; one that is due late counts from when it was due."""
    times, start, body = [], time.monotonic(), make_body()
    for i in range(int(seconds * PER_S)):
        due = start + i / PER_S
        time.sleep(max(0, due - time.monotonic()))
        status, answer = server.request("POST", "/api/v1/reports", body=body.replace(b"0" * 16, b"%016d" % next(numbers)), token="ingest")
        times.append((time.monotonic() - due) * 1000)
        if status not in (200, 202):
            sys.exit(f"beside: a report was answered with {status}: {answer}")
    return times


def beside(server, path, args, numbers):
    # Begun before the reports, and ended after them.
    what = [server.port, server.admin_token, path, time.time() + args.seconds + 2, args.clients]
    other = subprocess.Popen([sys.executable, __file__, "--crowd", json.dumps(what)], stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    times = post(server, args.seconds, numbers)
    return times, json.loads(other.communicate(timeout=120)[0])


def at(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--reports", type=int, default=200000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("--crowd", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.crowd:
        crowd(*json.loads(args.crowd))
        return
    server, database = issues.prepare(args.framezero, args.work, args.reports)
    server.start()
    numbers, quiet, found = iter(range(10**9)), [], {}
    try:
        issues.wait_sealed(database, server)
        for _ in range(args.rounds):
            for name, path in ASKED.items():
                quiet += post(server, args.seconds, numbers)
                times, counts = beside(server, path, args, numbers)
                row = found.setdefault(name, {"times": [], "counts": {}})
                row["times"] += times
                for status, n in counts.items():
                    row["counts"][status] = row["counts"].get(status, 0) + n
    finally:
        server.stop()
    print(f"{'nothing':16} p50 {at(quiet, 0.5):7.1f}  p99 {at(quiet, 0.99):7.1f} ms")
    for name, row in found.items():
        times, counts = row["times"], ", ".join(f"{n} x {status}" for status, n in row["counts"].items())
        print(f"{name:16} p50 {at(times, 0.5):7.1f}  p99 {at(times, 0.99):7.1f} ms  {at(times, 0.5) / at(quiet, 0.5):5.2f} x "
              f"{at(times, 0.99) / at(quiet, 0.99):5.2f} x of nothing; {counts}", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"quiet": quiet, **found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
