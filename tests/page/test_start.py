#!/usr/bin/env python3
"""The first steps of an empty project, and the versions of an app, in a real browser."""

import json
import os

from page_case import PageCase

import sample_data
from case import main

SHOTS = os.environ.get("FRAMEZERO_SHOTS")
SHOWN = {"shots": SHOTS} if SHOTS else {}


class FirstRun(PageCase):
    def test_1_reader(self):
        token = self.server.command("token", "create", "--scope", "read")
        self.journey("reader", token=token.split()[-1])

    def test_2_first_run(self):
        self.journey("first_run", **SHOWN)

    def test_3_accessible(self):
        self.journey("axe", screens=[{"name": "first steps", "path": "/p/default/start", "wait": ".first-step"}])


def sessions(release, n, crashed, first):
    """n runs of as many users."""
    lines = [{}]
    for number in range(first, first + n):
        lines += [{"type": "session"}, {"sid": f"{number:032x}", "did": f"user-{number}", "init": True,
                                        "status": "crashed" if number < first + crashed else "exited", "attrs": {"release": release}}]
    return b"\n".join(json.dumps(one).encode() for one in lines)


def crash(version, build, function):
    return json.dumps({
        "framezero": 1, "app": {"id": "com.acme.shop", "version": version, "build": build}, "crash": {"signal": "SIGSEGV"}, "images": [sample_data.MAIN],
        "tags": {"n": f"{version} {function}"},
        "threads": [{"index": 0, "crashed": True, "frames": [sample_data.frame("Shop", function, "Shop.swift", 7)]}]}).encode()


class Settings(PageCase):
    def test_1_tokens(self):
        self.journey("tokens", **SHOWN)

    def test_2_accessible(self):
        self.journey("axe", screens=[
            {"name": "tokens", "path": "/p/default/settings/tokens", "wait": ".wide-table"},
            {"name": "clients", "path": "/p/default/settings", "wait": ".snippets"},
            {"name": "no such section", "path": "/p/default/settings/x", "wait": ".empty"}])


HOSTILE = '9.9"><img src=x onerror=window.pwned=1>..$&'


class VersionsScreen(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.first = 1

    def add(self, release, n, crashed):
        for _ in range(0, n, 50):
            body = sessions(release, min(n, 50), min(crashed, 50), self.first)
            type(self).first += 50
            crashed = max(0, crashed - 50)
            url = f"/api/1/envelope/?sentry_key={self.server.ingest_key}"
            self.assertEqual(self.server.request("POST", url, body=body, token=None)[0], 200)

    def test_1_nothing(self):
        self.journey("axe", screens=[{"name": "no versions", "path": "/p/default/versions", "wait": ".empty"}])

    def test_2_versions(self):
        self.add("com.acme.shop@4.10+410", 200, 20)
        self.add("com.acme.shop@4.9+409", 150, 0)
        self.add("com.acme.shop@4.8+408", 50, 1)
        self.send(crash("4.9", "409", "Cart.total()"))
        self.send(crash("4.10", "410", "Cart.total()"))
        self.send(crash("4.10", "410", "Cart.pay()"))
        self.journey("versions", **SHOWN)

    def test_3_accessible(self):
        # More than the table shows at first.
        for number in range(18):
            self.expect(202, "POST", "/api/v1/reports", body=crash(f"3.{number}", f"{300 + number}", "Cart.total()"))
        self.send(crash(HOSTILE, HOSTILE, "Cart.total()"))
        self.journey("axe", screens=[
            {"name": "versions", "path": "/p/default/versions", "wait": ".chart-area"},
            {"name": "versions of 90 days", "path": "/p/default/versions?since=90d&compare=%3Cscript%3E..x", "wait": ".chart-area"}])
        self.journey("hostile_versions", text=HOSTILE)


if __name__ == "__main__":
    main()
