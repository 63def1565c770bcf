#!/usr/bin/env python3
"""What a project keeps: a server with limits, the command line beside it, and a clock that is set a year ahead."""

import json
import os
import subprocess
from datetime import datetime, timezone

from case import BINARY, SHIM, FolderCase, main, until
from clock import Clock
from framezero import Server
from symbol_files import sample

YEAR = 365 * 86400


def crash(n, function="pay()"):
    frames = [{"address": hex(0x100004000 + 16 * i), "function": name} for i, name in enumerate((function, "main"))]
    return json.dumps({"framezero": 1, "app": {"id": "com.acme.shop", "version": f"4.{n}"}, "crash": {"signal": "SIGSEGV"},
                       "threads": [{"index": 0, "crashed": True, "frames": frames}]}).encode()


class Retention(FolderCase):
    def setUp(self):
        super().setUp()
        self.clock = Clock(self.path("offset"), SHIM)
        self.server = Server(BINARY, args=("--limit", "retention_s=1"), env=self.clock.environment())
        self.addCleanup(self.server.stop)
        self.server.start()

    def ask(self, method, path, body=None, want=200):
        status, answer = self.server.request(method, path, body=None if body is None else json.dumps(body).encode())
        self.assertEqual(status, want, answer)
        return answer

    def retention(self, query=""):
        return self.ask("GET", "/api/v1/project/retention" + query)

    def send(self, n, function="pay()"):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=30", body=crash(n, function))
        self.assertEqual(status, 200, answer)
        return answer["id"]

    def metric(self, name):
        text = self.server.request("GET", "/metrics")[1].decode()
        return float(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1])

    def prune(self, *args):
        """Exit code, and how much is deleted by project and kind."""
        done = subprocess.run([BINARY, "prune", *args, *self.server.where], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, **self.clock.environment()})
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        return done.returncode, {(row[0], row[1]): int(row[3]) for row in rows}

    def test_limits(self):
        ids = [self.send(n) for n in range(20)] + [self.send(100 + n, f"rare_{n}()") for n in range(3)]
        before = self.ask("GET", "/api/v1/issues")["issues"]
        self.assertEqual(sorted(one["reports"] for one in before), [1, 1, 1, 20])
        self.assertEqual(self.retention()["due"]["n"], 0)
        preview = self.retention("?keep_reports=10")
        self.assertEqual((preview["due"]["reports_thinned_out"], preview["keep_reports"], preview["use"]["reports"]), (13, 10, 23))
        self.assertEqual(self.ask("GET", "/api/v1/project")["keep_reports"], 0)
        for wrong in (-1, 1.5, "7", None, 10**15):
            answer = self.ask("PUT", "/api/v1/project", {"keep_reports": wrong}, want=400)
            self.assertEqual(answer["error"]["detail"], {"path": "keep_reports"})
        self.ask("GET", "/api/v1/project/retention?keep_bytes=x", want=400)
        self.ask("POST", "/api/v1/project/retention/confirm", {"n": 1}, want=409)
        self.ask("PUT", "/api/v1/project", {"keep_reports": 10})
        # More than a fifth: it waits, for as much as somebody has seen.
        waits = until(lambda: self.retention().get("waits"), "the sweep waits")
        self.assertEqual(waits["n"], 13)
        self.assertEqual(self.metric("framezero_retention_held"), 1)
        self.assertEqual(self.prune("--dry-run"), (0, {**self.prune("--dry-run")[1], ("default", "reports thinned out"): 13}))
        self.assertEqual(self.prune()[0], 1)
        self.ask("POST", "/api/v1/project/retention/confirm", {"n": 12}, want=409)
        self.ask("POST", "/api/v1/project/retention/confirm", {"n": "x"}, want=400)
        self.ask("POST", "/api/v1/project/retention/confirm", {"n": 13})
        until(lambda: self.retention()["use"]["reports"] == 10, "the reports are deleted")
        until(lambda: self.metric("framezero_retention_held") == 0, "nothing waits")
        # Counted when the sweep ends.
        until(lambda: self.metric("framezero_retention_reports_total") >= 13, "they are counted")
        stored = {one["id"] for one in self.ask("GET", "/api/v1/reports?limit=50")["reports"]}
        self.assertEqual(stored & {ids[0], ids[19], *ids[20:]}, {ids[0], ids[19], *ids[20:]})
        self.assertEqual(self.ask("GET", "/api/v1/issues")["issues"], before)  # counts are history
        # Now it goes on as reports come, without asking.
        for n in range(5):
            self.send(50 + n)
        until(lambda: self.retention()["use"]["reports"] == 10, "further reports make room")
        # Bodies: the report stays, and cannot be processed again.
        self.server.command("project", "set", "default", "--keep-reports", "0", "--keep-bodies-days", "1")
        self.assertEqual(self.ask("GET", "/api/v1/project")["keep_bodies_days"], 1)
        self.clock.set(3 * 86400)
        until(lambda: self.retention().get("waits"), "the bodies wait")
        code, deleted = self.prune("--confirm", "--vacuum")
        self.assertEqual((code, deleted["default", "bodies"]), (0, 10))
        self.ask("GET", f"/api/v1/reports/{ids[0]}")
        self.ask("GET", f"/api/v1/reports/{ids[0]}?format=raw", want=404)
        self.ask("POST", f"/api/v1/reports/{ids[0]}/reprocess", want=409)

    def test_symbols(self):
        """A file that no report needs stays for a year after its upload, also if it came in the middle of a sweep."""
        status, answer = self.server.request("POST", "/api/v1/symbols?name=Demo.dSYM.zip", body=sample("Demo.dSYM.zip"))
        self.assertEqual(status, 201, answer)
        (file,) = self.ask("GET", "/api/v1/symbols")["symbols"]
        age = datetime.now(timezone.utc) - datetime.fromisoformat(file["uploaded"].replace("Z", "+00:00"))
        self.assertLess(abs(age.total_seconds()), 600)
        for days in (0, 300):
            self.clock.set(days * 86400)
            sweeps = self.metric("framezero_retention_sweeps_total")
            until(lambda: self.metric("framezero_retention_sweeps_total") > sweeps + 1, "a whole sweep")
            self.assertEqual(len(self.ask("GET", "/api/v1/symbols")["symbols"]), 1)
        self.clock.set(YEAR + 86400)
        waits = until(lambda: self.retention().get("waits"), "the sweep waits")
        self.ask("POST", "/api/v1/project/retention/confirm", {"n": waits["n"]})
        until(lambda: not self.ask("GET", "/api/v1/symbols")["symbols"], "it is deleted")

    def test_clock(self):
        for n in range(8):
            self.send(n)
        until(lambda: self.retention().get("swept"), "a sweep")
        self.clock.set(YEAR)
        waits = until(lambda: self.retention().get("waits"), "the sweep waits")
        self.assertEqual(waits["n"], 6)  # all but the first and the newest
        self.assertEqual(self.retention()["use"]["reports"], 8)
        self.clock.set(0)
        until(lambda: not self.retention().get("waits"), "the clock is right again")
        self.assertEqual(self.retention()["use"]["reports"], 8)
        self.clock.set(YEAR)
        until(lambda: self.retention().get("waits"), "the sweep waits")
        self.assertEqual(self.prune("--project", "nothing")[0], 1)
        code, deleted = self.prune("--project", "default", "--confirm")
        self.assertEqual((code, deleted["default", "reports by age"]), (0, 6))
        self.assertEqual(self.retention()["use"]["reports"], 2)
        self.assertEqual(self.ask("GET", "/api/v1/issues")["issues"][0]["reports"], 8)


if __name__ == "__main__":
    main()
