#!/usr/bin/env python3
"""Rate limits and quotas: on every route that takes reports or symbol files, in the form that its clients expect."""

import contextlib
import copy
import json
import os
import re
import shutil
import socket
import sqlite3
import threading
import unittest

from case import BINARY, MANY_FAILURES, SAMPLE, main, report, until
from framezero import Server
import route_requests
import route_table
from symbol_files import sample

SENTRY = re.compile(r"^/api/(\{project\}/)?(envelope|store|minidump)$")


def taking_routes():
    """{(method, path): what it takes} of the source."""
    return {route: row.takes for route, row in route_table.read().items() if row.takes}


class EveryRoute(unittest.TestCase):
    """One request of each kind is allowed; then every route of the kind answers 429."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, workers=1, args=(*MANY_FAILURES, "--upload-wait", "0"))
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        cls.requests = route_requests.build(cls.server, SAMPLE)
        cls.server.terminate()

    def restart(self, *args):
        if self.server.process:
            self.server.terminate()
        self.server.args = [*MANY_FAILURES, "--upload-wait", "0", *args]
        self.server.start()

    def send(self, route, **headers):
        request = self.requests[route]
        return self.server.request(route[0], request.path.replace("wait=10", "wait=0"), body=request.body,
                                   token=request.token, headers={**request.headers, **headers})

    def check_429(self, route, status, answer, limit, scope="key"):
        self.assertEqual(status, 429, answer)
        headers = self.server.last_headers
        self.assertTrue(0 < int(headers["Retry-After"]) <= 3600, headers)
        self.assertIn("X-Request-Id", headers)
        path = route[1]
        if SENTRY.match(path):
            self.assertIn(limit, answer["detail"])
            self.assertEqual(headers["X-Sentry-Rate-Limits"],
                             f"{headers['Retry-After']}:default;error;attachment:{scope}:{limit}")
            self.assertIn("X-Sentry-Error", headers)
            self.assertEqual(headers["Access-Control-Allow-Origin"], "*")
            self.assertIn("x-sentry-rate-limits", headers["Access-Control-Expose-Headers"].lower())
        elif path.startswith("/api/0/"):
            self.assertEqual(set(answer), {"detail"})
            self.assertIn(limit, answer["detail"])
        elif path == "/symbolicate/v5":
            self.assertIn(limit, answer["error"])
        else:
            self.assertEqual(answer["error"]["code"], "limit")
            self.assertIn(limit, answer["error"]["message"])

    def test_every_route_has_a_request(self):
        """The tests below send a request to each route that takes reports or symbol files."""
        routes = taking_routes()
        self.assertLessEqual(set(routes), set(self.requests))
        self.assertGreater(len(routes), 20)

    def test_per_key(self):
        self.restart("--limit", "events_per_minute=1")
        first = {}
        for route, takes in taking_routes().items():
            kind = {"API_TAKES_ENVELOPES": "API_TAKES_REPORTS"}.get(takes, takes)
            # The ingest key and the admin token are two senders.
            who = (kind, self.requests[route].token, route[1].startswith(("/api/v1", "/api/0")))
            status, answer = self.send(route)
            if status != 429:
                first.setdefault(who, []).append(route)
            status, answer = self.send(route)
            with self.subTest(route=route):
                self.check_429(route, status, answer, "events_per_minute")
        # At most one request of a kind and sender passed; other requests are not limited.
        for who, passed in first.items():
            self.assertLessEqual(len(passed), 1, (who, passed))
        self.assertEqual(self.server.request("GET", "/api/v1/reports")[0], 200)
        self.assertEqual(self.server.request("POST", "/api/v1/symbols/known", body='{"uuids":[]}')[0], 200)
        metrics = self.server.request("GET", "/metrics", token=None)[1].decode()
        count = int(re.search(r'framezero_requests_limited_total\{by="key"\} (\d+)', metrics).group(1))
        self.assertGreater(count, 20)

    def test_per_address(self):
        self.restart("--limit", "events_per_minute_address=1", "--trusted-proxies", "127.0.0.1")
        for n, (route, takes) in enumerate(taking_routes().items()):
            client = {"X-Forwarded-For": f"203.0.113.{n + 1}"}
            with self.subTest(route=route):
                self.assertNotEqual(self.send(route, **client)[0], 429)
                status, answer = self.send(route, **client)
                self.check_429(route, status, answer, "events_per_minute_address")
        # An address in the same /64 is the same client; another one is not, and loopback has no limit.
        one, other = {"X-Forwarded-For": "2001:db8::1"}, {"X-Forwarded-For": "2001:db8::2"}
        post = ("POST", "/api/v1/reports")
        self.assertNotEqual(self.send(post, **one)[0], 429)
        self.assertEqual(self.send(post, **other)[0], 429)
        self.assertNotEqual(self.send(post, **{"X-Forwarded-For": "2001:db8:0:1::1"})[0], 429)
        for _ in range(5):
            self.assertNotEqual(self.send(post)[0], 429)
        # Requests with a wrong token do not count.
        client = {"X-Forwarded-For": "198.51.100.7"}
        for _ in range(5):
            status, _ = self.server.request("POST", post[1], body=b"{}", token="wrong", headers=client)
            self.assertEqual(status, 401)
        self.assertNotEqual(self.send(post, **client)[0], 429)

    def test_no_limit(self):
        self.restart("--limit", "events_per_minute=0", "--limit", "events_per_minute_address=0")
        for route in taking_routes():
            for _ in range(3):
                self.assertNotEqual(self.send(route)[0], 429, route)

    def test_before_the_body(self):
        """A client over its limit gets the error before it has sent its gigabytes."""
        self.restart("--limit", "events_per_minute=1")
        self.send(("POST", "/api/v1/symbols"))
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as wire:
            wire.sendall(f"POST /api/v1/symbols HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000000\r\n"
                         f"Authorization: Bearer {self.server.admin_token}\r\n\r\nPK".encode())
            self.assertTrue(wire.recv(4096).startswith(b"HTTP/1.1 429 "))


class Quotas(unittest.TestCase):
    def post_until_429(self, server, start, most=200, path="/api/v1/reports"):
        for n in range(start, start + most):
            status, answer = server.request("POST", path, body=report(n), token="ingest")
            if status == 429:
                return n - start, answer
            self.assertEqual(status, 202, answer)
        raise AssertionError(f"{most} reports, and no quota was reached")

    def usage(self, server):
        return server.request("GET", "/api/v1/project")[1]["usage"]

    def test_reports(self):
        size = len(report(10))
        with Server(BINARY, workers=0, args=("--limit", f"report_bytes_per_day={5 * size}")) as server:
            n, answer = self.post_until_429(server, 10)
            self.assertEqual(n, 5)
            self.assertIn("report_bytes_per_day", answer["error"]["message"])
            self.assertTrue(0 < int(server.last_headers["Retry-After"]) <= 3600)
            used = self.usage(server)
            self.assertEqual(used["reports"], {"n": 5, "bytes": 5 * size, "limit": 5 * size, "n_limit": 10 * 2**20})
            self.assertRegex(used["until"], r"T00:00:00\.000Z$")
            metrics = server.request("GET", "/metrics", token=None)[1].decode()
            self.assertIn(f'framezero_project_usage_bytes{{project="1",kind="reports"}} {5 * size}\n', metrics)
            self.assertIn('framezero_requests_limited_total{by="quota"} 1\n', metrics)
            # Sentry's SDKs get the scope 'project'; sessions have no quota.
            url = f"/api/1/envelope/?sentry_key={server.ingest_key}"
            event = b'{}\n{"type":"event"}\n{"message":"m"}\n'
            self.assertEqual(server.request("POST", url, body=event, token=None)[0], 429)
            self.assertRegex(server.last_headers["X-Sentry-Rate-Limits"],
                             r"^\d+:default;error;attachment:project:report_bytes_per_day$")
            session = b'{}\n{"type":"session"}\n{"sid":"c0ffee00c0ffee00c0ffee00c0ffee00","status":"ok"}\n'
            self.assertEqual(server.request("POST", url, body=session, token=None)[0], 200)
            # Symbols and other projects have usages of their own; reading still works.
            self.assertIn(server.request("POST", "/api/v1/symbols/known", body='{"uuids":[]}')[0], (200,))
            server.command("project", "create", "other")
            other = server.command("token", "create", "--scope", "ingest", "--project", "other")
            self.assertEqual(server.request("POST", "/api/v1/reports", body=report(10), token=other)[0], 202)
            # The usage survives a restart.
            server.terminate()
            server.start()
            self.assertEqual(server.request("POST", "/api/v1/reports", body=report(99), token="ingest")[0], 429)
            self.assertEqual(self.usage(server)["reports"]["n"], 5)

    def test_number(self):
        """A project that floods at ten times its quota gets as many reports as that; another one loses none."""
        quota = 20
        with Server(BINARY, workers=0, args=("--limit", f"reports_per_day={quota}")) as server:
            server.command("project", "create", "calm")
            key = server.command("token", "create", "--project", "calm", "--scope", "ingest")
            calm = 0
            for n in range(10 * quota):
                status, answer = server.request("POST", "/api/v1/reports", body=report(n), token="ingest")
                self.assertEqual(status, 202 if n < quota else 429, answer)
                if status == 429:
                    self.assertIn("reports_per_day", answer["error"]["message"])
                    self.assertTrue(0 < int(server.last_headers["Retry-After"]) <= 3600)
                if n % 20 == 0:
                    calm += server.request("POST", "/api/v1/reports", body=report(n), token=key)[0] == 202
            self.assertEqual(calm, 10)
            used = self.usage(server)["reports"]
            self.assertEqual((used["n"], used["n_limit"]), (quota, quota))

    def test_of_one_project(self):
        """Its own quotas take the place of the server's, more or less, at once and after a restart."""
        size, body = len(report(10)), sample("Demo.dSYM.zip")
        limits = ("--limit", "reports_per_day=4", "--limit", f"symbol_bytes_per_day={len(body)}")
        with Server(BINARY, workers=1, args=limits) as server:
            server.command("project", "create", "other")
            other = server.command("token", "create", "--scope", "ingest", "--project", "other")
            local = server.command("token", "create", "--scope", "admin", "--project", "other")

            def put(quotas, want=200, token="admin"):
                status, answer = server.request("PUT", "/api/v1/project", body=json.dumps({"quotas": quotas}), token=token)
                self.assertEqual(status, want, answer)
                return answer

            def sent(token, n):
                """How many of n reports are taken."""
                return sum(server.request("POST", "/api/v1/reports", body=report(int.from_bytes(os.urandom(4), "big")), token=token)[0]
                           == 202 for _ in range(n))

            none = {"reports_per_day": 0, "report_bytes_per_day": 0, "symbol_bytes_per_day": 0}
            self.assertEqual(server.request("GET", "/api/v1/project")[1]["quotas"], none)
            self.assertEqual((sent("ingest", 6), sent(other, 6)), (4, 4))
            answer = put({"reports_per_day": 7, "symbol_bytes_per_day": 2 * len(body)})
            self.assertEqual(answer["quotas"], {**none, "reports_per_day": 7, "symbol_bytes_per_day": 2 * len(body)})
            self.assertEqual((answer["usage"]["reports"]["n_limit"], answer["usage"]["symbols"]["limit"]), (7, 2 * len(body)))
            until(lambda: sent("ingest", 1) == 1, "the server knows it")
            self.assertEqual((sent("ingest", 6), sent(other, 2)), (2, 0))
            self.assertEqual([server.request("POST", "/api/v1/symbols", body=body)[0] for _ in range(3)], [201, 201, 429])
            server.terminate()
            server.start()
            self.assertEqual((sent("ingest", 1), sent(other, 1)), (0, 0))
            self.assertIn("reports_per_day\t9\nreport_bytes_per_day\t1024\n",
                          server.command("project", "set", "default", "--reports-per-day", "9", "--report-bytes-per-day", "1K"))
            self.assertEqual(self.usage(server)["reports"]["limit"], 1024)
            self.assertLess(8 * size, 1024)
            until(lambda: sent("ingest", 1) == 1, "the server knows what the command has set")
            # Back to the server's; and who may not, and what is none.
            put({"reports_per_day": 0, "report_bytes_per_day": 0})
            self.assertEqual(self.usage(server)["reports"]["n_limit"], 4)
            put({"reports_per_day": 100}, 403, token=local)
            for wrong in ({}, [], 5, {"reports": 1}, {"reports_per_day": -1}, {"reports_per_day": "1"}, {"reports_per_day": 1 << 61},
                          {"reports_per_day": 1, "x": 2}, {"report_bytes_per_day": 1.5}, {"reports_per_day": None}):
                put(wrong, 400)
            self.assertEqual(self.usage(server)["reports"]["n_limit"], 4)

    def test_duplicates_are_free(self):
        size = len(report(10))
        with Server(BINARY, workers=0, args=("--limit", f"report_bytes_per_day={3 * size}")) as server:
            for _ in range(10):
                self.assertEqual(server.request("POST", "/api/v1/reports", body=report(10), token="ingest")[0], 202)
            self.assertEqual(self.usage(server)["reports"]["n"], 1)

    def test_symbols(self):
        body = sample("Demo.dSYM.zip")
        with Server(BINARY, workers=1, args=("--limit", f"symbol_bytes_per_day={2 * len(body)}")) as server:
            for n in range(2):
                self.assertEqual(server.request("POST", "/api/v1/symbols", body=body)[0], 201)
            status, answer = server.request("POST", "/api/v1/symbols", body=body)
            self.assertEqual(status, 429)
            self.assertIn("symbol_bytes_per_day", answer["error"]["message"])
            self.assertEqual(self.usage(server)["symbols"], {"n": 2, "bytes": 2 * len(body), "limit": 2 * len(body)})
            for route, request in route_requests.symbols(server.admin_token, body, b"x").items():
                if taking_routes().get(route) == "API_TAKES_SYMBOLS":
                    status, _ = server.request(route[0], request.path, body=request.body, token=request.token,
                                               headers=request.headers)
                    self.assertEqual(status, 429, route)
            self.assertEqual(server.request("POST", "/api/v1/reports", body=report(1), token="ingest")[0], 202)

    @unittest.skipUnless(os.environ.get("FRAMEZERO_TEST_POSTGRESQL"), "two servers need PostgreSQL")
    def test_two_servers(self):
        size = len(report(10))
        limit = ("--limit", f"report_bytes_per_day={6 * size}")
        with Server(BINARY, workers=0, args=limit) as one:
            key = one.ingest_key
            second = Server(BINARY, workers=0, args=limit, database=one.database)
            shutil.copy(os.path.join(one.data, "credentials.json"), second.data)
            with second as two:
                for n in range(3):
                    self.assertEqual(one.request("POST", "/api/v1/reports", body=report(10 + n), token=key)[0], 202)
                    self.assertEqual(two.request("POST", "/api/v1/reports", body=report(20 + n), token=key)[0], 202)
                # Each stored half of the quota; both know the sum a moment later.
                for server in (one, two):
                    until(lambda: self.usage_of(server, one)["reports"]["n"] == 6, "both have counted six reports")
                    status, _ = server.request("POST", "/api/v1/reports", body=report(50), token=key)
                    self.assertEqual(status, 429)

    def usage_of(self, server, first):
        return server.request("GET", "/api/v1/project", token=first.admin_token)[1]["usage"]


