"""What the end-to-end tests share: arguments, places, a server for each class, waiting.

Each test is a program: test_x.py --framezero BINARY [--clients FOLDER] [--shim LIBRARY] [unittest arguments]. The
arguments are read when this module is imported, since tests are skipped by them.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import unittest

from framezero import Server

_parser = argparse.ArgumentParser()
_parser.add_argument("--framezero", required=True, help="the program under test")
_parser.add_argument("--clients", default="build/clients", help="folder for clients that are installed once")
_parser.add_argument("--shim", default="", help="the library that moves a server's clock")
_parser.add_argument("--times", type=int, default=30, help="how often test_repeated.py sends each request")
_parser.add_argument("--timeout", type=int, default=60, help="seconds for one request of test_repeated.py")
_options, REST = _parser.parse_known_args()

BINARY = os.path.abspath(_options.framezero)
CLIENTS = os.path.abspath(_options.clients)
SHIM = os.path.abspath(_options.shim)
TIMES, TIMEOUT_S = _options.times, _options.timeout
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SAMPLE = os.path.join(SOURCE, "docs", "sample")
CORPUS = os.environ.get("FRAMEZERO_CORPUS", "")
MANY_FAILURES = ("--limit", "auth_failures=100000")


def main(**how):
    return unittest.main(argv=sys.argv[:1] + REST, verbosity=2, **how)


def until(condition, what, deadline_s=60):
    """Wait until condition() is true; returns its value."""
    end = time.monotonic() + deadline_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        time.sleep(0.02)


def report(n=0, **more):
    """The smallest report in framezero's own format; n makes it another one."""
    return json.dumps({"framezero": 1, "addresses": [hex(0x100000000 + 16 * n)], **more}).encode()


class ServerCase(unittest.TestCase):
    """One server for all tests of a class."""
    server_type = Server
    workers = 1
    args = ()

    @classmethod
    def setUpClass(cls):
        cls.server = cls.server_type(BINARY, workers=cls.workers, args=cls.args)
        cls.addClassCleanup(cls.stop_server)
        cls.server.start()

    @classmethod
    def stop_server(cls):
        code = cls.server.stop()
        if code:
            raise AssertionError(f"serve ended with {code}:\n{cls.server.log_tail()}")

    def expect(self, status, method, path, **options):
        got, answer = self.server.request(method, path, **options)
        self.assertEqual(got, status, answer)
        return answer


class FolderCase(unittest.TestCase):
    """A temporary folder for each test."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="framezero-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, data):
        path = self.path(*name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        return path
