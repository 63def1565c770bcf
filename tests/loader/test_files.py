#!/usr/bin/env python3
"""Files that wait to be sent, what they contain beside the stack, and the memory that values are read from."""
import glob
import os
import struct
import subprocess
import tempfile
import unittest
import uuid

import machine
from machine import ARCHES, Run, built, crashed_thread, memory


def pending(arch, folder, what):
    done = subprocess.run(machine.loader(arch) + [built(f"{arch}-O2", "pending"), folder, what], capture_output=True,
                          text=True, timeout=60, check=True)
    return [line[2:] for line in done.stdout.splitlines() if line.startswith("P ")]


class Pending(unittest.TestCase):
    """Each report is handed out at most once."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="framezero-pending-")
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", self.folder], check=True))

    def add(self, ending, age_s=0):
        path = os.path.join(self.folder, f"{uuid.uuid4()}{ending}")
        with open(path, "w", encoding="utf-8") as f:
            f.write("{}")
        os.utime(path, (os.path.getmtime(path) - age_s,) * 2)
        return path

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_done(self):
        for arch in ARCHES:
            wanted = sorted(self.add(ending)[:-5] + ".sending" for ending in (".json", "-corpse.json", "-hang.json"))
            other = [self.add(".part"), self.add(".txt"), os.path.join(self.folder, "notes.json")]
            with open(other[-1], "w", encoding="utf-8") as f:
                f.write("{}")
            self.assertEqual(wanted, sorted(pending(arch, self.folder, "done")))
            self.assertEqual(sorted(map(os.path.basename, other)), self.names())
            for path in other:
                os.remove(path)

    def test_return(self):
        path = self.add(".json")
        for arch in ARCHES:
            self.assertEqual([path[:-5] + ".sending"], pending(arch, self.folder, "return"))
            self.assertEqual([os.path.basename(path)], self.names())

    def test_taken_and_never_returned(self):
        """The next start removes it, so no report is sent twice."""
        for arch in ARCHES:
            self.add(".json")
            self.assertEqual(1, len(pending(arch, self.folder, "keep")))
            self.assertEqual([], pending(arch, self.folder, "keep"))
            pending(arch, self.folder, "install")
            self.assertEqual([], [name for name in self.names() if name.endswith(".sending")])

    def test_installation_removes_what_is_not_a_report(self):
        for arch in ARCHES:
            old = [self.add(".part"), self.add("-hang.part"), self.add("-corpse.part", age_s=7200)]
            kept = [self.add(".json"), self.add("-corpse.part")]
            pending(arch, self.folder, "install")
            for path in old:
                self.assertFalse(os.path.exists(path), path)
            for path in kept:
                self.assertTrue(os.path.exists(path), path)

    def test_folder_that_does_not_exist(self):
        for arch in ARCHES:
            done = subprocess.run(machine.loader(arch) + [built(f"{arch}-O2", "pending"), self.folder + "/none", "install"],
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual(2, done.returncode, "ENOENT")


class Contents(unittest.TestCase):
    """The report has what an unwinder and a reader of values need."""

    def run_of(self, *arguments, **how):
        run = Run(*arguments, **how)
        self.addCleanup(run.remove)
        return run

    def test_registers(self):
        for arch in ARCHES:
            registers = crashed_thread(self.run_of(arch, "O2", "crashes", "recursion").reports[".json"])["registers"]
            want = [f"x{i}" for i in range(29)] + ["fp", "lr", "sp", "pc", "cpsr", "far"] + [f"v{i}" for i in range(32)]
            if arch == "x86_64":
                want = ("rax rbx rcx rdx rdi rsi rbp rsp rip rflags".split() + [f"r{i}" for i in range(8, 16)]
                        + [f"xmm{i}" for i in range(16)])
            self.assertEqual(set(), set(want) - set(registers))

    def test_stack_begins_below_sp(self):
        """Leaf functions use 128 bytes below sp."""
        for arch in ARCHES:
            for extension in (False, True):
                run = self.run_of(arch, "O2", "crashes", "leaf", extension=extension)
                thread = crashed_thread(run.reports["-corpse.json" if extension else ".json"])
                sp = int(thread["registers"].get("sp") or thread["registers"]["rsp"], 16)
                self.assertEqual((sp & ~7) - 128, int(thread["stack"]["address"], 16))
                self.assertFalse(thread["stack"]["truncated"])

    def test_same_stack_as_the_loader_sees(self):
        """A second source: the loader's own dump of the same instruction."""
        for arch in ARCHES:
            run = self.run_of(arch, "O0", "crashes", "leaf")
            thread = crashed_thread(run.reports[".json"])
            read = memory(run.reports[".json"])
            registers = thread["registers"]
            fp = int(registers.get("fp") or registers["rbp"], 16)
            record = read(fp, 16)
            self.assertEqual(int(thread["frames"][1], 16), struct.unpack("<QQ", record)[1])

    def test_what_pointers_lead_to(self):
        """The list item that a register or the stack points to, and the next one that it points to."""
        for arch in ARCHES:
            for extension in (False, True):
                run = self.run_of(arch, "O0", "crashes", "leaf", extension=extension)
                read = memory(run.reports["-corpse.json" if extension else ".json"])
                found = []
                for part in run.reports["-corpse.json" if extension else ".json"]["memory"]:
                    start = int(part["address"], 16)
                    for at in range(start, start + 256, 8):
                        content = read(at, 48) or b""
                        # struct item: id at 0, price at 8, name at 29, after the byte of the bit field.
                        if content[29:35] in (b"apple\0", b"atlas\0"):
                            found.append(struct.unpack("<i4xd", content[:16]))
                self.assertIn((7, 9.5), found)
                self.assertIn((8, 1.25), found)

    def test_globals(self):
        """The program's own variables, and nothing of the client's work memory."""
        for arch in ARCHES:
            report = self.run_of(arch, "O0", "crashes", "recursion").reports[".json"]
            parts = [part for part in report["memory"] if part["why"] == "data"]
            self.assertTrue(parts)
            self.assertNotIn("data", report["capture"]["truncated"])
            self.assertTrue(any(struct.pack("<i", 41) in bytes_of(part) for part in parts), "served")

    def test_image(self):
        for arch in ARCHES:
            report = self.run_of(arch, "O2", "crashes", "recursion").reports[".json"]
            image = next(image for image in report["images"] if image["name"] == "crashes")
            self.assertEqual(arch, image["arch"])
            self.assertEqual(hex(0x100000000 + int(machine.SLIDE, 16)), image["address"])
            inspected = subprocess.run([machine.BINARY, "inspect", built(f"{arch}-O2", "crashes"), "--json"],
                                       capture_output=True, text=True, check=True).stdout
            self.assertIn(image["uuid"].replace("-", ""), inspected.replace("-", "").lower())

    def test_no_file_is_left_open_or_half_written(self):
        for arch in ARCHES:
            run = self.run_of(arch, "O2", "crashes", "recursion", extension=True)
            self.assertEqual([], glob.glob(run.folder + "/*.part"))


def bytes_of(part):
    return memory({"threads": [], "memory": [part]})(int(part["address"], 16), len(part["bytes"]) // 4 * 3
                                                    - part["bytes"].count("="))


if __name__ == "__main__":
    machine.main()
