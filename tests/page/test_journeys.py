#!/usr/bin/env python3
"""Journeys through the page as a person makes them, in a real browser."""

import base64
import json
import os
import urllib.parse

from page_case import PageCase

import sample_data
from case import SAMPLE, main, until


def crash_in(app, function):
    """An issue of its own for each function."""
    return json.dumps({
        "framezero": 1, "app": {"id": app, "version": "1"}, "crash": {"signal": "SIGSEGV"}, "images": [sample_data.MAIN],
        "threads": [{"index": 0, "crashed": True, "frames": [sample_data.frame("Shop", function, "Shop.swift", 7)]}]})


class Journeys(PageCase):
    def test_1_first_look(self):
        self.add_sample()
        self.journey("first_look")

    def test_2_keyboard(self):
        self.add_reports(60)
        self.journey("keyboard")

    def test_3_accessible(self):
        issues = self.expect(200, "GET", "/api/v1/issues?query=app:com.example.demo")["issues"]
        number = issues[0]["number"]
        screens = [
            {"name": "login", "path": "/login", "wait": "form", "loggedIn": False},
            {"name": "setup", "path": "/setup#token", "wait": "form", "loggedIn": False},
            {"name": "issues", "path": "/p/default/issues", "wait": ".issue-link", "keys": ["j", "x"]},
            {"name": "wrong query", "path": "/p/default/issues?query=vesion:4", "wait": ".query-error"},
            {"name": "no issue", "path": "/p/default/issues?query=version:99", "wait": ".empty"},
            {"name": "merge", "path": "/p/default/issues", "wait": ".issue-link", "keys": ["j", "x", "j", "x", "m"]},
            {"name": "shortcuts", "path": "/p/default/issues", "wait": ".issue-link", "keys": ["?"]},
            {"name": "issue", "path": f"/p/default/issues/{number}?since=7d", "wait": ".vars"},
            {"name": "issue with all", "path": "/p/default/issues/2", "wait": ".stack", "keys": ["f", "v"]},
            {"name": "no such issue", "path": "/p/default/issues/9999", "wait": ".failure"},
            {"name": "no such project", "path": "/p/nothing/issues", "wait": ".empty"},
        ]
        self.journey("axe", screens=screens)


    def test_4_long_list(self):
        n = 250
        for number in range(n):
            self.expect(202, "POST", "/api/v1/reports", body=crash_in("com.acme.long", f"Long.f{number}()").encode())
        until(lambda: self.server.request("GET", "/api/v1/reports?app=com.acme.long&status=queued")[1]["reports"] == [], "all are processed")
        self.journey("long_list", n=n)

    def test_5_early(self):
        report = json.loads(crash_in("com.acme.early", "Early.run()"))
        report["crash"]["reason"] = "a reason"
        sent = self.send(json.dumps(report).encode())
        self.journey("early", issue=sent["issue"]["number"], report=sent["id"])


class Live(PageCase):
    def test_live(self):
        def sample(name):
            with open(os.path.join(SAMPLE, name), "rb") as file:
                return file.read()
        self.send(sample("report.json"))
        self.journey("live", reports=[crash_in("com.acme.live", f"Live.{name}()") for name in ("first", "second", "third")],
                     dsym=base64.b64encode(sample("Demo.dSYM.zip")).decode())


class LiveRefused(PageCase):
    args = ("--limit", "event_streams_project=1")

    def test_live(self):
        self.send(crash_in("com.acme.first", "First.run()").encode())
        self.journey("live_refused", report=crash_in("com.acme.live", "Live.first()"))


class Projects(PageCase):
    def test_two_projects(self):
        self.send(crash_in("com.acme.first", "First.run()").encode())
        self.expect(201, "POST", "/api/v1/projects", body=b'{"name": "other"}')
        self.journey("two_projects")


class Users(PageCase):
    def test_users(self):
        self.journey("users", setup=self.server.credentials["setup_url"])


HOSTILE = (
    '<script>window.pwned=1</script>', '<img src=x onerror="window.pwned=1">', '"><svg onload=window.pwned=1>',
    "javascript:window.pwned=1", "{{constructor.constructor('window.pwned=1')()}}", "${window.pwned=1}", "</title><script>window.pwned=1</script>",
    "' onmouseover='window.pwned=1", "<base href=https://evil.example/>", '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    "<a href=\"https://evil.example/\">x</a>", "A" * 4000, "\u202eesrever\u2066", "\U0001f480" * 300, "a\u0301\u0302\u0303" * 200, "\t\r\n \v",
    "https://evil.example/x.js", "<style>*{display:none}</style>", "__proto__", "constructor", "toString", "%s%n%x", "../../../../etc/passwd",
)


def hostile_report(text, number):
    """Every text that the native format has is the hostile one."""
    own = {"uuid": "4c4c442e-5555-3144-a138-77438443%04x" % number, "name": text, "path": f"/X/{text}.app/{text}", "arch": "arm64",
           "address": "0x100000000", "size": 1 << 20}
    frames = [{"address": hex(0x100004000 + 64 * i), "function": f"f{number}{text}", "file": text, "line": 7} for i in range(3)]
    return {
        "framezero": 1, "arch": "arm64", "app": {"id": text, "name": text, "version": text, "build": text},
        "os": {"name": text, "version": text, "build": text}, "device": {"model": text}, "environment": text,
        "crash": {"thread": 0, "signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS", "code": text, "address": "0x8", "exception": text, "reason": text},
        "threads": [{"index": 0, "name": text, "queue": text, "crashed": True, "frames": frames}], "images": [own],
        "user": {"id": text, "email": text, "name": text}, "tags": {text: text, "t": text},
        "breadcrumbs": [{"timestamp": text, "category": text, "message": text}]}


def cut(text, n_bytes):
    return text.encode()[:n_bytes].decode(errors="ignore").strip() or "-"


class Hostile(PageCase):
    def test_hostile_texts(self):
        sent = 0
        for number, text in enumerate(HOSTILE):
            status, _ = self.server.request("POST", "/api/v1/reports?wait=30", body=json.dumps(hostile_report(text, number)).encode())
            sent += status == 200
        # Some are refused by the limits of fields; most are what the page must show.
        self.assertGreater(sent, len(HOSTILE) - 4)
        numbers = [one["number"] for one in self.expect(200, "GET", "/api/v1/issues?limit=100")["issues"]]
        self.assertGreater(len(numbers), 8)
        for number, text in zip(numbers, HOSTILE):
            self.expect(201, "POST", f"/api/v1/issues/{number}/comments", body=json.dumps({"text": text if text.strip() else "-"}).encode())
            self.expect(200, "PATCH", f"/api/v1/issues/{number}",
                        body=json.dumps({"assignee": cut(text, 200), "title": cut(text, 500)}).encode())
        paths = []
        for text in HOSTILE[:4]:
            quoted = urllib.parse.quote(text, safe="")
            paths += [f"/p/{quoted}/issues", f"/p/default/issues/{quoted}", f"/p/default/{quoted}",
                      f"/p/default/issues?query={quoted}&since={quoted}&until={quoted}&sort={quoted}", f"/p/default/issues/1?report={quoted}"]
        self.journey("hostile", numbers=numbers, paths=paths)


if __name__ == "__main__":
    main()
