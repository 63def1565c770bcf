#!/usr/bin/env python3
"""framezero copy: a SQLite installation into PostgreSQL, with everything that people see, also when it is interrupted. For databases of PostgreSQL."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time
import unittest

from case import BINARY, SAMPLE, main, report, until
from framezero import Server, new_database
from route_requests import crash

POSTGRESQL = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
PAGES = ("issues?sort=last_seen", "issues/1", "issues/1/activity", "issues/1/variants", "versions", "reports?limit=100", "tokens", "channels", "filters",
         "symbols", "issues?q=Demo", "audit")


class LiteServer(Server):
    """On SQLite, also where the tests have PostgreSQL."""
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.database = None


def psql(database, query):
    done = subprocess.run(["psql", "-qAt", "-v", "ON_ERROR_STOP=1", database, "-c", query], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def schema(database):
    """Tables, constraints and indexes, as text."""
    return psql(database, "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() UNION ALL "
                "SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint "
                "WHERE connamespace = current_schema()::regnamespace UNION ALL "
                "SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns "
                "WHERE table_schema = current_schema() ORDER BY 1")


def expect(server, status, *request, **more):
    got, answer = server.request(*request, **more)
    if got != status:
        raise AssertionError(f"{request}: {got} {answer}")
    return answer


def fill(server):
    """A bit of everything; ids with the bodies that were sent."""
    ledger = {}
    expect(server, 201, "POST", "/api/v1/symbols", body=(pathlib.Path(SAMPLE) / "Demo.zip").read_bytes())
    bodies = [(pathlib.Path(SAMPLE) / "crash.json").read_bytes()]
    bodies += [crash(f"pay{i % 4}()", "SIGSEGV", app={"id": "org.example", "version": f"1.{i % 7}", "build": str(i)},
                     user={"id": f"u{i}"}, tags={"n": str(i % 5)}) for i in range(24)]
    for body in bodies:
        ledger[expect(server, 202, "POST", "/api/v1/reports", body=body, token="ingest")["id"]] = body
    for sent in ledger:
        server.wait_report(sent)
    gone = list(ledger)[-1]
    expect(server, 204, "DELETE", f"/api/v1/reports/{gone}")
    del ledger[gone]
    issues = server.request("GET", "/api/v1/issues")[1]["issues"]
    numbers = sorted(issue["number"] for issue in issues)
    expect(server, 201, "POST", f"/api/v1/issues/{numbers[0]}/comments", body=b'{"text":"seen: \xc3\xa4\xe2\x82\xac"}')
    # Into a later one, which is a reference forward.
    expect(server, 200, "POST", f"/api/v1/issues/{numbers[1]}/merge", body=json.dumps({"into": numbers[-1]}).encode())
    expect(server, 201, "POST", "/api/v1/channels", body=b'{"name":"hook","kind":"webhook","url":"https://hooks.example.org/x"}')
    return ledger


def look(server, ledger):
    pages = {page: expect(server, 200, "GET", f"/api/v1/{page}") for page in PAGES}
    for sent, body in ledger.items():
        pages[sent] = expect(server, 200, "GET", f"/api/v1/reports/{sent}")
        raw = expect(server, 200, "GET", f"/api/v1/reports/{sent}?format=raw")
        if b"memory" not in body and raw != body:  # memory is not kept
            raise AssertionError(f"{sent} is not what was sent")
    for answer in pages.values():
        if isinstance(answer, dict):
            answer.pop("since", None)  # up to now
            answer.pop("until", None)
            for token in answer.get("tokens", []):
                token.pop("last_used_at", None)
    return pages


@unittest.skipUnless(POSTGRESQL, "needs PostgreSQL")
class Copy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One installation, of which each test has a copy."""
        cls.filled = tempfile.mkdtemp(prefix="framezero-copy-")
        cls.addClassCleanup(shutil.rmtree, cls.filled, ignore_errors=True)
        with LiteServer(BINARY, workers=1, data=cls.filled) as server:
            cls.ledger = fill(server)
            cls.before = look(server, cls.ledger)
            server.stop()

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="framezero-copy-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.data = os.path.join(self.top, "data")
        shutil.copytree(self.filled, self.data)
        self.old, self.new = f"sqlite:{self.data}/framezero.db", new_database()

    def run_command(self, *args, code=0):
        done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stdout + done.stderr

    def copy(self, code=0):
        return self.run_command("copy", "--data", self.data, "--from", self.old, "--to", self.new, code=code)

    def test_everything(self):
        self.assertIn("compared with the old database", self.copy())
        fresh = new_database()
        self.run_command("migrate", "--database", fresh)
        self.assertEqual(schema(self.new), schema(fresh))
        self.assertIn("begun earlier", self.copy())
        server = Server(BINARY, workers=1, data=self.data)
        server.database = self.new
        with server:
            after = look(server, self.ledger)
            for page, answer in self.before.items():
                self.assertEqual(after[page], answer, page)
            # And it goes on, with numbers of its own.
            highest = int(psql(self.new, "SELECT max(key) FROM reports"))
            expect(server, 202, "POST", "/api/v1/reports", body=report(7000), token="ingest")
            self.assertIn("is in use", self.copy(code=1))
            self.assertGreater(int(psql(self.new, "SELECT max(key) FROM reports")), highest)

    def test_interrupted(self):
        # Each report takes a while, so that there is something to interrupt.
        self.run_command("migrate", "--database", self.new)
        psql(self.new, "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END$$; "
             "CREATE TRIGGER wait BEFORE INSERT ON reports FOR EACH ROW EXECUTE FUNCTION wait()")
        rng = random.Random(15)
        for n in range(4):
            copying = subprocess.Popen([BINARY, "copy", "--data", self.data, "--from", self.old, "--to", self.new],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until(lambda: psql(self.new, "SELECT to_regclass('transfer_tables') IS NOT NULL") == "t", "it has begun")
            time.sleep(rng.uniform(0, 0.5))
            copying.kill()
            copying.wait()
            if n == 0:
                done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data", self.data, "--database", self.new],
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn("the copy into this database is not complete", done.stderr)
        psql(self.new, "DROP TRIGGER wait ON reports")
        self.assertIn("begun earlier", self.copy())
        self.assertEqual(psql(self.new, "SELECT count(*) FROM reports"), str(len(self.ledger)))

    def test_changed_meanwhile(self):
        """What was copied is compared with what is there at the end."""
        self.run_command("migrate", "--database", self.new)
        psql(self.new, "CREATE TABLE block (a int)")
        self.assertIn("other columns in block", self.copy(code=1))
        psql(self.new, "DROP TABLE block; CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.title = 'another'; RETURN NEW; END$$; "
             "CREATE TRIGGER spoil BEFORE INSERT ON issues FOR EACH ROW EXECUTE FUNCTION spoil()")
        self.assertIn("issues is not the same in both databases", self.copy(code=1))
        self.assertEqual(psql(self.new, "SELECT count(*) FROM issues"), "0")
        psql(self.new, "DROP TRIGGER spoil ON issues")
        self.assertIn("begun earlier", self.copy())
        self.assertEqual(psql(self.new, "SELECT count(*) FROM issues WHERE title = 'another'"), "0")
        self.assertGreater(int(psql(self.new, "SELECT count(*) FROM issues")), 0)

    def test_refused(self):
        with LiteServer(BINARY, workers=1, data=self.data):
            self.assertIn("another framezero (process", self.copy(code=1))
        self.assertIn("--to or --blobs-to", self.run_command("copy", "--data", self.data, code=2))
        self.assertIn("pg_dump", self.run_command("copy", "--data", self.data, "--from", self.new, "--to", self.new, code=1))
        self.assertIn("the old database", self.run_command("copy", "--data", self.data, "--from", f"sqlite:{self.top}/none.db", "--to", self.new, code=1))
        empty = os.path.join(self.top, "older.db")
        subprocess.run(["python3", "-c", "import sqlite3,sys; sqlite3.connect(sys.argv[1]).execute('CREATE TABLE t (a)')", empty], check=True, timeout=30)
        self.assertIn("run the migrations", self.run_command("copy", "--data", self.data, "--from", f"sqlite:{empty}", "--to", self.new, code=1))


if __name__ == "__main__":
    main()
