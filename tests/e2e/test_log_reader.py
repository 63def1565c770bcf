#!/usr/bin/env python3
"""A log without a reader blocks nothing: all requests are answered, and dropped lines are counted."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from case import BINARY, main, until
from framezero import Server
from terminal import open_terminal


class Log:
    """The reading end of a log. read() begins to read, until the writers are gone."""

    def __init__(self, fd):
        self.fd, self.text = fd, b""
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while True:
            try:
                more = os.read(self.fd, 65536)
            except OSError:  # a terminal ends like this
                return
            if not more:
                return
            self.text += more

    def read(self):
        self.thread.start()

    def finish(self):
        self.thread.join(60)
        os.close(self.fd)
        return self.text.decode(errors="replace")


def fill(fd):
    """Fill the pipe; its other users are not changed."""
    again = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
    for size in (4096, 1):
        try:
            while True:
                os.write(again, b"\n" * size)
        except BlockingIOError:
            pass
    os.close(again)


class TestLogReader(unittest.TestCase):
    def start(self, theirs):
        data = tempfile.mkdtemp(prefix="framezero-log-")
        self.addCleanup(shutil.rmtree, data, ignore_errors=True)
        server = Server(BINARY, workers=1, data=data)
        server.start()  # for the port and the tokens
        server.terminate()
        command = [server.binary, "serve", "--listen", f"127.0.0.1:{server.port}", "--data", data, "--workers", "1"]
        server.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        self.addCleanup(lambda: server.process and server.process.kill())
        server.wait_ready()
        return server

    def check(self, make_ends, requests=3000):
        ours, theirs = make_ends()
        server, log = self.start(theirs), Log(ours)
        for n in range(requests):
            # Dots, since the log masks what could be a key.
            status, _ = server.request("GET", f"/number/{n}/x{'.x' * 350}", timeout=20)
            self.assertEqual(status, 404)
            if n % 500 == 0:
                self.assertEqual(server.request("GET", "/healthz", token=None, timeout=20)[0], 200)
        body = b'{"framezero":1,"addresses":["0x1"]}'
        self.assertEqual(server.request("POST", "/api/v1/reports?wait=20", body=body, timeout=30)[0], 200)
        log.read()
        end, others = time.monotonic() + 30, 100
        while b"log lines dropped" not in log.text and time.monotonic() < end:
            server.request("GET", "/another", token=None)
            others += 1  # until there is room again, its line is dropped too
        self.assertEqual(server.terminate(), 0)
        text = log.finish()
        dropped = sum(int(n) for n in re.findall(r'level=warn msg="log lines dropped" n=(\d+)', text))
        seen = [int(n) for n in re.findall(r"/number/(\d+)/x", text)]
        print(f"{len(text)} bytes read, {len(seen)} lines of {requests} seen, {dropped} dropped")
        self.assertEqual(seen, sorted(set(seen)))
        self.assertLess(len(seen), requests)
        # Lines of other requests may be among them.
        self.assertGreaterEqual(len(seen) + dropped, requests)
        self.assertLess(len(seen) + dropped, requests + others)
        for line in text.splitlines():
            self.assertRegex(line, r'^ts=\S+ level=\w+ msg="')
        self.assertIn('msg="stopped"', text.splitlines()[-1])

    def test_crash_without_a_reader(self):
        """The supervisor logs as well."""
        ours, theirs = os.pipe()
        server = self.start(os.dup(theirs))
        fill(theirs)
        before = server.serving_pid
        os.kill(before, signal.SIGSEGV)
        until(lambda: server.serving_pid not in (before, server.process.pid), "another process serves")
        server.wait_ready()
        self.assertEqual(server.request("GET", "/api/v1/reports", timeout=20)[0], 200)
        self.assertEqual(server.terminate(), 0)
        os.close(theirs)
        os.close(ours)

    def test_pipe(self):
        self.check(os.pipe, requests=6000)  # a pipe may hold a megabyte

    def test_socket(self):
        """journald gives services a socket."""
        def ends():
            a, b = socket.socketpair()
            return a.detach(), b.detach()
        self.check(ends)

    def test_terminal(self):
        self.check(open_terminal)


if __name__ == "__main__":
    main()
