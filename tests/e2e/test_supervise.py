#!/usr/bin/env python3
"""What happens when a process dies: serve and its workers are started again, and no process outlives its parent."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from case import BINARY, main, until
from framezero import Server, free_port, is_alive, send


def make_report(n, size=0):
    return json.dumps({
        "framezero": 1,
        "tags": {"number": str(n), "filler": os.urandom(size // 2).hex()},
        "addresses": [hex(0x100000000 + 16 * n)],
        "images": [
            {"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Demo", "address": "0x100000000", "size": 1048576}
        ],
    }).encode()


def deaths(server, name):
    """The log lines about deaths, as (how, restart_in_ms)."""
    pattern = rf'level=error msg="{name} died" pid=\d+ (\S+) restarts=\d+ restart_in_ms=(\d+)'
    return [(how, int(ms)) for how, ms in re.findall(pattern, server.log())]


class TestServe(unittest.TestCase):
    def test_serve_that_crashes_is_back(self):
        with Server(BINARY, workers=2) as server:
            before = server.serving_pid
            self.assertNotEqual(before, server.process.pid)
            ids = []
            for n in range(20):
                status, answer = server.request("POST", "/api/v1/reports", body=make_report(n), token="ingest")
                self.assertEqual(status, 202)
                ids.append(answer["id"])
            with open(os.path.join(server.data, "credentials.json"), encoding="utf-8") as f:
                credentials = f.read()
            workers = server.pids_of("worker")
            self.assertEqual(len(workers), 2)
            os.kill(before, signal.SIGSEGV)
            started = time.monotonic()
            until(lambda: server.serving_pid not in (before, server.process.pid), "a new process")
            server.wait_ready()
            took = time.monotonic() - started
            print(f"answers {took:.2f} s after SIGSEGV")
            self.assertLess(took, 10)
            self.assertEqual(deaths(server, "serve"), [("signal=SIGSEGV", 100)])
            for report_id in ids:
                self.assertNotEqual(server.wait_report(report_id)["status"], "failed")
            with open(os.path.join(server.data, "credentials.json"), encoding="utf-8") as f:
                self.assertEqual(f.read(), credentials)
            until(lambda: not any(is_alive(pid) for pid in workers), "the end of the workers of the dead process")
            self.assertEqual(len(server.pids_of("worker")), 2)
            self.assertEqual(server.terminate(), 0)

    def test_a_worker_that_dies_is_back(self):
        with Server(BINARY, workers=2) as server:
            for number, name in ((signal.SIGKILL, "SIGKILL"), (signal.SIGABRT, "SIGABRT")):
                victim = until(lambda: server.pids_of("worker"), "a worker")[0]
                os.kill(victim, number)
                until(lambda: (f"signal={name}", 100) in deaths(server, "worker"), f"a log line of {name}")
                until(lambda: len(server.pids_of("worker")) == 2 and victim not in server.pids_of("worker"), "another")
            _, answer = server.request("POST", "/api/v1/reports", body=make_report(1), token="ingest")
            self.assertEqual(server.wait_report(answer["id"])["status"], "unsymbolicated")

    def test_job_of_a_worker_that_dies_is_done_soon(self):
        with Server(BINARY, workers=1) as server:
            _, answer = server.request("POST", "/api/v1/reports", body=make_report(1), token="ingest")
            server.wait_report(answer["id"])
            for pid in server.worker_children:
                os.kill(pid, signal.SIGSTOP)  # so that the next job stays running
            _, answer = server.request("POST", "/api/v1/reports", body=make_report(2), token="ingest")
            until(lambda: b'framezero_jobs{state="running"} 1\n' in server.request("GET", "/metrics")[1], "a lease")
            os.kill(server.pids_of("worker")[0], signal.SIGKILL)
            started = time.monotonic()
            # Waiting for the lease to expire would take a minute.
            self.assertEqual(server.wait_report(answer["id"], deadline_s=30)["status"], "unsymbolicated")
            print(f"done {time.monotonic() - started:.2f} s after its worker was killed")

    def test_crash_loop_backs_off(self):
        with Server(BINARY, workers=0) as server:
            dead = []
            for n in range(5):
                pid = until(lambda: [p for p in server.pids_of("serve") if p not in dead], "a new process")[0]
                os.kill(pid, signal.SIGKILL)
                dead.append(pid)
                until(lambda: len(deaths(server, "serve")) == n + 1, "a log line")
            self.assertEqual(deaths(server, "serve"), [("signal=SIGKILL", 100 << n) for n in range(5)])
            server.wait_ready()

    def test_signals_end_the_tree(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number), Server(BINARY, workers=2) as server:
                until(lambda: len(server.pids_of("worker")) == 2, "workers")
                pids = server.descendants()
                self.assertGreaterEqual(len(pids), 3)
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(30), 0)
                server.process = None
                self.assertEqual([pid for pid in pids if is_alive(pid)], [])
                self.assertNotIn("died", server.log())

    def test_serving_process_handles_signals(self):
        """Messages contain its process id."""
        with Server(BINARY, workers=1) as server:
            os.kill(server.serving_pid, signal.SIGTERM)
            self.assertEqual(server.process.wait(30), 0)
            server.process = None

    def test_hangup_that_is_ignored_ends_nothing(self):
        with Server(BINARY, workers=0) as server:
            server.terminate()
            ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
            try:
                server.start()
            finally:
                signal.signal(signal.SIGHUP, ignored)
            for pid in (server.process.pid, server.serving_pid):
                os.kill(pid, signal.SIGHUP)
            os.kill(server.serving_pid, signal.SIGSEGV)
            until(lambda: deaths(server, "serve"), "a log line")
            server.wait_ready()

    def test_nothing_outlives_the_first_process(self):
        for _ in range(5):
            with Server(BINARY, workers=2) as server:
                pids = until(lambda: len(server.descendants()) >= 3 and server.descendants(), "workers")
                server.process.kill()
                server.process.wait()
                until(lambda: not any(is_alive(pid) for pid in pids), "the end of all")
                server.process = None

    def test_without_supervision(self):
        with Server(BINARY, workers=1, args=["--no-supervise"]) as server:
            self.assertEqual(server.pids_of("serve"), [])
            server.process.send_signal(signal.SIGSEGV)
            self.assertEqual(server.process.wait(30), -signal.SIGSEGV)
            server.process = None
        with Server(BINARY, workers=0, env={"FRAMEZERO_SUPERVISE": "no"}) as server:
            self.assertEqual(server.pids_of("serve"), [])

    def test_file_size_limit_kills_nothing(self):
        with Server(BINARY, workers=1) as server:
            server.terminate()
            limit = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8 * 1024 * 1024, limit[1]))
            try:
                server.start()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            seen = set()
            for n in range(60):  # random bytes, which do not compress
                seen.add(server.request("POST", "/api/v1/reports", body=make_report(n, 600000), token="ingest")[0])
            upload = server.request("POST", "/api/v1/symbols?name=big", body=bytes(12 * 1024 * 1024))[0]
            self.assertGreaterEqual(upload, 400)
            self.assertIn(202, seen)
            if not server.database:  # PostgreSQL's files are not ours
                self.assertTrue(any(status >= 500 for status in seen), seen)
            self.assertEqual(server.request("GET", "/healthz", token=None)[0], 200)
            self.assertNotIn("died", server.log())


class TestStopped(unittest.TestCase):
    def test_stopped_workers_are_none(self):
        """A worker that somebody has stopped with a signal does no job, so the server is not ready."""
        with Server(BINARY, workers=2) as server:
            workers = server.pids_of("worker")
            self.assertEqual(len(workers), 2)

            def ready():
                return server.request("GET", "/readyz", token=None)

            def stop_idle():
                """Stops one that does not hold SQLite's lock: with that, nobody could write."""
                os.kill(workers[0], signal.SIGSTOP)
                until(lambda: "processes are stopped by a signal" in server.log(), "serve sees one")
                status, answer = ready()
                if status == 200:
                    return True
                self.assertIn("database", str(answer))
                os.kill(workers[0], signal.SIGCONT)
                return False

            until(stop_idle, "one is stopped, and the server is ready")
            os.kill(workers[1], signal.SIGSTOP)
            until(lambda: ready()[0] == 503, "no worker is left")
            self.assertIn("no worker is running", str(ready()[1]))
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
            until(lambda: ready()[0] == 200, "they go on")
            self.assertEqual(deaths(server, "worker"), [])


