#!/usr/bin/env python3
"""A database of an older program: its reports get the issues that they would have had when they were processed.

usage: test_upgrade.py --framezero BINARY [--before OLDER_BINARY] [--corpus FOLDER] [--kills N]

Every golden input and the sample, before and after its dSYM comes, are sent and processed. Then the issues are taken away
and the server is started again, as after an upgrade, and killed on the way. Each report must come back to the same
title and variant, each issue to the same number of reports. With --before, the older program processes the reports,
and what the upgrade makes of them is compared with a new database that gets the same reports.
"""

import argparse
import glob
import json
import os
import sys

import recount
from case import SAMPLE, SOURCE, until
from framezero import Server

FORMATS = ("bugsnag", "crash", "ips", "kscrash", "metrickit", "minidump", "native", "plcrash", "quincy", "sentry", "text")
# Emptied in an order that references allow.
TABLES = ("fact_tags", "facts", "issue_hours", "issue_days", "issue_users", "stack_terms", "stacks", "variants",
          "issue_keys", "issue_activity", "issue_fixes", "issues")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def bodies(corpus):
    """What is sent, in one order."""
    found = [path for name in FORMATS for path in sorted(glob.glob(f"{SOURCE}/tests/golden/{name}/*/input.*"))]
    if corpus:
        for folder in ("reports", "derived"):
            found += sorted(path for path in glob.glob(f"{corpus}/{folder}/**", recursive=True) if os.path.isfile(path))
    made = [read(path) for path in found]
    sample = json.loads(read(os.path.join(SAMPLE, "report.json")))
    for n, address in enumerate(["0x104a40004", "0x104a400c0", "0x104a4010c", "0x104a40110"]):
        sample["threads"][0]["frames"][0] = address
        made.append(json.dumps({**sample, "id": f"{n:032x}"}).encode())
    return made


def matched(corpus):
    """Crashes with the debug files of their builds."""
    sys.path.insert(0, os.path.join(SOURCE, "tests", "corpus"))
    import matched_sets
    cases = list(matched_sets.load_cases(corpus))
    return [json.dumps(case.report).encode() for case in cases], sorted({p for c in cases for p in c.debug_files})


def fill(server, options):
    sent = bodies(options.corpus)
    files = []
    if options.corpus:
        more, files = matched(options.corpus)
        sent += more
    half = len(sent) // 2
    for n, body in enumerate(sent):
        if n == half:
            files_now = [read(os.path.join(SAMPLE, "Demo.dSYM.zip"))] + [read(p) for p in files if os.path.isfile(p)]
            for content in files_now:
                server.request("POST", "/api/v1/symbols?name=file", body=content)
        # Some golden inputs are refused, or have several reports.
        server.request("POST", "/api/v1/reports", body=body)
    until(lambda: recount.number(server, "SELECT count(*) FROM jobs WHERE state < 2") == 0, "processing", 300)


def issues(server):
    """{report: (title, label)}, and {title: number of reports}."""
    by_report = {row[0]: tuple(row[1:]) for row in recount.rows(
        server, "SELECT r.body_sha256, i.title, v.label, i.is_placeholder FROM reports r JOIN facts f ON f.report_key = r.key "
                "AND f.received_ms = r.received_ms JOIN variants v ON v.id = f.variant_id JOIN issues i ON i.id = v.issue_id")}
    by_title = sorted((str(row[0]), row[1]) for row in recount.rows(
        server, "SELECT title, n_reports FROM issues WHERE merged_into IS NULL AND n_reports > 0"))
    return by_report, by_title


def take_away(server):
    recount.execute(server, *(f"DELETE FROM {table}" for table in TABLES), "UPDATE reports SET is_grouped = 0",
                    "UPDATE projects SET last_issue = 0")


def upgrade(server, options):
    """Start, with kills in between, until no report is without its issue."""
    left = "SELECT count(*) FROM reports WHERE is_grouped = 0 AND n_processed > 0 AND transient = 0"
    for turn in range(options.kills):
        server.start()
        total = recount.number(server, "SELECT count(*) FROM reports")
        until(lambda turn=turn: recount.number(server, left) <= total - total * (turn + 1) // (options.kills + 2),
              "some issues")
        server.kill_all()
    server.start()
    until(lambda: recount.number(server, left) == 0, "all issues", 300)
    def is_done():
        status, ready = server.request("GET", "/readyz")
        return status == 200 and "reports_without_issue" not in ready["checks"]

    until(is_done, "readyz without reports that have no issue")
    if "older reports get their issues" not in server.log():
        raise AssertionError("the log does not report the progress")


def compare(want, have):
    (want_reports, want_titles), (have_reports, have_titles) = want, have
    wrong = [f"report {key}: {have_reports.get(key)}, not {value}" for key, value in want_reports.items()
             if have_reports.get(key) != value]
    wrong += [f"issue {title}" for title in sorted(set(want_titles) ^ set(have_titles))]
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--before", help="an older program that fills the database")
    parser.add_argument("--corpus", help="the corpus' reports and debug files, too")
    parser.add_argument("--kills", type=int, default=2)
    options = parser.parse_args()
    server = Server(options.before or options.framezero, workers=2)
    server.start()
    fill(server, options)
    if options.before:
        server.terminate()
        server.binary = os.path.abspath(options.framezero)
        fresh = Server(options.framezero, workers=2)
        fresh.start()
        fill(fresh, options)
        want = issues(fresh)
        fresh.stop()
    else:
        want = issues(server)
        server.terminate()
        take_away(server)
    upgrade(server, options)
    wrong = compare(want, issues(server)) + recount.wrong(server)
    print(f"{len(want[0])} reports, {len(want[1])} issues, {len(wrong)} differences")
    for line in wrong[:40]:
        print(line)
    if server.stop() != 0:
        wrong.append("serve did not end with 0")
    return 0 if want[0] and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
