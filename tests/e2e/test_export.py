#!/usr/bin/env python3
"""Export: reports and issues as JSON Lines, numbers as CSV, an issue as Markdown; with hostile names in all of them."""

import csv
import io
import json
import os

from case import ServerCase, main
from openapi import DescribedServer as Server

HOSTILE = '=HYPERLINK("http://x","y")\n# <b>@all</b> ```` | `a` [x](http://y)'


class Export(ServerCase):
    server_type = Server
    args = ("--workers", "1", "--public-url", "https://crashes.example.com/")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = []
        for n, (version, function) in enumerate((("1.9", "checkout(int)"), ("1.10", "checkout(int)"), ("=1+1", HOSTILE))):
            report = {"framezero": 1, "app": {"id": "com.acme.till", "version": version, "build": "7"},
                      "device": {"model": HOSTILE}, "user": {"id": f"user-{n}"}, "arch": "arm64",
                      "crash": {"thread": 0, "exception": HOSTILE, "reason": HOSTILE},
                      "threads": [{"index": 0, "crashed": True, "frames": [
                          {"address": "0x100000100", "symbols": [{"function": function}]}, "0x100000200"]}],
                      "images": [{"uuid": "4c4c442e55553144a1387743844373d8", "name": "Till", "path": "/var/Till.app/Till",
                                  "arch": "arm64", "address": "0x100000000", "size": 0x10000}]}
            status, answer = cls.server.request("POST", "/api/v1/reports?wait=20", body=json.dumps(report))
            assert status == 200, answer
            cls.ids.append(answer["id"])

    def test_sample(self):
        """A report with names: its own frames are in the Markdown."""
        folder = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "sample")
        with open(os.path.join(folder, "Demo.dSYM.zip"), "rb") as f:
            self.assertIn(self.server.request("POST", "/api/v1/symbols", body=f.read())[0], (200, 201))
        with open(os.path.join(folder, "report.json"), "rb") as f:
            report = self.server.request("POST", "/api/v1/reports?wait=20", body=f.read())[1]
        self.assertEqual(report["status"], "symbolicated")
        number = self.lines(f"/api/v1/export/reports?query=id:{report['id']}")[0]["issue"]["number"]
        text = self.get(f"/api/v1/issues/{number}?format=md")
        own = [line for line in text.splitlines() if line.startswith(("*", ">"))]
        names = {s["function"] for f in report["threads"][0]["frames"] if f["in_app"] for s in f["symbols"]}
        self.assertTrue(names)
        for name in names:
            self.assertTrue(any(name in line for line in own), (name, text))
        self.assertTrue(any(line.startswith("*") for line in own), text)
        # Its values are not stored, and asking for them does no harm.
        self.assertNotIn("## Values", self.get(f"/api/v1/issues/{number}?format=md&variables=true"))

    def get(self, path, status=200, **more):
        got, answer = self.server.request("GET", path, **more)
        self.assertEqual(got, status, answer)
        return answer.decode() if isinstance(answer, bytes) else answer

    def lines(self, path):
        """All pages."""
        found, cursor = [], ""
        while cursor is not None:
            text = self.get(path + cursor)
            found += [json.loads(line) for line in text.splitlines()]
            next_cursor = self.server.last_headers.get("X-Next-Cursor")
            cursor = f"&cursor={next_cursor}" if next_cursor else None
        return found

    def test_reports(self):
        found = self.lines("/api/v1/export/reports?limit=2")
        found = [r for r in found if r["id"] in self.ids]
        self.assertEqual(sorted(r["id"] for r in found), sorted(self.ids))
        self.assertTrue(all(r["threads"][0]["frames"] and r["issue"]["number"] for r in found))
        self.assertEqual([r["app"]["version"] for r in self.lines("/api/v1/export/reports?version=1.10")], ["1.10"])
        self.get("/api/v1/export/reports?limit=0", 400)
        self.get("/api/v1/export/reports?limi=1", 400)
        self.get("/api/v1/export/reports", 403, token="ingest")

    def test_issues(self):
        found = self.lines("/api/v1/export/issues?limit=1")
        self.assertGreaterEqual(sum(i["reports"] for i in found), 3)
        rows = list(csv.DictReader(io.StringIO(self.get("/api/v1/export/issues?format=csv"), newline="")))
        self.assertEqual({int(r["number"]): int(r["reports"]) for r in rows}, {i["number"]: i["reports"] for i in found})
        for row in rows:
            for name, text in row.items():
                self.assertNotRegex(text, r"^\s*[=+@-]", name)
                self.assertNotIn("\n", text)
        self.get("/api/v1/export/issues?format=xml", 400)

    def test_versions(self):
        rows = list(csv.DictReader(io.StringIO(self.get("/api/v1/export/versions"), newline="")))
        rows = [r for r in rows if r["version"] in ("1.10", "1.9", "'=1+1")]
        self.assertEqual([(r["version"], r["build"], r["reports"]) for r in rows[:2]],
                         [("1.10", "7", "1"), ("1.9", "7", "1")])
        self.assertEqual(rows[2]["version"], "'=1+1")

    def test_markdown(self):
        for issue in self.lines("/api/v1/export/issues?limit=100"):
            text = self.get(f"/api/v1/issues/{issue['number']}?format=md")
            self.assertTrue(text.startswith(f"# Issue {issue['number']}: "), text)
            self.assertIn(f"| Reports | {issue['reports']} |", text)
            for part in ("## Stack", "## Variants", "## Distribution", "Till"):
                self.assertIn(part, text)
            # Outside of the stack nothing is markup, and only the stack has fences.
            before, fence, rest = text.partition("```")
            after = rest[rest.rindex("```"):]
            for outside in (before, after):
                self.assertNotIn("<b>", outside)
                self.assertNotIn("](http", outside)
                self.assertNotIn("@all", outside)
            self.assertEqual(fence, "```")
            self.assertEqual(len([line for line in text.splitlines() if line.startswith("# ")]), 1)
            self.assertIn(f"\n| Link | <https://crashes.example.com/api/v1/issues/{issue['number']}?project=default> |\n", text)
        self.get("/api/v1/issues/99999?format=md", 404)
        self.get(f"/api/v1/issues/{issue['number']}?format=xml", 400)


if __name__ == "__main__":
    main()
