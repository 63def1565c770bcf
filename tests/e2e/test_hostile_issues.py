#!/usr/bin/env python3
"""Reports that try to break issues: texts of a megabyte, with control characters, of query languages; deep JSON; many of all.

After each of them the server answers, a harmless report still belongs to its issue, and every count is right.
"""

import json
import time

import recount
from case import ServerCase, main

MEGABYTE = "x" * 1_000_000
BIDI = "\u202e\u2066total\u2069\u202c"
UGLY = {
    "control": "a\x01b\x1b[31mc\x7fd\u0085e\r\nf\tg",
    "nul": "before\0after",
    "bidi": BIDI,
    "surrogate": "\ud800 alone",
    "fts": "\"quoted\" OR * NEAR(a b, 2) AND NOT col:x ^y {z}",
    "like": "%_%\\_100%",
    "quotes": "'; DROP TABLE issues; --",
    "json": "\"}],\"issue\":{\"number\":666}",
    "placeholder": "(other)",
    "blank": " \t ",
    "combining": "e" + "\u0301" * 2000,
    "marks": "\ufeff\ufffe\U0010ffff",
}
# What a report's issue has when nobody interferes.
ISSUE = {"number", "title", "hash", "variant", "label", "rules", "key"}


def native(n, frames=None, **more):
    return {
        "framezero": 1, "id": f"{n:032x}", "app": {"id": "com.acme.shop", "name": "Shop", "version": "4.2", "build": "1"},
        "crash": {"thread": 0, "signal": "SIGSEGV"},
        "threads": [{"index": 0, "crashed": True, "frames": frames or [{"address": "0x100001000", "function": "ok()"}]}],
        "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Shop", "address": "0x100000000",
                    "path": "/var/containers/Bundle/Application/X/Shop.app/Shop", "size": 65536}],
        **more,
    }


def everywhere(n, text):
    """The text as everything that issues are made of."""
    return native(n, [{"address": "0x100001000", "function": text}],
                  app={"id": text, "name": text, "version": text, "build": text}, os={"name": text, "version": text},
                  device={"model": text}, arch=text, environment=text, user={"id": text}, tags={text: text, "a": text},
                  crash={"thread": 0, "signal": text, "exception": text, "reason": text, "code": text})


def nested(depth, inner):
    for _ in range(depth):
        inner = {"issue": inner, "list": [1]}
    return inner


