#!/usr/bin/env python3
"""The paths of a DSN: keys in all places, framings, encodings, responses, sessions, attachments; and, with the corpus,
raw requests of real clients.
"""

import base64
import glob
import gzip
import json
import os
import re
import socket
import sys
import unittest
import zlib

from case import BINARY, CORPUS, MANY_FAILURES, ServerCase, main
from openapi import DescribedServer as Server

KEY = "0123456789abcdef0123456789abcdef"  # of the corpus
EVENT = {"platform": "cocoa", "level": "fatal", "message": "out of cups"}


def lines(*parts):
    return b"\n".join(p if isinstance(p, bytes) else json.dumps(p).encode() for p in parts)


def event_id(n):
    return f"{n:032x}"


class Protocol(ServerCase):
    server_type = Server
    args = MANY_FAILURES

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key = cls.server.ingest_key
        cls.project = cls.server.credentials["project_id"]

    def post(self, status, path, body, headers=None, key=True):
        if key:
            path += ("&" if "?" in path else "?") + f"sentry_key={self.key}"
        got, answer = self.server.request("POST", path, body=body, token=None, headers=headers)
        self.assertEqual(got, status, answer)
        return answer

    def envelope(self, n, *items, **event):
        return lines({"event_id": event_id(n)}, {"type": "event"}, {**EVENT, **event}, *items)

    def test_key_in_all_places(self):
        url = f"/api/{self.project}/envelope/"
        k = self.key
        places = [
            ({"X-Sentry-Auth": f"Sentry sentry_version=7,sentry_client=sentry.cocoa/8.40.1,sentry_key={k}"}, ""),
            ({"X-Sentry-Auth": f"Sentry sentry_key={k}, sentry_version=7"}, ""),
            ({"x-sentry-auth": f"sentry  sentry_version=5, sentry_key={k}, sentry_secret=abc"}, ""),
            ({"X-Sentry-Auth": "Sentry sentry_key=" + k.replace("a", "%61")}, ""),
            ({"Authorization": f"Sentry sentry_key={k}"}, ""),
            ({}, f"?sentry_version=7&sentry_key={k}&sentry_client=sentry.javascript.node%2F10.78.0"),
            ({"Authorization": f"Bearer {k}"}, ""),
        ]
        for n, (headers, query) in enumerate(places):
            with self.subTest(headers=headers, query=query):
                answer = self.post(200, url + query, self.envelope(100 + n), headers, key=False)
                self.assertEqual(answer, {"id": event_id(100 + n)})
        for n, dsn in enumerate((f"http://{k}@host/1", f"https://{k}:secret@host:1/a/1")):
            body = lines({"event_id": event_id(120 + n), "dsn": dsn}, {"type": "event"}, EVENT)
            self.assertEqual(self.post(200, url, body, key=False), {"id": event_id(120 + n)})

    def test_wrong_keys(self):
        url = f"/api/{self.project}/envelope/"
        body = self.envelope(1)
        for headers in ({}, {"X-Sentry-Auth": "Sentry sentry_version=7"}, {"X-Sentry-Auth": "Sentry sentry_key="},
                        {"X-Sentry-Auth": f"Sentry sentry_key={KEY}"}, {"X-Sentry-Auth": f"sentry_key={self.key}"}):
            answer = self.post(401, url, body, headers, key=False)
            self.assertEqual(set(answer), {"detail", "causes"})
        self.post(401, url, lines({"dsn": f"http://{KEY}@host/1"}, {"type": "event"}, EVENT), key=False)
        self.post(401, url, lines({"dsn": f"http://{self.key}/1"}, {"type": "event"}, EVENT), key=False)
        self.post(404, "/api/4711/envelope/", body)
        self.assertEqual(self.server.request("GET", f"/api/v1/reports/{event_id(1)}")[0], 404)

    def test_spellings_of_the_path(self):
        n = 200
        for path in ("/api/{p}/envelope", "/api/{p}/envelope/", "//api/{p}/envelope/", "/api//{p}//envelope//",
                     "/api/default/envelope/", "/base/path/api/{p}/envelope/"):
            n += 1
            self.assertEqual(self.post(200, path.format(p=self.project), self.envelope(n)), {"id": event_id(n)})

    def test_browsers(self):
        status, _ = super(Server, self.server).request("OPTIONS", f"/api/{self.project}/envelope/", token=None)
        headers = self.server.last_headers
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "*"))
        self.assertIn("x-sentry-auth", headers["Access-Control-Allow-Headers"])
        self.post(200, f"/api/{self.project}/envelope/", self.envelope(250))
        self.assertEqual(self.server.last_headers["Access-Control-Allow-Origin"], "*")

    def test_encodings(self):
        url = f"/api/{self.project}/envelope/"
        for n, (encoding, pack) in enumerate((("gzip", gzip.compress), ("deflate", zlib.compress), ("", bytes),
                                              ("UTF-8", bytes), ("identity", bytes))):
            self.post(200, url, pack(self.envelope(300 + n)), {"Content-Encoding": encoding})
        self.assertIn("zstd", self.post(415, url, b"x", {"Content-Encoding": "br"})["detail"])

    def test_broken_framing(self):
        for body, detail in (
                (b"", "the header at byte 0 is not a JSON object"),
                (b"hello\n{}", "the header at byte 0 is not a JSON object"),
                (b'{}\n{"type":"event","length":100}\n{}', "the payload at byte 33 has 2 of 100 bytes"),
                (b'{}\n{"type":"event"}\n{"a":}', "the event at byte 20: json: expected a value at byte 5")):
            answer = self.post(400, f"/api/{self.project}/envelope/", body)
            self.assertIn(detail, answer["detail"])
            self.assertIn(detail, self.server.last_headers["X-Sentry-Error"])

    def test_without_event(self):
        url = f"/api/{self.project}/envelope/"
        self.assertEqual(self.post(200, url, b"{}"), {})
        self.assertEqual(self.post(200, url, lines({"event_id": event_id(9)})), {"id": event_id(9)})
        self.assertEqual(self.post(200, url, lines({}, {"type": "transaction"}, {}, {"type": "brand_new"}, {})), {})

    def test_event_with_attachments_and_feedback(self):
        body = self.envelope(400, {"type": "attachment", "length": 7, "filename": "../a \"b\".html",
                                   "content_type": "text/html"}, b"<b>\n</b",
                             {"type": "user_report"}, {"name": "A", "comments": "it went away"})
        self.post(200, f"/api/{self.project}/envelope/", body)
        self.post(200, f"/api/{self.project}/envelope/", body)
        report = self.server.wait_report(event_id(400))
        self.assertEqual(report["crash"]["reason"], "out of cups")
        self.assertEqual(report["extra"]["user_report"][0]["comments"], "it went away")
        path = f"/api/v1/reports/{event_id(400)}/attachments/"
        status, data = self.server.request("GET", path + "0")
        headers = self.server.last_headers
        self.assertEqual((status, data), (200, b"<b>\n</b"))
        self.assertEqual(headers["Content-Type"], "application/octet-stream")
        self.assertEqual(headers["Content-Disposition"],
                         'attachment; filename="a_b_.html"; filename*=UTF-8\'\'a%20%22b%22.html')
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        for wrong in ("1", "-1", "x", "18446744073709551616"):
            self.assertEqual(self.server.request("GET", path + wrong)[0], 404)
        self.assertEqual(self.server.request("GET", path + "0", token="ingest")[0], 403)

    def test_feedback_about_an_earlier_crash(self):
        self.post(200, f"/api/{self.project}/envelope/", self.envelope(410))
        feedback = {"event_id": event_id(410), "name": "A", "email": "a@example.com", "comments": "it went away"}
        answer = self.post(200, f"/api/{self.project}/envelope/",
                           lines({"event_id": event_id(410)}, {"type": "user_report"}, feedback))
        self.assertNotEqual(answer["id"], event_id(410))
        report = self.server.wait_report(answer["id"])
        self.assertEqual((report["kind"], report["crash"]["reason"]), ("message", "it went away"))
        self.assertEqual(report["extra"]["user_report"]["event_id"], event_id(410))
        self.assertEqual(self.server.wait_report(event_id(410))["crash"]["reason"], "out of cups")

    def test_store(self):
        event = {**EVENT, "event_id": event_id(500)}
        text = json.dumps(event).encode()
        for path, n, body in ((f"/api/{self.project}/store/", 500, text), ("/api/store/", 501, text),
                              (f"/api/{self.project}/store/", 502, text), (f"/api/{self.project}/store", 503, b" \n" + text)):
            body = body.replace(event_id(500).encode(), event_id(n).encode())
            if n == 502:
                body = base64.b64encode(zlib.compress(body))
            self.assertEqual(self.post(200, path, body), {"id": event_id(n)})
            self.assertEqual(self.server.wait_report(event_id(n))["crash"]["reason"], "out of cups")
        # Only the path shows that this is an event.
        made = self.post(200, f"/api/{self.project}/store/", b'{"message":"hi"}')["id"]
        self.assertEqual(self.server.wait_report(made)["crash"]["reason"], "hi")
        for body in (b"", b" ", b"!!!", base64.b64encode(b"no zlib"), base64.b64encode(zlib.compress(text)[:40]), b"{"):
            self.post(400, f"/api/{self.project}/store/", body)
        bomb = base64.b64encode(zlib.compress(b" " * (64 << 20)))
        self.post(413, f"/api/{self.project}/store/", bomb)

    def test_minidump_form_with_an_event(self):
        def part(name, value, more=""):
            return (f'--FOO\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n').encode() + value + b"\r\n"

        dump = b"MDMP\x93\xa7\x00\x00" + b"\0" * 24
        body = b"".join((part("sentry", json.dumps({"event_id": event_id(600), "release": "shop@1.2"}).encode()),
                         part("sentry[tags][channel]", b"beta"), part("guid", b"g1"),
                         part("upload_file_minidump", gzip.compress(dump), '; filename="a.dmp"'), b"--FOO--\r\n"))
        got, answer = self.server.request("POST", f"/api/{self.project}/minidump/?sentry_key={self.key}", body=body,
                                          token=None, headers={"Content-Type": "multipart/form-data; boundary=FOO"})
        self.assertEqual(got, 200, answer)
        self.assertEqual(answer.decode(), "00000000-0000-0000-0000-000000000258")
        report = self.server.wait_report(event_id(600))
        self.assertEqual((report["app"]["version"], report["tags"]), ("1.2", {"channel": "beta"}))
        self.assertEqual(report["extra"]["extra"]["guid"], "g1")
        status, data = self.server.request("GET", f"/api/v1/reports/{event_id(600)}/attachments/0")
        self.assertEqual((status, data), (200, dump))

    def test_sessions(self):
        url = f"/api/{self.project}/envelope/"
        attrs = {"release": "counted@1.0", "environment": "beta"}
        sid = "7C7B6585-F901-4351-BF8D-02711B721929"
        self.post(200, url, lines({}, {"type": "session"}, {"sid": sid, "status": "ok", "init": True, "attrs": attrs}))
        self.post(200, url, lines({}, {"type": "session"}, {"sid": sid.replace("-", "").lower(), "status": "crashed",
                                                            "did": "anna", "attrs": attrs}))
        self.post(200, url, lines({}, {"type": "session"}, {"sid": sid, "status": "exited", "attrs": attrs}))
        self.post(200, url, lines({}, {"type": "sessions"}, {"attrs": attrs, "aggregates": [
            {"started": "2026-11-20T10:00:00Z", "exited": 2, "errored": 1}, 7, {"crashed": -4, "abnormal": "x"}]}))
        for odd in (b"no json", b"[]", b'{"sid":5}', b'{"sid":"x"}', b'{"sessions":{}}'):
            self.post(200, url, lines({}, {"type": "session"}, odd))
        releases = self.server.request("GET", "/api/v1/sessions?release=counted@1.0&since=2020-01-01")[1]["releases"]
        self.assertEqual({k: releases[0][k] for k in ("environment", "sessions", "healthy", "errored", "crashed",
                                                      "crash_free", "users", "crash_free_users")},
                         {"environment": "beta", "sessions": 4, "healthy": 2, "errored": 1, "crashed": 1,
                          "crash_free": 0.75, "users": 1, "crash_free_users": 0})
        self.assertEqual(self.server.request("GET", "/api/v1/sessions", token="ingest")[0], 403)
        self.assertEqual(self.server.request("GET", "/api/v1/sessions?since=never")[0], 400)


