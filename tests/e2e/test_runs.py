#!/usr/bin/env python3
"""Runs of an app: a crash that arrives in several reports is counted once; run summaries of KSCrash are sessions."""

import json
import uuid

from case import ServerCase, main
from openapi import DescribedServer as Server


def native(run, n, way, **more):
    return {
        "framezero": 1,
        "run_id": run,
        "capture": {"way": way},
        "addresses": [hex(0x1000 + n)],
        "app": {"id": "com.acme.shop", "version": "4.2", "build": "4201"},
        **more,
    }


def kscrash(run, **error):
    return {
        "report": {"version": "3.9.0", "id": str(uuid.uuid4()).upper(), "run_id": run, "type": "standard"},
        "crash": {"error": {"type": "mach", **error}, "threads": []},
        "binary_images": [],
    }


class SameCrash(ServerCase):
    server_type = Server
    workers = 2

    def post(self, report):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=json.dumps(report).encode())
        self.assertEqual(status, 200, answer)
        self.assertNotEqual(answer["status"], "queued")
        return answer["id"]

    def same(self, report_id, query=""):
        answer = self.expect(200, "GET", f"/api/v1/reports/{report_id}{query}")
        return answer.get("same_crash", [])

    def counted(self, run):
        """Which report each one of the run is the same as; None for those that are counted."""
        status, answer = self.server.query("/api/v1/reports", run_id=run, limit=100)
        self.assertEqual(status, 200, answer)
        self.assertTrue(all(r["run_id"] == run for r in answer["reports"]))
        return {r["id"]: r.get("same_as") for r in answer["reports"]}

    def test_both_ways(self):
        run = str(uuid.uuid4()).upper()
        hang = self.post(native(run, 0, "hang", crash={"hang_ms": 4000}))
        own = self.post(native(run, 1, "signal"))
        corpse = self.post(native(run, 2, "corpse"))
        self.assertEqual(self.counted(run), {hang: None, own: None, corpse: own})
        self.assertEqual((self.same(hang), self.same(own), self.same(corpse)), ([], [corpse], [own]))
        # Symbolicated again, it is still the same crash.
        self.expect(202, "POST", f"/api/v1/reports/{corpse}/reprocess")
        self.server.wait_report(corpse)
        self.expect(202, "POST", f"/api/v1/reports/{own}/reprocess")
        self.assertEqual(self.server.wait_report(own)["same_crash"], [corpse])
        self.assertEqual(self.counted(run), {hang: None, own: None, corpse: own})
        self.expect(204, "DELETE", f"/api/v1/reports/{own}")
        self.assertEqual(self.counted(run), {hang: None, corpse: None})
        self.assertEqual(self.same(corpse), [])

    def test_kscrash(self):
        run = str(uuid.uuid4()).upper()
        passed = kscrash(run, type="hang", hang={"hang_start_nanos": 1})
        own, corpse = kscrash(run), {**kscrash(run), "corpse": {"exception": 1}}
        ids = [self.post(r) for r in (passed, corpse, own)]
        self.assertEqual(self.counted(run), {ids[0]: None, ids[1]: None, ids[2]: ids[1]})

    def test_at_once(self):
        """Two workers finish them; the body of both is one array."""
        for i in range(20):
            run = f"run {i}"
            body = json.dumps([kscrash(run) for _ in range(4)]).encode()
            status, answer = self.server.request("POST", "/api/v1/reports", body=body)
            self.assertEqual(status, 202)
            ids = [r["id"] for r in answer["reports"]]
            for report_id in ids:
                self.server.wait_report(report_id)
            same_as = self.counted(run)
            self.assertEqual(sorted(same_as), sorted(ids))
            counted = [i for i in ids if same_as[i] is None]
            self.assertEqual(len(counted), 1)
            self.assertEqual({s for s in same_as.values() if s}, set(counted))

    def test_apart(self):
        """Without a run id, or with an empty one, each crash is one of its own."""
        for run in ("", None):
            for n in range(2):
                report = native(run, 10 + n, "signal", tags={"run": str(run)})
                self.assertEqual(self.same(self.post({k: v for k, v in report.items() if v is not None})), [])


