#!/usr/bin/env python3
"""Streams of events: what is heard of reports, issues and uploads, from every server of the database; how many streams there
may be, and when they end."""

import contextlib
import http.client
import json
import os
import re
import socket
import threading
import time
import unittest

from browser import Users
from case import BINARY, SAMPLE, ServerCase, main, report, until
from framezero import Server

PATH = "/api/v1/events"


class Events:
    """One stream, read by a thread."""

    def __init__(self, server, path=PATH, token="admin", **headers):
        token = {"admin": server.admin_token, "ingest": server.ingest_key}.get(token, token)
        if token:
            headers["Authorization"] = "Bearer " + token
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self.connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        self.socket = self.connection.sock
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.messages, self.ids, self.comments, self.retry = [], [], 0, None
        self.ended = None  # "complete" or "broken off"
        self.error = json.loads(self.answer.read())["error"] if self.status != 200 else None
        self.thread = threading.Thread(target=self.read, daemon=True)
        if self.status == 200:
            self.thread.start()

    def read(self):
        buffer = b""
        try:
            while data := self.answer.read1(65536):
                buffer += data
                *events, buffer = buffer.split(b"\n\n")
                for event in events:
                    self.take(event.decode())
            self.ended = "complete"
        except (http.client.HTTPException, OSError, ValueError, AttributeError):
            self.ended = "broken off"

    def take(self, event):
        for line in event.split("\n"):
            name, _, value = line.partition(": ")
            if name == "data":
                self.messages.append(json.loads(value))
            elif name == "id":
                self.ids.append(value)
            elif name == "retry":
                self.retry = int(value)
            else:
                assert line in (":", ""), line
                self.comments += 1

    def ready(self):
        until(lambda: self.ids, "the first message", 10)
        return self

    def n(self, kind, member="n"):
        return sum(message[kind][member] for message in list(self.messages) if kind in message)

    def named(self, kind):
        return [one for message in list(self.messages) if kind in message for one in message[kind].get("ids", [])]

    def close(self):
        if self.thread.is_alive():
            # The socket itself: close() of the answer would wait for the thread.
            self.socket.shutdown(socket.SHUT_RDWR)
            self.thread.join(10)
        self.answer.close()
        self.connection.close()
        self.socket.close()


def open_events(server, *args, **how):
    events = Events(server, *args, **how)
    assert events.status == 200, events.error
    return events.ready()


def metric(server, name):
    text = server.request("GET", "/metrics")[1].decode()
    return float(re.search("^framezero_" + re.escape(name) + " (.*)$", text, re.M).group(1))


