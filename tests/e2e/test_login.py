#!/usr/bin/env python3
"""People who log in to the page: links, passwords, sessions, a proxy; and what other sites may not do with their login."""

import http.client
import json
import os
import re
import threading
import unittest

from browser import PASSWORD, Browser, Users
from case import BINARY, main, until
from framezero import Server
from openapi import Description

NOTHING = "0" * 32


class Links(Users):
    def test_setup_link_once(self):
        again = Browser(self.server).open_link(self.server.credentials["setup_url"], email="eve@example.com", name="Eve")
        self.expect(403, again)
        self.assertIn(self.server.credentials["setup_url"], self.server.log())

    def test_invitation(self):
        invited = {"email": "Bob@Example.com", "role": "member"}
        answer = self.expect(201, self.ann().send("POST", "/api/v1/invitations", invited))
        self.assertTrue(answer["url"].startswith(self.server.url + "/invite#"))
        self.expect(400, Browser(self.server).open_link(answer["url"], name="Bob", password="short"))
        self.expect(400, Browser(self.server).open_link(answer["url"], name="Bob", password="bob@example.com"))
        bob = Browser(self.server)
        session = self.expect(201, bob.open_link(answer["url"], name="Bob"))
        self.assertEqual(session["user"]["email"], "bob@example.com")
        self.assertEqual([(p["name"], p["role"]) for p in session["projects"]], [("default", "member")])
        self.assertEqual(self.expect(200, bob.send("GET", "/api/v1/session")), session)
        self.expect(403, Browser(self.server).open_link(answer["url"], name="Eve"))
        # Somebody who has an account gets the role at once.
        more = self.expect(200, self.ann().send("POST", "/api/v1/invitations", {**invited, "project": "other", "role": "viewer"}))
        self.assertEqual({r["project"]: r["role"] for r in more["roles"]}, {"default": "member", "other": "viewer"})
        self.assertEqual(len(self.expect(200, bob.send("GET", "/api/v1/session"))["projects"]), 2)

    def test_reset(self):
        carl = self.user("carl", "viewer")
        url = self.expect(201, self.ann().send("POST", f"/api/v1/users/{self.id}/reset"))["url"]
        self.expect(200, Browser(self.server).open_link(url, password="battery staple"))
        self.expect(401, carl.send("GET", "/api/v1/session"))
        self.expect(401, Browser(self.server).login("carl@example.com"))
        self.expect(200, Browser(self.server).login("carl@example.com", "battery staple"))
        self.expect(403, Browser(self.server).open_link(url))

    def test_command(self):
        url = self.server.command("user", "invite", "--email", "dora@example.com", "--role", "admin", "--project", "*",
                                  "--public-url", "https://crashes.example.com/")
        self.assertTrue(url.startswith("https://crashes.example.com/invite#"))
        self.assertTrue(self.expect(201, Browser(self.server).open_link(url, name="Dora"))["user"]["admin"])
        lines = [line.split("\t") for line in self.server.command("user", "list").splitlines()]
        self.assertIn(["dora@example.com", "Dora", "active", "*:admin"], [[*line[1:4], line[5]] for line in lines])
        url = self.server.command("user", "reset", "dora@example.com")
        self.expect(200, Browser(self.server).open_link(url, password="battery staple"))
        self.server.command("user", "remove", "dora@example.com")
        self.expect(401, Browser(self.server).login("dora@example.com", "battery staple"))
        with self.assertRaisesRegex(RuntimeError, "there is no user dora@example.com"):
            self.server.command("user", "remove", "dora@example.com")

    def test_last_admin(self):
        users = self.expect(200, self.ann().send("GET", "/api/v1/users"))["users"]
        ann = next(u["id"] for u in users if u["name"] == "Ann")
        admins = [u for u in users if u["id"] != ann and {"project": "*", "role": "admin"} in u["roles"]]
        self.assertEqual(admins, [])
        for change in ({"disabled": True}, {"roles": [{"project": "*", "role": "none"}]}):
            self.expect(409, self.ann().send("PATCH", f"/api/v1/users/{ann}", change))
        self.expect(409, self.ann().send("DELETE", f"/api/v1/users/{ann}"))


