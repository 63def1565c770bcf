#!/usr/bin/env python3
"""What clients see of a restart while they send: each report that they send until it is taken is there once, and the gap is short.

A client does as docs/operations.md asks: it sends a report again, with the same id, until it gets an answer of 2xx, waits as
Retry-After says, and connects anew when its connection is lost.
"""

import http.client
import json
import os
import signal
import threading
import time
import unittest
import uuid

from case import BINARY, ServerCase, main, report, until

CLIENTS = 4
PAUSE_S = 0.02  # of a client between two reports, so that there are hundreds of them and not thousands
GAP_S = 15  # a machine of tests may have a load of 30; docs/operations.md has what it takes alone


class Client(threading.Thread):
    """Sends reports one after the other until it is asked to stop; remembers when each was taken."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ended = server, threading.Event()
        self.taken = []  # (id, monotonic time)
        self.wrong = []
        self.connection = None

    def send(self, body):
        """Whether it was taken, and how long to wait before it is sent again."""
        if not self.connection:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        self.connection.request("POST", "/api/v1/reports", body=body,
                                headers={"Authorization": f"Bearer {self.server.ingest_key}"})
        answer = self.connection.getresponse()
        answer.read()
        if answer.status not in (200, 202, 429, 503):
            self.wrong.append(answer.status)
        return answer.status < 300, float(answer.getheader("Retry-After", 1))

    def run(self):
        try:
            self.send_all()
        finally:
            if self.connection:
                self.connection.close()

    def send_all(self):
        while not self.ended.is_set():
            number, is_taken = uuid.uuid4(), False
            body = report(id=str(number))
            while not is_taken:
                wait_s = 0.02
                try:
                    is_taken, wait_s = self.send(body)
                except (OSError, http.client.HTTPException):
                    self.connection.close()
                    self.connection = None
                if not is_taken:
                    self.ended.wait(wait_s)
                    if self.ended.is_set():
                        return
            self.taken.append((number.hex, time.monotonic()))
            self.ended.wait(PAUSE_S)


class Restart(ServerCase):
    def under_load(self, restart):
        """Clients send before, while and after `restart` runs. Returns the longest time without a report that was taken."""
        clients = [Client(self.server) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        until(lambda: all(len(client.taken) > 5 for client in clients), "reports before the restart")
        restart()
        restarted = time.monotonic()
        until(lambda: all(client.taken[-1][1] > restarted for client in clients), "reports of each client after the restart")
        for client in clients:
            client.ended.set()
        for client in clients:
            client.join(60)
            self.assertEqual(client.wrong, [])
        times = sorted(at for client in clients for _, at in client.taken)
        taken = {number for client in clients for number, _ in client.taken}

        def is_done(number):
            answer = self.expect(200, "GET", f"/api/v1/reports/{number}")
            return answer["status"] == "unsymbolicated"
        for number in taken:
            until(lambda number=number: is_done(number), f"report {number} is done")
        return max(after - before for before, after in zip(times, times[1:]))

    def test_stop_and_start(self):
        """As after an upgrade: SIGTERM, then the program is started again."""
        def restart():
            self.assertEqual(self.server.terminate(), 0)
            self.server.start()
        gap_s = self.under_load(restart)
        print(f"gap of a stop and a start: {gap_s:.2f} s")
        self.assertLess(gap_s, GAP_S)

    def test_killed(self):
        """The process that serves dies, and its supervisor starts it again."""
        def restart():
            old = self.server.serving_pid
            os.kill(old, signal.SIGKILL)
            until(lambda: self.server.serving_pid not in (old, self.server.process.pid), "another process serves")
            self.server.wait_ready(60)
        gap_s = self.under_load(restart)
        print(f"gap of a process that was killed: {gap_s:.2f} s")
        self.assertLess(gap_s, GAP_S)


class Sizes(ServerCase):
    """A child writes its results into one file, one after the other."""

    def test_small_after_large(self):
        def result(n_threads, n_frames):
            threads = [{"index": thread, "frames": [hex(4096 + 16 * frame) for frame in range(n_frames)]}
                       for thread in range(n_threads)]
            body = json.dumps({"framezero": 1, "id": str(uuid.uuid4()), "threads": threads})
            answer = self.expect(200, "POST", "/api/v1/reports?wait=30", body=body.encode())
            for key in ("id", "received"):
                answer.pop(key)
            return answer
        small = result(1, 1)
        children = self.server.worker_children
        # Below what is kept for the next report, and above it.
        for n_threads in (2, 10):
            self.assertEqual(len(result(n_threads, 1000)["threads"][-1]["frames"]), 1000)
            self.assertEqual(result(1, 1), small)
        self.assertEqual(self.server.worker_children, children)


if __name__ == "__main__":
    main()