class Hostile(ServerCase):
    workers = 2
    # All of this comes within a second, as no app sends it.
    n = 0

    def post(self, body, wanted=200):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        status, answer = self.server.request("POST", "/api/v1/reports?wait=60", body=body, timeout=120)
        self.assertEqual(status, wanted, answer)
        return self.expect(200, "GET", f"/api/v1/reports/{answer['id']}") if wanted == 200 else answer

    @classmethod
    def next(cls):
        cls.n += 1
        return cls.n

    def check_harmless(self):
        """Others are as they were."""
        report = self.post(native(self.next()))
        self.assertEqual(report["issue"]["title"], "ok()")
        self.assertEqual(self.post(native(self.next()))["issue"]["number"], report["issue"]["number"])
        self.assertEqual(recount.wrong(self.server), [])
        self.expect(200, "GET", "/readyz")

    def check_issue(self, report):
        """It has an issue of its own, in one line that a terminal and a list can show."""
        self.assertEqual(set(report["issue"]), ISSUE, report["issue"])
        self.assertNotEqual(report["issue"]["number"], 666)
        for name in ("title", "label"):
            text = report["issue"][name]
            self.assertLess(len(text.encode()), 2048)
            self.assertFalse([c for c in text if ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u2066\u2069\ufeff"],
                             ascii(text))
            self.assertTrue(text.strip())

    def test_texts(self):
        for name, text in UGLY.items():
            with self.subTest(name):
                first = self.post(everywhere(self.next(), text))
                self.check_issue(first)
                self.assertEqual(self.post(everywhere(self.next(), text))["issue"]["number"], first["issue"]["number"])
        self.check_harmless()

    def test_searches(self):
        """Operators of full-text search and wildcards are texts like others: each finds itself, and nothing fails."""
        for text in ("say \"hi\" OR * NEAR(a b, 2) AND NOT c:x ^y {z}", "100%_of\\_it", "'; DROP TABLE issues; --", BIDI):
            with self.subTest(text):
                report = self.post(native(self.next(), crash={"thread": 0, "reason": text}))
                for path, name in (("/api/v1/issues", "issues"), ("/api/v1/reports", "reports")):
                    for query in (json.dumps(text, ensure_ascii=False), "reason:" + json.dumps(text, ensure_ascii=False)):
                        status, answer = self.server.query(path, query=query)
                        self.assertEqual(status, 200, answer)
                        self.assertEqual(len(answer[name]), 1, query)
                self.assertEqual(answer["reports"][0]["id"], report["id"])
                # Without quotes it is a query, whatever it means.
                self.assertIn(self.server.query("/api/v1/issues", query=text)[0], (200, 400))
        self.check_harmless()

    def test_megabytes(self):
        for member in ("function", "reason", "exception", "signal", "version", "user", "tag", "environment", "file"):
            with self.subTest(member):
                more = {"function": {"threads": [{"index": 0, "crashed": True, "frames": [
                            {"address": "0x100001000", "function": MEGABYTE}]}]},
                        "file": {"threads": [{"index": 0, "crashed": True, "frames": [
                            {"address": "0x100001000", "function": "f", "file": "/" + MEGABYTE, "line": 1}]}]},
                        "version": {"app": {"id": MEGABYTE, "version": MEGABYTE, "build": "9" * 1_000_000}},
                        "user": {"user": {"id": MEGABYTE}}, "tag": {"tags": {MEGABYTE: MEGABYTE, "b": "c"}},
                        "environment": {"environment": MEGABYTE}}.get(
                            member, {"crash": {"thread": 0, member: MEGABYTE}})
                self.check_issue(self.post(native(self.next(), **more)))
        self.check_harmless()

    def test_bytes_that_are_not_text(self):
        body = json.dumps(everywhere(self.next(), "@@")).encode().replace(b"@@", b"\xff\xfe\xc3(\xed\xa0\x80" * 300)
        self.check_issue(self.post(body))
        self.check_harmless()

    def test_members_named_issue(self):
        """What a client calls "issue" stays where it was, and does not hide the report's own."""
        forged = {"number": 666, "title": "forged", "hash": "00", "key": ["forged"]}
        for more in ({"issue": forged}, {"extra": {"issue": forged}}, {"user": {"id": "u", "issue": forged}},
                     {"tags": {"issue": "forged"}}, {"extra": nested(60, forged)}, {"extra": "issue"},
                     {"breadcrumbs": [{"issue": forged}]}):
            with self.subTest(str(more)[:40]):
                report = self.post(native(self.next(), **more))
                self.check_issue(report)
                self.assertEqual(report["issue"]["title"], "ok()")
                # What the format does not have is kept in "extra", by its name.
                for name in more:
                    where = report["extra"] if name in ("extra", "issue") else report
                    self.assertEqual(where[name], more[name])
        body = json.dumps(native(self.next()))[:-1]
        report = self.post((body + ',"issue":{"number":666},"\\u0069ssue":{"number":666},"issue":[]}').encode())
        self.check_issue(report)
        status, raw = self.server.request("GET", f"/api/v1/reports/{report['id']}")
        self.assertEqual(status, 200, raw)
        self.check_harmless()

    def test_fingerprints(self):
        for extra in ({"fingerprint": [MEGABYTE, "b"]}, {"fingerprint": ["a"] * 100_000}, {"fingerprint": nested(40, 1)},
                      {"fingerprint": [["a", ["b"]], {"c": 1}, None]}, {"fingerprint": "{{ default }}"},
                      {"fingerprint": ["\0\x01\n", "\ud800"]}):
            with self.subTest(str(extra)[:40]):
                self.check_issue(self.post(native(self.next(), **extra)))
        self.check_harmless()

    def test_most_threads_and_frames(self):
        frames = [{"address": "0x100001000", "function": f"f{i % 2}"} for i in range(1024)]
        report = native(self.next(), frames)
        report["threads"] += [{"index": i, "frames": ["0x1"] * 1024} for i in range(1, 512)]
        started = time.monotonic()
        self.check_issue(self.post(report))
        self.assertLess(time.monotonic() - started, 60)
        deep = [{"address": "0x100001000", "function": "n" * 1500 + str(i)} for i in range(1024)]
        self.check_issue(self.post(native(self.next(), deep)))
        self.check_harmless()

    def test_times(self):
        """Issues count by the time of receipt: clocks of devices are wrong."""
        for when in ("1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
                     "yesterday", -1, 1e300, 2**63):
            with self.subTest(str(when)):
                self.check_issue(self.post(native(self.next(), timestamp=when)))
        low, high = recount.rows(self.server, "SELECT min(first_ms), max(last_ms) FROM issues")[0]
        self.assertLess(high - low, 3600 * 1000)
        self.check_harmless()

    def test_many_tags(self):
        tags = {f"name {i}": "v" * 300 for i in range(5000)}
        self.check_issue(self.post(native(self.next(), tags=tags)))
        self.assertLessEqual(recount.number(self.server, "SELECT max(n) FROM (SELECT count(*) AS n FROM fact_tags GROUP BY "
                                                         "report_key, received_ms) AS t"), 32)
        self.check_harmless()

    def test_too_many_versions(self):
        """They count as one, and the project says so."""
        self.post(native(self.next(), app={"id": "com.acme.shop", "version": "7.0"}))
        # As if so many had come.
        recount.rows(self.server, "UPDATE term_counts SET n = 5000 WHERE field = 1")
        for version in ("7.0", "7.1", "7.2"):
            self.post(native(self.next(), app={"id": "com.acme.shop", "version": version}))
        self.assertEqual(self.expect(200, "GET", "/api/v1/project")["full_fields"],
                         [{"field": "version", "limit": 5000, "n_other": 2}])
        recount.rows(self.server, "UPDATE term_counts SET n = 1, n_dropped = 0 WHERE field = 1")
        self.check_harmless()

    def test_many_of_all(self):
        """A message that differs each time is one issue, whose variants have a limit."""
        ids = []
        for i in range(700):
            word = "".join(chr(97 + int(c)) for c in str(i))
            body = native(self.next(), crash={"thread": 0, "signal": "SIGABRT", "reason": f"order {word}"},
                          app={"id": "com.acme.shop", "version": f"9.{i}"}, user={"id": f"many {i}"}, tags={"t": word})
            body["threads"][0]["frames"] = [{"address": "0x100001000", "function": "storm()"}]
            status, answer = self.server.request("POST", "/api/v1/reports", body=json.dumps(body).encode())
            self.assertEqual(status, 202, answer)
            ids.append(answer["id"])
        numbers = {self.server.wait_report(i, until=lambda r: "number" in r.get("issue", {}))["issue"]["number"]
                   for i in ids}
        self.assertEqual(len(numbers), 1)
        self.assertLessEqual(recount.number(self.server, "SELECT max(n) FROM (SELECT count(*) AS n FROM variants GROUP BY "
                                                         "key_id) AS t"), 501)
        self.check_harmless()


if __name__ == "__main__":
    main()
