#!/usr/bin/env python3
"""Logins through an OpenID provider: who gets in, who does not, and what a hostile provider or browser may try."""

import hmac
import json
import os
import re
import tempfile
import threading
import time
import unittest
import urllib.parse

from browser import PASSWORD, Browser
from case import BINARY, MANY_FAILURES, main, until
from fake_provider import Ec, Provider, Rsa, b64
from framezero import Server, free_port
from oidc_person import BACK, START, Person

class Case(unittest.TestCase):
    more = ("--oidc-domains", "example.com, acme.example", "--oidc-role", "member", *MANY_FAILURES)

    def setUp(self):
        super().setUp()
        self.provider = Provider()
        self.addCleanup(self.provider.close)

    def start(self, *more, env=None, with_ann=True, workers=0):
        port = free_port()
        server = Server(BINARY, workers=workers, env=env, args=[*self.provider.arguments(f"http://127.0.0.1:{port}"), *(more or self.more)])
        server.port = port
        self.addCleanup(server.stop)
        server.start()
        if with_ann:
            got = Browser(server).open_link(server.credentials["setup_url"], email="ann@example.com", name="Ann")
            self.assertEqual(got[0], 201, got)
        return server

    def login(self, server, **claims):
        """The person, and where the login ended."""
        person = Person(server)
        return person, person.back(self.provider.authorize(person.begin(), **claims))

    def refused(self, server, word, **claims):
        person, _ = self.login(server, **claims)
        self.assertNotIn("framezero_session", person.cookies)
        error = person.error()
        self.assertIn(word, error or "(none)", claims)
        self.assertIsNone(person.error())  # once
        return person


