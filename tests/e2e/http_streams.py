#!/usr/bin/env python3
"""Streamed answers over raw sockets: http_streams.py HTTP_ECHO. Slow readers, readers that go, failures, limits, the end."""

import os
import re
import socket
import sys
import threading
import unittest
import zlib

from http_wire import Echo, get, post, wait_for

BINARY = sys.argv[1]
PIECE = 200000


class Reader:
    """One GET whose answer is read as the test likes."""

    def __init__(self, echo, path, *fields, small=False):
        self.wire = echo.connect()
        if small:
            self.wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.wire.send(get(path, *fields))

    def head(self):
        while b"\r\n\r\n" not in self.wire.buffer:
            if not self.wire.more():
                raise AssertionError("the connection ended before an answer")
        text, self.wire.buffer = self.wire.buffer.split(b"\r\n\r\n", 1)
        lines = text.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        return self

    def chunk(self):
        """The next chunk; b"" is the last one, None an end without it."""
        def need(n):
            while len(self.wire.buffer) < n:
                if not self.wire.more():
                    return False
            return True
        while b"\r\n" not in self.wire.buffer:
            if not self.wire.more():
                return None
        size, self.wire.buffer = self.wire.buffer.split(b"\r\n", 1)
        size = int(size, 16)
        if not need(size + 2):
            return None
        data, end = self.wire.buffer[:size], self.wire.buffer[size:size + 2]
        assert end == b"\r\n", end
        self.wire.buffer = self.wire.buffer[size + 2:]
        return data

    def until(self, wanted):
        """Chunks until their sum ends with `wanted`."""
        data = b""
        while not data.endswith(wanted):
            more = self.chunk()
            if not more:
                raise AssertionError(f"the stream ends after {data!r}")
            data += more
        return data

    def rest(self):
        """(all that still comes, is it complete?)"""
        pieces = []
        while True:
            data = self.chunk()
            if not data:
                return b"".join(pieces), data is not None
            pieces.append(data)


def stream(pieces, size=PIECE, **more):
    return "&".join([f"/stream?pieces={pieces}&bytes={size}"] + [f"{name}={value}" for name, value in more.items()])


def expected(pieces, size=PIECE):
    return b"".join(b"%-20d%-43d\n" % (n, at) for n in range(pieces) for at in range(0, size, 64))


def counts(echo):
    return echo.ask(get("/counts")).json


def n_alive(echo):
    now = counts(echo)
    return now["begun"] - now["destroyed"]


def sanitized():
    with open(BINARY, "rb") as f:
        return b"__asan_init" in f.read()


