#!/usr/bin/env python3
"""Two reports with one id: both are stored, and each names the other; a report that is sent again is stored once."""

import json
import uuid

from case import ServerCase, main
from openapi import DescribedServer as Server


def native(report_id, address):
    return json.dumps({"framezero": 1, "id": report_id, "addresses": [hex(address)]}).encode()


def lines(*parts):
    return b"\n".join(json.dumps(p).encode() for p in parts)


class Clash(ServerCase):
    server_type = Server

    def post(self, body):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=body)
        self.assertEqual(status, 200, answer)
        return answer["id"]

    def get(self, report_id, query=""):
        status, answer = self.server.request("GET", f"/api/v1/reports/{report_id}{query}")
        self.assertEqual(status, 200, answer)
        return answer

    def notes(self, report_id):
        return [n for n in self.get(report_id).get("notes", []) if n.startswith("id_clash")]

    def raw(self, report_id):
        raw = self.get(report_id, "?format=raw")
        return raw if isinstance(raw, bytes) else json.dumps(raw).encode()

    def test_reports(self):
        claimed = uuid.uuid4().hex
        bodies = [native(claimed, 0x1000 * (i + 1)) for i in range(3)]
        first, second, third = (self.post(b) for b in bodies)
        self.assertEqual(first, claimed)
        self.assertEqual(len({first, second, third}), 3)
        for body, want in zip(bodies, (first, second, third)):
            self.assertEqual(self.post(body), want)  # a repetition gets the same response
            self.assertEqual(json.loads(self.raw(want)), json.loads(body))
        notes = self.notes(first)
        self.assertEqual(len(notes), 2)
        self.assertIn(second, notes[0])
        self.assertIn(third, notes[1])
        for other in (second, third):
            self.assertEqual(len(self.notes(other)), 1)
            self.assertIn(first, self.notes(other)[0])
        self.assertEqual(self.notes(self.post(native(uuid.uuid4().hex, 0x9000))), [])

    def test_an_id_cannot_suppress_a_report(self):
        """A report with an id that another one has is stored all the same."""
        victim = uuid.uuid4().hex
        self.post(native(victim, 0xBAD))
        stored = self.post(native(victim, 0x600D))
        self.assertIn(b"0x600d", self.raw(stored))

    def test_sentry_store(self):
        project, key = self.server.credentials["project_id"], self.server.ingest_key
        event = uuid.uuid4().hex
        ids = []
        for message in ("one", "two", "one"):
            status, answer = self.server.request(
                "POST",
                f"/api/{project}/store/?sentry_key={key}",
                body=json.dumps({"event_id": event, "platform": "cocoa", "message": message}).encode(),
                token=None,
            )
            self.assertEqual(status, 200, answer)
            ids.append(answer["id"])
        self.assertEqual(ids[0], event)
        self.assertEqual(ids[2], event)
        self.assertNotEqual(ids[1], event)
        self.assertIn(b"two", self.raw(ids[1]))

    def test_envelope_sent_again_later(self):
        project, key = self.server.credentials["project_id"], self.server.ingest_key
        event = uuid.uuid4().hex
        for hour in (10, 11):
            body = lines(
                {"event_id": event, "sent_at": f"2026-11-22T{hour}:00:00Z"},
                {"type": "event"},
                {"event_id": event, "platform": "cocoa", "message": "crash"},
            )
            status, answer = self.server.request(
                "POST", f"/api/{project}/envelope/?sentry_key={key}", body=body, token=None
            )
            self.assertEqual((status, answer), (200, {"id": event}))


if __name__ == "__main__":
    main()
