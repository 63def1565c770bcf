#!/usr/bin/env python3
"""`framezero demangle`: names as operands and on standard input, in each form; docs/grouping.md shows what it prints."""

import os
import re
import subprocess
import unittest

from case import BINARY, SOURCE, main

CLOSURE = "$s4Shop4loadyyFyycfU_"


def demangle(*args, names=None):
    done = subprocess.run([BINARY, "demangle", *args], input=names, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


class Demangle(unittest.TestCase):
    def test_forms(self):
        self.assertEqual(demangle(CLOSURE), "closure #1 () -> () in Shop.load() -> ()\n")
        self.assertEqual(demangle("--simplified", CLOSURE), "closure #1 in load()\n")
        self.assertEqual(demangle("--declaration", CLOSURE), "load()\tShop\tclosure #1 in\n")

    def test_declarations_of_lines(self):
        lines = {CLOSURE: "load()\tShop\tclosure #1 in", "_main": "_main\t\t", "__hidden#1_": "__hidden#1_\t\tno declaration",
                 "_ZN4shop3addEi.cold": "shop::add\t\tpart of", "": "\t\tno declaration",
                 "-[Cart(Adding) add:]": "-[Cart add:]\t\t"}
        out = demangle("--declaration", names="\n".join(lines) + "\n")
        self.assertEqual(out.splitlines(), list(lines.values()))

    def test_many_long_names(self):
        """More than the memory of one declaration, and names that are cut: they stay distinct."""
        names = [f"f{'x' * 5000}{i}" for i in range(5000)]
        out = demangle("--declaration", names="\n".join(names)).splitlines()
        self.assertEqual(len(set(out)), len(names))
        self.assertEqual({len(line) for line in out}, {1024 + 2})

    def test_page(self):
        with open(os.path.join(SOURCE, "docs", "grouping.md"), encoding="utf-8") as f:
            command, out = re.search(r"\$ framezero demangle (.*)\n((?:.*\n)*?)```", f.read()).groups()
        self.assertEqual(demangle(*(word.strip("'") for word in command.split())), out)


if __name__ == "__main__":
    main()
