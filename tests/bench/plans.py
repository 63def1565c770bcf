#!/usr/bin/env python3
"""Which plan PostgreSQL has for each list, filter and search of the API, and how long each takes.

    bench/plans.py [--framezero BIN] [--reports N] [--postgresql URL --work DIR --log FILE] [--rounds N] [--only REGEX] [--json FILE]
                   [--row-security]

N reports (5 million) as bench/issues.py makes them are in the database, which is one of a throw-away cluster without --postgresql.
A server answers each request of support/plan_requests.py with auto_explain on, and each plan is checked: no sequential scan of a
table that grows, and no access that looks at more than a small part of such a table (a scan of a whole index is no better than one
of the table). Then a server without it answers them all again, ROUNDS times, for the times.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "e2e"), str(TOP / "tests" / "bench"), str(TOP / "tests" / "bench" / "support")]
import issues  # noqa: E402
import plan_log  # noqa: E402
import plan_requests  # noqa: E402
from framezero import Server  # noqa: E402

# These have a few rows however many reports there are. All others grow, also those of later migrations.
SMALL = {
    "schema_migrations", "projects", "project_changes", "tokens", "users", "user_roles", "user_identities", "user_links", "filters",
    "channels", "row_security", "grouping_versions", "retention", "duties", "queue_clock", "report_counts", "event_marks", "usage",
}


class Rules:
    """What is wrong with a plan."""

    def __init__(self, database):
        """Three fifths of a table are nearly all of it. Below 10,000 rows that does not matter, which is where tables end that have
        a row for each version and day."""
        names = [name for name in database.texts("SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                                                 "WHERE nspname = 'public' AND relkind IN ('r', 'p')") if name not in SMALL]
        counts = database.texts("; ".join(f"SELECT count(*) FROM {name}" for name in names))
        self.most = {name: max(0.6 * int(n), 10000) for name, n in zip(names, counts)}

    def check(self, statement):
        """Texts, the same for the same fault."""
        if plan_log.is_parallel(statement.plan):
            yield "a statement starts more processes"
        for one in plan_log.accesses(statement.plan):
            if one.table not in self.most:
                continue
            if "Seq Scan" in one.how:
                yield f"sequential scan of {one.table}"
            elif one.rows > self.most[one.table]:
                yield f"{one.how} by {one.index} looks at nearly all of {one.table}"


def describe(statements):
    """Table and index of each access, the most rows first."""
    rows = collections.Counter()
    for statement in statements:
        for one in plan_log.accesses(statement.plan):
            if one.table and one.table not in SMALL:
                rows[one.index or f"{one.table} ({one.how})"] += one.rows
    return rows.most_common()


def explain(server, log, requests, rounds, rules):
    """Run each request and check its plans: ({name: (statements, accesses)}, {what is wrong: [(name, statement)]})."""
    plans, wrong = {}, {}
    # Threads of the server look for changes all the time.
    time.sleep(1.5)
    background = {statement.text for statement in log.read()}
    for name, url in requests:
        statements = []
        for _ in range(rounds):
            status, answer = server.request("GET", url)
            if status not in (200, 404):
                wrong.setdefault(f"status {status}", []).append((name, f"{url}: {answer}"))
            statements = [s for s in log.read() if s.text not in background]
            for statement in statements:
                for text in rules.check(statement):
                    wrong.setdefault(text, []).append((name, statement.text))
        plans[name] = (len(statements), describe(statements))
    return plans, wrong


GOAL_MS = 50


def at(times, share):
    """The time that this share of them does not exceed; `times` are sorted."""
    return times[max(0, math.ceil(len(times) * share) - 1)]


def measure(server, requests, rounds):
    """{name: times in ms, sorted}"""
    found = {}
    # The server's threads have a connection each, whose first statements are planned.
    for _ in range(12):
        server.request("GET", requests[0][1])
    for name, url in requests:
        times = []
        for _ in range(rounds + 1):
            began = time.monotonic()
            server.request("GET", url)
            times.append((time.monotonic() - began) * 1000)
        found[name] = sorted(times[1:])
    return found


def show(plans, times):
    for name, (n, accesses) in plans.items():
        p50, p99 = (at(times[name], share) if name in times else 0 for share in (0.5, 0.99))
        parts = ", ".join(f"{index} {rows}" for index, rows in accesses[:4])
        print(f"{name:60} p50 {p50:7.1f} p99 {p99:7.1f} ms, {n:3} statements: {parts}")


def sum_up(times):
    """How many requests keep the goal, and which do not."""
    if not times:
        return
    late = sorted(((at(one, 0.99), at(one, 0.5), name) for name, one in times.items() if at(one, 0.99) > GOAL_MS), reverse=True)
    answers = sorted(time for one in times.values() for time in one)
    print(f"of {len(times)} requests {len(times) - len(late)} have a p99 of {GOAL_MS} ms or less, {len(times) - sum(p50 > GOAL_MS for _, p50, _ in late)} "
          f"a p50; of all {len(answers)} answers p99 {at(answers, 0.99):.1f} ms, {sum(time > GOAL_MS for time in answers)} above {GOAL_MS} ms")
    for p99, p50, name in late:
        print(f"  p99 {p99:7.1f} p50 {p50:7.1f} ms: {name}")


def judge(wrong):
    """Print what is wrong; is anything?"""
    for what, found in wrong.items():
        names = {}
        for name, text in found:
            names.setdefault(name, text)
        print(f"plans: {what}: {', '.join(names)}\n  {next(iter(names.values()))[:2000]}", file=sys.stderr)
    return bool(wrong)


def shrink(days):
    """For a quick run: few days, and less of all that does not grow with reports."""
    issues.DAYS, issues.ISSUES, issues.VERSIONS, issues.REASONS = days, 200, 12, 500


def pretend(database, times):
    """Have the planner think that there is so many times as much of everything."""
    database.run("UPDATE pg_class SET reltuples = reltuples * %d FROM pg_namespace n WHERE n.oid = relnamespace AND "
                 "n.nspname = 'public' AND relkind IN ('r', 'i') AND reltuples > 0" % times)


def run(options):
    if options.days != issues.DAYS:
        shrink(options.days)
    server, database = issues.prepare(options.framezero, options.work, options.reports, options.postgresql)
    server.start()
    try:
        issues.wait_sealed(database, server)
    finally:
        server.stop()
    if options.row_security:
        subprocess.run([options.framezero, "row-security", "on", "--database", options.postgresql], check=True)
    for index in options.drop:
        database.run(f"DROP INDEX {index}")
    if options.pretend > 1:
        pretend(database, options.pretend)
    log = options.log or subprocess.run(["psql", "-qAt", "-c", "SHOW data_directory", options.postgresql], check=True,
                                        stdout=subprocess.PIPE, text=True).stdout.strip() + "/log"
    began = time.monotonic()
    with Server(options.framezero, workers=0, data=server.data, database=plan_log.explained(options.postgresql)) as explained:
        channel = explained.request("POST", "/api/v1/channels", b'{"kind": "webhook", "url": "https://hooks.example.com/x"}')[1]["id"]
        requests = [pair for pair in plan_requests.requests({"channel": channel}, options.spans)
                    if re.search(options.only, pair[0])]
        plans, wrong = explain(explained, plan_log.Log(log), requests, options.explain_rounds, Rules(database))
        explained.request("DELETE", f"/api/v1/channels/{channel}")
    issues.say(f"{len(requests)} requests with {sum(n for n, _ in plans.values())} statements explained in {time.monotonic() - began:.0f} s")
    times = {}
    if options.rounds:
        with Server(options.framezero, workers=0, data=server.data, database=options.postgresql) as plain:
            times = measure(plain, requests, options.rounds)
    show(plans, times)
    sum_up(times)
    if options.json:
        rows = [{"query": name, "plan": plans[name][1], "statements": plans[name][0], "times_ms": [at(times[name], share) for share in (0.5, 0.99, 1)] if name in times else None} for name in plans]
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if judge(wrong) or not plans else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", default="build/bench", help="of the database of --postgresql")
    parser.add_argument("--reports", type=int, default=5000000)
    parser.add_argument("--postgresql", help="the URL of a database that is empty, or has reports of an earlier run in this folder")
    parser.add_argument("--log", help="where that PostgreSQL logs; else in its data directory")
    parser.add_argument("--explain-rounds", type=int, default=7, help="the plan of a prepared statement may change at its sixth use")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--spans", nargs="*", default=["since:14d", ""])
    parser.add_argument("--days", type=int, default=issues.DAYS, help="that the reports came in; fewer make a small database")
    parser.add_argument("--drop", nargs="*", default=[], help="indexes that are dropped first, to see what fails then")
    parser.add_argument("--pretend", type=int, default=1, help="the planner is told that there are so many times as many rows")
    parser.add_argument("--row-security", action="store_true", help="turn it on first (docs/security.md)")
    parser.add_argument("--only", default="", help="a regular expression: only the requests with such names")
    parser.add_argument("--json")
    options = parser.parse_args()
    if not options.postgresql:
        if "FRAMEZERO_TEST_POSTGRESQL" not in os.environ:
            program = str(TOP / "tests/contract/with_postgresql.sh")
            os.execv(program, [program, sys.executable, *sys.argv])
        options.postgresql = os.environ["FRAMEZERO_TEST_POSTGRESQL"]
        with tempfile.TemporaryDirectory(prefix="framezero-plans-") as options.work:
            sys.exit(run(options))
    sys.exit(run(options))


if __name__ == "__main__":
    main()