class QueryTime(unittest.TestCase):
    """A GET whose query takes too long is cut off and told so; what sends reports does not notice."""

    @unittest.skipIf(os.environ.get("FRAMEZERO_TEST_POSTGRESQL"), "the database is opened as a file; contract.usage has both")
    def test_endless_query(self):
        with Server(BINARY, workers=0, args=("--limit", "query_s=1")) as server:
            db = sqlite3.connect(os.path.join(server.data, "framezero.db"))
            # In the place of a table, rows that take for ever.
            db.executescript("""
                ALTER TABLE filters RENAME TO kept_filters;
                CREATE VIEW filters AS WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
                SELECT n AS id, n + 1 AS project_id, 'x' AS name, 'x' AS query, 'x' AS since, 'x' AS until, 'x' AS sort,
                'x' AS actor, n AS created_ms FROM c WHERE n < 0""")
            db.close()
            answers = []

            def ask():
                caller = copy.copy(server)  # last_headers of its own
                answers.append((*caller.request("GET", "/api/v1/filters"), caller.last_headers))

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self.assertEqual(server.request("POST", "/api/v1/reports", body=report(1), token="ingest")[0], 202)
            for status, answer, headers in answers:
                self.assertEqual(status, 503, answer)
                self.assertIn("narrow the time range", answer["error"]["message"])
                self.assertIn("Retry-After", headers)
            self.assertEqual(len(answers), 4)


