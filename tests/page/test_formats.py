#!/usr/bin/env python3
"""Numbers and times of the page are those of a browser for en-GB, in several zones."""

import os
import shutil
import subprocess
import unittest

import page_case  # the path of the other tests
from case import SOURCE, main

MODULES = os.path.join(SOURCE, "server", "web", "page", "lib")
ZONES = ("UTC", "Europe/London", "Asia/Kolkata", "Pacific/Chatham", "America/St_Johns")


@unittest.skipUnless(shutil.which("node"), "needs node")
class Formats(unittest.TestCase):
    def test_like_intl(self):
        for zone in ZONES:
            with self.subTest(zone):
                done = subprocess.run(["node", os.path.join(page_case.HERE, "formats.mjs"), MODULES], env={**os.environ, "TZ": zone},
                                      capture_output=True, text=True, timeout=60, check=True)
                self.assertEqual(done.stdout, "809 compared\n", done.stderr)


if __name__ == "__main__":
    main()
