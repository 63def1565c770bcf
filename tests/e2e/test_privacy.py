#!/usr/bin/env python3
"""Captured memory and values: what is stored after processing, and who sees it.

A secret is planted into the memory of a recorded crash. The database's files are searched for it as they are, and in
everything in them that zstd can unpack, freed pages included.
"""

import base64
import ctypes
import ctypes.util
import json
import os
import shutil
import sqlite3
import tempfile
import unittest

from case import BINARY, main, report, until
from dumps import Dump, symbols_of, values_of
from framezero import Server

NAME = "containers-x86_64-O0-dw4"
TEXT = b"a string that is longer than twenty-two bytes"
SECRET = b"whisper of a hidden garden under the old wall"[:len(TEXT)].ljust(len(TEXT), b"!")
EMAIL = b"please write to anna.berg@mail.example.com".ljust(len(TEXT), b"!")
MAGIC = b"\x28\xb5\x2f\xfd"


def unpack(data):
    """What a zstd frame holds; nothing if it is not a whole one."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd"))
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_findFrameCompressedSize.restype = ctypes.c_size_t
    library.ZSTD_decompress.restype = ctypes.c_size_t
    size = library.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    packed = library.ZSTD_findFrameCompressedSize(data, ctypes.c_size_t(len(data)))
    if size > 1 << 26 or packed > len(data):
        return b""
    out = ctypes.create_string_buffer(size + 1)
    n = library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(packed))
    return out.raw[:n] if n <= size else b""


def forms(secret):
    """A secret as bytes, and as base64 at each of the three positions within a longer text."""
    found = [secret]
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + secret)
        found.append(text[4 if shift else 0:len(text) - 6])
    return found


def places_of(secret, folder):
    """Where under the folder the secret is: files, and rows of the database."""
    found = []
    wanted = forms(secret)
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as f:
                data = f.read()
            if any(form in data for form in wanted):
                found.append(name)
            at = data.find(MAGIC)
            while at >= 0:
                if any(form in unpack(data[at:at + (1 << 20)]) for form in wanted):
                    found.append(f"{name} at {at}")
                at = data.find(MAGIC, at + 1)
    database = sqlite3.connect(os.path.join(folder, "framezero.db"))
    for table, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in database.execute(f'SELECT * FROM "{table}"'):
            for value in row:
                raw = value.encode() if isinstance(value, str) else value
                if isinstance(raw, bytes) and any(form in raw or form in unpack(raw) for form in wanted):
                    found.append(f"table {table}")
    database.close()
    return found


def functions(found):
    return [symbol["function"].split("(")[0] for _, symbol in symbols_of(found)]


class Case(unittest.TestCase):
    settings = ()
    secret = SECRET

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="framezero-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # With a folder of its own, which outlives the server: it is searched.
        self.server = Server(BINARY, data=self.folder)
        self.server.start()
        self.addCleanup(self.server.stop)
        if self.settings:
            self.server.command("project", "set", "default", *self.settings)
        self.dump = Dump(NAME)
        self.body = self.planted(self.secret)

    def planted(self, secret):
        body = json.loads(self.dump.report())
        n = 0
        for region in [body["threads"][0]["stack"], *body["memory"]]:
            data = base64.b64decode(region["bytes"])
            n += data.count(TEXT)
            region["bytes"] = base64.b64encode(data.replace(TEXT, secret)).decode()
        self.assertGreater(n, 0)
        return json.dumps(body).encode()

    def expect(self, status, method, path, **options):
        got, answer = self.server.request(method, path, **options)
        self.assertEqual(got, status, answer)
        return answer

    def token(self, scope):
        return self.server.command("token", "create", "--scope", scope).split()[-1]

    def post(self, upload=True):
        if upload:
            self.expect(201, "POST", "/api/v1/symbols", body=self.dump.archive())
        return self.expect(200, "POST", "/api/v1/reports?wait=30", body=self.body)

    def get(self, found, **options):
        return self.expect(200, "GET", "/api/v1/reports/" + found["id"], **options)

    def raw(self, found, status=200, **options):
        return self.expect(status, "GET", f"/api/v1/reports/{found['id']}?format=raw", **options)

    def places(self, secret=None):
        """After a stop, which brings what is in the log of SQLite into the database."""
        self.server.stop()
        return places_of(secret or self.secret, self.folder)


class Search(Case):
    def test_the_search_finds_what_is_there(self):
        """Before its processing a report is in the database as it was sent."""
        self.server.stop()
        self.server.workers = 0
        self.server.start()
        found = self.expect(202, "POST", "/api/v1/reports", body=self.body)
        self.assertEqual(self.raw(found), self.body)
        token = self.token("read")
        self.assertIn("scope 'variables'", self.raw(found, 403, token=token)["error"]["message"])
        self.assertEqual(self.raw(found, token=self.token("read,variables")), self.body)
        self.assertIn("table report_bodies", self.places())


class Off(Case):
    def test_nothing_of_memory_is_left(self):
        found = self.post()
        self.assertEqual(found["status"], "symbolicated")
        self.assertNotIn('"variables"', json.dumps(self.get(found)))
        raw = self.raw(found)
        self.assertEqual(len(raw), len(self.body))
        self.assertEqual(self.places(), [])

    def test_late_symbols_give_the_chain(self):
        with_memory = functions(self.post())
        late = Server(BINARY)
        late.start()
        self.addCleanup(late.stop)
        status, found = late.request("POST", "/api/v1/reports?wait=30", body=self.body)
        self.assertEqual((status, found["status"]), (200, "unsymbolicated"))
        status, raw = late.request("GET", f"/api/v1/reports/{found['id']}?format=raw")
        self.assertNotEqual(raw, self.body)
        status, verdict = late.request("POST", "/api/v1/symbols", body=self.dump.archive())
        self.assertEqual((status, verdict["unblocked_reports"]), (201, 1))
        done = until(lambda: (lambda r: r if r["status"] == "symbolicated" else None)(
            late.request("GET", "/api/v1/reports/" + found["id"])[1]), "the late dSYM is used")
        self.assertEqual(functions(done), with_memory)
        self.assertEqual(functions(done)[-1], "main")

    def test_memory_of_other_formats(self):
        body = {"report": {"id": "x", "type": "standard", "version": "3.4.0"}, "system": {"cpu_arch": "arm64"},
                "binary_images": [], "crash": {"error": {"type": "mach"}, "threads": [
                    {"index": 0, "crashed": True, "backtrace": {"contents": [{"instruction_addr": 4294967296}]},
                     "stack": {"dump_start": 4096, "dump_end": 4096 + len(SECRET), "contents": SECRET.hex().upper()},
                     "notable_addresses": {"x0": {"address": 1, "type": "string", "value": SECRET.decode()}}}]}}
        found = self.expect(200, "POST", "/api/v1/reports?wait=30", body=json.dumps(body).encode())
        self.assertEqual(found["format"], "kscrash")
        self.assertNotIn(SECRET.hex().upper().encode(), self.raw(found))
        self.assertEqual(self.places(), [])

    def test_a_report_without_memory_is_as_it_was(self):
        found = self.expect(200, "POST", "/api/v1/reports?wait=30", body=report(7))
        self.assertEqual(self.raw(found, token=self.token("read")), report(7))


class Values(Case):
    settings = ("--values", "on")

    def test_values_are_there_and_memory_is_not(self):
        found = self.post()
        self.assertIn(f'"{SECRET.decode()}"', [v for _, s in symbols_of(found) for v in values_of(s).values()])
        self.assertNotIn('"bytes"', json.dumps(found))
        # The value is in the result, and nowhere else.
        self.assertEqual({place for place in self.places() if " at " not in place}, {"table report_results"})

    def test_the_scope(self):
        found = self.post()
        reader = self.get(found, token=self.token("read"))
        self.assertEqual(reader["variables"], "hidden")
        self.assertNotIn(SECRET.decode(), json.dumps(reader))
        self.assertNotIn("stack", reader["threads"][0])
        self.assertEqual(functions(reader), functions(found))
        both = self.get(found, token=self.token("read,variables"))
        self.assertEqual(both, found)
        self.assertNotIn("variables", both)
        for form in ("crash", "ips"):
            text = self.expect(200, "GET", f"/api/v1/reports/{found['id']}?format={form}")
            self.assertNotIn(SECRET, text if isinstance(text, bytes) else json.dumps(text).encode())
        shown = self.expect(200, "GET", f"/api/v1/reports/{found['id']}?format=crash&variables=1")
        self.assertIn(SECRET, shown)
        reader = self.token("read")
        shown = self.expect(200, "GET", f"/api/v1/reports/{found['id']}?format=crash&variables=1", token=reader)
        self.assertNotIn(SECRET, shown)
        listed = self.expect(200, "GET", "/api/v1/reports")
        self.assertNotIn(SECRET.decode(), json.dumps(listed))
        # The scope alone does not let anyone read.
        self.expect(403, "GET", "/api/v1/reports/" + found["id"], token=self.token("variables"))

    def test_a_report_done_again_shows_no_zeros(self):
        found = self.post()
        self.expect(202, "POST", f"/api/v1/reports/{found['id']}/reprocess")
        again = until(lambda: (lambda r: r if r["status"] != "queued" else None)(self.get(found)), "done again")
        self.assertEqual(functions(again), functions(found))
        self.assertEqual([values_of(s) for _, s in symbols_of(again) if values_of(s)], [])


class Redacted(Case):
    settings = ("--values", "on", "--redact-deny", "large", "--redact-deny", "text", "--redact-deny", "type:*string*")

    def test_by_name_and_type(self):
        found = self.post()
        hidden = [v for _, s in symbols_of(found) for v in s.get("variables", []) if v["availability"] == "redacted"]
        self.assertIn("large", [v["name"] for v in hidden])
        self.assertEqual([v for v in hidden if "value" in v or "fields" in v], [])
        self.assertTrue(any(values_of(s) for _, s in symbols_of(found)))
        self.assertEqual(self.places(), [])


class Patterns(Case):
    settings = ("--values", "on")
    secret = EMAIL

    def test_by_text(self):
        found = self.post()
        hidden = [v["name"] for _, s in symbols_of(found) for v in s.get("variables", [])
                  if v["availability"] == "redacted"]
        self.assertIn("large", hidden)
        self.assertNotIn("anna.berg", json.dumps(found))
        self.assertEqual(self.places(b"anna.berg@mail.example.com"), [])


class Keep(Case):
    settings = ("--memory", "keep")

    def test_memory_is_kept_for_those_who_may_see_it(self):
        found = self.post()
        self.assertEqual(self.raw(found), self.body)
        self.assertEqual(self.raw(found, token=self.token("read,variables")), self.body)
        stripped = self.raw(found, token=self.token("read"))
        self.assertEqual(len(stripped), len(self.body))
        for form in forms(SECRET):
            self.assertNotIn(form, stripped)
        self.server.command("project", "set", "default", "--values", "on")
        self.expect(202, "POST", f"/api/v1/reports/{found['id']}/reprocess")
        until(lambda: any(values_of(s) for _, s in symbols_of(self.get(found))), "the values of memory that was kept")


if __name__ == "__main__":
    main()
