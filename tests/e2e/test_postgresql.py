#!/usr/bin/env python3
"""Connections to PostgreSQL: a database that goes away and comes back, TLS with a certificate that is checked."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

from case import BINARY, main, report, until
from cluster import Cluster
from framezero import Server, free_port, new_database

CLUSTER = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")


class Door:
    """A TCP port in front of PostgreSQL's socket that can be shut: it then takes connections, counts them, and closes them."""

    def __init__(self, path):
        self.path, self.is_shut, self.n_refused, self.ends = path, False, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_shut:
                self.n_refused += 1
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.path)
            self.ends += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    @staticmethod
    def copy(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        Door.cut(one)
        Door.cut(other)

    @staticmethod
    def cut(end):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def shut(self):
        self.is_shut = True
        for end in self.ends:
            self.cut(end)

    def open(self):
        self.is_shut = False

    def close(self):
        self.shut()
        self.cut(self.listener)
        for end in [self.listener, *self.ends]:
            end.close()


class Away(unittest.TestCase):
    def test_back_off(self):
        real = urllib.parse.urlsplit(new_database())
        folder = urllib.parse.parse_qs(real.query)["host"][0]
        door = Door(os.path.join(folder, ".s.PGSQL.5432"))
        self.addCleanup(door.close)
        server = Server(BINARY, workers=1, database=f"postgresql://{real.username}@127.0.0.1:{door.port}{real.path}")
        server.start()
        self.addCleanup(server.stop)
        door.shut()
        until(lambda: server.request("GET", "/readyz", token=None)[0] == 503, "the server is not ready")
        # Once all have found it away they try once a second, however many requests come.
        began, before, n = time.monotonic(), door.n_refused, 0
        while time.monotonic() - began < 3:
            self.assertEqual(server.request("POST", "/api/v1/reports", report(n), token="ingest")[0], 503)
            self.assertEqual(server.request("GET", "/api/v1/reports")[0], 503)
            n += 1
        took, tried = time.monotonic() - began, door.n_refused - before
        self.assertGreater(n, 10)
        self.assertGreater(tried, 0)
        # Of each connection: handlers, the committing thread, tokens, changes, the worker's two.
        self.assertLess(tried, 8 * (2 * took + 5), f"{n} pairs of requests")
        door.open()
        began = time.monotonic()
        until(lambda: server.request("POST", "/api/v1/reports", report(1000), token="ingest")[0] == 202, "it is back", 5)
        until(lambda: server.request("GET", "/api/v1/reports")[0] == 200, "lists are back", 5)
        self.assertLess(time.monotonic() - began, 5)
        server.wait_report(server.request("POST", "/api/v1/reports", report(1001), token="ingest")[1]["id"])


def restart(cluster, options):
    cluster.stop_at_once(signal.SIGINT)
    cluster.options = options
    cluster.start()


class Tls(unittest.TestCase):
    def make_certificate(self, name):
        path = os.path.join(self.folder, name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-keyout", path + ".key", "-out", path + ".crt", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost"], check=True, timeout=60, capture_output=True)
        return path

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fztls-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.own, self.other = self.make_certificate("own"), self.make_certificate("other")
        cluster = Cluster(CLUSTER)
        owner = os.stat(cluster.data)
        for suffix in (".key", ".crt"):
            shutil.copy(self.own + suffix, os.path.join(cluster.data, "server" + suffix))
            os.chown(os.path.join(cluster.data, "server" + suffix), owner.st_uid, owner.st_gid)
        os.chmod(os.path.join(cluster.data, "server.key"), 0o600)
        self.database = urllib.parse.urlsplit(new_database()).path
        self.tls_port, before = free_port(), cluster.options
        self.addCleanup(restart, cluster, before)
        # The socket's name has the port, so other tests would not find it meanwhile.
        restart(cluster, before + f" -c listen_addresses=127.0.0.1 -c port={self.tls_port} -c ssl=on")

    def url(self, root, host="localhost"):
        return (f"postgresql://framezero@{host}:{self.tls_port}{self.database}?hostaddr=127.0.0.1&sslmode=verify-full"
                f"&sslrootcert={root}.crt")

    def test_certificate(self):
        with Server(BINARY, workers=1, database=self.url(self.own)) as server:
            report_id = server.request("POST", "/api/v1/reports", report(1), token="ingest")[1]["id"]
            server.wait_report(report_id)
            used = subprocess.run(["psql", "-X", "-A", "-t", self.url(self.own), "-c",
                                   "SELECT count(*), count(*) FILTER (WHERE s.ssl) FROM pg_stat_activity a JOIN pg_stat_ssl s "
                                   "USING (pid) WHERE a.application_name = 'framezero'"], check=True, timeout=60,
                                  capture_output=True, text=True).stdout.strip().split("|")
            self.assertGreater(int(used[0]), 2)
            self.assertEqual(used[0], used[1])
        # Neither another authority nor another name is taken, and the message has the reason.
        for url, reason in ((self.url(self.other), "certificate verify failed"),
                            (self.url(self.own, "db.example.com"), "does not match host name")):
            done = subprocess.run([BINARY, "migrate", "--database", url], capture_output=True, text=True, timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    main()
