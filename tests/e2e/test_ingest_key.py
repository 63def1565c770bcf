#!/usr/bin/env python3
"""What an attacker can do with an ingest key, which is part of every app: send reports, and read nothing."""

import json

from case import ServerCase, main
from openapi import DescribedServer as Server
from symbol_files import sample

# What the sample's dSYM and the victim's report would give away.
SECRETS = ("price_of", "cart", "main.cpp", "/src/Demo", "sha256", "0d2ca8610a300cf2", "jane@example.com", "very secret")


def envelope(event):
    return b"{}\n" + json.dumps({"type": "event"}).encode() + b"\n" + json.dumps(event).encode() + b"\n"


class IngestKey(ServerCase):
    server_type = Server

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        status, answer = cls.server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        assert status == 201, answer
        cls.reader = cls.server.command("token", "create", "--scope", "read,ingest")

    def post(self, path, body, token="ingest", **headers):
        status, answer = self.server.request("POST", path, body=body, token=token, headers=headers)
        text = json.dumps(answer) if isinstance(answer, dict) else answer.decode(errors="replace")
        return status, answer, text

    def assert_silent(self, text):
        for secret in SECRETS:
            self.assertNotIn(secret, text)

    def probe(self, **more):
        """Addresses all over the app, as an attacker who has the app would send."""
        sent = json.loads(sample("report.json"))
        addresses = [hex(0x104a3c000 + 0x4000 + 16 * n) for n in range(72)]
        return json.dumps({"framezero": 1, "addresses": addresses, "images": sent["images"], **more})

    def test_key_reads_no_names(self):
        status, answer, text = self.post("/api/v1/reports?wait=20", self.probe())
        self.assertEqual(status, 200, text)
        self.assertEqual(set(answer), {"id", "status", "format"})
        self.assertIn(answer["status"], ("symbolicated", "partial"))
        self.assertEqual(answer["format"], "framezero")
        self.assert_silent(text)
        # The names exist, for tokens that may read.
        stored = self.server.request("GET", f"/api/v1/reports/{answer['id']}")[1]
        self.assertIn("price_of", json.dumps(stored))
        for token in ("admin", self.reader):
            self.assertIn("price_of", self.post("/api/v1/reports?wait=20", self.probe(), token=token)[2])

    def test_key_reads_no_names_through_other_protocols(self):
        sent = json.loads(sample("report.json"))
        image = {"type": "macho", "debug_id": sent["images"][0]["uuid"], "image_addr": "0x104a3c000",
                 "image_size": 65536, "code_file": "/Demo.app/Demo"}
        event = {"platform": "cocoa", "debug_meta": {"images": [image]}, "exception": {"values": [{
            "type": "E", "value": "v", "stacktrace": {"frames": [{"instruction_addr": "0x104a4010c"}]}}]}}
        key = self.server.ingest_key
        for path, body in ((f"/api/1/envelope/?sentry_key={key}&wait=20", envelope(event)),
                           (f"/api/1/store/?sentry_key={key}&wait=20", json.dumps(event)),
                           (f"/kscrash/{key}?wait=20", self.probe(tags={"client": "kscrash"})),
                           (f"/bugsnag/{key}?wait=20", self.probe(tags={"client": "bugsnag"}))):
            with self.subTest(path=path):
                status, _, text = self.post(path, body, token=None)
                self.assertEqual(status, 200, text)
                self.assert_silent(text)
        for path in ("/api/v1/symbolicate", "/api/v1/symbols?name=x", "/api/v1/symbols/known"):
            self.assertEqual(self.post(path, self.probe())[0], 403, path)
        self.assertIn(self.post("/symbolicate/v5", json.dumps({"memoryMap": [], "stacks": []}))[0], (401, 403))

    def test_reports_of_other_senders(self):
        victim = {"framezero": 1, "id": "8c1f0000000040008000000000000abc", "addresses": ["0x104a4010c"],
                  "images": [], "user": {"id": "17", "email": "jane@example.com"},
                  "crash": {"reason": "very secret"}}
        status, answer, _ = self.post("/api/v1/reports?wait=20", json.dumps(victim))
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["id"], victim["id"])
        attack = {"framezero": 1, "id": victim["id"], "addresses": ["0x1"], "images": []}
        for path in ("/api/v1/reports?wait=20", "/api/v1/reports", f"/kscrash/{self.server.ingest_key}"):
            status, answer, text = self.post(path, json.dumps(attack))
            self.assertIn(status, (200, 202), text)
            self.assert_silent(text)
            if "id" in answer:
                self.assertLessEqual(set(answer), {"id", "status", "format"})
        # The same for an event with the victim's id.
        event = {"event_id": victim["id"], "platform": "cocoa", "message": "hello"}
        status, answer, text = self.post(f"/api/1/store/?sentry_key={self.server.ingest_key}", json.dumps(event), None)
        self.assertEqual(status, 200, text)
        self.assertEqual(set(answer), {"id"})
        stored = self.server.request("GET", f"/api/v1/reports/{victim['id']}")[1]
        self.assertEqual(stored["user"]["email"], "[email]")  # of hers, masked

    def test_failed_report(self):
        """A report that a worker cannot read: the response says so, without the reason."""
        broken = b"{}\n" + json.dumps({"type": "attachment", "attachment_type": "event.minidump", "length": 32,
                                       "filename": "very secret"}).encode() + b"\nMDMP" + b"\x93\xa7" + b"\0" * 26
        status, answer, text = self.post("/api/v1/reports?wait=20", broken)
        self.assertEqual(status, 200, text)
        self.assertLessEqual(set(answer), {"id", "status", "format"})
        self.assert_silent(text)


if __name__ == "__main__":
    main()
