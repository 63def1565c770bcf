#!/usr/bin/env python3
"""A database that hangs: /healthz answers, other requests fail in time, and everything works afterwards.

PostgreSQL (FRAMEZERO_TEST_POSTGRESQL): all its processes are stopped with SIGSTOP. SQLite: another program holds the
lock that writers need.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

from case import BINARY, main, report, until
from cluster import Cluster
from framezero import Server

CLUSTER = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
# The server's own limit is 2 s; the rest is for a busy machine.
IN_TIME_S = 2 + 1.5


def postgres_processes():
    base = urllib.parse.parse_qs(urllib.parse.urlsplit(CLUSTER).query)["host"][0]
    with open(os.path.join(base, "data", "postmaster.pid"), encoding="ascii") as f:
        first = int(f.readline())
    found = [first]
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                if int(f.read().rpartition(")")[2].split()[1]) == first:
                    found.append(int(entry))
        except (OSError, ValueError):
            continue
    return found


class Hang:
    """The database does not answer (PostgreSQL), or does not answer writers (SQLite)."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        if CLUSTER:
            self.pids = postgres_processes()
            self.kill_all(signal.SIGSTOP)
        else:
            self.lock = sqlite3.connect(os.path.join(self.server.data, "framezero.db"), isolation_level=None)
            self.lock.execute("PRAGMA busy_timeout = 10000")
            self.lock.execute("BEGIN EXCLUSIVE")
        return self

    def kill_all(self, number):
        for pid in self.pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:  # autovacuum, say, has ended meanwhile
                pass

    def __exit__(self, *_):
        if CLUSTER:
            self.kill_all(signal.SIGCONT)
        else:
            self.lock.execute("ROLLBACK")
            self.lock.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.server = Server(BINARY, workers=1)
        self.server.start()
        self.addCleanup(self.server.stop)

    def refused(self, method, path, body=None, token="admin", wanted=503):
        start = time.monotonic()
        status, answer = self.server.request(method, path, body, token=token, timeout=20)
        took = time.monotonic() - start
        self.assertEqual(status, wanted, f"{method} {path}: {answer}")
        self.assertGreater(int(self.server.last_headers["Retry-After"]), 0)
        self.assertLess(took, IN_TIME_S, f"{method} {path}")

    def healthy(self):
        """The fastest of five counts: the machine may be busy, but a server that hangs is never fast."""
        times = []
        for _ in range(5):
            start = time.monotonic()
            self.assertEqual(self.server.request("GET", "/healthz", token=None, timeout=5)[0], 200)
            times.append(time.monotonic() - start)
        self.assertLess(min(times), 0.1)

    def goes_on(self):
        """Everything works again soon."""
        end = time.monotonic() + 20
        while True:
            statuses = [self.server.request("GET", "/api/v1/reports")[0],
                        self.server.request("POST", "/api/v1/reports", report(999), token="ingest")[0],
                        self.server.request("GET", "/readyz", token=None)[0],
                        self.server.request("GET", "/metrics", token=None)[0]]
            if statuses == [200, 202, 200, 200]:
                return
            self.assertLess(time.monotonic(), end, statuses)
            time.sleep(0.1)


