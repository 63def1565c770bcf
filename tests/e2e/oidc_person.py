"""A person with a browser who logs in through an OpenID provider."""

import http.client
import json
import urllib.parse

START, BACK = "/api/v1/session/oidc", "/api/v1/session/oidc/callback"


class Person:
    """A browser with all its cookies, which follows redirects only as far as it is told."""

    def __init__(self, server):
        self.server, self.cookies, self.headers = server, {}, {}

    def get(self, path, **headers):
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
                "Sec-Fetch-Site": "cross-site", "User-Agent": "test", **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request("GET", path, headers=sent)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        self.headers = dict(response.getheaders())
        for text in response.headers.get_all("Set-Cookie", []):
            name, _, value = text.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in text:
                del self.cookies[name]
        return response.status, json.loads(data) if "json" in self.headers.get("Content-Type", "") else data

    def follow(self, path):
        """Where the answer sends the browser."""
        status, answer = self.get(path)
        assert status == 303, (status, answer)
        return self.headers["Location"]

    def begin(self, **query):
        return self.follow(START + ("?" + urllib.parse.urlencode(query) if query else ""))

    def back(self, url):
        assert url.startswith(self.server.url + BACK + "?"), url
        return self.follow(url[len(self.server.url):])

    def session(self):
        return self.get("/api/v1/session")

    def error(self):
        """What the login page says."""
        status, answer = self.session()
        assert status == 401, answer
        return answer["error"]["detail"]["oidc"].get("error")
