#!/usr/bin/env python3
"""The API without symbol files: permissions, reports in and out, lists, status, and how `serve` starts and ends."""

import gzip
import http.client
import json
import os
import re
import stat
import subprocess
import tempfile
import threading
import time
import unittest

from case import BINARY, MANY_FAILURES, ServerCase, main, until
from framezero import free_port
from openapi import DescribedServer as Server
import recount
import route_table

NOTHING = "0" * 31 + "1"


def report(n=0, **more):
    return json.dumps({
        "framezero": 1, "addresses": [hex(0x100000000 + 16 * n), "0x100000100"],
        "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Demo", "address": "0x100000000",
                    "size": 1048576}], **more}).encode()


class WithoutWorkers(ServerCase):
    """One server for all cases; nothing is ever symbolicated, so reports stay queued."""

    server_type = Server
    workers = 0
    args = MANY_FAILURES

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokens = {"admin": cls.server.admin_token, "ingest": cls.server.ingest_key}
        for scope in ("read", "upload"):
            cls.tokens[scope] = cls.server.command("token", "create", "--scope", scope, "--label", scope)
        cls.server.command("project", "create", "other")
        cls.other = cls.server.command("token", "create", "--scope", "admin", "--project", "other")

    def test_first_start(self):
        path = os.path.join(self.server.data, "credentials.json")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.server.data).st_mode), 0o700)
        credentials = self.server.credentials
        key, url = credentials["ingest_key"], self.server.url
        self.assertRegex(key, r"^[0-9a-f]{32}$")
        self.assertEqual(credentials["url"], url)
        self.assertEqual(credentials["project"], "default")
        project = credentials["project_id"]
        self.assertEqual(credentials["dsn"], f"http://{key}@127.0.0.1:{self.server.port}/{project}")
        log = self.server.log()
        self.assertIn(credentials["admin_token"], log)
        self.assertIn("Demo.dSYM.zip", log)
        self.assertIn(f"url={url} data={self.server.data}", log)

    def test_every_route_asks_for_its_scope(self):
        for (method, path), scope in {route: row.scope for route, row in route_table.read().items()}.items():
            path = path.replace("{id}", NOTHING).replace("{uuid}", NOTHING).replace("{project}", "default")
            # Without it, the stream goes on for an hour.
            path += "?seconds=1" if path == "/api/v1/events" else ""
            body = b"" if method == "POST" else None
            with self.subTest(method=method, path=path):
                answers = {name: self.server.request(method, path, body=body, token=token)[0]
                           for name, token in {**self.tokens, "none": None, "wrong": "fz_" + "A" * 43}.items()}
                if scope is None:
                    # A route that finds its token itself has tests of its own.
                    # So has the login (test_login.py).
                    if method == "GET" and not path.startswith(("/api/v1/session", "/api/v1/account/")):
                        self.assertEqual(set(answers.values()), {200})
                    continue
                self.assertEqual(answers["none"], 401)
                self.assertEqual(answers["wrong"], 401)
                for name in self.tokens:
                    allowed = name in (scope, "admin")
                    self.assertEqual(answers[name] not in (401, 403), allowed, f"{name}: {answers[name]}")
                    if not allowed:
                        self.assertEqual(answers[name], 403)

    def test_openapi_names_every_route(self):
        described = self.expect(200, "GET", "/api/v1/openapi.json", token=None)
        self.assertEqual(described["openapi"], "3.1.0")
        self.assertTrue(described["servers"][0]["url"].startswith("http://127.0.0.1:8480"))
        tags = [tag["name"] for tag in described["tags"]]
        used = set()
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                with self.subTest(method=method, path=path):
                    self.assertTrue(operation.get("tags"), "the operation has no tag")
                    self.assertLessEqual(set(operation["tags"]), set(tags))
                    used.update(operation["tags"])
        self.assertEqual(used, set(tags))
        named = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
        self.assertEqual(named, set({route: row.scope for route, row in route_table.read().items()}))
        for (method, path), scope in {route: row.scope for route, row in route_table.read().items()}.items():
            operation = described["paths"][path][method.lower()]
            self.assertEqual(bool(operation["security"]), scope is not None, path)
            if scope:
                self.assertIn(f"Scope: {scope}.", operation["description"])

    def test_openapi_names_every_list_parameter(self):
        described = self.expect(200, "GET", "/api/v1/openapi.json", token=None)
        named = {p["name"] for p in described["paths"]["/api/v1/reports"]["get"]["parameters"]}
        message = self.expect(400, "GET", "/api/v1/reports?colour=red")["error"]["message"]
        self.assertIn("unknown parameter 'colour'", message)
        for name in named:
            _, answer = self.server.request("GET", f"/api/v1/reports?{name}=1")
            self.assertNotIn("unknown parameter", json.dumps(answer), name)

    def test_ways_to_give_a_token(self):
        key, read = self.tokens["ingest"], self.tokens["read"]
        self.expect(202, "POST", "/api/v1/reports", body=report(1), token=None, headers={"X-Framezero-Key": key})
        self.expect(202, "POST", f"/api/v1/reports?key={key}", body=report(1), token=None)
        self.expect(200, "GET", "/api/v1/reports", token=None, headers={"X-Framezero-Key": read})
        self.expect(401, "GET", f"/api/v1/reports?key={read}", token=None)
        self.expect(401, "POST", "/api/v1/reports", body=report(1), token=None,
                    headers={"Authorization": "Basic " + key})
        self.assertEqual(self.server.last_headers["WWW-Authenticate"].split()[0], "Bearer")

    def test_same_report_twice(self):
        first = self.expect(202, "POST", "/api/v1/reports", body=report(2), token="ingest")
        self.assertEqual(set(first), {"id", "status", "format"})
        self.assertEqual((first["status"], first["format"]), ("queued", "framezero"))
        again = self.expect(202, "POST", "/api/v1/reports", body=report(2), token="ingest")
        self.assertEqual(again, first)
        packed = self.expect(202, "POST", "/api/v1/reports", body=gzip.compress(report(2)), token="ingest",
                             headers={"Content-Encoding": "gzip"})
        self.assertEqual(packed, first)
        own = "8C1F0000-0000-4000-8000-000000000002"
        mine = self.expect(202, "POST", "/api/v1/reports", body=report(3, id=own), token="ingest")
        self.assertEqual(mine["id"], own.replace("-", "").lower())
        changed = self.expect(202, "POST", "/api/v1/reports", body=report(4, id=own), token="ingest")
        self.assertNotEqual(changed["id"], mine["id"])  # another report with the same id
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{changed['id']}?format=raw"), report(4, id=own))
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{own}")["id"], mine["id"])
        self.expect(204, "DELETE", f"/api/v1/reports/{changed['id']}")
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{own}?format=raw"), report(3, id=own))

    def test_queued_report(self):
        posted = self.expect(202, "POST", "/api/v1/reports", body=report(5), token="ingest")
        path = f"/api/v1/reports/{posted['id']}"
        got = self.expect(200, "GET", path)
        self.assertEqual(set(got), {"id", "project", "status", "format", "received"})
        self.assertEqual((got["status"], got["project"]), ("queued", "default"))
        self.assertEqual(self.expect(200, "GET", path + "?format=raw"), report(5))
        self.assertEqual(self.expect(409, "GET", path + "?format=crash")["error"]["code"], "conflict")
        self.assertIn("json, crash, ips", self.expect(400, "GET", path + "?format=xml")["error"]["message"])
        self.assertEqual(self.expect(202, "POST", path + "/reprocess")["status"], "queued")
        self.assertEqual(self.expect(204, "DELETE", path), b"")
        for method, sub in (("GET", ""), ("DELETE", ""), ("POST", "/reprocess")):
            self.assertEqual(self.expect(404, method, path + sub)["error"]["code"], "not_found")

    def test_wait_without_workers(self):
        start = time.monotonic()
        answer = self.expect(202, "POST", "/api/v1/reports?wait=0.5", body=report(6), token="ingest")
        self.assertEqual(answer["status"], "queued")
        self.assertTrue(0.4 < time.monotonic() - start < 5)
        for bad in ("soon", "-1", "1e3", ""):
            with self.subTest(wait=bad):
                self.expect(400, "POST", f"/api/v1/reports?wait={bad}", body=report(6), token="ingest")

    def test_other_project(self):
        mine = self.expect(202, "POST", "/api/v1/reports", body=report(7), token="ingest")["id"]
        for method, sub in (("GET", ""), ("GET", "?format=raw"), ("DELETE", ""), ("POST", "/reprocess")):
            got, answer = self.server.request(method, f"/api/v1/reports/{mine}{sub}", token=self.other)
            self.assertEqual(got, 404, answer)
            nothing = self.server.request(method, f"/api/v1/reports/{NOTHING}{sub}", token=self.other)[1]
            self.assertEqual(str(answer).replace(mine, NOTHING), str(nothing))
        self.assertEqual(self.expect(200, "GET", "/api/v1/reports", token=self.other)["reports"], [])
        # The same bytes are another report there.
        theirs = self.expect(202, "POST", "/api/v1/reports", body=report(7), token=self.other)["id"]
        self.assertNotEqual(theirs, mine)
        # A token of all projects chooses the project; a token of one project cannot.
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{theirs}?project=other")["project"], "other")
        self.expect(404, "GET", f"/api/v1/reports/{theirs}")
        self.expect(404, "GET", f"/api/v1/reports/{mine}?project=default", token=self.other)
        self.expect(404, "GET", "/api/v1/reports?project=nowhere")

    def test_list(self):
        self.server.command("project", "create", "listed")
        token = self.server.command("token", "create", "--scope", "admin", "--project", "listed")
        ids = [self.expect(202, "POST", "/api/v1/reports", body=report(100 + i), token=token)["id"] for i in range(7)]
        seen, cursor = [], ""
        while True:
            page = self.expect(200, "GET", f"/api/v1/reports?limit=3{cursor}", token=token)
            self.assertLessEqual(len(page["reports"]), 3)
            seen += [r["id"] for r in page["reports"]]
            if "next_cursor" not in page:
                break
            cursor = "&cursor=" + page["next_cursor"]
        self.assertEqual([i for i in seen if i in ids], ids[::-1])
        self.assertEqual(len(seen), len(set(seen)))
        future = self.server.query("/api/v1/reports", since="2100-01-01T00:00:00Z")[1]
        self.assertEqual(future["reports"], [])
        for query in ("status=done", "limit=0", "limit=501", "limit=x", "since=yesterday", "uuid=xyz", "cursor=zzz",
                      "colour=red", "issue=x", "q=ab"):
            with self.subTest(query=query):
                message = self.expect(400, "GET", f"/api/v1/reports?{query}", token=token)["error"]["message"]
                self.assertIn({"q": "text"}.get(query.partition("=")[0], query.partition("=")[0]), message)

    def test_invalid_bodies(self):
        self.assertIn("empty", self.expect(400, "POST", "/api/v1/reports", body=b"")["error"]["message"])
        broken = self.expect(400, "POST", "/api/v1/reports", body=b'{"framezero":1,')
        self.assertEqual(broken["error"]["detail"], {"offset": 15})
        self.expect(400, "POST", "/api/v1/symbols", body=b"")
        form = {"Content-Type": "multipart/form-data; boundary=x"}
        self.expect(400, "POST", "/api/v1/symbols", body=b"--x--\r\n", headers=form)
        for body, word in ((b"{}", "uuids"), (b'{"uuids":["q"]}', "uuids[0]"), (b'{"uuids":[1]}', "uuids[0]"),
                           (b"[", "byte 1"), (b'{"uuids":[],"kind":"elf"}', "kind")):
            with self.subTest(body=body):
                answer = self.expect(400, "POST", "/api/v1/symbols/known", body=body)
                self.assertIn(word, answer["error"]["message"])
        many = json.dumps({"uuids": [NOTHING] * 10001}).encode()
        self.expect(413, "POST", "/api/v1/symbols/known", body=many)

    def test_known(self):
        asked = ["4C4C445B-5555-3144-A129-88BEB9D5EB60", NOTHING, NOTHING]
        for kind in ({}, {"kind": "dsym"}):
            answer = self.expect(200, "POST", "/api/v1/symbols/known", body=json.dumps({"uuids": asked, **kind}))
            self.assertEqual(answer, {"missing": asked})

    def test_revoked_token(self):
        token = self.server.command("token", "create", "--scope", "read")
        self.expect(200, "GET", "/api/v1/reports", token=token)
        listed = [line.split("\t") for line in self.server.command("token", "list").splitlines()]
        number = next(row[0] for row in listed if token.startswith(row[1]))
        self.server.command("token", "revoke", number)
        until(lambda: self.server.request("GET", "/api/v1/reports", token=token)[0] == 401, "the token is rejected", 5)

    def test_status(self):
        health = self.expect(200, "GET", "/healthz", token=None)
        self.assertEqual(health["status"], "ok")
        sandbox = health["sandbox"]
        self.assertIn(sandbox["level"], ("full", "partial", "none"))
        self.assertEqual(len(sandbox["active"]) + len(sandbox["absent"]), 12)
        self.assertEqual(sandbox["landlock_abi"] > 0, "landlock" in sandbox["active"])
        line = next(line for line in self.server.log().splitlines() if 'msg="sandbox"' in line)
        self.assertIn(f"level={sandbox['level']} ", line)
        ready = self.expect(200, "GET", "/readyz", token=None)
        self.assertEqual(ready, {"status": "ready", "checks": {"database": "ok", "workers": "ok", "disk": "ok"}})
        self.expect(202, "POST", "/api/v1/reports", body=report(8), token="ingest")
        metrics = self.expect(200, "GET", "/metrics", token=None).decode()
        self.assertIn("# TYPE", metrics)
        for line in metrics.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) .*|[a-z_:]+(\{[^}]*\})? [0-9.e+-]+)$')
        # What is counted in the database is counted every two seconds at most.
        until(lambda: re.search(r'(?m)^framezero_jobs\{state="waiting"\} [1-9]',
                                self.expect(200, "GET", "/metrics", token=None).decode()), "a waiting job in the metrics")

    def test_command_mistakes(self):
        for args, status, words in (
                (["token", "create"], 2, "--scope SCOPE is missing"), (["token", "create", "--scope", "all"], 2, "is not one of: ingest"),
                (["token", "create", "--scope", "read", "--project", "nowhere"], 1, "nowhere"),
                (["token", "revoke", "99999"], 1, "99999"), (["project", "create", "default"], 1, "default"),
                (["project", "create", "No Good"], 1, "a project's name"), (["project"], 2, "project: "),
                (["serve", "--port", "1"], 2, "--port"), (["nonsense"], 2, "nonsense")):
            with self.subTest(args=args):
                done = subprocess.run([BINARY, *args, *self.server.where], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(words, done.stderr)


class Serving(unittest.TestCase):
    """How a server starts and ends; each case has its own."""

    def test_wrong_tokens_are_limited(self):
        with Server(BINARY, workers=0) as server:
            self.assertEqual(server.request("GET", "/api/v1/reports")[0], 200)
            wrong = [server.request("GET", "/api/v1/reports", token=f"fz_{i:043d}")[0] for i in range(12)]
            self.assertEqual(wrong, [401] * 10 + [429] * 2)
            self.assertIn(int(server.last_headers["Retry-After"]), range(1, 61))
            # A client with a valid token is not locked out by another one at the same address.
            end = time.monotonic() + 4
            while time.monotonic() < end:
                self.assertEqual(server.request("GET", "/api/v1/reports")[0], 200)
                time.sleep(0.5)
            self.assertEqual(server.request("GET", "/healthz", token=None)[0], 200)

    def test_ready_counts_seldom(self):
        with Server(BINARY, workers=0) as server:
            for n in (1, 2):
                self.assertEqual(server.request("POST", "/api/v1/reports", body=report(n))[0], 202)
            count = lambda: server.request("GET", "/readyz")[1]["checks"].get("reports_without_issue")
            self.assertIsNone(count())
            processed = "UPDATE reports SET is_grouped = 0, n_processed = 1 WHERE key "
            took_s = 9
            while took_s > 1.5:  # a turn that the machine held up shows nothing
                recount.execute(server, processed + "> 0", "UPDATE reports SET n_processed = 0 WHERE key > (SELECT min(key) FROM reports)")
                until(lambda: count() == 1, "one report without its issue")
                began = time.monotonic()
                recount.execute(server, processed + "> 0")
                at_once = count()
                took_s = time.monotonic() - began
            self.assertEqual(at_once, 1)
            until(lambda: count() == 2, "two reports without their issues")

    @unittest.skipIf("FRAMEZERO_TEST_POSTGRESQL" in os.environ, "PostgreSQL takes any number of servers")
    def test_second_serve(self):
        with Server(BINARY, workers=0) as server:
            done = subprocess.run([BINARY, "serve", "--data", server.data, "--listen", f"127.0.0.1:{free_port()}"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"another framezero (process {server.serving_pid})", done.stderr)

    def test_port_in_use(self):
        with Server(BINARY, workers=0) as server, tempfile.TemporaryDirectory() as data:
            done = subprocess.run([BINARY, "serve", "--data", data, "--listen", f"127.0.0.1:{server.port}"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(server.port), done.stderr)

    def test_restart(self):
        with Server(BINARY, workers=0) as server:
            mine = server.request("POST", "/api/v1/reports", body=report())[1]["id"]
            before, server.port = server.credentials, None
            self.assertEqual(server.terminate(), 0)
            server.start()
            self.assertEqual(server.request("GET", f"/api/v1/reports/{mine}")[0], 200)
            # The tokens stay, the address follows the server.
            for name in ("ingest_key", "admin_token", "project_id"):
                self.assertEqual(server.credentials[name], before[name])
            self.assertEqual(server.credentials["url"], server.url)
            self.assertIn(f"127.0.0.1:{server.port}/", server.credentials["dsn"])
            self.assertEqual(server.log().count("This is the first start"), 1)

    def test_end_while_clients_wait(self):
        """SIGTERM while requests wait and no worker exists: each is answered, and its report is stored."""
        with Server(BINARY, workers=0) as server:
            answers = []

            def post(n):
                answers.append(server.request("POST", "/api/v1/reports?wait=30", body=report(n)))

            threads = [threading.Thread(target=post, args=(n,)) for n in range(8)]
            for thread in threads:
                thread.start()
            while len(server.query("/api/v1/reports", limit=20)[1]["reports"]) < 8:
                time.sleep(0.02)
            start = time.monotonic()
            self.assertEqual(server.terminate(), 0)
            self.assertLess(time.monotonic() - start, 8)
            for thread in threads:
                thread.join()
            self.assertEqual({status for status, _ in answers}, {202})
            server.start()
            for _, answer in answers:
                self.assertEqual(server.request("GET", f"/api/v1/reports/{answer['id']}")[0], 200)

    def test_signals(self):
        for number in (2, 15):
            with Server(BINARY, workers=0) as server:
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(20), 0)
                server.process = None

    def test_configuration_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "framezero.conf")
            with open(path, "w", encoding="utf-8") as f:
                f.write("# limits of a small machine\nlimit.report_bytes = 1K\n")
            with Server(BINARY, workers=0, args=("--config", path)) as server:
                status, answer = server.request("POST", "/api/v1/reports", body=report(x="y" * 2000))
                self.assertEqual(status, 413)
                self.assertIn("1024", answer["error"]["message"])

    def test_many_at_once(self):
        """A hundred keep-alive connections; every 202 is there."""
        with Server(BINARY, workers=0) as server:
            ids, lock = [], threading.Lock()

            def client(k):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                for n in range(20):
                    connection.request("POST", "/api/v1/reports", body=report(1000 * k + n),
                                       headers={"X-Framezero-Key": server.ingest_key})
                    response = connection.getresponse()
                    answer = json.loads(response.read())
                    with lock:
                        ids.append((response.status, answer.get("id")))
                connection.close()

            threads = [threading.Thread(target=client, args=(k,)) for k in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual({status for status, _ in ids}, {202})
            self.assertEqual(len({i for _, i in ids}), 1000)
            found, cursor = set(), {}
            while cursor is not None:
                page = server.query("/api/v1/reports", limit=500, **cursor)[1]
                found |= {r["id"] for r in page["reports"]}
                cursor = {"cursor": page["next_cursor"]} if "next_cursor" in page else None
            self.assertEqual(found, {i for _, i in ids})


if __name__ == "__main__":
    main()