class Hung(Case):
    def test_every_request_is_answered(self):
        ids = [f"{n:032x}" for n in range(1, 25)]
        refused = []

        def post(n):
            try:
                self.refused("POST", "/api/v1/reports", report(n, id=ids[n]), token="ingest")
            except AssertionError as error:
                refused.append(error)

        self.server.request("POST", "/api/v1/reports", report(500), token="ingest")
        with Hang(self.server):
            # More than there are threads for handlers, and all of them at once.
            threads = [threading.Thread(target=post, args=(n,)) for n in range(len(ids))]
            for thread in threads:
                thread.start()
            self.healthy()
            for thread in threads:
                thread.join()
            self.assertEqual(refused, [])
            self.healthy()
            self.refused("DELETE", "/api/v1/reports/" + ids[0])
            self.refused("PUT", "/api/v1/project", b'{"cut_prefixes":[]}')
            self.refused("GET", "/readyz", token=None)
            self.healthy()
            if not CLUSTER:  # readers do not need the lock
                self.assertEqual(self.server.request("GET", "/api/v1/reports")[0], 200)
                self.assertEqual(self.server.request("GET", "/metrics", token=None)[0], 200)
        self.goes_on()
        # The client sends the failed reports again: each is stored once, whether or not it was stored before.
        for n, report_id in enumerate(ids):
            status, answer = self.server.request("POST", "/api/v1/reports", report(n, id=report_id), token="ingest")
            self.assertEqual((status, answer["id"]), (202, report_id))
            self.assertEqual(self.server.wait_report(report_id)["id"], report_id)

    @unittest.skipIf(CLUSTER, "with PostgreSQL reports do not wait for rules")
    def test_reports_wait_for_rules(self):
        """While rules of grouping are applied, which locks out other writers, a report is not refused after 2 s."""
        answers, ends = [], threading.Event()

        def change():
            # Each one waits for the lock, as it would hold it if there was much to do.
            while not ends.is_set():
                self.server.request("PUT", "/api/v1/grouping", b'{"rules":""}', timeout=20)

        def post(n):
            began = time.monotonic()
            status, _ = self.server.request("POST", "/api/v1/reports", report(n, id=f"{n:032x}"), token="ingest", timeout=60)
            answers.append((status, time.monotonic() - began))

        changing = [threading.Thread(target=change) for _ in range(2)]
        posting = [threading.Thread(target=post, args=(n,)) for n in range(1, 9)]
        with Hang(self.server):
            for thread in changing:
                thread.start()
            time.sleep(0.3)
            for thread in posting:
                thread.start()
            time.sleep(IN_TIME_S)
        for thread in posting:
            thread.join()
        ends.set()
        for thread in changing:
            thread.join()
        # Not all: between two changes there may be a moment without one.
        self.assertTrue(any(status == 202 and took > 2 for status, took in answers), answers)

    @unittest.skipUnless(CLUSTER, "SQLite's readers do not wait")
    def test_readers_and_wrong_tokens(self):
        with Hang(self.server):
            requests = [("GET", "/api/v1/reports", None, "admin"), ("GET", "/metrics", None, None),
                        ("GET", "/api/v1/reports", None, "wrong"), ("GET", "/api/v1/symbols/missing", None, "admin"),
                        ("POST", "/api/1/envelope/", b'{"dsn":"http://0123@localhost/1"}\n', None),
                        ("POST", "/api/v1/symbolicate", report(7), "admin"),
                        ("POST", "/dsym", b"x", None), ("GET", f"/api/v1/reports/{1:032x}", None, "admin")]
            wrong = []

            def one(method, path, body, token):
                try:
                    self.refused(method, path, body, token)
                except AssertionError as error:
                    wrong.append(error)

            # The first ones arrive before the server notices that the database hangs, the last ones long after.
            for _ in range(3):
                threads = [threading.Thread(target=one, args=request) for request in requests]
                for thread in threads:
                    thread.start()
                self.healthy()
                for thread in threads:
                    thread.join()
            self.assertEqual(wrong, [])
            self.assertEqual(self.server.request("GET", "/api/v1/openapi.json", token=None)[0], 200)
        self.goes_on()

    @unittest.skipUnless(CLUSTER, "needs a database that hangs completely")
    def test_a_stored_report_is_not_rejected(self):
        """A client that waits for the result of a stored report gets 202, and need not send the report again."""
        server = Server(BINARY, workers=0)
        server.start()
        self.addCleanup(server.stop)
        got = []
        thread = threading.Thread(target=lambda: got.append(
            server.request("POST", "/api/v1/reports?wait=30", report(1, id=f"{77:032x}"), token="ingest")))
        thread.start()
        until(lambda: server.request("GET", f"/api/v1/reports/{77:032x}")[0] == 200, "the report is stored", 10)
        with Hang(server):
            thread.join(10)
        self.assertEqual(got[0][0], 202)
        self.assertEqual(got[0][1]["id"], f"{77:032x}")


@unittest.skipUnless(CLUSTER, "SQLite is not started by anybody")
class NotUp(unittest.TestCase):
    """Programs that start before PostgreSQL does, or while it recovers."""

    def setUp(self):
        self.cluster = Cluster(CLUSTER)
        self.server = Server(BINARY, workers=1)
        self.addCleanup(self.server.stop)

    def run_down(self, *args):
        """(exit code, what it said) of a program without a database."""
        done = subprocess.run([BINARY, *args, "--database", self.server.database, "--data", self.server.data,
                               "--limit", "database_wait_s=1"], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_waits(self):
        self.server.start()
        status, answer = self.server.request("POST", "/api/v1/reports", report(1), token="ingest")
        self.assertEqual(status, 202)
        self.server.terminate()
        self.cluster.stop_at_once(signal.SIGKILL)  # so it recovers when it starts
        down = threading.Thread(target=lambda: (
            until(lambda: self.server.log().count("waits for the database") >= 2, "serve waits", 20), self.cluster.start()))
        try:
            for args in (("serve", "--listen", "127.0.0.1:0"), ("worker",)):
                code, said = self.run_down(*args)
                self.assertEqual(code, 1, said)
                self.assertIn("waits for the database", said)
                self.assertRegex(said, r"framezero \w+: database: .*PostgreSQL|framezero \w+: database: connection")
            # It ends when it is asked to, however long it would wait.
            waiting = subprocess.Popen([BINARY, "serve", "--database", self.server.database, "--data", self.server.data],
                                       stderr=subprocess.PIPE, text=True)
            self.assertIn("waits for the database", waiting.stderr.readline())
            waiting.terminate()
            self.assertIn("ended by signal 15", waiting.communicate(timeout=10)[1])
            down.start()
            self.server.start(60)
        finally:
            if not down.ident:
                down.start()
            down.join()
        self.assertEqual(self.server.wait_report(answer["id"])["id"], answer["id"])
        self.assertIn('msg="the database is up"', self.server.log())
        # Waiting does not help against what is wrong with the URL.
        database = urllib.parse.urlsplit(self.server.database)._replace(path="/no_such_database").geturl()
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--database", database, "--data", self.server.data],
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no_such_database", done.stderr)
        self.assertNotIn("waits for", done.stderr)


if __name__ == "__main__":
    main()