class Users(Case):
    def test_a_user_who_exists(self):
        server = self.start()
        person = Person(server)
        self.assertEqual(person.session()[1]["error"]["detail"],
                         {"login": ["password", "token", "oidc"], "oidc": {"name": "Acme"}, "setup": False})
        url = person.begin(next="/p/default/issues?query=is%3Aopen")
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.assertEqual((asked["response_type"], asked["code_challenge_method"], asked["client_id"]), ("code", "S256", "framezero"))
        self.assertEqual(len({asked["state"], asked["nonce"], asked["code_challenge"]}), 3)
        self.assertRegex(person.headers["Set-Cookie"], r"^framezero_oidc=[\w-]{43}\.[\w-]+; Path=/; Max-Age=900; HttpOnly; SameSite=Lax$")
        self.assertEqual(person.back(self.provider.authorize(url)), "/p/default/issues?query=is%3Aopen")
        self.assertEqual(list(person.cookies), ["framezero_session"])
        status, session = person.session()
        self.assertEqual((status, session["via"], session["user"]["name"], session["user"]["admin"]), (200, "oidc", "Ann", True))
        self.assertEqual(person.get("/api/v1/issues")[0], 200)
        # The second time the address does not matter any more; the hundredth neither.
        for claims in ({"email": "other@example.com"}, {"email": None}, {"email": "ann@example.com", "email_verified": False}):
            person, to = self.login(server, **claims)
            self.assertEqual((to, person.session()[1]["user"]["email"]), ("/", "ann@example.com"))
        # The password still works.
        self.assertEqual(Browser(server).login("ann@example.com", PASSWORD)[0], 200)
        # Nothing that is secret is in the log.
        log = server.log()
        for secret in (self.provider.last_code, self.provider.last_token, self.provider.secret, asked["state"], *person.cookies.values()):
            self.assertNotIn(secret, log)

    def test_new_users(self):
        server = self.start()
        person, to = self.login(server, sub="2", email="Bob@Acme.example", name="Bob Ä")
        session = person.session()[1]
        self.assertEqual((to, session["user"]["email"], session["user"]["name"]), ("/", "bob@acme.example", "Bob Ä"))
        self.assertEqual([one["role"] for one in session["projects"]], ["member"])
        person, _ = self.login(server, sub="3", email="cat@example.com", name="\x1b[31m")
        self.assertEqual(person.session()[1]["user"]["name"], "cat@example.com")
        for n, email in enumerate(("eve@evil.example", "eve@evil-example.com", "eve@x.example.com", "eve@example.com.evil.example", "eve@evil@x")):
            self.refused(server, "not a user of this server", sub=f"e{n}", email=email)
        self.refused(server, "does not confirm", sub="9", email="new@example.com", email_verified=False)
        self.refused(server, "does not confirm", sub="9", email="new@example.com", email_verified=None)
        self.refused(server, "does not confirm", sub="9", email=None)
        self.refused(server, "does not confirm", sub="9", email="no address")
        # Whoever chooses Ann's address at the provider is not Ann.
        self.refused(server, "does not confirm", sub="9", email="ann@example.com", email_verified=False)
        emails = [user["email"] for user in server.request("GET", "/api/v1/users")[1]["users"]]
        self.assertEqual(emails, ["ann@example.com", "bob@acme.example", "cat@example.com"])

    def test_an_address_that_was_given_to_another(self):
        server = self.start()
        self.login(server, sub="1")
        self.refused(server, "has another account at Acme", sub="2")
        ids = {user["email"]: user["id"] for user in server.request("GET", "/api/v1/users")[1]["users"]}
        self.assertEqual(server.request("DELETE", f"/api/v1/users/{ids['ann@example.com']}")[0], 409)  # the last admin
        self.login(server, sub="5", email="bob@example.com")
        ids = {user["email"]: user["id"] for user in server.request("GET", "/api/v1/users")[1]["users"]}
        self.assertEqual(server.request("PATCH", f"/api/v1/users/{ids['bob@example.com']}", b'{"disabled": true}')[0], 200)
        self.refused(server, "is disabled", sub="5", email="bob@example.com")
        self.assertEqual(server.request("DELETE", f"/api/v1/users/{ids['bob@example.com']}")[0], 204)
        person, _ = self.login(server, sub="6", email="bob@example.com")
        self.assertEqual(person.session()[0], 200)

    def test_detached(self):
        """An address that has moved to another account at the provider is let in again, and only what began at the provider ends."""
        server = self.start()
        person, _ = self.login(server, sub="1")
        bob, _ = self.login(server, sub="5", email="bob@example.com")
        with_password = Browser(server)
        self.assertEqual(with_password.login("ann@example.com", PASSWORD)[0], 200)
        users = {user["email"]: user for user in server.request("GET", "/api/v1/users")[1]["users"]}
        ann = users["ann@example.com"]
        self.assertEqual([(one["issuer"], one["subject"]) for one in ann["identities"]], [(self.provider.url, "1")])
        self.assertRegex(ann["identities"][0]["since"], r"^20\d\d-")
        # Whoever is no admin of all projects neither sees nor ends it.
        path = f"/api/v1/users/{ann['id']}/identities"
        self.assertEqual(server.request("PATCH", f"/api/v1/users/{users['bob@example.com']['id']}",
                                        b'{"roles": [{"project": "*", "role": "none"}, {"project": "default", "role": "admin"}]}')[0], 200)
        self.assertNotIn("identities", bob.get("/api/v1/users")[1]["users"][0])
        token = server.command("token", "create", "--scope", "admin").split()[-1]
        self.assertEqual(server.request("DELETE", path, token=token)[0], 403)
        self.assertEqual(server.request("DELETE", "/api/v1/users/4711/identities")[0], 404)
        self.refused(server, "has another account at Acme", sub="2")
        self.assertEqual(server.request("DELETE", path)[0], 204)
        self.assertEqual(server.request("DELETE", path)[0], 404)
        self.assertEqual((person.session()[0], bob.session()[0], with_password.send("GET", "/api/v1/session")[0]), (401, 200, 200))
        self.assertEqual(self.login(server, sub="2")[0].session()[1]["user"]["email"], "ann@example.com")
        self.refused(server, "has another account at Acme", sub="1")
        entry = server.request("GET", "/api/v1/audit?action=user_unlink")[1]["entries"][-1]
        self.assertEqual(entry["object"], str(ann["id"]))

    def test_only_users_who_exist(self):
        server = self.start(*MANY_FAILURES)
        self.refused(server, "not a user of this server", sub="2", email="bob@example.com")
        self.assertEqual(self.login(server)[0].session()[0], 200)

    def test_the_setup_comes_first(self):
        server = self.start(with_ann=False)
        self.refused(server, "setup link comes first")
        self.assertEqual(Browser(server).open_link(server.credentials["setup_url"], email="ann@example.com", name="Ann")[0], 201)
        self.assertEqual(self.login(server)[0].session()[0], 200)

    def test_the_address_comes_from_userinfo(self):
        server = self.start()
        self.provider.userinfo = {"sub": "1", "email": "ann@example.com", "email_verified": True}
        self.assertEqual(self.login(server, email=None)[0].session()[1]["user"]["name"], "Ann")
        self.provider.userinfo = {"sub": "2", "email": "bob@example.com", "email_verified": True}
        self.refused(server, "does not count", sub="7", email=None)

    def test_secret_of_a_file(self):
        with open(self.provider_file(), "w", encoding="utf-8") as file:
            file.write(self.provider.secret + "\n")
        server = self.start("--oidc-client-secret", "", "--oidc-client-secret-file", file.name)
        self.assertEqual(self.login(server)[0].session()[0], 200)
        # And where it is wrong.
        self.provider.secret = "other"
        self.refused(server, "cannot be reached")
        self.assertIn("its secret is wrong", server.log())

    def provider_file(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return os.path.join(folder.name, "secret")


class Tokens(Case):
    """What a token must not be."""

    def test_wrong_claims(self):
        server, now = self.start(), int(time.time())
        for claims in ({"nonce": "other"}, {"nonce": None}, {"aud": "other"}, {"aud": None}, {"aud": ["other"]}, {"aud": ["framezero", "other"]},
                       {"azp": "other"}, {"aud": ["framezero", "other"], "azp": "other"}, {"iss": "https://evil.example"}, {"iss": None},
                       {"iss": self.provider.url + "/"}, {"exp": now - 300}, {"exp": None}, {"exp": "never"}, {"iat": now + 3600}, {"iat": None},
                       {"iat": now - 86400}, {"nbf": now + 3600}, {"sub": None}, {"sub": ""}, {"sub": 5}, {"sub": "x" * 256}):
            self.refused(server, "does not count", **claims)
        for claims in ({"aud": ["framezero"]}, {"aud": ["framezero", "other"], "azp": "framezero"}, {"exp": now - 30}, {"iat": now + 60.5}, {"nbf": now}):
            self.assertEqual(self.login(server, **claims)[0].session()[0], 200, claims)

    def test_wrong_signatures(self):
        server, provider = self.start(), self.provider
        rsa = Rsa("rsa")
        provider.keys.append(rsa)
        self.assertEqual(self.login(server)[0].session()[0], 200)
        public = json.dumps(rsa.jwk()).encode()

        def none(token, name):
            return b64(json.dumps({"alg": name, "kid": "first"}).encode()) + "." + token.split(".")[1] + "."

        def symmetric(token, key):
            content = b64(b'{"alg":"HS256","kid":"rsa"}') + "." + token.split(".")[1]
            return content + "." + b64(hmac.digest(key, content.encode(), "sha256"))

        def other_key(token):
            content = token.rpartition(".")[0]
            return content + "." + b64(Ec("first").sign(content.encode()))

        def other_claims(token):
            head, claims, signature = token.split(".")
            return head + "." + b64(b'{"sub":"2"}') + "." + signature

        for tamper in (lambda t: none(t, "none"), lambda t: none(t, "None"), lambda t: none(t, ""), lambda t: symmetric(t, public),
                       lambda t: symmetric(t, b""), lambda t: symmetric(t, provider.secret.encode()), other_key, other_claims,
                       lambda t: t.rpartition(".")[0] + ".", lambda t: t + "A", lambda t: t[:-6], lambda t: "", lambda t: "..", lambda t: "a.b.c",
                       lambda t: t + ".x.y", lambda t: "x" * 40000, lambda t: t.replace(".", "=.", 1), lambda t: 5, lambda t: None):
            provider.tamper = tamper
            self.refused(server, "does not count")
        provider.tamper = lambda token: token
        for header in ({"alg": "RS256"}, {"kid": "rsa"}, {"crit": ["x"]}, {"kid": 5}, {"kid": "x" * 300}):
            provider.header = header
            self.refused(server, "does not count")
        # Without an id, any of the keys may be the one.
        provider.header = {"kid": None}
        self.assertEqual(self.login(server)[0].session()[0], 401)  # null is not a text
        provider.header, provider.signer = {}, rsa
        self.assertEqual(self.login(server)[0].session()[0], 200)

    def test_keys_change(self):
        server, provider = self.start(), self.provider
        self.assertEqual(self.login(server)[0].session()[0], 200)
        read = sum(path == "/jwks" for _, path, _ in provider.requests)
        provider.signer = Rsa("second")
        provider.keys.insert(0, provider.signer)
        for _ in range(3):
            self.assertEqual(self.login(server)[0].session()[0], 200)
        self.assertEqual(sum(path == "/jwks" for _, path, _ in provider.requests), read + 1)
        # Invented ids do not make it ask again and again.
        for n in range(5):
            provider.header = {"kid": f"invented{n}"}
            self.refused(server, "does not count")
        self.assertEqual(sum(path == "/jwks" for _, path, _ in provider.requests), read + 1)

    def test_keys_that_do_not_count(self):
        good = self.provider.signer.jwk()
        for keys in ([], {}, [5], [{**good, "crv": "P-384"}], [{**good, "use": "enc"}], [{**good, "alg": "ES512"}], [{**good, "y": good["x"]}],
                     [{**good, "x": ""}], [{**good, "kty": "oct", "k": "AAAA"}], [{**good, "key_ops": ["sign"]}], [Rsa("first", 1024).jwk()],
                     [{"kty": "RSA", "kid": "first", "n": "AQAB", "e": "AQ"}]):
            self.provider.answers["/jwks"] = (200, {"keys": keys})
            with self.subTest(keys=keys):
                server = self.start()
                self.refused(server, "cannot be reached")
                server.stop()


class Browsers(Case):
    """What a browser, or a page of another site in it, may try."""

    def test_another_browser(self):
        server = self.start()
        eve, victim = Person(server), Person(server)
        url = self.provider.authorize(eve.begin())
        self.assertEqual(victim.back(url), "/login")
        self.assertIn("not begun in this browser", victim.error())
        victim.begin()
        self.assertEqual(victim.back(url), "/login")  # with a login of its own
        self.assertNotIn("framezero_session", victim.cookies)
        self.assertEqual(eve.back(url), "/")
        self.assertEqual(eve.session()[0], 200)

    def test_twice(self):
        server = self.start()
        person = Person(server)
        url = self.provider.authorize(person.begin())
        before = dict(person.cookies)
        person.back(url)
        self.assertEqual(person.session()[0], 200)
        self.assertEqual(person.back(url), "/login")  # the cookie is gone
        again = Person(server)
        again.cookies = before
        again.back(url)
        self.assertIn("does not count", again.error())
        self.assertIn("the provider refuses the code (invalid_grant)", server.log())

    def test_made_up_answers(self):
        server = self.start()
        person = Person(server)
        for query in ("", "code=x", "state=x", "code=x&state=", "code=x&state=" + "A" * 43, "error=access_denied"):
            self.assertEqual(person.follow(BACK + "?" + query), "/login")
            self.assertIn("not begun in this browser", person.error())
        for cookie in ("x", "." * 44, "A" * 43, "A" * 43 + ".", "A" * 5000, "A" * 43 + ".%%%", "\"" * 50):
            person.cookies["framezero_oidc"] = cookie
            self.assertEqual(person.follow(BACK + "?code=x&state=x"), "/login")
        state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(person.begin()).query))["state"]
        for query in ("error=access_denied&error_description=<b>", "error="):
            person.begin()
            state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(person.begin()).query))["state"]
            self.assertEqual(person.follow(f"{BACK}?state={state}&{query}"), "/login")
            self.assertEqual(person.error(), "Acme did not log you in")
        for code in ("", "x" * 2049, "x" * 9000):
            state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(person.begin()).query))["state"]
            if len(code) < 4000:
                person.follow(f"{BACK}?state={state}&code={code}")
                self.assertIn("does not count", person.error())
        person.cookies["framezero_oidc_error"] = "<script>"
        self.assertIsNone(person.error())
        self.assertEqual(len([1 for _, path, _ in self.provider.requests if path == "/token"]), 0)

    def test_where_it_leads(self):
        server = self.start()
        good = ("/", "/p/default/issues", "/p/a%20b/issues/12?query=version%3A4.2&since=14d", "/p//evil.example", "/p/x?u=https://evil.example/")
        bad = ("https://evil.example/", "//evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "", "p/x", "/login", "/api/v1/x",
               "/p/x\r\nSet-Cookie: a=b", "/p/\t/evil", "/p/" + "x" * 600, "/p/\u00e4", " /p/x", "/P/x", "/p", "/%2f/evil.example", "/p/x\"y")
        for path in good + bad:
            person = Person(server)
            to = person.back(self.provider.authorize(person.begin(next=path)))
            self.assertEqual(to, path if path in good else "/", path)
            self.assertEqual(person.session()[0], 200)
        # A path that is put into the cookie by other means.
        for path in bad:
            person = Person(server)
            url = self.provider.authorize(person.begin())
            secret = person.cookies["framezero_oidc"].partition(".")[0]
            person.cookies["framezero_oidc"] = secret + "." + b64(path.encode())
            self.assertEqual(person.back(url), "/", path)

    def test_failures_are_counted(self):
        server = self.start("--limit", "auth_failures=5")
        for _ in range(8):  # of what any page could send
            Person(server).follow(BACK + "?code=x&state=x")
        self.assertEqual(self.login(server)[0].session()[0], 200)
        for _ in range(5):
            self.refused(server, "does not count", nonce="other")
        self.refused(server, "too many failed logins")
        self.assertEqual(Browser(server).login("ann@example.com", PASSWORD)[0], 429)

    def test_https(self):
        port = free_port()
        args = self.provider.arguments("https://crashes.example.com/")
        server = Server(BINARY, workers=0, args=[*args, *self.more])
        server.port = port
        self.addCleanup(server.stop)
        server.start()
        Browser(server, "__Host-framezero").open_link(server.credentials["setup_url"], email="ann@example.com", name="Ann")
        person = Person(server)
        url = self.provider.authorize(person.begin())
        self.assertRegex(person.headers["Set-Cookie"], r"^__Host-framezero_oidc=.*; Secure$")
        self.assertTrue(url.startswith("https://crashes.example.com" + BACK))
        self.assertEqual(person.follow(BACK + "?" + url.partition("?")[2]), "/")
        self.assertEqual(list(person.cookies), ["__Host-framezero"])

    def test_answers_of_another_issuer(self):
        self.provider.metadata["authorization_response_iss_parameter_supported"] = True
        server = self.start()
        for more, is_good in (({}, False), ({"iss": "https://evil.example"}, False), ({"iss": ""}, False), ({"iss": self.provider.url}, True)):
            self.provider.more = more
            self.assertEqual(self.login(server)[0].session()[0] == 200, is_good, more)


