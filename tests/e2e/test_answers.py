#!/usr/bin/env python3
"""What every response has besides its body: X-Request-Id, ETag, coding, CORS, file names."""

import gzip
import http.client
import json
import re
import subprocess
import time

from case import BINARY, ServerCase, main, until
from framezero import Server
from symbol_files import sample

ORIGIN, STRANGER = "https://dash.example.com", "https://evil.example"


class Answer:
    def __init__(self, response):
        self.status, self.body = response.status, response.read()
        self.headers = {}
        for name, value in response.getheaders():
            name = name.lower()
            self.headers[name] = self.headers[name] + ", " + value if name in self.headers else value

    def __getitem__(self, name):
        return self.headers.get(name)


class WithServer(ServerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        status, answer = cls.server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        assert status == 201, answer
        status, answer = cls.server.request("POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        assert status == 200, answer
        cls.report = answer

    def ask(self, method, path, body=None, token="admin", **headers):
        token = {"admin": self.server.admin_token, "ingest": self.server.ingest_key}.get(token, token)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, path, body=body, headers=headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def wait_log(self, text):
        """The log line is written after the response."""
        until(lambda: text in self.server.log(), f"'{text}' in the log")

    def report_path(self, query=""):
        return f"/api/v1/reports/{self.report['id']}{query}"


class Answers(WithServer):
    def test_request_id(self):
        for method, path, token in (("GET", "/healthz", None), ("GET", "/nothing", None), ("POST", "/healthz", None),
                                    ("GET", "/api/v1/reports", "wrong"), ("POST", "/api/v1/reports", "ingest"),
                                    ("GET", self.report_path(), "admin")):
            with self.subTest(path=path):
                made = self.ask(method, path, token=token)["x-request-id"]
                self.assertRegex(made, r"^[0-9a-f]{16}$")
                self.wait_log(f"id={made} ")
                own = self.ask(method, path, token=token, X_Request_Id="proxy-7f.A_" + made)["x-request-id"]
                self.assertEqual(own, "proxy-7f.A_" + made)
                self.wait_log(f"id=proxy-7f.A_{made} ")
        for bad in ("", " ", "a b", "a=b", "x" * 65, "a\"b", "ä".encode(), "id\tx"):
            with self.subTest(bad=bad):
                self.assertRegex(self.ask("GET", "/healthz", token=None, X_Request_Id=bad)["x-request-id"],
                                 r"^[0-9a-f]{16}$")
        self.assertEqual(self.ask("GET", "/healthz", X_Request_Id="x" * 64)["x-request-id"], "x" * 64)
        # A body that is rejected while it arrives is answered without libmicrohttpd.
        answer = self.ask("POST", "/api/v1/reports", body=b"x" * (5 << 20), token="ingest", X_Request_Id="big")
        self.assertEqual((answer.status, answer["x-request-id"]), (413, "big"))

    def test_etag(self):
        for path in (self.report_path(), self.report_path("?format=crash"), self.report_path("?format=raw"),
                     "/api/v1/reports", "/api/v1/symbols", "/api/v1/symbols/missing", "/api/v1/project",
                     "/api/v1/openapi.json"):
            with self.subTest(path=path):
                first = self.ask("GET", path)
                self.assertEqual(first.status, 200)
                self.assertRegex(first["etag"], r'^"[0-9a-f]{32}"$')
                self.assertEqual(first["cache-control"], "private, no-cache")
                self.assertEqual(self.ask("GET", path)["etag"], first["etag"])
                for match in (first["etag"], "W/" + first["etag"], f'"x,y", {first["etag"]}', "*"):
                    again = self.ask("GET", path, If_None_Match=match)
                    self.assertEqual((again.status, again.body, again["etag"]), (304, b"", first["etag"]))
                self.assertEqual(self.ask("GET", path, If_None_Match='"other"').status, 200)
                head = self.ask("HEAD", path)
                self.assertEqual((head.status, head["etag"], head.body), (200, first["etag"], b""))
        self.assertEqual(self.ask("GET", self.report_path(), token="wrong", If_None_Match="*").status, 401)
        self.assertIsNone(self.ask("GET", "/api/v1/reports/" + "0" * 32)["etag"])
        self.assertEqual(self.ask("GET", "/healthz")["cache-control"], "no-store")

    def test_etag_changes(self):
        before = self.ask("GET", "/api/v1/reports")["etag"]
        body = json.dumps({"framezero": 1, "addresses": ["0x1"], "images": [], "tags": {"etag": "1"}})
        self.assertEqual(self.ask("POST", "/api/v1/reports?wait=20", body=body).status, 200)
        answer = self.ask("GET", "/api/v1/reports", If_None_Match=before)
        self.assertEqual(answer.status, 200)
        self.assertNotEqual(answer["etag"], before)

    def test_coding(self):
        path = self.report_path()
        plain = self.ask("GET", path)
        self.assertIsNone(plain["content-encoding"])
        self.assertIn("Accept-Encoding", plain["vary"])
        etags = {plain["etag"]}
        for accepted, coding in (("gzip", "gzip"), ("gzip, deflate, br, zstd", "zstd"), ("zstd;q=0.1, gzip", "gzip"),
                                 ("gzip;q=0", None), ("identity, gzip;q=0.5", None), ("br", None), ("*", "zstd")):
            with self.subTest(accepted=accepted):
                answer = self.ask("GET", path, Accept_Encoding=accepted)
                self.assertEqual(answer["content-encoding"], coding)
                self.assertEqual(int(answer["content-length"]), len(answer.body))
                self.assertIn("Accept-Encoding", answer["vary"])
                etags.add(answer["etag"])
                if coding == "gzip":
                    self.assertEqual(gzip.decompress(answer.body), plain.body)
                elif coding == "zstd":
                    done = subprocess.run(["zstd", "-dc"], input=answer.body, capture_output=True, check=True)
                    self.assertEqual(done.stdout, plain.body)
                else:
                    self.assertEqual(answer.body, plain.body)
                if coding:
                    self.assertLess(len(answer.body), len(plain.body))
                    same = self.ask("GET", path, Accept_Encoding=accepted, If_None_Match=answer["etag"])
                    self.assertEqual(same.status, 304)
                    # The ETag of one coding is not valid for another.
                    self.assertEqual(self.ask("GET", path, If_None_Match=answer["etag"]).status, 200)
        self.assertEqual(len(etags), 3)
        # Small responses, and those that are not text, are not compressed.
        for other in ("/healthz", "/api/v1/symbols/missing", self.report_path("?format=raw")):
            self.assertIsNone(self.ask("GET", other, Accept_Encoding="gzip")["content-encoding"], other)
        self.assertEqual(self.ask("GET", "/metrics", Accept_Encoding="gzip")["content-encoding"], "gzip")
        symbolicated = self.ask("POST", "/api/v1/symbolicate", body=sample("report.json"), Accept_Encoding="gzip")
        self.assertEqual((symbolicated.status, symbolicated["content-encoding"]), (200, "gzip"))
        self.assertIn(b"price_of", gzip.decompress(symbolicated.body))

    def test_file_names(self):
        short = self.report["id"][:8]
        for query, want in (("?format=crash", f'inline; filename="Demo-2026-01-15-{short}.crash"'),
                            ("?format=ips", f'inline; filename="Demo-2026-01-15-{short}.ips"'),
                            ("", f'inline; filename="Demo-2026-01-15-{short}.json"'),
                            ("?format=raw", f'attachment; filename="Demo-2026-01-15-{short}.json"')):
            self.assertEqual(self.ask("GET", self.report_path(query))["content-disposition"], want)
        # An app may have any name.
        odd = {"framezero": 1, "addresses": ["0x1"], "images": [], "timestamp": "2026-11-20T10:11:12Z",
               "app": {"name": 'Läden/"x"\r\nX-Evil: 1; a=b'}}
        answer = self.ask("POST", "/api/v1/reports?wait=20", body=json.dumps(odd))
        report_id = json.loads(answer.body)["id"]
        got = self.ask("GET", f"/api/v1/reports/{report_id}?format=crash")
        self.assertIsNone(got["x-evil"])
        plain, _, encoded = got["content-disposition"].partition("; filename*=UTF-8''")
        self.assertRegex(plain, rf'^inline; filename="[A-Za-z0-9._-]+-2026-11-20-{report_id[:8]}\.crash"$')
        self.assertRegex(encoded, r"^L%C3%A4den[A-Za-z0-9._%-]+$")
        self.assertNotRegex(encoded, "(?i)%(0|1|2f|5c)")
        # A missing report has no file name.
        missing = self.ask("GET", "/api/v1/reports/" + "0" * 32 + "?format=crash")
        self.assertEqual((missing.status, missing["content-disposition"]), (404, None))

    def test_metrics_count_tables_now_and_then(self):
        """/metrics needs no token, so many requests must not cost more than one."""
        values, start, n = [], time.monotonic(), 20
        for i in range(n):
            body = json.dumps({"framezero": 1, "addresses": ["0x1"], "images": [], "tags": {"metrics": str(i)}})
            self.assertEqual(self.ask("POST", "/api/v1/reports", body=body).status, 202)
            text = self.ask("GET", "/metrics", token=None).body.decode()
            values.append(re.search(r"(?m)^framezero_reports (\d+)$", text).group(1))
        self.assertLessEqual(len(set(values)), (time.monotonic() - start) / 2 + 2)
        for name in ("framezero_build_info{version=", "process_open_fds ", "process_max_fds ", "process_threads ",
                     "process_resident_memory_bytes ", 'framezero_jobs{state="running"} '):
            self.assertIn("\n" + name, text)

    def test_few_series_at_start(self):
        with Server(BINARY, workers=1) as server:
            text = server.request("GET", "/metrics", token=None)[1].decode()
            series = [line for line in text.splitlines() if not line.startswith("#")]
            self.assertLess(len(series), 100, text)

    def test_no_origin_may_read_without_configuration(self):
        for path in ("/api/v1/reports", self.report_path(), "/api/v1/symbols"):
            answer = self.ask("GET", path, Origin=ORIGIN)
            self.assertEqual(answer.status, 200)
            self.assertIsNone(answer["access-control-allow-origin"])
            preflight = self.ask("OPTIONS", path, token=None, Origin=ORIGIN, Access_Control_Request_Method="GET")
            self.assertIsNone(preflight["access-control-allow-origin"])

    def test_any_page_may_send_reports(self):
        key = self.server.ingest_key
        for path in ("/api/v1/reports", f"/kscrash/{key}", f"/bugsnag/{key}", "/api/1/envelope/", "/api/1/store/",
                     "/api/1/minidump/", f"/quincy/{key}", f"/crashpad/{key}"):
            with self.subTest(path=path):
                preflight = self.ask("OPTIONS", path, token=None, Origin=STRANGER, Access_Control_Request_Method="POST",
                                     Access_Control_Request_Headers="authorization,content-type")
                self.assertIn(preflight.status, (200, 204))
                self.assertEqual(preflight["access-control-allow-origin"], "*")
                self.assertIn("POST", preflight["access-control-allow-methods"])
                allowed = preflight["access-control-allow-headers"].lower()
                for header in ("authorization", "content-type", "content-encoding"):
                    self.assertIn(header, allowed)
        answer = self.ask("POST", "/api/v1/reports", body=sample("report.json"), token="ingest", Origin=STRANGER)
        self.assertEqual((answer.status, answer["access-control-allow-origin"]), (202, "*"))
        exposed = answer["access-control-expose-headers"].lower()
        for header in ("x-request-id", "retry-after"):
            self.assertIn(header, exposed)
        # A page must be able to read why a request failed.
        self.assertEqual(self.ask("POST", "/api/v1/reports", token="wrong")["access-control-allow-origin"], "*")


class Configured(WithServer):
    args = ("--cors-origins", f"{ORIGIN}, http://localhost:3000")

    def test_origins(self):
        for path in ("/api/v1/reports", self.report_path(), "/api/v1/symbols", "/api/v1/openapi.json"):
            with self.subTest(path=path):
                for origin in (ORIGIN, "http://localhost:3000"):
                    answer = self.ask("GET", path, Origin=origin)
                    self.assertEqual((answer.status, answer["access-control-allow-origin"]), (200, origin))
                    self.assertIn("Origin", answer["vary"])
                    exposed = answer["access-control-expose-headers"].lower()
                    for header in ("etag", "x-request-id", "retry-after", "content-disposition"):
                        self.assertIn(header, exposed)
                for origin in (STRANGER, ORIGIN + ".evil.example", "null", "http://localhost:3001"):
                    answer = self.ask("GET", path, Origin=origin)
                    self.assertIsNone(answer["access-control-allow-origin"])
                    self.assertIn("Origin", answer["vary"])
                self.assertIn("Origin", self.ask("GET", path)["vary"])
        # Errors too, so that the page can show them; other paths never.
        self.assertEqual(self.ask("GET", "/api/v1/reports", token=None, Origin=ORIGIN)["access-control-allow-origin"], ORIGIN)
        self.assertIsNone(self.ask("GET", "/metrics", Origin=ORIGIN)["access-control-allow-origin"])
        self.assertIsNone(self.ask("GET", "/api/0/", Origin=ORIGIN)["access-control-allow-origin"])

    def test_preflight(self):
        for path, method in (("/api/v1/reports", "GET"), (self.report_path(), "DELETE"), ("/api/v1/symbols/known", "POST"),
                             ("/api/v1/project", "PUT")):
            with self.subTest(path=path):
                answer = self.ask("OPTIONS", path, token=None, Origin=ORIGIN, Access_Control_Request_Method=method,
                                  Access_Control_Request_Headers="authorization")
                self.assertEqual((answer.status, answer.body), (204, b""))
                self.assertEqual(answer["access-control-allow-origin"], ORIGIN)
                self.assertIn(method, answer["access-control-allow-methods"])
                self.assertIn("authorization", answer["access-control-allow-headers"].lower())
                self.assertIn("Origin", answer["vary"])
                stranger = self.ask("OPTIONS", path, token=None, Origin=STRANGER, Access_Control_Request_Method=method)
                self.assertIsNone(stranger["access-control-allow-origin"])


class AnyOrigin(WithServer):
    args = ("--cors-origins", "*")

    def test_any(self):
        answer = self.ask("GET", "/api/v1/reports", Origin=STRANGER)
        self.assertEqual((answer.status, answer["access-control-allow-origin"]), (200, STRANGER))
        self.assertIsNone(answer["access-control-allow-credentials"])


if __name__ == "__main__":
    main()