class Streams(unittest.TestCase):
    def test_whole(self):
        with Echo(BINARY) as echo:
            for pieces, size in ((2, 64), (3, PIECE), (50, PIECE), (7, 64), (2, 3000000)):
                reader = Reader(echo, stream(pieces, size)).head()
                self.assertEqual(reader.status, 200)
                self.assertEqual(reader.headers["transfer-encoding"], "chunked")
                self.assertEqual(reader.headers["x-kind"], "lines")
                self.assertNotIn("content-length", reader.headers)
                data, complete = reader.rest()
                self.assertTrue(complete)
                self.assertEqual(data, expected(pieces, size))
                # The connection goes on.
                reader.wire.send(get("/items/1"))
                self.assertEqual(reader.wire.answer().status, 200)
            # A short one is an answer like any other.
            answer = echo.ask(get(stream(1, 640)))
            self.assertEqual(answer.body, expected(1, 640))
            # The client has the answer before its line is in the log.
            wait_for(lambda: sum("route=stream" in line for line in echo.log_lines()) == 6)
            out = sum(int(re.search(r"out=(\d+)", line).group(1)) for line in echo.log_lines() if "route=stream" in line)
            sent = sum(len(expected(*one)) for one in ((2, 64), (3, PIECE), (50, PIECE), (7, 64), (2, 3000000), (1, 640)))
            self.assertEqual(out, sent)
            self.assertEqual(echo.stop()["framezero_http_streams"], 0)

    def test_many_at_once(self):
        want = expected(12, PIECE)
        with Echo(BINARY) as echo:
            results = []

            def read():
                results.append(Reader(echo, stream(12)).head().rest() == (want, True))
            threads = [threading.Thread(target=read) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(results, [True] * 16)

    def test_compressed(self):
        with Echo(BINARY) as echo:
            for coding in ("gzip", "zstd"):
                reader = Reader(echo, stream(30), "Accept-Encoding: " + coding).head()
                self.assertEqual(reader.headers["content-encoding"], coding)
                self.assertEqual(reader.headers["vary"], "Accept-Encoding")
                data, complete = reader.rest()
                self.assertTrue(complete)
                self.assertLess(len(data), len(expected(30)) // 3)
                if coding == "gzip":
                    self.assertEqual(zlib.decompress(data, 31), expected(30))

    def test_head(self):
        with Echo(BINARY) as echo:
            request = get(stream(30)).replace(b"GET", b"HEAD", 1)
            for _ in range(3):
                wire = echo.connect()
                wire.send(request)
                answer = wire.answer(head=True)
                self.assertEqual((answer.status, answer.headers["x-kind"]), (200, "lines"))
                self.assertNotIn("content-length", answer.headers)
                # The last chunk must not follow.
                self.assertTrue(wire.ended())
            # The first piece is made, for the status, and no other.
            wait_for(lambda: counts(echo)["destroyed"] == 3)
            self.assertEqual(counts(echo)["produced"], 3)
            self.assertEqual(echo.ask(request.replace(b"pieces", b"fails_at=0&pieces"), head=True).status, 503)

    def test_old_protocol(self):
        """HTTP/1.0 has no chunks: the end of the connection is that of the answer, and a failure cannot be told."""
        with Echo(BINARY) as echo:
            wire = echo.connect()
            wire.send(get(stream(5)).replace(b"HTTP/1.1", b"HTTP/1.0"))
            self.assertTrue(wire.ended(rest=True))
            self.assertEqual(wire.buffer.split(b"\r\n\r\n", 1)[1], expected(5))

    def test_failure(self):
        with Echo(BINARY) as echo:
            reader = Reader(echo, stream(20, fails_at=7)).head()
            data, complete = reader.rest()
            self.assertFalse(complete)
            # What was made before is sent.
            self.assertEqual(data, expected(7))
            wait_for(lambda: "stream broken off" in echo.log_text())
            line = [line for line in echo.log_text().splitlines() if "stream broken off" in line][0]
            self.assertIn(f"id={reader.headers['x-request-id']} ", line)
            self.assertIn('text="the database at 10.0.0.7 is gone"', line)
            self.assertIn("sent=no", [line for line in echo.log_lines() if "route=stream" in line][0])
            answer = echo.ask(get(stream(20, fails_at=0)))
            self.assertEqual((answer.status, answer.error["code"]), (503, "unavailable"))
            self.assertNotIn("10.0.0.7", answer.error["message"])
            self.assertNotIn("x-kind", answer.headers)
            self.assertEqual(echo.stop()["framezero_http_streams"], 0)

    def test_memory(self):
        """600 MB go through; a reader that stands still holds a few pieces."""
        with Echo(BINARY, answer_s=60) as echo:
            Reader(echo, stream(20)).head().rest()
            before = echo.rss()
            reader, most, n = Reader(echo, stream(3000)).head(), 0, 0
            while True:
                data = reader.chunk()
                if not data:
                    break
                n += len(data)
                if n % 64 == 0:
                    most = max(most, echo.rss())
            self.assertEqual(n, 3000 * PIECE)
            # With the address sanitizer, whose quarantine keeps what is freed, 256 MiB more.
            self.assertLess(max(most, echo.rss()) - before, (16 + 300 * sanitized()) * 1024 * 1024)
            made = counts(echo)["produced"]
            slow = Reader(echo, stream(2000), small=True).head()
            for _ in range(50):
                self.assertEqual(echo.ask(get("/items/1")).status, 200)
                slow.wire.socket.recv(1024)
            # What is in the kernel's buffers, being sent, and ready.
            self.assertLess(counts(echo)["produced"] - made, 40)
            slow.wire.close()
            wait_for(lambda: counts(echo)["destroyed"] == 3)

    def test_too_slow(self):
        with Echo(BINARY, answer_s=1) as echo:
            reader = Reader(echo, stream(1000), small=True).head()
            wait_for(lambda: counts(echo)["destroyed"] == 1)
            reader.wire.close()
            # The server may take its time: that is not the client's.
            reader = Reader(echo, stream(3, ms=1500)).head()
            self.assertEqual(reader.rest(), (expected(3), True))
            self.assertEqual(echo.stop()["framezero_http_timeouts_total"], 1)

    def test_gone(self):
        """Readers that go at any moment leave nothing behind."""
        def held(echo):
            folder = f"/proc/{echo.process.pid}"
            return len(os.listdir(folder + "/fd")), len(os.listdir(folder + "/task"))
        with Echo(BINARY) as echo:
            Reader(echo, stream(3)).head().rest()
            before = held(echo)
            for i in range(200):
                # 700 KB and more go to a file, and some are being made when the client goes.
                reader = Reader(echo, stream(100, 700000 if i % 3 else 2000000, ms=i % 4 * 5), small=bool(i % 2))
                if i % 5:
                    reader.head()
                    if i % 7 == 0:
                        reader.chunk()
                if i % 2:
                    reader.wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                reader.wire.close()
                # No more than 16 may be on their way.
                wait_for(lambda: n_alive(echo) < 8)
            wait_for(lambda: n_alive(echo) == 0)
            # Of those that reset the connection at once, not every request was read.
            self.assertGreater(counts(echo)["begun"], 160)
            wait_for(lambda: all(now <= then for now, then in zip(held(echo), before)))
            self.assertEqual(echo.stop()["framezero_http_streams"], 0)

    def test_limit(self):
        with Echo(BINARY, streams=2, answer_s=60) as echo:
            readers = [Reader(echo, stream(500), small=True).head() for _ in range(2)]
            for _ in range(3):
                answer = echo.ask(get(stream(500)))
                self.assertEqual((answer.status, answer.error["code"]), (503, "unavailable"))
                self.assertIn("limit streams", answer.error["message"])
                self.assertIn("retry-after", answer.headers)
            readers[0].wire.close()
            wait_for(lambda: counts(echo)["destroyed"] == 4)
            self.assertEqual(Reader(echo, stream(3)).head().rest(), (expected(3), True))
            readers[1].wire.close()

    def test_budget(self):
        """Each stream takes 1 MiB of answer_memory besides its pieces."""
        with Echo(BINARY, answer_memory="3M", answer_s=60) as echo:
            readers = [Reader(echo, stream(500), small=True).head() for _ in range(6)]
            refused = [reader for reader in readers if reader.status == 503]
            self.assertTrue(0 < len(refused) < 6, [reader.status for reader in readers])
            for reader in readers:
                reader.wire.close()
            wait_for(lambda: counts(echo)["destroyed"] == 6)
            self.assertEqual(Reader(echo, stream(3)).head().rest(), (expected(3), True))


class Events(unittest.TestCase):
    """A source that has nothing for a while."""

    def test_wake(self):
        with Echo(BINARY) as echo:
            readers = [Reader(echo, "/events?idle_ms=60000" + more, *fields).head()
                       for more, *fields in (("",), ("",), ("&plain=0", "Accept-Encoding: gzip"))]
            unpack = zlib.decompressobj(31)
            self.assertEqual(readers[0].until(b"\n\n"), b": still here\n\n")
            self.assertEqual(readers[2].headers["content-encoding"], "gzip")
            self.assertEqual(unpack.decompress(readers[2].chunk()), b": still here\n\n")
            readers[1].until(b"\n\n")
            for n in range(1, 31):
                self.assertEqual(echo.ask(post("/wake")).status, 200)
                for reader in readers[:2]:
                    self.assertEqual(reader.until(b"\n\n"), b"data: %d\n\n" % n)
                # An event is not held back by the compression.
                data = b""
                while not data.endswith(b"\n\n"):
                    data += unpack.decompress(readers[2].chunk())
                self.assertEqual(data, b"data: %d\n\n" % n)

    def test_keep_alive(self):
        with Echo(BINARY, answer_s=1) as echo:
            reader = Reader(echo, "/events?idle_ms=200").head()
            # Longer than answer_s: it is the server that has nothing.
            for _ in range(8):
                self.assertEqual(reader.until(b"\n\n"), b": still here\n\n")
            reader.wire.close()
            wait_for(lambda: counts(echo)["destroyed"] == 1)

    def test_wake_while_producing(self):
        """Not lost, whether it is the first piece, on the handler's thread, or a later one."""
        with Echo(BINARY) as echo:
            reader = Reader(echo, "/events?ms=400")
            for n in range(1, 4):
                wait_for(lambda n=n: counts(echo)["produced"] == n)
                self.assertEqual(echo.ask(post("/wake")).status, 200)
            reader.head()
            self.assertEqual(reader.until(b"data: 3\n\n"), b": still here\n\n" + b"".join(b"data: %d\n\n" % n for n in range(1, 4)))

    def test_many_wakes(self):
        with Echo(BINARY) as echo:
            reader = Reader(echo, "/events").head()
            reader.until(b"\n\n")

            def wake():
                wire = echo.connect()
                for _ in range(200):
                    wire.send(post("/wake"))
                    wire.answer()
            threads = [threading.Thread(target=wake) for _ in range(4)]
            for thread in threads:
                thread.start()
            data = reader.until(b"data: 800\n\n").replace(b": still here\n\n", b"")
            self.assertEqual(data, b"".join(b"data: %d\n\n" % n for n in range(1, 801)))
            for thread in threads:
                thread.join()


class Stop(unittest.TestCase):
    def test_finishes(self):
        with Echo(BINARY) as echo:
            reader = Reader(echo, stream(10, ms=50)).head()
            idle = Reader(echo, "/events?idle_ms=60000").head()
            idle.until(b"\n\n")
            echo.begin_stop()
            # It has nothing to send, so it ends in order, at once.
            self.assertEqual(idle.rest(), (b"", True))
            self.assertEqual(reader.rest(), (expected(10), True))
            self.assertEqual(echo.stop()["framezero_http_streams"], 0)

    def test_gives_up(self):
        for more in ({}, {"ms": 50}, {"ms": 700}):
            os.environ["GRACE_MS"] = "300"
            try:
                with Echo(BINARY) as echo:
                    readers = [Reader(echo, stream(2000, **more)).head(), Reader(echo, stream(2000, **more), small=True).head()]
                    readers[0].chunk()
                    echo.begin_stop()
                    self.assertFalse(readers[0].rest()[1])
                    self.assertEqual(echo.stop()["framezero_http_streams"], 0)
                    self.assertEqual(echo.log_text().count('text="the server stops"'), 2)
            finally:
                del os.environ["GRACE_MS"]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
