#!/usr/bin/env python3
"""Programs in C, C++ and Objective-C crash in the loader; the client's report names the functions that they
called, and every value is right or absent."""
import collections
import unittest

import machine
from machine import LEVELS, Run, crashed_thread, fits, names, variables


class Chains(unittest.TestCase):
    # (arch, level): how many of the printed values were right, and how many were absent.
    right, absent = collections.Counter(), collections.Counter()

    @classmethod
    def tearDownClass(cls):
        for key in sorted(cls.right):
            print(f"{key[0]} -{key[1]}: {cls.right[key]} values right, {cls.absent[key]} absent, no other")

    def check(self, arch, level, program, way):
        run = Run(arch, level, program, way)
        self.addCleanup(run.remove)
        self.assertIn(".json", run.reports, f"{arch} -{level} {program} {way}: {run.output}{run.errors}")
        result = run.symbolicated(".json", "--variables")
        thread, where = crashed_thread(result), f"{arch} -{level} {program} {way}"
        self.assertTrue(fits(run.chain, names(thread)), f"{where}: want {run.chain}, got {names(thread)}")
        self.check_values(run, variables(thread), where)
        return run, result

    def check_values(self, run, found, where):
        """A value is right or absent; without optimisation it is there."""
        for line in run.truth:
            function, name, want = line.rsplit(" ", 2)
            variable = found.get((function, name))
            if run.level == "O0":
                self.assertIsNotNone(variable, f"{where}: {function}: no {name}")
                self.assertEqual("available", variable["availability"], f"{where}: {function}: {name}")
            has_value = variable is not None and "value" in variable
            if has_value:
                self.assertEqual(want, variable["value"].split(" ")[0], f"{where}: {function}: {name}")
            (self.right if has_value else self.absent)[run.arch, run.level] += 1

    def ways(self, arch, levels, ways, program="crashes"):
        for level in levels:
            for way in ways:
                with self.subTest(level=level, way=way):
                    self.check(arch, level, program, way)

    def test_c_x86_64(self):
        self.ways("x86_64", LEVELS, ("leaf", "recursion", "inlines", "callback", "library", "null"))

    def test_c_arm64(self):
        self.ways("arm64", LEVELS, ("leaf", "recursion", "inlines", "callback", "library", "null"))

    def test_more_ways_x86_64(self):
        self.ways("x86_64", ("O0", "O2"), ("overflow", "handler", "abort", "thread"))

    def test_more_ways_arm64(self):
        self.ways("arm64", ("O0", "O2"), ("overflow", "handler", "abort", "thread"))

    def test_cxx(self):
        for arch in machine.ARCHES:
            self.ways(arch, LEVELS, ("crash",), "shapes")

    def test_objective_c(self):
        for arch in machine.ARCHES:
            self.ways(arch, LEVELS, ("crash",), "shop")

    def test_tail_call(self):
        """A function that ended with a jump is not in the chain, and nothing false is in its place."""
        for arch in machine.ARCHES:
            run, result = self.check(arch, "O2", "crashes", "tail")
            self.assertEqual(["last_of_tail", "main"], names(crashed_thread(result))[:2], arch)
            self.assertTrue(run.chain)

    def test_smashed_frame_pointer(self):
        """The crashed function is right; after it the chain ends or goes on rightly, with no invented frame."""
        for arch in machine.ARCHES:
            run = Run(arch, "O2", "crashes", "smashed")
            self.addCleanup(run.remove)
            got = [name for name in names(crashed_thread(run.symbolicated())) if name != "?"]
            self.assertEqual(["smashed", "main"][:len(got)], got)
            self.assertTrue(got)

    def test_stack_overflow_has_its_end(self):
        for arch in machine.ARCHES:
            run = Run(arch, "O2", "crashes", "overflow")
            self.addCleanup(run.remove)
            report = run.reports[".json"]
            thread = crashed_thread(report)
            self.assertEqual(256, len(thread["frames"]))
            self.assertTrue(thread["frames_truncated"])
            self.assertTrue(thread["stack"]["truncated"])
            self.assertGreaterEqual(int(thread["stack"]["address"], 16) + 4096, int(thread["registers"].get("sp") or
                                    thread["registers"]["rsp"], 16))


if __name__ == "__main__":
    machine.main()
