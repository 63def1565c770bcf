#!/usr/bin/env python3
"""Run a program beside an object store: with_s3.py --server small|s3rver|radosgw PROGRAM, which gets its s3:// URL as argument.

"small" is tests/e2e/s3_server.py, which is strict and can be told to fail; "s3rver" is npm's, written by others; "radosgw" is
Ceph's (tests/e2e/radosgw.py), which takes half a minute to start. Exit code 77: the server cannot be had here.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import s3_stores  # noqa: E402


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--server", required=True, choices=sorted(s3_stores.STORES))
    options.add_argument("--clients", default="build/clients")
    options.add_argument("program", nargs=argparse.REMAINDER)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="framezero-with-s3-") as folder:
        try:
            store = s3_stores.STORES[chosen.server](folder, chosen.clients)
        except unittest.SkipTest as e:
            print(f"skipped: {e}")
            return 77
        try:
            done = subprocess.run([*chosen.program, store.blobs("test")], env={**os.environ, **store.environment()}, check=False)
            return done.returncode
        finally:
            store.end()


if __name__ == "__main__":
    sys.exit(main())
