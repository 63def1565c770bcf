#!/usr/bin/env python3
"""A report that came as Apple's text or .ips is given back byte for byte, with names in its frames and nothing else."""

import json
import os
import subprocess
import tempfile
import unittest

from case import BINARY, main
from framezero import Server
from symbol_files import SAMPLE, sample

PATH = "/private/var/containers/Bundle/Application/Demo.app/Demo"
FRAMES = [(0x104A4010C, 0x410C), (0x104A400A0, 0x40A0), (0x1A0001000, 0x1000), (0x104A40010, 0x4010)]
LINES = [["shop::price_of(shop::item const*) + 0 (cart.h:16) [inlined]", "shop::cart::total() const + 68 (cart.cpp:18)"],
         ["checkout(int) + 128 (main.cpp:19)"], None, ["main + 16 (main.cpp:26)"]]


def crash_text(end="\n", quote="", ident="0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11"):
    """The text, and what it must become."""
    before = [f"Incident Identifier: {ident}", "Hardware Model:      iPhone15,2", "Process:   Demo [42]", "",
              "Date/Time:           2026-11-20 10:11:12.3456 +0100", "OS Version:          iPhone OS 18.1 (22B83)",
              "Exception Type:  EXC_BAD_ACCESS (SIGSEGV)", "kernel messages:", "  odd \t text  ", "",
              "Thread 0 name:   Dispatch queue: com.apple.main-thread", "Thread 0 Crashed:"]
    after = ["", "Thread 0 crashed with ARM Thread State (64-bit):", "    x0: 0x0000000104a4010c   x1: 0x0",
             "", "Binary Images:", f"0x104a3c000 - 0x104a43fff Demo arm64  <4c4c442e55553144a1387743844373d8> {PATH}",
             "0x1a0000000 - 0x1a009f34b dyld arm64e  <8acdb5808ab738c0a586e667adb1c11c> /usr/lib/dyld", "", "EOF", "trailing"]
    given, wanted = [], []
    for i, (address, offset) in enumerate(FRAMES):
        image, base = ("dyld", 0x1A0000000) if LINES[i] is None else ("Demo", 0x104A3C000)
        head = f"{i:<3} {image:<30}\t{address:#018x} "
        given.append(f"{head}{base:#x} + {offset}")
        wanted += [given[-1]] if LINES[i] is None else [head + name for name in LINES[i]]
    return tuple("".join(quote + line + end for line in before + lines + after)[:-len(end)].encode()
                 for lines in (given, wanted))


def ips(indent=None):
    header = {"app_name": "Demo", "bug_type": "309", "os_version": "iPhone OS 18.1 (22B83)", "roots_installed": 0,
              "timestamp": "2026-11-20 10:11:12.00 +0100", "incident_id": "1FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11"}
    frames = [{"imageOffset": offset, "imageIndex": 2 if LINES[i] is None else 1} for i, (_, offset) in enumerate(FRAMES)]
    body = {"uptime": 1, "captureTime": "2026-11-20 10:11:12.3456 +0100", "procName": "Demo", "cpuType": "ARM-64",
            "incident": "1FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11", "osVersion": {"train": "iPhone OS 18.1", "build": "22B83"},
            "termination": {"flags": 6, "code": 11, "namespace": "SIGNAL", "byProc": "exc handler", "byPid": 42},
            "asi": {"libsystem_c.dylib": ["abort() called"]}, "exception": {"type": "EXC_CRASH", "signal": "SIGABRT"},
            "faultingThread": 0, "unknownKey": [1.50, {"x": None}],
            "threads": [{"triggered": True, "id": 4711, "frames": frames}],
            "usedImages": [{"size": 0, "source": "A", "base": 0, "uuid": "00000000-0000-0000-0000-000000000000"},
                           {"source": "P", "arch": "arm64", "base": 0x104A3C000, "size": 32768, "name": "Demo", "path": PATH,
                            "uuid": "4c4c442e-5555-3144-a138-7743844373d8"},
                           {"source": "P", "arch": "arm64e", "base": 0x1A0000000, "size": 652108, "path": "/usr/lib/dyld",
                            "uuid": "8acdb580-8ab7-38c0-a586-e667adb1c11c", "name": "dyld"}]}
    return (json.dumps(header) + "\n" + json.dumps(body, indent=indent) + "\n").encode()


def named_frames(body):
    return [(f["imageOffset"], f["imageIndex"], f.get("symbol"), f.get("sourceFile"), f.get("sourceLine"), f.get("inline"))
            for f in json.loads(body)["threads"][0]["frames"]]


WANTED_FRAMES = [(0x410C, 1, "shop::price_of(shop::item const*)", "cart.h", 16, True),
                 (0x410C, 1, "shop::cart::total() const", "cart.cpp", 18, None),
                 (0x40A0, 1, "checkout(int)", "main.cpp", 19, None), (0x1000, 2, None, None, None, None),
                 (0x4010, 1, "main", "main.cpp", 26, None)]


