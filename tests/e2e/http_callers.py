#!/usr/bin/env python3
"""Who calls, and how much each caller may hold, against the HTTP side alone.

Usage: http_callers.py HTTP_ECHO
"""

import sys
import unittest

from http_wire import Echo, get, wait_for

BINARY = sys.argv.pop(1)


class RealClient(unittest.TestCase):
    """The access log names the client that a trusted proxy reports, and nobody else's word counts."""

    def logged(self, proxies, *fields):
        options = {"trusted_proxies": proxies} if proxies else {}
        with Echo(BINARY, **options) as echo:
            self.assertEqual(echo.ask(get("/items/1", *fields)).status, 200)
            wait_for(lambda: echo.log_lines())
            return echo.log_lines()[0].split(" ip=")[1].split()[0]

    def test_from_a_proxy(self):
        self.assertEqual(self.logged("127.0.0.0/8", "X-Forwarded-For: 203.0.113.9, 198.51.100.7:5"), "198.51.100.7")
        self.assertEqual(self.logged("127.0.0.1", 'Forwarded: for="[2001:db8::7]:80"'), "2001:db8::7")
        self.assertEqual(self.logged("127.0.0.1 ::1", "X-Real-IP: 198.51.100.7"), "198.51.100.7")

    def test_garbage_from_a_proxy(self):
        for value in ("unknown", "a\tb", "198.51.100.7 ip=1.2.3.4", "1" * 5000, ","):
            self.assertEqual(self.logged("127.0.0.1", "X-Forwarded-For: " + value), "127.0.0.1")

    def test_from_nobody(self):
        for proxies in ("", "192.0.2.1"):
            self.assertEqual(self.logged(proxies, "X-Forwarded-For: 198.51.100.7", "X-Real-IP: 198.51.100.7"),
                             "127.0.0.1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
