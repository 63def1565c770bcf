#!/usr/bin/env python3
"""Thousands of connections that are slow or idle, and one client that is neither.

Usage: http_crowd.py HTTP_ECHO
"""

import resource
import socket
import sys
import time
import unittest

from http_wire import Echo, get, post

BINARY = sys.argv.pop(1)
SLOW, REQUESTS, MOST_MS = 4000, 200, 100
BEGUN = {
    "header": b"GET /items/7 HTTP/1.1\r\nHost: a\r\nX: ",
    "body": post("/memory", b"x" * 100, length=9000),
    "answer": get("/big"),  # of which nothing is read
}


class Crowd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 6000:
            raise unittest.SkipTest("the limit of open files is below 6,000")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def setUp(self):
        # Long enough that none of them is ended meanwhile, even on a machine that does much else.
        self.echo = Echo(BINARY, header_s=60, answer_s=60, min_body_rate=1)
        self.addCleanup(self.echo.__exit__)
        self.sockets = []
        self.addCleanup(lambda: [one.close() for one in self.sockets])

    def crowd(self, n, data=b""):
        for _ in range(n):
            one = socket.create_connection(("127.0.0.1", self.echo.port), timeout=15)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.sendall(data)
            self.sockets.append(one)

    def good_ms(self):
        """Milliseconds of each request, on a connection of its own."""
        times = []
        for n in range(REQUESTS):
            began = time.monotonic()
            answer = self.echo.ask(post("/memory", b"x" * 1000) if n % 2 else get("/items/7"))
            times.append((time.monotonic() - began) * 1000)
            self.assertEqual(answer.status, 200)
        return sorted(times)

    def test_slow(self):
        quiet = self.good_ms()
        for data in BEGUN.values():
            self.crowd(SLOW // len(BEGUN), data)
        began = time.monotonic()
        busy = self.good_ms()
        # Some go on, by one byte.
        for one in self.sockets[::10]:
            one.send(b"x")
        busy = sorted(busy + self.good_ms())
        p99 = busy[len(busy) * 99 // 100]
        print(f"{len(self.sockets)} slow connections: p50 {busy[len(busy) // 2]:.1f} ms, p99 {p99:.1f} ms "
              f"(alone {quiet[len(quiet) // 2]:.1f} and {quiet[-2]:.1f} ms), {time.monotonic() - began:.1f} s", flush=True)
        # On a machine that does much else, a client is slow alone.
        self.assertLess(p99, max(MOST_MS, 3 * quiet[-2]))

    def test_idle(self):
        """More than there may be at once: those that have been idle for longest make room."""
        quiet = self.good_ms()
        self.crowd(4104)
        busy = self.good_ms()
        print(f"4104 idle connections: p99 {busy[-2]:.1f} ms", flush=True)
        self.assertLess(busy[-2], max(MOST_MS, 3 * quiet[-2]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
