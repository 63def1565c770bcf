#!/usr/bin/env python3
"""Crash senders: raw requests of real clients, unchanged but for the path, and the responses that they need.

The requests are those of clients/made in the corpus; without it (FRAMEZERO_CORPUS) only the made-up ones are sent.
"""

import gzip
import io
import json
import os
import plistlib
import re
import socket
import sys
import uuid
import xml.etree.ElementTree
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "corpus"))
from case import CORPUS, ServerCase, main
from openapi import DescribedServer as Server
import matched_sets

MADE = os.path.join(CORPUS, "clients", "made")
REPORT = {"framezero": 1, "addresses": ["0x10"], "images": []}


def form(*parts, boundary="----FOO"):
    """A form's body; parts are (name, content) or (name, content, filename)."""
    body = b""
    for name, content, *more in parts:
        file = f'; filename="{more[0]}"' if more else ""
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode()
        body += (content if isinstance(content, bytes) else content.encode()) + b"\r\n"
    return body + f"--{boundary}--\r\n".encode()


def report(number):
    return json.dumps({**REPORT, "id": uuid.uuid4().hex, "tags": {"number": str(number)}})


class Senders(ServerCase):
    server_type = Server

    def send(self, raw):
        """Send one request unchanged; (status, headers, body) of the response, after any 100."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as connection:
            connection.sendall(raw)
            answer = b""
            while True:
                head, found, rest = answer.partition(b"\r\n\r\n")
                if found and head.startswith(b"HTTP/1.1 100"):
                    answer = rest
                    continue
                length = re.search(rb"(?i)^content-length: *(\d+)", head, re.M) if found else None
                if length and len(rest) >= int(length.group(1)):
                    break
                more = connection.recv(65536)
                self.assertTrue(more, f"the connection ended within the answer: {answer!r}")
                answer += more
        return int(head.split()[1]), head.decode(), rest

    def post(self, path, body, headers=""):
        raw = f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode()
        return self.send(raw + body)

    @property
    def key(self):
        return self.server.ingest_key

    def take_all(self):
        """Wait until every report is finished; take them out of the server. Oldest first."""
        status, listed = self.server.request("GET", "/api/v1/reports")
        self.assertEqual(status, 200)
        reports = []
        for row in reversed(listed["reports"]):
            reports.append(self.server.wait_report(row["id"]))
            self.assertEqual(self.server.request("DELETE", f"/api/v1/reports/{row['id']}")[0], 204)
        return reports

    # ---- made-up requests

    def test_kscrash(self):
        reports = "[" + report(1) + "," + report(2) + ',{"x":1}]'
        body = form(("reports", reports, "reports.json"))
        for number, (payload, headers) in enumerate([(body, ""), (gzip.compress(body), "Content-Encoding: gzip\r\n")]):
            status, _, answer = self.post(f"/kscrash/{self.key}", payload, headers)
            self.assertEqual(status, 200)
            answer = json.loads(answer)
            self.assertEqual((len(answer["reports"]), answer["refused"]), (2, 1))
            # The second time the reports are known.
            self.assertEqual(len(self.take_all()) if number else 2, 2)

    def test_array_without_form(self):
        status, _, answer = self.post(f"//kscrash//{self.key}/", f"[{report(1)}]".encode())
        self.assertEqual((status, len(json.loads(answer)["reports"])), (200, 1))
        self.take_all()

    def test_key_places(self):
        self.assertEqual(self.post("/kscrash/" + "0" * 32, report(1).encode())[0], 401)
        self.assertEqual(self.post("/crash_v300.php", report(1).encode())[0], 401)
        self.assertEqual(self.post(f"/crash_v300.php?key={self.key}", report(1).encode())[0], 200)
        self.assertEqual(self.post("/kscrash/x", report(2).encode(), f"X-Framezero-Key: {self.key}\r\n")[0], 200)
        self.assertEqual(len(self.take_all()), 2)

    def test_quincy(self):
        status, _, answer = self.post(f"/quincy/{self.key}", form(("xmlstring", report(1))))
        self.assertEqual((status, xml.etree.ElementTree.fromstring(answer).text), (200, "0"))
        # The app must not send an invalid report again at every start.
        status, _, answer = self.post(f"/quincy/{self.key}", form(("xmlstring", "nothing")))
        self.assertEqual((status, xml.etree.ElementTree.fromstring(answer).text), (200, "-1"))
        self.assertEqual(len(self.take_all()), 1)

    def test_hockey(self):
        path = f"/api/2/apps/{self.key}/crashes"
        body = form(("sdk", "HockeySDK"), ("xml", report(1), "crash.xml"), ("attachment0", b"\0\1", "a.bin"))
        status, _, answer = self.post(path, body)
        self.assertEqual((status, plistlib.loads(answer)["status"]), (200, 1))
        taken = self.take_all()[0]
        self.assertEqual(taken["id"], plistlib.loads(answer)["id"])
        self.assertEqual(taken["extra"]["form"], {"sdk": "HockeySDK"})
        self.assertEqual([(a["name"], a["size"]) for a in taken["attachments"]], [("a.bin", 2)])
        self.assertEqual(self.post(path, form(("xml", "nothing", "crash.xml")))[0], 400)

    def test_attachment_in_raw(self):
        body = form(("prod", "Shop"), ("upload_file_minidump", report(1), "a.dmp"), ("log", b"line 1\n", "log.txt"))
        _, _, answer = self.post(f"/crashpad/{self.key}", body)
        status, raw = self.server.request("GET", f"/api/v1/reports/{uuid.UUID(answer.decode()).hex}?format=raw")
        self.assertEqual((status, raw), (200, body))
        taken = self.take_all()[0]
        attachment = taken["attachments"][0]
        self.assertEqual(raw[attachment["offset"]:attachment["offset"] + attachment["size"]], b"line 1\n")
        self.assertEqual(taken["app"]["name"], "Shop")

    def test_minidump_answers(self):
        body = form(("upload_file_minidump", report(1), "a.dmp"))
        for path in ("/crashpad/", "/breakpad/"):
            status, headers, answer = self.post(path + self.key, body)
            self.assertEqual((status, str(uuid.UUID(answer.decode()))), (200, answer.decode()))
            self.assertIn("text/plain", headers)
        status, _, answer = self.post("/socorro/" + self.key, body)
        self.assertRegex(answer, rb"^CrashID=bp-[0-9a-f-]{36}\n$")
        self.assertEqual(self.post("/crashpad/" + self.key, form(("a", "b")))[0], 415)
        self.take_all()

    def test_chunked_and_expect(self):
        body = gzip.compress(form(("prod", "Shop"), ("upload_file_minidump", report(1), "a.dmp")))
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 50]), body[i:i + 50]) for i in range(0, len(body), 50))
        head = f"POST /crashpad/{self.key}?product=Shop HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n"
        status, _, _ = self.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n")
        self.assertEqual(status, 200)
        status, _, _ = self.send(f"{head}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        self.assertEqual(status, 200)
        self.assertEqual(len(self.take_all()), 1)

    def test_bugsnag(self):
        event = {"exceptions": [{"errorClass": "E", "stacktrace": []}], "threads": []}
        payload = {"apiKey": "k", "notifier": {"name": "n"}, "events": [event, {**event, "context": "c"}]}
        status, _, answer = self.post(f"/bugsnag/{self.key}", json.dumps(payload).encode())
        self.assertEqual((status, len(json.loads(answer)["reports"])), (200, 2))
        self.assertEqual({r["format"] for r in self.take_all()}, {"bugsnag"})

    # ---- the corpus

    def replay(self, name, path):
        """The answer to a request of the corpus, sent to `path`."""
        with open(os.path.join(MADE, name), "rb") as f:
            raw = f.read()
        return self.send(re.sub(rb"^POST [^ ?]+", b"POST " + path.encode(), raw, count=1))

    def check_names(self, reports):
        made = matched_sets.read_json(os.path.join(MADE, "expected-symbolication.json"))
        self.assertEqual(len(reports), 1)
        frames = {f["address"]: f for t in reports[0]["threads"] if t["crashed"] for f in t["frames"]}
        for want in made:
            symbols = [{"function": name, "file_suffix": file, "line": line} for name, file, line in want["frames"]]
            case = matched_sets.Case("made", None, [], [matched_sets.Wanted(0, 0, "symbolicated", symbols)])
            self.assertIn(want["addr"], frames)
            found = matched_sets.compare(case, {"threads": [{"frames": [frames[want["addr"]]]}]})
            self.assertEqual(found, [])

    def upload_symbols(self):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for folder, _, files in os.walk(os.path.join(MADE, "Demo.dSYM")):
                for file in files:
                    path = os.path.join(folder, file)
                    archive.write(path, os.path.relpath(path, MADE))
        status, answer = self.server.request("POST", "/api/v1/symbols", body=packed.getvalue())
        self.assertEqual(status, 201, answer)

    def test_real_requests(self):
        if not os.path.isdir(MADE):
            self.skipTest("no corpus (set FRAMEZERO_CORPUS)")
        self.upload_symbols()
        text = {
            "kscrash-sink-standard.req": "/kscrash/" + self.key,
            "kscrash-sink-victory-gzip.req": "/kscrash/" + self.key,
            "kscrash-sink-quincy.req": "/quincy/" + self.key,
            "kscrash-sink-hockey.req": f"/api/2/apps/{self.key}/crashes",
            "quincy.req": "/crash_v300.php?key=" + self.key,
            "hockey.req": f"/api/2/apps/{self.key}/crashes",
        }
        for name, path in text.items():
            with self.subTest(request=name):
                status, _, answer = self.replay(name, path)
                self.assertEqual(status, 200, answer)
                self.assertTrue(answer)
                reports = self.take_all()
                self.check_names(reports)
                self.assertEqual(reports[0]["format"], "kscrash" if "/kscrash/" in path else "quincy")
                if name == "hockey.req":
                    attachment = reports[0]["attachments"][0]
                    self.assertEqual((attachment["name"], attachment["size"]), ("Attachment_0", len(b"\0\1binary")))

    def test_real_minidump_uploads(self):
        if not os.path.isdir(MADE):
            self.skipTest("no corpus (set FRAMEZERO_CORPUS)")
        for name, path in {
            "crashpad-minidump-plain.req": "/crashpad/" + self.key,
            "crashpad-minidump-gzip-chunked.req": "/crashpad/" + self.key,
            "breakpad-mac-minidump.req": "/breakpad/" + self.key,
        }.items():
            with self.subTest(request=name):
                status, _, answer = self.replay(name, path)
                self.assertEqual(status, 200, answer)
                taken = self.take_all()[0]
                self.assertEqual(taken["id"], uuid.UUID(answer.decode()).hex)
                self.assertEqual(taken["app"]["name"], "Demo")


if __name__ == "__main__":
    main()
