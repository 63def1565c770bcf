#!/usr/bin/env python3
"""What users may do by their roles, on every route; projects and tokens that they make."""

import concurrent.futures
import json
import re

import route_table
from browser import Users
from case import main, report

NOTHING = "0" * 32


class Roles(Users):
    SCOPES = {"viewer": {"read"}, "member": {"read", "write", "upload"}, "admin": {"read", "write", "upload", "admin", "ingest"}}

    def try_route(self, browser, role, method, path, scope):
        body = b"" if method != "GET" else None
        status, answer = browser.send(method, path, body)
        self.assertNotEqual(status, 401)
        if scope not in self.SCOPES[role]:
            self.assertEqual((status, answer["error"]["message"]), (403, f"this user lacks the scope '{scope}'"))
        elif status == 403:  # what only admins of all projects may do
            self.assertRegex(path, "^/api/v1/(users|projects|invitations|tokens)")
        status, answer = browser.send(method, path + ("&" if "?" in path else "?") + "project=other", body)
        self.assertEqual((status, answer["error"]["message"]), (404, "no project 'other'"))

    def test_roles_and_routes(self):
        browsers = {role: self.user(f"role-{role}", role) for role in self.SCOPES}
        tried = []
        # Many at a time: a request for a project that the server does not know waits until its tokens are read the next time.
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for (method, path), row in route_table.read().items():
                if not path.startswith("/api/v1/") or row.scope is None:
                    continue
                path = re.sub(r"\{(id|uuid)\}", NOTHING, path)
                path = re.sub(r"\{\w+\}", "4711", path)
                # Without it, the stream goes on for an hour.
                path += "?seconds=1" if path == "/api/v1/events" else ""
                tried += [((method, path, role), pool.submit(self.try_route, browser, role, method, path, row.scope))
                          for role, browser in browsers.items()]
        for (method, path, role), one in tried:
            with self.subTest(method=method, path=path, role=role):
                one.result()
        self.assertGreater(len(tried), 100)

    def test_admins_of_one_project(self):
        kim, lee = self.user("kim", "admin"), self.user("lee", "viewer", "other")
        lee_id = self.id
        names = {u["name"] for u in self.expect(200, kim.send("GET", "/api/v1/users"))["users"]}
        self.assertIn("Kim", names)
        self.assertIn("Ann", names)  # has a role in all projects
        self.assertNotIn("Lee", names)
        self.expect(404, kim.send("PATCH", f"/api/v1/users/{lee_id}", {"roles": [{"role": "admin"}]}))
        for body in ({"email": "x@example.com", "role": "admin", "project": "*"}, {"email": "kim@example.com", "role": "admin", "project": "*"}):
            self.expect(403, kim.send("POST", "/api/v1/invitations", body))
        self.expect(404, kim.send("POST", "/api/v1/invitations", {"email": "x@example.com", "role": "viewer", "project": "other"}))
        mia = self.user("mia", "viewer")
        one = f"/api/v1/users/{self.id}"
        for change in ({"disabled": True}, {"name": "X"}, {"roles": [{"project": "*", "role": "admin"}]}):
            self.expect(403, kim.send("PATCH", one, change))
        self.expect(404, kim.send("PATCH", one, {"roles": [{"project": "other", "role": "viewer"}]}))
        self.expect(403, kim.send("DELETE", one))
        self.expect(403, kim.send("POST", one + "/reset"))
        self.expect(403, mia.send("PATCH", "/api/v1/issues/1", {}))
        self.expect(200, kim.send("PATCH", one, {"roles": [{"role": "member"}]}))
        self.assertNotEqual(mia.send("PATCH", "/api/v1/issues/1", {})[0], 403)
        self.expect(200, kim.send("PATCH", one, {"roles": [{"role": "none"}]}))
        self.expect(404, mia.send("GET", "/api/v1/issues"))
        self.assertEqual(self.expect(200, mia.send("GET", "/api/v1/session"))["projects"], [])
        self.assertEqual(self.expect(200, lee.send("GET", "/api/v1/session"))["projects"][0]["name"], "other")
        self.expect(200, lee.send("GET", "/api/v1/issues"))  # the user's own project without a word

    def test_bad_changes(self):
        for change in ({}, {"roles": 1}, {"roles": [1]}, {"roles": [{"role": "boss"}]}, {"disabled": "yes"}, {"name": ""},
                       {"roles": [{"role": "viewer", "project": 5}]}):
            self.expect(400, self.ann().send("PATCH", "/api/v1/users/1", change))
        self.expect(404, self.ann().send("PATCH", "/api/v1/users/4711", {"name": "X"}))
        self.expect(404, self.ann().send("PATCH", "/api/v1/users/x", {"name": "X"}))
        for body in ({"email": "x", "role": "viewer"}, {"email": "x@y", "role": "owner"}, {"role": "viewer"}):
            self.expect(400, self.ann().send("POST", "/api/v1/invitations", body))


