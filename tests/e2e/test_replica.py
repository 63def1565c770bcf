#!/usr/bin/env python3
"""A read replica: reads go to a standby of PostgreSQL, and to the primary while it is away or late, or for who has just written."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

from case import BINARY, FolderCase, main, report, until
from cluster import Cluster
from framezero import Server, new_database

URL = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")


class Standby:
    """A copy of with_postgresql.sh's cluster beside it, which follows it by its socket."""

    def __init__(self, primary, name):
        self.primary, self.folder = primary, os.path.join(os.path.dirname(primary.data), name)
        self.data = os.path.join(self.folder, "data")

    def run(self, program, *words):
        # Without a pipe that the server would inherit.
        subprocess.run(self.primary.as_owner(os.path.join(self.primary.bin, program), *words), check=True, timeout=60,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def make(self):
        owner = os.stat(self.primary.data)
        os.mkdir(self.folder)
        os.chown(self.folder, owner.st_uid, owner.st_gid)
        self.run("pg_basebackup", "-D", self.data, "-h", os.path.dirname(self.primary.data), "-U", "framezero", "-X", "stream", "-R",
                 "-c", "fast", "--no-sync")

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", os.path.join(self.folder, "log"), "-o",
                 f"-k {self.folder} -c listen_addresses='' -c fsync=off -c max_connections=64 -c shared_buffers=32MB", "start")

    def stop(self):
        try:
            self.run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        except subprocess.CalledProcessError:
            pass  # it is dead already

    def url(self, database):
        return f"postgresql://framezero@{database}?host={self.folder}"

    def sql(self, text, database="/postgres"):
        return subprocess.run(["psql", "-X", "-A", "-t", self.url(database), "-c", text], check=True, timeout=60, capture_output=True,
                              text=True).stdout.strip()


