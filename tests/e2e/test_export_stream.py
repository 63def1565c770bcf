#!/usr/bin/env python3
"""Exports of any length: 8,000 reports in one answer, complete and once each, to readers that are slow, go away or are many;
while reports come, the database fails, tokens are revoked and the server stops."""

import contextlib
import csv
import http.client
import io
import json
import os
import re
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse
import zlib

from case import ServerCase, main, until
from test_hung_database import CLUSTER, Hang

REPORTS, ISSUES, MERGED, SENDERS = 8000, 1200, 40, 8
MIB = 1024 * 1024


def crash(n):
    """Some 6 KB once it is processed; of one of ISSUES issues."""
    frames = [{"address": hex(0x100001000 + 16 * i), "function": f"screen{n % ISSUES}_step{i}"} for i in range(20)]
    return json.dumps({"framezero": 1, "app": {"id": "com.acme.till", "version": f"1.{n % 7}", "build": "7"}, "arch": "arm64",
                       "user": {"id": f"user-{n}"}, "crash": {"thread": 0, "exception": "EXC_BAD_ACCESS"},
                       "threads": [{"index": 0, "crashed": True, "frames": frames}],
                       "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Till", "path": "/X/Till.app/Till",
                                   "address": "0x100000000", "size": 0x10000}]}).encode()


