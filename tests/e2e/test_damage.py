#!/usr/bin/env python3
"""Damaged files: found by their checksums, named in the report, the list and the log, and repaired by themselves or by an
upload; a damaged page of the database leaves the rest.
"""

import contextlib
import hashlib
import json
import os
import signal
import sqlite3
import time
import unittest

from case import BINARY, main, until
from framezero import Server, send
from symbol_files import sample

UUID = "4c4c442e55553144a1387743844373d8"  # of the sample's dSYM


class Damage(unittest.TestCase):
    limits = ("--limit", "verify_s=3600")

    def setUp(self):
        self.server = Server(BINARY, workers=1, args=self.limits)
        self.server.start()
        self.addCleanup(self.server.stop)
        self.blobs = os.path.join(self.server.data, "blobs")
        self.upload()
        archive = hashlib.sha256(sample("Demo.dSYM.zip")).hexdigest()
        until(lambda: archive not in self.files() and len(self.files()) == 2, "the slice and its index are stored")

    def files(self):
        """{name: path} of all blobs."""
        return {name: os.path.join(folder, name) for folder, _, names in os.walk(self.blobs) for name in names}

    def file_of(self, kind):
        """The path of the "slice" or of the "index"."""
        for path in self.files().values():
            with open(path, "rb") as f:
                if (f.read(4) == b"\xcf\xfa\xed\xfe") == (kind == "slice"):
                    return path

    def listed(self):
        return self.expect(200, "GET", f"/api/v1/symbols/{UUID}")["symbols"]

    def expect(self, status, method, path, body=None):
        got, answer = self.server.request(method, path, body=body)
        self.assertEqual(got, status, answer)
        return answer

    def upload(self):
        return self.expect(201, "POST", "/api/v1/symbols?name=Demo.dSYM.zip", sample("Demo.dSYM.zip"))

    def damage(self, path, offset, length=1):
        """Flip a bit in each of these bytes, in a file of the same size and age: a disk changes bytes in place."""
        stat = os.stat(path)
        os.chmod(path, 0o600)
        with open(path, "r+b") as f:
            f.seek(offset)
            bytes_ = f.read(length)
            f.seek(offset)
            f.write(bytes(b ^ 4 for b in bytes_))
        os.utime(path, (stat.st_mtime, stat.st_mtime))
        os.chmod(path, 0o400)
        for pid in self.server.worker_children:  # it has read the blocks before
            send(pid, signal.SIGKILL)

    def is_whole(self, path):
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest() == os.path.basename(path)

    def report(self):
        """Another one each time."""
        body = sample("report.json").replace(b"}", b', "x-%d": 1}' % time.monotonic_ns(), 1)
        return self.expect(202, "POST", "/api/v1/reports", body)["id"]

    def test_index(self):
        """At the places of a header, pages, records and strings."""
        index = self.file_of("index")
        size = os.path.getsize(index)
        for offset, length in ((0, 1), (size // 3, size // 3), (size - 3, 1)):
            with self.subTest(offset=offset):
                self.damage(index, offset, length)
                self.assertFalse(self.is_whole(index))
                found = self.server.wait_report(self.report())
                until(lambda: self.is_whole(index), "the index is built again")
                # Finished before the repair or after it; and after it, without anyone asking.
                fixed = self.server.wait_report(found["id"], until=lambda r: r["status"] == "symbolicated")
                self.assertEqual([i["symbols"] for i in fixed["images"] if i["uuid"].replace("-", "") == UUID], ["found"])
                self.assertIn("stored file is damaged", self.server.log())
                self.assertIn(os.path.basename(index), self.server.log())

    def test_shrinks_under_a_child(self):
        """Files that a child has mapped are cut off: it dies of it (SIGBUS), and the report is not to blame."""
        index = self.file_of("index")
        self.server.wait_report(self.report(), until=lambda r: r["status"] == "symbolicated")
        child = self.server.worker_children
        for _ in range(2):
            os.chmod(index, 0o600)
            os.truncate(index, 0)
            os.chmod(index, 0o400)
            self.server.wait_report(self.report(), until=lambda r: r["status"] == "symbolicated")
            self.assertTrue(self.is_whole(index))
        self.assertNotEqual(self.server.worker_children, child)  # it had the file mapped
        log = self.server.log()
        self.assertIn("a stored file was damaged while it was read", log)
        self.assertIn("stored file is damaged", log)
        self.assertNotIn("code=malformed", log)
        metrics = self.server.request("GET", "/metrics", token=None)[1].decode()
        self.assertRegex(metrics, r"(?m)^framezero_child_deaths_total 0$")

    def test_index_is_named(self):
        """While it cannot be repaired, the report says so."""
        index, file = self.file_of("index"), self.file_of("slice")
        self.damage(index, 100, os.path.getsize(index) - 100)
        self.damage(file, 64)
        report_id = self.report()
        until(lambda: self.listed()[0]["state"] == "failed", "the symbol file is listed as failed")
        report = self.server.wait_report(report_id)
        image = next(i for i in report["images"] if i["uuid"].replace("-", "") == UUID)
        self.assertEqual(image["symbols"], "failed")
        self.assertIn("damaged", " ".join(report["notes"]))
        self.assertEqual([p["kind"] for p in self.listed()[0]["problems"]], ["corrupt"])
        missing = self.expect(200, "GET", "/api/v1/symbols/missing")
        self.assertIn(UUID, str(missing).replace("-", ""))
        self.upload()  # the rest is repaired by it
        self.server.wait_report(report_id, until=lambda r: r["status"] == "symbolicated")
        self.assertTrue(self.is_whole(index) and self.is_whole(file))
        self.assertEqual((self.listed()[0]["state"], self.listed()[0]["problems"]), ("ready", []))

    def test_index_is_gone(self):
        index = self.file_of("index")
        os.unlink(index)
        report_id = self.report()
        self.server.wait_report(report_id, until=lambda r: r["status"] == "symbolicated")
        self.assertTrue(self.is_whole(index))

    def test_same_size(self):
        """An upload does not take a blob of the right size for intact."""
        for kind in ("index", "slice"):
            path = self.file_of(kind)
            self.damage(path, os.path.getsize(path) // 2)
            self.upload()
            self.assertTrue(self.is_whole(path), kind)


class Reading(Damage):
    """All files are read in turn."""
    limits = ("--limit", "verify_s=1", "--limit", "orphan_s=1")
    test_shrinks_under_a_child = test_index = test_index_is_named = test_index_is_gone = test_same_size = None

    def test_found_without_use(self):
        index, file = self.file_of("index"), self.file_of("slice")
        self.damage(index, 100)
        until(lambda: self.is_whole(index), "the index is built again")
        self.damage(file, 64)
        until(lambda: self.listed()[0]["state"] == "failed", "the symbol file is listed as failed")
        # Its index is whole, so it still answers.
        self.server.wait_report(self.report(), until=lambda r: r["status"] == "symbolicated")
        self.upload()
        self.assertEqual(self.listed()[0]["state"], "ready")
        self.assertTrue(self.is_whole(file))


@unittest.skipIf(os.environ.get("FRAMEZERO_TEST_POSTGRESQL"), "the pages of SQLite")
class Database(unittest.TestCase):
    def test_page(self):
        """A page of the body of one report."""
        server = Server(BINARY, workers=1)
        server.start()
        self.addCleanup(server.stop)
        ids = []
        for n in range(6):
            text = json.dumps({"framezero": 1, "addresses": ["0x10"], "metadata": {"x": os.urandom(20000).hex()}})
            status, answer = server.request("POST", "/api/v1/reports", body=text.encode())
            self.assertEqual(status, 202, answer)
            ids.append(answer["id"])
        for report_id in ids:
            server.wait_report(report_id)
        server.terminate()
        path = os.path.join(server.data, "framezero.db")
        with contextlib.closing(sqlite3.connect(path)) as database:
            try:
                page, size = database.execute("SELECT pageno, pgsize FROM dbstat WHERE name = 'report_bodies' AND "
                                              "pagetype = 'overflow' LIMIT 1").fetchone()
            except sqlite3.OperationalError as error:
                self.skipTest(f"this Python's SQLite has no dbstat: {error}")
        with open(path, "r+b") as f:
            f.seek((page - 1) * size)
            f.write(b"\xff" * 100)
        server.start()
        found = [server.request("GET", f"/api/v1/reports/{report_id}?format=raw")[0] for report_id in ids]
        self.assertEqual(sorted(found), [200] * 5 + [500])
        self.assertEqual({server.request("GET", f"/api/v1/reports/{report_id}")[0] for report_id in ids}, {200})
        for path in ("/api/v1/reports", "/api/v1/issues", "/api/v1/symbols", "/healthz", "/readyz"):
            self.assertEqual(server.request("GET", path)[0], 200, path)
        status, answer = server.request("POST", "/api/v1/reports?wait=10", body=sample("report.json"))
        self.assertEqual(status, 200, answer)
        self.assertIn("check the disk and restore a backup", server.log())


if __name__ == "__main__":
    main()
