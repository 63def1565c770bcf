#!/usr/bin/env python3
"""Walks through all screens in a real browser: with the keyboard alone, as a viewer and as a member, and through an OpenID provider."""

import json
import os
import subprocess
import unittest

from page_case import PageCase

import clients
from case import CLIENTS, MANY_FAILURES, SOURCE, main
from framezero import Server, free_port
from oidc_person import BACK

PASSWORD = "correct horse battery"
SECTIONS = ["Connect an app", "General", "Your account"]


class Walks(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for role in ("viewer", "member"):
            url = cls.server.command("user", "invite", "--email", f"{role}@acme.example", "--role", role)
            body = {"token": url.split("#")[1].strip(), "name": role.title(), "password": PASSWORD}
            assert cls.server.request("POST", "/api/v1/invitations/accept", body=json.dumps(body).encode(), token=None)[0] == 201

    ready = None

    def prepare(self):
        """An issue with variables and its report; others, whose symbols are missing; a filter."""
        if Walks.ready:
            return Walks.ready
        sample = self.add_sample()["id"]
        self.add_reports(3)
        self.expect(201, "POST", "/api/v1/filters", body=json.dumps({"name": "Crashes", "query": "kind:crash"}).encode())
        number = self.expect(200, "GET", "/api/v1/issues?query=app:com.example.demo")["issues"][0]["number"]
        Walks.ready = number, sample
        return Walks.ready

    def test_1_keyboard(self):
        number, sample = self.prepare()
        screens = [("issues", ".issue-link"), (f"issues/{number}", ".vars"), ("reports", ".issue-link"), (f"reports/{sample}", ".vars"), ("versions", "h1"),
                   ("symbols", ".missing-name"), ("start", ".first-step"), ("settings/clients", ".snippets"), ("settings/general", ".form"),
                   *((f"settings/{name}", "main h2") for name in ("tokens", "alerts", "grouping", "privacy", "retention", "audit", "users"))]
        opens = [("issues", ".issue-link", "Filters", None, "menu"), ("issues", ".issue-link", "Filters", "Save this filter…", "dialog"),
                 ("issues", ".issue-link", "Keyboard shortcuts", None, "dialog"), (f"issues/{number}", ".vars", "Resolve", None, "menu"),
                 (f"issues/{number}", ".vars", "More actions", "Links to source code…", "dialog"), ("settings/tokens", "table", "New token or key", None, "dialog"),
                 ("settings/users", "main h2", "Invite somebody", None, "dialog"), ("settings/alerts", "main h2", "New channel", None, "dialog")]
        self.journey("keyboard_walk", screens=[{"path": f"/p/default/{path}", "wait": wait} for path, wait in screens],
                     opens=[{"path": f"/p/default/{path}", "wait": wait, "button": button, "item": item, "role": role} for path, wait, button, item, role in opens])

    def walk(self, role, **of):
        """`of`: by the name of a screen, what has to be offered there; everything else of OFFERS must not be."""
        number, sample = self.prepare()
        offers = {
            "issues": ("/p/default/issues", ".issue-link", ["^Select issue", "^Save this filter"], ["j", "x", "e", "a", "m"]),
            "issue": (f"/p/default/issues/{number}", ".stack", ["^Resolve", "^Ignore", "^(Assign|Reassign)", "^Merge", "^Write a comment|^Comment"], ["e", "i", "a", "m"]),
            "reports": ("/p/default/reports", ".issue-link", [], ["j", "Enter"]),
            "report": (f"/p/default/reports/{sample}", ".report-screen", ["again", "^Delete"], ["n", "p"]),
            "versions": ("/p/default/versions", "main h1", ["^CSV$"], []),
            "symbols": ("/p/default/symbols", ".missing-name", ["^Choose files", "^Delete"], []),
            "start": ("/p/default/start", ".first-step", ["^Send the sample", "^Upload the sample", "^Make a key"], []),
            "general": ("/p/default/settings/general", ".form", ["^Rename$", "^Save$", "^Delete Crashes", "^New project"], []),
            "clients": ("/p/default/settings/clients", ".snippets", ["^Make a key"], []),
            "account": ("/p/default/settings/account", ".form", ["^Change the name", "^Log out everywhere"], []),
        }
        screens = [{"path": path, "wait": wait, "keys": keys if role == "viewer" else [], "has": of.get(name, []), "hasNot": [one for one in names if one not in of.get(name, [])]}
                   for name, (path, wait, names, keys) in offers.items()]
        self.journey("roles", role=role, login={"email": f"{role}@acme.example", "password": PASSWORD}, screens=screens, sections=SECTIONS)

    def test_2_viewer(self):
        self.walk("viewer", issues=["^Save this filter"], versions=["^CSV$"], account=["^Change the name", "^Log out everywhere"])

    def test_3_member(self):
        self.walk("member", issues=["^Select issue", "^Save this filter"], issue=["^Resolve", "^Ignore", "^(Assign|Reassign)", "^Merge", "^Write a comment|^Comment"],
                  versions=["^CSV$"], symbols=["^Choose files"], general=["^Delete Crashes"],
                  account=["^Change the name", "^Log out everywhere"])


class Oidc(PageCase):
    """With a provider that others have written, as in e2e.oidc_real."""

    @classmethod
    def server_type(cls, binary, **how):
        folder, port = clients.npm(CLIENTS, "oidc-provider@9.13.3"), free_port()
        url = f"http://127.0.0.1:{port}"
        process = subprocess.Popen(["node", os.path.join(SOURCE, "tests", "e2e", "real_provider.mjs"), folder, url + BACK],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(lambda: (process.terminate(), process.wait(), process.stdout.close()))
        cls.provider = process.stdout.readline().strip()
        if not cls.provider:
            raise unittest.SkipTest("the provider does not start: is this node older than 20?")
        how["args"] = [*how["args"], "--public-url", url, "--oidc-issuer", cls.provider, "--oidc-client-id", "framezero", "--oidc-internal", "127.0.0.1",
                       "--oidc-domains", "acme.example", "--oidc-name", "Acme", *MANY_FAILURES]
        server = Server(binary, **how, env={"FRAMEZERO_OIDC_CLIENT_SECRET": "a secret/+&"})
        server.port = port
        return server

    def test_login(self):
        url = self.server.command("user", "invite", "--email", "ann@acme.example", "--role", "admin", "--project", "*")
        body = {"token": url.split("#")[1].strip(), "name": "Ann", "password": PASSWORD}
        self.expect(201, "POST", "/api/v1/invitations/accept", body=json.dumps(body).encode(), token=None)
        self.add_reports(1)
        self.journey("oidc", other=self.provider)


if __name__ == "__main__":
    main()
