"""What the tests of the page share: a server with the sample, and a real browser that a journey drives.

A journey is a Node module, journeys/NAME.mjs, which gets a `page` of playwright and fails by throwing. Without npm, Node or
a browser a test is skipped with the reason. ./dev test installs one; playwright-core and axe-core come from npm once.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import clients
from case import CLIENTS, SAMPLE, ServerCase

import sample_data

JOURNEY_S = 300


class PageCase(ServerCase):
    """A server whose project shows values of variables, with the sample's symbols and its crash."""
    args = ("--limit", "events_per_minute=1000000")

    @classmethod
    def setUpClass(cls):
        if not shutil.which("node"):
            raise unittest.SkipTest("there is no node")
        cls.tools = {
            "chromium": clients.find_browser(),
            "playwright": os.path.join(clients.npm(CLIENTS, clients.PLAYWRIGHT), "node_modules", "playwright-core", "index.mjs"),
            "axe": os.path.join(clients.npm(CLIENTS, clients.AXE), "node_modules", "axe-core", "axe.min.js"),
        }
        super().setUpClass()

    def send(self, body, **query):
        words = "&".join(f"{name}={value}" for name, value in {"wait": 30, **query}.items())
        return self.expect(200, "POST", f"/api/v1/reports?{words}", body=body)

    def add_sample(self):
        """The crash that has names, inlined calls and variables."""
        self.expect(200, "PUT", "/api/v1/project", body=json.dumps({"values": "on"}).encode())
        with open(os.path.join(SAMPLE, "Demo.zip"), "rb") as file:
            self.expect(201, "POST", "/api/v1/symbols", body=file.read())
        with open(os.path.join(SAMPLE, "crash.json"), "rb") as file:
            return self.send(file.read())

    def add_reports(self, n, **how):
        """Reports of an app with many issues."""
        *most, last = sample_data.reports(n, **how)
        for body in most:
            self.expect(202, "POST", "/api/v1/reports", body=body)
        self.send(last)

    def journey(self, name, **settings):
        """Run journeys/NAME.mjs; what it prints is part of the test's output, and is returned."""
        told = {"url": self.server.url, "token": self.server.admin_token, **self.tools, **settings}
        done = subprocess.run(["node", os.path.join(HERE, "journeys", "run.mjs"), name, json.dumps(told)], capture_output=True,
                              text=True, timeout=JOURNEY_S, check=False)
        print(done.stdout, end="")
        self.assertEqual(done.returncode, 0, f"{name}: {done.stderr[-3000:]}")
        return done.stdout