class Export:
    """One GET whose answer is read as the test likes."""

    def __init__(self, server, path="/api/v1/export/reports", token=None, room=None, **headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        if room:
            # Before the connection is made: the kernels' buffers then hold little.
            self.connection.sock = socket.socket()
            self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            self.connection.sock.settimeout(120)
            self.connection.sock.connect(("127.0.0.1", server.port))
        self.connection.request("GET", path, headers={"Authorization": "Bearer " + (token or server.admin_token), **headers})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def read(self, n):
        return self.answer.read(n)

    def rest(self):
        """(the lines that are complete, whether the answer is)"""
        try:
            return self.answer.read().splitlines(), True
        except http.client.IncompleteRead as error:
            return error.partial.splitlines()[:-1], False
        except ConnectionError:
            return [], False
        finally:
            self.close()

    def close(self):
        self.answer.close()
        self.connection.close()


class Streamed(ServerCase):
    workers = 2
    args = ("--limit", "events_per_minute=0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = set()

        def send(first):
            connection = http.client.HTTPConnection("127.0.0.1", cls.server.port, timeout=60)
            for n in range(first, REPORTS, SENDERS):
                connection.request("POST", "/api/v1/reports", body=crash(n),
                                   headers={"Authorization": "Bearer " + cls.server.ingest_key})
                cls.ids.add(json.loads(connection.getresponse().read())["id"])
            connection.close()
        threads = [threading.Thread(target=send, args=(first,)) for first in range(SENDERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(cls.ids) == REPORTS, len(cls.ids)
        until(lambda: cls.metric('jobs{state="waiting"}') == cls.metric('jobs{state="running"}') == 0, "all processed", 400)

    @classmethod
    def metric(cls, name):
        text = cls.server.request("GET", "/metrics")[1].decode()
        return float(re.search("^framezero_" + re.escape(name) + " (.*)$", text, re.M).group(1))

    def rss(self):
        with open(f"/proc/{self.server.serving_pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1)) * 1024

    def held(self):
        folder = f"/proc/{self.server.serving_pid}"
        return len(os.listdir(folder + "/fd")), len(os.listdir(folder + "/task"))

    def no_streams(self):
        until(lambda: self.metric("http_streams") == 0, "all streams have ended")

    def ids_of(self, lines):
        return [re.search(rb'"id":"([0-9a-f]{32})"', line).group(1).decode() for line in lines]

    def expect_all(self, lines):
        found = self.ids_of(lines)
        self.assertEqual(len(found), len(set(found)), "a report came twice")
        self.assertEqual(set(found) & self.ids, self.ids)

    def broken_off(self, before):
        """The reasons in the log, in what came after `before` bytes."""
        return [line for line in self.server.log()[before:].splitlines() if "stream broken off" in line]

    def test_complete(self):
        before, most, data = self.rss(), 0, []
        export = Export(self.server)
        self.assertEqual(export.answer.getheader("Transfer-Encoding"), "chunked")
        self.assertIsNone(export.answer.getheader("X-Next-Cursor"))
        self.assertIn("export.jsonl", export.answer.getheader("Content-Disposition"))
        while True:
            data.append(export.read(MIB))
            most = max(most, self.rss())
            if not data[-1]:
                break
        export.close()
        size = sum(map(len, data))
        lines = b"".join(data).splitlines()
        self.expect_all(lines)
        self.assertTrue(all(json.loads(line)["issue"]["number"] for line in lines[:1000]))
        print(f"  {size / MIB:.0f} MiB; the server grew by {(most - before) / MIB:.1f} MiB")
        self.assertGreater(size, 40 * MIB)
        self.assertLess(most - before, 20 * MIB)

    def test_compressed(self):
        export, unpack = Export(self.server, **{"Accept-Encoding": "gzip"}), zlib.decompressobj(31)
        self.assertEqual(export.answer.getheader("Content-Encoding"), "gzip")
        packed = export.answer.read()
        export.close()
        self.expect_all(unpack.decompress(packed).splitlines())
        self.assertTrue(unpack.eof)

    def test_filter(self):
        lines, complete = Export(self.server, "/api/v1/export/reports?version=1.3").rest()
        self.assertTrue(complete)
        self.assertEqual({json.loads(line)["app"]["version"] for line in lines}, {"1.3"})
        self.assertEqual(len(lines), sum(1 for n in range(REPORTS) if n % 7 == 3))
        # Without any, it is an answer like others.
        empty = Export(self.server, "/api/v1/export/reports?version=0.0")
        self.assertEqual((empty.status, empty.answer.getheader("Content-Length"), empty.rest()), (200, "0", ([], True)))
        page = Export(self.server, "/api/v1/export/reports?limit=5")
        self.assertEqual(len(page.rest()[0]), 5)
        cursor = page.answer.getheader("X-Next-Cursor")
        self.assertEqual(len(Export(self.server, "/api/v1/export/reports?cursor=" + cursor).rest()[0]), 100)
        for wrong in ("limit=0", "limit=1001", "cursor=x", "query=nothing:", "variables=2", "limits=5"):
            self.assertEqual(Export(self.server, "/api/v1/export/reports?" + wrong).status, 400, wrong)

    def test_issues(self):
        lines, complete = Export(self.server, "/api/v1/export/issues").rest()
        found = {issue["number"]: issue for issue in map(json.loads, lines)}
        self.assertTrue(complete)
        self.assertEqual(len(lines), len(found))
        # Another test merges some of them.
        self.assertGreaterEqual(len(found), ISSUES - MERGED)
        self.assertGreaterEqual(sum(issue["reports"] for issue in found.values()), REPORTS)
        export = Export(self.server, "/api/v1/export/issues?format=csv")
        self.assertEqual(export.answer.getheader("Transfer-Encoding"), "chunked")
        rows = list(csv.DictReader(io.StringIO(export.answer.read().decode(), newline="")))
        self.assertEqual({int(row["number"]): int(row["reports"]) for row in rows},
                         {number: issue["reports"] for number, issue in found.items()})
        self.assertEqual(len(rows), len(found))
        # Pages have the same ones.
        pages, cursor = [], ""
        while cursor is not None:
            page = Export(self.server, "/api/v1/export/issues?limit=1000" + cursor)
            pages += [json.loads(line)["number"] for line in page.rest()[0]]
            cursor = page.answer.getheader("X-Next-Cursor")
            cursor = f"&cursor={cursor}" if cursor else None
        self.assertEqual(sorted(pages), sorted(found))

    def test_issues_merged_meanwhile(self):
        """An issue that gets an earlier report after it was sent has a later place, and is not sent again; no other is missing."""
        order = [json.loads(line)["number"] for line in Export(self.server, "/api/v1/export/issues").rest()[0]]
        pairs, answers = list(zip(order[-MERGED:], order[:MERGED])), []

        def merge():
            for old, new in pairs:
                answers.append(self.server.request("POST", f"/api/v1/issues/{old}/merge", body=json.dumps({"into": new})))
        merging = threading.Thread(target=merge)
        merging.start()
        while len(answers) < MERGED and merging.is_alive():
            lines, complete = Export(self.server, "/api/v1/export/issues").rest()
            self.assertTrue(complete)
            found = [json.loads(line)["number"] for line in lines]
            self.assertEqual(len(found), len(set(found)))
            self.assertFalse(set(order[:-MERGED]) - set(found))
        merging.join()
        self.assertEqual({status for status, _ in answers}, {200}, answers[:1])

    def test_slow_reader(self):
        export, n, end = Export(self.server, room=4096), 0, time.monotonic() + 5
        while time.monotonic() < end:
            n += len(export.read(512))
            for _ in range(5):
                self.expect(200, "GET", "/api/v1/reports?limit=1")
            time.sleep(0.5)
        self.assertGreater(n, 4000)
        self.assertEqual(self.metric("http_streams"), 1)
        export.close()
        self.no_streams()

    def test_reports_that_come(self):
        export = Export(self.server, room=65536)
        export.read(1000)
        new = {self.server.request("POST", "/api/v1/reports", body=crash(REPORTS + n), token="ingest")[1]["id"]
               for n in range(50)}
        lines, complete = export.rest()
        self.assertTrue(complete)
        found = self.ids_of(lines[1:])
        self.assertEqual(len(found), len(set(found)))
        self.assertFalse(set(found) & new)
        # The first one was read in part.
        self.assertGreaterEqual(len(set(found) & self.ids), REPORTS - 1)

    def test_gone(self):
        for export in [Export(self.server, room=4096) for _ in range(8)]:
            export.close()
        self.no_streams()
        before = self.held()
        for n in range(200):
            export = Export(self.server, "/api/v1/export/" + ("issues" if n % 4 == 0 else "reports"), room=4096 if n % 2 else None)
            if n % 3:
                export.read(100000)
            export.close()
            if n % 4 == 0:
                until(lambda: self.metric("http_streams") < 8, "streams of clients that have gone end")
        self.no_streams()
        # Connections to the database may be kept, at most 32 in all.
        until(lambda: self.held()[1] <= before[1] and self.held()[0] <= before[0] + 3 * 32, f"as before: {before}")
        self.expect_all(Export(self.server).rest()[0])

    def test_many(self):
        exports = [Export(self.server, room=4096) for _ in range(16)]
        self.assertEqual({export.status for export in exports}, {200})
        one_more = Export(self.server)
        self.assertEqual(one_more.status, 503)
        self.assertGreater(int(one_more.answer.getheader("Retry-After")), 0)
        self.assertIn("limit streams", json.loads(one_more.read(1000))["error"]["message"])
        self.expect(200, "GET", "/api/v1/reports?limit=1")
        # Short ones are streams while they are made.
        self.assertEqual(Export(self.server, "/api/v1/export/reports?version=0.0").status, 503)
        for export in exports:
            export.close()
        self.no_streams()

    def test_revoked(self):
        before = len(self.server.log())
        token = self.server.command("token", "create", "--scope", "read")
        export = Export(self.server, token=token, room=65536)
        export.read(1000)
        listed = self.server.command("token", "list").splitlines()
        self.server.command("token", "revoke", [line.split()[0] for line in listed if token[:8] in line][-1])
        until(lambda: self.server.request("GET", "/api/v1/reports?limit=1", token=token)[0] != 200, "the token is rejected")
        lines, complete = export.rest()
        self.assertFalse(complete)
        self.assertLess(len(lines), REPORTS // 2)
        until(lambda: 'text="the token was revoked, or the session has ended"' in "".join(self.broken_off(before)), "the log says why")

    @contextlib.contextmanager
    def without_database(self):
        """Its connections end, and no new one is accepted."""
        name = urllib.parse.urlsplit(self.server.database).path[1:]

        def run(text):
            subprocess.run(["psql", "-q", CLUSTER, "-c", text], check=True, timeout=60, stdout=subprocess.DEVNULL)
        run(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        try:
            yield
        finally:
            run(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")

    def fails(self, how):
        """The database fails in the middle: the client sees it, the log says why, and afterwards all is well."""
        before = len(self.server.log())
        export = Export(self.server, room=65536)
        export.read(1000)
        with how:
            lines, complete = export.rest()
            self.assertFalse(complete)
            self.assertLess(len(lines), REPORTS // 2)
            for line in lines[1:]:
                json.loads(line)
            until(lambda: self.broken_off(before), "the log says why")
        until(lambda: self.server.request("GET", "/readyz")[0] == 200, "the server is ready again")
        until(lambda: self.server.request("GET", "/metrics")[0] == 200, "the database answers")
        self.no_streams()
        until(lambda: self.server.request("GET", "/api/v1/reports?limit=1")[0] == 200, "lists work")
        self.expect_all(Export(self.server).rest()[0])

    @unittest.skipUnless(CLUSTER, "SQLite is in the server's own process")
    def test_database_gone(self):
        self.fails(self.without_database())

    @unittest.skipUnless(CLUSTER, "readers of SQLite do not wait")
    def test_database_hangs(self):
        self.fails(Hang(self.server))

    def test_stop(self):
        """SIGTERM: who reads on gets all of it, if that takes no more than ten seconds; the others see that it breaks off."""
        slow = Export(self.server, room=65536)
        slow.read(1000)
        quick, results = Export(self.server), []
        reader = threading.Thread(target=lambda: results.append(quick.rest()))
        reader.start()
        start = time.monotonic()
        try:
            self.assertEqual(self.server.terminate(40), 0)
        finally:
            self.server.start()
        self.assertLess(time.monotonic() - start, 30)
        reader.join()
        lines, complete = results[0]
        if complete:
            self.expect_all(lines)
        self.assertFalse(slow.rest()[1])
        self.assertIn('text="the server stops"', self.server.log())


if __name__ == "__main__":
    main()