class Sessions(Users):
    def test_cookie(self):
        ann = self.ann()
        self.assertRegex(ann.headers["Set-Cookie"],
                         r"^framezero_session=[\w-]{43}; Path=/; Max-Age=7776000; HttpOnly; SameSite=Lax$")
        self.assertEqual(ann.headers["Cache-Control"], "no-store")
        self.expect(200, ann.send("GET", "/api/v1/issues"))
        self.expect(204, ann.send("DELETE", "/api/v1/session"))
        self.assertIn("Max-Age=0", ann.headers["Set-Cookie"])
        self.assertIsNone(ann.value)
        self.expect(401, ann.send("GET", "/api/v1/session"))

    def test_a_new_cookie_at_each_login(self):
        browser = Browser(self.server)
        browser.value = planted = "p" * 43
        self.expect(200, browser.login("ann@example.com"))
        self.assertNotEqual(browser.value, planted)
        first = Browser(self.server)
        first.value = browser.value
        self.expect(200, browser.login("ann@example.com"))
        self.assertNotEqual(browser.value, first.value)
        self.expect(401, first.send("GET", "/api/v1/session"))  # the browser's earlier one has ended
        self.expect(401, first.send("GET", "/api/v1/issues"))

    def test_end_others(self):
        here, there = self.ann(), self.ann()
        sessions = self.expect(200, here.send("GET", "/api/v1/account/sessions"))["sessions"]
        self.assertEqual(sum(s["current"] for s in sessions), 1)
        there_id = max(s["id"] for s in sessions)
        self.expect(204, here.send("DELETE", f"/api/v1/account/sessions/{there_id}"))
        self.expect(401, there.send("GET", "/api/v1/issues"))
        self.expect(404, here.send("DELETE", f"/api/v1/account/sessions/{there_id}"))
        # Not those of somebody else.
        eve = self.user("eve", "viewer")
        own = next(s["id"] for s in sessions if s["current"])
        self.expect(404, eve.send("DELETE", f"/api/v1/account/sessions/{own}"))
        self.expect(200, here.send("GET", "/api/v1/issues"))

    def test_change_password(self):
        here = self.user("fay", "viewer")
        there = Browser(self.server)
        self.expect(200, there.login("fay@example.com"))
        for old, new, status in (("wrong horse", "battery staple", 403), (PASSWORD, "short", 400), (PASSWORD, "fay@example.com", 400)):
            self.expect(status, here.send("PUT", "/api/v1/account/password", {"old": old, "new": new}))
        self.expect(204, here.send("PUT", "/api/v1/account/password", {"old": PASSWORD, "new": "battery staple"}))
        self.expect(200, here.send("GET", "/api/v1/issues"))
        self.expect(401, there.send("GET", "/api/v1/issues"))
        self.expect(401, Browser(self.server).login("fay@example.com"))
        self.expect(200, Browser(self.server).login("fay@example.com", "battery staple"))

    def test_disabled_and_deleted(self):
        gil = self.user("gil", "member")
        one = f"/api/v1/users/{self.id}"
        self.expect(200, self.ann().send("PATCH", one, {"disabled": True}))
        self.expect(401, gil.send("GET", "/api/v1/issues"))
        self.expect(401, gil.login("gil@example.com"))
        self.expect(200, self.ann().send("PATCH", one, {"disabled": False}))
        self.expect(200, gil.login("gil@example.com"))
        self.expect(204, self.ann().send("DELETE", one))
        self.expect(401, gil.send("GET", "/api/v1/issues"))
        self.expect(404, self.ann().send("DELETE", one))

    def test_pasted_token(self):
        token = self.server.command("token", "create", "--scope", "read", "--label", "lab")
        browser = Browser(self.server)
        session = self.expect(200, browser.send("POST", "/api/v1/session", {"token": token}))
        self.assertEqual((session["token"], session["via"]), ({"label": "lab"}, "token"))
        self.assertEqual([p["role"] for p in session["projects"]], ["viewer"])
        self.expect(200, browser.send("GET", "/api/v1/issues"))
        self.expect(403, browser.send("PUT", "/api/v1/project", {"values": "on"}))
        self.expect(403, browser.send("GET", "/api/v1/account/sessions"))
        self.expect(401, Browser(self.server).send("POST", "/api/v1/session", {"token": "fz_" + "A" * 43}))
        number = next(line.split()[0] for line in self.server.command("token", "list").splitlines() if token[:8] in line)
        self.server.command("token", "revoke", number)
        until(lambda: browser.send("GET", "/api/v1/issues")[0] == 401, "the session ends with its token", 3.5)

    def test_unknown_cookies(self):
        """They are refused, and do not count as wrong tokens do."""
        with Server(BINARY, workers=0, args=["--limit", "auth_failures=3"]) as server:
            browser = Browser(server)
            for n in range(6):
                browser.value = f"{n:043d}"
                self.expect(401, browser.send("GET", "/api/v1/issues"))
            for value in ("", "x" * 5000, "a b"):
                browser.value = value
                self.expect(401, browser.send("GET", "/api/v1/issues"))

    def test_https(self):
        with Server(BINARY, workers=0, args=["--public-url", "https://crashes.example.com"]) as server:
            secure, plain = Browser(server, "__Host-framezero"), Browser(server)
            self.assertTrue(server.credentials["setup_url"].startswith("https://crashes.example.com/setup#"))
            self.expect(201, secure.open_link(server.credentials["setup_url"], email="ann@example.com", name="Ann"))
            self.assertRegex(secure.headers["Set-Cookie"], r"^__Host-framezero=[\w-]{43}; Path=/; .*; SameSite=Lax; Secure$")
            self.expect(200, secure.send("GET", "/api/v1/issues"))
            plain.value = secure.value  # which another host of the domain could set
            self.expect(401, plain.send("GET", "/api/v1/issues"))
            origins = {"https://crashes.example.com": 204, "http://crashes.example.com": 403, "https://example.com": 403,
                       "null": 403, f"https://127.0.0.1:{server.port}": 204, f"http://127.0.0.1:{server.port}": 403}
            for origin, status in origins.items():
                secure.login("ann@example.com")
                self.expect(status, secure.send("DELETE", "/api/v1/session", site=None, Origin=origin))


