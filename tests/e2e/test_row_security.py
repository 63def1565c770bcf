#!/usr/bin/env python3
"""Row security in PostgreSQL: turned on and off beside a server by a user that may do nothing but own its tables.

Which rows each table shows is tested by contract.postgresql, and through all routes by test_authorisation.py with
FRAMEZERO_TEST_ROW_SECURITY=1. Here policies that hide everything show that requests are subject to them, and all else is not.
"""

import json
import os
import re
import subprocess
import sys
import unittest
import urllib.parse

from case import BINARY, main, report, until
from framezero import Server

CLUSTER = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
REPORTS = 3


def psql(url, *texts):
    words = [word for text in texts for word in ("-c", text)]
    return subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", url, *words], check=True, timeout=60,
                          capture_output=True, text=True).stdout.strip()


class Case(unittest.TestCase):
    def setUp(self):
        self.name = "rows_" + os.urandom(6).hex()
        owner = self.name + "_owner"
        psql(CLUSTER, f"CREATE ROLE {owner} LOGIN", f"CREATE DATABASE {self.name} OWNER {owner}")
        url = urllib.parse.urlsplit(CLUSTER)._replace(path="/" + self.name)
        self.mighty = url.geturl()
        self.server = Server(BINARY, workers=1, database=url._replace(netloc=owner + "@").geturl())
        self.server.start()
        self.addCleanup(self.server.stop)

    def security(self, action):
        return subprocess.run([BINARY, "row-security", action, "--database", self.server.database], timeout=60,
                              capture_output=True, text=True, check=False)

    def turn(self, action):
        done = self.security(action)
        self.assertEqual(done.returncode, 0, done.stderr)
        until(lambda: self.states()[-1:] == [action], f"the server notices that it is {action}")
        return done.stdout

    def states(self):
        return re.findall(r'msg="row security" state=(\w+)', self.server.log())

    def send(self, first, token="ingest"):
        ids = [self.server.request("POST", "/api/v1/reports", report(n), token=token)[1]["id"]
               for n in range(first, first + REPORTS)]
        return ids

    def listed(self, token="admin", path="/api/v1/reports"):
        status, answer = self.server.request("GET", path, token=token)
        self.assertEqual(status, 200, answer)
        return {one["id"] for one in answer["reports"]}


class RowSecurity(Case):
    def test_on_and_off(self):
        self.assertEqual(self.security("status").stdout, "off\n")
        # The owner may not make roles: what somebody else is to do is a part of the message, and does.
        refused = self.security("on")
        self.assertEqual(refused.returncode, 1)
        todo = re.search(r"again: (CREATE ROLE .*;)$", refused.stderr.strip())
        self.assertTrue(todo, refused.stderr)
        self.assertEqual(self.security("status").stdout, "off\n")
        psql(self.mighty, todo[1])
        self.assertRegex(self.turn("on"), rf"^on: role {self.name}_requests, policies of \d\d tables\n$")

        self.assertEqual(self.server.request("POST", "/api/v1/projects", json.dumps({"name": "other"}))[0], 201)
        tokens = {name: self.server.command("token", "create", "--project", "other", "--scope", name) for name in ("ingest", "admin")}
        mine, theirs = self.send(0), self.send(REPORTS, tokens["ingest"])
        for one in mine:
            self.server.wait_report(one)
        self.assertEqual(self.listed(), set(mine))
        self.assertEqual(self.listed(tokens["admin"]), set(theirs))
        # An admin of all projects is confined to the one that is asked for.
        self.assertEqual(self.listed(path="/api/v1/reports?project=other"), set(theirs))
        self.assertEqual(self.server.request("GET", "/api/v1/reports/" + theirs[0])[0], 404)
        self.assertEqual(self.server.request("DELETE", "/api/v1/reports/" + mine[0])[0], 204)
        self.assertEqual(self.listed(), set(mine[1:]))
        # Logins are of no project, and only admins of all see them.
        login = json.dumps({"token": self.server.admin_token})
        self.assertEqual(self.server.request("POST", "/api/v1/session", login, headers={"Origin": self.server.url})[0], 200)
        for token, found in (("admin", ["login"]), (tokens["admin"], [])):
            # An entry is stored after the answer.
            until(lambda: [one["action"] for one in self.server.request("GET", "/api/v1/audit?action=login", token=token)[1]["entries"]]
                  == found, f"entries for {token}")
        self.assertEqual(psql(self.mighty, "SELECT count(*) FROM report_bodies"), str(2 * REPORTS - 1))

        # It is PostgreSQL that shows a request its rows; what is counted over all projects, and workers, are not subject to that.
        psql(self.mighty, "ALTER POLICY row_security ON reports USING (false)", "ALTER POLICY row_security ON projects USING (false)")
        self.assertEqual((self.listed(), self.listed(tokens["admin"])), (set(), set()))
        self.assertEqual(self.server.request("GET", "/api/v1/project")[0], 404)
        self.assertEqual(len(self.server.request("GET", "/api/v1/projects")[1]["projects"]), 2)
        more = self.send(2 * REPORTS)
        until(lambda: psql(self.mighty, "SELECT count(*) FROM reports WHERE status = 'queued'") == "0", "all are done")
        self.assertIn(f"\nframezero_reports {3 * REPORTS - 1}\n", self.server.request("GET", "/metrics", token=None)[1].decode())
        self.turn("on")
        self.assertEqual(self.listed(), {*mine[1:], *more})

        self.turn("off")
        self.assertEqual(self.security("status").stdout, "off\n")
        self.assertEqual(self.listed(tokens["admin"]), set(theirs))
        self.assertEqual(psql(self.mighty, "SELECT count(*) FROM pg_policy"), "0")

    def test_refused(self):
        # A role that policies do not apply to.
        psql(self.mighty, f"CREATE ROLE {self.name}_requests NOLOGIN BYPASSRLS", f"GRANT {self.name}_requests TO {self.name}_owner")
        self.assertIn("policies do not apply", self.security("on").stderr)
        psql(self.mighty, f"ALTER ROLE {self.name}_requests NOBYPASSRLS")
        self.turn("on")
        # Whoever does not own the tables would see no rows, which must not look like an empty database.
        other = f"{self.name}_other"
        psql(self.mighty, f"CREATE ROLE {other} LOGIN", f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {other}")
        url = urllib.parse.urlsplit(self.mighty)._replace(netloc=other + "@").geturl()
        done = subprocess.run([BINARY, "project", "list", "--database", url], timeout=60, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("connect as their owner", done.stderr)
        # Without the role, as after a restore elsewhere: nothing is answered without the barrier, and a server does not start.
        self.server.terminate()
        psql(self.mighty, f"DROP OWNED BY {self.name}_requests", f"DROP ROLE {self.name}_requests")
        with self.assertRaisesRegex(RuntimeError, "run 'framezero row-security on' again"):
            self.server.start()
        psql(self.mighty, f"CREATE ROLE {self.name}_requests NOLOGIN", f"GRANT {self.name}_requests TO {self.name}_owner")
        self.assertEqual(self.security("on").returncode, 0)
        self.server.start()
        self.assertEqual(self.listed(), set())


if __name__ == "__main__":
    if not CLUSTER:
        sys.exit("run it under with_postgresql.sh")
    main()
