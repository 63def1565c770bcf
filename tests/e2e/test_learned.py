#!/usr/bin/env python3
"""Names of system functions that one report contains are used for reports without them."""

import json
import unittest

from case import BINARY, main
from openapi import DescribedServer as Server
from symbol_files import sample

APP = "11111111-2222-3333-4444-555555555555"
APP_AT, SYSTEM_AT = 0x104000000, 0x1B0000000
# The first names hold from 0x40f0 to 0x4100 and from 0x4fe0 to 0x4fff: 0x5000 is a return address.
FRAMES = [(1, 0x4100, "first_function", 0x10), (1, 0x5000, "_ZN3foo3barEv", 0x20),
          (1, 0x6000, "<redacted>", 0x10), (0, 0x7000, "-[Shop buy]", 0x10)]


def system_uuid():
    """The sample plays a system library, so that a symbol file for it exists."""
    return json.loads(sample("report.json"))["images"][0]["uuid"]


def ips(path="/usr/lib/libDemo.dylib", frames=None, size=0x8000):
    header = {"app_name": "Shop", "bug_type": "309", "os_version": "iPhone OS 18.1 (22B83)"}
    frames = [{"imageIndex": i, "imageOffset": offset, "symbol": name, "symbolLocation": location}
              for i, offset, name, location in frames or FRAMES]
    body = {"bug_type": "309", "cpuType": "ARM-64", "faultingThread": 0, "threads": [{"triggered": True, "frames": frames}],
            "usedImages": [
                {"arch": "arm64", "base": APP_AT, "size": 0x8000, "uuid": APP, "name": "Shop",
                 "path": "/private/var/containers/Bundle/Application/X/Shop.app/Shop"},
                {"arch": "arm64", "base": SYSTEM_AT, "size": size, "uuid": system_uuid(), "name": "libDemo.dylib",
                 "path": path}]}
    return json.dumps(header) + "\n" + json.dumps(body)


def native(*offsets, app=False, base=0x190000000, path="/usr/lib/libDemo.dylib"):
    """Frame 0 is exact, the others are return addresses."""
    image = {"uuid": system_uuid(), "name": "libDemo.dylib", "arch": "arm64", "address": hex(base), "size": 0x8000}
    if path:
        image["path"] = path
    images = [{"uuid": APP, "name": "Shop", "arch": "arm64", "address": hex(APP_AT), "size": 0x8000,
               "path": "/private/var/containers/Bundle/Application/X/Shop.app/Shop"}, image]
    return {"framezero": 1, "arch": "arm64", "addresses": [hex((APP_AT if app else base) + o) for o in offsets],
            "images": images}


class Learned(unittest.TestCase):
    args = ()

    def setUp(self):
        self.server = Server(BINARY, workers=1, args=self.args)
        self.server.start()
        self.server.command("project", "create", "other")
        self.other = self.server.command("token", "create", "--scope", "admin", "--project", "other")
        self.number = 0

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0)

    def send(self, body, token="admin", path="/api/v1/reports?wait=30"):
        """The finished report. Each is another one, or it would be stored once."""
        if isinstance(body, dict):
            self.number += 1
            body = json.dumps({**body, "tags": {"number": str(self.number)}})
        status, report = self.server.request("POST", path, body=body.encode(), token=token)
        self.assertEqual(status, 200, report)
        return report

    def names(self, body, **options):
        """(name, source, offset) of each frame, None where it has no name."""
        frames = self.send(body, **options)["threads"][0]["frames"]
        return [(s["function"], s["source"], s["offset"]) if (s := (f["symbols"] or [None])[-1]) else None
                for f in frames]

    def learn(self, **options):
        self.assertEqual(self.names(ips())[0], ("first_function", "client", 0x10), **options)


