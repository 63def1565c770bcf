#!/usr/bin/env python3
"""A build without the server: its commands say so, and the others work."""
import subprocess
import unittest

from case import BINARY, main


def run(*arguments):
    return subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


class NoServer(unittest.TestCase):
    def test_commands_of_the_server(self):
        for command in ("serve", "worker", "migrate", "token", "project"):
            for options in ((), ("--help",), ("--data", "/nonexistent"), ("create", "x")):
                with self.subTest(command=command, options=options):
                    done = run(command, *options)
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertEqual(done.stderr.count("\n"), 1)
                    self.assertIn(f"framezero {command}: this build has no server; use the container", done.stderr)

    def test_other_commands(self):
        for command in ("symbolicate", "atos", "inspect", "index", "lookup", "demangle"):
            done = run(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIn(f"framezero {command}", done.stdout)

    def test_upload(self):
        done = run("upload", "--help")
        if done.returncode == 0:
            self.assertIn("framezero upload", done.stdout)
        else:
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("no libcurl", done.stderr)

    def test_usage(self):
        for arguments in (("--help",), ("--version",)):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()
