#!/usr/bin/env python3
"""Which client calls, and how much each client may hold, on the HTTP side alone.

Usage: http_callers.py HTTP_ECHO
"""

import os
import sys
import time
import unittest

from http_wire import Echo, get, post, wait_for

BINARY = sys.argv.pop(1)


class RealClient(unittest.TestCase):
    """The access log names the client that a trusted proxy reports, and ignores other headers."""

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


class Shares(unittest.TestCase):
    """The share of one client leaves room for the others."""

    UPLOAD = 8 << 20  # of http_echo's routes

    def hold(self, echo, n, size, *fields, path="/known"):
        wires = [echo.connect() for _ in range(n)]
        for wire in wires:
            wire.send(post(path, b"x" * size, *fields, length=self.UPLOAD))
        return wires

    def test_budgets_do_not_mix(self):
        """Clients with and without a token have separate memory budgets."""
        with Echo(BINARY, body_memory="16M", unknown_memory="8M") as echo:
            held = self.hold(echo, 16, 3000000, path="/large")
            for _ in range(10):
                self.assertEqual(echo.ask(post("/known", b"x" * 3900000, "Authorization: Bearer good")).status, 200)
            del held

    def test_one_client_leaves_room(self):
        """A client that uses up its share does not block another one with the same key."""
        with Echo(BINARY, body_memory="32M", trusted_proxies="127.0.0.1") as echo:
            bad = ("Authorization: Bearer good", "X-Forwarded-For: 198.51.100.1")
            held = self.hold(echo, 12, 5000000, *bad)
            refused = [wire for wire in held if not wire.quiet(0.3)]
            self.assertTrue(refused)
            for wire in refused:
                answer = wire.answer()
                self.assertEqual(answer.status, 503)
                self.assertIn("limit body_memory", answer.error["message"])
                self.assertEqual(answer.error["detail"]["limit"], 32 << 20)
                self.assertEqual(answer.headers["retry-after"], "5")
            for n in range(20):
                fields = ("Authorization: Bearer good", f"X-Forwarded-For: 198.51.100.{n + 2}")
                self.assertEqual(echo.ask(post("/known", b"x" * 1500000, *fields)).status, 200)
            # A small one passes even from the same address.
            self.assertEqual(echo.ask(post("/known", b"x" * 60000, *bad)).status, 200)
            del held

    def test_all_comes_back(self):
        with Echo(BINARY, body_memory="16M") as echo:
            for wire in self.hold(echo, 6, 3000000, "Authorization: Bearer good"):
                wire.close()
            body = post("/known", b"x" * 8000000, "Authorization: Bearer good2")
            wait_for(lambda: echo.ask(body).status == 200)
            again = post("/known", b"x" * 3900000, "Authorization: Bearer good")
            for _ in range(20):  # two at once fit; memory is free again a moment after the answer
                wait_for(lambda: echo.ask(again).status == 200)


