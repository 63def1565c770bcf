#!/usr/bin/env python3
"""How the page is served: its headers, its compressed files, what may be cached, what is not there."""

import gzip
import http.client
import os
import re
import shutil
import subprocess
import sys
import unittest

from case import SOURCE, ServerCase, main

sys.path.insert(0, os.path.join(SOURCE, "server", "web"))
import embed

PAGE = os.path.join(SOURCE, "server", "web", "page")
# Served with the page, from docs/sample.
SAMPLE_FILES = ("sample/Demo.zip", "sample/crash.json")
TYPES = {".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8",
         ".json": "application/json", ".zip": "application/zip"}
# Compressed: what a first visit loads to show the list of issues, and all files of all screens. Browsers take brotli from HTTPS
# and from localhost, where a server of some use is; elsewhere they get gzip, which is a sixth larger.
MAX_BYTES = {"br": (50 * 1000, 100 * 1000), "gzip": (60 * 1000, 118 * 1000)}
PAGES = ("/", "/login", "/setup", "/invite", "/reset", "/p/shop", "/p/shop/issues", "/p/shop/issues/12?query=is%3Aopen",
         "/p/shop/settings/tokens", "/p/shop/issues/12/reports", "/p/%3Cscript%3E/x")


class PageFiles(ServerCase):
    workers = 0

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        connection = http.client.HTTPConnection("127.0.0.1", cls.server.port, timeout=60)
        connection.request("GET", "/")
        cls.index = connection.getresponse().read().decode()
        cls.assets = re.search(r'href="(/assets/[0-9a-f]{16})/icon\.svg"', cls.index).group(1)
        connection.close()

    def files(self):
        """The paths of all files of the page, below its folder."""
        found = []
        for folder, _, names in os.walk(PAGE):
            found += [os.path.relpath(os.path.join(folder, name), PAGE) for name in names if os.path.splitext(name)[1] in TYPES]
        return sorted([*(path for path in found if not path.startswith("style/")), *SAMPLE_FILES, embed.STYLE])

    def source(self, path):
        """What is served at the path."""
        if path == embed.STYLE:
            styles = {f"style/{name}": b"" for name in os.listdir(os.path.join(PAGE, "style"))}
            for name in styles:
                with open(os.path.join(PAGE, name), "rb") as file:
                    styles[name] = embed.without_comments(name, file.read())
            embed.join_styles(styles)
            return styles[embed.STYLE]
        with open(os.path.join(SOURCE, "docs", path) if path in SAMPLE_FILES else os.path.join(PAGE, path), "rb") as file:
            plain = file.read()
        want = embed.without_comments(path, plain)
        self.assertEqual(want.count(b"\n"), plain.count(b"\n"))
        return want

    def check_protection(self, headers):
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        self.assertEqual(policy, {
            "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
            "connect-src": "'self'", "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'",
            "require-trusted-types-for": "'script'", "trusted-types": "'none'"})
        self.assertEqual(headers["x-content-type-options"], "nosniff")
        self.assertEqual(headers["referrer-policy"], "no-referrer")
        self.assertEqual(headers["cross-origin-opener-policy"], "same-origin")
        self.assertEqual(headers["cross-origin-resource-policy"], "same-origin")

    def test_every_path_of_the_page(self):
        for path in PAGES:
            with self.subTest(path=path):
                status, headers, body = self.ask(path)
                self.assertEqual((status, headers["content-type"]), (200, TYPES[".html"]))
                self.assertEqual(body.decode(), self.index)
                self.assertIn("no-cache", headers["cache-control"])
                self.check_protection(headers)

    def test_page_that_is_known(self):
        for coding in ("identity", "gzip", "br"):
            etag = self.ask("/", Accept_Encoding=coding)[1]["etag"]
            for path in PAGES:
                status, headers, body = self.ask(path, Accept_Encoding=coding, If_None_Match=etag)
                self.assertEqual((status, body, headers["etag"]), (304, b"", etag))
            self.assertEqual(self.ask("/", Accept_Encoding=coding, If_None_Match='"x"')[0], 200)

    def test_codings(self):
        """The one that the client likes best; brotli where it likes both alike."""
        for accepted, want in (("br", "br"), ("gzip, br", "br"), ("gzip;q=0.9, br;q=0.8", "gzip"), ("br;q=0, gzip", "gzip"), ("*", "br"),
                               ("br;q=0, *;q=0.1", "gzip"), ("deflate", None), ("br;q=0, gzip;q=0", None), ("identity, br;q=0.5", None),
                               ("br;q=x", None), ("", None)):
            for path in ("/", f"{self.assets}/app.js"):
                with self.subTest(path=path, accepted=accepted):
                    headers = self.ask(path, Accept_Encoding=accepted)[1]
                    self.assertEqual((headers.get("content-encoding"), headers["vary"]), (want, "Accept-Encoding"))

    def test_head(self):
        for path in ("/", f"{self.assets}/app.js"):
            _, whole, body = self.ask(path)
            status, headers, nothing = self.ask(path, method="HEAD")
            self.assertEqual((status, nothing, headers["content-length"]), (200, b"", str(len(body))))
            self.assertEqual(headers["content-type"], whole["content-type"])

    def test_nothing_inline(self):
        self.assertNotRegex(self.index, r"(?i)<style|\sstyle=|\son\w+=|javascript:|https?:|\{\{")
        for tag in re.findall(r"<script[^>]*>[^<]*", self.index):
            self.assertRegex(tag, r'^<script type="module" src="/assets/[^"]+">$')
        for link in re.findall(r'(?:href|src)="([^"]*)"', self.index):
            self.assertEqual(self.ask(link)[0], 200, link)

    @staticmethod
    def unpack(coding, body):
        if coding == "br":
            return subprocess.run(["brotli", "--decompress", "--stdout"], input=body, stdout=subprocess.PIPE, check=True).stdout
        return gzip.decompress(body) if coding == "gzip" else body

    @staticmethod
    def count(path, visit, coding, size, first, total):
        # The page does not load the texts of licences, which are for people, and the sample only if it is asked for.
        if coding and path not in ("vendor/licences.txt", *SAMPLE_FILES):
            total[coding] += size
            if path in visit or path.endswith((".css", ".svg")):
                first[coding] += size

    def test_files(self):
        """Each is the one of the source, in every coding, for ever; together they are small."""
        if not shutil.which("brotli"):
            raise unittest.SkipTest("no program brotli, which reads what is served: install Debian's package brotli")
        total, first = {"br": 0, "gzip": 0}, {"br": 0, "gzip": 0}
        sources = {}
        for path in self.files():
            if path.endswith((".js", ".mjs")):
                sources[path] = self.source(path)
        visit = {*embed.modules_of(sources, "app.js"), *embed.modules_of(sources, "screens/issues.js")}
        for path in self.files():
            if path == "index.html":
                continue
            with self.subTest(path=path):
                want = self.source(path)
                for accepted, coding in (("zstd, gzip;q=0", None), ("gzip, deflate, zstd", "gzip"), ("gzip, deflate, br, zstd", "br")):
                    status, headers, packed = self.ask(f"{self.assets}/{path}", Accept_Encoding=accepted)
                    self.assertEqual((status, headers.get("content-encoding")), (200, coding))
                    self.assertEqual(self.unpack(coding, packed), want)
                    self.assertEqual(headers["content-type"], TYPES[os.path.splitext(path)[1]])
                    self.assertEqual(headers["cache-control"], "public, max-age=31536000, immutable")
                    self.assertEqual(headers["vary"], "Accept-Encoding")
                    self.check_protection(headers)
                    self.count(path, visit, coding, len(packed), first, total)
        for coding, (most_first, most) in MAX_BYTES.items():
            index = len(self.ask("/", Accept_Encoding=coding)[2])
            print(f"{coding}: the page has {total[coding] + index} bytes; a first visit loads {first[coding] + index}")
            self.assertLessEqual(first[coding] + index, most_first)
            self.assertLessEqual(total[coding] + index, most)

    def test_comments(self):
        cases = {
            "/** A. */\nimport \"a\";\n": "\nimport \"a\";\n",
            "  /*\n   * A\n   */\n    x(); // b\n": "\n\n\nx(); // b\n",
            "  // a\n\n\tconst u = \"http://x\";\n": "\n\nconst u = \"http://x\";\n",
            "const a = /** @type {b} */ (c);\n": "const a = (c);\n",
            "(/** @type {{a: 'b'}} */ c, /* d */ e)\n": "(c, /* d */ e)\n",
            "/** a */ x();\n/* b */\n": "/** a */ x();\n\n",
            "/*! /* ** */\n.a { top: 0; }\n": "\n.a { top: 0; }\n",
        }
        for source, want in cases.items():
            self.assertEqual(embed.without_comments("lib/a.js", source.encode()).decode(), want)
        self.assertEqual(embed.without_comments("vendor/a.mjs", b"  // a\n"), b"  // a\n")

    def test_what_is_not_there(self):
        old = "/assets/" + "0" * 16
        for path in (f"{old}/app.js", f"{self.assets}/nothing.js", f"{self.assets}/index.html", f"{self.assets}/lib",
                     f"{self.assets}/lib/", f"{self.assets}/../app.js", f"{self.assets}/lib/../app.js",
                     f"{self.assets}/%2e%2e/%2e%2e/files.c", f"{self.assets}/lib%2fapi.js", f"{self.assets}/app.js%20",
                     f"{self.assets}/vendor/README.md", f"{self.assets}/{'a' * 300}", f"{self.assets}/a/b/c/d",
                     "/index.html", "/favicon.ico", "/p", "/p/", "/assets", "/login/x"):
            with self.subTest(path=path):
                self.assertEqual(self.ask(path)[0], 404)
        for path in ("/", "/login", f"{self.assets}/app.js"):
            self.assertEqual(self.ask(path, method="POST")[0], 405)

    def test_no_secret(self):
        for secret in (self.server.admin_token, self.server.ingest_key, self.server.data):
            self.assertNotIn(secret, self.index)


if __name__ == "__main__":
    main()
