#!/usr/bin/env python3
"""A disk that fills up: refusals before the end, nothing acknowledged that is not there, reads and deletes on a full disk, a
start on one, and everything as before once there is room. On a file system of its own, which only root may mount.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from case import BINARY, main, report, until
from framezero import Server
from symbol_files import sample

MIB = 1 << 20
UUID = "4c4c442e55553144a1387743844373d8"  # of the sample's dSYM
MARKS = ("--limit", "disk_reserve=8M", "--limit", "disk_free_reports=4M", "--limit", "disk_free_symbols=12M")
NO_MARKS = ("--limit", "disk_reserve=1", "--limit", "disk_free_reports=1", "--limit", "disk_free_symbols=1")


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="framezero-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)

    def mount(self, name, size):
        place = os.path.join(self.folder, name)
        os.mkdir(place)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "framezero", place],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"no file system can be mounted here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        return place

    def serve(self, data, args):
        self.server = Server(BINARY, data=data, workers=1, args=args)
        # The log is elsewhere: it must be readable after all.
        self.server.log_path = os.path.join(self.folder, "serve.log")
        self.server.start()
        self.addCleanup(self.server.stop)
        self.acked = {}

    def fill(self, place, left=0):
        """All but `left` bytes."""
        name = os.path.join(place, "filler")
        with open(name, "ab", buffering=0) as f:
            free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
            step = bytes(64 * 1024)
            while free > left:
                try:
                    free -= f.write(step[:min(len(step), free - left)])
                except OSError:
                    break
        return name

    def post(self, n):
        body = report(n)
        status, answer = self.server.request("POST", "/api/v1/reports", body=body)
        if status in (200, 202):
            self.acked[answer["id"]] = body
        return status

    def upload(self):
        return self.server.request("POST", "/api/v1/symbols?name=Demo.dSYM.zip", body=sample("Demo.dSYM.zip"))[0]

    def get(self, path):
        return self.server.request("GET", path)

    def answers(self, text):
        try:
            return text in str(self.get("/readyz"))
        except OSError:  # it is still starting
            return False

    def start_full(self, place):
        """A start with nothing left: it is not ready, but serves. What was deleted before may give its room back only
        now, so the disk is filled until the server says that it is full (not more: deletes need room)."""
        try:
            self.server.start(deadline_s=3)
        except RuntimeError as e:
            self.assertIn("was not ready", str(e))
        until(lambda: self.fill(place, 3 * MIB) and self.answers("reports and symbol files are refused"), "it serves")

    def free(self, filler):
        os.unlink(filler)
        freed = time.monotonic()
        n = [100000]

        def taken():
            n[0] += 1
            return self.post(n[0]) == 202 and self.upload() in (201, 202)

        until(taken, "reports and symbol files are taken again", deadline_s=20)
        self.assertLess(time.monotonic() - freed, 5)
        until(lambda: self.get("/readyz")[0] == 200, "it is ready")

    def check_acked(self):
        for report_id, body in self.acked.items():
            self.server.wait_report(report_id)
            status, raw = self.get(f"/api/v1/reports/{report_id}?format=raw")
            raw = json.loads(raw) if isinstance(raw, bytes) else raw
            self.assertEqual((status, raw), (200, json.loads(body)))

    def test_marks(self):
        place = self.mount("data", "64M")
        self.serve(place, MARKS)
        self.assertEqual(self.upload(), 201)
        for n in range(20):
            self.assertEqual(self.post(n), 202)
        until(lambda: os.path.getsize(os.path.join(place, "reserve")) == 8 * MIB, "the reserve is there")
        filler = self.fill(place, 8 * MIB)
        until(lambda: self.get("/readyz")[0] == 503, "it sees the mark")
        self.assertEqual(self.upload(), 503)
        self.assertEqual(self.server.last_headers["Retry-After"], "30")
        self.assertEqual(self.post(1000), 202)
        status, ready = self.get("/readyz")
        self.assertEqual((status, "symbol files are refused" in str(ready)), (503, True), ready)
        self.fill(place, 3 * MIB)
        until(lambda: "reports and symbol files" in str(self.get("/readyz")), "it sees the other mark")
        self.assertEqual(self.post(1001), 503)
        self.assertEqual(self.get("/api/v1/reports")[0], 200)
        self.fill(place)
        until(lambda: os.path.getsize(os.path.join(place, "reserve")) == 2 * MIB, "most of the reserve is given up")
        self.assertEqual(self.post(1002), 503)
        # Deletes work, and so does a start, several times, with nothing left at all.
        gone = list(self.acked)[:10]
        for report_id in gone[:5]:
            self.assertEqual(self.server.request("DELETE", f"/api/v1/reports/{report_id}")[0], 204)
        self.assertEqual(self.server.request("DELETE", f"/api/v1/symbols/{UUID}")[0], 204)
        for report_id in gone[:5]:
            del self.acked[report_id]
        self.fill(place)
        self.server.kill_all()
        self.start_full(place)
        self.assertEqual(self.get("/api/v1/reports")[0], 200)
        self.assertEqual(self.get(f"/api/v1/reports/{gone[5]}")[0], 200)
        self.assertEqual(self.server.request("DELETE", f"/api/v1/reports/{gone[5]}")[0], 204)
        del self.acked[gone[5]]
        self.assertEqual(self.post(1003), 503)
        self.free(filler)
        until(lambda: os.path.getsize(os.path.join(place, "reserve")) == 8 * MIB, "the reserve is made again")
        self.check_acked()

    def test_no_reserve(self):
        """A start on a full disk without the file, as after an upgrade, or when somebody has deleted it; the log is on that
        disk, too."""
        place = self.mount("data", "64M")
        self.serve(place, MARKS)
        self.server.log_path = os.path.join(place, "serve.log")
        self.assertEqual(self.upload(), 201)
        for n in range(20):
            self.assertEqual(self.post(n), 202)
        self.server.kill_all()  # so SQLite's files are there
        os.unlink(os.path.join(place, "reserve"))
        filler = self.fill(place)
        self.start_full(place)
        self.assertEqual(self.get("/api/v1/reports")[0], 200)
        self.assertEqual(self.get(f"/api/v1/reports/{next(iter(self.acked))}")[0], 200)
        self.assertEqual(self.post(1000), 503)
        # Stopped in order, they are not, and there is no room for them.
        self.server.terminate()
        self.fill(place)
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", "--data", place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the disk is full and there is no reserve", done.stderr)
        self.assertRegex(done.stderr, r"framezero serve: the disk is full: a start needs 4194304 bytes and \d+ are free beside .*: database")
        os.unlink(filler)
        self.server.start()
        until(lambda: os.path.getsize(os.path.join(place, "reserve")) == 8 * MIB, "the reserve is made again")
        self.check_acked()

    def test_log(self):
        """Lines for which the log's disk has no room are counted; nothing else depends on them."""
        place = self.mount("log", "256K")
        self.serve(os.path.join(self.folder, "data"), MARKS)
        self.server.stop()
        self.server.log_path = os.path.join(place, "serve.log")
        self.server.start()
        filler = self.fill(place)
        for n in range(100):  # more lines than the log's last page holds
            self.assertEqual(self.post(n), 202)
        os.unlink(filler)
        self.assertEqual(self.get("/api/v1/reports")[0], 200)
        until(lambda: re.search(r'msg="log lines dropped" n=[1-9]', self.server.log()), "the count of lost lines")
        self.assertTrue(all(line.startswith("ts=") for line in self.server.log().splitlines()), self.server.log_tail())
        self.check_acked()

    def test_start_after_an_orderly_stop(self):
        """SQLite's files are gone then; a start gives up a part of what is left of the reserve to make them."""
        place = self.mount("data", "96M")
        self.serve(place, ("--limit", "disk_reserve=32M", "--limit", "disk_free_reports=4M", "--limit", "disk_free_symbols=12M"))
        for n in range(20):
            self.assertEqual(self.post(n), 202)
        reserve = os.path.join(place, "reserve")
        until(lambda: os.path.getsize(reserve) == 32 * MIB, "the reserve is there")
        filler = self.fill(place)
        until(lambda: os.path.getsize(reserve) == 8 * MIB, "most of the reserve is given up")
        self.assertEqual(self.server.terminate(), 0)
        self.assertFalse(os.path.exists(os.path.join(place, "framezero.db-wal")))
        self.fill(place)
        self.start_full(place)
        self.assertEqual(os.path.getsize(reserve), 4 * MIB)
        self.assertEqual(self.get("/api/v1/reports")[0], 200)
        gone, _ = self.acked.popitem()
        self.assertEqual(self.server.request("DELETE", f"/api/v1/reports/{gone}")[0], 204)
        self.assertEqual(self.post(1000), 503)
        self.free(filler)
        self.check_acked()

    def hammer(self, place):
        """Without marks, into the wall: what is acknowledged is there."""
        filler = self.fill(place, MIB // 4)
        statuses = {self.post(n) for n in range(400)} | {self.upload()}
        self.assertTrue(statuses & {500, 503}, statuses)
        self.assertEqual(self.get("/api/v1/reports")[0], 200)
        self.free(filler)
        self.server.kill_all()
        self.server.start()
        self.check_acked()

    def test_database(self):
        place = self.mount("data", "32M")
        self.serve(place, NO_MARKS)
        self.hammer(place)

    def test_blobs(self):
        """Blobs, and their temporary files, on a disk of their own."""
        place = self.mount("blobs", "8M")
        data = os.path.join(self.folder, "data")
        self.serve(data, NO_MARKS + ("--blobs", f"file:{place}"))
        self.assertEqual(self.post(1), 202)
        filler = self.fill(place)
        self.assertEqual(self.upload(), 503)
        self.assertEqual(self.post(2), 202)
        self.free(filler)
        self.check_acked()


if __name__ == "__main__":
    main()
