#!/usr/bin/env python3
"""The first start of serve, interrupted at any moment: the next start creates valid tokens, and overwrites nothing."""

import contextlib
import glob
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import time
import unittest

from case import BINARY, main
from framezero import Server, free_port


class TestFirstStart(unittest.TestCase):
    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="framezero-first-")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        self.path = os.path.join(self.data, "credentials.json")

    def command(self, *args):
        return [BINARY, "serve", "--data", self.data, "--workers", "0", "--listen", f"127.0.0.1:{free_port()}", *args]

    def check_start(self):
        """The folder's server has a credentials.json whose tokens work."""
        server = Server(BINARY, workers=0, data=self.data)
        os.makedirs(self.data, mode=0o700, exist_ok=True)  # for the log
        server.start()
        try:
            self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
            self.assertEqual(server.credentials["url"], server.url)
            self.assertIn(server.ingest_key, server.credentials["dsn"])
            self.assertEqual(server.request("GET", "/api/v1/reports")[0], 200)
            report = b'{"framezero":1,"addresses":["0x1"]}'
            self.assertEqual(server.request("POST", "/api/v1/reports", body=report, token="ingest")[0], 202)
            self.assertEqual(glob.glob(self.path + ".unfinished"), [])
            # The log shows the same tokens as the file.
            if "This is the first start" in server.log():
                self.assertIn(server.ingest_key, server.log())
                self.assertIn(server.admin_token, server.log())
        finally:
            code = server.terminate()
        self.assertEqual(code, 0)
        return server.credentials

    def test_killed_at_any_moment(self):
        n_cut = 0
        for n in range(50):
            self.data = os.path.join(tempfile.mkdtemp(prefix="framezero-first-"), "data")
            self.path = os.path.join(self.data, "credentials.json")
            self.addCleanup(shutil.rmtree, os.path.dirname(self.data), ignore_errors=True)
            args = ["--no-supervise"] if n % 2 else []
            process = subprocess.Popen(self.command(*args), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.003 * (n + 1))
            process.kill()
            process.wait()
            n_cut += os.path.exists(self.path + ".unfinished")
            with self.subTest(ms=3 * (n + 1)):
                self.check_start()
        print(f"{n_cut} of 50 first starts were cut between the tokens and credentials.json")

    def unfinished(self, with_tokens):
        """As a first start leaves it that ends when the tokens are written down, or when they count too."""
        with socket_in_use() as port:
            done = subprocess.run(self.command("--listen", f"127.0.0.1:{port}"), capture_output=True, text=True,
                                  timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse(os.path.exists(self.path))
        with open(self.path + ".unfinished", encoding="utf-8") as f:
            tokens = json.load(f)
        self.assertEqual(stat.S_IMODE(os.stat(self.path + ".unfinished").st_mode), 0o600)
        if not with_tokens:
            for name in glob.glob(os.path.join(self.data, "framezero.db*")):
                os.unlink(name)
        return tokens

    def test_same_tokens_are_used(self):
        for with_tokens in (False, True):
            with self.subTest(with_tokens):
                shutil.rmtree(self.data, ignore_errors=True)
                tokens = self.unfinished(with_tokens)
                credentials = self.check_start()
                self.assertEqual({name: credentials[name] for name in tokens}, tokens)

    def test_file_that_cannot_be_written(self):
        """As on a full disk: no token counts that is written nowhere."""
        os.mkdir(self.path + ".unfinished")
        for _ in range(2):
            done = subprocess.run(self.command(), capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("credentials.json.unfinished", done.stderr)
        with contextlib.closing(sqlite3.connect(os.path.join(self.data, "framezero.db"))) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM tokens").fetchone(), (0,))
        os.rmdir(self.path + ".unfinished")
        self.check_start()

    def test_address_in_use(self):
        """The tokens are in the database at that moment."""
        self.unfinished(True)
        self.check_start()

    def test_credentials_are_not_overwritten(self):
        before = self.check_start()
        for name in ("emptied", "missing"):
            with self.subTest(name):
                for path in glob.glob(os.path.join(self.data, "framezero.db*")):
                    os.unlink(path)
                if name == "emptied":
                    with open(os.path.join(self.data, "framezero.db"), "wb"):
                        pass
                done = subprocess.run(self.command(), capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("credentials.json is of an earlier start", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                with open(self.path, encoding="utf-8") as f:
                    self.assertEqual(json.load(f), before)
                self.assertEqual(os.path.exists(os.path.join(self.data, "framezero.db")), name == "emptied")
        # Another database without tokens is an error as well.
        other = "sqlite:" + os.path.join(self.data, "other.db")
        subprocess.run([BINARY, "migrate", "--database", other], check=True, capture_output=True, timeout=60)
        done = subprocess.run(self.command("--database", other), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("has no tokens", done.stderr)
        # After the file is moved away, as the message says, a new start works.
        os.rename(self.path, self.path + ".old")
        self.assertNotEqual(self.check_start()["admin_token"], before["admin_token"])


class socket_in_use:
    def __enter__(self):
        import socket
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        return self.socket.getsockname()[1]

    def __exit__(self, *_):
        self.socket.close()


if __name__ == "__main__":
    main()
