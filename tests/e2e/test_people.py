#!/usr/bin/env python3
"""One person: what is stored of a user is exported and erased, also with kill -9 in between, and no table has the id afterwards."""

import base64
import ctypes
import ctypes.util
import json
import os
import subprocess
import unittest

from case import BINARY, main, until
from framezero import Server

POSTGRESQL = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
MAGIC = b"\x28\xb5\x2f\xfd"


def unpacked(data):
    """What every zstd frame in the bytes holds."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd"))
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_findFrameCompressedSize.restype = ctypes.c_size_t
    library.ZSTD_decompress.restype = ctypes.c_size_t
    at = data.find(MAGIC)
    while at >= 0:
        part = data[at:at + (1 << 20)]
        size, packed = library.ZSTD_getFrameContentSize(part, len(part)), library.ZSTD_findFrameCompressedSize(part, len(part))
        if size < 1 << 26 and packed <= len(part):
            out = ctypes.create_string_buffer(size + 1)
            n = library.ZSTD_decompress(out, ctypes.c_size_t(size), part, ctypes.c_size_t(packed))
            if n <= size:
                yield out.raw[:n]
        at = data.find(MAGIC, at + 4)


def crash(user, n, **more):
    frames = [{"address": hex(0x100001000 + 16 * (n % 3)), "function": f"pay{n % 3}()"}]
    return {"framezero": 1, "user": {"id": user}, "app": {"id": "com.acme.shop", "version": "4.2"}, "timestamp": f"2026-11-20T10:{n // 60:02}:{n % 60:02}Z",
            "threads": [{"index": 0, "crashed": True, "frames": frames}], "tags": {"account": user, "shelf": "B7"},
            "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Shop", "path": "/X/Shop.app/Shop",
                        "address": "0x100000000", "size": 65536}],
            "crash": {"signal": "SIGTRAP", "exception": "NSRangeException", "reason": f"cart of {user} is empty"}, **more}


class People(unittest.TestCase):
    def setUp(self):
        self.server = Server(BINARY)
        self.addCleanup(self.server.stop)
        self.server.start()

    def ask(self, method, path, token="admin", body=None):
        return self.server.request(method, path, token=token, body=None if body is None else json.dumps(body).encode())

    def send(self, user, n):
        for i in range(n):
            status, answer = self.ask("POST", "/api/v1/reports", body=crash(user, i))
            self.assertIn(status, (200, 202), answer)

    def wait_done(self, n):
        until(lambda: len([r for r in self.ask("GET", "/api/v1/reports?limit=200")[1]["reports"] if r["status"] != "queued"]) >= n,
              "reports are processed")

    def dump(self):
        """All bytes of the database, in one piece."""
        if POSTGRESQL:
            done = subprocess.run(["pg_dump", "--inserts", self.server.database], capture_output=True, check=True, timeout=60)
            # Bodies are in hexadecimal there.
            text = done.stdout
            for word in text.replace(b"'", b" ").split():
                if word.startswith(b"\\x"):
                    try:
                        text += b"\n" + bytes.fromhex(word[2:].decode())
                    except ValueError:
                        pass
            return text
        parts = []
        for name in sorted(os.listdir(self.server.data)):
            if name.startswith("framezero.db"):
                with open(os.path.join(self.server.data, name), "rb") as f:
                    parts.append(f.read())
        return b"".join(parts)

    def assert_gone(self, user):
        data = self.dump()
        self.assertGreater(len(data), 1000)
        self.assertNotIn(user.encode(), data)
        for text in unpacked(data):
            self.assertNotIn(user.encode(), text)

    def test_export_and_erase(self):
        self.send("person-4711", 5)
        self.send("person-4712", 3)
        self.wait_done(8)
        status, known = self.ask("GET", "/api/v1/people/person-4711")
        self.assertEqual((status, known["id"], known["reports"], known["counted"]), (200, "person-4711", 5, 5))
        # All of it, page by page.
        lines, cursor = [], ""
        while cursor is not None:
            status, text = self.ask("GET", f"/api/v1/people/person-4711/export?limit=2{cursor}")
            self.assertEqual(status, 200)
            got = [json.loads(line) for line in (text if isinstance(text, bytes) else json.dumps(text).encode()).splitlines()]
            lines += got
            cursor = f"&cursor={got[-1]['id']}" if len(got) == 2 else None
        self.assertEqual(len(lines), 5)
        for line in lines:
            self.assertEqual(json.loads(base64.b64decode(line["raw"]))["user"], {"id": "person-4711"})
            self.assertEqual(line["report"]["user"], {"id": "person-4711"})
        issues = self.ask("GET", "/api/v1/issues")[1]["issues"]
        count = {i["number"]: (i["reports"], i["users"]) for i in issues}
        for data in [self.dump()]:
            self.assertIn(b"person-4711", data)
        read = self.ask("POST", "/api/v1/tokens", body={"label": "r", "scopes": ["read", "variables", "write"]})[1]["token"]
        for method, path in (("GET", ""), ("GET", "/export"), ("DELETE", "")):
            self.assertEqual(self.ask(method, f"/api/v1/people/person-4711{path}", token=read)[0], 403)
            self.assertEqual(self.ask(method, f"/api/v1/people/nobody-1{path}")[0], 404)
        status, erased = self.ask("DELETE", "/api/v1/people/person-4711")
        self.assertEqual((status, erased["state"], erased["reports"]), (200, "done", 5), erased)
        self.assertEqual(self.ask("GET", f"/api/v1/erasures/{erased['erasure']}")[1], erased)
        self.assertEqual(self.ask("GET", "/api/v1/people/person-4711")[0], 404)
        self.assertEqual(self.ask("DELETE", "/api/v1/people/person-4711")[0], 404)
        # Counts stay, and so does the other one.
        now = {i["number"]: (i["reports"], i["users"]) for i in self.ask("GET", "/api/v1/issues")[1]["issues"]}
        self.assertEqual(now, count)
        self.assertEqual(self.ask("GET", "/api/v1/people/person-4712")[1]["reports"], 3)
        self.assertEqual(len(self.ask("GET", "/api/v1/reports?query=user:person-4712")[1]["reports"]), 3)
        # SQLite's log has older pages until the server ends.
        self.server.terminate()
        self.assert_gone("person-4711")

    def test_named_as_the_mark(self):
        """What takes the place of an id does not have the id in it, or the erasure would never end."""
        self.send("erased", 1)
        self.wait_done(1)
        status, erased = self.ask("DELETE", "/api/v1/people/erased")
        self.assertEqual(status, 200, erased)
        until(lambda: self.ask("GET", f"/api/v1/erasures/{erased['erasure']}")[1]["state"] == "done", "the erasure is done")

    def test_killed(self):
        self.send("person-4711", 60)
        self.wait_done(60)
        for _ in range(3):
            process = subprocess.Popen(["curl", "-s", "-o", os.devnull, "-X", "DELETE", "-H", f"Authorization: Bearer {self.server.admin_token}",
                                        f"{self.server.url}/api/v1/people/person-4711"])
            until(lambda: self.ask("GET", "/api/v1/erasures/1")[0] != 404, "it has begun")
            self.server.kill_all()
            process.wait(timeout=60)
            self.server.start()
            self.server.wait_ready()
        # Whoever was killed, a worker goes on.
        until(lambda: self.ask("GET", "/api/v1/people/person-4711")[0] == 404, "the person is erased")
        until(lambda: self.ask("GET", "/api/v1/erasures/1")[1].get("state") == "done", "the erasure is done")
        self.assertEqual(self.ask("GET", "/api/v1/reports")[1]["reports"], [])
        self.server.terminate()
        self.assert_gone("person-4711")


if __name__ == "__main__":
    main()
