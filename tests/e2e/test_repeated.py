#!/usr/bin/env python3
"""One server process gets each route's documented request many times, then invalid ones: it must survive all of them.

A defect that needs the same request more than once (a value freed twice, a descriptor that leaks, a lock that is kept)
shows here and nowhere else. A route of openapi.json that has no request in route_requests.py fails the test.
"""

import http.client
import os
import unittest

import route_requests
from case import BINARY, SAMPLE, TIMEOUT_S, TIMES, main
from framezero import Server
from openapi import Description

# This test is not about rate limits.
ARGS = ("--limit", "auth_failures=1000000")

BOUNDARY = route_requests.BOUNDARY.encode()
INVALID = {
    "empty": (b"", {}),
    "text": (b"127.0.0.1 localhost\n" * 20, {}),
    "half an object": (b'{"framezero": 1, "addresses": ["0x1"', {}),
    "deep": (b"[" * 5000, {}),
    "wrong types": (b'{"framezero":[],"addresses":{},"images":7,"events":[[]],"jobs":[3],"uuids":"x"}', {}),
    "zeros": (b"\0" * 4096, {}),
    "form without a file": (route_requests.form(("upload_file_minidump", None, b"")), route_requests.FORM),
    "form with a text as its file":
        (route_requests.form(*((name, "hosts", b"127.0.0.1 localhost\n") for name in
                               ("upload_file_minidump", "file", "dsym", "reports", "xmlstring"))), route_requests.FORM),
    "form cut short": (b"--" + BOUNDARY + b"\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nab", route_requests.FORM),
    "invalid gzip": (b"\x1f\x8b\x08\0garbage", {"Content-Encoding": "gzip"}),
    "invalid zstd": (b"\x28\xb5\x2f\xfdgarbage", {"Content-Encoding": "zstd"}),
}


def processes(server):
    """{pid: role} of the processes that must not change: all but the children, which start and end."""
    found = {}
    for pid in [server.process.pid] + server.descendants():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if b"serve" in words or b"worker" in words:
            found[pid] = "serve" if b"serve" in words else "worker"
    return found


class Repeated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, workers=1, args=ARGS)
        cls.server.start(deadline_s=TIMEOUT_S)
        cls.requests = route_requests.build(cls.server, SAMPLE)
        cls.operations = [(method.upper(), path) for path, methods in Description().root["paths"].items()
                          for method in methods]
        # DELETE comes last, since other routes' requests name what it deletes.
        cls.operations.sort(key=lambda operation: operation[0] == "DELETE")
        cls.before = processes(cls.server)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop(deadline_s=TIMEOUT_S)
        if code != 0:
            raise AssertionError(f"serve ended with {code}")

    def many(self, method, request, times, body=None, headers=None):
        """The statuses of the same request, sent again and again over one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=TIMEOUT_S)
        token = self.server.admin_token if request.token == "admin" else request.token
        all_headers = {**(request.headers if body is None else headers)}
        if token:
            all_headers["Authorization"] = f"Bearer {token}"
        statuses = []
        for _ in range(times):
            connection.request(method, request.path, body=request.body if body is None else body, headers=all_headers)
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
        connection.close()
        return statuses

    def check_alive(self, what):
        self.assertIsNone(self.server.process.poll(), f"serve died of {what}:\n{self.server.log_tail()}")
        gone = self.before.items() - processes(self.server).items()  # a new process may be a child before exec
        self.assertFalse(gone, f"a process died of {what}:\n{self.server.log_tail()}")

    def test_1_documented(self):
        for operation in self.operations:
            with self.subTest(operation=operation):
                self.assertIn(operation, self.requests, "add its documented request to route_requests.py")
                request = self.requests[operation]
                statuses = self.many(operation[0], request, TIMES)
                self.check_alive(operation)
                self.assertEqual(statuses[0], request.status)
                self.assertLess(max(statuses), 500)
                self.assertNotIn(429, statuses)

    def test_2_invalid(self):
        for operation in self.operations:
            if operation[0] not in ("POST", "PUT") or operation not in self.requests:
                continue
            for name, (body, headers) in INVALID.items():
                with self.subTest(operation=operation, body=name):
                    statuses = self.many(operation[0], self.requests[operation], TIMES // 2, body, headers)
                    self.check_alive((operation, name))
                    self.assertLess(max(statuses), 500, statuses[:3])

    def test_3_still_serves(self):
        with open(os.path.join(SAMPLE, "report.json"), "rb") as f:
            status, answer = self.server.request("POST", "/api/v1/reports?wait=30", body=f.read())
        self.assertEqual(status, 200, answer)
        self.check_alive("everything")


if __name__ == "__main__":
    main()
