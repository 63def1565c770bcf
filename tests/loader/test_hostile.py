#!/usr/bin/env python3
"""A crashed process whose threads, stacks and lists are damaged, files that cannot be written, a capture that crashes:
there is always a valid report or none."""
import os
import unittest

import machine
from machine import ARCHES, HANGS, MACH, SIGNALS, Run, crashed_thread

# What the loader answers falsely (mach_task.c), and what the report still has.
FAULTS = {
    "sp_zero": ("threads", "images"),
    "sp_wild": ("threads", "images"),
    "sp_in_guard": ("threads", "images", "stack"),
    "no_registers": ("threads", "images"),
    "no_threads": ("images",),
    "no_images": ("threads",),
    "image_count": ("threads", "images"),
    "image_array_null": ("threads",),
    "image_array_wild": ("threads",),
    "image_path_wild": ("threads", "images"),
    "image_path_endless": ("threads", "images"),
    "commands_of_size_zero": ("threads", "images"),
    "no_crashed_thread": ("threads", "images"),
    "no_record": ("threads", "images"),
}
CUT = {"image_count", "image_array_null", "image_array_wild", "no_images"}


class Hostile(unittest.TestCase):
    def run_of(self, *arguments, **how):
        run = Run(*arguments, **how)
        self.addCleanup(run.remove)
        return run

    def test_damaged_lists(self):
        for arch in ARCHES:
            for fault, has in FAULTS.items():
                with self.subTest(arch=arch, fault=fault):
                    run = self.run_of(arch, "O2", "crashes", "recursion", MACH, extension=True, env={"LOADER_FAULTS": fault})
                    self.assertEqual({".json", "-corpse.json"}, set(run.reports), run.output + run.errors)
                    report = run.reports["-corpse.json"]
                    self.assertEqual("threads" in has, bool(report["threads"]))
                    self.assertEqual("images" in has, bool(report["images"]))
                    self.assertEqual(fault in CUT, "images" in report["capture"]["truncated"])
                    if "stack" in has:
                        self.assertTrue(crashed_thread(report)["stack"]["bytes"])
                    if fault == "image_path_endless":
                        self.assertIn("x" * 100, [image["name"] for image in report["images"]])
                    if fault == "no_registers":
                        self.assertNotIn("registers", crashed_thread(report))

    def test_several_faults_at_once(self):
        for arch in ARCHES:
            run = self.run_of(arch, "O2", "crashes", "recursion", MACH, extension=True,
                              env={"LOADER_FAULTS": "no_threads,no_images,no_record"})
            self.assertEqual([], run.reports["-corpse.json"]["threads"])

    def test_300_threads(self):
        """At most 256 are written; the crashed one is among them."""
        for arch in ARCHES:
            for ways in (SIGNALS, MACH):
                run = self.run_of(arch, "O2", "crashes", "crowd", ways)
                report = run.reports[".json"]
                self.assertEqual(256, len(report["threads"]))
                self.assertIn("threads", report["capture"]["truncated"])
                self.assertEqual(0, crashed_thread(report)["index"])

    def test_file_that_fills_up(self):
        """A report that could not be written to its end is not a report."""
        for arch in ARCHES:
            for limit in ("0", "1", "5000"):
                run = self.run_of(arch, "O2", "crashes", "recursion", env={"LOADER_WRITE_LIMIT": limit})
                self.assertEqual({}, run.reports)
                self.assertEqual([run.run_id + ".part"], os.listdir(run.folder))
                self.assertEqual(128 + 11, run.status)

    def test_capture_that_crashes(self):
        """A short report follows; when that crashes too, the process ends as it would have."""
        for arch in ARCHES:
            for ways in (SIGNALS, MACH | SIGNALS):
                run = self.run_of(arch, "O2", "crashes", "recursion", ways, env={"LOADER_CRASH_AT": "thread_info 2"})
                report = run.reports.get(".json")
                self.assertTrue(report, run.output + run.errors)
                self.assertTrue(report["capture"]["handler_crashed"])
                self.assertEqual(1, len(report["threads"]))
                self.assertEqual(128 + 11, run.status)
                run = self.run_of(arch, "O2", "crashes", "recursion", ways, env={"LOADER_CRASH_AT": "vm_read 1+"})
                self.assertEqual({}, run.reports)
                self.assertEqual(128 + 11, run.status)

    def test_capture_of_an_abort_that_crashes(self):
        """The thread for Mach exceptions is stopped then: the fault must not wait for it."""
        for arch in ARCHES:
            run = self.run_of(arch, "O2", "crashes", "abort", env={"LOADER_CRASH_AT": "thread_info 2"})
            self.assertTrue(run.reports[".json"]["capture"]["handler_crashed"])

    def test_capture_of_a_hang_that_crashes(self):
        for arch in ARCHES:
            run = self.run_of(arch, "O2", "crashes", "hang", SIGNALS | MACH | HANGS, env={"LOADER_CRASH_AT": "thread_info 2"})
            self.assertEqual(128 + 11, run.status)
            self.assertTrue(run.reports[".json"]["capture"]["handler_crashed"])

    def test_no_allocation_after_installation(self):
        """malloc() and its kind end the program; the reports are there all the same."""
        for arch in ARCHES:
            for way in ("recursion", "overflow"):
                for ways in (SIGNALS, MACH):
                    run = self.run_of(arch, "O2", "crashes", way, ways, env={"FORBID_ALLOCATION": "1"})
                    self.assertIn(".json", run.reports, run.output + run.errors)
                    self.assertNotIn("after allocation became forbidden", run.errors)


if __name__ == "__main__":
    machine.main()
