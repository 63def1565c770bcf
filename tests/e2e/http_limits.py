#!/usr/bin/env python3
"""Sizes, codings, deadlines, many clients and the shutdown, on the HTTP side alone.

Usage: http_limits.py HTTP_ECHO
"""

import gzip
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

from http_wire import Echo, chunk, get, post, post_chunked, wait_for

BINARY = sys.argv.pop(1)
CAP, INFLATED, UPLOAD = 10000, 4 << 20, 8 << 20  # of http_echo's routes
TE = b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def zstd(data):
    try:
        return subprocess.run(["zstd", "-q", "-c", "-10"], input=data, capture_output=True, check=True).stdout
    except FileNotFoundError:
        return None


CODINGS = [("gzip", lambda data: gzip.compress(data, mtime=0)), ("deflate", zlib.compress),
           ("deflate", raw_deflate), ("zstd", zstd)]


class Case(unittest.TestCase):
    def expect_refusal(self, wire, status, limit=None):
        answer = wire.answer()
        self.assertIsNotNone(answer, "hung up without an answer")
        self.assertEqual(answer.status, status, answer.body)
        if limit is not None:
            self.assertEqual(answer.error["code"], "limit")
            self.assertEqual(answer.error["detail"]["limit"], limit)
        self.assertTrue(wire.ended())


