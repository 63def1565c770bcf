#!/usr/bin/env python3
"""A server behind PgBouncer in transaction mode (tests/contract/with_pgbouncer.sh): reports come in, are done and are listed, also after
all connections of PgBouncer were cut."""

import os
import subprocess
import sys
import unittest
import urllib.parse

from case import BINARY, main, report, until
from framezero import Server, new_database

POOLER = os.environ.get("FRAMEZERO_TEST_PGBOUNCER")
REPORTS = 40


class Pooled(unittest.TestCase):
    def setUp(self):
        self.direct = new_database()
        name = urllib.parse.urlsplit(self.direct).path
        self.server = Server(BINARY, workers=1, database=f"postgresql://framezero@{name}?{POOLER}")
        self.server.start()
        self.addCleanup(self.server.stop)

    def sql(self, text):
        return subprocess.run(["psql", "-X", "-A", "-t", self.direct, "-c", text], check=True, timeout=60, capture_output=True,
                              text=True).stdout.strip()

    def send(self, first):
        for n in range(first, first + REPORTS):
            self.assertEqual(self.server.request("POST", "/api/v1/reports", report(n), token="ingest")[0], 202)

    def all_done(self, n):
        until(lambda: int(self.sql("SELECT count(*) FROM reports WHERE status <> 'queued'")) == n, f"{n} reports are done")

    def test_reports(self):
        self.send(0)
        self.all_done(REPORTS)
        status, answer = self.server.request("GET", "/api/v1/reports?limit=100")
        self.assertEqual((status, len(answer["reports"])), (200, REPORTS))
        # Settings of ours must not stay on connections that others get.
        self.assertEqual(self.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
                                  "pg_backend_pid() AND query ILIKE 'listen%'"), "0")
        pooled = subprocess.run(["psql", "-X", "-A", "-t", self.server.database, *["-c", "SHOW enable_seqscan"] * 8], check=True,
                                timeout=60, capture_output=True, text=True).stdout.split()
        self.assertEqual(pooled, ["on"] * 8)

    def test_row_security(self):
        subprocess.run([BINARY, "row-security", "on", "--database", self.direct], check=True, timeout=60, capture_output=True)
        until(lambda: 'msg="row security" state=on' in self.server.log(), "the server notices")
        self.send(0)
        self.all_done(REPORTS)
        path = "/api/v1/reports?limit=100"
        self.assertEqual(len(self.server.request("GET", path)[1]["reports"]), REPORTS)
        # Neither the role nor the project stays on a connection that others get.
        pooled = subprocess.run(["psql", "-X", "-A", "-t", self.server.database, *["-c", "SELECT current_user, "
                                 "current_setting('framezero.project', true)"] * 8], check=True, timeout=60, capture_output=True, text=True)
        self.assertEqual(set(pooled.stdout.split()), {"framezero|"})
        self.sql("ALTER POLICY row_security ON reports USING (false)")
        self.assertEqual(self.server.request("GET", path)[1]["reports"], [])

    def test_cut(self):
        self.send(0)
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
                 "pg_backend_pid()")
        until(lambda: self.server.request("POST", "/api/v1/reports", report(REPORTS), token="ingest")[0] == 202,
              "reports are taken again")
        until(lambda: self.server.request("GET", "/readyz", token=None)[0] == 200, "the server is ready again")
        self.send(REPORTS + 1)
        self.all_done(2 * REPORTS + 1)


if __name__ == "__main__":
    if not POOLER:
        sys.exit("run it under with_pgbouncer.sh")
    main()
