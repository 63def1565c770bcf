#!/usr/bin/env python3
"""What people do with issues: states, regressions, comments, merge and split, who may, and what a kill leaves."""

import json
import os
import sqlite3
import threading
import unittest

from case import ServerCase, main, until
from test_issues import RECOUNT, crash


class Actions(ServerCase):
    workers = 2

    def post(self, body):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=body)
        self.assertEqual(status, 200, answer)
        return self.expect(200, "GET", f"/api/v1/reports/{answer['id']}")["issue"]

    def issue(self, function, n):
        return self.post(crash(function, n))["number"]

    def patch(self, number, status=200, **members):
        return self.expect(status, "PATCH", f"/api/v1/issues/{number}", body=json.dumps(members).encode())

    def kinds(self, number):
        entries = self.expect(200, "GET", f"/api/v1/issues/{number}/activity")["activity"]
        return [entry["kind"] for entry in entries]

    def version(self, function, n, version):
        return self.post(crash(function, n, app={"id": "com.acme.shop", "name": "Shop", "version": version}))

    def state(self, number):
        """As it is, with a comment that changes nothing else."""
        return self.patch(number, assignee=None)

    def test_resolved_and_regressed(self):
        number = self.issue("resolve()", 100)
        answer = self.patch(number, resolved_in="4.3", assignee="anna")
        self.assertEqual((answer["state"], answer["resolved_in"], answer["assignee"]),
                         ("resolved", [{"version": "4.3"}], "anna"))
        for n, version in enumerate(("4.2", "4.2.9", "3.9", "999.9.9", "main")):
            self.version("resolve()", 101 + n, version)
            self.assertEqual(self.state(number)["state"], "resolved", version)
        self.version("resolve()", 120, "4.3")
        answer = self.state(number)
        self.assertEqual((answer["state"], answer["regressed"]), ("open", True))
        entry = next(e for e in self.expect(200, "GET", f"/api/v1/issues/{number}/activity")["activity"]
                     if e["kind"] == "regressed")
        self.assertEqual((entry["actor"], entry["detail"]["version"]), ("framezero", "4.3"))
        self.expect(200, "GET", f"/api/v1/reports/{entry['detail']['report']}")

    def test_ignored_until(self):
        number = self.issue("ignore()", 200)
        answer = self.patch(number, ignore_until={"reports": 2})
        self.assertEqual((answer["state"], answer["ignore_until"]), ("ignored", {"reports": 3}))
        self.issue("ignore()", 201)
        self.assertEqual(self.state(number)["state"], "ignored")
        self.issue("ignore()", 202)
        self.assertEqual(self.state(number)["state"], "open")
        self.assertIn("unmuted", self.kinds(number))

    def test_what_is_refused(self):
        number = self.issue("refuse()", 300)
        for members in ({}, {"state": "closed"}, {"state": "open", "resolved_in": "4.3"}, {"resolved_in": "main"},
                        {"resolved_in": [3]}, {"ignore_until": "yesterday"}, {"ignore_until": {"reports": -1}},
                        {"ignore_until": {}}, {"ignore_until": "2001-01-01T00:00:00Z"}, {"title": 7},
                        {"title": "x" * 600}, {"stat": "open"}, {"ignore_until": "7d"}):
            self.patch(number, 400, **members)
        self.assertEqual(self.kinds(number), ["created"])
        self.patch(99999, 404, state="open")
        for path in ("merge", "split", "comments"):
            self.expect(400, "POST", f"/api/v1/issues/{number}/{path}", body=b"{}")
        self.expect(404, "POST", f"/api/v1/issues/{number}/split", body=b'{"variant": "no such"}')
        self.expect(413, "POST", f"/api/v1/issues/{number}/comments", body=json.dumps({"text": "x" * 20000}).encode())

    def test_who_may(self):
        number = self.issue("token()", 400)
        tokens = {scope: self.server.command("token", "create", "--scope", scope, "--label", f"a {scope} token").strip()
                  for scope in ("read", "write", "upload")}
        body = b'{"title": "Ours"}'
        for scope, want in (("read", 403), ("upload", 403), ("write", 200)):
            status = self.server.request("PATCH", f"/api/v1/issues/{number}", body=body, token=tokens[scope])[0]
            self.assertEqual(status, want, scope)
        self.assertEqual(
            self.server.request("GET", f"/api/v1/issues/{number}/activity", token=tokens["write"])[0], 403)
        status, log = self.server.request("GET", f"/api/v1/issues/{number}/activity", token=tokens["read"])
        self.assertEqual(status, 200)
        self.assertEqual(log["activity"][0]["actor"], "a write token")
        self.assertEqual(log["activity"][0]["detail"]["title"], "Ours")

    def test_merge_and_split(self):
        pay, cart = self.issue("merge pay()", 500), self.issue("merge cart()", 501)
        trap = self.post(crash("merge cart()", 502, crash={"thread": 0, "signal": "SIGTRAP"}))
        self.assertEqual(trap["number"], cart)
        self.expect(200, "POST", f"/api/v1/issues/{cart}/merge", body=json.dumps({"into": pay}).encode())
        self.assertEqual(self.issue("merge cart()", 503), pay)
        self.assertEqual(self.kinds(pay)[0], "merged_into")
        self.expect(409, "POST", f"/api/v1/issues/{cart}/merge", body=json.dumps({"into": pay}).encode())
        # The number leads to the issue that has its reports, below it as well.
        for path in ("", "/reports", "/variants", "/activity"):
            answer = self.expect(308, "GET", f"/api/v1/issues/{cart}{path}?since=7d&project=default"
                                 if path != "/activity" else f"/api/v1/issues/{cart}{path}?limit=2")
            self.assertEqual(answer, {"number": cart, "merged_into": pay})
            where = self.server.last_headers["Location"]
            self.assertTrue(where.startswith(f"/api/v1/issues/{pay}{path}?"), where)
            self.expect(200, "GET", where)
        self.assertEqual(where, f"/api/v1/issues/{pay}/activity?limit=2")
        merged = [(e.get("issue"), e["kind"], e["detail"]) for e in self.expect(200, "GET", where)["activity"]]
        self.assertEqual(merged, [(cart, "merged_into", {"number": pay}), (None, "merged", {"number": cart})])
        # As the report names it, and all lists of the API do.
        for path in ("", "/variants"):
            shown = self.expect(200, "GET", f"/api/v1/issues/{pay}{path}")["variants"]
            self.assertIn(trap["variant"], [v["variant"] for v in shown])
            self.assertEqual({len(v["variant"]) for v in shown}, {16})
        body = json.dumps({"variant": trap["variant"]}).encode()
        new = self.expect(200, "POST", f"/api/v1/issues/{pay}/split", body=body)["number"]
        self.assertGreater(new, cart)
        again = self.post(crash("merge cart()", 504, crash={"thread": 0, "signal": "SIGTRAP"}))
        self.assertEqual(again["number"], new)


