#!/usr/bin/env python3
"""Registers and memory of a crash through a real server: the chain, and the values of variables.

The crashes are recorded ones of tests/variables, and the values are those that the programs printed themselves.
"""

import glob
import json
import os
import re
import subprocess
import tempfile
import unittest

from case import BINARY, SOURCE, main, until
from dumps import DATA, Dump, symbols_of, values_of
from openapi import DescribedServer as Server

PLAIN, FAST = "classes-arm64-O0-dw4", "classes-x86_64-O2-dw5"


def functions(report):
    return [symbol["function"].split("(")[0] for _, symbol in symbols_of(report)]


def right_and_wrong(dump, report):
    """How many of the printed values the report has, and a list of those that differ and are not marked as stale."""
    right, wrong = 0, []
    for (function, path), wanted in dump.truth.items():
        calls = [symbol for _, symbol in symbols_of(report) if symbol.get("mangled", "").lstrip("_") == function.lstrip("_")
                 or symbol["function"] == function]
        shown = [values_of(call).get(path) for call in reversed(calls)]
        for call, value, want in zip(reversed(calls), shown, wanted):
            stale = any(v.get("stale") for v in call.get("variables", []) if path.startswith(v["name"]))
            if value == want:
                right += 1
            elif value is not None and not stale and not value.startswith("0x"):
                wrong.append((function, path, value, want))
    return right, wrong


