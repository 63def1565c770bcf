#!/usr/bin/env python3
"""Every route of the server with every kind of credential: who gets in, what others can find out, what each scope learns.

The requests are those of route_requests.py, which names each route of openapi.json; that says which scope a route needs, and
the tables in the source must say the same. The project `default` has something of everything; the project `other` is empty, and its tokens and users try.
"""

import concurrent.futures
import json
import os
import re

import route_requests
import route_table
from browser import Users
from case import SAMPLE, SOURCE, main

SCOPES = ("ingest", "upload", "read", "variables", "write", "admin")
# What a scope includes (docs/api/README.md).
INCLUDES = {"admin": set(SCOPES)}
ROLES = {"viewer": {"read"}, "member": {"read", "variables", "write", "upload"}, "admin": set(SCOPES)}
# Without a token by intent: what monitors and browsers ask, logins, and the way to a login.
OPEN = {
    ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/"), ("GET", "/api/v1/openapi.json"),
    ("GET", "/api/v1/session"), ("POST", "/api/v1/session"), ("DELETE", "/api/v1/session"),
    ("GET", "/api/v1/session/oidc"), ("GET", "/api/v1/session/oidc/callback"),
    ("POST", "/api/v1/setup"), ("POST", "/api/v1/invitations/accept"), ("POST", "/api/v1/reset"),
    # Only for the project that the operator names; none here.
    ("POST", "/symbolicate/v5"),
}
# Only a user has an account.
ACCOUNT = "/api/v1/account"
# Only admins of all projects.
EVERYWHERE = {("POST", "/api/v1/projects")}
# What row security does not keep from the rows of other projects (docs/security.md), since it is about projects, tokens and people.
# A route that is added here must look itself at what it shows to whom.
SEES_ALL = re.compile(r"(GET|POST) /api/v1/projects|(GET|POST|DELETE) /api/v1/tokens(/\{id\})?|GET /api/0/organizations/\{org\}/projects|"
                      r"\w+ /api/v1/(session|account|users|invitations|setup|reset)\b.*")
# A channel fails when its alert is sent, at any time.
VARYING = re.compile(r'"(?:request_id|last_used|since|until|dateCreated)": "[^"]*"|, "failing_since": "[^"]*"|request [0-9a-f]{16}')


class Credential:
    """A token, or a user's session, or nothing."""

    def __init__(self, name, scopes=(), token=None, browser=None):
        self.name, self.scopes, self.token, self.browser = name, set(scopes), token, browser

    def __repr__(self):
        return self.name

    def put_into(self, server, value):
        """A path, header or body in which the credential stands by itself."""
        own = self.token or "fz_none"
        for known in (server.ingest_key, server.admin_token):
            value = value.replace(*((known, own) if isinstance(value, str) else (known.encode(), own.encode())))
        return value

    def send(self, server, method, request, path=None):
        path = self.put_into(server, path or request.path)
        body = self.put_into(server, request.body) if request.body is not None else (None if method == "GET" else b"")
        headers = {name: self.put_into(server, value) for name, value in request.headers.items()}
        if self.browser:
            headers = {name.replace("-", "_"): value for name, value in headers.items()}
            return self.browser.send(method, path, body, **headers)
        token = self.token if request.token is not None else None
        return server.request(method, path, body=body, headers=headers, token=token)


def other_value(value):
    """One of the same form that names nothing."""
    if "@" in value:
        return "nothing@0.7"
    if re.fullmatch("[0-9a-f]{8,}", value):
        return "0" * (len(value) - 1) + "7"
    return "4711" if value.isdigit() else "no-such"


def fake(pattern, path, key):
    """The path with identifiers that do not exist in place of those that do, and {new: old} of them."""
    path, mark, query = path.partition("?")
    parts, names = path.split("/"), pattern.split("/")
    changed = {}
    for i, (part, name) in enumerate(zip(parts, names)):
        if name.startswith("{") and name not in ("{app}", "{org}") and part != key:
            parts[i] = other_value(part)
            changed[parts[i]] = part
    return "/".join(parts) + mark + query, changed