class Access(Users):
    """Projects and tokens, made by users."""

    def test_projects(self):
        ann, tom = self.ann(), self.user("tom", "admin")
        self.assertEqual(self.expect(201, ann.send("POST", "/api/v1/projects", {"name": "new"}))["name"], "new")
        self.expect(200, ann.send("GET", "/api/v1/issues?project=new"))
        self.expect(409, ann.send("POST", "/api/v1/projects", {"name": "new"}))
        for body in ({}, {"name": 1}, {"name": "Not a name"}, []):
            self.expect(400, ann.send("POST", "/api/v1/projects", body))
        self.expect(403, tom.send("POST", "/api/v1/projects", {"name": "toms"}))
        self.assertEqual([p["name"] for p in self.expect(200, tom.send("GET", "/api/v1/projects"))["projects"]], ["default"])
        self.assertIn("new", [p["name"] for p in self.expect(200, ann.send("GET", "/api/v1/projects"))["projects"]])

    def test_tokens(self):
        ann, uma = self.ann(), self.user("uma", "admin")
        made = self.expect(201, uma.send("POST", "/api/v1/tokens", {"scopes": ["read"], "label": "lab"}))
        self.assertEqual((made["project"], made["scopes"], made["label"]), ("default", ["read"], "lab"))
        self.assertEqual(uma.headers["Cache-Control"], "no-store")
        self.assertEqual(self.server.request("GET", "/api/v1/issues", token=made["token"])[0], 200)
        key = self.expect(201, uma.send("POST", "/api/v1/tokens", {"scopes": ["ingest"]}))["token"]
        self.assertEqual(self.server.request("POST", "/api/v1/reports", report(1), token=key)[0], 202)
        for body, status in (({"scopes": ["read"], "project": "*"}, 403), ({"scopes": ["read"], "project": "other"}, 404), ({}, 400),
                             ({"scopes": []}, 400), ({"scopes": ["root"]}, 400), ({"scopes": "read"}, 400), ({"scopes": [1]}, 400),
                             ({"scopes": ["read"], "label": "x" * 201}, 400), ({"scopes": ["read"], "project": 1}, 400)):
            self.expect(status, uma.send("POST", "/api/v1/tokens", body))
        elsewhere = self.expect(201, ann.send("POST", "/api/v1/tokens", {"scopes": ["read"], "project": "other"}))
        everywhere = self.expect(201, ann.send("POST", "/api/v1/tokens", {"scopes": ["read"], "project": "*"}))
        for token in (elsewhere, everywhere):
            self.expect(404, uma.send("DELETE", f"/api/v1/tokens/{token['id']}"))
        shown = [token["id"] for token in self.expect(200, uma.send("GET", "/api/v1/tokens"))["tokens"]]
        self.assertIn(made["id"], shown)
        self.assertFalse({elsewhere["id"], everywhere["id"]} & set(shown))
        self.assertIn(everywhere["id"], [t["id"] for t in self.expect(200, ann.send("GET", "/api/v1/tokens"))["tokens"]])
        self.assertNotIn(made["token"], json.dumps(self.expect(200, uma.send("GET", "/api/v1/tokens"))))
        self.expect(204, uma.send("DELETE", f"/api/v1/tokens/{made['id']}"))
        self.assertEqual(self.server.request("GET", "/api/v1/issues", token=made["token"])[0], 401)
        self.expect(404, uma.send("DELETE", "/api/v1/tokens/x"))


if __name__ == "__main__":
    main()
