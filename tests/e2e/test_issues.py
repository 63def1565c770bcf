#!/usr/bin/env python3
"""Reports become issues: what a report shows of its issue, names that come later, databases of an older program."""

import json
import os
import sqlite3
import unittest

from case import BINARY, SAMPLE, ServerCase, main, until
from framezero import Server

# Every count is that of the facts; tests/contract/grouping.c has the same for both databases.
RECOUNT = """
SELECT (SELECT count(*) FROM issues i WHERE n_reports <> (SELECT count(*) FROM facts f JOIN variants v
        ON v.id = f.variant_id WHERE v.issue_id = i.id AND f.is_counted = 1))
     + (SELECT count(*) FROM variants v WHERE n_reports <> (SELECT count(*) FROM facts f
        WHERE f.variant_id = v.id AND f.is_counted = 1))
     + (SELECT count(*) FROM issue_hours h WHERE n <> (SELECT count(*) FROM facts f WHERE f.variant_id = h.variant_id
        AND f.received_ms / 3600000 = h.hour AND f.is_counted = 1))
     + abs((SELECT coalesce(sum(n), 0) FROM issue_hours) - (SELECT count(*) FROM facts WHERE is_counted = 1))
"""


def crash(function, n=0, **more):
    """A crash in a function of the app that the client has named itself; n makes it another report."""
    return json.dumps({
        "framezero": 1, "app": {"id": "com.acme.shop", "name": "Shop", "version": "4.2", "build": "4201"},
        "os": {"name": "iOS", "version": "18.1"}, "user": {"id": f"user {n % 3}"},
        "crash": {"thread": 0, "signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS"},
        "threads": [{"index": 0, "crashed": True, "frames": [
            {"address": hex(0x100001000 + n), "function": function}, {"address": "0x100002000", "function": "main"}]}],
        "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Shop", "arch": "arm64",
                    "path": "/var/containers/Bundle/Application/X/Shop.app/Shop", "address": "0x100000000",
                    "size": 65536}],
        **more}).encode()


class Issues(ServerCase):
    workers = 2

    def post(self, body):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=body)
        self.assertEqual(status, 200, answer)
        return self.expect(200, "GET", f"/api/v1/reports/{answer['id']}")

    def test_one_bug_is_one_issue(self):
        first = self.post(crash("checkout(int)", 1))["issue"]
        again = self.post(crash("checkout(int)", 2))["issue"]
        other = self.post(crash("login()", 3))["issue"]
        self.assertEqual(first, again)
        self.assertNotEqual(first["number"], other["number"])
        self.assertIn("checkout", first["title"])
        self.assertTrue(any("checkout" in words for words in first["key"]), first)
        # A report that is not stored has no number, but the same key.
        loose = self.expect(200, "POST", "/api/v1/symbolicate", body=crash("checkout(int)", 4))["issue"]
        self.assertNotIn("number", loose)
        self.assertEqual(loose["hash"], first["hash"])

    def test_two_bugs_in_one_function_are_two_variants(self):
        trap = self.post(crash("pay()", 10))["issue"]
        range_ = self.post(crash("pay()", 11, crash={"thread": 0, "signal": "SIGABRT", "reason": "no card"}))["issue"]
        self.assertEqual(trap["number"], range_["number"])
        self.assertNotEqual(trap["variant"], range_["variant"])


class LateNames(ServerCase):
    def test_placeholder_takes_its_key(self):
        with open(os.path.join(SAMPLE, "report.json"), "rb") as f:
            body = f.read()
        report = json.loads(body)
        ids = []
        for n in range(3):
            report["id"] = f"{n:032x}"
            status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=json.dumps(report).encode())
            self.assertEqual(status, 200, answer)
            ids.append(answer["id"])
        before = [self.expect(200, "GET", f"/api/v1/reports/{i}")["issue"] for i in ids]
        self.assertEqual({i["number"] for i in before}, {1})
        with open(os.path.join(SAMPLE, "Demo.dSYM.zip"), "rb") as f:
            self.expect(201, "POST", "/api/v1/symbols", body=f.read())
        for i in ids:
            self.server.wait_report(i, until=lambda r: r["status"] not in ("queued", "unsymbolicated"))
        after = [self.expect(200, "GET", f"/api/v1/reports/{i}")["issue"] for i in ids]
        self.assertEqual({i["number"] for i in after}, {1})
        self.assertNotEqual(after[0]["title"], before[0]["title"])


class OlderDatabase(unittest.TestCase):
    """Reports that were processed before there were issues; the server is killed while it reads them."""
    REPORTS = 120

    def test_reports_get_their_issues(self):
        server = Server(BINARY, workers=2)
        self.addCleanup(server.stop)
        server.start()
        for n in range(self.REPORTS):
            status, answer = server.request("POST", "/api/v1/reports", body=crash(f"function{n % 7}()", n))
            self.assertEqual(status, 202, answer)
        path = os.path.join(server.data, "framezero.db")

        def number(query):
            with sqlite3.connect(path, timeout=20) as db:
                return db.execute(query).fetchone()[0]

        done = "SELECT count(*) FROM reports WHERE n_processed > 0"
        until(lambda: number(done) == self.REPORTS, "processing")
        numbers = number("SELECT count(*) FROM issues WHERE n_reports > 0")
        self.assertEqual(numbers, 7)
        server.terminate()
        with sqlite3.connect(path) as db:
            for table in ("fact_tags", "facts", "issue_hours", "issue_days", "issue_users", "stack_terms", "stacks",
                          "variants", "issue_keys", "issue_activity", "issues"):
                db.execute(f"DELETE FROM {table}")
            db.execute("UPDATE reports SET is_grouped = 0")
            db.execute("UPDATE projects SET last_issue = 0")
        # Killed twice on the way: what is done stays done, and nothing is counted twice.
        for share in (3, 2):
            server.start()
            until(lambda share=share: number("SELECT count(*) FROM facts") >= self.REPORTS // share, "some issues")
            server.kill_all()
        server.start()
        until(lambda: number("SELECT count(*) FROM reports WHERE is_grouped = 0") == 0, "all issues")
        self.assertEqual(number("SELECT count(*) FROM facts"), self.REPORTS)
        self.assertEqual(number("SELECT count(*) FROM issues"), 7)
        self.assertEqual(number("SELECT sum(n_reports) FROM issues"), self.REPORTS)
        self.assertEqual(number(RECOUNT), 0)


if __name__ == "__main__":
    main()