class Passwords(Users):
    def checks(self):
        text = self.server.request("GET", "/metrics")[1].decode()
        return int(re.search(r"framezero_password_checks_total (\d+)", text)[1])

    def test_unknown_addresses_look_like_wrong_passwords(self):
        self.user("hal", "viewer")
        self.expect(200, self.ann().send("PATCH", f"/api/v1/users/{self.id}", {"disabled": True}))
        answers = []
        for email, password in (("ann@example.com", "wrong horse"), ("unknown@example.com", "wrong horse"), ("hal@example.com", PASSWORD),
                                ("not an address", "x"), ("ANN@example.com", "WRONG horse"), ("a" * 900, "x")):
            before, browser = self.checks(), Browser(self.server)
            answers.append((*browser.login(email, password), sorted(browser.headers)))
            self.assertEqual(self.checks(), before + 1, email)  # the same work
        self.assertEqual(answers[0][0], 401)
        self.assertEqual([a for a in answers if a != answers[0]], [])

    def test_any_case_of_the_address(self):
        self.expect(200, Browser(self.server).login("ANN@Example.com"))

    def test_twenty_wrong_ones(self):
        with Server(BINARY, workers=0) as server:
            browser = Browser(server)
            self.expect(201, browser.open_link(server.credentials["setup_url"], email="ann@example.com", name="Ann"))
            statuses = [Browser(server).login("ann@example.com", "wrong horse")[0] for _ in range(20)]
            self.assertEqual(statuses, [401] * 10 + [429] * 10)
            other = Browser(server)
            self.expect(429, other.login("ann@example.com"))
            self.assertGreater(int(other.headers["Retry-After"]), 0)
            # Those who are logged in, and tokens, go on.
            self.expect(200, browser.send("GET", "/api/v1/issues"))
            self.assertEqual(server.request("GET", "/api/v1/issues")[0], 200)
            self.assertEqual(server.request("GET", "/api/v1/issues", token="wrong")[0], 401)

    def test_ugly_bodies(self):
        big, session = b"x" * (1 << 20), "/api/v1/session"
        for body, status in ((b'{"email":"ann@example.com","password":"' + big + b'"}', 413), (b'{"email":"' + big + b'"}', 413),
                             (b'{"email":"ann@example.com","password":"\xff\xfe"}', 400), (b'{"email":"ann@example.com","password":"\\ud800"}', 400),
                             (b'{"email":"ann@example.com","password":"a\\u0000b"}', 400), (b'{"email":1,"password":2}', 400), (b"[]", 400),
                             (b"", 400), (b"{", 400), (b'{"email":"ann@example.com"}', 400), (b"[" * 4000, 413), (b'{"token":""}', 400),
                             (b'{"email":"ann@example.com","password":"' + b"y" * 1025 + b'"}', 400)):
            self.expect(status, Browser(self.server).send("POST", session, body))
        for path in ("/api/v1/setup", "/api/v1/reset", "/api/v1/invitations/accept"):
            self.expect(413, Browser(self.server).send("POST", path, big))
            self.expect(400, Browser(self.server).send("POST", path, b"{}"))
        url = self.server.command("user", "invite", "--email", "ida@example.com")
        for name in ("", "x" * 129, "A\x1b[31m", "A\u0000", 5):
            self.expect(400, Browser(self.server).open_link(url, name=name))
        self.expect(201, Browser(self.server).open_link(url, name="<img src=x onerror=alert(1)>"))

    def test_many_at_once(self):
        """A flood of logins: each is answered, and others are served meanwhile."""
        statuses, lock = [], threading.Lock()

        def attack(n):
            got = Browser(self.server).login(f"user{n % 7}@example.com", "wrong horse")[0]
            with lock:
                statuses.append(got)
        threads = [threading.Thread(target=attack, args=(n,)) for n in range(200)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(self.server.request("GET", "/api/v1/issues", timeout=5)[0], 200)
        self.assertEqual(len(statuses), 200)
        self.assertLessEqual(set(statuses), {401, 503})
        self.assertIn(401, statuses)
        self.expect(200, Browser(self.server).login("ann@example.com"))


class OtherSites(Users):
    """Pages of other sites, in the browser of somebody who is logged in."""

    def routes(self, safe):
        for path, methods in Description().root["paths"].items():
            for method, operation in methods.items():
                is_for_cookies = {"cookie": []} in operation["security"] or path.startswith(("/api/v1/account/", "/api/v1/session")) \
                    or {"bearer": []} in operation["security"]
                if path.startswith("/api/v1/") and is_for_cookies and (method == "get") == safe:
                    path_now = re.sub(r"\{(number|n)\}", "1", path).replace("{uuid}", NOTHING)
                    # Without it, the stream goes on for an hour.
                    path_now += "?seconds=1" if path == "/api/v1/events" else ""
                    yield method.upper(), re.sub(r"\{\w+\}", "1", path_now)

    def test_unsafe_requests_are_refused(self):
        n = 0
        for method, path in self.routes(safe=False):
            ann = self.ann()
            for site, origin in (("cross-site", "https://evil.example"), ("same-site", "https://x.example.com"), ("cross-site", None),
                                 (None, "https://evil.example"), (None, "null"), (None, self.server.url + ".evil.example"),
                                 (None, f"http://127.0.0.1:{self.server.port + 1}"), ("same-origin, cross-site", None)):
                with self.subTest(method=method, path=path, site=site, origin=origin):
                    headers = {"Origin": origin} if origin else {}
                    status, answer = ann.send(method, path, b"{}" if method != "DELETE" else None, site=site, **headers)
                    self.assertEqual(status, 403, answer)
                    self.assertIn("of another site", answer["error"]["message"])
            n += 1
            if path != "/api/v1/session":  # logging in is for browsers without a login, too
                self.assertIn("neither", ann.send(method, path, b"{}" if method != "DELETE" else None, site=None)[1]["error"]["message"])
            self.expect(200, ann.send("GET", "/api/v1/session"))
        self.assertGreater(n, 20)

    def test_own_pages_are_not(self):
        host = f"127.0.0.1:{self.server.port}"
        for site, origin in (("same-origin", None), ("none", None), (None, f"http://{host}"), ("same-origin", "https://evil.example")):
            headers = {"Origin": origin} if origin else {}
            self.expect(200, self.ann().send("PUT", "/api/v1/project", {"values": "off"}, site=site, **headers))

    def test_links_to_the_page_work(self):
        ann, n = self.ann(), 0
        before = [self.expect(200, ann.send("GET", path)) for path in ("/api/v1/users", "/api/v1/project", "/api/v1/channels")]
        for method, path in self.routes(safe=True):
            with self.subTest(path=path):
                self.assertNotIn(ann.send(method, path, site="cross-site", Origin="https://evil.example")[0], (401, 403))
                n += 1
        self.assertGreater(n, 20)
        self.assertEqual(before, [self.expect(200, ann.send("GET", path))
                                  for path in ("/api/v1/users", "/api/v1/project", "/api/v1/channels")])

    def test_tokens_are_not_concerned(self):
        headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
        self.expect(200, self.server.request("PUT", "/api/v1/project", b'{"values":"off"}', headers=headers))

    def test_only_the_api(self):
        """Under the paths of other clients a cookie means nothing."""
        for method, path in (("GET", "/api/0/organizations/acme/projects/"), ("POST", "/symbolicate/v5"), ("POST", "/api/1/store/")):
            self.assertEqual(self.ann().send(method, path, b"{}" if method == "POST" else None)[0], 401, path)


class Names(unittest.TestCase):
    def test_activity_has_the_name(self):
        with Server(BINARY, workers=1) as server:
            browser = Browser(server)
            browser.open_link(server.credentials["setup_url"], email="ann@example.com", name="Ann Ä")
            body = json.dumps({"framezero": 1, "crash": {"signal": "SIGSEGV"}, "images": [], "threads": [
                {"index": 0, "crashed": True, "frames": [{"address": "0x1000", "function": "pay()"}]}]}).encode()
            self.assertEqual(server.request("POST", "/api/v1/reports?wait=20", body=body)[0], 200)
            self.assertEqual(browser.send("POST", "/api/v1/issues/1/comments", {"text": "mine"})[0], 201)
            activity = browser.send("GET", "/api/v1/issues/1/activity")[1]
            self.assertIn("Ann Ä", json.dumps(activity, ensure_ascii=False))


class Setup(unittest.TestCase):
    def credentials(self, server):
        with open(f"{server.data}/credentials.json", encoding="utf-8") as file:
            return json.load(file)

    def test_the_link_leaves_the_file(self):
        with Server(BINARY, workers=0) as server:
            url, before = server.credentials["setup_url"], self.credentials(server)
            self.assertEqual(Browser(server).open_link(url[:-1] + "!", email="eve@example.com", name="Eve")[0], 403)
            self.assertEqual(self.credentials(server), before)
            self.assertEqual(Browser(server).open_link(url, email="ann@example.com", name="Ann")[0], 201)
            del before["setup_url"]
            self.assertEqual(self.credentials(server), before)
            self.assertEqual(os.stat(f"{server.data}/credentials.json").st_mode & 0o777, 0o600)
            self.assertEqual(Browser(server).open_link(url, email="eve@example.com", name="Eve")[0], 403)

    def test_with_the_next_start(self):
        """The first user came by other means, or another server has seen the link."""
        with Server(BINARY, workers=0) as server:
            link = server.command("user", "invite", "--email", "ann@example.com", "--role", "admin", "--project", "*")
            self.assertEqual(Browser(server).open_link(link, name="Ann")[0], 201)
            self.assertIn("setup_url", self.credentials(server))
            server.terminate()
            server.start()
            self.assertNotIn("setup_url", self.credentials(server))
            self.assertIn("admin_token", self.credentials(server))


class OwnName(Users):
    def test_name(self):
        bob = self.user("bob", "viewer")
        self.expect(204, bob.send("PATCH", "/api/v1/account", {"name": "Robert Ä"}))
        self.assertEqual(self.expect(200, bob.send("GET", "/api/v1/session"))["user"]["name"], "Robert Ä")
        for body in ({}, {"name": ""}, {"name": 5}, {"name": "a\tb"}, {"name": "x" * 129}, []):
            self.expect(400, bob.send("PATCH", "/api/v1/account", body))
        self.expect(403, bob.send("PATCH", "/api/v1/account", {"name": "Eve"}, site="cross-site"))
        self.expect(401, Browser(self.server).send("PATCH", "/api/v1/account", {"name": "Eve"}))
        self.assertEqual(self.server.request("PATCH", "/api/v1/account", b'{"name": "Eve"}')[0], 403)
        self.assertEqual(self.expect(200, bob.send("GET", "/api/v1/session"))["user"]["name"], "Robert Ä")


class Proxy(unittest.TestCase):
    ARGS = ["--trusted-proxies", "127.0.0.1", "--proxy-user-header", "X-Forwarded-User"]

    def test_named_users(self):
        with Server(BINARY, workers=0, args=self.ARGS) as server:
            browser = Browser(server)
            as_ann = {"X_Forwarded_User": "ANN@example.com"}
            self.assertEqual(browser.send("GET", "/api/v1/session", **as_ann)[0], 403)  # not a user yet
            browser.open_link(server.credentials["setup_url"], email="ann@example.com", name="Ann")
            browser.value = None
            status, session = browser.send("GET", "/api/v1/session", **as_ann)
            self.assertEqual((status, session["via"], session["user"]["name"]), (200, "proxy", "Ann"))
            self.assertNotIn("expires", session)
            self.assertEqual(browser.send("GET", "/api/v1/issues", **as_ann)[0], 200)
            self.assertEqual(browser.send("PUT", "/api/v1/project", {"values": "off"}, **as_ann)[0], 200)
            self.assertEqual(browser.send("PUT", "/api/v1/project", {"values": "on"}, site="cross-site", **as_ann)[0], 403)
            self.assertEqual(browser.send("GET", "/api/v1/issues", X_Forwarded_User="eve@example.com")[0], 401)
            self.assertEqual(browser.send("GET", "/api/v1/issues", X_Forwarded_User="")[0], 401)
            # Twice: one is the client's own.
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            connection.putrequest("GET", "/api/v1/issues")
            for name in ("ann@example.com", "eve@example.com"):
                connection.putheader("X-Forwarded-User", name)
            connection.endheaders()
            self.assertEqual(connection.getresponse().status, 401)
            connection.close()

    def test_new_users_get_a_role(self):
        with Server(BINARY, workers=0, args=[*self.ARGS, "--proxy-role", "viewer"]) as server:
            browser = Browser(server)
            session = browser.send("GET", "/api/v1/session", X_Forwarded_User="zoe")[1]
            self.assertEqual([p["role"] for p in session["projects"]], ["viewer"])
            self.assertEqual(browser.send("GET", "/api/v1/issues", X_Forwarded_User="zoe")[0], 200)
            self.assertEqual(browser.send("GET", "/api/v1/users", X_Forwarded_User="zoe")[0], 403)
            self.assertEqual(browser.login("zoe", "")[0], 400)

    def test_groups(self):
        args = [*self.ARGS, "--proxy-groups-header", "Remote-Groups", "--proxy-groups", "ops=admin, ios developers=member,qa=viewer"]
        with Server(BINARY, workers=0, args=args) as server:
            browser = Browser(server)

            def role(groups, user="zoe", status=200):
                headers = {"Remote-Groups": groups} if groups is not None else {}
                got = browser.send("GET", "/api/v1/session", X_Forwarded_User=user, **headers)
                self.assertEqual(got[0], status, got)
                return [one["role"] for one in got[1].get("projects", [])]

            def put(groups):
                return browser.send("PUT", "/api/v1/project", {"values": "off"}, X_Forwarded_User="zoe", Remote_Groups=groups)[0]

            role("others", status=403)  # no group counts, and there is no --proxy-role
            self.assertEqual(role("others,qa"), ["viewer"])
            self.assertEqual(put("qa"), 403)
            self.assertEqual(put("ops"), 401)  # not before the page has asked
            self.assertEqual(role(" qa , ios developers"), ["member"])
            self.assertEqual(role("qa,ops", user="max"), ["admin"])
            self.assertEqual(role("ops"), ["admin"])
            self.assertEqual(put("ops"), 200)
            for groups in ("qa", "", "Ops", "ops2", "ops=admin"):  # at once
                self.assertEqual(put(groups), 401)
            self.assertEqual(role("ios developers"), ["member"])
            self.assertEqual(role(None), [])
            self.assertEqual(browser.send("GET", "/api/v1/users", X_Forwarded_User="zoe")[0], 404)  # without a role in any project
            role("qa", user="max", status=409)  # the last admin
            # From elsewhere it means nothing: a login with a token and the header.
            self.assertEqual(browser.send("GET", "/api/v1/users", Remote_Groups="ops")[0], 401)

    def test_from_elsewhere_it_is_ignored(self):
        args = ["--trusted-proxies", "192.0.2.1", "--proxy-user-header", "X-Forwarded-User", "--proxy-role", "admin"]
        with Server(BINARY, workers=0, args=args) as server:
            browser = Browser(server)
            self.assertEqual(browser.send("GET", "/api/v1/session", X_Forwarded_User="zoe")[0], 401)
            self.assertEqual(browser.send("GET", "/api/v1/users", X_Forwarded_User="zoe")[0], 401)


if __name__ == "__main__":
    main()
