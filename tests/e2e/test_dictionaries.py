#!/usr/bin/env python3
"""A server that has had 110 reports of an app stores the next ones with a dictionary; every report stays what it was, also in a backup
and in a copy."""

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile

from case import BINARY, ServerCase, main, until
from framezero import Server, new_database
from symbol_files import sample

FIRST, NEXT = 110, 20
POSTGRESQL = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")


class LiteServer(Server):
    """On SQLite, also where the tests have PostgreSQL."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.database = None


def body(n):
    report = json.loads(sample("report.json"))
    report["id"] = f"{n:032x}"
    report["custom"] = {"number": n}
    return json.dumps(report).encode()


def run(*args):
    done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise AssertionError(done.stderr + done.stdout)


class Dictionaries(ServerCase):
    server_type = LiteServer

    def post(self, numbers):
        ids = [self.expect(202, "POST", "/api/v1/reports", body=body(n))["id"] for n in numbers]
        for one in ids:
            self.server.wait_report(one)
        return ids

    def read(self, one, server=None):
        answers = []
        for query in ("?format=raw", ""):
            status, answer = (server or self.server).request("GET", f"/api/v1/reports/{one}{query}")
            self.assertEqual(status, 200, answer)
            answers.append(answer)
        return tuple(answers)

    def check_elsewhere(self, ids):
        """The same reports from a backup of the data, and from its copy in PostgreSQL."""
        top = tempfile.mkdtemp(prefix="framezero-dictionaries-")
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        before = [self.read(one) for one in ids]
        others = [(f"{top}/new", None)]
        run("backup", f"{top}/backup", "--data", self.server.data)
        run("restore", f"{top}/backup", "--data", f"{top}/new")
        if POSTGRESQL:
            others.append((self.server.data, new_database()))
            self.server.terminate()
            run("copy", "--data", self.server.data, "--from", f"sqlite:{self.server.data}/framezero.db", "--to", others[1][1])
        for data, database in others:
            other = Server(BINARY, workers=1, data=data)
            other.database = database
            with other:
                self.assertEqual([self.read(one, other) for one in ids], before, database)

    def trained(self):
        return self.server.log().count("a dictionary was trained")

    def test_reports(self):
        first = self.post(range(1, FIRST))
        before = self.read(first[0])
        self.server.terminate()
        self.server.start()  # a worker looks when it starts
        until(lambda: self.trained() == 2, "a dictionary of bodies and one of results")
        following = self.post(range(FIRST, FIRST + NEXT))
        self.server.terminate()
        self.server.start()  # with nothing in memory
        self.assertEqual(self.read(first[0]), before)
        for i, one in enumerate(following):
            raw, result = self.read(one)
            self.assertEqual(raw, body(FIRST + i))
            self.assertEqual(result["threads"], before[1]["threads"])
        with sqlite3.connect(f"{self.server.data}/framezero.db") as database:
            sizes = [
                database.execute(
                    "SELECT avg(length(b.body)), avg(length(t.result)) FROM reports r JOIN report_bodies b ON "
                    "b.report_key = r.key JOIN report_results t ON t.report_key = r.key WHERE r.id IN "
                    f"({', '.join('?' * len(ids))})",
                    ids,
                ).fetchone()
                for ids in (first, following[1:])
            ]
        for old, new in zip(*sizes):
            self.assertLess(new, old / 2)
        self.check_elsewhere([first[0], *following[1:5]])


if __name__ == "__main__":
    main()