class Heard(ServerCase):
    workers = 1

    def events(self, *args, **how):
        events = open_events(self.server, *args, **how)
        self.addCleanup(events.close)
        return events

    def send(self, n, wait="", project=""):
        answer = self.server.request("POST", f"/api/v1/reports?{wait}{project}", body=report(n))
        self.assertIn(answer[0], (200, 202), answer)
        return answer[1]["id"]

    def test_report(self):
        events = self.events()
        self.assertIn(events.retry, range(1000, 2000))
        self.assertEqual([events.answer.getheader(name) for name in ("Content-Type", "Cache-Control", "X-Accel-Buffering")],
                         ["text/event-stream", "no-store", "no"])
        self.assertEqual(events.messages, [])
        begin = time.monotonic()
        body = json.dumps({"framezero": 1, "app": {"id": "com.acme.till"}, "crash": {"thread": 0, "exception": "EXC_BAD_ACCESS"},
                           "threads": [{"index": 0, "crashed": True, "frames": [{"address": "0x100001000", "function": "brew_the_coffee"}]}],
                           "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Till", "path": "/X/Till.app/Till",
                                       "address": "0x100000000", "size": 0x10000}]}).encode()
        sent = self.expect(202, "POST", "/api/v1/reports", body=body)["id"]
        until(lambda: events.n("report.received"), "the report", 10)
        # At once: nothing was sent for more than a second, or for less than one.
        self.assertLess(time.monotonic() - begin, 1.8)
        until(lambda: events.n("report.changed"), "its end", 10)
        self.assertEqual((events.named("report.received"), events.named("report.changed")), ([sent], [sent]))
        number = self.server.request("GET", f"/api/v1/reports/{sent}")[1]["issue"]["number"]
        self.assertEqual((events.named("issue.created"), events.named("issue.changed")), ([number], [number]))
        # What people do.
        for method, path, body, kind, named in (
                ("PATCH", f"issues/{number}", b'{"state":"resolved"}', "issue.changed", number),
                ("POST", f"issues/{number}/comments", b'{"text":"seen"}', "issue.changed", number),
                ("DELETE", f"reports/{sent}", None, "report.changed", sent)):
            with self.subTest(path=path, method=method):
                before = events.n(kind)
                self.assertLess(self.server.request(method, "/api/v1/" + path, body=body)[0], 300)
                until(lambda: events.n(kind) == before + 1, kind, 10)
                self.assertEqual(events.messages[-1][kind]["ids"], [named])

    def test_only_the_project(self):
        self.expect(201, "POST", "/api/v1/projects", body=b'{"name":"other"}')
        own, other = self.events(), self.events(PATH + "?project=other")
        self.send(2, project="project=other")
        until(lambda: other.n("report.changed"), "the other project's report", 10)
        self.send(3)
        until(lambda: own.n("report.changed"), "the own report", 10)
        self.assertEqual((own.n("report.received"), other.n("report.received")), (1, 1))

    def test_refused(self):
        self.assertEqual(Events(self.server, token="ingest").status, 403)
        self.assertEqual(Events(self.server, token=None).status, 401)
        for wrong in ("seconds=0", "seconds=3601", "seconds=x", "limit=3", "project=nobody"):
            self.assertIn(Events(self.server, PATH + "?" + wrong).status, (400, 404), wrong)
        self.assertEqual(self.server.request("HEAD", PATH)[0], 200)

    def test_seconds(self):
        begin = time.monotonic()
        status, data = self.server.request("GET", PATH + "?seconds=2")
        self.assertEqual(status, 200)
        # The stream may begin when its first id is there already.
        self.assertRegex(data.decode(), r"\Aretry: \d+\n(:\n\n)?id: [\d-]+\n\n(id: .*\ndata: .*\n\n)*(:\n\n)?\Z")
        self.assertTrue(1.5 < time.monotonic() - begin < 5)

    def test_storm(self):
        events = self.events()
        begin = time.monotonic()
        threads = [threading.Thread(target=lambda first: [self.send(n) for n in range(first, first + 100)], args=(1000 + 100 * i,))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Children that read reports have a small share of the processors: long, on a busy machine.
        until(lambda: events.n("report.changed") == 400, "all of them", 400)
        took = time.monotonic() - begin
        self.assertEqual(events.n("report.received"), 400)
        self.assertLess(len(events.messages), took + 2)
        self.assertTrue(all(len(m[kind].get("ids", [])) <= 8 for m in events.messages for kind in m))

    def test_catches_up(self):
        events = self.events()
        self.send(20)
        until(lambda: events.n("report.changed") and events.n("issue.changed"), "the first", 10)
        last = events.ids[-1]
        events.close()
        for n in range(21, 26):
            self.send(n, "wait=20")
        again = self.events(Last_Event_ID=last)
        until(lambda: again.messages, "what was missed", 10)
        self.assertEqual((again.n("report.received"), again.n("report.changed")), (5, 5))
        self.assertEqual(len(again.messages), 1)
        # A number that this database has never had, and none at all.
        for wrong, n in (("-".join(["9" * 9] * 7), 1), ("x", 0), ("1-2-3", 0), ("1-2-3-4-5-6-7-8", 0), ("", 0)):
            late = self.events(Last_Event_ID=wrong)
            self.assertEqual(len(late.messages), n, wrong)

    def test_upload(self):
        """Reports and symbols that come to another server are heard of here. SQLite has one server; its workers are other processes."""
        events = self.events()
        other = self.server
        if self.server.database:
            other = Server(BINARY, data=self.server.data, database=self.server.database, workers=0)
            other.start()
            self.addCleanup(other.stop)
        there = open_events(other)
        with open(os.path.join(SAMPLE, "report.json"), "rb") as f:
            sent = other.request("POST", "/api/v1/reports", body=f.read())[1]["id"]
        for heard in (events, there):
            until(lambda heard=heard: heard.named("report.changed") == [sent], "the report", 120)
        with open(os.path.join(SAMPLE, "Demo.dSYM.zip"), "rb") as f:
            status, answer = other.request("POST", "/api/v1/symbols", body=f.read())
        self.assertEqual((status, answer["unblocked_reports"]), (201, 1))
        for heard in (events, there):
            until(lambda heard=heard: heard.n("report.changed") >= 2, "its names", 120)
            until(lambda heard=heard: heard.n("upload.finished"), "the upload", 120)
            self.assertEqual((heard.n("upload.finished"), heard.n("upload.finished", "unblocked")), (1, 1))
            self.assertGreaterEqual(heard.n("symbols.changed"), 1)
        n = events.n("symbols.changed")
        (uuid,) = {one["uuid"] for one in answer["files"]}
        self.assertEqual(other.request("DELETE", f"/api/v1/symbols/{uuid}")[0], 204)
        until(lambda: events.n("symbols.changed") > n, "the end of the file", 10)
        there.close()

    def test_revoked_token(self):
        made = self.expect(201, "POST", "/api/v1/tokens", body=b'{"scopes":["read"],"label":"screen"}')
        events, own = self.events(token=made["token"]), self.events()
        self.expect(204, "DELETE", f"/api/v1/tokens/{made['id']}")
        until(lambda: events.ended, "the stream of the token", 5)
        self.assertEqual(events.ended, "complete")
        time.sleep(1.5)
        self.assertIsNone(own.ended)


class Limited(ServerCase):
    workers = 1
    args = ("--limit", "event_streams=5", "--limit", "event_streams_project=3", "--limit", "answer_s=2", "--limit", "streams=1")

    def sockets(self):
        """Those of clients. A thread that has its first work opens the database, whose files and sockets may become more at any time."""
        process, n = f"/proc/{self.server.serving_pid}", 0
        with open(f"{process}/net/tcp", encoding="ascii") as table:
            inodes = {line.split()[9] for line in table.readlines()[1:]}
        for fd in os.listdir(f"{process}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed in the meantime
                name = os.readlink(f"{process}/fd/{fd}")
                n += name.startswith("socket:[") and name[8:-1] in inodes
        return n

    def threads(self):
        return len(os.listdir(f"/proc/{self.server.serving_pid}/task"))

    def rss(self):
        with open(f"/proc/{self.server.serving_pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1)) * 1024

    def no_streams(self):
        until(lambda: metric(self.server, "http_streams") == 0, "all streams have ended", 10)

    def test_limits(self):
        self.no_streams()
        self.server.request("POST", "/api/v1/projects", body=b'{"name":"second"}')
        second = PATH + "?project=second"
        opened = [open_events(self.server) for _ in range(3)]
        refused = Events(self.server)
        self.assertEqual(refused.status, 503)
        self.assertIn("limit event_streams_project", refused.error["message"])
        self.assertTrue(refused.answer.getheader("Retry-After"))
        opened += [open_events(self.server, second) for _ in range(2)]
        refused = Events(self.server, second)
        self.assertEqual(refused.status, 503)
        self.assertIn("limit event_streams;", refused.error["message"])
        # They do not take the places of exports, nor anything that other requests need.
        self.expect(200, "GET", "/api/v1/export/reports")
        self.expect(200, "POST", "/api/v1/reports?wait=20", body=report(7))
        until(lambda: all(events.n("report.received") == 1 for events in opened[:3]), "the report", 10)
        # The place of one that has gone is free at once.
        opened.pop(0).close()

        def again():
            events = Events(self.server)
            if events.status == 200:
                opened.append(events)
            return events.status == 200
        until(again, "a free place", 2)
        for events in opened:
            events.close()
        self.no_streams()

    def test_slow_reader(self):
        """It takes nothing: its place is free again, although the kernels hold what it was sent."""
        self.no_streams()
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        slow.connect(("127.0.0.1", self.server.port))
        slow.sendall(f"GET {PATH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.server.admin_token}\r\n\r\n".encode())
        until(lambda: metric(self.server, "http_streams") == 1, "the stream", 10)
        end, n = time.monotonic() + 90, 0
        while metric(self.server, "http_streams") and time.monotonic() < end:
            n += 1
            self.expect(202, "POST", "/api/v1/reports", body=report(100 + n))
            time.sleep(0.3)
        self.assertEqual(metric(self.server, "http_streams"), 0)
        slow.close()

    def test_many(self):
        """1,000 of them, some of which are closed before their answer."""
        def some(n):
            for i in range(n):
                wire = socket.create_connection(("127.0.0.1", self.server.port))
                wire.sendall(f"GET {PATH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.server.admin_token}\r\n\r\n".encode())
                if i % 3:
                    wire.recv(100)
                if i % 5 == 0:
                    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                if i % 7 == 0:
                    wire.shutdown(socket.SHUT_WR)
                wire.close()
                if i % 50 == 0:
                    self.server.request("POST", "/api/v1/reports", body=report(5000 + i))
        some(200)
        self.no_streams()
        before = self.sockets(), self.threads(), self.rss()
        some(1000)
        self.no_streams()
        until(lambda: self.sockets() <= before[0] + 2, "sockets are closed", 20)
        self.assertEqual(self.threads(), before[1])
        self.assertLess(self.rss() - before[2], 4 << 20)

    def test_idle(self):
        """A stream that has nothing to say holds one socket."""
        self.no_streams()
        self.expect(200, "GET", "/api/v1/issues")
        before = self.sockets(), self.threads()
        opened = [open_events(self.server) for _ in range(3)]
        for events in opened:
            self.addCleanup(events.close)
        n = self.sockets()
        self.assertGreaterEqual(n, 3)
        self.assertLessEqual(n, before[0] + 3)
        self.assertEqual(self.threads(), before[1])
        until(lambda: all(events.comments > 1 for events in opened), "the heartbeat", 25)


class Ends(unittest.TestCase):
    def test_shutdown(self):
        with Server(BINARY, workers=0) as server:
            opened = [open_events(server) for _ in range(20)]
            begin = time.monotonic()
            self.assertEqual(server.terminate(), 0)
            self.assertLess(time.monotonic() - begin, 5)
            for events in opened:
                until(lambda events=events: events.ended, "the end", 2)
            self.assertEqual({events.ended for events in opened}, {"complete"})


class Sessions(Users):
    def test_sessions(self):
        here, there = self.ann(), self.ann()
        cookie = {"token": None, "Sec_Fetch_Site": "same-origin"}
        first, second = (open_events(self.server, Cookie=f"{one.name}={one.value}", **cookie) for one in (here, there))
        there_id = max(s["id"] for s in here.send("GET", "/api/v1/account/sessions")[1]["sessions"])
        self.assertEqual(here.send("DELETE", f"/api/v1/account/sessions/{there_id}")[0], 204)
        until(lambda: second.ended, "the stream of the session", 5)
        # The same user's other session goes on.
        time.sleep(1.5)
        self.assertIsNone(first.ended)
        self.assertEqual(here.send("DELETE", "/api/v1/session")[0], 204)
        until(lambda: first.ended, "the other one", 5)


if __name__ == "__main__":
    main()
