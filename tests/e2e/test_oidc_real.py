#!/usr/bin/env python3
"""Logins through an OpenID provider that others have written: npm's oidc-provider, whose pages take any name."""

import os
import re
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

import clients
from browser import Browser
from case import BINARY, CLIENTS, MANY_FAILURES, SOURCE, main
from framezero import Server, free_port
from oidc_person import BACK, Person


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Real(unittest.TestCase):
    """With a provider that others have written."""

    @classmethod
    def setUpClass(cls):
        folder = clients.npm(CLIENTS, "oidc-provider@9.13.3")
        port = free_port()
        cls.url = f"http://127.0.0.1:{port}"
        cls.process = subprocess.Popen(["node", os.path.join(SOURCE, "tests", "e2e", "real_provider.mjs"), folder, cls.url + BACK],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(cls.end_provider)
        provider = cls.process.stdout.readline().strip()
        if not provider:
            raise unittest.SkipTest("the provider does not start: is this node older than 20?")
        cls.server = Server(BINARY, workers=0, args=[
            "--public-url", cls.url, "--oidc-issuer", provider, "--oidc-client-id", "framezero", "--oidc-internal", "127.0.0.1",
            "--oidc-domains", "acme.example", *MANY_FAILURES], env={"FRAMEZERO_OIDC_CLIENT_SECRET": "a secret/+&"})
        cls.server.port = port
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        Browser(cls.server).open_link(cls.server.credentials["setup_url"], email="ann@example.com", name="Ann")

    @classmethod
    def end_provider(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.process.stdout.close()

    def at_provider(self, url, name):
        """What a person does there; where the browser is sent back to."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(), NoRedirects())
        form = None
        for _ in range(12):
            try:
                with opener.open(url, form, timeout=30) as answer:
                    page = answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    self.assertIn(error.code, (302, 303), error)
                    url, form = urllib.parse.urljoin(url, error.headers["Location"]), None
                if url.startswith(self.url):
                    return url
                continue
            action = re.search(r'<form[^>]* action="([^"]+)"', page)[1]
            fields = {"prompt": re.search(r'name="prompt" value="(\w+)"', page)[1]}
            if fields["prompt"] == "login":
                fields.update(login=name, password="any")
            url, form = urllib.parse.urljoin(url, action), urllib.parse.urlencode(fields).encode()
        raise AssertionError(f"the provider asks and asks: {url}")

    def login(self, name):
        person = Person(self.server)
        person.url = self.at_provider(person.begin(next="/p/default/issues"), name)
        person.cookies_before = dict(person.cookies)
        person.to = person.back(person.url)
        return person

    def test_who_gets_in(self):
        ann = self.login("ann@example.com")
        self.assertEqual(ann.to, "/p/default/issues")
        self.assertEqual((ann.session()[1]["user"]["name"], ann.session()[1]["via"]), ("Ann", "oidc"))
        for _ in range(2):
            self.assertEqual(self.login("bob@acme.example").session()[1]["user"]["name"], "bob")
        self.assertIn("not a user of this server", self.login("eve@evil.example").error())
        self.assertIn("does not confirm", self.login("cat@acme.example?unverified").error())
        self.assertIn("does not confirm", self.login("ann@example.com?unverified").error())
        self.assertEqual(len(self.server.request("GET", "/api/v1/users")[1]["users"]), 2)

    def test_a_code_twice_and_elsewhere(self):
        ann = self.login("ann@example.com")
        again = Person(self.server)
        again.cookies = ann.cookies_before
        again.back(ann.url)
        self.assertIn("does not count", again.error())
        # The code of one login in another one: PKCE and nonce are of the first.
        eve, victim = Person(self.server), Person(self.server)
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.at_provider(victim.begin(), "ann@example.com")).query))["code"]
        url = self.at_provider(eve.begin(), "eve@evil.example")
        eve.back(re.sub(r"code=[^&]*", "code=" + code, url))
        self.assertIn("does not count", eve.error())
        self.assertIn("(invalid_grant)", self.server.log())

    def test_a_person_who_declines(self):
        person = Person(self.server)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(person.begin(), timeout=30) as answer:
            page = answer.read().decode()
            abort = urllib.parse.urljoin(answer.url, re.search(r'href="([^"]+/abort)"', page)[1])
        opener = urllib.request.build_opener(*[h for h in opener.handlers if isinstance(h, urllib.request.HTTPCookieProcessor)], NoRedirects())
        url = abort
        while not url.startswith(self.url):
            try:
                opener.open(url, timeout=30)
            except urllib.error.HTTPError as error:
                with error:
                    url = urllib.parse.urljoin(url, error.headers["Location"])
        person.back(url)
        self.assertIn("did not log you in", person.error())


if __name__ == "__main__":
    main()
