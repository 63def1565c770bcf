#!/usr/bin/env python3
"""How long lists, issue pages, distributions and searches take over a million reports.

    bench/issues.py [--framezero BIN] [--work DIR] [--reports N] [--postgresql URL] [--rounds N] [--only REGEX] [--rows] [--json FILE]

A deterministic generator writes N reports over 92 days, 3,000 issues (the largest has 46 % of them), 60 versions, 20 versions of
the system, 60 devices and 20,000 reasons directly into the tables, as finishing them would have. A worker stores the days as
columns (--rows: what it stored is dropped, and everything is read as rows), and a server answers each query ROUNDS times; the
first time is the cold one. With --postgresql (the URL of an empty database) COPY fills that instead of a new file of SQLite:

    tests/contract/with_postgresql.sh sh -c 'tests/bench/issues.py --postgresql "$FRAMEZERO_TEST_POSTGRESQL"'

Times are those of the client; the CPU time is that of all processes of the server, and with SQLite includes the database.
"""
import argparse
import bisect
import hashlib
import itertools
import json
import math
import os
import pathlib
import random
import re
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "e2e"), str(TOP / "tests" / "bench" / "support")]
from framezero import Server  # noqa: E402
from stacks import encoded, frame  # noqa: E402

DAYS, ISSUES, VERSIONS, SYSTEMS, DEVICES, REASONS = 92, 3000, 60, 20, 60, 20000
HOUR, DAY = 3600000, 86400000
# enum store_term
VERSION, OS, DEVICE, ARCH, ENVIRONMENT, KIND, APP, EXCEPTION, SIGNAL, REASON, USER, TAG, FUNCTION, FILE = range(1, 15)


def say(text):
    print(f"issues: {text}", file=sys.stderr, flush=True)


class Sqlite:
    def __init__(self, path):
        self.path = path

    def start(self):
        self.db = sqlite3.connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("PRAGMA cache_size = -200000")

    def fill(self, table, columns, rows):
        marks = ", ".join("?" * len(columns))
        self.db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    def number(self, query):
        with sqlite3.connect(self.path) as db:
            return db.execute(query).fetchone()[0]

    def run(self, text):
        with sqlite3.connect(self.path) as db:
            db.execute(text)

    def finish(self):
        self.db.execute("UPDATE projects SET last_issue = (SELECT max(number) FROM issues)")
        self.db.execute("INSERT INTO term_texts (rowid, text) SELECT id, text FROM terms WHERE field IN (8, 10, 13, 14)")
        self.db.commit()
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()


class Postgresql:
    def __init__(self, url):
        self.url = url

    def run(self, text):
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, self.url], check=True)

    def texts(self, query):
        """The first column of each row."""
        return subprocess.run(["psql", "-qAt", "-c", query, self.url], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")[:-1]

    def number(self, query):
        return int(self.texts(query)[0])

    def start(self):
        pass

    @staticmethod
    def text(value):
        if value is None:
            return r"\N"
        return r"\\x" + value.hex() if isinstance(value, bytes) else str(value)

    def fill(self, table, columns, rows):
        copy = subprocess.Popen(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-c",
                                 f"COPY {table} ({', '.join(columns)}) FROM STDIN", self.url],
                                stdin=subprocess.PIPE, text=True)
        for row in rows:
            copy.stdin.write("\t".join(map(self.text, row)) + "\n")
        copy.stdin.close()
        if copy.wait():
            sys.exit(f"issues: COPY {table} failed")

    def finish(self):
        self.run("SELECT setval(pg_get_serial_sequence('terms', 'id'), (SELECT max(id) FROM terms))")
        self.run("UPDATE projects SET last_issue = (SELECT max(number) FROM issues)")
        self.run("VACUUM ANALYZE")


def weighted(rng, n, largest=0.0):
    """Cumulative weights by Zipf's law; the first has `largest` of all."""
    weights = [1 / (i + 2) for i in range(n)]
    rng.shuffle(weights)
    if largest:
        rest = sum(weights[1:])
        weights[0] = largest / (1 - largest) * rest
    return list(itertools.accumulate(weights))


def version_key(numbers):
    """As fz_version_key() orders versions without builds, for the texts that are made here."""
    return b"\x10" + b"".join(number.to_bytes(4, "big") for number in numbers)


