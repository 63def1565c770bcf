#!/usr/bin/env python3
"""Symbol files in an object store: one machine, two that share nothing but PostgreSQL and the store, and a store that goes away.

--outage SECONDS is how long it is away; --store small, s3rver or radosgw (s3_stores.py). Without PostgreSQL only one machine.
"""

import argparse
import datetime
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

_parser = argparse.ArgumentParser(add_help=False)
_parser.add_argument("--outage", type=float, default=7.5)
_parser.add_argument("--store", default="small")
_chosen, sys.argv[1:] = _parser.parse_known_args()

import s3_server  # noqa: E402
from case import BINARY, CLIENTS, FolderCase, main, report, until  # noqa: E402
from framezero import Server, new_database  # noqa: E402
from receivers import certificate, tls_context  # noqa: E402
from s3_stores import STORES  # noqa: E402
from symbol_files import sample  # noqa: E402

UUID = "4c4c442e55553144a1387743844373d8"  # of the sample's dSYM
RECOVERY_S = 5


class S3Case(FolderCase):
    def setUp(self):
        super().setUp()
        self.store = STORES[_chosen.store](self.folder, CLIENTS)
        self.addCleanup(self.stop_store)
        self.env = {**os.environ, **self.store.environment()}
        self.blobs = ("--blobs", self.store.blobs("one/two"))

    def stop_store(self):
        try:
            self.store.end()
        except OSError:
            pass  # it is down already

    def serve(self, *args, workers=1, **options):
        server = Server(BINARY, args=(*self.blobs, *args), workers=workers, env=self.env, **options)
        self.addCleanup(server.stop)
        server.start()
        return server

    def upload(self, server):
        return server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))

    def report(self, server, wait=""):
        status, answer = server.request("POST", "/api/v1/reports" + wait, body=sample("report.json"))
        self.assertIn(status, (200, 202), answer)
        return answer

    def expect_names(self, report):
        self.assertEqual(report["status"], "symbolicated", report)
        self.assertIn("cart.cpp", str(report))