def summary(run, reason="clean", **more):
    return {
        "schema_version": 1,
        "run_id": run,
        "device_id": "device",
        "outcome": {"termination_reason": reason, "user_perceptible": True},
        "durations_ms": {"active": 9000, "background": 0},
        "sessions": {"records": []},
        "app": {"bundle_id": "com.acme.shop", "short_version": "5.0", "version": "5001", "build_type": "app store"},
        **more,
    }


class Summaries(ServerCase):
    server_type = Server

    def post(self, body, path="/api/v1/reports", token="ingest"):
        return self.server.request("POST", path, body=json.dumps(body).encode(), token=token)

    def counts(self):
        """healthy, abnormal, crashed of the release; None without it."""
        for release in self.expect(200, "GET", "/api/v1/sessions")["releases"]:
            if release["release"] == "com.acme.shop@5.0+5001":
                self.assertEqual(release["environment"], "app store")
                return tuple(release[k] for k in ("healthy", "abnormal", "crashed"))
        return None

    def n_reports(self):
        return self.expect(200, "GET", "/api/v1/reports?count=true")["count"]

    def test_counted(self):
        runs = [str(uuid.uuid4()).upper() for _ in range(6)]
        counted = (200, {"status": "counted", "sessions": 1})
        self.assertEqual(self.post(summary(runs[0])), counted)
        self.assertEqual(self.post(summary(runs[0])), counted)  # the same run
        self.assertEqual(self.post(summary(runs[1], "crash"), "/api/v1/reports?wait=20"), counted)
        self.assertEqual(self.counts(), (1, 0, 1))
        self.assertEqual(self.n_reports(), 0)
        # As KSCrash's sink sends what has piled up: among reports, with what cannot be counted.
        body = [summary(runs[2], "memory_limit"), kscrash(runs[2]), summary("7"), summary(runs[3])]
        status, answer = self.post(body, f"/kscrash/{self.server.ingest_key}", token=None)
        self.assertEqual((status, len(answer["reports"]), answer["sessions"], answer["refused"]), (200, 1, 2, 1))
        self.assertIn("run_id is not a UUID", answer["refused_why"])
        status, answer = self.post(body)
        self.assertEqual((status, answer["sessions"], answer["refused"]), (202, 2, 1))
        self.assertEqual((self.counts(), self.n_reports()), ((2, 1, 1), 1))
        status, answer = self.post([summary(runs[4]), summary(runs[5], app={})])
        self.assertEqual((status, answer["status"], answer["sessions"], answer["refused"]), (200, "counted", 1, 1))
        status, answer = self.post([summary(runs[5])], f"/kscrash/{self.server.ingest_key}", token=None)
        self.assertEqual((status, answer), (200, {"reports": [], "sessions": 1}))
        self.assertEqual(self.counts(), (4, 1, 1))

    def test_refused(self):
        before = self.counts()
        for body, why in (
            (summary("7"), "run_id is not a UUID"),
            (summary(str(uuid.uuid4()), app={"bundle_id": "a"}), "neither app.short_version nor app.version"),
        ):
            status, answer = self.post(body)
            self.assertEqual(status, 415)
            self.assertIn(why, answer["error"]["message"])
        # Where reports only pass through, or the answer has to have a report's id, nothing is counted.
        run = str(uuid.uuid4())
        paths = ("/api/v1/symbolicate", f"/bugsnag/{self.server.ingest_key}", f"/crashpad/{self.server.ingest_key}")
        for path in paths:
            status, answer = self.post(summary(run), path, token="admin")
            self.assertEqual(status, 415, answer)
        self.assertEqual(self.counts(), before)


if __name__ == "__main__":
    main()
