#!/usr/bin/env python3
"""Reports of one run of an app: a crash that arrives in the process's report and the extension's is counted once."""

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


if __name__ == "__main__":
    main()
