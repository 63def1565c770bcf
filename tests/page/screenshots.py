#!/usr/bin/env python3
"""Pictures of the page: ./dev screenshots. All screens with the sample's data, in both themes, at 1,280 and 360 px, in FRAMEZERO_SCREENSHOTS.

NAME-THEME-WIDTH.png is a whole screen. NAME.webp is what fits a window, for docs/images: copy it there when a screen has changed much.
"""

import json
import os
import sys

from page_case import PageCase

import test_start
from case import main

FOLDER = os.environ.get("FRAMEZERO_SCREENSHOTS") or sys.exit("FRAMEZERO_SCREENSHOTS names the folder for the pictures")


class Screenshots(PageCase):
    def add_sessions(self):
        first = 1
        for version, build, n, crashed in (("4.1.1", "411", 30, 1), ("4.2", "421", 90, 2), ("4.3", "430", 150, 6)):
            for _ in range(0, n, 30):
                body = test_start.sessions(f"com.acme.shop@{version}+{build}", 30, min(crashed, 3), first)
                self.expect(200, "POST", f"/api/1/envelope/?sentry_key={self.server.ingest_key}", body=body, token=None)
                first, crashed = first + 30, max(0, crashed - 3)

    def test_screenshots(self):
        os.makedirs(FOLDER, exist_ok=True)
        start = {"name": "first-steps", "path": "/p/default/start", "wait": ".first-step"}
        self.journey("screenshots", folder=FOLDER, screens=[start])
        sample = self.add_sample()["id"]
        self.add_reports(120)
        self.add_sessions()
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
            {"name": "tokens", "path": "/p/default/settings/tokens", "wait": ".wide-table"},
        ])
        print(f"{len(os.listdir(FOLDER))} pictures in {FOLDER}")


if __name__ == "__main__":
    main()
