#!/usr/bin/env python3
"""Hostile texts in every format that the server takes, and in everything that users write, on every screen in a real browser.

FRAMEZERO_HOSTILE=all has each case with every text in turn; otherwise each case comes once, with other texts than the one before.
"""

import json
import os
import pathlib
import urllib.parse

import hostile_texts
from page_case import PageCase

from case import SAMPLE, SOURCE, main

GOLDEN = pathlib.Path(SOURCE, "tests", "golden")
FORMATS = ("bugsnag", "crash", "ips", "kscrash", "metrickit", "minidump", "native", "plcrash", "quincy", "sentry")
USUAL = {"bugsnag/event", "crash/ios", "crash/symbolicated", "ips/crash", "ips/jetsam", "kscrash/standard", "kscrash/nsexception", "kscrash/user-reported",
         "metrickit/crash", "minidump/crashpad_mac", "minidump/nsexception_ios", "native/full", "plcrash/usual", "plcrash/exception", "quincy/hockey", "sentry/cocoa",
         "sentry/envelope", "sentry/thrown"}
IS_ALL = os.environ.get("FRAMEZERO_HOSTILE") == "all"
SECTIONS = ("clients", "tokens", "alerts", "grouping", "privacy", "users", "account")


def cases():
    """Name, input and report of each case that is used."""
    for folder in sorted(path for name in FORMATS for path in (GOLDEN / name).iterdir() if path.is_dir()):
        name = f"{folder.parent.name}/{folder.name}"
        given, report = next(folder.glob("input.*"), None), folder / "report.json"
        if given and report.exists() and (IS_ALL or name in USUAL):
            yield name, given, json.loads(report.read_text(encoding="utf-8"))


class HostileFormats(PageCase):
    def send_all(self):
        """The ids of reports, by format."""
        ids = {}
        for n, (name, given, report) in enumerate(cases()):
            for shift in range(7 * n, 7 * n + (len(hostile_texts.TEXTS) if IS_ALL else 1)):
                body = hostile_texts.mutated(given, report, shift)
                path = "/api/v1/reports?wait=30"
                if name.startswith("bugsnag/"):
                    path, body = f"/bugsnag/{self.server.ingest_key}", b'{"notifier": {"name": "n"}, "events": [%s]}' % body
                if given.suffix == ".envelope":
                    path = f"/api/1/envelope/?sentry_key={self.server.ingest_key}"
                status, answer = self.server.request("POST", path, body=body)
                self.assertIn(status, (200, 400, 413, 415, 422), (name, answer))
                if status == 200:
                    ids.setdefault(name.split("/")[0], []).extend(answer.get("reports") or [answer["id"]])
                else:
                    print(f"{name}: {status} {answer['error']['message'][:100]}")
        long = json.loads((GOLDEN / "native" / "frames" / "input.json").read_text(encoding="utf-8"))
        long["crash"] = {"signal": "SIGABRT", "reason": "<b>" * 300000, "exception": "long" * 250000}
        ids["native"].append(self.send(json.dumps(long).encode())["id"])
        return ids

    def send_sessions(self):
        for n, text in enumerate(hostile_texts.TEXTS):
            status, answer = self.server.request("POST", f"/api/1/envelope/?sentry_key={self.server.ingest_key}", body=hostile_texts.session(n, text), token=None)
            self.assertIn(status, (200, 400), (text[:40], answer))

    def send_values(self, text):
        """A crash whose variables have hostile names, and one a hostile value."""
        self.expect(200, "PUT", "/api/v1/project", body=json.dumps({"values": "on"}).encode())
        sample = pathlib.Path(SAMPLE)
        self.expect(201, "POST", "/api/v1/symbols", body=hostile_texts.program((sample / "Demo.zip").read_bytes()))
        return self.send(hostile_texts.values((sample / "crash.json").read_bytes(), text))["id"]

    def write_texts(self):
        """What users and admins write; some is refused."""
        texts = hostile_texts.TEXTS[:16]
        for text in texts:
            self.server.request("POST", "/api/v1/tokens", body=json.dumps({"scopes": ["read"], "label": text[:200]}).encode())
            self.server.request("POST", "/api/v1/channels", body=json.dumps({"name": text[:100], "kind": "slack", "url": "https://127.0.0.1:9/" + urllib.parse.quote(text)}).encode())
            self.server.request("POST", "/api/v1/invitations", body=json.dumps({"email": f"\"{text[:40]}\"@evil.example", "role": "viewer"}).encode())
        for n, text in enumerate(texts[:4]):
            url = self.server.command("user", "invite", "--email", f"user{n}@example.com")
            token = url.split("#")[1].strip()
            body = {"token": token, "name": text, "password": "correct horse battery"}
            self.expect(201, "POST", "/api/v1/invitations/accept", body=json.dumps(body).encode(), token=None)
        self.server.request("PUT", "/api/v1/project", body=json.dumps({"cut_prefixes": [text[:200] for text in texts[:8]]}).encode())

    def test_every_format(self):
        ids = self.send_all()
        self.assertEqual(sorted(ids), sorted(FORMATS), "formats of which a report came through")
        self.send_sessions()
        # Quotes are escaped in values.
        value = f"value <img src=x onerror={hostile_texts.SCRIPT}>"
        ids["values"] = [self.send_values(value)]
        self.write_texts()
        issues = self.expect(200, "GET", "/api/v1/issues?limit=100")["issues"]
        for issue, text in zip(issues, hostile_texts.TEXTS):
            self.expect(201, "POST", f"/api/v1/issues/{issue['number']}/comments", body=json.dumps({"text": text}).encode())
            self.expect(200, "PATCH", f"/api/v1/issues/{issue['number']}", body=json.dumps({"assignee": text.encode()[:100].decode(errors="ignore")}).encode())
        paths = ["issues?query=", "reports", "versions", "versions?since=90d", "symbols", "start", *(f"settings/{name}" for name in SECTIONS)]
        paths += [f"issues/{issue['number']}" for issue in issues] + [f"reports/{one}" for of in ids.values() for one in of]
        missing = self.expect(200, "GET", "/api/v1/symbols/missing?limit=20")["missing"]
        paths += [f"symbols?uuid={one['uuid']}" for one in missing[:3]]
        self.journey("hostile_all", paths=[f"/p/default/{path}" for path in paths], texts=hostile_texts.TEXTS,
                     needed=[value, *hostile_texts.SHOWN_OF_DWARF])


if __name__ == "__main__":
    main()
