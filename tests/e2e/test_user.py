#!/usr/bin/env python3
"""The user that `serve` runs as when root starts it: never root unless it was asked to be, or the log says why."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from case import BINARY, SAMPLE, main, report
from framezero import Server, free_port

# What a root of a container may not always do.
RAISES = "import os; os.nice(-1)"
RAISES_LIMIT = "import resource as r; r.setrlimit(r.RLIMIT_NICE, (40, 40))"
USER = 61234  # not another program's, and without a name


def ids(pid):
    """(users, effective capabilities) of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        text = status.read()
    return set(re.search(r"^Uid:\s+(.*)$", text, re.M).group(1).split()), int(re.search(r"^CapEff:\s+(\S+)$", text, re.M).group(1), 16)


def priorities(pid):
    """[(name of the thread, its nice value)]"""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as stat:
            head, _, rest = stat.read().rpartition(")")
        found.append((head.partition("(")[2], int(rest.split()[16])))
    return found


def free_low_port():
    for port in range(1000, 600, -1):
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port
    raise unittest.SkipTest("no port below 1024 is free")


@unittest.skipIf(os.geteuid() != 0, "only root can become another user")
class TestUser(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="framezero-user-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        # The build may be in a folder that only root can enter.
        for name in ("framezero", "framezero-child"):
            shutil.copy(os.path.join(os.path.dirname(BINARY), name), self.folder)
        self.binary = os.path.join(self.folder, "framezero")
        self.data = os.path.join(self.folder, "data")

    def server(self, *args, user=str(USER)):
        server = Server(self.binary, args=args, data=self.data, env={"FRAMEZERO_USER": user} if user else {})
        if not user:
            server.env.pop("FRAMEZERO_USER")
        server.log_path = os.path.join(self.folder, "serve.log")
        self.addCleanup(server.terminate)
        return server

    def run_once(self, *args, **how):
        command = [self.binary, "serve", "--listen", f"127.0.0.1:{free_port()}", "--data", self.data, *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **how)

    def check_processes(self, server, capabilities=0):
        self.assertEqual(server.request("GET", "/healthz")[1]["sandbox"]["level"], "full")
        for pid in [server.process.pid] + server.descendants():
            users, has = ids(pid)
            self.assertEqual((users, has & ~capabilities), ({str(USER)}, 0))

    def check_priorities(self, server, raises):
        """The thread that all clients wait for goes before all others of all processes, where the system allows `raises`."""
        may = subprocess.run([sys.executable, "-c", raises], stderr=subprocess.DEVNULL, check=False).returncode == 0
        own = os.getpriority(os.PRIO_PROCESS, 0)
        found = [one for pid in server.descendants() for one in priorities(pid)]
        self.assertEqual([nice for name, nice in found if name.startswith("MHD")], [max(own - 10, -20) if may else own])
        self.assertGreaterEqual(min(nice for name, nice in found if not name.startswith("MHD")), own)

    def check_work(self, server, number):
        """A dSYM and a report go in, and names come out."""
        with open(os.path.join(SAMPLE, "Demo.dSYM.zip"), "rb") as f:
            self.assertEqual(server.request("POST", "/api/v1/symbols", body=f.read())[0], 201)
        with open(os.path.join(SAMPLE, "report.json"), "rb") as f:
            status, answer = server.request("POST", "/api/v1/reports?wait=20", body=f.read())
        self.assertEqual((status, answer["status"]), (200, "symbolicated"))
        self.assertEqual(server.request("POST", "/api/v1/reports?wait=20", body=report(number))[0], 200)

    def owners(self):
        found = {os.lstat(self.data).st_uid}
        for folder, folders, files in os.walk(self.data):
            found.update(os.lstat(os.path.join(folder, name)).st_uid for name in folders + files)
        return found

    def test_named(self):
        server = self.server()
        server.start()
        self.check_work(server, 1)
        self.check_processes(server)
        self.check_priorities(server, RAISES_LIMIT)
        self.assertEqual(self.owners(), {USER})
        # A process that died is started again as the same user.
        os.kill(server.serving_pid, 9)
        server.wait_ready()
        self.check_processes(server)
        self.check_priorities(server, RAISES_LIMIT)

    def test_owner_of_the_folder(self):
        os.mkdir(self.data)
        os.chown(self.data, USER, USER)
        server = self.server(user=None)
        server.start()
        self.check_processes(server)
        self.assertIn(f'msg="left root" user={USER}', server.log())

    def test_data_of_root(self):
        root = self.server(user="root")
        root.start()
        self.check_work(root, 1)
        self.check_priorities(root, RAISES)
        root.terminate()
        self.assertEqual(self.owners(), {0})
        elsewhere = os.path.join(self.folder, "elsewhere")
        os.symlink(self.folder, os.path.join(self.data, "tmp", "link"))
        with open(elsewhere, "wb"):
            pass
        with open(os.path.join(self.data, "notes"), "wb"):  # not a file of the server's
            pass
        server = self.server()
        server.start()
        self.check_processes(server)
        self.check_work(server, 2)
        self.assertEqual(len(server.query("/api/v1/reports")[1]["reports"]), 3)
        self.assertEqual((os.stat(self.folder).st_uid, os.stat(elsewhere).st_uid), (0, 0))
        self.assertEqual(os.stat(os.path.join(self.data, "notes")).st_uid, 0)
        # What root does beside it leaves nothing that the server cannot write.
        server.command("project", "create", "more")
        self.assertEqual(server.request("POST", "/api/v1/reports", body=report(3))[0], 202)

    def test_low_port(self):
        server = self.server()
        server.port = free_low_port()
        server.start()
        self.check_processes(server, capabilities=1 << 10)  # CAP_NET_BIND_SERVICE

    def test_worker(self):
        server = self.server("--workers", "0")
        server.start()
        worker = subprocess.Popen([self.binary, "worker", "--workers", "1", "--data", self.data],
                                  env={**os.environ, "FRAMEZERO_USER": str(USER)}, stderr=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.terminate)
        self.check_work(server, 1)
        for pid in [worker.pid] + server.descendants(worker.pid):
            self.assertEqual(ids(pid), ({str(USER)}, 0))

    def test_folder_of_others(self):
        os.mkdir(self.data)
        with open(os.path.join(self.data, "notes"), "wb"):
            pass
        done = self.run_once("--user", str(USER))
        self.assertEqual((done.returncode, self.owners()), (1, {0}))
        self.assertIn(f"the user {USER} may not write to {self.data}", done.stderr)

    def test_what_it_cannot_read(self):
        path = os.path.join(self.folder, "framezero.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write("log-level = warn\n")
        os.chmod(path, 0o600)
        done = self.run_once("--user", str(USER), "--config", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"the user {USER} may not read {path}", done.stderr)

    def test_why_not(self):
        """Nobody asked for a user, and there is none who could: it serves, and says what it is."""
        os.chmod(self.folder, 0o700)
        os.mkdir(self.data)
        os.chown(self.data, USER, USER)
        server = self.server(user=None)
        server.start()
        self.assertRegex(server.log(), r'level=warn msg="runs as root" why="the user 61234 may not use .*framezero-child')

    def test_wrong_users(self):
        for args, code, words in (
            (["--user", "no-such-user"], 1, "the system has no user 'no-such-user'"),
            (["--user", ""], 2, "--user"),
        ):
            done = self.run_once(*args)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
        done = self.run_once("--user", "root", user=USER, group=USER, extra_groups=[])
        self.assertEqual(done.returncode, 1)
        self.assertIn("only root can become the user root", done.stderr)


if __name__ == "__main__":
    main()