class Everything(Users):
    workers = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = {(method, re.sub(r"/$", "", path) or "/"): row for (method, path), row in route_table.read().items()}

        with open(os.path.join(SOURCE, "docs/api/openapi.json"), encoding="utf-8") as f:
            cls.documented = {(method.upper(), path.rstrip("/") or "/"): re.search(r"Scope: (\w+)", operation.get("description", ""))
                              for path, methods in json.load(f)["paths"].items() for method, operation in methods.items()
                              if method in ("get", "post", "put", "patch", "delete")}

    def test_tables_as_documented(self):
        for route, found in self.documented.items():
            with self.subTest(route=" ".join(route)):
                self.assertEqual(self.row(*route).scope if route != ("GET", "/") else None, found and found.group(1))

    def test_who_sees_all(self):
        for (method, path), row in self.rows.items():
            with self.subTest(route=row.name):
                self.assertEqual(row.sees_all, bool(SEES_ALL.fullmatch(f"{method} {path}")))

    def token(self, scopes, project):
        return self.expect(201, self.server.request("POST", "/api/v1/tokens", body=json.dumps(
            {"scopes": list(scopes), "project": project, "label": f"{project}-{'-'.join(scopes)}"}).encode()))

    def credentials(self, project):
        found = [Credential(f"{project}'s token {scope}", INCLUDES.get(scope, {scope}) | {scope},
                            self.token([scope], project)["token"]) for scope in SCOPES if scope != "variables"]
        for role, scopes in ROLES.items():
            found.append(Credential(f"{project}'s {role}", scopes, browser=self.user(f"{role}-of-{project}", role, project)))
        return found

    def nobodies(self):
        revoked = self.token(["admin"], "default")
        self.expect(204, self.server.request("DELETE", f"/api/v1/tokens/{revoked['id']}"))
        left = self.user("left", "admin")
        cookie = left.value
        self.expect(204, left.send("DELETE", "/api/v1/session"))
        left.value = cookie
        gone = self.user("gone", "admin")
        self.expect(200, self.server.request("PATCH", f"/api/v1/users/{self.id}", body=b'{"disabled": true}'))
        return [Credential("nothing"), Credential("a wrong token", token="fz_" + "A" * 43),
                Credential("a revoked token", token=revoked["token"]),
                Credential("an ended session", browser=left), Credential("a disabled user", browser=gone)]

    def requests(self):
        return route_requests.build(self.server, SAMPLE)

    def row(self, method, pattern):
        row = self.rows.get((method, pattern.rstrip("/") or "/"))
        self.assertIsNotNone(row, f"{method} {pattern} is in no table of routes")
        return row

    def may_use(self, credential, request, pattern):
        """Sessions count under /api/v1 alone, and not where a client names its key itself."""
        return not credential.browser or (pattern.startswith("/api/v1/") and request.token is not None)

    def test_every_route(self):
        requests = self.requests()
        strangers, nobodies = self.credentials("other"), self.nobodies()
        own = self.credentials("default")
        scoped = {route: request for route, request in requests.items() if route not in OPEN}
        self.assertEqual({route for route in scoped if not self.is_scoped(route)}, set(), "routes without a scope")
        self.assertEqual({route for route in self.rows if route[1] != "/" and self.rows[route].scope} - set(scoped), set())
        before = self.state()
        n = 0
        for (method, pattern), request in scoped.items():
            scope = self.row(method, pattern).scope
            n += self.check_nobodies(nobodies, method, pattern, request)
            for credential in strangers + own:
                if not self.may_use(credential, request, pattern):
                    continue
                with self.subTest(route=f"{method} {pattern}", credential=credential.name):
                    if scope and scope not in credential.scopes:
                        status, answer = credential.send(self.server, method, request)
                        # 404: the path names the project.
                        self.assertIn(status, (401, 403, 404) if "{project}" in pattern else (401, 403), answer)
                        n += 1
                    elif credential in strangers:
                        n += self.check_stranger(credential, method, pattern, request)
        self.assertEqual(self.state(), before)
        print(f"{n} requests over {len(scoped)} routes", flush=True)
        # Those who may, last: they change what is there.
        for (method, pattern), request in scoped.items():
            scope = self.row(method, pattern).scope
            for credential in own:
                if not scope or scope not in credential.scopes or not self.may_use(credential, request, pattern):
                    continue
                with self.subTest(route=f"{method} {pattern}", credential=credential.name):
                    status, answer = credential.send(self.server, method, request)
                    if (method, pattern) in EVERYWHERE:
                        self.assertEqual(status, 403, answer)
                    elif status in (401, 403):
                        self.assertIn((method, pattern.partition("{")[0].rstrip("/")), REFUSED_TO_ADMINS, answer)

    def check_nobodies(self, nobodies, method, pattern, request):
        """Together: the server looks twice a second whether a session that it does not know is a new one."""
        trying = [credential for credential in nobodies if self.may_use(credential, request, pattern)]
        with concurrent.futures.ThreadPoolExecutor(len(nobodies)) as pool:
            answers = list(pool.map(lambda credential: credential.send(self.server, method, request), trying))
        for credential, (status, answer) in zip(trying, answers):
            with self.subTest(route=f"{method} {pattern}", credential=credential.name):
                self.assertIn(status, (401, 403) if pattern.startswith(ACCOUNT) else (401,), answer)
        return len(trying)

    def is_scoped(self, route):
        return route[1].startswith(ACCOUNT) or self.row(*route).scope is not None

    def check_stranger(self, credential, method, pattern, request):
        """With the right scope for another project: as if what the path names did not exist."""
        path, changed = fake(pattern, request.path, self.server.ingest_key)
        if not changed:
            return 0
        there = self.plain(credential.send(self.server, method, request), {})
        not_there = self.plain(credential.send(self.server, method, request, path), changed)
        self.assertEqual(there, not_there)
        return 2

    def plain(self, got, changed):
        """An answer without what differs from one request to the next; what a path named as the other path named it."""
        status, answer = got
        text = json.dumps(answer) if isinstance(answer, (dict, list)) else answer.decode("utf-8", "replace")
        for new, old in changed.items():
            text = re.sub(rf"\b{re.escape(new)}\b", old, text)
            # A release is named by its version alone, too.
            text = re.sub(rf'"{re.escape(new.partition("@")[2])}"', f'"{old.partition("@")[2]}"', text) if "@" in new else text
        return status, re.sub(r"\s+", " ", VARYING.sub("", text))

    def state(self):
        """All that the project has, as its admin sees it."""
        found = {}
        for path in ("issues", "reports?limit=100", "symbols", "channels", "filters", "grouping", "project", "versions",
                     "issues/1/activity"):
            status, answer = self.server.request("GET", f"/api/v1/{path}")
            self.assertEqual(status, 200, answer)
            found[path] = VARYING.sub("", json.dumps(answer))
        return found


