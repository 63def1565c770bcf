#!/usr/bin/env python3
"""Unreferenced blobs are deleted: rejected uploads, deleted symbol files, remains of a killed process; and chunks do not
multiply what was sent.
"""

import gzip
import hashlib
import json
import os
import threading
import time
import unittest

from case import BINARY, main, until
from framezero import Server
from symbol_files import sample

MIB = 1 << 20
CHUNK = 8 * MIB
UUID = "4c4c442e55553144a1387743844373d8"  # of the sample's dSYM


class Blobs(unittest.TestCase):
    def setUp(self):
        self.server = Server(BINARY, workers=2, args=("--limit", "sweep_s=1", "--limit", "orphan_s=30"))
        self.server.start()
        self.addCleanup(self.server.stop)
        self.blobs = os.path.join(self.server.data, "blobs")

    def files(self):
        """{name: bytes on the disk} of all files in the folder of blobs."""
        found = {}
        for folder, _, names in os.walk(self.blobs):
            for name in names:
                try:
                    found[name] = os.stat(os.path.join(folder, name)).st_blocks * 512
                except FileNotFoundError:
                    pass
        return found

    def used(self):
        return sum(self.files().values())

    def call(self, method, path, body=None, token=None, headers=None):
        token = token or self.server.admin_token
        headers = {"Authorization": f"Bearer {token}", **(headers or {})}
        return self.server.request(method, path, body=body, token=None, headers=headers, timeout=120)

    def test_rejected_uploads(self):
        for i in range(3):  # small when sent, large when stored
            body = gzip.compress(os.urandom(MIB // 2) + bytes([65 + i]) * (24 * MIB))
            status, answer = self.call(
                "POST", "/api/v1/symbols", body, headers={"Content-Encoding": "gzip"}
            )
            self.assertEqual(status, 415, answer)
        until(lambda: not self.files(), "the rejected uploads are deleted")

    def test_deleted_symbols(self):
        for _ in range(2):  # after a deletion it can be sent again
            status, answer = self.call("POST", "/api/v1/symbols?name=Demo.dSYM.zip", sample("Demo.dSYM.zip"))
            self.assertEqual(status, 201, answer)
            archive = hashlib.sha256(sample("Demo.dSYM.zip")).hexdigest()
            until(lambda: archive not in self.files(), "the archive is deleted")
            until(lambda: len(self.files()) == 2, "the slice and its index")
            status, report = self.call("POST", "/api/v1/symbolicate", sample("report.json"))
            self.assertEqual((status, report["status"]), (200, "symbolicated"))
            uuid = answer["files"][0]["uuid"]
            self.assertEqual(self.call("DELETE", f"/api/v1/symbols/{uuid}")[0], 204)
            until(lambda: not self.files(), "the deleted symbol file's bytes are gone")

    def test_leftovers(self):
        self.assertEqual(self.call("POST", "/api/v1/symbols", sample("Demo.dSYM.zip"))[0], 201)
        until(lambda: len(self.files()) == 2, "only the slice and its index are left")
        named = set(self.files())
        orphans = {hashlib.sha256(bytes([i])).hexdigest() for i in range(5)}
        young = hashlib.sha256(b"young").hexdigest()
        for name in orphans | {young}:
            folder = os.path.join(self.blobs, name[:2], name[2:4])
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "wb") as f:
                f.write(b"x" * 5000)
            if name != young:
                os.utime(os.path.join(folder, name), (time.time() - 3600,) * 2)
        for name in named:  # referenced blobs stay, however old
            os.utime(os.path.join(self.blobs, name[:2], name[2:4], name), (time.time() - 86400,) * 2)
        temporary = os.path.join(self.blobs, "tmp", "AbCdEf")
        with open(temporary, "wb") as f:
            f.write(b"x")
        os.utime(temporary, (time.time() - 3600,) * 2)
        until(lambda: not orphans & set(self.files()), "unreferenced blobs are deleted")
        until(lambda: not os.path.exists(temporary), "old temporary files are deleted")
        self.assertLessEqual(named, set(self.files()))
        self.assertIn(young, self.files())

    def test_deleted_while_sent_again(self):
        """Several clients send and delete the same file at once: what the list shows exists."""
        end = time.monotonic() + 5
        failures = []

        def send():
            while time.monotonic() < end:
                status, answer = self.call("POST", "/api/v1/symbols?name=Demo.dSYM.zip", sample("Demo.dSYM.zip"))
                if status not in (201, 202):
                    failures.append((status, answer))

        def delete():
            while time.monotonic() < end:
                status, answer = self.call("DELETE", f"/api/v1/symbols/{UUID}")
                if status not in (204, 404):
                    failures.append((status, answer))

        threads = [threading.Thread(target=f) for f in (send, send, delete)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.call("POST", "/api/v1/symbols", sample("Demo.dSYM.zip"))[0], 201)
        until(lambda: len(self.files()) == 2, "nothing else is left")
        status, report = self.call("POST", "/api/v1/symbolicate", sample("report.json"))
        self.assertEqual((status, report["status"]), (200, "symbolicated"))

    # ---- chunks

    def send_chunk(self, chunk):
        sha1 = hashlib.sha1(chunk).hexdigest()
        body = (
            b'--B\r\nContent-Disposition: form-data; name="file_gzip"; filename="' + sha1.encode() + b'"\r\n\r\n'
            + gzip.compress(chunk) + b"\r\n--B--\r\n"
        )
        headers = {"Content-Type": "multipart/form-data; boundary=B"}
        status, answer = self.call("POST", "/api/0/organizations/o/chunk-upload/", body, headers=headers)
        self.assertEqual(status, 200, answer)
        return sha1, len(body)

    def assemble(self, files):
        path = "/api/0/projects/o/default/files/difs/assemble/"
        status, answer = self.call(
            "POST", path, json.dumps(files).encode(), headers={"Content-Type": "application/json"}
        )
        self.assertEqual(status, 200, answer)
        return answer

    def test_multiplied_chunks(self):
        zeros = bytes(CHUNK)
        sha1, n_sent = self.send_chunk(zeros)
        self.assertLess(n_sent, 32 * 1024)
        files = {}
        for n in range(30, 35):
            hashed = hashlib.sha1()
            for _ in range(n):
                hashed.update(zeros)
            files[hashed.hexdigest()] = {"name": "x", "chunks": [sha1] * n}
        peak, stop = [0], threading.Event()

        def watch():
            while not stop.wait(0.02):
                peak[0] = max(peak[0], self.used())

        watcher = threading.Thread(target=watch)
        watcher.start()
        answer = self.assemble(files)
        stop.set()
        watcher.join()
        for state in answer.values():
            self.assertEqual(state["state"], "error")
            self.assertIn("repeats one chunk", state["detail"])
        self.assertLess(peak[0], 32 * MIB)

    def test_chunk_has_a_budget(self):
        """The bytes that one chunk may contribute to files are limited until it is sent again."""
        letters = b"A" * CHUNK
        sha1, _ = self.send_chunk(letters)

        def one(n):
            hashed = hashlib.sha1()
            for _ in range(n):
                hashed.update(letters)
            return hashed.hexdigest(), {hashed.hexdigest(): {"name": "x", "chunks": [sha1] * n}}

        def state(n):
            name, files = one(n)
            return self.assemble(files)[name]

        self.assertIn(state(10)["state"], ("assembling", "error"))  # a worker reads it and finds no symbols
        got = state(9)
        self.assertEqual((got["state"], set(got["missingChunks"])), ("not_found", {sha1}))
        self.send_chunk(letters)
        self.assertIn(state(9)["state"], ("assembling", "error"))
        until(lambda: self.used() < 2 * CHUNK, "the rejected files are deleted")

    def test_repeated_chunks_work(self):
        """A file may consist of the same chunk several times."""
        archive = sample("Demo.dSYM.zip")
        step = 64 * 1024
        chunks = [archive[i:i + step] for i in range(0, len(archive), step)]
        names = [self.send_chunk(c)[0] for c in chunks]
        sha1 = hashlib.sha1(archive).hexdigest()
        state = until(
            lambda: next((s for s in [self.assemble({sha1: {"name": "Demo.zip", "chunks": names}})[sha1]]
                          if s["state"] != "assembling"), None), "the archive is stored")
        self.assertEqual(state["state"], "ok", state)


if __name__ == "__main__":
    main()
