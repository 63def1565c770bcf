#!/usr/bin/env python3
"""One crash, captured in a signal handler, by a Mach exception thread and from the corpse; each report is posted to a
running server, which has the program and its dSYM, and comes back with the functions that the program called."""
import json
import os
import sys
import unittest
import zipfile

import machine
from machine import ADDRESSES, EXCEPTIONS, HANGS, MACH, SIGNALS, STACK, Run, built, crashed_thread, fits, names, variables

sys.path.insert(0, os.path.join(machine.SOURCE, "tests", "e2e"))
from framezero import Server  # noqa: E402: its folder is known only now

WAYS = {"signal": (SIGNALS | EXCEPTIONS, ".json", False), "mach": (MACH, ".json", False),
        "corpse": (EXCEPTIONS, "-corpse.json", True)}


def symbols_of(arch, level, program):
    """A zip of the program and its dSYM, as a build machine uploads them."""
    path = built(f"{arch}-{level}", program + ".upload.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        top = built(f"{arch}-{level}")
        archive.write(os.path.join(top, program), program)
        for folder, _, files in os.walk(os.path.join(top, program + ".dSYM")):
            for name in files:
                file = os.path.join(folder, name)
                archive.write(file, os.path.relpath(file, top))
    with open(path, "rb") as f:
        return f.read()


class OnServer(unittest.TestCase):
    """The whole path: capture, upload, names."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(machine.BINARY)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        status, answer = cls.server.request("PUT", "/api/v1/project", body=json.dumps({"values": "on"}))
        assert status == 200, answer
        for arch in machine.ARCHES:
            for level in ("O0", "O2"):
                status, answer = cls.server.request("POST", "/api/v1/symbols", body=symbols_of(arch, level, "crashes"))
                assert status == 201, answer

    def post(self, path):
        with open(path, "rb") as f:
            status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=f.read())
        self.assertEqual(200, status, answer)
        return answer

    def check(self, arch, way):
        ways, ending, extension = WAYS[way]
        for level in ("O0", "O2"):
            run = Run(arch, level, "crashes", "recursion", ways, extension=extension)
            self.addCleanup(run.remove)
            self.assertIn(ending, run.reports, run.output + run.errors)
            report = run.reports[ending]
            self.assertEqual(way, report["capture"]["way"])
            self.assertEqual(run.run_id, report["run_id"])
            self.assertEqual({"id": "com.acme.shop", "name": "Shop", "version": "4.2", "build": "4201"}, report["app"])
            result = self.post(run.paths[ending])
            self.assertEqual(report["id"].replace("-", ""), result["id"].replace("-", ""))
            self.assertEqual(("SIGSEGV", "EXC_BAD_ACCESS"), (result["crash"]["signal"], result["crash"]["mach"]))
            got = names(crashed_thread(result))
            self.assertTrue(fits(run.chain, got), f"{arch} -{level} {way}: want {run.chain}, got {got}")
            self.check_values(run, variables(crashed_thread(result)), f"{arch} -{level} {way}")

    def check_values(self, run, found, where):
        """What the program printed about itself; optimised code may have lost a value, but has no other one."""
        self.assertTrue(run.truth)
        for line in run.truth:
            function, name, want = line.rsplit(" ", 2)
            variable = found.get((function, name), {})
            if run.level == "O0":
                self.assertEqual("available", variable.get("availability"), f"{where}: {function}: {name}")
            if run.level == "O0" or "value" in variable:
                self.assertEqual(want, variable.get("value"), f"{where}: {function}: {name}")

    def test_signal(self):
        for arch in machine.ARCHES:
            self.check(arch, "signal")

    def test_mach(self):
        for arch in machine.ARCHES:
            self.check(arch, "mach")

    def test_corpse(self):
        for arch in machine.ARCHES:
            self.check(arch, "corpse")


class Captures(unittest.TestCase):
    """What the reports of special crashes say."""

    def run_of(self, *arguments, **how):
        run = Run(*arguments, **how)
        self.addCleanup(run.remove)
        return run

    def test_both_ways_have_one_run(self):
        """The handler gives the exception on, so the extension is called too; the reports differ in their id only."""
        for arch in machine.ARCHES:
            run = self.run_of(arch, "O2", "crashes", "recursion", extension=True)
            self.assertEqual({".json", "-corpse.json"}, set(run.reports), run.output + run.errors)
            own, corpse = run.reports[".json"], run.reports["-corpse.json"]
            self.assertEqual(own["run_id"], corpse["run_id"])
            self.assertNotEqual(own["id"], corpse["id"])
            own_thread, corpse_thread = crashed_thread(own), crashed_thread(corpse)
            self.assertEqual(own_thread["registers"], corpse_thread["registers"])
            self.assertEqual(own_thread["frames"], corpse_thread["frames"])
            self.assertEqual(own_thread["stack"], corpse_thread["stack"])

    def test_thread(self):
        for arch in machine.ARCHES:
            for way in ("signal", "mach", "corpse"):
                ways, ending, extension = WAYS[way]
                thread = crashed_thread(self.run_of(arch, "O2", "crashes", "thread", ways,
                                                    extension=extension).reports[ending])
                self.assertEqual("second", thread["name"])
                self.assertNotEqual(0, thread["index"])

    def test_corpse_without_the_crashed_thread(self):
        """The handler in the process has left its id."""
        run = self.run_of("x86_64", "O2", "crashes", "thread", extension=True, env={"LOADER_FAULTS": "no_crashed_thread"})
        self.assertEqual("second", crashed_thread(run.reports["-corpse.json"])["name"])

    def test_abort_and_overflow_status(self):
        """The process ends of the same signal as without the client."""
        for arch in machine.ARCHES:
            self.assertEqual(128 + 6, self.run_of(arch, "O2", "crashes", "abort").status)
            self.assertEqual(128 + 10, self.run_of(arch, "O2", "crashes", "overflow", SIGNALS).status)
            self.assertEqual(128 + 11, self.run_of(arch, "O2", "crashes", "leaf", MACH).status)

    def test_abort(self):
        for arch in machine.ARCHES:
            crash = self.run_of(arch, "O2", "crashes", "abort").reports[".json"]["crash"]
            self.assertEqual(("SIGABRT", "EXC_CRASH"), (crash["signal"], crash["mach"]))

    def test_objective_c_exception(self):
        for arch in machine.ARCHES:
            run = self.run_of(arch, "O2", "shop", "exception", extension=True)
            for report in (run.reports[".json"], run.reports["-corpse.json"]):
                self.assertEqual("NSRangeException", report["crash"]["exception"])
                self.assertEqual('index 7 beyond bounds [0 .. 2] "?"', report["crash"]["reason"])

    def test_cxx_exception(self):
        for arch in machine.ARCHES:
            crash = self.run_of(arch, "O2", "shapes", "exception").reports[".json"]["crash"]
            self.assertEqual("12out_of_stock", crash["exception"])
            self.assertEqual("SIGABRT", crash["signal"])

    def test_text_of_a_library(self):
        """What a library left in __crash_info is the reason of an abort, and of nothing else."""
        for arch in machine.ARCHES:
            run = self.run_of(arch, "O2", "crashes", "says", extension=True)
            for ending in (".json", "-corpse.json"):
                self.assertEqual("Fatal error: Index out of range", run.reports[ending]["crash"]["reason"])
            self.assertNotIn("reason", self.run_of(arch, "O2", "crashes", "abort").reports[".json"]["crash"])
            silent = self.run_of(arch, "O2", "crashes", "says", privacy=ADDRESSES)
            self.assertNotIn("reason", silent.reports[".json"]["crash"])

    def test_images_of_the_shared_cache(self):
        """Only those that an address leads to; all others are in every report."""
        for arch in machine.ARCHES:
            for env, way, want in (({}, "recursion", True), ({"LOADER_FAULTS": "libraries_in_cache"}, "recursion", False),
                                   ({"LOADER_FAULTS": "libraries_in_cache"}, "library", True)):
                report = self.run_of(arch, "O2", "crashes", way, env=env).reports[".json"]
                self.assertEqual(want, "libshop.dylib" in [image["name"] for image in report["images"]], f"{arch} {way} {env}")

    def test_hang(self):
        """A hang is written while the app goes on, which then ends as usual."""
        for arch in machine.ARCHES:
            run = self.run_of(arch, "O2", "crashes", "hang", SIGNALS | MACH | EXCEPTIONS | HANGS)
            self.assertEqual({"-hang.json"}, set(run.reports), run.output + run.errors)
            self.assertEqual(0, run.status)
            crash = run.reports["-hang.json"]["crash"]
            self.assertEqual("Hang", crash["exception"])
            self.assertGreaterEqual(crash["hang_ms"], 300)
            self.assertIn("main", names(crashed_thread(run.symbolicated("-hang.json"))))

    def test_privacy_levels(self):
        for arch in machine.ARCHES:
            for extension in (False, True):
                ending = "-corpse.json" if extension else ".json"
                with_stack = self.run_of(arch, "O2", "crashes", "recursion", privacy=STACK, extension=extension)
                report = with_stack.reports[ending]
                self.assertEqual("stack", report["capture"]["privacy"])
                self.assertNotIn("memory", report)
                self.assertTrue(crashed_thread(report)["stack"]["bytes"])
                only = self.run_of(arch, "O2", "crashes", "recursion", privacy=ADDRESSES, extension=extension)
                report = only.reports[ending]
                self.assertNotIn("memory", report)
                for thread in report["threads"]:
                    self.assertNotIn("stack", thread)
                    self.assertLessEqual(set(thread["registers"]), {"pc", "lr", "sp", "fp", "rip", "rsp", "rbp"})
                self.assertTrue(fits(only.chain, names(crashed_thread(only.symbolicated(ending)))))

    def test_extension_may_be_stricter(self):
        run = self.run_of("x86_64", "O2", "crashes", "recursion", extension=True, env={"EXTENSION_PRIVACY": "0"})
        self.assertEqual("addresses", run.reports["-corpse.json"]["capture"]["privacy"])
        self.assertEqual("values", run.reports[".json"]["capture"]["privacy"])

    def test_threads_that_crash_together(self):
        """One report; each crashed thread waits for the end of the process."""
        for arch in machine.ARCHES:
            for ways in (SIGNALS, MACH, SIGNALS | MACH):
                run = self.run_of(arch, "O2", "crashes", "race", ways)
                self.assertEqual({".json"}, set(run.reports), run.output + run.errors)
                self.assertEqual(128 + 11, run.status)


if __name__ == "__main__":
    machine.main()
