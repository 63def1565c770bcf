#!/usr/bin/env python3
"""`framezero symbolicate`: every form of output, files with several reports, what it says of broken ones, exit codes.

usage: test_symbolicate.py --framezero BINARY [unittest arguments]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

BINARY = None
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
        self.assertIn(f"no symbols for Shop ({UUID.lower()})", err)
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
        self.assertEqual((code, out.count("EOF\n\nProcess:")), (0, 1))
        self.assertEqual(out.count("Binary Images:"), 2)
        self.assertEqual(len(self.run_on(payload(16, 32), "--ips")[1].splitlines()), 4)
        # Reports of different formats in one array.
        code, out, _ = self.run_on([payload(16, 32), native("0x1010")], "--json")
        self.assertEqual([json.loads(line)["format"] for line in out.splitlines()],
                         ["metrickit", "metrickit", "framezero"])

    def test_one_of_several_is_broken(self):
        code, out, err = self.run_on([native("0x1010"), {"hello": "world"}, native("0x1020")], "--json")
        self.assertEqual((code, len(out.splitlines())), (1, 2))
        self.assertIn("framezero symbolicate: FILE: report 2 of 3: JSON, but no report in a known format", err)

    def test_refused(self):
        for body, message in (("", "FILE: the body is empty"), ("{}", "FILE: JSON, but no report"),
                              ("[]", "FILE: "), ('{"framezero":1,"threads":[', "FILE: ")):
            code, out, err = self.run_on(body, "--json")
            self.assertEqual((code, out), (1, ""), body)
            self.assertIn(message, err)
        self.assertEqual(subprocess.run([BINARY, "symbolicate"], stderr=subprocess.DEVNULL, check=False).returncode, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    options, rest = parser.parse_known_args()
    BINARY = os.path.abspath(options.framezero)
    unittest.main(argv=[sys.argv[0], *rest])
