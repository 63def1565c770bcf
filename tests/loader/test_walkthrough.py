#!/usr/bin/env python3
"""docs/client.md as far as Linux allows: its program is built with the client, crashes, and its report comes back from a
server with the function, the line and the values."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import machine
from machine import ARCHES, BINARY, SOURCE, built, crashed_thread, names, variables

sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e"))
from framezero import Server  # noqa: E402: its folder is known only now


def page():
    with open(os.path.join(SOURCE, "docs", "client.md"), encoding="utf-8") as f:
        return f.read()


class Walkthrough(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="framezero-walk-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def build(self, arch):
        source = re.search(r"<!-- program: main\.c -->\n```c\n(.*?)```", page(), re.S)[1]
        path = os.path.join(self.folder, "main.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(source)
        flags = f"-O0 -gdwarf-5 -I{SOURCE}/client/include"
        subprocess.run(["sh", os.path.join(SOURCE, "tests", "loader", "compile.sh"), os.path.join(self.folder, arch), "Shop",
                        arch, flags, "", path, built(f"client-{arch}", "libframezero.a")], check=True)
        return os.path.join(self.folder, arch, "Shop")

    def test_from_an_empty_app_to_a_crash_with_values(self):
        with Server(BINARY) as server:
            url, token = f"http://127.0.0.1:{server.port}", server.credentials["admin_token"]
            subprocess.run([BINARY, "project", "set", "default", "--values", "on", *server.where], check=True,
                           capture_output=True)
            for arch in ARCHES:
                program = self.build(arch)
                subprocess.run([BINARY, "upload", os.path.dirname(program), "--server", url, "--token", token], check=True,
                               capture_output=True)
                reports = os.path.join(self.folder, "reports-" + arch)
                os.mkdir(reports)
                done = subprocess.run(machine.loader(arch) + ["--slide", machine.SLIDE, program, reports], timeout=60,
                                      capture_output=True, check=False)
                self.assertEqual(128 + 11, done.returncode, done.stderr)
                sent = subprocess.run(machine.loader(arch) + [built(f"{arch}-O2", "pending"), reports, "keep"], check=True,
                                      capture_output=True, text=True).stdout.split()
                self.assertEqual("P", sent[0])
                with open(sent[1], "rb") as f:
                    status, result = server.request("POST", "/api/v1/reports?wait=20", body=f.read())
                self.assertEqual(200, status, result)
                thread = crashed_thread(result)
                self.assertEqual(["checkout", "main"], names(thread)[:2])
                symbol = thread["frames"][0]["symbols"][0]
                line = page().partition("```c\n")[2].splitlines().index("    *receipt = total;") + 1
                self.assertEqual(("main.c", line), (os.path.basename(symbol["file"]), symbol["line"]))
                self.check_values(thread)
                shown = subprocess.run([BINARY, "symbolicate", sent[1], "--json", "--variables", "--dsym", program + ".dSYM",
                                        "--dsym", program], check=True, capture_output=True, text=True).stdout
                self.check_values(crashed_thread(json.loads(shown)))

    def check_values(self, thread):
        found = variables(thread)
        for name, value in (("count", "2"), ("total", "10.75")):
            self.assertEqual(value, found[("checkout", name)].get("value"), name)
        items = found[("checkout", "items")]
        self.assertEqual("available", items["availability"])

    def test_links(self):
        """What the page links to exists."""
        for target in re.findall(r"\]\(([^)#:]+)\)", page()):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, "docs", target)), target)


if __name__ == "__main__":
    machine.main()
