#!/usr/bin/env python3
"""Clients that use as much as they can: their share stays within the budgets, and other clients are not affected."""

import gzip
import json
import os
import re
import socket
import threading
import time
import unittest

from case import BINARY, main, report, until
from framezero import Server

MIB = 1 << 20


def rss(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024


def server_pids(server):
    """`serve` and its supervisor."""
    return [server.process.pid] + server.pids_of("serve")


def server_rss(server):
    return sum(rss(pid) for pid in server_pids(server))


def unlinked_bytes(pid, folder):
    """What a process holds on disk in files of the folder that have no name any more."""
    total = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(folder):
                total += os.stat(f"/proc/{pid}/fd/{fd}").st_blocks * 512
        except OSError:
            continue
    return total


class Dripping:
    """Connections that send a header and the start of a body, and then a little at a time."""

    def __init__(self, server, n, head, start, drip=b"x" * 1100):
        self.over, self.open, self.sent = threading.Event(), [], 0
        for _ in range(n):
            s = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            s.settimeout(0.5)
            self.open.append(s)
            for piece in (head, *start):
                try:
                    s.sendall(piece)
                    self.sent += len(piece)
                except OSError:  # rejected meanwhile
                    break
        self.refused = []
        self.thread = threading.Thread(target=self.go_on, args=(drip,), daemon=True)

    def go_on(self, drip):
        while not self.over.wait(0.5):
            for s in list(self.open):
                try:
                    s.setblocking(False)
                    data = b""
                    try:
                        data = s.recv(65536)
                    except BlockingIOError:
                        s.send(drip)
                        continue
                    self.open.remove(s)
                    self.refused.append(data)
                    s.close()
                except BlockingIOError:
                    continue
                except OSError:
                    self.open.remove(s)
                    s.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for s in self.open:
            s.close()


class WithoutToken(unittest.TestCase):
    def test_slow_bodies_without_a_token(self):
        """Sixteen bodies of 16 MB whose key may come late: reports of other clients are stored all the time."""
        head = b"POST /api/1/envelope/ HTTP/1.1\r\nHost: x\r\nContent-Length: 16777216\r\n\r\n"
        with Server(BINARY, workers=0) as server:
            before = server_rss(server)
            with Dripping(server, 16, head, [b"{}\n", b"x" * (8 * MIB + 4096)]) as attack:
                large = json.dumps({"framezero": 1, "addresses": ["0x1"], "crash": {"reason": "r" * 2 * MIB}}).encode()
                end = time.monotonic() + 8
                n = 0
                while time.monotonic() < end:
                    n += 1
                    self.assertEqual(server.request("POST", "/api/v1/reports", report(n), token="ingest")[0], 202)
                    if n % 10 == 0:
                        self.assertEqual(server.request("POST", "/api/v1/reports", large, token="ingest")[0], 202)
                    # A small request without a token in its header is served too.
                    envelope = json.dumps({"dsn": f"http://{server.ingest_key}@localhost/1"}).encode() + b"\n"
                    self.assertEqual(server.request("POST", "/api/1/envelope/", body=envelope, token=None)[0], 200)
                    self.assertLess(server_rss(server) - before, 100 * MIB)
                self.assertGreater(n, 20)
                self.assertGreater(len(attack.refused) + 16 - len(attack.open), 8)
            self.assertIn(b"503", b"".join(attack.refused))
            self.assertIn(b"limit unknown_memory", b"".join(attack.refused))
            self.assertIn(b"Retry-After", b"".join(attack.refused))

    def test_uploads_without_a_token(self):
        """120 uploads of 12 MB each to routes whose token is in the form: their memory and disk are limited."""
        with Server(BINARY, workers=0, args=["--limit", "unknown_disk=64M"]) as server:
            temp = os.path.realpath(os.path.join(server.data, "tmp"))
            for path in ("/dsym", "/api/sdk/v3/symbols_files"):
                head = (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                        "Content-Length: 12582912\r\n\r\n").encode()
                start = [b"--b\r\nContent-Disposition: form-data; name=\"dsym\"; filename=\"d\"\r\n\r\n"]
                most = 0
                with Dripping(server, 60, head, start + [os.urandom(MIB)] * 11) as attack:
                    for n in range(40):
                        held = sum(unlinked_bytes(pid, temp) for pid in server_pids(server))
                        most = max(most, held)
                        self.assertLessEqual(held, 64 * MIB + 4 * MIB)
                        self.assertEqual(server.request("POST", "/api/v1/reports", report(n), token="ingest")[0], 202)
                        time.sleep(0.05)
                    self.assertIn(b"limit unknown_disk", b"".join(attack.refused))
                    self.assertGreater(most, 16 * MIB)  # otherwise this test looks at the wrong place
            # Those with a token are not affected by any of it.
            status, answer = server.request("POST", "/api/v1/symbols/known", b'{"uuids":[]}')
            self.assertEqual(status, 200, answer)

    def test_time_is_up(self):
        """An upload without a token has the time limit of a report, not hours."""
        with Server(BINARY, workers=0, args=["--limit", "body_s=3"]) as server:
            head = (b"POST /dsym HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                    b"Content-Length: 12582912\r\n\r\n")
            with Dripping(server, 4, head, [b"--b\r\n" + b"x" * 100000], b"x" * 20000) as attack:
                until(lambda: not attack.open, "all uploads are ended", 15)
            self.assertIn(b"408", b"".join(attack.refused))


class Readers(unittest.TestCase):
    def test_slow_readers_of_a_large_report(self):
        """A hundred clients read a report of some 60 MB slowly: the server stays small and works."""
        threads = [{"index": i, "frames": [{"address": hex(0x100000000 + 16 * (i * 1024 + k))} for k in range(1024)]}
                   for i in range(420)]
        body = gzip.compress(json.dumps({"framezero": 1, "id": f"{5:032x}", "threads": threads}).encode())
        with Server(BINARY, workers=1) as server:
            headers = {"Content-Encoding": "gzip"}
            self.assertEqual(server.request("POST", "/api/v1/reports", body, headers=headers)[0], 202)
            server.wait_report(f"{5:032x}", deadline_s=120)
            status, whole = server.request("GET", f"/api/v1/reports/{5:032x}")
            self.assertEqual(status, 200)
            size = int(server.last_headers["Content-Length"])
            self.assertGreater(size, 40 * MIB)
            before, peak = server_rss(server), 0
            request = (f"GET /api/v1/reports/{5:032x} HTTP/1.1\r\nHost: x\r\n"
                       f"Authorization: Bearer {server.admin_token}\r\n\r\n").encode()
            readers = []
            for _ in range(100):
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
                s.connect(("127.0.0.1", server.port))
                s.sendall(request)
                s.setblocking(False)
                readers.append([s, b""])
            end = time.monotonic() + 60
            while time.monotonic() < end and not all(start for _, start in readers):
                for reader in readers:
                    try:
                        data = reader[0].recv(30000)
                        reader[1] = reader[1] or data
                    except BlockingIOError:
                        pass
                peak = max(peak, server_rss(server))
                self.assertEqual(server.request("POST", "/api/v1/reports", report(1), token="ingest")[0], 202)
                time.sleep(0.05)
            self.assertLess(peak - before, 250 * MIB)
            starts = [start for _, start in readers]
            self.assertTrue(any(start.startswith(b"HTTP/1.1 200 ") for start in starts))
            for start in starts:
                self.assertRegex(start, rb"HTTP/1.1 (200 |503 .*\r\n(?s:.*)Retry-After: )")
            # A client that reads on gets all of it.
            status, again = server.request("GET", f"/api/v1/reports/{5:032x}")
            self.assertEqual((status, again), (200, whole))
            for s, _ in readers:
                s.close()


if __name__ == "__main__":
    main()
