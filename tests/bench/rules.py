#!/usr/bin/env python3
"""How long rules of grouping take to be applied and undone over a million reports, and what happens to ingest meanwhile.

    bench/rules.py [--framezero BIN] [--work DIR] [--reports N] [--postgresql URL] [--check]

Statements of the database itself make N facts over 92 days (of reports that were deleted since), 20,000 stacks, 3,000 issues
with two variants each, and all counts. One stack has 46 % of the facts. A server then applies rules that move one stack, one
that has half as many reports, 2,000 stacks, all stacks into issues of their own and all into one issue, and takes each of them
back. Meanwhile a client posts a report every 20 ms. With --postgresql it is the URL of an empty database instead of a new file
of SQLite; --check counts everything again after each step (tests/e2e/recount.py).
"""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
import recount  # noqa: E402
from framezero import Server  # noqa: E402

ISSUES, STACKS, DAYS = 3000, 20000, 92
VERSIONS, SYSTEMS, DEVICES = (1, 60), (101, 20), (201, 60)  # first number, how many
HOUR, DAY = 3600000, 86400000


def say(text):
    print(f"rules: {text}", file=sys.stderr, flush=True)


def issue_of(stack):
    return 1 if stack <= 2 else 1 + stack * 7919 % ISSUES


def uleb(n):
    made = bytearray()
    while n > 0x7f:
        made.append(n & 0x7f | 0x80)
        n >>= 7
    made.append(n)
    return bytes(made)


def stack_body(stack):
    """As server/group/codec.c writes it, in a frame of zstd that is not compressed."""
    issue = issue_of(stack)
    functions = [f"fn_{issue}", f"stack_{stack}"] + ([f"batch_{issue}"] if stack % 10 == 0 else []) + ["main"]
    texts = ["crash", "Shop", "Shop.app/Shop", *functions]
    body = b"\x01\x01" + uleb(len(texts)) + b"".join(uleb(len(t)) + t.encode() for t in texts)
    body += bytes([1, 0, 0, 0, 0, 0, 2])  # kind and app
    body += uleb(1) + bytes([2, 3, 1])  # one image, the executable
    body += uleb(len(functions)) + b"".join(b"\0\1" + uleb(4 + i) + b"\0\0" for i in range(len(functions)))
    return b"\x28\xb5\x2f\xfd\xa0" + len(body).to_bytes(4, "little") + (len(body) << 3 | 1).to_bytes(3, "little") + body


class Sqlite:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("PRAGMA cache_size = -200000")

    def run(self, text):
        self.db.execute(text)

    @staticmethod
    def blob(data):
        return f"X'{data.hex()}'"

    def finish(self):
        self.db.commit()
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()


class Postgresql:
    def __init__(self, url):
        self.url = url

    def run(self, text):
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", self.url], input=text, text=True, check=True)

    @staticmethod
    def blob(data):
        return f"'\\x{data.hex()}'"

    def finish(self):
        for table in ("terms", "issues", "issue_keys", "variants"):
            self.run(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))")
        self.run("SELECT setval(pg_get_serial_sequence('stacks', 'key'), (SELECT max(key) FROM stacks))")
        self.run("VACUUM ANALYZE")


def insert(to, table, columns, rows):
    rows = list(rows)
    for start in range(0, len(rows), 500):
        values = ", ".join("(" + ", ".join(map(str, row)) + ")" for row in rows[start:start + 500])
        to.run(f"INSERT INTO {table} ({columns}) VALUES {values}")


