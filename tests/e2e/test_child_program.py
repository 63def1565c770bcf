#!/usr/bin/env python3
"""framezero-child, the program beside framezero: not there, of another version, exchanged while the server runs."""

import os
import shutil
import signal
import subprocess

from case import BINARY, FolderCase, main, report, until
from framezero import Server


class ChildProgram(FolderCase):
    def setUp(self):
        super().setUp()
        self.program, self.child = self.path("framezero"), self.path("framezero-child")
        shutil.copy(BINARY, self.program)

    def install_child(self, script=None):
        """The real one, or a shell script; moved into its place as a package manager does."""
        new = self.child + ".new"
        if script:
            with open(new, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{script}\n")
            os.chmod(new, 0o755)
        else:
            shutil.copy(os.path.join(os.path.dirname(BINARY), "framezero-child"), new)
        os.replace(new, self.child)

    def test_not_installed(self):
        for command in ("serve", "worker"):
            data = self.path("data")
            options = ["--listen", "127.0.0.1:0"] if command == "serve" else ["--no-supervise"]
            if command == "worker":
                subprocess.run([self.program, "migrate", "--data", data], check=True, capture_output=True)
            done = subprocess.run([self.program, command, "--data", data, *options], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{self.child} cannot be executed: install it in the same folder as framezero", done.stderr)
            shutil.rmtree(data, ignore_errors=True)

    def test_started_by_hand(self):
        done = subprocess.run([os.path.join(os.path.dirname(BINARY), "framezero-child")], capture_output=True, text=True,
                              close_fds=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "framezero-child: only framezero starts this program\n"))

    def test_share_of_processors(self):
        """On a busy machine reports still come to their names: their child has a small share, and not only what is left."""
        self.install_child()
        with Server(self.program) as server:
            self.assertEqual(server.request("POST", "/api/v1/reports?wait=30", body=report(1))[0], 200)
            share = {pid: (os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)) for pid in server.pids_of("child")}
            self.assertTrue(server.worker_children)
            own = os.getpriority(os.PRIO_PROCESS, server.serving_pid)
            self.assertEqual({share[pid] for pid in server.worker_children}, {(os.SCHED_OTHER, min(19, own + 10))})
            # A client waits for the one that reads what it sends.
            self.assertIn((os.SCHED_OTHER, own), share.values())

    def test_exchanged_while_it_runs(self):
        """Jobs are not to blame for a child of another version, or for one that does not start: they wait."""
        for script, said in (("exit 3", "is of another version than framezero"),
                             ("exit 7", "does not start: it ended with status 7")):
            with self.subTest(script=script):
                self.install_child()
                with Server(self.program) as server:
                    # Children that run go on; that of a worker is to be started again.
                    self.assertEqual(server.request("POST", "/api/v1/reports?wait=30", body=report(1))[0], 200)
                    self.install_child(script)
                    for pid in server.worker_children:
                        os.kill(pid, signal.SIGKILL)
                    status, answer = server.request("POST", "/api/v1/reports", body=report(2))
                    self.assertEqual(status, 202, answer)
                    path = f"/api/v1/reports/{answer['id']}"
                    until(lambda: said in server.log(), said)
                    self.assertEqual(server.request("GET", path)[1]["status"], "queued")
                    # Without a child that reads it, a body is refused for now.
                    for pid in server.pids_of("child"):
                        os.kill(pid, signal.SIGKILL)
                    until(lambda: server.request("POST", "/api/v1/reports", body=report(3))[0] == 503, "503")
                    self.install_child()
                    until(lambda: server.request("GET", path)[1]["status"] == "unsymbolicated", "its result")
                    until(lambda: server.request("POST", "/api/v1/reports", body=report(4))[0] == 202, "202")

    def test_does_not_start(self):
        """A queue of jobs does not start children as fast as the system can."""
        starts = self.path("starts")
        self.install_child()
        with Server(self.program) as server:
            self.assertEqual(server.request("POST", "/api/v1/reports?wait=30", body=report(0))[0], 200)
            self.install_child(f"date +%s.%N >> {starts}; exit 7")
            for pid in server.worker_children:
                os.kill(pid, signal.SIGKILL)
            for number in range(1, 21):
                self.assertEqual(server.request("POST", "/api/v1/reports", body=report(number))[0], 202)

            def times():
                with open(starts, "a+", encoding="ascii") as f:
                    f.seek(0)
                    return [float(line) for line in f]

            until(lambda: len(times()) >= 4, "four starts")
            # 0.1, 0.2 and 0.4 s; without a delay, four of twenty jobs take a few milliseconds.
            self.assertGreater(times()[3] - times()[0], 0.6)


if __name__ == "__main__":
    main()