class OfAProject(Learned):
    def test_reach(self):
        self.assertEqual(self.names(native(0x4100)), [None])
        self.learn()
        first, bar = "first_function", "foo::bar()"
        self.assertEqual(self.names(native(0x40F0)), [(first, "learned", 0)])
        self.assertEqual(self.names(native(0x4100, 0x4101)), [(first, "learned", 0x10), (first, "learned", 0x11)])
        self.assertEqual(self.names(native(0x4101, 0x4102)), [None, None])
        self.assertEqual(self.names(native(0x40EF, 0x40F0)), [None, None])
        self.assertEqual(self.names(native(0x4FFF, 0x5000)), [(bar, "learned", 0x1F), (bar, "learned", 0x20)])
        self.assertEqual(self.names(native(0x5000, 0x5001)), [None, None])
        self.assertEqual(self.names(native(0x6000, 0x5FF1)), [None, None])  # <redacted> is not a name
        self.assertEqual(self.names(native(0x7000, 0x7000, app=True)), [None, None])  # the app's own
        # The image may be at another address, and a query needs no path.
        self.assertEqual(self.names(native(0x4100, base=0x1D0000000, path=None)), [(first, "learned", 0x10)])

        report = self.send(native(0x4100, 0x4101))
        frame = report["threads"][0]["frames"][0]
        self.assertEqual((report["status"], frame["status"], frame["in_app"]), ("symbolicated", "symbolicated", False))
        self.assertEqual(report["missing"][0]["name"], "libDemo.dylib")  # its symbol file still would be better
        metrics = self.server.request("GET", "/metrics")[1].decode().splitlines()
        self.assertIn("framezero_frames_learned_total 8", metrics)

    def test_reach_grows(self):
        self.learn()
        self.assertEqual(self.names(native(0x4180)), [None])
        self.send(ips(frames=[(1, 0x4200, "first_function", 0x110)]))
        self.assertEqual(self.names(native(0x4180)), [("first_function", "learned", 0x90)])
        # No function is that long.
        self.send(ips(frames=[(1, 0x80000, "much too long", 0x7F000)], size=0x100000))
        self.assertEqual(self.names(native(0x1000)), [None])

    def test_what_is_not_learned(self):
        for path in ("/private/var/containers/Bundle/Application/X/Shop.app/Frameworks/Demo.framework/Demo",
                     "/Users/me/build/usr/lib/libDemo.dylib", "/usr/local/lib/libDemo.dylib"):
            self.send(ips(path=path))
            self.assertEqual(self.names(native(0x4100)), [None], path)
        self.send(ips(), path="/api/v1/symbolicate")  # nothing of it is stored
        self.assertEqual(self.names(native(0x4100)), [None])
        self.learn()
        self.assertEqual(self.names(native(0x4100)), [("first_function", "learned", 0x10)])

    def test_other_project(self):
        self.learn()
        self.assertEqual(self.names(native(0x4100), token=self.other), [None])

    def test_symbol_file_wins(self):
        self.learn()
        _, waiting = self.server.request("POST", "/api/v1/reports", body=json.dumps(native(0x410C)).encode())
        self.send(ips(frames=[(1, 0x410C, "not_this", 0xC)]))
        late = self.send(native(0x410C, 0x40A0, 0x4010))
        self.assertEqual(late["threads"][0]["frames"][0]["symbols"][-1]["function"], "not_this")
        status, answer = self.server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        self.assertEqual(status, 201, answer)
        self.assertGreaterEqual(answer["unblocked_reports"], 2)
        for report in (late["id"], waiting["id"]):
            done = self.server.wait_report(report, until=lambda r: not r["missing"])
            self.assertEqual(done["threads"][0]["frames"][0]["symbols"][-1]["source"], "dwarf")
        self.assertEqual(self.names(native(0x410C))[0][1], "dwarf")

    def test_done_again(self):
        """A report that is symbolicated again uses the names that are known then; new names do not queue it."""
        early = self.send(native(0x4100))
        self.learn()
        path = f"/api/v1/reports/{early['id']}"
        self.assertEqual(self.server.request("GET", path)[1]["threads"][0]["frames"][0]["symbols"], [])
        self.assertEqual(self.server.request("POST", path + "/reprocess")[0], 202)
        done = self.server.wait_report(early["id"], until=lambda r: r["status"] == "symbolicated")
        self.assertEqual(done["threads"][0]["frames"][0]["symbols"][0]["source"], "learned")

    def test_many(self):
        """More names than a packet holds, and more than are asked for at once."""
        n, name = 900, "f%04d_" + "x" * 900
        self.send(ips(frames=[(1, 0x10000 + 32 * i, name % i, 16) for i in range(n)], size=0x1000000))
        body = native(*(0x10000 + 32 * i for i in range(n)))
        body["images"][1]["size"] = 0x1000000
        got = self.names(body)
        self.assertEqual([g and g[0] for g in got], [name % i for i in range(n)])


class Shared(Learned):
    args = ("--learned-names", "shared")

    def test_other_project(self):
        self.learn()
        self.assertEqual(self.names(native(0x4100), token=self.other), [("first_function", "learned", 0x10)])


class Off(Learned):
    args = ("--learned-names=off",)

    def test_nothing(self):
        self.learn()
        self.assertEqual(self.names(native(0x4100)), [None])


if __name__ == "__main__":
    main()
