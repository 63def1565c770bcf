#!/usr/bin/env python3
"""Children that read what clients send are killed and stopped: each request gets an answer, and nothing is lost."""

import gzip
import json
import os
import signal
import threading
import time
import unittest

from case import BINARY, TIMEOUT_S, main
from framezero import Server, send

REPORTS, CLIENTS = 200, 4


def make_report(n):
    return {"framezero": 1, "tags": {"number": str(n)}, "addresses": [hex(0x100000000 + 16 * n)], "images": []}


def intake_children(server):
    """The children of the process that answers; those of workers have another parent."""
    found = []
    for pid in server.pids_of("child"):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                if int(f.read().rpartition(")")[2].split()[1]) == server.serving_pid:
                    found.append(pid)
        except OSError:
            pass
    return found


class Intake(unittest.TestCase):
    def start(self, *args):
        server = Server(BINARY, workers=1, args=args)
        server.start(deadline_s=TIMEOUT_S)
        self.addCleanup(server.stop)
        return server

    def test_child_is_killed_under_load(self):
        server = self.start()
        serving, answers, over = server.serving_pid, [], threading.Event()

        def post(first):
            for n in range(first, REPORTS, CLIENTS):
                body = json.dumps(make_report(n)).encode()
                status, answer = server.request("POST", "/api/v1/reports", body=body, token="ingest")
                while status == 503:
                    status, answer = server.request("POST", "/api/v1/reports", body=body, token="ingest")
                answers.append((n, status, answer))

        def kill():
            n = 0
            while not over.is_set():
                for pid in intake_children(server):
                    send(pid, signal.SIGKILL)
                    n += 1
                time.sleep(0.002)
            kills.append(n)

        kills, killer = [], threading.Thread(target=kill)
        clients = [threading.Thread(target=post, args=(i,)) for i in range(CLIENTS)]
        for thread in [killer, *clients]:
            thread.start()
        for client in clients:
            client.join()
        over.set()
        killer.join()
        self.assertEqual(len(answers), REPORTS)
        self.assertGreater(kills[0], 10)
        self.assertEqual({status for _, status, _ in answers}, {202})
        # What was stored unchecked is read by the worker's child, and is like any other in the end.
        for n, _, answer in answers:
            report = server.wait_report(answer["id"], deadline_s=TIMEOUT_S)
            self.assertEqual((report["format"], report["tags"]["number"]), ("framezero", str(n)))
        self.assertEqual(server.serving_pid, serving)
        text = server.request("GET", "/metrics", token=None)[1]
        text = text.decode() if isinstance(text, bytes) else text
        [deaths] = [line.split()[1] for line in text.splitlines() if line.startswith("child_deaths_total ")
                    or line.startswith("framezero_child_deaths_total ")]
        self.assertGreater(int(deaths), 0)

    def test_child_hangs(self):
        server = self.start("--limit", "child_wall_s=2")
        body = json.dumps(make_report(1)).encode()
        self.assertEqual(server.request("POST", "/api/v1/reports", body=body)[0], 202)
        [child] = intake_children(server)
        os.kill(child, signal.SIGSTOP)
        began = time.monotonic()
        status, answer = server.request("POST", "/api/v1/reports", body=json.dumps(make_report(2)).encode())
        self.assertEqual((status, answer["error"]["code"]), (503, "unavailable"))
        self.assertLess(time.monotonic() - began, 10)
        status, _ = server.request("POST", "/api/v1/reports", body=json.dumps(make_report(2)).encode())
        self.assertEqual(status, 202)
        self.assertNotIn(child, intake_children(server))

    def test_body_exceeds_the_memory_of_a_child(self):
        server = self.start("--limit", "child_memory=20971520")
        text = "".join(f"{n * 2654435761 % 2**32:08x}" for n in range(2000)) * 4  # compresses, but not too well
        body = json.dumps({"framezero": 1, "addresses": [1], "images": [], "x": [text[n:] + str(n) for n in range(400)]})
        self.assertGreater(len(body), 20971520)
        status, answer = server.request("POST", "/api/v1/reports", body=gzip.compress(body.encode(), 6),
                                        headers={"Content-Encoding": "gzip"})
        self.assertEqual(status, 202)
        report = server.wait_report(answer["id"], deadline_s=TIMEOUT_S)
        self.assertEqual(report["status"], "failed")
        self.assertIn("more memory", report["error"])
        # The next body is read as if nothing had been.
        status, answer = server.request("POST", "/api/v1/reports", body=json.dumps(make_report(1)).encode())
        self.assertEqual(status, 202)
        self.assertEqual(server.wait_report(answer["id"], deadline_s=TIMEOUT_S)["status"], "unsymbolicated")

    def test_rejections(self):
        server = self.start()
        for body, status, code in ((b"", 400, "malformed"), (b"{", 400, "malformed"), (b"hello", 415, "unsupported")):
            got, answer = server.request("POST", "/api/v1/reports", body=body)
            self.assertEqual((got, answer["error"]["code"]), (status, code))
        self.assertEqual(len(intake_children(server)), 1)


if __name__ == "__main__":
    main()