class Rules(ServerCase):
    workers = 2

    def post(self, function, n):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=crash(function, n))
        self.assertEqual(status, 200, answer)
        return self.expect(200, "GET", f"/api/v1/reports/{answer['id']}")["issue"]

    def rules(self, path, text, status=200, method="POST", **more):
        return self.expect(status, method, f"/api/v1/grouping{path}", body=json.dumps({"rules": text, **more}).encode())

    def test_rules(self):
        one, two = self.post("log_a()", 1), self.post("log_b()", 2)
        other = self.post("pay()", 3)
        self.expect(200, "PATCH", f"/api/v1/issues/{two['number']}", body=b'{"resolved_in": "9.0", "assignee": "anna"}')
        text = "group-by function main\n"
        effect = self.rules("/dry-run", text)
        self.assertEqual((effect["merged"], effect["moved"], effect["version"]), (2, 3, 0))
        self.assertEqual(self.post("log_b()", 4)["number"], two["number"])
        text = "skip function log_*\n"
        effect = self.rules("", text, method="PUT")
        self.assertEqual((effect["merged"], effect["reports"], effect["version"]), (1, 3, 1))
        # What comes now, and what is read of an old report, is as the rules say.
        new = self.post("log_c()", 5)
        self.assertEqual(new["number"], one["number"])
        self.assertTrue(any("main" in words for words in new["key"]), new)
        self.assertIn("+", new["rules"])
        self.assertEqual(self.post("pay()", 6)["number"], other["number"])
        self.expect(409, "PATCH", f"/api/v1/issues/{two['number']}", body=b'{"state": "open"}')
        self.rules("", "", status=409, method="PUT", version=0)
        # Mistakes name their place.
        wrong = self.rules("", "skip\nwrong line\n", status=400, method="PUT")
        self.assertIn("line 1", wrong["error"]["message"])
        for body in (b"{}", b'{"rules": 7}', b"[]", b'{"rules": "", "version": "x"}'):
            self.expect(400, "PUT", "/api/v1/grouping", body=body)
        self.expect(200, "POST", "/api/v1/grouping/undo", body=b"")
        answer = self.expect(200, "PATCH", f"/api/v1/issues/{two['number']}", body=b'{"title": null}')
        self.assertEqual((answer["state"], answer["assignee"]), ("resolved", "anna"))
        self.assertEqual(self.post("log_b()", 7)["number"], two["number"])
        self.assertEqual(self.expect(200, "GET", "/api/v1/grouping")["rules"], "")
        self.expect(409, "POST", "/api/v1/grouping/undo", body=b"")
        token = self.server.command("token", "create", "--scope", "write,read").strip()
        self.assertEqual(self.server.request("PUT", "/api/v1/grouping", body=b'{"rules": ""}', token=token)[0], 403)


