#!/usr/bin/env python3
"""How the page is served: its headers, its compressed files, what may be cached, what is not there."""

import gzip
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from case import SOURCE, ServerCase, main

sys.path.insert(0, os.path.join(SOURCE, "server", "web"))
import embed
import join

PAGE = os.path.join(SOURCE, "server", "web", "page")
# Served with the page, from docs/sample.
SAMPLE_FILES = ("sample/Demo.zip", "sample/crash.json")
TYPES = {".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8",
         ".json": "application/json", ".map": "application/json", ".zip": "application/zip"}
# Compressed: what a first visit loads to show the list of issues, and all files of all screens. Browsers take brotli from HTTPS
# and from localhost, where a server of some use is; elsewhere they get gzip, which is a sixth larger.
MAX_BYTES = {"br": (42 * 1000, 88 * 1000), "gzip": (48 * 1000, 100 * 1000)}
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

    @staticmethod
    def made():
        """What is to be served: {path: bytes}."""
        found = {}
        for folder, _, names in os.walk(PAGE):
            for name in (name for name in names if os.path.splitext(name)[1] in TYPES):
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.relpath(os.path.join(folder, name), PAGE)] = file.read()
        for path in SAMPLE_FILES:
            with open(os.path.join(SOURCE, "docs", path), "rb") as file:
                found[path] = file.read()
        return embed.make_files(found)

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
            self.assertRegex(tag, r'^<script type="module"(?: async)? src="/assets/[^"]+">$')
        for link in re.findall(r'(?:href|src)="([^"]*)"', self.index):
            self.assertEqual(self.ask(link)[0], 200, link)

    @staticmethod
    def unpack(coding, body):
        if coding == "br":
            return subprocess.run(["brotli", "--decompress", "--stdout"], input=body, stdout=subprocess.PIPE, check=True).stdout
        return gzip.decompress(body) if coding == "gzip" else body

    @staticmethod
    def count(path, coding, size, first, total):
        # The page does not load the texts of licences, which are for people, maps, which are for debuggers, and the sample
        # only if it is asked for.
        if coding and path not in ("vendor/licences.txt", *SAMPLE_FILES) and not path.endswith(".map"):
            total[coding] += size
            first[coding] += size if path != "rest.js" else 0

    def test_files(self):
        """Each is the one of the source, in every coding, for ever; together they are small."""
        if not shutil.which("brotli"):
            raise unittest.SkipTest("no program brotli, which reads what is served: install Debian's package brotli")
        total, first = {"br": 0, "gzip": 0}, {"br": 0, "gzip": 0}
        for path, want in self.made().items():
            if path == "index.html":
                continue
            with self.subTest(path=path):
                for accepted, coding in (("zstd, gzip;q=0", None), ("gzip, deflate, zstd", "gzip"), ("gzip, deflate, br, zstd", "br")):
                    status, headers, packed = self.ask(f"{self.assets}/{path}", Accept_Encoding=accepted)
                    self.assertEqual((status, headers.get("content-encoding")), (200, coding))
                    self.assertEqual(self.unpack(coding, packed), want)
                    self.assertEqual(headers["content-type"], TYPES[os.path.splitext(path)[1]])
                    self.assertEqual(headers["cache-control"], "public, max-age=31536000, immutable")
                    self.assertEqual(headers["vary"], "Accept-Encoding")
                    self.check_protection(headers)
                    self.count(path, coding, len(packed), first, total)
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

    def joined(self, files, early=()):
        """What Node prints that runs the files of a page, joined."""
        if not shutil.which("node"):
            raise unittest.SkipTest("there is no node")
        made = join.join(files, files, ["app.js", *(path for path in files if path.startswith("with/"))], early)
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**made, "package.json": '{"type": "module"}'}.items():
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run(["node", "--enable-source-maps", os.path.join(folder, "app.js")], capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.split("\n")[:-1], done.stderr, made

    def test_joined_modules(self):
        """Joined modules do what they do alone: names stay their own, each runs once, after what it imports."""
        printed, errors, made = self.joined({
            "app.js": 'import { a, b as c } from "./lib/a.js";\nimport any from "./lib/any.js";\n'
                      'import { again } from "./lib/passed.js";\nconst b = 7;\nconsole.log("app", a(), c, b, any(2), again());\n'
                      'import("./later/x.js").then((x) => console.log(Object.keys(x).sort().join(), x.default_, x.one()));\n'
                      'import("./with/b.js").then((x) => console.log("first", x.b));\n',
            "with/b.js": 'import { a } from "../lib/a.js";\nexport const b = "with " + a();\n',
            "lib/a.js": 'console.log("a");\nlet n = 0;\nexport function a() {\n    return ++n;\n}\nexport const b = "b";\n',
            "lib/any.js": "const f=1;export default function(s){return s*2+f}\n",
            "lib/passed.js": 'import { a } from "./a.js";\nconst inner = () => a();\nexport { inner as again };\nexport { b as text } from "./a.js";\n',
            "later/x.js": 'import { a } from "../lib/a.js";\nimport { y } from "./y.js";\nconsole.log("x");\nexport async function one() {}\n'
                          "export const default_ = `\nexport ${a()} ${y}`;\n",
            "later/y.js": 'import { text } from "../lib/passed.js";\nexport class Y {}\nexport const y = text;\n',
            "lib/unused.js": 'console.log("never");\n',
        })
        self.assertEqual(errors, "")
        self.assertEqual(printed, ["a", "app 1 b 7 5 2", "first with 3", "x", "default_,one ", "export 4 b Promise { undefined }"])
        self.assertEqual(sorted(made), ["app.js", "app.js.map", "rest.js", "rest.js.map"])

    def test_joined_early(self):
        """What runs first is a file of its own; the others use its modules, which run once."""
        files = {
            "early.js": 'import { ask } from "./lib/api.js";\nask("early");\n',
            "lib/api.js": 'let n = 0;\nexport const ask = (who) => console.log(who, ++n);\n',
            "lib/b.js": 'import { ask } from "./api.js";\nexport const b = () => ask("b");\n',
            "app.js": 'import { ask } from "./lib/api.js";\nimport { b } from "./lib/b.js";\nask("app");\nb();\nimport("./later.js").then((x) => x.c());\n',
            "later.js": 'import { ask } from "./lib/api.js";\nimport { b } from "./lib/b.js";\nexport const c = () => (ask("later"), b());\n',
        }
        printed, errors, made = self.joined(files, ["early.js"])
        self.assertEqual((printed, errors), (["early 1", "app 2", "b 3", "later 4", "b 5"], ""))
        self.assertNotIn("lib/b.js", made["early.js.map"])

    def test_joined_places(self):
        """A module finds files beside it as if it were in its own folder."""
        place = 'console.log(new URL("../x/a.txt", import.meta.url).pathname.split("/").slice(-2).join("/"));\n'
        printed, errors, _ = self.joined({"app.js": 'import { a } from "./lib/a.js";\nimport("./later/b.js");\n',
                                          "lib/a.js": f"export const a = 1;\n{place}", "later/b.js": f"export const b = 1;\n{place}"})
        self.assertEqual((printed, errors), (["x/a.txt"] * 2, ""))

    def test_where_a_joined_error_is(self):
        """The map leads to the line of the source."""
        _, errors, _ = self.joined({
            "app.js": 'import { a } from "./lib/a.js";\n\na();\nimport("./later/x.js");\n',
            "lib/a.js": "export const a = () => {};\n",
            "later/x.js": 'import { y } from "./y.js";\n\n\n\ny();\n',
            "later/y.js": "\n\n\n\n\n\nexport const y = () => {\n    throw new Error('here');\n};\n",
        })
        self.assertRegex(errors, r"later/y\.js:8[:)]")
        self.assertRegex(errors, r"later/x\.js:5[:)]")

    def test_modules_that_cannot_be_joined(self):
        for files, want in (
                ({"app.js": 'import { a } from "./a.js";\n'}, "a.js is imported and not there"),
                ({"app.js": 'import { a } from "./a.js";\n', "a.js": 'import { b } from "./app.js";\n'}, "imports itself"),
                ({"app.js": "export let a = 1;\n"}, "does not know this form: export let a = 1;"),
                ({"app.js": 'import * as a from "./a.js";\n', "a.js": ""}, "does not know this form: import * as a"),
        ):
            with self.subTest(want=want), self.assertRaises(SystemExit) as raised:
                join.join(files, files, ["app.js"])
            self.assertIn(want, str(raised.exception))

    def test_what_is_not_there(self):
        old = "/assets/" + "0" * 16
        for path in (f"{old}/app.js", f"{self.assets}/nothing.js", f"{self.assets}/lib/api.js", f"{self.assets}/index.html", f"{self.assets}/lib",
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
