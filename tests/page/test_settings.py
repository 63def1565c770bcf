#!/usr/bin/env python3
"""The sections of Settings, each as an admin uses it, in a real browser."""

import json
import os

from page_case import PageCase

import sample_data
from case import main, until
from channels import signature
from receivers import HttpReceiver

SHOTS = os.environ.get("FRAMEZERO_SHOTS")
SHOWN = {"shots": SHOTS} if SHOTS else {}
ANN = {"email": "ann@example.com", "password": "correct horse battery"}


HOSTILE = "<img src=x onerror=window.pwned=1>"


class SettingsCase(PageCase):
    def axe(self, *screens, **settings):
        self.journey("axe", screens=[{"name": path, "path": f"/p/default/settings/{path}", "wait": wait, **more} for path, wait, more in screens], **settings)


class Users(SettingsCase):
    """Ann is admin of all projects."""

    def setUp(self):
        super().setUp()
        token = self.server.credentials["setup_url"].partition("#")[2]
        self.server.request("POST", "/api/v1/setup", token=None, body=json.dumps({"token": token, "name": "Ann <b>Lee</b>", **ANN}).encode())

    def test_1_users_and_account(self):
        self.journey("settings_users", login=ANN, **SHOWN)

    def test_2_accessible(self):
        self.axe(("users", ".rows", {"click": ["[aria-label^='More for']"]}), ("users", ".rows", {"click": ["text=Invite somebody"]}),
                 ("account", ".rows", {}), ("audit", "table", {}), login=ANN)

    def test_4_audit(self):
        token = self.server.command("token", "create", "--scope", "admin", "--label", HOSTILE).split()[-1]
        self.assertEqual(self.server.request("PUT", "/api/v1/project", token=token, body=b'{"memory_days": 3}')[0], 200)
        self.assertEqual(self.server.request("POST", "/api/v1/tokens", token=token, body=b'{"scopes": ["ingest"], "label": "app"}')[0], 201)
        self.server.request("POST", "/api/v1/session", token=None, body=json.dumps({**ANN, "password": "wrong password"}).encode())
        self.journey("settings_audit", login=ANN, label=HOSTILE, person=ANN["email"], **SHOWN)

    def test_3_token(self):
        """A token has no account, and may invite."""
        self.journey("settings_token")


class General(SettingsCase):
    def test_1_shared(self):
        self.journey("settings_general", **SHOWN)

    def test_2_accessible(self):
        self.axe(("general", ".form", {}), ("general", ".form", {"click": ["text=New project"]}))


def crash(function):
    """An issue of its own for each function, unless rules skip it."""
    return json.dumps({
        "framezero": 1, "app": {"id": "com.acme.shop", "version": "4.2"}, "crash": {"signal": "SIGSEGV"}, "images": [sample_data.MAIN],
        "threads": [{"index": 0, "crashed": True, "frames": [sample_data.frame("Shop", name, "Shop.c", 7) for name in (function, "run()")]}]})


class Alerts(SettingsCase):
    args = (*SettingsCase.args, "--alert-internal", "127.0.0.1")

    def receiver(self, status):
        receiver = HttpReceiver()
        self.addCleanup(receiver.close)
        receiver.status, receiver.body = status, b"<script>window.pwned=1</script>"
        return receiver, f"http://127.0.0.1:{receiver.port}/hook/secret"

    def test_1_alerts(self):
        (good, good_url), (_, bad_url) = self.receiver(200), self.receiver(500)
        output = self.journey("settings_alerts", good=good_url, bad=bad_url, report=crash("pay()"), **SHOWN)
        secret = output.partition("first secret: ")[2].split()[0]
        until(lambda: len(good.requests) >= 4, "the test, the issue, the issue again, the second test")
        kinds = [json.loads(body)["type"] for _, _, body in good.requests]
        self.assertEqual(kinds, ["test", "issue.created", "issue.created", "test"])
        for _, headers, body in good.requests:
            # While a secret is new, messages are signed with both.
            self.assertIn(signature(secret, headers, body), headers["webhook-signature"].split(" "))
        self.assertEqual(len({headers["webhook-id"] for _, headers, _ in good.requests}), 3)

    def test_2_accessible(self):
        self.axe(("alerts", ".channel", {"click": ["[aria-label^='Log of']"]}), ("alerts", ".channel", {"click": ["text=New channel"]}))


class Rules(SettingsCase):
    def test_1_rules(self):
        for name in ("log_pay()", "log_cart()"):
            self.send(crash(name).encode())
        self.journey("settings_rules", **SHOWN)

    def test_2_accessible(self):
        self.axe(("grouping", ".editor", {"click": ["text=Try it"]}))


class Privacy(SettingsCase):
    def test_1_privacy(self):
        self.journey("settings_privacy", **SHOWN)

    def test_2_accessible(self):
        self.axe(("privacy", ".check", {"click": ["text=Preview"]}))


class Scrubbing(SettingsCase):
    def test_1_rules(self):
        report = json.loads(crash("pay()"))
        report["crash"]["reason"] = f"order-4711 of anna@example.com {HOSTILE}"
        report["tags"] = {"shelf": "B7"}
        self.send(json.dumps(report).encode())
        del report["tags"]
        self.journey("settings_scrub", report=json.dumps(report), masked=f"order-4711 of [email] {HOSTILE}", after=f"[custom] of [email] {HOSTILE}", **SHOWN)


class Retention(SettingsCase):
    args = (*SettingsCase.args, "--limit", "retention_s=1")

    def test_1_retention(self):
        for n in range(12):
            self.send(crash("log_pay()" if n else "log_cart()").replace('"4.2"', f'"4.2.{n}"').encode())
        self.journey("settings_retention", **SHOWN)

    def test_2_accessible(self):
        self.axe(("retention", "table", {"click": ["text=Preview"]}))


if __name__ == "__main__":
    main()
