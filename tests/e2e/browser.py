"""A browser, as far as a login needs one, and a server with users.

Browser keeps the cookie and sends what a browser sends with requests of the server's own page. Users is a test case whose
server has one user, Ann, who is admin of all projects.
"""

import http.client
import json
import re
import unittest

from case import BINARY, MANY_FAILURES
from framezero import Server

PASSWORD = "correct horse"


class Browser:
    """Keeps the cookie; sends what a browser sends with requests of the server's own page."""

    def __init__(self, server, cookie="framezero_session"):
        self.server, self.name, self.value, self.headers = server, cookie, None, {}

    def send(self, method, path, body=None, site="same-origin", **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if site:
            headers["Sec-Fetch-Site"] = site
        if self.value:
            headers["Cookie"] = f"theme=dark; {self.name}={self.value}"
        body = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            data, got = response.read(), dict(response.getheaders())
        finally:
            connection.close()
        self.headers = got  # of the last answer; several threads may send
        found = re.match(rf"{self.name}=([^;]*)", got.get("Set-Cookie", ""))
        if found:
            self.value = found.group(1) or None
        is_json = got.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(data) if is_json else data

    def login(self, email, password=PASSWORD):
        return self.send("POST", "/api/v1/session", {"email": email, "password": password})

    def open_link(self, url, **more):
        """What the page does with a link."""
        path, _, secret = url.rpartition("/")[2].partition("#")
        path = {"setup": "/api/v1/setup", "invite": "/api/v1/invitations/accept", "reset": "/api/v1/reset"}[path]
        return self.send("POST", path, {"token": secret, "password": PASSWORD, **more})


class Users(unittest.TestCase):
    args = MANY_FAILURES
    workers = 0

    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, workers=cls.workers, args=cls.args)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        cls.server.command("project", "create", "other")
        status, answer = Browser(cls.server).open_link(cls.server.credentials["setup_url"], email="ann@example.com", name="Ann")
        assert status == 201, answer

    def expect(self, status, got):
        self.assertEqual(got[0], status, got[1])
        return got[1]

    def ann(self):
        browser = Browser(self.server)
        self.expect(200, browser.login("ann@example.com"))
        return browser

    def user(self, name, role, project="default"):
        """A new user, logged in."""
        url = self.expect(201, self.server.request("POST", "/api/v1/invitations", body=json.dumps(
            {"email": f"{name}@example.com", "role": role, "project": project}).encode()))["url"]
        browser = Browser(self.server)
        self.id = self.expect(201, browser.open_link(url, name=name.title()))["user"]["id"]
        return browser
