#!/usr/bin/env python3
"""The audit log: what is recorded, of whom and from where; no secrets; who may read it."""

import json

from browser import Browser
from case import ServerCase, main, until


class Audit(ServerCase):
    workers = 0

    def ask(self, method, path, body=None, token="admin", want=None):
        status, answer = self.server.request(method, path, body=None if body is None else json.dumps(body).encode(), token=token)[:2]
        if want:
            self.assertEqual(status, want, answer)
        return answer

    def entries(self, query="", token="admin"):
        return self.ask("GET", f"/api/v1/audit{query}", token=token, want=200)["entries"]

    def wait_entry(self, action):
        return until(lambda: self.entries(f"?action={action}"), f"an entry {action}")[0]

    def test_1_changes(self):
        made = self.ask("POST", "/api/v1/tokens", {"label": "build <b>x</b>", "scopes": ["upload"]}, want=201)
        entry = self.wait_entry("token_post")
        self.assertEqual((entry["detail"], entry["actor"]["kind"], entry["address"]), ("label, scopes", "token", "127.0.0.1"))
        self.assertNotIn("object", entry)
        self.ask("DELETE", f"/api/v1/tokens/{made['id']}", want=204)
        self.assertEqual(self.wait_entry("token_revoke")["object"], str(made["id"]))
        hook = {"name": "c", "kind": "webhook", "url": "https://hooks.example.com/very-secret-part", "events": ["issue.created"]}
        self.ask("POST", "/api/v1/channels", hook)
        self.ask("PUT", "/api/v1/project", {"scrub_rules": ["text:hunter2"], "values": "on"}, want=200)
        self.assertEqual(self.wait_entry("project_put")["detail"], "scrub_rules, values")
        # What fails or changes nothing is not there; nor are values and tokens.
        self.ask("PUT", "/api/v1/project", {"values": 7}, want=400)
        self.ask("POST", "/api/v1/grouping/dry-run", {"rules": ""}, want=200)
        self.ask("POST", "/api/v1/scrubbing/preview", {"scrub_rules": []}, want=200)
        self.ask("PUT", "/api/v1/grouping", {"rules": ""}, want=200)
        self.wait_entry("grouping_put")
        text = json.dumps(self.entries("?limit=500"))
        for secret in ("very-secret-part", "hunter2", made["token"], "<b>", "grouping_try", "scrubbing_preview"):
            self.assertNotIn(secret, text)
        self.assertEqual(len(self.entries("?action=project_put")), 1)

    def test_2_reading(self):
        for i in range(4):
            self.ask("PUT", "/api/v1/project", {"values": "off"}, want=200)
        until(lambda: len(self.entries("?action=project_put")) >= 5, "the entries")
        seen, cursor = [], ""
        while cursor is not None:
            page = self.ask("GET", f"/api/v1/audit?limit=2{cursor}", want=200)
            seen += [e["id"] for e in page["entries"]]
            cursor = f"&cursor={page['next_cursor']}" if "next_cursor" in page else None
        self.assertEqual(seen, sorted(set(seen), reverse=True))
        self.assertEqual(seen, [e["id"] for e in self.entries("?limit=500")])
        self.assertEqual(self.entries("?until=2020-01-01T00:00:00Z"), [])
        self.assertEqual(self.entries("?actor=nobody"), [])
        for wrong in ("?cursor=x", "?limit=0", "?limit=501", "?since=x", "?x=1"):
            self.ask("GET", f"/api/v1/audit{wrong}", want=400)
        read = self.ask("POST", "/api/v1/tokens", {"label": "r", "scopes": ["read", "write", "variables"]}, want=201)["token"]
        self.ask("GET", "/api/v1/audit", token=read, want=403)
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            self.assertEqual(self.server.request(method, "/api/v1/audit", body=b"{}")[0], 405)

    def test_3_projects(self):
        self.ask("POST", "/api/v1/projects", {"name": "till"}, want=201)
        own = self.ask("POST", "/api/v1/tokens?project=till", {"label": "own", "scopes": ["admin"]}, want=201)["token"]
        until(lambda: self.entries("?project=till"), "an entry of the project")
        self.ask("PUT", "/api/v1/project", {"values": "off"}, token=own, want=200)
        entry = until(lambda: self.entries("?action=project_put", token=own), "its entry")[0]
        self.assertEqual(entry["actor"]["name"], "own")
        # Neither of the other project nor of none.
        self.assertEqual({e["action"] for e in self.entries("?limit=500", token=own)}, {"token_post", "project_put"})

    def test_4_logins(self):
        browser = Browser(self.server)
        self.assertEqual(browser.open_link(self.server.credentials["setup_url"], email="ann@example.com", name="Ann")[0], 201)
        self.assertEqual(self.wait_entry("login")["actor"]["name"], "ann@example.com")
        self.assertEqual(browser.send("POST", "/api/v1/session", {"email": "ann@example.com", "password": "my wrong password"})[0], 401)
        self.assertEqual(browser.send("POST", "/api/v1/session", {"email": "hunter2", "password": "x"})[0], 401)
        until(lambda: len(self.entries("?action=login_failed")) == 2, "the failed logins")
        names = [e["actor"]["name"] for e in self.entries("?action=login_failed")]
        self.assertEqual(names, ["?", "ann@example.com"])
        self.assertEqual(browser.send("POST", "/api/v1/session", {"token": self.server.admin_token})[0], 200)
        until(lambda: len(self.entries("?action=login")) == 2, "the login")
        entry = self.wait_entry("login")
        self.assertEqual((entry["actor"]["kind"], entry["all_projects"]), ("token", True))
        text = json.dumps(self.entries("?limit=500"))
        for secret in ("my wrong password", "hunter2", self.server.admin_token):
            self.assertNotIn(secret, text)


if __name__ == "__main__":
    main()
