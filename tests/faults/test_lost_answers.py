#!/usr/bin/env python3
"""The connection to PostgreSQL breaks at a commit of a worker, so that it does not know whether it has a lease or not: no report
waits for the end of that lease, which is a minute.
"""

import argparse
import os
import struct
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e")]

from framezero import Server  # noqa: E402
from killer import Killer, POINTS, WORKER  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--framezero", required=True)
parser.add_argument("--kill-shim", required=True)
OPTIONS, REST = parser.parse_known_args()
SOON_S = 15  # a fourth of a lease; a busy machine takes a second


class LostAnswers(unittest.TestCase):
    def test_commits(self):
        server = Server(OPTIONS.framezero, workers=1)
        self.assertTrue(server.database, "run it below with_postgresql.sh")
        killer = Killer(server, [OPTIONS.kill_shim], 1)
        server.env.update(killer.environment())
        self.addCleanup(server.stop)
        server.start()
        self.n_hits = 0
        # The claim, and what comes after it.
        for n_th in (1, 2, 1):
            before = killer.read_control()[3]
            killer.control[4:12] = struct.pack("2i", WORKER, n_th)
            killer.control[0:4] = struct.pack("i", POINTS.index("commit_lost"))
            body = b'{"framezero": 1, "addresses": ["0x%x"]}' % (time.monotonic_ns() & 0xfffffff0)
            status, answer = server.request("POST", "/api/v1/reports", body=body)
            self.assertEqual(status, 202, answer)
            began = time.monotonic()
            while killer.read_control()[3] == before and time.monotonic() < began + 2:
                time.sleep(0.001)
            self.n_hits += killer.read_control()[3] > before
            killer.control[0:4] = struct.pack("i", 0)
            server.wait_report(answer["id"], SOON_S)
        self.assertGreater(self.n_hits, 1, "the shim has cut no connection")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + REST)