class TestWrongStart(unittest.TestCase):
    def run_once(self, command, *args, env=None):
        started = time.monotonic()
        done = subprocess.run([BINARY, command, *args], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **(env or {})})
        self.assertLess(time.monotonic() - started, 30)
        return done

    def test_what_cannot_start_is_reported_once(self):
        with tempfile.TemporaryDirectory() as data, Server(BINARY, workers=0) as other:
            table = [
                ("unknown option", 2, ["serve", "--no-such-thing"], "unknown option"),
                ("wrong value", 2, ["worker", "--workers", "many"], "many"),
                ("two unsupervised workers", 2, ["worker", "--no-supervise", "--workers", "2"], "--no-supervise"),
                ("address in use", 1, ["serve", "--data", data, "--listen", f"127.0.0.1:{other.port}"], "in use"),
                ("database in use", 1, ["serve", "--data", other.data, "--listen", "127.0.0.1:0"], "another framezero"),
                ("no such folder", 1, ["serve", "--data", "/proc/nothing", "--listen", "127.0.0.1:0"], "/proc/nothing"),
                ("worker without a database", 1, ["worker", "--workers", "2", "--data", os.path.join(data, "none")],
                 "framezero worker: "),
            ]
            if other.database:
                table = [row for row in table if row[0] != "database in use"]
            for name, code, args, text in table:
                with self.subTest(name):
                    done = self.run_once(*args)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertIn(text, done.stderr)
                    self.assertNotIn("died", done.stderr)

    def test_address_becomes_free(self):
        """That of a server which was killed is taken until the last of its threads is gone."""
        with socket.socket() as taken, tempfile.TemporaryDirectory() as data:
            server = Server(BINARY, workers=0, data=data)
            server.port = free_port()
            taken.bind(("127.0.0.1", server.port))
            taken.listen()
            timer = threading.Timer(0.7, taken.close)
            timer.start()
            self.addCleanup(timer.cancel)
            server.start()
            self.assertEqual(server.stop(), 0)