# What a project has that somebody could learn: a text that occurs nowhere else.
SECRETS = {
    "reason": "reason-7f3a", "person": "person-7f3a", "tag": "tag-7f3a", "breadcrumb": "crumb-7f3a", "function": "fn_7f3a",
    "name in a dSYM": "price_of", "image": "Image7f3a", "version": "7.3.11", "thread": "thread-7f3a",
    "attachment": "text-of-7f3a", "comment": "comment-7f3a", "title": "title-7f3a", "channel": "hook-7f3a", "secret": "whsec_",
    "rules": "rule_7f3a", "filter": "filter-7f3a", "token": "label-7f3a", "user": "tess@example.com",
    "prefix": "/cut/7f3a", "project": "shop-7f3a",
}
READ = {"reason", "person", "tag", "breadcrumb", "function", "name in a dSYM", "image", "version", "thread", "attachment",
        "comment", "title", "rules", "filter", "prefix"}
# By any request that reads; who is not here learns nothing. Of a channel's address only the host is shown, and its secret
# only to who makes it; of other projects nobody learns who has no token of all projects.
LEARNS = {"default's token read": READ, "default's viewer": READ, "default's member": READ,
          "default's token admin": READ | {"token", "user"}, "default's admin": READ | {"token", "user"}}
READING = {("POST", "/api/v1/reports"), ("POST", "/api/v1/symbolicate"), ("POST", "/api/v1/symbols/known"),
           ("POST", "/api/v1/grouping/dry-run")}


