#!/usr/bin/env python3
"""Requests as bytes on the wire: what is served, what is refused, and whether the connection stays.

Usage: http_framing.py HTTP_ECHO
"""

import hashlib
import socket
import sys
import unittest

from http_wire import Echo, get, post, post_chunked

BINARY = sys.argv.pop(1)
LAST = get("/items/last")  # after a request that keeps its connection, it must be answered too
TE = b"POST /memory HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"

# A chunk line whose extension ends in a bare LF: who reads on to the CRLF sees one request, others see two.
HIDDEN = b"0\r\n\r\n" + get("/items/hidden")
SMUGGLED = TE + b"\r\n%x;\n" % len(HIDDEN) + b"a" * len(HIDDEN) + b"\r\n" + HIDDEN + b"\r\n0\r\n\r\n"

# name, bytes, statuses in order, whether the connection stays
CASES = [
    ("plain GET", get("/items/7"), [200], True),
    ("HTTP/1.0", b"GET /items/7 HTTP/1.0\r\n\r\n", [200], False),
    ("Connection: close", get("/items/7", "Connection: close"), [200], False),
    ("Connection: TE, as sentry-cli sends it", get("/items/7", "Connection: TE", "TE: gzip"), [200], True),
    ("absolute form", b"GET http://a/items/7 HTTP/1.1\r\nHost: a\r\n\r\n", [200], True),
    ("an empty line before the request", b"\r\n" + get("/items/7"), [200], True),
    ("three requests at once", get("/items/1") + post("/memory", b"x" * 50) + get("/items/2"),
     [200, 200, 200], True),
    ("a body after a body", post("/memory", b"a") + post_chunked("/memory", b"b"), [200, 200], True),
    ("unknown path", get("/nope"), [404], True),
    ("slash too many", get("/items/7/"), [404], True),
    ("wrong method", b"PUT /items/7 HTTP/1.1\r\nHost: a\r\n\r\n", [405], True),
    ("unknown method", b"BREW /items/7 HTTP/1.1\r\nHost: a\r\n\r\n", [405], True),
    ("unknown path with a small body", post("/nope", b"x" * 1000), [404], True),
    ("wrong method with a chunked body", post_chunked("/items/7", b"x"), [405], False),
    ("no token", post("/private", b"x"), [401], True),
    ("wrong token", post("/private", b"x", "Authorization: Bearer bad"), [403], True),
    ("right token", post("/private", b"x", "Authorization: Bearer good"), [200], True),
    ("body on a route without one", post("/items/7", b""), [405], True),
    ("DELETE with a body", b"DELETE /items/7 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", [413], False),
    ("GET with Content-Length 0", get("/items/7", "Content-Length: 0"), [200], True),
    ("empty chunked body", post_chunked("/memory"), [200], True),
    ("trailer", TE + b"\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", [200], True),
    ("upper-case chunk size", TE + b"\r\nA\r\n0123456789\r\n0\r\n\r\n", [200], True),
    ("no Content-Length, no body", b"POST /memory HTTP/1.1\r\nHost: a\r\n\r\n", [200], True),
    ("%00 in the path", get("/items/%00"), [400], True),
    ("bad escape", get("/items/%zz"), [400], True),
    ("not UTF-8", get("/items/%c0%af"), [400], True),
    ("header of 100 fields", get("/items/7", *[f"X-{i}: y" for i in range(99)]), [200], True),
    # From here on nobody can be sure where the request ends: refused, and the connection ended.
    ("header of 101 fields", get("/items/7", *[f"X-{i}: y" for i in range(100)]), [431], False),
    ("no Host", b"GET /items/7 HTTP/1.1\r\n\r\n", [400], False),
    ("two Hosts", get("/items/7", "Host: b"), [400], False),
    ("two equal Content-Lengths", post("/memory", b"abc", "Content-Length: 3"), [400], False),
    ("two Content-Lengths", post("/memory", b"abc", "Content-Length: 4"), [400], False),
    ("Content-Length list", post("/memory", b"abc").replace(b": 3", b": 3, 3"), [400], False),
    ("Content-Length +3", post("/memory", b"abc").replace(b": 3", b": +3"), [400], False),
    ("Content-Length -1", post("/memory", b"").replace(b": 0", b": -1"), [400], False),
    ("Content-Length 0x3", post("/memory", b"abc").replace(b": 3", b": 0x3"), [400], False),
    ("Content-Length empty", post("/memory", b"abc").replace(b": 3", b": "), [400], False),
    ("Content-Length 2^64", post("/memory", length=2**64), [413], False),
    ("Content-Length 2^64 - 1", post("/memory", length=2**64 - 1), [413], False),
    ("Content-Length and chunked", post_chunked("/memory", b"abc", "Content-Length: 3"), [400], False),
    ("Transfer-Encoding twice", post_chunked("/memory", b"abc", "Transfer-Encoding: chunked"), [400], False),
    ("Transfer-Encoding: gzip, chunked", post("/memory", b"", "Transfer-Encoding: gzip, chunked"), [400], False),
    ("Transfer-Encoding: gzip",
     b"POST /memory HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nabc", [400], False),
    ("Transfer-Encoding: identity",
     b"POST /memory HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\nabc", [400], False),
    ("Transfer-Encoding: xchunked",
     b"POST /memory HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", [400], False),
    ("chunked in HTTP/1.0",
     b"POST /memory HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400], False),
    ("space before the colon", get("/items/7", "Content-Length : 0"), [400], False),
    ("tab before the colon", get("/items/7", "Transfer-Encoding\t: chunked"), [400], False),
    ("empty field name", get("/items/7", ": x"), [400], False),
    ("bracket in a field name", get("/items/7", "X(y): x"), [400], False),
    ("line without a colon", get("/items/7", "hello"), [400], False),
    ("control character in a field", get("/items/7", "X: a\x01b"), [400], False),
    ("bare CR in a field", get("/items/7", "X: a\rContent-Length: 5"), [400], False),
    ("NUL in a field", get("/items/7", "X: a\0b"), [400], False),
    ("NUL in Content-Length", post("/memory", b"abc").replace(b": 3", b": 3\x00"), [400], False),
    ("folded field", get("/items/7", "X: a\r\n b"), [400], False),
    ("folded Content-Length", post("/memory", b"abc").replace(b": 3", b":\r\n 3"), [400], False),
    ("folded first line", b"GET /items/7 HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n", [400], False),
    ("NUL at the start of a line", get("/items/7", "X: a\r\n\0: b"), [400], False),
    ("NUL in a field", get("/items/7", "X: a\0b"), [400], False),
    ("NUL in the request line", get("/items/7\0b"), [400], False),
    ("NUL in a trailer", TE + b"\r\n3\r\nabc\r\n0\r\n\0: b\r\n\r\n", [400], False),
    ("bare LF line ends", b"GET /items/7 HTTP/1.1\nHost: a\n\n", [400], False),
    ("one bare LF", get("/items/7", "X: y").replace(b"X: y\r\n", b"X: y\n"), [400], False),
    ("two spaces in the request line", b"GET  /items/7 HTTP/1.1\r\nHost: a\r\n\r\n", [400], False),
    ("space at the end of the request line", b"GET /items/7 HTTP/1.1 \r\nHost: a\r\n\r\n", [400], False),
    ("space in the target", b"GET /items/a b HTTP/1.1\r\nHost: a\r\n\r\n", [400], False),
    ("tab in the target", b"GET /items/a\tb HTTP/1.1\r\nHost: a\r\n\r\n", [400], False),
    ("128 parameters", get("/items/7?" + "a=1&" * 127 + "b=2"), [200], True),
    ("129 parameters", get("/items/7?" + "a=1&" * 128 + "b=2"), [414], True),
    ("130 parameters", get("/items/7?" + "a=1&" * 129 + "b=2"), [414], False),
    # With these libmicrohttpd 0.9 has no memory left, and would wait.
    ("5,000 parameters", get("/items/7?" + "a=1&" * 5000), [414], False),
    ("100 parameters in a long line", get("/items/7?" + "a=1&" * 100 + "b" * 14000), [414], False),
    ("many ampersands in the second request", get("/items/1") + get("/items/7?" + "&" * 1000), [200, 414], False),
    ("HTTP/2.0", b"GET /items/7 HTTP/2.0\r\nHost: a\r\n\r\n", [505], False),
    ("http/1.1", b"GET /items/7 http/1.1\r\nHost: a\r\n\r\n", [400], False),
    ("unknown expectation", post("/memory", b"abc", "Expect: miracles"), [417], False),
    ("invalid chunk size", TE + b"\r\nxyz\r\n", [400], False),
    ("negative chunk size", TE + b"\r\n-1\r\nabc\r\n", [400], False),
    ("chunk size 0x3", TE + b"\r\n0x3\r\nabc\r\n0\r\n\r\n", [400], False),
    ("chunk size above 2^64", TE + b"\r\n10000000000000000\r\n", [413], False),
    ("chunk longer than its size", TE + b"\r\n3\r\nabcd\r\n0\r\n\r\n", [400], False),
    ("chunk without its end", TE + b"\r\n3\r\nabcXY0\r\n\r\n", [400], False),
    ("smuggled request", post("/memory", b"0\r\n\r\n" + LAST, "Transfer-Encoding: chunked"), [400], False),
    # Here libmicrohttpd 0.9.75 ends a line where a proxy may read on.
    ("bare LF ends a chunk extension", SMUGGLED, [400], False),
    ("bare LF ends a chunk size", TE + b"\r\n3\nabc\r\n0\r\n\r\n", [400], False),
    ("bare CR ends a chunk size", TE + b"\r\n3\rabc\r\n0\r\n\r\n", [400], False),
    ("bare LF ends a chunk", TE + b"\r\n3\r\nabc\n0\r\n\r\n", [400], False),
    ("bare LF ends the last chunk", TE + b"\r\n3\r\nabc\r\n0\n\r\n", [400], False),
    ("bare LF ends the body", TE + b"\r\n3\r\nabc\r\n0\r\n\n", [400], False),
    ("bare LF ends a trailer", TE + b"\r\n3\r\nabc\r\n0\r\nX-Sum: 1\n\r\n", [400], False),
    ("bare CR in a trailer", TE + b"\r\n3\r\nabc\r\n0\r\nX-Sum: 1\rX: y\r\n\r\n", [400], False),
    ("folded trailer", TE + b"\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n 2\r\n\r\n", [400], False),
    ("trailer without a colon", TE + b"\r\n3\r\nabc\r\n0\r\nX-Sum\r\n\r\n", [400], False),
    ("endless trailers", TE + b"\r\n0\r\n" + b"X: y\r\n" * 3000, [400], False),
    ("endless chunk extension", TE + b"\r\n3;" + b"x" * 2000, [400], False),
    ("control character in a chunk extension", TE + b"\r\n3;a\0b\r\nabc\r\n0\r\n\r\n", [400], False),
    ("space after a chunk size", TE + b"\r\n3 \r\nabc\r\n0\r\n\r\n", [400], False),
    ("empty chunk size", TE + b"\r\n\r\nabc\r\n0\r\n\r\n", [400], False),
    ("chunk size with 17 digits", TE + b"\r\n00000000000000003\r\nabc\r\n0\r\n\r\n", [413], False),
    ("answers before the refusal", get("/items/1") + post("/memory", b"abc") + SMUGGLED, [200, 200, 400], False),
    ("answers before a bad length", get("/items/1") + post("/memory", b"abc").replace(b": 3", b": +3"), [200, 400], False),
]


class Framing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.echo = Echo(BINARY, header_s=3)

    @classmethod
    def tearDownClass(cls):
        cls.echo.__exit__()

    def check(self, data, statuses, stays, step=None):
        wire = self.echo.connect()
        data += LAST if stays else b""
        for at in range(0, len(data), step or len(data)):
            wire.send(data[at:at + (step or len(data))])
        for status in statuses:
            answer = wire.answer()
            self.assertIsNotNone(answer, "hung up without an answer")
            self.assertEqual(answer.status, status, answer.body)
            if status >= 400:
                self.assertEqual(answer.headers.get("content-type"), "application/json", answer.body)
                self.assertTrue(answer.error["code"] and answer.error["message"])
                self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
                self.assertEqual(answer.headers["cache-control"], "no-store")
        if stays:
            self.assertNotEqual(answer.headers.get("connection"), "close")
            self.assertEqual(wire.answer().json["id"], "last")
        else:
            self.assertTrue(wire.ended(rest=stays is False), "still open")
        wire.close()

    def test_cases(self):
        for name, data, statuses, stays in CASES:
            with self.subTest(name):
                self.check(data, statuses, stays)

    def test_byte_by_byte(self):
        for name, data, statuses, stays in CASES:
            if len(data) < 250:
                with self.subTest(name):
                    self.check(data, statuses, stays, step=1)

    def test_smuggling(self):
        """In two pieces, wherever they are parted, the hidden request is never served."""
        for at in range(1, len(SMUGGLED)):
            wire = self.echo.connect()
            wire.send(SMUGGLED[:at])
            wire.send(SMUGGLED[at:])
            self.assertEqual(wire.answer().status, 400, at)
            self.assertTrue(wire.ended(), at)
            wire.close()
        self.assertFalse([line for line in self.echo.log_lines() if "route=item " in line and "hidden" in line])
        lines = [line for line in self.echo.log_lines() if "status=400" in line]
        self.assertGreaterEqual(len(lines), len(SMUGGLED) - 1)

    def test_bodies_arrive(self):
        body = bytes(range(256)) * 39
        want = {"len": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        for path in ("/memory", "/file", "/large"):
            for data in (post(path, body), post_chunked(path, body), post_chunked(path, body, size=7)):
                self.assertEqual(self.echo.ask(data).json, want)

    def test_chunk_extension(self):
        """Read over by libmicrohttpd 0.9, refused by 1.0.1: never taken for a part of the body."""
        answer = self.echo.ask(TE + b"\r\n3;a=b\r\nabc\r\n0\r\n\r\n")
        self.assertIn(answer.status, (200, 400))
        if answer.status == 200:
            self.assertEqual(answer.json["len"], 3)

    def test_head(self):
        wire = self.echo.connect()
        wire.send(b"HEAD /items/7 HTTP/1.1\r\nHost: a\r\n\r\n" + b"HEAD /nope HTTP/1.1\r\nHost: a\r\n\r\n" + LAST)
        first, second = wire.answer(head=True), wire.answer(head=True)
        self.assertEqual((first.status, second.status), (200, 404))
        self.assertGreater(int(first.headers["content-length"]), 0)
        self.assertEqual(wire.answer().json["id"], "last")

    def test_allow(self):
        answer = self.echo.ask(b"PUT /items/7 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertEqual(answer.headers["allow"], "GET, HEAD, DELETE")
        answer = self.echo.ask(get("/memory"))
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST"))

    def test_errors(self):
        """Each code of a handler with its status; texts are escaped, and what goes wrong inside stays there."""
        for code, status in enumerate([400, 415, 413, 403, 404, 409, 503, 503, 500], start=1):
            answer = self.echo.ask(get(f"/fail?code={code}"))
            self.assertEqual(answer.status, status)
            if status >= 500:
                self.assertNotIn("asked", answer.error["message"])
                self.assertNotIn("detail", answer.error)
            else:
                self.assertEqual(answer.error["message"], 'as "asked"')
                self.assertEqual(answer.error["detail"], {"offset": 7})
            self.assertEqual("retry-after" in answer.headers, status == 503)

    def test_decoding(self):
        answer = self.echo.ask(get("/items/a%2Fb%20%C3%A4?q=x+y%26&z"))
        self.assertEqual(answer.json, {"id": "a/b ä", "q": "x y&"})

    def test_header_flood(self):
        for data in (get("/items/7", "X: " + "y" * 40000), get("/items/" + "y" * 40000)):
            answer = self.echo.ask(data)
            self.assertIn(answer.status, (414, 431))
        # Never ending, in small fields.
        wire = self.echo.connect()
        wire.send(b"GET /items/7 HTTP/1.1\r\nHost: a\r\n")
        while wire.send(b"X: y\r\n" * 500):
            if not wire.quiet(0.001):
                break
        answer = wire.answer()
        self.assertTrue(answer is None or answer.status == 431)

    def test_expect(self):
        wire = self.echo.connect()
        wire.send(post("/memory", b"", "Expect: 100-continue", length=3))
        self.assertEqual(wire.answer().status, 100)
        wire.send(b"abc")
        self.assertEqual(wire.answer().json["len"], 3)
        wire.send(LAST)
        self.assertEqual(wire.answer().status, 200)
        # Refused from the header alone: no 100, the status, the end.
        for path, length, status in (("/memory", 10001, 413), ("/private", 3, 401), ("/nope", 3, 404)):
            wire = self.echo.connect()
            wire.send(post(path, b"", "Expect: 100-continue", length=length))
            self.assertEqual(wire.answer().status, status)
            self.assertTrue(wire.ended())

    def test_half_closed(self):
        wire = self.echo.connect()
        wire.send(post("/memory", b"abc"))
        wire.socket.shutdown(1)
        self.assertEqual(wire.answer().json["len"], 3)
        self.assertTrue(wire.ended())

    def test_cut_off(self):
        for data in (b"GET /it", get("/items/7")[:-2], post("/memory", b"ab", length=3), TE + b"\r\n3\r\nab",
                     TE + b"\r\n3\r\nabc\r\n", post("/file", b"ab", length=3)):
            wire = self.echo.connect()
            wire.send(data)
            wire.socket.shutdown(1)
            answer = wire.answer()
            self.assertTrue(answer is None or answer.status in (400, 408), (data, answer and answer.body))
            wire.close()
        self.assertEqual(self.echo.ask(get("/items/7")).status, 200)

    def test_cut_off_in_one_packet(self):
        """The end comes with the last bytes: the connection ends then, and not at a deadline."""
        with Echo(BINARY, header_s=120, body_s=120, min_body_rate=1) as echo:
            for data in (b"GET /it", get("/items/7")[:-2], post("/memory", b"ab", length=3), TE + b"\r\n3\r\nab",
                         TE + b"\r\n3\r\nabc\r\n", post("/file", b"ab", length=3), get("/items/7") + b"GET /it"):
                wire = echo.connect()
                wire.socket.send(data, socket.MSG_MORE)
                wire.socket.shutdown(1)
                self.assertTrue(wire.ended(within=20, rest=True), data)
                wire.close()

    def test_log(self):
        self.echo.ask(get("/items/7?q=secret"))
        line = [line for line in self.echo.log_lines() if "route=item " in line][-1]
        self.assertNotIn("secret", line)
        self.assertRegex(line, r'id=[0-9a-f]{16} method=GET route=item status=200 ms=[\d.]+ in=\d+ out=\d+ '
                               r'ip=127\.0\.0\.1 seen="yes \\"really\\""')


if __name__ == "__main__":
    unittest.main()