class Limits(unittest.TestCase):
    def test_rate(self):
        with Server(BINARY, workers=0, args=("--limit", "events_per_minute=2")) as server:
            url = f"/api/1/envelope/?sentry_key={server.ingest_key}"
            seen = []
            for n in range(4):
                body = lines({"event_id": event_id(n + 1)}, {"type": "event"}, EVENT)
                seen.append(server.request("POST", url, body=body, token=None)[0])
            self.assertEqual(seen, [200, 200, 429, 429])
            limits = server.last_headers["X-Sentry-Rate-Limits"]
            self.assertRegex(limits, r"^\d+:default;error;attachment:key:events_per_minute$")
            self.assertEqual(limits.split(":")[0], server.last_headers["Retry-After"])
            self.assertTrue(0 < int(server.last_headers["Retry-After"]) <= 60)
            session = lines({}, {"type": "session"}, {"sid": event_id(7), "status": "ok"})
            self.assertEqual(server.request("POST", url, body=session, token=None)[0], 200)
            store = f"/api/1/store/?sentry_key={server.ingest_key}"
            self.assertEqual(server.request("POST", store, body=json.dumps(EVENT), token=None)[0], 429)

    def test_size(self):
        with Server(BINARY, workers=0, args=("--limit", "envelope_bytes=1M", "--limit", "report_bytes=64K")) as server:
            url = f"/api/1/envelope/?sentry_key={server.ingest_key}"
            event = lines({"event_id": event_id(1)}, {"type": "event"}, EVENT)
            file = lines({"type": "attachment", "length": 500000}, b"x" * 500000)
            self.assertEqual(server.request("POST", url, body=event + b"\n" + file, token=None)[0], 200)
            big = lines({"type": "attachment", "length": 1100000}, b"x" * 1100000)
            status, answer = server.request("POST", url, body=event + b"\n" + big, token=None)
            self.assertEqual(status, 413)
            self.assertEqual(set(answer), {"detail", "causes"})


