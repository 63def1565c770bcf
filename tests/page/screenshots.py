#!/usr/bin/env python3
"""Pictures of the page: ./dev screenshots. All screens with the sample's data, in both themes, at 1,280 and 360 px, in FRAMEZERO_SCREENSHOTS.

NAME-THEME-WIDTH.png is a whole screen. NAME.webp is what fits a window, for docs/images: copy it there when a screen has changed much.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from page_case import PageCase

import test_start
from case import SOURCE, main
from clock import Clock
from framezero import Server

FOLDER = os.environ.get("FRAMEZERO_SCREENSHOTS") or sys.exit("FRAMEZERO_SCREENSHOTS names the folder for the pictures")


DAYS = 28
LOGIN = {"email": "ann@acme.example", "password": "correct horse battery"}
SHIM = os.path.join(SOURCE, "tests", "e2e", "clock_shim.c")


class Screenshots(PageCase):
    @classmethod
    def server_type(cls, *args, **how):
        """A server whose clock can be set, so that reports come on many days."""
        cls.folder = tempfile.mkdtemp(prefix="framezero-screenshots-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        shim = os.path.join(cls.folder, "clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, SHIM], check=True)
        cls.clock = Clock(os.path.join(cls.folder, "offset"), shim)
        cls.set_day(DAYS)
        return Server(*args, env=cls.clock.environment(), **how)

    @classmethod
    def set_day(cls, ago):
        cls.clock.set(-86400 * ago)

    def add_days(self):
        """Reports of four weeks: fewer at weekends, more since each release."""
        rng = random.Random(3)
        for ago in range(DAYS, -1, -1):
            self.set_day(ago)
            newest = min(5, 6 * (DAYS - ago) // DAYS)
            n = rng.randint(4, 9) + (0 if ago % 7 in (2, 3) else 6) + (8 if ago in (13, 12, 4, 3) else 0)
            self.add_reports(n, newest=newest, seed=100 + ago)

    def add_sessions(self):
        first = 1
        for ago in range(13, -1, -1):
            self.set_day(ago)
            for n, (version, build) in enumerate((("4.1.1", "411"), ("4.2", "421"), ("4.3", "430"))):
                share = (ago / 13, 0.6, 1 - ago / 13)[n]
                body = test_start.sessions(f"com.acme.shop@{version}+{build}", 20 + int(60 * share), 1 + (ago * (n + 2)) % 3, first)
                self.expect(200, "POST", f"/api/1/envelope/?sentry_key={self.server.ingest_key}", body=body, token=None)
                first += 100

    def add_settings(self):
        """What the sections of the settings show."""
        for label, scopes in (("CI: dSYMs", ["upload"]), ("Grafana", ["read"]), ("Shop 4.3", ["ingest"])):
            self.expect(201, "POST", "/api/v1/tokens", body=json.dumps({"label": label, "scopes": scopes}).encode())
        self.expect(201, "POST", "/api/v1/channels", body=json.dumps(
            {"name": "iOS team", "kind": "slack", "url": "https://hooks.slack.com/services/T000/B000/XXXX"}).encode())
        for name, role in (("ann", "admin"), ("kim", "member"), ("lee", "viewer")):
            url = self.server.command("user", "invite", "--email", f"{name}@acme.example", "--role", role)
            body = {"token": url.split("#")[1].strip(), "name": name.title(), "password": LOGIN["password"]}
            self.expect(201, "POST", "/api/v1/invitations/accept", body=json.dumps(body).encode(), token=None)

    def test_screenshots(self):
        os.makedirs(FOLDER, exist_ok=True)
        self.set_day(0)
        setup = {"name": "setup", "path": "/setup#token", "wait": "form", "loggedIn": False}
        start = {"name": "first-steps", "path": "/p/default/start", "wait": ".first-step"}
        self.journey("screenshots", folder=FOLDER, screens=[start, setup])
        self.add_days()
        self.add_sessions()
        sample = self.add_sample()["id"]
        self.add_settings()
        demo, most = (self.expect(200, "GET", f"/api/v1/issues?sort=reports&query={query}")["issues"][0]["number"]
                      for query in ("app:com.example.demo", "app:com.acme.shop"))
        self.expect(201, "POST", f"/api/v1/issues/{most}/comments", body=json.dumps({"text": "The cart is emptied while its total is computed."}).encode())
        self.expect(200, "PATCH", f"/api/v1/issues/{most}", body=json.dumps({"assignee": "Kim"}).encode())
        self.journey("screenshots", folder=FOLDER, screens=[
            {"name": "login", "path": "/login", "wait": "form", "loggedIn": False},
            {"name": "issues", "path": "/p/default/issues", "wait": ".issue-link", "document": "light-1280"},
            {"name": "issue", "path": f"/p/default/issues/{most}", "wait": ".stack", "document": "dark-1280"},
            {"name": "variables", "path": f"/p/default/issues/{demo}", "wait": ".vars", "document": "light-1280"},
            {"name": "reports", "path": "/p/default/reports", "wait": ".issue-link"},
            {"name": "report", "path": f"/p/default/reports/{sample}", "wait": ".vars"},
            {"name": "versions", "path": "/p/default/versions", "wait": ".chart-area"},
            {"name": "symbols", "path": "/p/default/symbols", "wait": ".missing-name", "click": [".missing-name"]},
            {"name": "settings", "path": "/p/default/settings", "wait": ".snippets"},
            *({"name": name, "path": f"/p/default/settings/{name}", "wait": "main h2"}
              for name in ("tokens", "alerts", "grouping", "privacy", "users", "account")),
        ], login=LOGIN)
        print(f"{len(os.listdir(FOLDER))} pictures in {FOLDER}")


if __name__ == "__main__":
    main()