class Annotate(unittest.TestCase):
    def run_on(self, body, *options):
        with tempfile.NamedTemporaryFile(suffix=".crash") as f:
            f.write(body)
            f.flush()
            done = subprocess.run([BINARY, "symbolicate", f.name, "--dsym", os.path.join(SAMPLE, "Demo.dSYM.zip"), *options], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_text(self):
        for end, quote in (("\n", ""), ("\r\n", ""), ("\n", "> ")):
            given, wanted = crash_text(end, quote)
            for options in ((), ("--crash",)):
                self.assertEqual(self.run_on(given, *options), wanted)
        # Frames with names stay as they are.
        self.assertEqual(self.run_on(wanted), wanted)
        # Bytes that are not UTF-8 stay; UTF-16 becomes UTF-8.
        given, wanted = crash_text()
        self.assertEqual(self.run_on(given.replace(b"odd", b"\xe4\xff")), wanted.replace(b"odd", b"\xe4\xff"))
        # --rebuild: the layout of Apple's tools.
        text = self.run_on(given, "--rebuild").decode()
        self.assertIn("\nCode Type:           ARM-64 (Native)\n", text)
        self.assertIn("\nDate/Time:           2026-11-20 10:11:12.3456 +0100\n", text)
        self.assertIn("3   dyld                          \t       0x1a0001000 0x1a0000000 + 4096\n", text)
        self.assertIn("kernel messages", text)
        self.assertNotIn("trailing\ntrailing", text)

    def test_several_texts(self):
        first, second = crash_text(), crash_text(ident="2FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11")
        self.assertEqual(self.run_on(first[0] + b"\n" + second[0]), first[1] + b"\n" + second[1])

    def test_ips(self):
        for indent in (None, 2):
            given = ips(indent)
            header, body = self.run_on(given, "--ips").split(b"\n", 1)
            self.assertEqual(header, given.split(b"\n", 1)[0])
            self.assertEqual(named_frames(body), WANTED_FRAMES)
            # Everything else is unchanged, in its order.
            old, new = json.loads(given.split(b"\n", 1)[1]), json.loads(body)
            old["threads"][0]["frames"] = new["threads"][0]["frames"] = []
            self.assertEqual(json.dumps(old), json.dumps(new))
            self.assertIn(b'"unknownKey": [', body)
        # Made anew, it keeps the same.
        header, body = self.run_on(given, "--ips", "--rebuild").split(b"\n", 1)
        self.assertEqual(named_frames(body), WANTED_FRAMES)
        old, new = json.loads(given.split(b"\n", 1)[1]), json.loads(body)
        self.assertEqual(json.loads(header)["roots_installed"], 0)
        self.assertEqual(new["threads"][0]["id"], 4711)
        for key in ("termination", "asi", "uptime", "captureTime", "unknownKey", "osVersion"):
            self.assertEqual(new[key], old[key], key)
        self.assertEqual([i.get("uuid") for i in new["usedImages"]], [i.get("uuid") for i in old["usedImages"]])
        # As text it is what Apple's tools make of it.
        text = self.run_on(given, "--crash").decode()
        self.assertIn("Terminating Process: exc handler [42]\n", text)
        self.assertIn(f"0   Demo                          \t       0x104a4010c {LINES[0][0]}\n", text)
        self.assertIn("               0x0 - 0xffffffffffffffff ??? unknown-arch  <", text)

    def test_pasted(self):
        """What Console copies: the text, then the .ips."""
        given, wanted = crash_text(ident="1FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11")
        given, wanted = (b"Translated Report\n\n" + text + b"\n\nFull Report\n\n" + ips(2) for text in (given, wanted))
        self.assertEqual(self.run_on(given), wanted)
        self.assertEqual(named_frames(self.run_on(given, "--ips").split(b"\n", 1)[1]), WANTED_FRAMES)

    def test_server(self):
        with Server(BINARY) as server:
            self.assertEqual(server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))[0], 201)
            for body, form, wanted in ((crash_text()[0], "crash", crash_text()[1]), (ips(), "ips", self.run_on(ips(), "--ips"))):
                status, report = server.request("POST", "/api/v1/reports?wait=30", body=body)
                self.assertIn(status, (200, 201), report)
                path = f"/api/v1/reports/{report['id']}?format={form}"
                self.assertEqual(self.get(server, path), wanted)
                self.assertEqual(self.get(server, path + "&rebuild=0"), wanted)
                rebuilt = self.get(server, path + "&rebuild=1")
                self.assertEqual(rebuilt, self.run_on(body, "--" + form, "--rebuild"))
                self.assertNotEqual(rebuilt, wanted)
                self.assertEqual(server.request("GET", path + "&rebuild=x")[0], 400)
                self.assertEqual(self.post(server, f"/api/v1/symbolicate?format={form}", body), wanted)
                anew = self.post(server, f"/api/v1/symbolicate?format={form}&rebuild=1", body)
                self.assertEqual(len(anew), len(rebuilt)) # its id is another one
                self.assertNotEqual(anew, wanted)

    @staticmethod
    def get(server, path):
        return subprocess.run(["curl", "-sS", "-H", f"Authorization: Bearer {server.admin_token}", server.url + path],
                              stdout=subprocess.PIPE, check=True, timeout=60).stdout

    @staticmethod
    def post(server, path, body):
        return subprocess.run(["curl", "-sS", "-H", f"Authorization: Bearer {server.admin_token}", "--data-binary", "@-",
                               server.url + path], input=body, stdout=subprocess.PIPE, check=True, timeout=60).stdout


if __name__ == "__main__":
    main()