class TestWorkers(unittest.TestCase):
    def setUp(self):
        self.server = Server(BINARY, workers=0)
        self.server.start()
        self.addCleanup(self.server.stop)
        self.log = tempfile.TemporaryFile("w+")
        self.addCleanup(self.log.close)

    def start_workers(self, *args):
        process = subprocess.Popen([BINARY, "worker", *self.server.where, *args], stderr=self.log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def workers_below(self, process):
        return self.server.pids_of("worker", of=process.pid)

    def wait_done(self, n):
        _, answer = self.server.request("POST", "/api/v1/reports", body=make_report(n), token="ingest")
        return self.server.wait_report(answer["id"])

    def test_workers_are_restarted_and_end_in_order(self):
        for n, args in enumerate((["--workers", "1"], ["--workers", "2"])):
            with self.subTest(args):
                process = self.start_workers(*args)
                self.wait_done(10 + n)
                victim = until(lambda: self.workers_below(process), "a worker")[0]
                os.kill(victim, signal.SIGSEGV)
                until(lambda: len(self.workers_below(process)) == n + 1 and victim not in self.workers_below(process),
                      "another worker")
                self.wait_done(20 + n)
                self.log.seek(0)
                self.assertIn('msg="worker died"', self.log.read())
                pids = self.server.descendants(of=process.pid)
                process.terminate()
                self.assertEqual(process.wait(30), 0)
                self.assertEqual([pid for pid in pids if is_alive(pid)], [])

    def test_nothing_outlives_the_first_process(self):
        process = self.start_workers("--workers", "2")
        self.wait_done(1)
        pids = self.server.descendants(of=process.pid)
        process.kill()
        process.wait()
        until(lambda: not any(is_alive(pid) for pid in pids), "the end of all workers")

    def test_unsupervised_worker_is_one_process(self):
        process = self.start_workers("--no-supervise")
        self.assertEqual(self.workers_below(process), [])
        self.wait_done(1)
        process.terminate()
        self.assertEqual(process.wait(30), 0)

    def test_live_worker_keeps_its_job_when_serve_restarts(self):
        process = self.start_workers("--workers", "2")
        # Both have worked; their children are stopped, so that jobs stay running.
        children, n = [], 1000
        while len(children) < 2:
            n += 1
            self.server.request("POST", "/api/v1/reports", body=make_report(n), token="ingest")
            # By name: the first look may find workers that do not run the program yet.
            children = self.server.pids_of("child", of=process.pid)
            self.assertLess(n, 5000)
        until(lambda: b'framezero_jobs{state="running"} 0\n' in self.server.request("GET", "/metrics")[1], "idle workers")
        for pid in children:
            send(pid, signal.SIGSTOP)
        ids = []
        for n in range(30, 36):
            _, answer = self.server.request("POST", "/api/v1/reports", body=make_report(n), token="ingest")
            ids.append(answer["id"])
        until(lambda: b'framezero_jobs{state="running"} 0\n' not in self.server.request("GET", "/metrics")[1],
              "a running job")
        for _ in range(3):
            self.server.kill_all()
            self.server.start()
        self.assertNotIn("due again", self.server.log())
        for pid in children:
            send(pid, signal.SIGCONT)
        for report_id in ids:
            self.assertEqual(self.server.wait_report(report_id, deadline_s=90)["status"], "unsymbolicated")

    def test_job_of_a_dead_worker_is_due_at_once(self):
        process = self.start_workers("--no-supervise")
        self.wait_done(1)
        children = until(lambda: self.server.pids_of("child", of=process.pid), "a child")
        for pid in children:
            send(pid, signal.SIGSTOP)
        _, answer = self.server.request("POST", "/api/v1/reports", body=make_report(2), token="ingest")
        until(lambda: b'framezero_jobs{state="running"} 1\n' in self.server.request("GET", "/metrics")[1], "its job")
        process.kill()  # not waited for: a zombie is dead too
        until(lambda: not is_alive(process.pid), "its end")
        self.server.kill_all()
        self.server.workers = 1
        self.server.start()
        self.assertIn("due again", self.server.log())
        # Waiting for the lease to expire would take a minute.
        self.assertEqual(self.server.wait_report(answer["id"], deadline_s=40)["status"], "unsymbolicated")

    def test_worker_of_an_old_program_stops(self):
        process = self.start_workers("--no-supervise")
        self.wait_done(1)
        self.execute("INSERT INTO schema_migrations VALUES (900, 'of the future', 'x', 0)")
        self.assertEqual(process.wait(60), 2)
        self.log.seek(0)
        self.assertIn("schema version 900", self.log.read())
        self.execute("DELETE FROM schema_migrations WHERE version = 900")

    def execute(self, sql):
        if self.server.database:
            subprocess.run(["psql", "-q", self.server.database, "-c", sql], check=True, timeout=60)
            return
        path = os.path.join(self.server.data, "framezero.db")
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as database, database:
            database.execute(sql)


class TestOrphans(unittest.TestCase):
    def test_no_worker_outlives_a_server_that_is_killed_early(self):
        with Server(BINARY, workers=0) as server:
            server.terminate()
            marker = os.urandom(8).hex()  # in the environment of all processes of this test
            leaked = 0
            for n in range(40):
                command = [BINARY, "serve", "--listen", f"127.0.0.1:{free_port()}", "--workers", "4", *server.where]
                command += ["--data", server.data] + (["--no-supervise"] if n % 2 else [])
                with open(server.log_path, "ab") as log:
                    process = subprocess.Popen(command, stdout=log, stderr=log,
                                               env={**os.environ, "TEST_ORPHANS": marker})
                until(lambda: any(is_worker(pid) for pid in server.descendants(of=process.pid)), "a worker")
                process.kill()
                process.wait()
                leaked += n % 2
                until(lambda: not marked(marker), "the end of all processes")
            self.assertEqual(leaked, 20)


def is_worker(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")[1:2] == [b"worker"]
    except OSError:
        return False


def marked(marker):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as f:
                if marker.encode() in f.read() and is_alive(int(entry)):
                    found.append(int(entry))
        except OSError:
            pass
    return found


if __name__ == "__main__":
    main()
