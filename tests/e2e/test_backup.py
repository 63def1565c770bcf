#!/usr/bin/env python3
"""A backup that is made while reports come in, restored into another folder: the same ledger, names and tokens."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import threading
import unittest

from case import BINARY, SAMPLE, main
from framezero import Server, new_database


POSTGRESQL = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")


class Case(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="framezero-backup-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.data, self.dir, self.new = (os.path.join(self.top, name) for name in ("data", "backup", "new"))
        os.mkdir(self.data, 0o700)

    def run_command(self, *args, code=0):
        done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stdout + done.stderr

    def backup(self, code=0):
        return self.run_command("backup", self.dir, "--data", self.data, code=code)

    def restore(self, code=0):
        return self.run_command("restore", self.dir, "--data", self.new, code=code)

    def fill(self, server, n):
        """The sample with its dSYM, and n reports; ids with the bodies that were sent."""
        dsym = (pathlib.Path(SAMPLE) / "Demo.zip").read_bytes()
        status, answer = server.request("POST", "/api/v1/symbols", body=dsym)
        self.assertEqual(status, 201, answer)
        ledger = {}
        for i in range(n):
            body = json.dumps({"framezero": 1, "addresses": [hex(0x1000 + i)]}).encode()
            status, answer = server.request("POST", "/api/v1/reports", body=body, token="ingest")
            self.assertEqual(status, 202, answer)
            ledger[answer["id"]] = body
        return ledger

    def check_ledger(self, server, ledger):
        for report, body in ledger.items():
            self.assertNotEqual(server.wait_report(report)["status"], "failed")
            status, raw = server.request("GET", f"/api/v1/reports/{report}?format=raw")
            self.assertEqual((status, raw), (200, body))

    def blobs(self, of):
        return [path for path in pathlib.Path(of, "blobs").glob("??/??/*") if path.is_file()]


@unittest.skipIf(POSTGRESQL, "of SQLite")
class Backup(Case):
    def test_under_load(self):
        with Server(BINARY, workers=1, data=self.data) as server:
            ledger, stop = self.fill(server, 40), threading.Event()

            def send():
                while not stop.is_set():
                    server.request("POST", "/api/v1/reports", body=os.urandom(8).hex().join(
                        ('{"framezero":1,"addresses":["0x', '"]}')).encode(), token="ingest")

            senders = [threading.Thread(target=send) for _ in range(3)]
            for sender in senders:
                sender.start()
            try:
                self.backup()
            finally:
                stop.set()
                for sender in senders:
                    sender.join()
            credentials = server.credentials
        for path in ("framezero.db", "credentials.json", "backup.json"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.dir, path)).st_mode), 0o600, path)
        self.restore()
        with Server(BINARY, workers=1, data=self.new) as server:
            self.assertEqual({**server.credentials, "url": "", "dsn": ""}, {**credentials, "url": "", "dsn": ""})
            self.check_ledger(server, ledger)
            # The dSYM was restored with its index.
            crash = (pathlib.Path(SAMPLE) / "crash.json").read_bytes()
            status, answer = server.request("POST", "/api/v1/reports", body=crash, token="ingest")
            self.assertEqual(status, 202, answer)
            self.assertEqual(server.wait_report(answer["id"])["status"], "symbolicated")
            # And it takes files as before.
            self.fill(server, 1)

    def test_refused(self):
        self.assertIn("there is no database at", self.backup(code=1))
        with Server(BINARY, workers=1, data=self.data) as server:
            self.fill(server, 1)
        self.backup()
        self.assertIn("already holds a backup", self.backup(code=1))
        # Where something is.
        self.assertIn("is there already", self.run_command("restore", self.dir, "--data", self.data, code=1))
        self.assertIn("is not a whole backup", self.run_command("restore", self.data, "--data", self.new, code=1))
        self.assertIn("pg_dump", self.run_command("backup", self.dir, "--database", "postgresql://nowhere/", code=1))
        self.assertIn("pg_dump", self.run_command("restore", self.dir, "--database", "postgresql://nowhere/", code=1))
        self.assertIn("only one is accepted", self.run_command("backup", self.dir, self.new, code=2))

    def test_damaged_backup(self):
        with Server(BINARY, workers=1, data=self.data) as server:
            ledger = self.fill(server, 3)
        self.backup()
        database, facts = os.path.join(self.dir, "framezero.db"), os.path.join(self.dir, "backup.json")
        with open(database, "r+b") as f:
            f.seek(20000)
            was = f.read(1)
            f.seek(20000)
            f.write(bytes([was[0] ^ 1]))
        self.assertIn("is not what was backed up", self.restore(code=1))
        with open(database, "r+b") as f:
            f.seek(20000)
            f.write(was)
        blob = self.blobs(self.dir)[0]
        kept = blob.read_bytes()
        blob.write_bytes(b"x" + kept[1:])
        self.assertIn(f"the bytes of blob {blob.name} are damaged", self.restore(code=1))
        blob.unlink()
        self.assertIn("the backup is not whole any more", self.restore(code=1))
        self.assertFalse(os.path.exists(os.path.join(self.new, "framezero.db")))
        blob.write_bytes(kept)
        whole = pathlib.Path(facts).read_text(encoding="utf-8")
        for text, message in (("{", "line 1"), ('{"format": 9}', "later version"), ('{"format": 1}', "not sound")):
            pathlib.Path(facts).write_text(text, encoding="utf-8")
            self.assertIn(message, self.restore(code=1))
        pathlib.Path(facts).write_text(whole, encoding="utf-8")
        # What was interrupted goes on.
        self.restore()
        with Server(BINARY, workers=1, data=self.new) as server:
            self.check_ledger(server, ledger)

    def test_damaged_original(self):
        with Server(BINARY, workers=1, data=self.data) as server:
            self.fill(server, 1)
        damaged, gone = self.blobs(self.data)[:2]
        damaged.write_bytes(b"x" + damaged.read_bytes()[1:])
        gone.unlink()
        said = self.backup(code=1)
        self.assertIn(f"the bytes of blob {damaged.name} are damaged: it is left out", said)
        self.assertIn("1 files that the database names are not in", said)
        self.assertNotIn(damaged.name, {path.name for path in self.blobs(self.dir)})
        # The rest is a backup.
        self.restore()

    def test_interrupted(self):
        with Server(BINARY, workers=1, data=self.data) as server:
            ledger = self.fill(server, 3)
        os.makedirs(self.dir)
        pathlib.Path(self.dir, "framezero.db.unfinished").write_bytes(b"half of it")
        self.assertIn("is not a whole backup", self.restore(code=1))
        self.backup()
        # It ended before its last file. Of one copy the bytes have changed since, and one has lost its end.
        facts = pathlib.Path(self.dir, "backup.json")
        written = json.loads(facts.read_text(encoding="utf-8"))
        facts.unlink()
        copies = {path.name: path.read_bytes() for path in self.blobs(self.dir)}
        whole, changed, cut = self.blobs(self.dir)[:3]
        for path, bytes_ in ((changed, b"x" + changed.read_bytes()[1:]), (cut, cut.read_bytes()[:-1])):
            path.chmod(0o600)
            path.write_bytes(bytes_)
        kept = whole.stat().st_ino
        self.backup()
        self.assertTrue({path.name: path.read_bytes() for path in self.blobs(self.dir)} == copies)
        self.assertEqual(whole.stat().st_ino, kept)
        again = json.loads(facts.read_text(encoding="utf-8"))
        self.assertEqual((again["blobs"], again["blob_bytes"]), (len(copies), sum(map(len, copies.values()))))
        self.assertEqual(again["blob_bytes"], written["blob_bytes"])
        self.restore()
        with Server(BINARY, workers=1, data=self.new) as server:
            self.check_ledger(server, ledger)


@unittest.skipUnless(POSTGRESQL, "of PostgreSQL")
class Dump(Case):
    def test_as_documented(self):
        """The commands of docs/backup.md, while reports come in."""
        dump = os.path.join(self.top, "framezero.dump")
        with Server(BINARY, workers=1, data=self.data) as server:
            ledger = self.fill(server, 40)
            subprocess.run(["pg_dump", "--format=custom", f"--file={dump}", server.database], check=True, timeout=120)
            shutil.copytree(os.path.join(self.data, "blobs"), os.path.join(self.new, "blobs"))
            shutil.copy(os.path.join(self.data, "credentials.json"), self.new)
            self.fill(server, 5)
        database = new_database()
        subprocess.run(["pg_restore", "--no-owner", "--exit-on-error", f"--dbname={database}", dump], check=True, timeout=120)
        with Server(BINARY, workers=1, data=self.new, database=database) as server:
            self.check_ledger(server, ledger)
            crash = (pathlib.Path(SAMPLE) / "crash.json").read_bytes()
            status, answer = server.request("POST", "/api/v1/reports", body=crash, token="ingest")
            self.assertEqual(status, 202, answer)
            self.assertEqual(server.wait_report(answer["id"])["status"], "symbolicated")


if __name__ == "__main__":
    main()