class Maker:
    def __init__(self, n, project, end_ms):
        self.rng = random.Random(20261123)
        self.n, self.project, self.end_ms = n, project, end_ms
        self.terms, self.next_term = [], 1

    def add(self, field, text, detail="", sort=None):
        self.terms.append((self.next_term, self.project, field, text, detail, sort))
        self.next_term += 1
        return self.next_term - 1

    def make_terms(self):
        words = ["index", "beyond", "bounds", "unrecognized", "selector", "sent", "instance", "nil", "argument", "timeout"]
        rng = self.rng
        self.versions = [self.add(VERSION, f"{1 + i // 10}.{i % 10}", str(100 + i), version_key((1 + i // 10, i % 10)))
                         for i in range(VERSIONS)]
        self.systems = [self.add(OS, "iOS", f"{15 + i // 5}.{i % 5}", version_key((15 + i // 5, i % 5)))
                        for i in range(SYSTEMS)]
        self.devices = [self.add(DEVICE, f"{'iPhone' if i % 3 else 'iPad'}{10 + i // 4},{1 + i % 4}")
                        for i in range(DEVICES)]
        self.archs = [self.add(ARCH, "arm64"), self.add(ARCH, "arm64e")]
        self.environments = [self.add(ENVIRONMENT, "production"), self.add(ENVIRONMENT, "beta")]
        self.kind = self.add(KIND, "crash")
        self.app = self.add(APP, "com.acme.shop", "Shop")
        self.exceptions = [self.add(EXCEPTION, f"NS{i}Exception") for i in range(20)]
        self.signals = [self.add(SIGNAL, "SIGSEGV"), self.add(SIGNAL, "SIGABRT")]
        self.reasons = [self.add(REASON, " ".join(rng.choices(words, k=6)) + f" {i}") for i in range(REASONS)]
        self.functions = [self.add(FUNCTION, f"-[Screen{i % 400} handle{i}:]") for i in range(ISSUES)]
        self.files = [self.add(FILE, f"/src/Screen{i}.swift") for i in range(400)]
        self.tags = [self.add(TAG, "channel=beta"), self.add(TAG, "channel=store")]
        self.users = [self.add(USER, f"user-{i:06d}") for i in range(max(self.n // 4, 10))]

    def facts(self):
        """One row for each report, in the order of arrival."""
        rng, project = self.rng, self.project
        issues = weighted(rng, ISSUES, 0.463610)
        devices, systems = weighted(rng, DEVICES), weighted(rng, SYSTEMS)
        start, step = self.end_ms - DAYS * DAY, DAYS * DAY / self.n
        n_users, n_versions = len(self.users), len(self.versions)
        for i in range(self.n):
            issue = bisect.bisect(issues, rng.random() * issues[-1])
            at = int(start + i * step)
            newest = int(i / self.n * (n_versions - 10)) + 9
            version = max(0, newest - int(rng.expovariate(0.4)))
            yield (project, at, i + 1, 1 + issue * 2 + (rng.random() < 0.2), self.users[int(rng.random() * n_users)],
                   self.versions[version], self.systems[bisect.bisect(systems, rng.random() * systems[-1])],
                   self.devices[bisect.bisect(devices, rng.random() * devices[-1])], self.archs[i % 7 == 0],
                   self.environments[i % 11 == 0], self.kind, self.app, self.exceptions[issue % 20],
                   self.signals[issue % 2], self.reasons[(issue * 7 + i % 7) % REASONS], 1 + issue, 1, 1)


FACTS = ("project_id", "received_ms", "report_key", "variant_id", "user_id", "version_id", "os_id", "device_id", "arch_id",
         "environment_id", "kind_id", "app_id", "exception_id", "signal_id", "reason_id", "stack_key", "status", "is_counted")
DAILY = {VERSION: 5, OS: 6, DEVICE: 7, ARCH: 8, ENVIRONMENT: 9}


def counters(rng, n):
    """HyperLogLog counters with all registers set, as those of a day with 50,000 users have them."""
    ranks = list(itertools.accumulate(2.0 ** -i for i in range(1, 20)))
    return [b"\x03\x04" + bytes(min(bisect.bisect(ranks, rng.random()), 15) | min(bisect.bisect(ranks, rng.random()), 15) << 4
                                for _ in range(2048)) for _ in range(n)]


def few_counters(rng, n, n_users):
    """Counters of fewer users: each sets a register, which two of them rarely share."""
    return [b"\x01" + b"".join(struct.pack("<HB", at, 1 + int(-math.log2(1 - rng.random())))
                               for at in sorted(rng.sample(range(4096), n_users))) for _ in range(n)]


def fill_versions(to, maker, texts):
    """Reports and sessions of each version and day."""
    rng, project = random.Random(2), maker.project
    users, first = counters(rng, 40), maker.end_ms // DAY - DAYS
    hundred, crashed = few_counters(rng, 40, 100), few_counters(rng, 40, 480)
    releases = {v: "com.acme.shop@" + "+".join(texts[v]) for v in maker.versions}
    to.fill("versions", ("version_id", "project_id", "first_ms", "last_ms", "n_reports"),
            ((v, project, first * DAY, maker.end_ms, maker.n // VERSIONS) for v in maker.versions))
    to.fill("version_days", ("key", "project_id", "day", "version_id", "environment_id", "n", "users"),
            ((1 + i * VERSIONS + k, project, first + i, v, maker.environments[0], 100, rng.choice(hundred))
             for i in range(DAYS) for k, v in enumerate(maker.versions)))
    to.fill("session_counts", ("project_id", "day_ms", "release", "environment", "healthy", "crashed"),
            ((project, (first + i) * DAY, releases[v], "production", 50000, 500) for i in range(DAYS) for v in maker.versions))
    to.fill("session_users", ("key", "project_id", "day_ms", "release", "environment", "users", "crashed"),
            ((1 + i * VERSIONS + k, project, (first + i) * DAY, releases[v], "production", rng.choice(users), rng.choice(crashed))
             for i in range(DAYS) for k, v in enumerate(maker.versions)))


def fill_images(to, maker, texts):
    """A set of images for each version and system: the app's own and two of the system. {(version, system): key}"""
    sets = {pair: 1 + i for i, pair in enumerate(itertools.product(maker.versions, maker.systems))}

    def uuid(name, text):
        known = {("Shop", "6.5"): "4c4c442e55553144a1387743844373d8"}.get((name, text))
        return bytes.fromhex(known) if known else hashlib.md5(f"{name} {text}".encode()).digest()

    def images(version, system):
        return (("Shop", texts[version][0]), ("UIKitCore", texts[system][1]), ("libsystem_kernel.dylib", texts[system][1]))

    to.fill("image_sets", ("key", "project_id", "sha256"),
            ((key, maker.project, hashlib.sha256(b"i%d" % key).hexdigest()) for key in sets.values()))
    to.fill("image_set_items", ("project_id", "set_key", "uuid", "name"),
            ((maker.project, key, uuid(*image), image[0]) for pair, key in sets.items() for image in images(*pair)))
    return sets


def crash_times(maker):
    """How long before its report each crash was: minutes as a rule, days for one of twenty; unknown for one of a hundred."""
    rng = random.Random(3)
    for i in range(maker.n):
        yield None if i % 100 == 99 else int(rng.expovariate(1 / (5 * DAY if i % 20 == 0 else 600000)))


def fill(to, maker):
    to.start()
    maker.make_terms()
    project = maker.project
    to.fill("terms", ("id", "project_id", "field", "text", "detail", "sort"), maker.terms)
    texts = {row[0]: (row[3], row[4]) for row in maker.terms}
    hours, days, users, variants, issues = {}, {}, {}, {}, {}

    def counted():
        for row in maker.facts():
            at, variant, user = row[1], row[3], row[4]
            issue = (variant + 1) // 2
            hours[variant, at // HOUR] = hours.get((variant, at // HOUR), 0) + 1
            for field, column in DAILY.items():
                key = variant, field, row[column], at // DAY
                days[key] = days.get(key, 0) + 1
            users[issue, user] = users.get((issue, user), 0) + 1
            for of, key in ((variants, variant), (issues, issue)):
                known = of.setdefault(key, [0, at, at, row[5], row[5]])
                known[0] += 1
                known[2] = at
                known[3], known[4] = min(known[3], row[5]), max(known[4], row[5])
            yield row

    say(f"{maker.n} facts")
    to.fill("facts", FACTS, counted())
    distinct = {}
    for issue, _ in users:
        distinct[issue] = distinct.get(issue, 0) + 1
    sorts = {row[0]: row[5] for row in maker.terms}
    to.fill("issues", ("id", "project_id", "number", "title", "kind", "created_ms", "first_ms", "last_ms", "n_reports",
                       "n_users", "first_version", "last_version", "first_sort", "last_sort"),
            ((i, project, i, texts[maker.functions[i - 1]][0], "crash", c[1], c[1], c[2], c[0], distinct[i], c[3], c[4],
              sorts[c[3]], sorts[c[4]]) for i, c in issues.items()))
    to.fill("issue_keys", ("id", "project_id", "sha256", "issue_id", "title", "is_placeholder"),
            ((i, project, hashlib.sha256(b"k%d" % i).digest(), i, "", 0) for i in issues))
    to.fill("variants", ("id", "key_id", "sha256", "issue_id", "label", "n_reports", "first_ms", "last_ms"),
            ((v, (v + 1) // 2, hashlib.sha256(b"v%d" % v).digest(), (v + 1) // 2, "SIGSEGV", c[0], c[1], c[2])
             for v, c in variants.items()))
    to.fill("stacks", ("key", "project_id", "sha256", "key_id", "body"),
            ((i, project, hashlib.sha256(b"s%d" % i).digest(), i, frame(encoded([texts[maker.functions[i - 1]][0]])))
             for i in issues))
    to.fill("stack_terms", ("term_id", "stack_key"),
            (pair for i in issues for pair in ((maker.functions[i - 1], i), (maker.files[i % 400], i))))
    say("rollups")
    to.fill("issue_hours", ("variant_id", "hour", "n"), ((*key, n) for key, n in hours.items()))
    to.fill("issue_days", ("variant_id", "field", "term_id", "day", "n"), ((*key, n) for key, n in days.items()))
    to.fill("issue_users", ("issue_id", "user_id", "n"), ((*key, n) for key, n in users.items()))
    say("versions")
    fill_versions(to, maker, texts)
    say("reports")
    maker.rng = random.Random(1)
    builds = {system: f"{19 + i // 5}{'ABCDE'[i % 5]}150" for i, system in enumerate(maker.systems)}
    codes = [("EXC_BAD_ACCESS", "KERN_INVALID_ADDRESS"), ("EXC_BAD_ACCESS", "KERN_PROTECTION_FAILURE"),
             ("EXC_BREAKPOINT", "EXC_ARM_BREAKPOINT"), ("EXC_CRASH", None)]
    sets = fill_images(to, maker, texts)
    to.fill("reports", ("key", "project_id", "id", "body_sha256", "transient", "status", "format", "received_ms", "timestamp_ms",
                        "n_processed", "is_grouped", "kind", "app_version", "device_model", "os_name", "os_version", "user_id", "release", "os_build", "mach",
                        "code", "image_set", "run_id"),
            ((row[2], project, f"{row[2]:032x}", f"{row[2]:064x}", 0, "symbolicated", "framezero", row[1], 0 if delay is None else row[1] - delay,
              1, 1,
              "crash", texts[row[5]][0], texts[row[7]][0], "iOS", texts[row[6]][1], texts[row[4]][0],
              "com.acme.shop@" + "+".join(texts[row[5]]), builds[row[6]], *codes[row[2] % 4], sets[row[5], row[6]],
              None if row[2] % 4 else f"r-{row[2]}")
             for row, delay in zip(maker.facts(), crash_times(maker))))
    to.fill("fact_tags", ("term_id", "received_ms", "report_key", "project_id"),
            ((maker.tags[row[2] % 5 == 0], row[1], row[2], project) for row in maker.facts() if row[2] % 3 == 0))
    to.finish()


def queries():
    """(name, path, conditions)"""
    filters = [("", ""), ("version", "version:6.5"), ("versions", "version:>=6.0"), ("os", "os:18.2"), ("device", "device:\"iPhone12,2\""),
               ("devices", "device:iPhone*"), ("not", "-device:iPad*"), ("os+device", "os:>=17 device:iPhone14*"),
               ("user", "user:user-000017"), ("exception", "exception:NS7Exception"), ("text", "\"unrecognized selector\""),
               ("function", "function:Screen17"), ("tag", "tag.channel:store"), ("kind", "kind:crash"), ("none", "version:77.1"),
               ("beta", "env:beta")]
    for span in ("since:14d", ""):
        for name, text in filters:
            yield f"list {span or 'all'} {name}", "issues", f"{span} {text}".strip(), {}
        for sort in ("reports", "last_seen", "first_seen", "trend"):
            yield f"list {span or 'all'} by {sort}", "issues", span, {"sort": sort}
        for number in (1, 2, 500):
            yield f"issue {number} {span or 'all'}", f"issues/{number}", span, {}
            yield f"issue {number} {span or 'all'} versions", f"issues/{number}", f"{span} version:>=6.0".strip(), {}
        for name, text in filters:
            yield f"reports {span or 'all'} {name}", "reports", f"{span} {text}".strip(), {}
        yield f"issue 1 {span or 'all'} variants", "issues/1/variants", f"{span} version:>=6.0".strip(), {}
        yield f"versions {span or 'all'}", "versions", None, {"since": span[6:]} if span else {"since": f"{DAYS}d"}
    for field in ("version", "device", "reason"):
        yield f"values {field}", "values", None, {"field": field}


def processes(pid):
    """The process and those that it started."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid] + [p for child in children for p in processes(int(child))]


def cpu_ms(pids):
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def wait_sealed(database, server, deadline_s=900):
    """Until each day that is over is stored as columns."""
    began = time.monotonic()
    last = (int(time.time()) - 3600) // 86400
    while time.monotonic() < began + deadline_s:
        if database.number("SELECT max(sealed_before) FROM projects") >= last and \
                database.number("SELECT count(*) FROM fact_days WHERE state IN (0, 2, 4)") == 0:
            n = database.number("SELECT sum(n) FROM fact_days WHERE state = 1")
            bytes_each = database.number("SELECT sum(length(body)) FROM fact_columns") / n
            say(f"{n} facts are columns, {bytes_each:.1f} bytes each, after {time.monotonic() - began:.0f} s")
            return
        time.sleep(1)
    sys.exit(f"issues: the days are not stored as columns:\n{server.log_tail()}")


def measure(server, rounds, only):
    found, pids = [], processes(server.process.pid)
    for name, path, text, more in queries():
        if not re.search(only, name):
            continue
        options = dict(more, **({} if text is None else {"query": text}))
        times, cpu = [], 0
        for i in range(rounds):
            began = time.monotonic()
            cpu = cpu_ms(pids) if i == 1 else cpu
            status, answer = server.query(f"/api/v1/{path}", **options)
            times.append((time.monotonic() - began) * 1000)
            if status != 200:
                sys.exit(f"issues: {name}: {status} {answer}")
        warm = sorted(times[1:]) or times
        cpu = (cpu_ms(pids) - cpu) / (rounds - 1) if rounds > 1 else 0
        found.append({"query": name, "cpu_ms": cpu, "cold_ms": times[0], "p50_ms": warm[len(warm) // 2],
                      "p99_ms": warm[min(len(warm) - 1, int(len(warm) * 0.99))]})
        print("{query:40} cold {cold_ms:8.1f}  p50 {p50_ms:8.1f}  p99 {p99_ms:8.1f} ms  CPU {cpu_ms:8.1f} ms".format(**found[-1]),
              flush=True)
    return found


def prepare(framezero, work, n, postgresql=None):
    """A server, not started, and its database with n reports; those of an earlier run are used again."""
    data = pathlib.Path(work) / f"issues-{n}{'-postgresql' if postgresql else ''}"
    is_new = not data.exists()
    server = Server(framezero, workers=1, data=str(data.absolute()), database=postgresql)
    database = Postgresql(postgresql) if postgresql else Sqlite(data / "framezero.db")
    if is_new:
        data.mkdir(parents=True)
    server.start()
    server.stop()
    if is_new:
        began = time.monotonic()
        # Whole hours, so that the same day gives the same rows.
        maker = Maker(n, 1, int(time.time()) // 3600 * HOUR)
        fill(database, maker)
        say(f"filled in {time.monotonic() - began:.0f} s")
    return server, database


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--reports", type=int, default=1000000)
    parser.add_argument("--postgresql", help="the URL of an empty database")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="a regular expression: only the queries with such names")
    parser.add_argument("--rows", action="store_true", help="without columns")
    parser.add_argument("--json")
    options = parser.parse_args()
    server, database = prepare(options.framezero, options.work, options.reports, options.postgresql)
    server.start()
    try:
        wait_sealed(database, server)
        if options.rows:
            database.run("UPDATE fact_days SET state = 3")
        found = measure(server, options.rounds, options.only)
    finally:
        server.stop()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