def fill(to, n, end_ms):
    start, step = end_ms - DAYS * DAY, DAYS * DAY // n

    def version_key(i):
        return b"\x10" + (1 + i // 10).to_bytes(4, "big") + (i % 10).to_bytes(4, "big")

    insert(to, "terms", "id, project_id, field, text, detail, sort",
           ((VERSIONS[0] + i, 1, 1, f"'{1 + i // 10}.{i % 10}'", f"'{i}'", to.blob(version_key(i))) for i in range(VERSIONS[1])))
    insert(to, "issues", "id, project_id, number, title, kind, created_ms, first_ms, last_ms",
           ((i, 1, i, f"'fn_{i}'", "'crash'", start, start, start) for i in range(1, ISSUES + 1)))
    to.run(f"UPDATE projects SET last_issue = {ISSUES} WHERE id = 1")
    insert(to, "issue_keys", "id, project_id, sha256, issue_id, title, is_placeholder",
           ((i, 1, to.blob(b"key %028d" % i), i, f"'fn_{i}'", 0) for i in range(1, ISSUES + 1)))
    # Variants of different issues are alike often enough: they meet when issues do.
    insert(to, "variants", "id, key_id, sha256, issue_id, label, first_ms, last_ms",
           ((v, (v + 1) // 2, to.blob(b"variant %024d" % (v % 20)), (v + 1) // 2, "'SIGSEGV'", start, start)
            for v in range(1, 2 * ISSUES + 1)))
    insert(to, "stacks", "key, project_id, sha256, key_id, body",
           ((s, 1, to.blob(b"stack %026d" % s), issue_of(s), to.blob(stack_body(s))) for s in range(1, STACKS + 1)))
    say(f"{n} facts")
    # Multiplications instead of random(), which differs between databases.
    of_issue = f"CASE WHEN s <= 2 THEN 1 ELSE 1 + s * 7919 % {ISSUES} END"
    to.run(f"""INSERT INTO facts (project_id, received_ms, report_key, variant_id, user_id, version_id, os_id, device_id,
        arch_id, environment_id, stack_key, status, is_counted)
        WITH RECURSIVE n (i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < {n}),
        r AS (SELECT i, i * 2654435761 % 4294967296 / 64 AS a, i * 2246822519 % 4294967296 / 64 AS b FROM n),
        t AS (SELECT i, a, b, CASE WHEN a % 1000 < 460 THEN 1 WHEN a % 1000 < 500 THEN 2
                                   ELSE 3 + b % 10000 * (b % 10000) * {STACKS - 3} / 100000000 END AS s FROM r)
        SELECT 1, {start} + i * {step}, -i, 2 * ({of_issue}) - (CASE WHEN i % 5 = 0 THEN 1 ELSE 0 END), 1000 + a / 7 % {n // 4},
        {VERSIONS[0]} + i * 50 / {n} + b % 10, {SYSTEMS[0]} + b / 16 % {SYSTEMS[1]}, {DEVICES[0]} + a / 16 % {DEVICES[1]},
        301 + i % 2, 303 + i % 11 / 10, s, 1, CASE WHEN i % 97 = 0 THEN 0 ELSE 1 END FROM t""")
    say("rollups")
    counted = "FROM facts WHERE is_counted = 1 GROUP BY"
    to.run(f"INSERT INTO issue_hours (variant_id, hour, n) SELECT variant_id, received_ms / {HOUR}, count(*) {counted} 1, 2")
    for field, column in recount.DAILY.items():
        to.run(f"INSERT INTO issue_days (variant_id, field, term_id, day, n) SELECT variant_id, {field}, {column}, "
               f"received_ms / {DAY}, count(*) {counted} variant_id, {column}, received_ms / {DAY}")
    to.run("INSERT INTO issue_users (issue_id, user_id, n) SELECT v.issue_id, f.user_id, count(*) FROM facts f JOIN variants v "
           "ON v.id = f.variant_id WHERE f.is_counted = 1 GROUP BY v.issue_id, f.user_id")
    to.run("UPDATE variants SET n_reports = f.n, first_ms = f.low, last_ms = f.high FROM (SELECT variant_id, count(*) AS n, "
           f"min(received_ms) AS low, max(received_ms) AS high {counted} variant_id) AS f WHERE f.variant_id = variants.id")
    to.run("UPDATE issues SET n_reports = f.n, first_ms = f.low, last_ms = f.high, n_users = (SELECT count(*) FROM issue_users u "
           "WHERE u.issue_id = issues.id) FROM (SELECT issue_id, sum(n_reports) AS n, min(first_ms) AS low, max(last_ms) AS high "
           "FROM variants GROUP BY issue_id) AS f WHERE f.issue_id = issues.id")
    to.finish()


class Poster(threading.Thread):
    """Posts reports until it is told to end; how long each answer took, and what was not accepted."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ends, self.times, self.refused = server, threading.Event(), [], []

    def run(self):
        while not self.ends.wait(0.02):
            began = time.monotonic()
            body = json.dumps({"framezero": 1, "crash": {"reason": "bench"}, "addresses": [hex(id(self) + len(self.times))]})
            try:
                status, answer = self.server.request("POST", "/api/v1/reports", body=body.encode(), timeout=120)
            except OSError as error:
                status, answer = 0, str(error)
            self.times.append(time.monotonic() - began)
            if status != 202:
                self.refused.append((status, answer))


def cpu_of(server):
    """Seconds that the process that serves has computed for."""
    fields = pathlib.Path(f"/proc/{server.serving_pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def step(server, name, rules, check):
    """Apply the rules, or undo (rules None)."""
    poster = Poster(server)
    poster.start()
    began, cpu = time.monotonic(), cpu_of(server)
    if rules is None:
        status, answer = server.request("POST", "/api/v1/grouping/undo", timeout=3600)
    else:
        status, answer = server.request("PUT", "/api/v1/grouping", body=json.dumps({"rules": rules}).encode(), timeout=3600)
    took, cpu = time.monotonic() - began, cpu_of(server) - cpu
    poster.ends.set()
    poster.join()
    if status != 200:
        sys.exit(f"rules: {name}: {status} {answer}\n{server.log_tail()}")
    print(f"{name:22} {took:7.2f} s, CPU {cpu:6.2f} s; {answer['moved']:6} stacks {answer['reports']:8} reports {answer['merged']:5} merged "
          f"{answer['split']:5} split {answer['new']:6} new; {len(poster.times):4} posts, the longest "
          f"{max(poster.times, default=0):6.2f} s, {len(poster.refused)} refused", flush=True)
    for refused in poster.refused[:3]:
        print(f"    refused: {refused}", flush=True)
    if check:
        while recount.number(server, "SELECT count(*) FROM jobs WHERE state < 2"):
            time.sleep(0.05)
        for line in recount.wrong(server)[:10]:
            print(f"    WRONG {line}", flush=True)


CASES = [("one stack", 'group-by function "stack_1"'), ("a small one", 'group-by function "stack_2"'),
         ("2,000 stacks", 'group-by function "batch_*"'), ("all, apart", 'group-by function "stack_*"'),
         ("all, together", 'group-by function "main"')]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--reports", type=int, default=1000000)
    parser.add_argument("--postgresql", help="the URL of an empty database")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", help="the name of one case")
    options = parser.parse_args()
    data = pathlib.Path(options.work).absolute() / f"rules-{options.reports}{'-postgresql' if options.postgresql else ''}"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    server = Server(options.framezero, workers=1, data=str(data), database=options.postgresql)
    server.start()
    server.stop()
    began = time.monotonic()
    fill(Postgresql(options.postgresql) if options.postgresql else Sqlite(data / "framezero.db"), options.reports,
         int(time.time()) // 3600 * HOUR)
    say(f"filled in {time.monotonic() - began:.0f} s")
    server.start()
    try:
        # The keys were made up: all stacks get those of this program, in the same issues.
        step(server, "all, the same issues", "fingerprint ignore", options.check)
        for name, rules in CASES:
            if options.only in (None, name):
                step(server, name, rules, options.check)
                step(server, "  undone", None, options.check)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