class Learning(Everything):
    """The second table: which of these texts the answers to all requests contain."""

    test_every_route = test_tables_as_documented = None  # of the class above

    def plant(self):
        body = {"framezero": 1, "app": {"id": "com.example.shop", "version": "7.3.11"}, "user": {"id": "person-7f3a"},
                "crash": {"signal": "SIGABRT", "exception": "E7f3a", "reason": "reason-7f3a"}, "tags": {"channel": "tag-7f3a"},
                "breadcrumbs": [{"message": "crumb-7f3a"}],
                "threads": [{"index": 0, "name": "thread-7f3a", "crashed": True,
                             "frames": [{"address": "0x100001000", "function": "fn_7f3a"}]}],
                "images": [{"uuid": "7f3a7f3a-0000-4000-8000-000000000001", "name": "Image7f3a", "path": "/X/Shop.app/Image7f3a",
                            "address": "0x100000000", "size": 65536}]}
        made = self.expect(200, self.server.request("POST", "/api/v1/reports?wait=20", body=json.dumps(body).encode()))
        number = made["issue"]["number"]
        for method, path, change in (
            ("POST", f"/api/v1/issues/{number}/comments", {"text": "comment-7f3a"}),
            ("PATCH", f"/api/v1/issues/{number}", {"title": "title-7f3a"}),
            ("POST", "/api/v1/channels", {"kind": "webhook", "url": "https://hooks.example.com/hook-7f3a"}),
            ("POST", "/api/v1/filters", {"name": "filter-7f3a", "query": "is:open", "since": "7d"}),
            ("PUT", "/api/v1/grouping", {"rules": "skip function rule_7f3a*\n"}),
            ("PUT", "/api/v1/project", {"cut_prefixes": ["/cut/7f3a/"]}),
            ("POST", "/api/v1/tokens", {"scopes": ["read"], "label": "label-7f3a"}),
        ):
            status, answer = self.server.request(method, path, body=json.dumps(change).encode())
            self.assertIn(status, (200, 201), answer)
        envelope = route_requests.envelope({"event_id": "7f3a" * 8, "message": "m"}) + \
            b'{"type":"attachment","length":12,"filename":"log.txt"}\ntext-of-7f3a\n'
        path = f"/api/1/envelope/?sentry_key={self.server.ingest_key}"
        self.expect(200, self.server.request("POST", path, body=envelope, token=None))
        return made["id"], number, "7f3a" * 8

    def test_what_each_scope_learns(self):
        self.server.command("project", "create", "shop-7f3a")
        self.user("tess", "viewer")
        # Without uploads: who has sent a dSYM may know the names in it.
        requests = {route: request for route, request in self.requests().items()
                    if route[0] == "GET" or route in READING or
                    not route[1].startswith("/api/v1/") and self.row(*route).takes != "API_TAKES_SYMBOLS"}
        report, number, attached = self.plant()
        for path in (f"reports/{report}", f"reports/{report}?format=crash", f"reports/{report}?format=ips", f"reports/{report}?format=raw",
                     f"reports/{attached}/attachments/0", f"issues/{number}", f"issues/{number}?format=md",
                     f"issues/{number}/activity", f"issues/{number}/reports", f"issues/{number}/variants",
                     "issues?query=7f3a", "reports?q=7f3a", "values?field=tag&prefix=channel", "values?field=user&prefix=p"):
            requests["GET", path] = route_requests.Request(f"/api/v1/{path}")
        # A report with the id of another one, whose sender waits for the answer.
        requests["POST", "again"] = route_requests.Request(
            "/api/v1/reports?wait=5", json.dumps({"framezero": 1, "id": report, "addresses": ["0x1"]}).encode())
        for credential in [*self.credentials("default"), *self.credentials("other"), Credential("nothing")]:
            whole = ""
            for (method, _), request in requests.items():
                answer = credential.send(self.server, method, request)[1]
                whole += answer.decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False)
            with self.subTest(credential=credential.name):
                found = {what for what, text in SECRETS.items() if text in whole}
                self.assertEqual(found, LEARNS.get(credential.name, set()))


# Routes that answer 403 to an admin of one project by intent: the account of a user, for tokens.
REFUSED_TO_ADMINS = {("POST", "/api/v1/invitations"), ("DELETE", "/api/v1/users"), ("PATCH", "/api/v1/users"), ("POST", "/api/v1/users"), ("GET", "/api/v1/account/sessions"), ("DELETE", "/api/v1/account/sessions"),
                     ("PATCH", "/api/v1/account"), ("PUT", "/api/v1/account/password")}

if __name__ == "__main__":
    main()
