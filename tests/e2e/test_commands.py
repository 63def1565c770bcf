#!/usr/bin/env python3
"""`framezero upload` against a server: it finds symbol files, sends those that the server lacks, and reports failures in its exit code."""

import http.server
import json
import os
import struct
import subprocess
import threading
import unittest

from case import BINARY, SAMPLE, FolderCase, ServerCase, main
from symbol_files import fat, macho_uuid, sample, sample_macho

DWARF = "Contents/Resources/DWARF"


def with_uuid(macho, last):
    """The same file as if it had been built once more: another last byte of its LC_UUID; of another subtype, too, so
    that one fat file can have several."""
    at = macho_uuid(macho)
    return macho[:8] + struct.pack("<I", last) + macho[12:at + 15] + bytes([last]) + macho[at + 16:]


def without_uuid(macho):
    at = macho_uuid(macho) - 8
    return macho[:at] + struct.pack("<I", 0x7F) + macho[at + 4:]


class Upload(FolderCase, ServerCase):
    def setUp(self):
        super().setUp()
        for symbol in self.stored():
            self.server.request("DELETE", f"/api/v1/symbols/{symbol['uuid']}")

    def stored(self):
        return self.server.request("GET", "/api/v1/symbols?limit=500")[1]["symbols"]

    def run_upload(self, *args, code=0, env=None, data=True):
        where = ["--data", self.server.data] if data else []
        done = subprocess.run([BINARY, "upload", *args, *where], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_zip_then_again(self):
        zipped = os.path.join(SAMPLE, "Demo.dSYM.zip")
        self.assertIn("1 found, 1 sent", self.run_upload(zipped).stdout)
        (symbol,) = self.stored()
        self.assertEqual((symbol["kind"], symbol["state"], symbol["name"]), ("dsym", "ready", "Demo"))
        self.assertIn("1 found, 0 sent, 1 known before", self.run_upload(zipped).stdout)
        self.assertIn("1 found, 1 sent", self.run_upload(zipped, "--force").stdout)

    def test_archive_of_a_build(self):
        macho = sample_macho()
        binary = bytearray(macho)
        struct.pack_into("<I", binary, 12, 2)  # MH_EXECUTE
        at = "Shop.xcarchive"
        self.write(f"{at}/dSYMs/Shop.app.dSYM/{DWARF}/Shop", macho)
        self.write(f"{at}/dSYMs/Kit.framework.dSYM/{DWARF}/Kit", fat(with_uuid(macho, 1), with_uuid(macho, 2)))
        self.write(f"{at}/Products/Applications/Shop.app/Shop", bytes(binary))
        self.write(f"{at}/dSYMs/Shop.app.dSYM/Contents/Info.plist", b"<plist/>")
        self.write(f"{at}/dSYMs/._Shop.app.dSYM", b"\x00\x05\x16\x07")
        self.write("objects/main.o", macho[:12] + struct.pack("<I", 1) + macho[16:])  # MH_OBJECT
        done = self.run_upload(self.folder)
        self.assertIn("4 found, 4 sent", done.stdout)
        stored = self.stored()
        self.assertEqual(len({(s["uuid"], s["kind"]) for s in stored}), 4)
        self.assertEqual(sorted(s["kind"] for s in stored), ["binary", "dsym", "dsym", "dsym"])
        # One more slice in the fat file: only that one is sent.
        self.write(f"{at}/dSYMs/Kit.framework.dSYM/{DWARF}/Kit",
                   fat(with_uuid(macho, 1), with_uuid(macho, 2), with_uuid(macho, 3)))
        self.assertIn("5 found, 1 sent", self.run_upload(self.folder).stdout)

    def test_unblocked_reports_are_reported(self):
        self.server.request("POST", "/api/v1/reports?wait=20", body=sample("report.json"), token="ingest")
        self.assertIn("1 report unblocked", self.run_upload(os.path.join(SAMPLE, "Demo.dSYM.zip")).stdout)

    def test_what_cannot_be_stored(self):
        self.write("empty/readme.txt", b"nothing here")
        self.assertIn("0 found", self.run_upload(os.path.join(self.folder, "empty"), code=1).stdout)
        self.assertIn("missing.dSYM", self.run_upload("/missing.dSYM", code=1).stderr)
        self.write("a/Demo", without_uuid(sample_macho()))
        self.write("a/Other", sample_macho())
        done = self.run_upload(os.path.join(self.folder, "a"), code=1)
        self.assertIn("has no UUID, so no report could ever name it: not sent", done.stderr)
        self.assertIn("2 found, 1 sent", done.stdout)

    def test_tokens(self):
        zipped = os.path.join(SAMPLE, "Demo.dSYM.zip")
        wrong = self.run_upload(zipped, "--token", "nonsense", code=1)
        self.assertIn("the token is unknown", wrong.stderr)
        key = self.run_upload(zipped, "--token", self.server.ingest_key, code=1)
        self.assertIn("lacks the scope 'upload'", key.stderr)
        env = {"FRAMEZERO_URL": self.server.url + "/", "FRAMEZERO_TOKEN": self.server.admin_token}
        self.assertIn("1 sent", self.run_upload(zipped, env=env, data=False).stdout)
        self.assertIn("nowhere", self.run_upload(zipped, "--project", "nowhere", code=1).stderr)
        lone = self.run_upload(zipped, "--data", self.folder, code=1, data=False)
        self.assertIn("give --server URL", lone.stderr)
        self.assertEqual(self.run_upload(code=2).stdout, "")


class Busy(http.server.BaseHTTPRequestHandler):
    """A server that is busy at first, and then has no idle worker."""
    protocol_version = "HTTP/1.1"
    log = []

    def answer(self, status, body, **headers):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.log.append((self.path, len(body)))
        tries = sum(path == self.path for path, _ in self.log)
        if tries < 3:
            self.answer({1: 503, 2: 429}[tries], {"error": {"code": "unavailable", "message": "busy"}}, Retry_After="0")
        elif self.path.startswith("/api/v1/symbols/known"):
            self.answer(200, {"missing": json.loads(body)["uuids"]})
        else:
            self.answer(202, {"status": "queued", "upload": "1" * 32}, Location="/api/v1/uploads/" + "1" * 32)

    def do_GET(self):
        self.log.append((self.path, 0))
        done = sum(path == self.path for path, _ in self.log) > 1
        self.answer(200, {"upload": "1" * 32, "status": "done" if done else "queued",
                          **({"result": {"files": [], "unblocked_reports": 7}} if done else {})})

    def log_message(self, *_):
        pass


class Patience(unittest.TestCase):
    def test_busy_server(self):
        busy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
        threading.Thread(target=busy.serve_forever, daemon=True).start()
        done = subprocess.run(
            [BINARY, "upload", os.path.join(SAMPLE, "Demo.dSYM.zip"), "--server",
             f"http://127.0.0.1:{busy.server_address[1]}", "--token", "x"], capture_output=True, text=True, timeout=120)
        busy.shutdown()
        busy.server_close()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 sent", done.stdout)
        self.assertIn("7 reports unblocked", done.stdout)
        sizes = {size for path, size in Busy.log if path.startswith("/api/v1/symbols?")}
        self.assertEqual(sizes, {len(sample_macho())})

    def test_wrong_address(self):
        done = subprocess.run(
            [BINARY, "upload", os.path.join(SAMPLE, "Demo.dSYM.zip"), "--server", "ftp://127.0.0.1", "--token", "x"],
            capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2)
        self.assertIn("must begin with http:// or https://", done.stderr)


if __name__ == "__main__":
    main()
