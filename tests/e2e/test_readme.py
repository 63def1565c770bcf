#!/usr/bin/env python3
"""README.md: its commands, typed as they are, do what it says; what it links to exists.

The blocks of "Try it" run in the project's folder, in one shell, as a user would paste them; only the server's address,
its data folder and the program's path are replaced by those of the test. Commands that install, build or need Docker run
elsewhere (./dev test itself; nothing here has a Docker engine).
"""

import os
import re
import subprocess
import unittest

from case import BINARY, SOURCE, main
from framezero import Server

MARK = "@@ end of block"
# What the blocks of "Try it" print, in their order.
WANTED = [
    ['"status":"new"', '"unblocked_reports":0}\n', '"status":"symbolicated"', "shop::cart::total() const",
     '{"reports":[', "Incident Identifier:", "Thread 0", "cart.h:16", "Binary Images:",
     '{"issues":[{"number":1,"title":"shop::price_of', "# Issue 1: shop", "## Stack"],
    ['{"missing":[]}\n'],
    ["cart.h:16", "checkout(int)", "arm64", "DWARF"],
]


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
            cls.text = f.read()

    def test_commands(self):
        section = self.text.partition("\n## Try it\n")[2].partition("\n## ")[0]
        blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)
        self.assertEqual(len(blocks), len(WANTED))
        with Server(BINARY, workers=1) as server:
            script = ""
            for block in blocks:
                for old, new in (("http://127.0.0.1:8480", server.url), ("framezero-data/", server.data + "/"),
                                 ("build/release/server/framezero", BINARY)):
                    block = block.replace(old, new)
                script += f"{block}\necho '{MARK}'\n"
            done = subprocess.run(["bash", "-e", "-c", script], cwd=SOURCE, capture_output=True, text=True, timeout=120,
                                  check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for printed, wanted in zip(done.stdout.split(MARK + "\n"), WANTED):
            for words in wanted:
                self.assertIn(words, printed)

    def test_links(self):
        for target in re.findall(r"\]\(([^)#:]+)\)", self.text):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, target)), f"README.md links to {target}")


if __name__ == "__main__":
    main()