class OneMachine(S3Case):
    def setUp(self):
        super().setUp()
        if _chosen.store != "small":
            self.skipTest("looks into the small store")

    def objects(self):
        return {key: o for key, o in self.store.server.store.objects.items() if key.startswith("one/two/")}

    def copy(self, where, source, to, code=0):
        command = [BINARY, "copy", *where, "--blobs-from", source, "--blobs-to", to]
        done = subprocess.run(command, env=self.env, timeout=60, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def test_life(self):
        server = self.serve("--limit", "sweep_s=1", "--limit", "orphan_s=60", database="sqlite:" + self.path("db"))
        status, answer = self.upload(server)
        self.assertEqual(status, 201, answer)
        self.expect_names(self.report(server, "?wait=30"))
        until(lambda: len(self.objects()) == 2, "the slice and its index remain")
        self.assertFalse(os.path.exists(os.path.join(server.data, "blobs")))

        # What a process that was killed has left is found by listing.
        key = "one/two/ab/cd/abcd" + "0" * 60
        self.store.server.store.objects[key] = {**next(iter(self.objects().values()))}
        self.store.server.store.objects[key]["at"] -= datetime.timedelta(hours=2)
        self.store.server.store.uploads["lost"] = {"key": key, "parts": {}, "at": self.store.server.store.objects[key]["at"]}
        until(lambda: len(self.objects()) == 2 and not self.store.server.store.uploads, "the remains are deleted")

        # A backup has the files, and can be restored into a folder.
        where = ["--data", server.data, "--database", server.database]
        subprocess.run([BINARY, "backup", self.path("backup"), *where, *self.blobs], check=True, env=self.env, timeout=60, stdout=subprocess.DEVNULL)
        new = ["--data", self.path("new"), "--database", "sqlite:" + self.path("new", "framezero.db")]
        subprocess.run([BINARY, "restore", self.path("backup"), *new], check=True, timeout=60, stdout=subprocess.DEVNULL)
        names = {n for _, _, files in os.walk(self.path("new", "blobs")) for n in files}
        self.assertEqual(names, {key.rpartition("/")[2] for key in self.objects()})

        # Into a folder and from there to another place in the store; what is missing or damaged is copied again.
        self.copy(where, self.blobs[1], "file:" + self.path("moved"))
        names = {n: os.path.join(folder, n) for folder, _, files in os.walk(self.path("moved")) for n in files}
        self.assertEqual(set(names), {key.rpartition("/")[2] for key in self.objects()})
        for name in names:
            os.chmod(names[name], 0o600)
            with open(names[name], "r+b") as f:
                f.write(b"damage")
            self.copy(where, self.blobs[1], "file:" + self.path("moved"))
        self.copy(where, "file:" + self.path("moved"), self.store.blobs("moved"))
        moved = {key.rpartition("/")[2]: o["etag"] for key, o in self.store.server.store.objects.items() if key.startswith("moved/")}
        self.assertEqual(moved, {key.rpartition("/")[2]: o["etag"] for key, o in self.objects().items()})
        os.unlink(names[next(iter(names))])
        self.assertIn("is left out", self.copy(where, "file:" + self.path("moved"), self.store.blobs("third"), code=1))

        status, answer = server.request("DELETE", f"/api/v1/symbols/{UUID}")
        self.assertEqual(status, 204, answer)
        until(lambda: not self.objects(), "what nothing names is deleted")

    def test_refused(self):
        """A start that cannot work ends with what to do."""
        for change, want in (({"AWS_SECRET_ACCESS_KEY": "x"}, "check AWS_SECRET_ACCESS_KEY"),
                             ({"AWS_ACCESS_KEY_ID": ""}, "no keys for the object store")):
            started = time.monotonic()
            done = subprocess.run([BINARY, "serve", "--data", self.path("data"), "--listen", "127.0.0.1:0", *self.blobs], check=False,
                                  capture_output=True, text=True, timeout=60,
                                  env={**self.env, "HOME": self.folder, "AWS_SHARED_CREDENTIALS_FILE": self.path("none"), **change})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(want, done.stderr)
            self.assertLess(time.monotonic() - started, 20)

    def test_tls(self):
        """An endpoint with a certificate of the company's own: refused, unless the URL names it."""
        cert, key = certificate(self.folder)
        other = certificate(os.path.dirname(self.write("other/x", b"")))[0]
        tls = s3_server.Server(tls=tls_context((cert, key))).start()
        self.addCleanup(tls.kill)
        for ca in ("", other):
            blobs = tls.blobs("one", **({"ca_file": ca} if ca else {}))
            done = subprocess.run([BINARY, "serve", "--data", self.path("data"), "--listen", "127.0.0.1:0", "--limit", "database_wait_s=1",
                                   "--blobs", blobs], check=False, capture_output=True, text=True, timeout=60, env=self.env)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("certificate", done.stderr)
            self.assertEqual((tls.store.log, tls.store.objects), ([], {}), "nothing was sent")
        self.blobs = ("--blobs", tls.blobs("one", ca_file=cert))
        server = self.serve(database="sqlite:" + self.path("db"))
        status, answer = self.upload(server)
        self.assertEqual(status, 201, answer)
        self.expect_names(self.report(server, "?wait=30"))
        self.assertTrue(tls.store.objects)

    def test_waits(self):
        """A store that starts later than the server."""
        self.store.kill()
        data = self.path("data")
        os.makedirs(data)
        server = Server(BINARY, args=self.blobs, env=self.env, data=data, database="sqlite:" + self.path("db"))
        self.addCleanup(server.terminate)
        with self.assertRaises(RuntimeError):
            server.start(deadline_s=3)
        # It asks several times first.
        until(lambda: "waits for the object store" in server.log(), "it says so")
        self.store.start()
        server.wait_ready()
        self.assertIn("the object store is up", server.log())


class TwoMachines(S3Case):
    def setUp(self):
        self.database = new_database()
        if not self.database:
            self.skipTest("needs PostgreSQL")
        super().setUp()
        self.server = self.serve(workers=0, database=self.database)

    def worker(self):
        """Another machine: its folder has nothing of the first."""
        data = tempfile.mkdtemp(dir=self.folder)
        log = os.path.join(data, "log")
        with open(log, "wb") as f:
            process = subprocess.Popen([BINARY, "worker", "--workers", "1", "--data", data, "--database", self.database, *self.blobs],
                                       env=self.env, stdout=f, stderr=f)

        def stop():
            process.terminate()
            process.wait(30)

        self.addCleanup(stop)
        process.stop, process.data = stop, data
        process.log = lambda: subprocess.run(["cat", log], capture_output=True, text=True, check=True).stdout
        return process

    def copies(self, worker):
        """{name: size} of its blob-cache."""
        found = {}
        for folder, _, names in os.walk(os.path.join(worker.data, "blob-cache")):
            found.update({n: os.path.getsize(os.path.join(folder, n)) for n in names if len(n) == 64})
        return found

    def test_index_only(self):
        first = self.worker()
        status, answer = self.upload(self.server)
        self.assertEqual(status, 201, answer)
        made = self.copies(first)  # the upload, the slice and the index
        first.stop()
        # The files of the first machine are gone.
        shutil.rmtree(first.data)
        second = self.worker()
        self.expect_names(self.report(self.server, "?wait=30"))
        copies = self.copies(second)
        self.assertEqual(len(copies), 1, "it got the index alone")
        self.assertLess(set(copies.items()), set(made.items()))
        if _chosen.store == "small":
            got = [line for line in self.store.server.store.log if line.startswith("GET /blobs/one/two/")]
            self.assertEqual(sum(name in line for line in got for name in copies), 1, got)

    def test_store_goes_away(self):
        worker = self.worker()
        status, answer = self.upload(self.server)
        self.assertEqual(status, 201, answer)
        worker.stop()
        worker = self.worker()
        self.server.request("POST", "/api/v1/reports?wait=60", body=report())  # it has started
        began = time.monotonic()
        self.server.request("POST", "/api/v1/reports?wait=60", body=report(1))
        each = time.monotonic() - began  # on a busy machine a report takes seconds at any time
        self.store.kill()
        went = time.monotonic()
        reports = [self.report(self.server)["id"] for _ in range(5)]
        # A body of its own, that no copy is there of.
        status, answer = self.server.request("POST", "/api/v1/symbols", body=sample("Demo.zip"))
        self.assertEqual(status, 503, answer)
        self.assertIn("Retry-After", self.server.last_headers)
        self.assertEqual(self.server.request("GET", "/readyz", token=None)[0], 200)
        until(lambda: "result=retry" in worker.log(), "a job waits for its index")
        until(lambda: time.monotonic() - went > _chosen.outage, "the outage", deadline_s=_chosen.outage + 30)
        states = [self.server.request("GET", f"/api/v1/reports/{id}")[1]["status"] for id in reports]
        self.assertEqual(set(states), {"queued"})
        self.store.start()
        back = time.monotonic()
        for id in reports:
            self.expect_names(self.server.wait_report(id))
        took = time.monotonic() - back
        status, answer = self.server.request("POST", "/api/v1/symbols", body=sample("Demo.zip"))
        self.assertEqual(status, 201, answer)
        print(f"outage_s={time.monotonic() - went:.1f} reports={len(reports)} recovered_after_s={took:.2f}")
        self.assertLess(took, RECOVERY_S + len(reports) * each)


if __name__ == "__main__":
    unittest.installHandler()
    main()