class Down(Case):
    def refused_at_once(self, server, said, word="cannot be reached"):
        person = Person(server)
        self.assertEqual(person.begin(), "/login")
        self.assertIn(word, person.error())
        self.assertIn(said, server.log())
        self.assertEqual(Browser(server).login("ann@example.com", PASSWORD)[0], 200)

    def test_not_there(self):
        server = self.start()
        self.provider.close()
        self.refused_at_once(server, "Failed to connect")

    def test_it_comes_back(self):
        self.provider.answers["/.well-known/openid-configuration"] = (503, {})
        server = self.start()
        self.refused_at_once(server, "answered with status 503")
        self.provider.answers.clear()
        until(lambda: self.login_works(server), "the provider is asked again")

    def login_works(self, server):
        person = Person(server)
        return not person.begin().startswith("/login")

    def test_it_goes_away_meanwhile(self):
        server = self.start()
        person = Person(server)
        url = self.provider.authorize(person.begin(next="/p/default/issues"))
        self.provider.answers["/token"] = (500, {})
        self.assertEqual(person.back(url), "/p/default/issues")  # which shows the login
        self.assertIn("Acme cannot be reached", person.error())

    def test_odd_descriptions(self):
        url, path = self.provider.url, "/.well-known/openid-configuration"
        good = self.provider.answer(path, b"", {})[1]
        for answer, said in (((200, b"<html>"), "its description: json"), ((200, b"[]"), "not an object"), ((200, b"x" * 300000), "too long"),
                             ((302, url.encode() + b"/jwks"), "status 302"), ((200, {**good, "issuer": "https://evil.example"}), "calls itself"),
                             ((200, {**good, "token_endpoint": "file:///etc/passwd"}), "token_endpoint"),
                             ((200, {**good, "token_endpoint": "http://169.254.169.254/"}), "cloud metadata"),
                             ((200, {**good, "jwks_uri": "http://10.0.0.1/"}), "a private address"),
                             ((200, {**good, "authorization_endpoint": "javascript:alert(1)"}), "authorization_endpoint"),
                             ((200, {**good, "authorization_endpoint": url + "/\r\nX: y"}), "authorization_endpoint"),
                             ((200, {**good, "jwks_uri": None}), "jwks_uri is missing"),
                             ((200, {**good, "code_challenge_methods_supported": ["plain"]}), "PKCE"),
                             ((200, {**good, "id_token_signing_alg_values_supported": ["HS256"]}), "neither RS256 nor ES256")):
            self.provider.answers[path] = answer
            server = self.start()
            with self.subTest(answer=answer[1] if len(answer[1]) < 1000 else "long"):
                self.refused_at_once(server, said)
            server.stop()

    def test_redirects_are_not_followed(self):
        server = self.start()
        self.provider.answers["/token"] = (307, (self.provider.url + "/elsewhere").encode())
        self.refused(server, "cannot be reached")
        self.assertNotIn("/elsewhere", [path for _, path, _ in self.provider.requests])

    def test_it_hangs(self):
        """Others are served meanwhile, and the stop does not wait."""
        self.provider.delay_s = 30
        server = self.start()
        person, answers = Person(server), []
        thread = threading.Thread(target=lambda: answers.append(person.begin()))
        thread.start()
        for _ in range(20):
            self.assertEqual(server.request("GET", "/api/v1/issues", timeout=5)[0], 200)
        self.assertEqual(Browser(server).login("ann@example.com", PASSWORD)[0], 200)
        thread.join(20)
        self.assertEqual(answers, ["/login"])
        self.assertIn("cannot be reached", person.error())

    def test_internal_only_where_configured(self):
        with Provider() as provider:
            args = provider.arguments("http://127.0.0.1:1")
            where = args.index("--oidc-internal")
            for change, said in ((args[:where], "127.0.0.1 is a loopback address"), ([*args, "--oidc-internal", ""], "127.0.0.1 is a loopback address"),
                                 ([*args[:where], "--oidc-issuer", "http://id.example.com"], "must begin with https://"),
                                 ([*args, "--oidc-issuer", "id.example.com"], "is not the URL of a provider"),
                                 ([*args, "--oidc-issuer", "https://id.example.com?x"], "neither a query"),
                                 ([*args, "--oidc-client-id", ""], "needs oidc-client-id"), ([*args, "--public-url", ""], "needs public-url"),
                                 ([*args, "--oidc-domains", "a@b"], "is not a domain"), ([*args, "--oidc-domains", "*.b"], "is not a domain"),
                                 ([*args, "--oidc-client-secret-file", "/nowhere"], "oidc-client-secret-file"), ([*args, "--oidc-role", "x"], "is not one of")):
                server = Server(BINARY, workers=0, args=change)
                with self.subTest(args=change), self.assertRaisesRegex(RuntimeError, re.escape(said)):
                    try:
                        server.start()
                    finally:
                        server.stop()

    def test_without_a_provider(self):
        with Server(BINARY, workers=0) as server:
            for path in (START, BACK + "?code=x&state=y"):
                status, answer = server.request("GET", path, token=None)
                self.assertEqual((status, answer["error"]["code"]), (404, "not_found"))
            self.assertNotIn("oidc", server.request("GET", "/api/v1/session", token=None)[1]["error"]["detail"])


if __name__ == "__main__":
    main()