@unittest.skipIf(os.environ.get("FRAMEZERO_TEST_POSTGRESQL"), "holds SQLite's lock")
class Overload(unittest.TestCase):
    """While nothing can be stored, so many reports wait, and further ones are refused at once."""

    PLACES, MORE = 2, 6

    def test_refused_at_once(self):
        server = Server(BINARY, workers=0, args=("--limit", f"reports_waiting={self.PLACES}"))
        self.addCleanup(server.stop)
        server.start()
        answers = []

        def send(n):
            one = server.request("POST", "/api/v1/reports", body=report(n), token="ingest", timeout=20)
            answers.append(one)

        def refused():
            return [answer for status, answer in answers
                    if status == 503 and "more reports come in" in answer["error"]["message"]]

        with contextlib.closing(sqlite3.connect(os.path.join(server.data, "framezero.db"), isolation_level=None)) as lock:
            lock.execute("PRAGMA busy_timeout = 10000")
            lock.execute("BEGIN EXCLUSIVE")
            threads = [threading.Thread(target=send, args=(n,)) for n in range(self.PLACES + self.MORE)]
            for thread in threads:
                thread.start()
            until(lambda: len(refused()) == self.MORE, "refusals")
            lock.execute("ROLLBACK")
        for thread in threads:
            thread.join()
        self.assertEqual({answer["error"]["code"] for answer in refused()}, {"unavailable"})
        metrics = server.request("GET", "/metrics", token=None)[1].decode()
        self.assertIn(f'framezero_requests_limited_total{{by="load"}} {self.MORE}\n', metrics)
        # The others are stored by then, or soon; there is room again.
        until(lambda: server.request("POST", "/api/v1/reports", body=report(99), token="ingest")[0] == 202, "a place")


if __name__ == "__main__":
    main()