@unittest.skipUnless(os.path.isdir(os.path.join(CORPUS, "clients")), "no corpus (set FRAMEZERO_CORPUS)")
class Replay(unittest.TestCase):
    """Requests of real clients; only key, project and keep-alive are changed."""

    def send(self, server, path, project):
        with open(path, "rb") as f:
            head, _, body = f.read().partition(b"\r\n\r\n")
        head = re.sub(rb"^POST (\S*)/api/42/", rb"POST \1/api/%d/" % project, head)
        head = head.replace(KEY.encode(), server.ingest_key.encode()) + b"\r\nConnection: close\r\n\r\n"
        head = head.replace(b"Connection: keep-alive\r\n", b"")
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(head + body.replace(KEY.encode(), server.ingest_key.encode()))
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def test_all(self):
        pattern = ("cli-*", "node-*", "python-*", "ruby-*")
        paths = [p for folder in pattern for p in sorted(glob.glob(os.path.join(CORPUS, "clients", folder, "*.req")))]
        paths += sorted(glob.glob(os.path.join(CORPUS, "clients", "made", "sentry-*.req")))
        self.assertGreater(len(paths), 20)
        n_events = 0
        made = os.path.join(CORPUS, "clients", "made")
        with open(os.path.join(made, "expected-symbolication.json"), encoding="utf-8") as f:
            names = {frame["addr"]: [symbol[0] for symbol in frame["frames"]] for frame in json.load(f)}
        with Server(BINARY, workers=1) as server:
            with open(os.path.join(made, "Demo.dSYM/Contents/Resources/DWARF/Demo"), "rb") as f:
                self.assertEqual(server.request("POST", "/api/v1/symbols", body=f.read())[0], 201)
            for path in paths:
                with self.subTest(path=os.path.relpath(path, CORPUS)):
                    status, body = self.send(server, path, server.credentials["project_id"])
                    self.assertEqual(status, 200, body)
                    answer = json.loads(body)
                    # node-ratelimit's event was refused on the wire; the other envelopes without an id hold no event.
                    if "id" in answer:
                        report = server.wait_report(answer["id"])
                        self.assertEqual(report["format"], "sentry")
                        self.assertNotEqual(report["status"], "failed")
                        self.assertTrue(report.get("threads") or report["crash"]["reason"], report)
                        n_events += 1
                        if "/made/" in path:
                            frames = report["threads"][0]["frames"]
                            got = {f["address"]: [s["function"] for s in f["symbols"]] for f in frames}
                            self.assertEqual({a: got.get(a) for a in names}, names)
            releases = server.request("GET", "/api/v1/sessions?since=2020-01-01")[1]
        print(f"{len(paths)} requests replayed, {n_events} events", file=sys.stderr)
        self.assertGreater(n_events, 12)
        self.assertGreater(sum(r["sessions"] for r in releases["releases"]), 5)
        self.assertIn("ratelimit_backoff", {d["reason"] for d in releases["discarded"]})


if __name__ == "__main__":
    main()