@unittest.skipUnless(URL, "it needs PostgreSQL")
class Replica(FolderCase):
    @classmethod
    def setUpClass(cls):
        cls.standby = Standby(Cluster(URL), "standby")
        cls.addClassCleanup(shutil.rmtree, cls.standby.folder, ignore_errors=True)
        cls.standby.make()
        cls.standby.start()
        cls.addClassCleanup(cls.standby.stop)

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("data"))
        self.database = new_database()
        self.name = urllib.parse.urlsplit(self.database).path
        self.server = self.serve(self.standby.url(self.name))

    def serve(self, replica):
        server = Server(BINARY, workers=1, data=self.path("data"), database=self.database, args=["--database-replica", replica, "--limit", "replica_lag_s=1"])
        server.start()
        self.addCleanup(server.stop)
        return server

    def state(self):
        return self.server.request("GET", "/healthz", token=None)[1]["replica"]["state"]

    def wait_state(self, word):
        until(lambda: self.state() == word, f"the replica is {word}", 20)

    def reads(self, by):
        text = self.server.request("GET", "/metrics", token=None)[1].decode()
        return int(next(line for line in text.splitlines() if line.startswith(f'framezero_replica_reads_total{{by="{by}"}}')).split()[1])

    def list(self, path="/api/v1/reports", **more):
        status, answer = self.server.request("GET", path, **more)
        self.assertEqual(status, 200, answer)
        return answer

    def send(self, n):
        return self.server.request("POST", "/api/v1/reports?wait=10", report(n), token="ingest")[1]["id"]

    def test_reads(self):
        """The standby answers what it has, and nothing else is asked for."""
        found = self.send(1)
        self.wait_state("ok")
        until(lambda: self.list()["reports"], "the standby has the report")
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = '%s' AND query LIKE '%%FROM reports%%'" % self.name[1:]
        until(lambda: self.reads("replica") == 1, "the list is counted")
        before = self.reads("replica"), self.reads("database")
        # Each connection shows its last statement.
        paths = ["/api/v1/issues", "/api/v1/reports", "/api/v1/versions", "/api/v1/sessions", "/api/v1/symbols", "/api/v1/symbols/missing",
                 "/api/v1/values?field=version", "/api/v1/query/complete?text=app:&at=4", "/api/v1/reports?query=is:open%20abc&count=true",
                 "/api/v1/issues/1", "/api/v1/issues/1/reports", "/api/v1/issues/1/variants", "/api/v1/issues/1/similar",
                 "/api/v1/issues/1/activity", f"/api/v1/reports/{found}", f"/api/v1/reports/{found}?format=crash",
                 f"/api/v1/reports?query=id:{found}"]
        for path in paths:
            status, answer = self.server.request("GET", path)
            self.assertIn(status, (200, 404), f"{path}: {answer}")
        # A read is counted after its answer.
        until(lambda: self.reads("replica") >= before[0] + len(paths), "all are counted")
        self.assertEqual((self.reads("replica"), self.reads("database")), (before[0] + len(paths), before[1]), self.server.log_tail())
        self.assertGreater(int(self.standby.sql(count)), 0)

    def test_own_writes(self):
        """The standby is paused, so only the primary has what was changed."""
        self.wait_state("ok")
        number = until(lambda: self.list("/api/v1/issues")["issues"], "an issue")[0]["number"] if self.send(1) else 0
        until(lambda: (self.list("/api/v1/issues"), self.reads("replica"))[1] > 0, "the standby is read")
        self.standby.sql("SELECT pg_wal_replay_pause()")
        until(lambda: self.standby.sql("SELECT pg_get_wal_replay_pause_state()") == "paused", "it is paused")
        for n in range(20):
            title = json.dumps({"title": f"Title {n}"}).encode()
            self.assertEqual(self.server.request("PATCH", f"/api/v1/issues/{number}", title)[0], 200)
            self.assertEqual(self.list(f"/api/v1/issues/{number}")["title"], f"Title {n}")
        # It is too far behind after a second, for all others, too.
        self.wait_state("late")
        reader = self.server.command("token", "create", "--scope", "read", "--label", "reader").split()[-1]
        until(lambda: self.server.request("GET", "/api/v1/issues", token=reader)[0] == 200, "the new token counts")
        self.assertEqual(self.list(f"/api/v1/issues/{number}", token=reader)["title"], "Title 19")
        self.standby.sql("SELECT pg_wal_replay_resume()")
        self.wait_state("ok")
        before = self.reads("replica")
        self.assertEqual(self.list(f"/api/v1/issues/{number}", token=reader)["title"], "Title 19")
        # A read is counted after its answer.
        until(lambda: self.reads("replica") == before + 1, "the standby is read again")

    def test_killed(self):
        """Nobody notices that the standby is killed."""
        self.send(1)
        self.wait_state("ok")
        until(lambda: self.list()["reports"] and self.reads("replica"), "the standby is read")
        failed, slowest, stopped = [], [0.0], threading.Event()

        def read():
            while not stopped.is_set():
                began = time.monotonic()
                status, answer = self.server.request("GET", "/api/v1/reports")
                slowest[0] = max(slowest[0], time.monotonic() - began)
                if status != 200 or len(answer["reports"]) != 1:
                    failed.append((status, answer))

        readers = [threading.Thread(target=read) for _ in range(3)]
        for thread in readers:
            thread.start()
        try:
            before = self.reads("database")
            cluster = Cluster(self.standby.url(self.name))
            cluster.stop_at_once(signal.SIGKILL)
            until(lambda: self.reads("database") > before + 20, "the primary is read")
            self.wait_state("away")
            cluster.start()
            self.wait_state("ok")
            before = self.reads("replica")
            until(lambda: self.reads("replica") > before + 20, "the standby is read again")
        finally:
            stopped.set()
            for thread in readers:
                thread.join()
        self.assertEqual(failed, [])
        # A second beside the machine's other work.
        self.assertLess(slowest[0], 3)

    def test_wrong(self):
        """A server that is not a standby, and one that is one of another database, are not read."""
        for url, why in ((self.database, "it is not a standby"), (self.standby.url("/postgres"), "schema")):
            self.server.stop()
            self.server = self.serve(url)
            self.wait_state("away")
            until(lambda: why in self.server.log(), f"the log says: {why}")
            self.assertEqual(self.list()["reports"], [])
            self.assertEqual(self.reads("replica"), 0)
        done = subprocess.run([BINARY, "serve", "--data", self.folder, "--database-replica", self.database], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("only a PostgreSQL has a replica", done.stderr)


if __name__ == "__main__":
    main()