class Sizes(Case):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        os.environ["TMPDIR"] = cls.temp.name
        cls.echo = Echo(BINARY)

    @classmethod
    def tearDownClass(cls):
        cls.echo.__exit__()
        del os.environ["TMPDIR"]
        cls.temp.cleanup()

    def test_around_the_limit(self):
        for path, cap in (("/memory", CAP), ("/large", UPLOAD), ("/file", UPLOAD)):
            for size in (0, 1, cap - 1, cap):
                body = os.urandom(size)
                for data in (post(path, body), post_chunked(path, body, size=50000)):
                    with self.subTest(path=path, size=size):
                        answer = self.echo.ask(data)
                        self.assertEqual(answer.status, 200, answer.body)
                        self.assertEqual(answer.json["sha256"], hashlib.sha256(body).hexdigest())
            for data in (post(path, b"x" * (cap + 1)), post_chunked(path, b"x" * (cap + 1), size=50000)):
                with self.subTest(path=path, over=True):
                    wire = self.echo.connect()
                    sender = threading.Thread(target=wire.send, args=(data,))
                    sender.start()
                    self.expect_refusal(wire, 413, cap)
                    sender.join()

    def test_refused_before_the_body(self):
        wire = self.echo.connect()
        wire.send(post("/memory", b"", length=10**12))
        self.expect_refusal(wire, 413, CAP)

    def test_endless_chunks(self):
        for path in ("/memory", "/large", "/file"):
            wire = self.echo.connect()
            wire.send(TE % path.encode())
            piece = chunk(b"x" * 60000)
            sent = 0
            while sent < 10 * UPLOAD and wire.send(piece):
                sent += len(piece)
            self.assertLess(sent, 10 * UPLOAD, "read without end")
            # The sender does not listen, so the answer may have been lost with the reset; the server is well.
            self.assertEqual(self.echo.ask(get("/items/1")).status, 200)

    def test_content_length_lies(self):
        # Too short: the rest is taken for a request, and refused.
        wire = self.echo.connect()
        wire.send(post("/memory", b"abcdefgh", length=3) + b"\r\n\r\n")
        self.assertEqual(wire.answer().json["len"], 3)
        answer = wire.answer()
        self.assertTrue(answer is None or answer.status == 400)
        self.assertTrue(wire.ended(rest=True))
        # Too long: no memory is set aside for what was only promised.
        before = self.echo.rss()
        wires = [self.echo.connect() for _ in range(100)]
        for wire in wires:
            wire.send(post("/large", b"x", length=UPLOAD))
        time.sleep(0.3)
        self.assertLess(self.echo.rss() - before, 40 << 20)  # 800 MiB were promised
        for wire in wires:
            wire.close()

    def test_codings(self):
        body = b"frame zero " * 20000
        for name, pack in CODINGS:
            packed = pack(body)
            if packed is None:
                print("no zstd program here: its coding is left to the unit test", file=sys.stderr)
                continue
            for path in ("/memory", "/file"):
                for data in (post(path, packed, f"Content-Encoding: {name}"),
                             post_chunked(path, packed, f"content-encoding: {name.upper()}", size=13)):
                    answer = self.echo.ask(data)
                    self.assertEqual(answer.status, 200, answer.body)
                    self.assertEqual(answer.json["sha256"], hashlib.sha256(body).hexdigest())
                answer = self.echo.ask(post(path, packed[:-5], f"Content-Encoding: {name}"))
                self.assertEqual((answer.status, answer.error["code"]), (400, "malformed"))
                self.assertGreater(answer.error["detail"]["offset"], 0)
        for value in ("", "UTF-8", "identity", "utf-8"):
            self.assertEqual(self.echo.ask(post("/memory", b"abc", f"Content-Encoding: {value}")).json["len"], 3)
        twice = gzip.compress(b"abc") + gzip.compress(b"def")
        self.assertEqual(self.echo.ask(post("/memory", twice, "Content-Encoding: gzip")).json["len"], 6)
        for fields in (["Content-Encoding: br"], ["Content-Encoding: gzip, gzip"],
                       ["Content-Encoding: gzip", "Content-Encoding: gzip"]):
            answer = self.echo.ask(post("/memory", twice, *fields))
            self.assertEqual(answer.status, 415)
            self.assertIn("gzip, deflate, zstd", answer.error["message"])
            self.assertEqual(answer.headers["accept-encoding"], "gzip, deflate, zstd")

    def test_inflated_sizes(self):
        noise = os.urandom(1000)
        for size, status in ((INFLATED - 1, 200), (INFLATED, 200), (INFLATED + 1, 413)):
            # A body that stays below the ratio: 22 KB of it cannot be squeezed.
            body = (noise * (size // 1000 + 1))[:size]
            packed = gzip.compress(body, 9)
            answer = self.echo.ask(post("/memory", packed[:CAP] if len(packed) > CAP else packed, "Content-Encoding: gzip"))
            if len(packed) <= CAP:
                self.assertEqual(answer.status, status, answer.body)
        # Streams: 16 MiB inflated are allowed on /file.
        body = os.urandom(1 << 20) * 2
        for size, status in ((2 * UPLOAD, 200), (2 * UPLOAD + 1, 413)):
            data = b"".join(gzip.compress(body) for _ in range(size // len(body)))
            data += gzip.compress(b"x" * (size % len(body))) if size % len(body) else b""
            if len(data) <= UPLOAD:
                self.assertEqual(self.echo.ask(post("/file", data, "Content-Encoding: gzip")).status, status)

    def test_bombs(self):
        zeros = bytes(64 << 20)
        for name, pack in CODINGS:
            packed = pack(zeros)
            if packed is None:
                continue
            if name == "gzip":
                nested = pack(packed)
                answer = self.echo.ask(post("/memory", nested, "Content-Encoding: gzip"))
                self.assertEqual(answer.status, 200)  # inflated once; what is inside is only bytes
            for path in ("/large", "/file"):
                before = self.echo.rss()
                start = time.monotonic()
                answer = self.echo.ask(post(path, packed, f"Content-Encoding: {name}"))
                took = time.monotonic() - start
                self.assertEqual((answer.status, answer.error["code"]), (413, "limit"))
                self.assertLess(took, 1)
                self.assertLess(self.echo.rss() - before, 40 << 20)

    def test_nothing_remains(self):
        self.echo.ask(post("/file", b"x" * 100000))
        wire = self.echo.connect()
        wire.send(post("/file", b"x" * 1000000, length=2000000))
        time.sleep(0.2)
        wire.close()
        self.assertEqual(os.listdir(self.temp.name), [])


class Deadlines(Case):
    """With short limits; each test has its own connection, and they all wait at once."""

    @classmethod
    def setUpClass(cls):
        cls.echo = Echo(BINARY, header_s=1, body_s=12, answer_s=2, min_body_rate=2000)

    @classmethod
    def tearDownClass(cls):
        cls.echo.__exit__()

    def drip(self, wire, data, each, seconds):
        """Send `each` bytes every 0.1 s; the time after which the server closes the connection, or None."""
        start = time.monotonic()
        wire.socket.setblocking(False)
        at = 0
        while time.monotonic() - start < seconds:
            try:
                wire.socket.send(data[at:at + each])
                at += each
                got = wire.socket.recv(65536)
                wire.buffer += got
                if not got:
                    return time.monotonic() - start
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError):
                return time.monotonic() - start
            time.sleep(0.1)
        return None

    def test_all(self):
        checks = [self.silent, self.slow_header, self.slow_header_after_line, self.second_header, self.slow_body,
                  self.slow_chunks, self.stalled_body, self.body_time, self.good_slow_body, self.slow_reader,
                  self.deaf_after_refusal]
        failures = []

        def run(check):
            try:
                check()
            except BaseException as error:  # the main thread reports it
                failures.append((check.__name__, repr(error)))

        threads = [threading.Thread(target=run, args=(check,)) for check in checks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def silent(self):
        wire = self.echo.connect()
        start = time.monotonic()
        assert wire.ended(within=5)
        assert 0.9 < time.monotonic() - start < 3

    def slow_header(self):
        wire = self.echo.connect()
        took = self.drip(wire, get("/items/" + "x" * 1000), 1, 8)
        assert took and 0.9 < took < 3, took

    def slow_header_after_line(self):
        wire = self.echo.connect()
        wire.send(b"GET /items/1 HTTP/1.1\r\n")
        took = self.drip(wire, b"X: " + b"y" * 1000, 1, 8)
        assert took and 0.9 < took < 3, took
        assert wire.buffer.startswith(b"HTTP/1.1 408 "), wire.buffer

    def second_header(self):
        """A connection may be idle for longer than a header may take."""
        wire = self.echo.connect()
        wire.send(get("/items/1"))
        assert wire.answer().status == 200
        time.sleep(2)
        wire.send(get("/items/2"))
        assert wire.answer().status == 200
        wire.send(b"GET /items/3 HTTP/1.1\r\n")
        took = self.drip(wire, b"X: " + b"y" * 1000, 1, 8)
        assert took and 0.9 < took < 3, took

    def slow_body(self):
        """20 bytes every 0.1 s are 200 a second; after 5 s the server requires 2,000."""
        wire = self.echo.connect()
        wire.send(post("/memory", b"", length=9000))
        took = self.drip(wire, b"x" * 9000, 20, 12)
        assert took and 4.5 < took < 8, took
        assert wire.buffer.startswith(b"HTTP/1.1 408 "), wire.buffer

    def slow_chunks(self):
        wire = self.echo.connect()
        wire.send(TE % b"/file")
        took = self.drip(wire, chunk(b"x") * 1000, 6, 12)
        assert took and 4.5 < took < 8, took

    def stalled_body(self):
        """Fast at first, then nothing: old bytes do not count."""
        wire = self.echo.connect()
        wire.send(post("/file", b"x" * 4000000, length=8000000))
        start = time.monotonic()
        assert wire.answer().status == 408
        assert time.monotonic() - start < 12

    def body_time(self):
        """Above the rate, but longer than the route's two seconds."""
        wire = self.echo.connect()
        wire.send(post("/slow", b"", length=9900))
        took = self.drip(wire, b"x" * 9900, 300, 8)
        assert took and 1.5 < took < 4, took

    def good_slow_body(self):
        wire = self.echo.connect()
        wire.send(post("/large", b"", length=24000))
        self.drip(wire, b"x" * 24000, 400, 7.5)
        wire.socket.settimeout(5)
        assert wire.answer().json["len"] == 24000

    def slow_reader(self):
        """64 MiB to a client that does not read: closed, and the memory is released."""
        wire = self.echo.connect()
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.send(get("/big?bytes=67108864"))
        wait_for(lambda: any("route=big" in line and "sent=no" in line for line in self.echo.log_lines()), within=8)

    def deaf_after_refusal(self):
        wire = self.echo.connect()
        wire.send(post("/memory", b"", length=10**9))
        start = time.monotonic()
        while wire.send(b"x" * 100):
            assert time.monotonic() - start < 6
            time.sleep(0.05)


class Crowds(Case):
    def test_parallel_clients(self):
        """200 clients, 20 requests each, bodies of all sizes, three kinds of route."""
        with Echo(BINARY) as echo:
            failures = []

            def client(number):
                try:
                    wire = echo.connect()
                    for i in range(20):
                        body = bytes([number % 256]) * ((number * 37 + i * 911) % CAP)
                        path = ("/memory", "/file", "/large")[(number + i) % 3]
                        wire.send(post(path, body) if i % 2 else post_chunked(path, body, size=3000))
                        answer = wire.answer()
                        if answer.json["sha256"] != hashlib.sha256(body).hexdigest():
                            failures.append((number, i, answer.body))
                    wire.close()
                except Exception as error:
                    failures.append((number, repr(error)))

            threads = [threading.Thread(target=client, args=(n,)) for n in range(200)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            metrics = echo.stop()
            n = sum(value for name, value in metrics.items() if name.startswith("framezero_http_requests_total"))
            self.assertEqual(n, 4000)
            self.assertEqual(metrics["framezero_http_connections"], 0)

    def test_idle_uploads_are_cheap(self):
        with Echo(BINARY) as echo:
            before = echo.rss()
            wires = [echo.connect() for _ in range(500)]
            for wire in wires:
                wire.send(post("/large", b"x" * 100, length=UPLOAD))
            time.sleep(0.5)
            self.assertLess((echo.rss() - before) / 500, 400 << 10)
            start = time.monotonic()
            self.assertEqual(echo.ask(get("/items/1")).status, 200)
            self.assertLess(time.monotonic() - start, 1)
            for wire in wires:
                wire.close()

    def test_connection_limit(self):
        with Echo(BINARY, connections=50) as echo:
            wires = [echo.connect() for _ in range(50)]
            for wire in wires:  # busy ones: idle ones would make room
                wire.send(get("/items/1"))
                self.assertEqual(wire.answer().status, 200)
                wire.send(post("/memory", b"x", length=100))
            wait_for(lambda: wires[-1].quiet(0.2))
            one_more = echo.connect()
            one_more.send(get("/items/1"))
            self.assertIsNone(one_more.answer())
            wires.pop().close()
            wait_for(lambda: echo.ask(get("/items/1")) is not None)
            self.assertEqual(echo.stop()["framezero_http_connections_refused_total"] >= 1, True)

    def test_body_memory(self):
        """Bodies in memory share a budget; over it 503, and all is released."""
        with Echo(BINARY, unknown_memory="10M") as echo:
            wires = [echo.connect() for _ in range(4)]
            for wire in wires:
                wire.send(post("/large", b"x" * 3000000, length=UPLOAD))
            refused = [wire for wire in wires if not wire.quiet(0.5)]
            self.assertTrue(refused)
            for wire in refused:
                answer = wire.answer()
                self.assertEqual(answer.status, 503)
                self.assertEqual(answer.headers["retry-after"], "5")
            for wire in wires:
                wire.close()
            for _ in range(20):
                wait_for(lambda: echo.ask(post("/large", b"x" * 4000000)).status == 200)

    def test_disk_full(self):
        """A file system of 1 MiB for the uploads: 507, and small ones still succeed."""
        with tempfile.TemporaryDirectory() as folder:
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder],
                              capture_output=True).returncode != 0:
                self.skipTest("no right to mount a small file system")
            try:
                os.environ["TMPDIR"] = folder
                with Echo(BINARY) as echo:
                    wire = echo.connect()
                    sender = threading.Thread(target=wire.send, args=(post("/file", bytes(4 << 20)),))
                    sender.start()
                    self.assertEqual(wire.answer().status, 507)
                    wire.close()
                    sender.join()
                    wait_for(lambda: echo.ask(post("/file", b"x" * 500000)).status == 200)
            finally:
                del os.environ["TMPDIR"]
                subprocess.run(["umount", "-l", folder], check=True)


class Ending(Case):
    def test_stop_under_load(self):
        """Every response is complete, and every request in progress gets one."""
        with Echo(BINARY) as echo:
            stop, failures, served = threading.Event(), [], [0]

            def client(number):
                while not stop.is_set():
                    try:
                        wire = echo.connect()
                    except OSError:
                        return
                    body = b"x" * (number * 100)
                    while not stop.is_set():
                        if not wire.send(post("/file" if number % 2 else "/memory", body)):
                            return
                        answer = wire.answer()
                        if answer is None:
                            return
                        served[0] += 1
                        if answer.status != 200 or answer.json["len"] != len(body):
                            failures.append((number, answer.status, answer.body))
                        if answer.headers.get("connection") == "close":
                            return

            threads = [threading.Thread(target=client, args=(n,)) for n in range(50)]
            for thread in threads:
                thread.start()
            held = [echo.connect() for _ in range(10)]
            for wire in held:
                wire.send(get("/later?ms=1500"))
            time.sleep(0.5)
            echo.begin_stop()
            for wire in held:
                self.assertEqual(wire.answer().json, {"late": True})
                self.assertTrue(wire.ended())
            stop.set()
            for thread in threads:
                thread.join()
            metrics = echo.stop()
            self.assertEqual(failures, [])
            self.assertGreater(served[0], 50)
            self.assertEqual(metrics["framezero_http_connections"], 0)

    def test_upload_under_way(self):
        """A started upload may finish within the grace period."""
        with Echo(BINARY) as echo:
            wire = echo.connect()
            wire.send(post("/file", b"x" * 100000, length=200000))
            time.sleep(0.2)
            echo.begin_stop()
            time.sleep(0.3)
            with self.assertRaises(OSError):
                echo.connect()
            wire.send(b"x" * 100000)
            answer = wire.answer()
            self.assertEqual((answer.status, answer.headers["connection"]), (200, "close"))
            echo.stop()

    def test_clients_that_leave(self):
        """A client that leaves at any point of a request, in both ways."""
        with Echo(BINARY) as echo:
            whole = [get("/later?ms=50"), post("/memory", b"x" * 5000), post_chunked("/file", b"x" * 5000),
                     post("/file", b"x" * 900000), get("/big?bytes=3000000"), post("/memory", b"", length=10**9)]
            for data in whole:
                for share in range(1, 9):
                    for reset in (False, True):
                        wire = echo.connect()
                        wire.send(data[:max(1, len(data) * share // 8)])
                        if share % 2:
                            time.sleep(0.01)
                        if reset:
                            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                        wire.close()
            self.assertEqual(echo.ask(get("/items/1")).status, 200)
            self.assertEqual(echo.stop()["framezero_http_connections"], 0)


if __name__ == "__main__":
    unittest.main()