class Kills(ServerCase):
    workers = 2
    rounds = 3

    def test_counts_after_kills(self):
        """Workers and the server are killed while reports end and issues are merged, split and resolved."""
        numbers, stop = [], threading.Event()
        for n in range(6):
            report = self.server.request("POST", "/api/v1/reports?wait=20", body=crash(f"kill {n % 3}()", n, crash={
                "thread": 0, "signal": "SIGSEGV" if n < 3 else "SIGTRAP"}))[1]
            numbers.append(report["issue"]["number"])

        def act():
            turn = 0
            while not stop.is_set():
                turn += 1
                number, into = numbers[turn % 3], numbers[(turn + 1) % 3]
                requests = ((f"/{number}/merge", {"into": into}), (f"/{into}/split", {"variant": "SIGTRAP"}),
                            (f"/{into}", {"state": "resolved"}),
                            ("grouping", {"rules": "skip function kill*\n" if turn % 2 else ""}))
                for path, body in requests:
                    method = "PUT" if path == "grouping" else "POST" if "/" in path[1:] else "PATCH"
                    path = f"/api/v1/{path}" if path == "grouping" else f"/api/v1/issues{path}"
                    try:
                        self.server.request(method, path, body=json.dumps(body).encode(), timeout=5)
                    except (OSError, ValueError):
                        pass  # it is being killed

        thread = threading.Thread(target=act)
        thread.start()
        try:
            for turn in range(self.rounds):
                for n in range(40):
                    try:
                        self.server.request("POST", "/api/v1/reports", body=crash(f"kill {n % 5}()", 1000 * turn + n))
                    except OSError:
                        pass
                self.server.kill_all()
                self.server.start()
        finally:
            stop.set()
            thread.join()
        path = os.path.join(self.server.data, "framezero.db")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            def one(query):
                return database.execute(query).fetchone()[0]

            until(lambda: one("SELECT count(*) FROM jobs") == 0, "every report is done")
            self.assertEqual(one(RECOUNT), 0)
            self.assertEqual(one("SELECT count(*) FROM issues i JOIN issues m ON m.id = i.merged_into WHERE "
                                 "m.merged_into IS NOT NULL OR i.n_reports <> 0"), 0)
            self.assertGreater(one("SELECT sum(n_reports) FROM issues"), 40)


if __name__ == "__main__":
    main()