class Waiting(unittest.TestCase):
    """So many requests may wait for being stored (limit reports_waiting); further ones are refused at once."""

    PLACES = 4

    def hold(self, echo, n, path="/hold"):
        """So many requests whose handlers do not answer before /held?release=1."""
        already = echo.ask(get("/held")).json["held"]
        wires = []
        for _ in range(n):  # one after the other: each leaves its place before the next one comes
            wires.append(echo.connect())
            wires[-1].send(post(path, b"x" * 5000))
            wait_for(lambda: echo.ask(get("/held")).json["held"] == already + len(wires))
        return wires

    def test_refused(self):
        with Echo(BINARY, reports_waiting=self.PLACES) as echo:
            for _ in range(3):  # each place comes back
                held = self.hold(echo, self.PLACES)
                wire = echo.connect()
                for _ in range(2):  # the connection is kept
                    wire.send(post("/hold", b"x" * 9000))
                    answer = wire.answer()
                    self.assertEqual((answer.status, answer.error["code"]), (503, "unavailable"))
                    self.assertEqual(answer.headers["retry-after"], "5")
                    self.assertNotIn("connection", answer.headers)
                # What waits for nobody is served.
                self.assertEqual(echo.ask(post("/memory", b"x")).status, 200)
                echo.ask(get("/held?release=1"))
                for one in held:
                    self.assertEqual(one.answer().status, 200)
            self.assertEqual(echo.stop()['framezero_requests_limited_total{by="load"}'], 6)

    def test_before_the_body(self):
        with Echo(BINARY, reports_waiting=self.PLACES) as echo:
            held = self.hold(echo, self.PLACES)
            wire = echo.connect()
            wire.send(post("/hold", b"", "Expect: 100-continue", length=9000))
            self.assertEqual(wire.answer().status, 503)
            self.assertTrue(wire.ended())
            # Too long to be read: answered, and the connection ends.
            wire = echo.connect()
            wire.send(b"POST /hold HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            self.assertEqual(wire.answer().status, 503)
            self.assertTrue(wire.ended())
            echo.ask(get("/held?release=1"))
            self.assertEqual([one.answer().status for one in held], [200] * self.PLACES)

    def test_slow_bodies_take_no_place(self):
        with Echo(BINARY, reports_waiting=self.PLACES, min_body_rate=1) as echo:
            slow = [echo.connect() for _ in range(3 * self.PLACES)]
            for wire in slow:
                wire.send(post("/hold", b"x" * 100, length=5000))
            held = self.hold(echo, self.PLACES)
            # Complete now, and there is no place.
            for wire in slow:
                wire.send(b"x" * 4900)
                self.assertEqual(wire.answer().status, 503)
            echo.ask(get("/held?release=1"))
            self.assertEqual([one.answer().status for one in held], [200] * self.PLACES)

    def test_those_that_leave(self):
        """Stored, and waiting for something else: others may come in."""
        with Echo(BINARY, reports_waiting=self.PLACES) as echo:
            held = self.hold(echo, 3 * self.PLACES, "/hold?leaves=1") + self.hold(echo, self.PLACES)
            echo.ask(get("/held?release=1"))
            self.assertEqual([one.answer().status for one in held], [200] * 4 * self.PLACES)

    def test_clients_that_go(self):
        """Their requests are still worked on."""
        with Echo(BINARY, reports_waiting=self.PLACES) as echo:
            for wire in self.hold(echo, self.PLACES):
                wire.close()
            self.assertEqual(echo.ask(post("/hold", b"x")).status, 503)
            echo.ask(get("/held?release=1"))
            for wire in self.hold(echo, self.PLACES):
                wire.close()
            echo.ask(get("/held?release=1"))


class Answers(unittest.TestCase):
    def test_slow_readers(self):
        """Responses that clients have not read share budgets of memory and disk; over them 503, and all is released."""
        with Echo(BINARY, answer_memory="8M", answer_disk="64M", answer_s=60) as echo:
            before = echo.rss()
            wires = [echo.connect() for _ in range(100)]
            for n, wire in enumerate(wires):  # nobody reads
                wire.send(get(f"/big?bytes={(800000 if n % 2 else 8000000) + n}"))
            wait_for(lambda: len(echo.log_lines()) > 0)  # the first refusals
            # All of them would be 440 MB; those that handlers are just making are in no budget yet.
            self.assertLess(echo.rss() - before, 200 << 20)
            self.assertEqual(echo.ask(get("/items/1")).status, 200)
            answers = []
            for wire in wires[::-1]:
                answers.append(wire.answer())
                wire.close()
            refused = [answer for answer in answers if answer.status == 503]
            self.assertTrue(refused)
            self.assertLess(len(refused), 100)
            for answer in refused:
                self.assertRegex(answer.error["message"], "limit answer_(memory|disk)")
                self.assertIn("retry-after", answer.headers)
                self.assertNotIn("etag", answer.headers)
            for answer in answers:
                if answer.status == 200:
                    self.assertEqual(answer.body, b"x" * int(answer.headers["content-length"]))
            wait_for(lambda: echo.ask(get("/big?bytes=30000000")).status == 200)

    def test_one_body_for_many(self):
        """One response is stored once, for any number of readers."""
        with Echo(BINARY, answer_memory="1M", answer_disk="24M", answer_s=60, query_s=60) as echo:
            wires = [echo.connect() for _ in range(30)]
            for wire in wires:
                wire.send(get("/big?bytes=10000000"))
            for wire in wires:
                answer = wire.answer()
                self.assertEqual((answer.status, len(answer.body)), (200, 10000000), answer.body[:200])

    def test_full_disk(self):
        """Without room for files, responses are served from memory while there is some."""
        folder = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = "/nonexistent"
        try:
            with Echo(BINARY) as echo:
                answer = echo.ask(get("/big?bytes=20000000"))
                self.assertEqual((answer.status, len(answer.body)), (200, 20000000))
        finally:
            if folder is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = folder


class Lost(unittest.TestCase):
    def test_nothing_is_lost(self):
        """A request for which libmicrohttpd has no memory, of a client that leaves: it was not freed."""
        request = get("/items/7?" + "&" * 600)
        with Echo(BINARY) as echo:
            sizes = []
            for _ in range(3):
                for _ in range(10):
                    wires = [echo.connect() for _ in range(50)]
                    for wire in wires:
                        wire.send(request)
                    time.sleep(0.03)
                    for wire in wires:
                        wire.close()
                sizes.append(echo.rss())
            # 500 of them took 2.4 MB.
            self.assertLess(sizes[-1] - sizes[0], 1500 << 10, sizes)


class Idle(unittest.TestCase):
    def test_idle_connections_make_room(self):
        """A full table: the connection that was silent for longest is closed, and new requests are accepted."""
        with Echo(BINARY, connections=20) as echo:
            idle = [echo.connect() for _ in range(60)]
            for _ in range(40):
                answer = echo.ask(get("/items/1"))
                self.assertIsNotNone(answer)
                self.assertEqual(answer.status, 200)
            wait_for(idle[0].ended)


if __name__ == "__main__":
    unittest.main(verbosity=2)
