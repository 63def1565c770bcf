#!/usr/bin/env python3
"""The screens of reports and of symbol files, in a real browser."""

import base64
import json
import os

from page_case import PageCase
from test_journeys import HOSTILE, hostile_report

from case import SAMPLE, main

THREADS, FRAMES = 512, 40


def read(name):
    with open(os.path.join(SAMPLE, name), "rb") as file:
        return file.read()


def big_report():
    """As many threads as a report may have, two frames to be found in them, and a long reason."""
    def frame(thread, n):
        name = {(300, 3): "needle_a()", (511, 39): "needle_b()"}.get((thread, n), f"f{thread}_{n}()")
        return {"address": hex(0x100001000 + 64 * n), "function": name, "file": "/s/f.swift", "line": n + 1}
    threads = [{"index": i, "name": f"worker {i}", "crashed": i == 300, "frames": [frame(i, n) for n in range(FRAMES)]} for i in range(THREADS)]
    images = [{"uuid": "4c4c442e-5555-3144-a138-7743%08x" % i, "name": f"lib{i}.dylib", "arch": "arm64",
               "path": f"/private/var/containers/Bundle/Application/Big.app/Frameworks/lib{i}.dylib", "address": hex(0x100000000 + i * 0x100000),
               "size": 0x100000} for i in range(300)]
    return json.dumps({"framezero": 1, "arch": "arm64", "app": {"id": "com.big", "version": "1"}, "threads": threads, "images": images,
                       "crash": {"thread": 300, "signal": "SIGSEGV", "address": "0x10", "reason": "x" * 100000},
                       "memory": [{"address": "0x280000000", "bytes": base64.b64encode(bytes(range(64))).decode()}],
                       "breadcrumbs": ["plain text", {"message": {"deep": 1}}, {"message": "one", "data": "all of it"}],
                       "extra": {"a": {"b": [1, 2, {"c": "y" * 3000}]}}}).encode()


class Reports(PageCase):
    def test_1_report(self):
        first = self.add_sample()["id"]
        body = json.loads(read("crash.json"))
        body["id"] = "00000000000000000000000000000002"
        second = self.send(json.dumps(body).encode())["id"]
        self.assertNotEqual(first, second)
        self.journey("report", big=self.send(big_report())["id"])

    def test_2_accessible(self):
        big = self.send(big_report())["id"]
        sample = self.add_sample()["id"]
        screens = [
            {"name": "reports", "path": "/p/default/reports", "wait": ".issue-link", "keys": ["j"]},
            {"name": "no report", "path": "/p/default/reports?query=version:99", "wait": ".empty"},
            {"name": "report", "path": f"/p/default/reports/{sample}", "wait": ".vars", "click": [".frame-number", ".registers-button"]},
            {"name": "big report", "path": f"/p/default/reports/{big}", "wait": ".thread", "click": [".tree .twist"], "keys": ["/", "n", "e"]},
            {"name": "no such report", "path": "/p/default/reports/00000000000000000000000000000009", "wait": ".failure"},
            {"name": "symbols", "path": "/p/default/symbols", "wait": ".missing-name", "click": [".missing-name"]},
        ]
        self.journey("axe", screens=screens)


class Symbols(PageCase):
    def test_missing_file(self):
        report = self.send(read("crash.json"))["id"]
        self.journey("symbols", report=report, zip64=base64.b64encode(read("Demo.zip")).decode())


class HostileReports(PageCase):
    def test_hostile_texts(self):
        for number, text in enumerate(HOSTILE):
            self.server.request("POST", "/api/v1/reports?wait=30", body=json.dumps(hostile_report(text, number)).encode())
        ids = [one["id"] for one in self.expect(200, "GET", "/api/v1/reports?limit=100")["reports"]]
        self.assertGreater(len(ids), len(HOSTILE) - 4)
        paths = ["/p/default/reports", *(f"/p/default/reports/{one}" for one in ids)]
        missing = self.expect(200, "GET", "/api/v1/symbols/missing?limit=100")["missing"]
        self.assertGreater(len(missing), 8)
        paths += [f"/p/default/symbols?uuid={one['uuid']}" for one in missing[:8]]
        paths += ["/p/default/symbols?uuid=%3Cscript%3E", "/p/default/reports/%3Cscript%3E", "/p/default/reports?query=%3Cscript%3E&status=%3Cb%3E"]
        self.journey("hostile", numbers=[], paths=paths)


if __name__ == "__main__":
    main()
