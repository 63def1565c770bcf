#!/usr/bin/env python3
"""Versions: sessions of Sentry's SDKs and of KSCrash, and reports of several versions, through the API."""

import datetime
import json

from case import BINARY, ServerCase, main
from openapi import DescribedServer as Server


def lines(*parts):
    return b"\n".join(json.dumps(p).encode() for p in parts)


def session(n, release, user, status="exited", **attrs):
    return [{"type": "session"}, {"sid": f"{n:032x}", "did": user, "init": True, "status": status,
                                  "attrs": {"release": release, **attrs}}]


class Versions(ServerCase):
    server_type = Server
    args = ("--workers", "1")

    def envelope(self, *items):
        url = f"/api/1/envelope/?sentry_key={self.server.ingest_key}"
        self.assertEqual(self.server.request("POST", url, body=lines({}, *items), token=None)[0], 200)

    def report(self, version, build, user, address):
        body = {"framezero": 1, "addresses": [hex(0x100000000 + address)],
                "images": [{"uuid": "4c4c442e55553144a1387743844373d8", "name": "Till", "path": "/var/Till.app/Till",
                            "arch": "arm64", "address": "0x100000000", "size": 0x10000}],
                "app": {"id": "com.acme.till", "version": version, "build": build}, "user": {"id": user},
                "tags": {"n": f"{version} {user} {address}"}}
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=json.dumps(body))
        self.assertEqual(status, 200, answer)

    def versions(self, query=""):
        status, answer = self.server.request("GET", "/api/v1/versions" + query)
        self.assertEqual(status, 200, answer)
        return answer, {(v["version"], v.get("build")): v for v in answer["versions"]}

    def test_all(self):
        till = "com.acme.till@"
        items = []
        for n in range(8):  # one of eight runs of 1.9 crashes, on the second of its updates
            items += session(n, till + "1.9+9", f"user-{n % 4}")
        items += session(7, till + "1.9+9", "user-3", "crashed")
        for n in range(8, 12):
            items += session(n, till + "1.10+10", f"user-{n % 2}", environment="beta")
        self.envelope(*items)
        self.envelope({"type": "sessions"}, {"attrs": {"release": till + "1.10+10"}, "aggregates": [
            {"did": "user-9", "exited": 3, "crashed": 1}]})
        summary = {"schema_version": 1, "run_id": "1FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11", "user_id": "user-k",
                   "outcome": {"termination_reason": "crash"},
                   "app": {"bundle_id": "com.acme.till", "short_version": "1.10", "version": "10"}}
        self.assertEqual(self.server.request("POST", "/api/v1/reports", body=json.dumps(summary))[0], 200)

        self.report("1.9", "9", "ann", 0x100)
        self.report("1.9", "9", "ben", 0x200)
        self.report("1.10", "10", "ann", 0x200)
        self.report("1.10", "10", "ann", 0x300)
        self.report("999.9.9", "1", "eve", 0x400)
        answer, found = self.versions()
        self.assertEqual([v["version"] for v in answer["versions"]], ["1.10", "1.9", "999.9.9"])
        self.assertEqual(answer["known"], 3)
        old, new, odd = (found[k] for k in (("1.9", "9"), ("1.10", "10"), ("999.9.9", "1")))
        self.assertEqual({k: old[k] for k in ("reports", "users", "sessions", "crash_free_sessions", "session_users",
                                              "crash_free_users", "new_issues", "regressed_issues")},
                         {"reports": 2, "users": 2, "sessions": 8, "crash_free_sessions": 0.875, "session_users": 4,
                          "crash_free_users": 0.75, "new_issues": 2, "regressed_issues": 0})
        self.assertNotIn("previous", old)
        self.assertEqual({k: new[k] for k in ("reports", "users", "sessions", "session_users", "crash_free_users",
                                              "new_issues", "previous")},
                         {"reports": 2, "users": 1, "sessions": 9, "session_users": 4, "crash_free_users": 0.5,
                          "new_issues": 1, "previous": {"version": "1.9", "build": "9"}})
        self.assertAlmostEqual(old["adoption"]["sessions"], 8 / 17, 5)
        self.assertAlmostEqual(new["adoption"]["users_24h"], 4 / 6, 5)
        self.assertEqual((odd["invented"], odd["sessions"]), (True, 0))
        self.assertNotIn("crash_free_sessions", odd)
        self.assertEqual(answer["all"]["session_users"], 6)
        _, beta = self.versions("?environment=beta")
        self.assertEqual((beta["1.10", "10"]["sessions"], beta["1.9", "9"]["sessions"]), (4, 0))
        self.assertEqual(len(self.versions("?limit=1")[0]["versions"]), 1)
        self.assertEqual(self.versions("?since=2020-01-01&until=2020-02-01")[1]["1.9", "9"]["reports"], 0)
        self.check_parts()
        self.assertEqual(self.server.request("GET", "/api/v1/versions?limit=0")[0], 400)
        self.assertEqual(self.server.request("GET", "/api/v1/versions?version=1")[0], 400)
        self.assertEqual(self.server.request("GET", "/api/v1/versions", token="ingest")[0], 403)

    def check_parts(self):
        """A range in parts: what each says of runs is what a list of these days alone says."""
        self.assertNotIn("parts", self.versions()[0])
        answer, _ = self.versions("?since=9d&parts=4")
        parts = answer["parts"]
        # Ten days: three of three, and the oldest has what is left.
        starts = [datetime.datetime.fromisoformat(part["since"].replace("Z", "+00:00")) for part in parts]
        self.assertEqual([(b - a).days for a, b in zip(starts, starts[1:])], [1, 3, 3])
        self.assertEqual(parts[-1]["until"][:10], answer["until"][:10])
        self.assertEqual([part["all"]["sessions"] for part in parts], [0, 0, 0, 17])
        for part in parts:
            alone, _ = self.versions(f"?since={part['since']}&until={part['until']}")
            self.assertEqual(part["all"], {name: alone["all"][name] for name in part["all"]})
            want = {v["version"]: v for v in alone["versions"] if v["sessions"]}
            self.assertEqual({v["version"] for v in part["versions"]}, set(want))
            for v in part["versions"]:
                for name in ("build", "sessions", "crash_free_sessions", "session_users", "crash_free_users"):
                    self.assertEqual(v[name], want[v["version"]][name], name)
                self.assertEqual(v["adoption"], {name: want[v["version"]]["adoption"][name] for name in v["adoption"]})
        beta = self.versions("?parts=1&environment=beta")[0]["parts"]
        self.assertEqual([v["version"] for v in beta[0]["versions"]], ["1.10"])
        self.assertEqual(self.versions("?since=2026-02-02&until=2026-02-01&parts=3")[0]["parts"], [])
        self.assertEqual(self.versions("?since=1971-01-01&until=9999-01-01&parts=31")[0]["parts"][-1]["until"][:4], "9999")
        for wrong in ("0", "32", "x", "-1", "", "3.5"):
            self.assertEqual(self.server.request("GET", f"/api/v1/versions?parts={wrong}")[0], 400, wrong)


if __name__ == "__main__":
    main()
