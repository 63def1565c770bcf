#!/usr/bin/env python3
"""How long a fresh report takes while a late dSYM has a hundred thousand others done again.

    bench/queue.py [--framezero BIN] [--work DIR] [--waiting N] [--fresh N] [--workers N] [--json FILE]

A server on SQLite gets N reports that wait for one dSYM (one is sent, the others are copies of its rows), then the
dSYM. Fresh reports are sent one after the other with ?wait: before the dSYM (the peer: the same server without a
backlog), while its upload queues the waiting reports, and while those are worked off. Latencies are those of the
client, from the request to the symbolicated report.
"""
import argparse
import json
import pathlib
import shutil
import sqlite3
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from framezero import Server  # noqa: E402

SAMPLE = TOP / "docs" / "sample"


def say(text):
    print(f"queue: {text}", file=sys.stderr, flush=True)


def report(number):
    made = json.loads((SAMPLE / "report.json").read_text())
    made.pop("id", None)
    made["note"] = number  # another body is another report
    return json.dumps(made).encode()


def send(server, number):
    began = time.monotonic()
    status, answer = server.request("POST", "/api/v1/reports?wait=30", body=report(number), timeout=60)
    took = time.monotonic() - began
    if status != 200:
        sys.exit(f"queue: a fresh report was answered with {status}: {answer}")
    return took, answer


def multiply(database, n):
    """Copies of the one report that is there: rows as the server would have made them."""
    db = sqlite3.connect(database)
    columns = [row[1] for row in db.execute("PRAGMA table_info(reports)")]
    copied = [c for c in columns if c not in ("key", "id", "body_sha256", "received_ms")]
    names = ", ".join(copied)
    db.execute(
        f"WITH RECURSIVE at (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM at WHERE i < {n}) "
        f"INSERT INTO reports (id, body_sha256, received_ms, {names}) "
        f"SELECT lower(hex(randomblob(16))), lower(hex(randomblob(32))), received_ms + i, {names} FROM reports, at"
    )
    db.execute(
        "INSERT INTO report_bodies (report_key, body) SELECT key, (SELECT body FROM report_bodies LIMIT 1) "
        "FROM reports WHERE key NOT IN (SELECT report_key FROM report_bodies)"
    )
    db.execute(f"INSERT INTO report_counts (n) VALUES ({n})")
    db.commit()
    db.close()


def gauge(server, name):
    _, text = server.request("GET", "/metrics", token=None)
    text = text.decode() if isinstance(text, bytes) else text
    for line in text.splitlines():
        if line.startswith(name + " ") or line.startswith(name + "{"):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def percentiles(times):
    times = sorted(times)
    pick = lambda p: times[min(len(times) - 1, int(p * len(times)))] * 1000  # noqa: E731
    return {"n": len(times), "p50_ms": pick(0.5), "p99_ms": pick(0.99), "max_ms": times[-1] * 1000}


def measure(server, numbers, n=None, while_true=None):
    times = []
    while (n is None or len(times) < n) and (while_true is None or while_true()):
        times.append(send(server, next(numbers))[0])
    return times


def run(options):
    data = options.work / "queue"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    numbers = iter(range(1, 1 << 30))
    with Server(options.framezero, workers=options.workers, data=str(data)) as server:
        _, first = send(server, next(numbers))
        if not first.get("missing"):
            sys.exit("queue: the sample report waits for nothing")
        server.terminate()
        say(f"making {options.waiting} waiting reports")
        multiply(data / "framezero.db", options.waiting - 1)
        server.start()
        measure(server, numbers, n=20)
        alone = measure(server, numbers, n=options.fresh)
        answer = {}

        def upload():
            began = time.monotonic()
            body = (SAMPLE / "Demo.dSYM.zip").read_bytes()
            path = "/api/v1/symbols?name=Demo.dSYM.zip"
            answer["status"], answer["body"] = server.request("POST", path, body=body, timeout=300)
            answer["s"] = time.monotonic() - began

        thread = threading.Thread(target=upload)
        thread.start()
        while_queued = measure(server, numbers, while_true=thread.is_alive)
        thread.join()
        if answer["status"] != 201:
            sys.exit(f"queue: the dSYM was answered with {answer['status']}: {answer['body']}")
        waiting_before = gauge(server, 'framezero_jobs{state="waiting"}')
        began = time.monotonic()
        backlogged = measure(server, numbers, n=options.fresh)
        took = time.monotonic() - began
        waiting_after = gauge(server, 'framezero_jobs{state="waiting"}')
    return {
        "waiting": options.waiting,
        "unblocked": answer["body"]["unblocked_reports"],
        "upload_s": answer["s"],
        "without_backlog": percentiles(alone),
        "while_queued": percentiles(while_queued) if while_queued else None,
        "with_backlog": percentiles(backlogged),
        "backlog": [waiting_before, waiting_after],
        "backlog_per_s": (waiting_before - waiting_after) / took,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/dev/server/framezero"))
    parser.add_argument("--work", type=pathlib.Path, default=TOP / "build/dev/bench")
    parser.add_argument("--waiting", type=int, default=100_000)
    parser.add_argument("--fresh", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    found = run(options)
    print(f"{found['waiting']} waiting reports, {options.workers} workers")
    print(f"dSYM answered after {found['upload_s']:.2f} s, {found['unblocked']} reports unblocked")
    rows = (("no backlog", "without_backlog"), ("while queued", "while_queued"), ("with backlog", "with_backlog"))
    for title, key in rows:
        if found[key]:
            row = found[key]
            print(f"{title:14} n={row['n']:<5} p50 {row['p50_ms']:7.1f} ms   p99 {row['p99_ms']:7.1f} ms   "
                  f"max {row['max_ms']:7.1f} ms")
    print(f"backlog {found['backlog'][0]:.0f} -> {found['backlog'][1]:.0f}, {found['backlog_per_s']:.0f} a second")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
