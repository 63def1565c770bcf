#!/usr/bin/env python3
"""Nodes of the version before go on serving while a new node upgrades the database that they share.

usage: test_rolling.py --before OLDER_BINARY --framezero BINARY [--seconds N]

Clients post to both versions, with a ledger of what was acknowledged, while the new node migrates and for N seconds (20)
afterwards. Every report is then there once with its bytes, symbolicated, from either version; neither log has an error.
PostgreSQL only: with SQLite, one program serves a database. `./dev upgrade-test [COMMIT]` builds the older program.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
import zlib

_parser = argparse.ArgumentParser(add_help=False)
_parser.add_argument("--before", required=True)
_parser.add_argument("--seconds", type=float, default=20)
_chosen, sys.argv[1:] = _parser.parse_known_args()

from case import BINARY, main, until  # noqa: E402
from framezero import Server, new_database  # noqa: E402
from symbol_files import sample  # noqa: E402

PAUSE_S = 0.01


class Client(threading.Thread):
    """Posts reports of the sample to one server, each with its own id and a larger or smaller body; again after a 503, as SDKs do."""

    def __init__(self, name, server):
        super().__init__(daemon=True)
        self.server, self.label = server, name
        self.acknowledged, self.refused, self.ends = {}, [], False
        self.n_again, self.pause_s = 0, 0.0

    def body(self, n):
        report = json.loads(sample("report.json"))
        report["id"] = f"{zlib.crc32(self.label.encode()):08x}{n:024x}"
        report["tags"] = {"node": self.label, "n": str(n)}
        report["user"] = {"id": f"user-{n % 7}"}
        report["custom"] = {"text": f"{self.label} {n} " * (1 + n % 300)}
        return report["id"], json.dumps(report).encode()

    def run(self):
        n, last = 0, time.monotonic()
        while not self.ends:
            report, body = self.body(n)
            status, answer = self.server.request("POST", "/api/v1/reports", body=body)
            if status in (200, 202):
                self.acknowledged[answer["id"]] = body
                self.pause_s, last = max(self.pause_s, time.monotonic() - last), time.monotonic()
                n += 1
            elif status == 503 and "Retry-After" in self.server.last_headers:
                self.n_again += 1
            else:
                self.refused.append((report, status, answer))
                n += 1
            time.sleep(PAUSE_S)


class Rolling(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.database = new_database()
        self.assertTrue(self.database, "needs PostgreSQL: run it beside tests/contract/with_postgresql.sh")
        self.blobs = tempfile.mkdtemp(prefix="framezero-blobs-")
        self.addCleanup(shutil.rmtree, self.blobs, ignore_errors=True)

    def serve(self, binary, workers, first=None):
        """A node on the same database and blobs. Only the first one writes credentials, so the others get a copy."""
        server = Server(binary, database=self.database, workers=workers, args=("--blobs", "file:" + self.blobs))
        if first:
            shutil.copy(os.path.join(first.data, "credentials.json"), server.data)
        server.start()
        self.addCleanup(server.stop)
        return server

    def client(self, name, server):
        client = Client(name, server)
        client.start()
        self.addCleanup(setattr, client, "ends", True)
        return client

    def test_versions_together(self):
        old = self.serve(_chosen.before, 1)
        old_http = self.serve(_chosen.before, 0, old)
        status, answer = old.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        self.assertEqual(status, 201, answer)
        clients = [self.client("old", old), self.client("old-http", old_http)]
        until(lambda: all(len(c.acknowledged) > 20 for c in clients), "reports of the version before")

        new = self.serve(BINARY, 1, old)
        clients.append(self.client("new", new))
        until(lambda: len(clients[2].acknowledged) > 20, "reports of this version")
        end = time.monotonic() + _chosen.seconds
        while time.monotonic() < end:  # what people do meanwhile, on each
            for server in (old, old_http, new):
                for path in ("/api/v1/issues", "/api/v1/reports?limit=50", "/api/v1/reports?q=Demo", "/api/v1/symbols/missing"):
                    status, answer = server.request("GET", path)
                    self.assertEqual(status, 200, (path, answer))
            time.sleep(0.2)
        for client in clients:
            client.ends = True
        for client in clients:
            client.join(30)
            self.assertFalse(client.is_alive(), client.label)
            self.assertEqual(client.refused[:3], [], f"{client.label}: {len(client.refused)}\n{client.server.log_tail()}")

        want = {report: body for client in clients for report, body in client.acknowledged.items()}
        self.assertEqual(len(want), sum(len(client.acknowledged) for client in clients), "an id for each")
        for report in want:
            new.wait_report(report, 120, lambda answer: answer["status"] == "symbolicated")
        # The older node answers as well as before, whichever wrote the report.
        for name, server, every in (("new", new, 1), ("old-http", old_http, 5)):
            for n, (report, body) in enumerate(want.items()):
                if n % every == 0:
                    self.check(name, server, report, body)
        status, answer = new.request("GET", "/api/v1/issues?limit=200")
        counted = sum(issue["reports"] for issue in answer["issues"])
        self.assertEqual(counted, len(want), "each is counted once in its issue")
        for name, server in (("old", old), ("old-http", old_http), ("new", new)):
            errors = [line for line in server.log().splitlines() if "level=error" in line]
            self.assertEqual(errors, [], name)
        each = ", ".join(f"{len(c.acknowledged)} through {c.label} ({c.n_again} times 503, longest pause {c.pause_s:.1f} s)" for c in clients)
        print(f"reports: {each}; all there, symbolicated, counted once")

    def check(self, name, server, report, body):
        request = urllib.request.Request(f"{server.url}/api/v1/reports/{report}?format=raw",
                                         headers={"Authorization": f"Bearer {server.admin_token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            self.assertEqual(answer.read(), body, (name, report))
        status, answer = server.request("GET", f"/api/v1/reports/{report}")
        self.assertEqual((status, answer["status"]), (200, "symbolicated"), (name, report))


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    main()