def symbolicate(dump, with_binary=True, form="--json"):
    """What the command line writes: the report, or with form None the text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, data in (("report.json", dump.report()), ("dsym", dump.dsym), ("binary", dump.binary)):
            paths[name] = os.path.join(folder, name)
            with open(paths[name], "wb") as f:
                f.write(data)
        command = [BINARY, "symbolicate", paths["report.json"], "--variables", "--dsym", paths["dsym"]]
        command += ["--dsym", paths["binary"]] if with_binary else []
        command += [form] if form else []
        out = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    return json.loads(out) if form else out.decode()


class WithServer(unittest.TestCase):
    settings = ("--values", "on")

    def setUp(self):
        self.server = Server(BINARY)
        self.server.start()
        self.addCleanup(self.server.stop)
        if self.settings:
            self.server.command("project", "set", "default", *self.settings)

    def expect(self, status, method, path, **options):
        got, answer = self.server.request(method, path, **options)
        self.assertEqual(got, status, answer)
        return answer

    def upload(self, body):
        return self.expect(201, "POST", "/api/v1/symbols", body=body)

    def post(self, body):
        return self.expect(200, "POST", "/api/v1/reports?wait=30", body=body)

    def again(self, report, condition, what):
        """The report after a late symbol file."""
        def fetch():
            found = self.expect(200, "GET", "/api/v1/reports/" + report["id"])
            return found if condition(found) else None
        return until(fetch, what)


class Values(WithServer):
    def test_values_are_what_the_program_printed(self):
        for name in (PLAIN, FAST, "classes-arm64-O2-dw5", "types-arm64-O1-dw4", "containers-x86_64-O0-dw4"):
            with self.subTest(name=name):
                dump = Dump(name)
                self.upload(dump.archive())
                report = self.post(dump.report())
                self.assertEqual(report["status"], "symbolicated")
                self.assertEqual(functions(report)[-1], "main")
                self.assertEqual(report["threads"][0]["frames"][0]["trust"], "context")
                right, wrong = right_and_wrong(dump, report)
                self.assertEqual(wrong, [])
                printed = sum(len(values) for values in dump.truth.values())
                self.assertGreater(right, printed * 9 // 10 if "O0" in name else printed // 3)

    def test_the_dsym_alone(self):
        dump = Dump(FAST)
        self.upload(dump.dsym)
        report = self.post(dump.report())
        right, wrong = right_and_wrong(dump, report)
        self.assertEqual(wrong, [])
        self.assertGreater(right, 0)

    def test_the_command_line_shows_the_same(self):
        dump = Dump(PLAIN)
        self.upload(dump.archive())
        report = self.post(dump.report())
        local, text = symbolicate(dump), symbolicate(dump, form=None)
        self.assertEqual([values_of(s) for _, s in symbols_of(local)], [values_of(s) for _, s in symbols_of(report)])
        for name, value in values_of(symbols_of(local)[0][1]).items():
            if "." not in name and "[" not in name:
                self.assertIn(f"{name} = {value}", text)


class Scores(unittest.TestCase):
    def test_the_figures_of_the_verdict(self):
        """What an upload's verdict says of values with and without the binary is what the programs of
        tests/variables give that are optimised."""
        printed, alone, both = 0, 0, 0
        for path in sorted(glob.glob(os.path.join(DATA, "*.truth"))):
            name = os.path.basename(path)[:-len(".truth")]
            if "-O0" in name:
                continue
            dump = Dump(name)
            printed += sum(len(values) for values in dump.truth.values())
            for with_binary in (False, True):
                right, wrong = right_and_wrong(dump, symbolicate(dump, with_binary))
                self.assertEqual(wrong, [], name)
                alone += 0 if with_binary else right
                both += right if with_binary else 0
        with open(os.path.join(SOURCE, "server", "upload", "upload.c"), encoding="utf-8") as f:
            claimed = re.search(r"(\d+) % instead of (\d+) %", f.read())
        self.assertEqual((both * 100 // printed, alone * 100 // printed), (int(claimed[1]), int(claimed[2])))


class Verdict(WithServer):
    def test_a_dsym_alone_asks_for_its_binary(self):
        dump = Dump(FAST)
        (file,) = self.upload(dump.dsym)["files"]
        self.assertEqual(file["verdict"]["code"], "ok")
        self.assertIn("upload the binary too", file["verdict"]["todo"])
        for file in self.upload(dump.archive())["files"]:
            if file["kind"] == "dsym":
                self.assertEqual(file["verdict"], {"code": "ok"})
        (file,) = self.upload(dump.dsym)["files"]
        self.assertEqual(file["verdict"], {"code": "ok"}, "the project has the binary")


class Late(WithServer):
    settings = ("--values", "on", "--memory", "keep")

    def test_late_dsym_and_late_binary(self):
        dump = Dump(FAST)
        report = self.post(dump.report())
        self.assertEqual(report["status"], "unsymbolicated")
        self.upload(dump.dsym)
        report = self.again(report, lambda r: r["status"] == "symbolicated", "the dSYM is used")
        alone, wrong = right_and_wrong(dump, report)
        self.assertEqual(wrong, [])
        self.assertEqual(self.upload(dump.binary)["unblocked_reports"], 1)
        report = self.again(report, lambda r: right_and_wrong(dump, r)[0] > alone, "the binary is used")
        self.assertEqual(right_and_wrong(dump, report)[1], [])


class Off(WithServer):
    settings = ()

    def test_no_variables_but_the_chain(self):
        dump = Dump(PLAIN)
        self.upload(dump.archive())
        report = self.post(dump.report())
        self.assertEqual(functions(report)[-1], "main")
        self.assertNotIn('"variables"', json.dumps(report))
        self.assertNotIn('"variables"', json.dumps(self.expect(200, "GET", "/api/v1/reports/" + report["id"])))


class OtherProject(WithServer):
    def test_files_of_another_project_are_not_used(self):
        dump = Dump(PLAIN)
        self.server.command("project", "create", "other")
        token = self.server.command("token", "create", "--scope", "upload", "--project", "other")
        status, _ = self.server.request("POST", "/api/v1/symbols", body=dump.archive(), token=token.split()[-1])
        self.assertEqual(status, 201)
        report = self.post(dump.report())
        self.assertEqual(report["status"], "unsymbolicated")
        self.assertNotIn('"variables"', json.dumps(report))


if __name__ == "__main__":
    main()
