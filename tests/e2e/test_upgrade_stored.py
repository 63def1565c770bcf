#!/usr/bin/env python3
"""Databases of earlier versions, as they were left (tests/fixtures/upgrade): they are upgraded, all that was in them is
there, and the server goes on with it. An older program refuses what a newer one has written."""

import glob
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest

from case import BINARY, SAMPLE, SOURCE, main
from framezero import Server, free_port, new_database

FIXTURES = os.path.join(SOURCE, "tests", "fixtures", "upgrade")
ENGINE = "postgresql" if os.environ.get("FRAMEZERO_TEST_POSTGRESQL") else "sqlite"
sys.path.insert(0, FIXTURES)
from make import snapshot  # noqa: E402


def psql(url, statements):
    subprocess.run(["psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", url], input=statements, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)


class Stored(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="framezero-upgrade-")
        self.addCleanup(folder.cleanup)
        self.made, self.data = os.path.join(folder.name, "made"), os.path.join(folder.name, "data")

    def unpack(self, path):
        """The fixture in place; the URL of its database, None for SQLite."""
        with tarfile.open(path) as tar:
            tar.extractall(self.made)
        if ENGINE == "sqlite":
            subprocess.run([BINARY, "restore", self.made, "--data", self.data], check=True, capture_output=True, timeout=60)
            return None
        url = new_database()
        with open(os.path.join(self.made, "dump.sql"), "rb") as file:
            psql(url, file.read())
        os.rename(self.made, self.data)
        self.made = self.data
        return url

    def test_upgrade(self):
        paths = sorted(glob.glob(f"{FIXTURES}/{ENGINE}-*.tar.xz"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(os.path.basename(path)):
                self.setUp()
                self.check(path)

    def check(self, path):
        url = self.unpack(path)
        with open(os.path.join(self.made, "expected.json"), encoding="utf-8") as file:
            expected = json.load(file)
        with Server(BINARY, data=self.data, database=url, workers=1) as server:
            self.assertEqual(snapshot(server), expected)
            # It goes on: the same crash once more is one more report of its issue, and new dSYMs are known by their UUID.
            with open(os.path.join(SAMPLE, "report.json"), "rb") as file:
                sample = json.load(file)
            old = server.request("GET", "/api/v1/issues?limit=200")[1]["issues"]
            status, report = server.request("POST", "/api/v1/reports?wait=20", json.dumps({**sample, "id": "f" * 32}))
            self.assertEqual((status, report["status"]), (200, "symbolicated"), report)
            new = server.request("GET", "/api/v1/issues?limit=200")[1]["issues"]
            self.assertEqual(len(new), len(old))
            self.assertEqual(len(server.request("GET", "/api/v1/reports?limit=200")[1]["reports"]), len(expected["reports"]) + 1)
            self.assertIn("second", server.command("project", "list"))
            server.terminate()

    def test_newer_is_refused(self):
        """`serve`, `worker` and `migrate` end with what to do, and change nothing."""
        url = self.unpack(sorted(glob.glob(f"{FIXTURES}/{ENGINE}-*.tar.xz"))[-1])
        where = ["--data", self.data] + (["--database", url] if url else [])
        subprocess.run([BINARY, "migrate", *where], check=True, timeout=60)
        statement = "INSERT INTO schema_migrations (version, name, checksum, applied_ms) VALUES (9999, '9999_later', 'x', 1);"
        if url:
            psql(url, statement.encode())
        else:
            with sqlite3.connect(os.path.join(self.data, "framezero.db")) as db:
                db.execute(statement)
        for command in (["serve", "--listen", f"127.0.0.1:{free_port()}"], ["worker"], ["migrate"]):
            done = subprocess.run([BINARY, *command, *where], capture_output=True, text=True, timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0, command)
            self.assertRegex(done.stderr, r"schema version 9999, this program knows up to \d+: use a newer framezero", command)


if __name__ == "__main__":
    main()
