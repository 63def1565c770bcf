#!/usr/bin/env python3
"""`framezero symbolicate`: every form of output, files with several reports, messages for broken ones, exit codes."""

import json
import subprocess
import tempfile
import unittest

import symbol_files
from case import BINARY, main

UUID = "4C4C445B-5555-3144-A129-88BEB9D5EB60"


def diagnostic(offset):
    frame = {"binaryUUID": UUID, "binaryName": "Shop", "offsetIntoBinaryTextSegment": offset,
             "address": 0x104000000 + offset}
    stacks = [{"threadAttributed": True, "callStackRootFrames": [frame]}]
    return {"callStackTree": {"callStackPerThread": True, "callStacks": stacks}, "diagnosticMetaData": {"signal": 11}}


def payload(*offsets):
    return {"timeStampEnd": "2026-01-02 00:00:00 +0000", "crashDiagnostics": [diagnostic(o) for o in offsets]}


def native(address):
    return {"framezero": 1, "addresses": [address], "images": [{"uuid": UUID, "name": "Shop", "address": "0x1000"}]}


class Symbolicate(unittest.TestCase):
    def run_on(self, body, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write(body if isinstance(body, str) else json.dumps(body))
            f.flush()
            done = subprocess.run([BINARY, "symbolicate", f.name, *options], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
            return done.returncode, done.stdout.decode(), done.stderr.decode().replace(f.name, "FILE")

    def test_forms(self):
        code, out, err = self.run_on(native("0x1010"))
        self.assertEqual(code, 0)
        self.assertIn("Thread 0 Crashed:\n0   Shop", out)
        self.assertEqual(err, f"framezero symbolicate: missing symbols for 1 of 1 image: Shop {UUID.lower()}; "
                              "pass --dsym PATH, or upload them to a server\n")
        self.assertEqual(self.run_on(native("0x1010"), "--crash")[1], out)
        code, out, _ = self.run_on(native("0x1010"), "--json")
        self.assertEqual((code, json.loads(out)["threads"][0]["frames"][0]["address"]), (0, "0x1010"))
        code, out, _ = self.run_on(native("0x1010"), "--ips")
        header, body = out.splitlines()
        self.assertEqual((code, json.loads(header)["bug_type"]), (0, "309"))
        self.assertEqual(json.loads(body)["threads"][0]["frames"][0]["imageOffset"], 16)

    def test_what_is_written_is_read(self):
        text = self.run_on(payload(16))[1]
        ips = self.run_on(payload(16), "--ips")[1]
        for body, name in ((text, "crash"), (ips, "ips")):
            code, out, _ = self.run_on(body, "--json")
            report = json.loads(out)
            self.assertEqual((code, report["format"]), (0, name))
            self.assertEqual(report["threads"][0]["frames"][0]["address"], "0x104000010")
            self.assertEqual(report["crash"]["signal"], "SIGSEGV")

    def test_several(self):
        code, out, _ = self.run_on(payload(16, 32, 48), "--json")
        found = [json.loads(line)["threads"][0]["frames"][0]["address"] for line in out.splitlines()]
        self.assertEqual((code, found), (0, ["0x104000010", "0x104000020", "0x104000030"]))
        code, out, _ = self.run_on(payload(16, 32))
        self.assertEqual((code, out.count("EOF\n\n")), (0, 1))
        self.assertEqual(out.count("Binary Images:"), 2)
        self.assertEqual(len(self.run_on(payload(16, 32), "--ips")[1].splitlines()), 4)
        # Reports of different formats in one array.
        code, out, _ = self.run_on([payload(16, 32), native("0x1010")], "--json")
        self.assertEqual([json.loads(line)["format"] for line in out.splitlines()],
                         ["metrickit", "metrickit", "framezero"])

    def test_one_of_several_is_broken(self):
        code, out, err = self.run_on([native("0x1010"), {"hello": "world"}, native("0x1020")], "--json")
        self.assertEqual((code, len(out.splitlines())), (1, 2))
        self.assertIn("framezero symbolicate: FILE: report 2 of 3: JSON, but not a report in a known format", err)

    def test_refused(self):
        for body, message in (("", "FILE: the file is empty"), ("{}", "FILE: JSON, but not a report"),
                              ("[]", "FILE: "), ('{"framezero":1,"threads":[', "FILE: ")):
            code, out, err = self.run_on(body, "--json")
            self.assertEqual((code, out), (1, ""), body)
            self.assertIn(message, err)
        self.assertEqual(subprocess.run([BINARY, "symbolicate"], stderr=subprocess.DEVNULL, check=False).returncode, 2)

    def test_images_by_name(self):
        """Stacks as text: which of the symbol files with the image's name is taken, and what is said of it."""
        arm64 = symbol_files.sample_macho()
        armv7 = symbol_files.as_cpu(arm64, symbol_files.CPU_ARM, 9, 0x11)
        x86_64 = symbol_files.as_x86_64(arm64)
        text = "0   libobjc.A.dylib 0x%08x 0x%x + 16\n1   Demo 0x%08x 0x%x + %d\n"
        high = text % (0x1a0000010, 0x1a0000000, 0x104000294, 0x104000000, 0x294)
        low = text % (0x2a000010, 0x2a000000, 0x90000 + 0x295, 0x90000, 0x295)
        with tempfile.TemporaryDirectory() as folder:
            def run(body, slices, *more):
                path = symbol_files.make_dsym(folder, "Demo", symbol_files.fat(*slices) if len(slices) > 1 else slices[0])
                code, out, err = self.run_on(body, "--json", "--dsym", path, *more)
                self.assertEqual(code, 0, err)
                report = json.loads(out)
                image = next(image for image in report["images"] if image["name"] == "Demo")
                self.assertNotIn("name", report.get("app", {}))
                return image, report, err

            def missing(body, slices, *more):
                image, report, err = run(body, slices, *more)
                self.assertEqual(image["symbols"], "missing")
                return err, report["notes"]

            # Both are possible: neither is used, and the message lists both.
            err, notes = missing(high, [arm64, x86_64])
            both = ("2 symbol files have that name: "
                    f"arm64 UUID {symbol_files.dashed(symbol_files.uuid_of(arm64))}, "
                    f"x86_64 UUID {symbol_files.dashed(symbol_files.uuid_of(x86_64))}; choose one with -arch")
            self.assertIn(f"no symbols for Demo without a UUID: {both}", err)
            self.assertIn(f"images: Demo has no UUID in the report, and {both}", notes)
            for option in ("-arch", "--arch"):
                for arch, macho in (("arm64", arm64), ("x86_64", x86_64)):
                    image, report, err = run(high, [arm64, x86_64], option, arch)
                    self.assertEqual((image["symbols"], image["uuid"]), ("found", symbol_files.uuid_of(macho)))
                    self.assertEqual(report["arch"], arch)
            # By the width of the addresses, and by their alignment.
            self.assertEqual(run(high, [armv7, arm64])[0]["uuid"], symbol_files.uuid_of(arm64))
            self.assertEqual(run(low, [armv7, arm64])[0]["uuid"], symbol_files.uuid_of(armv7))
            odd = high.replace("0x104000294", "0x104000295").replace("+ 660", "+ 661")
            self.assertEqual(run(odd, [arm64, x86_64])[0]["uuid"], symbol_files.uuid_of(x86_64))
            # No file fits: the message says so.
            err, _ = missing(high, [arm64], "-arch", "armv7")
            self.assertIn("1 symbol file has that name: arm64 UUID", err)
            self.assertIn("; none has the wanted architecture", err)
            code, out, err = self.run_on(high, "-arch", "m68k")
            self.assertEqual((code, out), (2, ""))
            self.assertIn("'m68k' is not an architecture", err)

    def test_image_by_functions(self):
        """Two slices for 32 bits: the one that has a function at every frame is taken."""
        macho = symbol_files.corpus("dsyms", "firebase-armv7-armv7s", "CrashTest.dSYM-DWARF")
        if not macho:
            self.skipTest("needs the corpus")
        with tempfile.TemporaryDirectory() as folder, open(macho, "rb") as f:
            path = symbol_files.make_dsym(folder, "CrashTest", f.read())
            code, out, _ = self.run_on("0   CrashTest 0x00091d01 0x8a000 + 32001\n"
                                       "1   CrashTest 0x0009004d 0x8a000 + 24653\n", "--json", "--dsym", path)
        report = json.loads(out)
        names = [frame["symbols"][-1]["function"] for frame in report["threads"][0]["frames"]]
        self.assertEqual((code, names), (0, ["mach_exception_raise_state", "cls_optional_field_get_packed_size"]))
        self.assertIn("images: CrashTest has no UUID in the report; of 2 symbol files with that name the one of armv7 "
                      "is used", report["notes"])

    def test_process_is_not_assumed(self):
        """The first image of a plain stack may be any image; invented ends of images do not appear."""
        stack = ("0   libobjc.A.dylib 0x1a0000010 objc_msgSend + 16\n"
                 "1   CoreFoundation 0x1b0000010 0x1b0000000 + 16\n")
        self.assertEqual(self.run_on(stack)[:2], (0, stack)) # unchanged: no frame has a better name
        code, out, _ = self.run_on(stack, "--rebuild")
        self.assertEqual(code, 0)
        self.assertNotIn("Process:", out)
        self.assertNotIn("Path:", out)
        self.assertRegex(out, r"\n +0x1b0000000 - +\?\?\? CoreFoundation ")
        self.assertNotIn("0x0 - ", out)


if __name__ == "__main__":
    main()
