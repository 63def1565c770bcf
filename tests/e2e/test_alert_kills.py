#!/usr/bin/env python3
"""kill -9 of a worker, or of the whole server, at each step of an alert: none is lost, and what comes twice has one id."""

import random
import signal
import threading
import time

from case import main, until
from channels import Channels, crash
from framezero import send as send_signal
from receivers import SmtpReceiver

LEASE_S = 61


class Kills(Channels):
    """Each round: a new issue, and a kill at one of the steps; then the clock moves past the lease of the one that died."""
    workers = 2

    def setUp(self):
        super().setUp()
        self.can_move()
        self.random = random.Random(20261123)  # the same times in each run, as far as the machine lets it
        self.offset = self.n_issues = 0
        self.whole = False

    def more_args(self):
        self.smtp = SmtpReceiver()
        self.addCleanup(self.smtp.close)
        return ("--smtp-url", f"smtp://127.0.0.1:{self.smtp.port}", "--smtp-tls", "off", "--mail-from", "alerts@example.com")

    def kill(self):
        """Workers, which are started again, and every other time all of the server."""
        self.whole = not self.whole
        if self.whole:
            self.server.kill_all()
            self.server.start()
        else:
            for pid in self.server.pids_of("worker"):
                send_signal(pid, signal.SIGKILL)
        self.offset += LEASE_S
        self.ahead(self.offset)

    def report(self):
        """Accepted: from here on the issue is known to the server."""
        status, answer = self.server.request("POST", "/api/v1/reports", body=crash(f"f{self.n_issues}()"))
        self.assertEqual(status, 202, answer)
        self.n_issues += 1

    # The steps, each with its own way to be there.

    def accepted(self):
        """The report is stored; the event may not be."""
        self.kill()

    def soon(self):
        """Somewhere between the report's job and the end of the delivery."""
        time.sleep(self.random.random() * 0.6)
        self.kill()

    def written(self):
        """The issue is there, and so is the event, which nobody may have dispatched."""
        until(lambda: len(self.server.query("/api/v1/issues", limit=1)[1]["issues"]) > 0 and
              self.server.request("GET", f"/api/v1/issues/{self.n_issues}")[0] == 200, "the issue")
        self.kill()

    def claimed(self):
        """The delivery is in the log and not over: waiting, or under a lease."""
        until(lambda: len(self.deliveries(self.hook)) >= 1 and
              any(one["state"] in ("waiting", "sending") for one in self.deliveries(self.hook)) or
              self.known() >= self.n_issues, "a delivery")
        self.kill()

    def sent(self):
        """The receiver has the request, and its answer is on the way."""
        arrived, go_on = threading.Event(), threading.Event()

        def answer():
            arrived.set()
            go_on.wait(20)
            yield b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        self.receiver_.raw = answer()
        self.report()
        arrived.wait(30)
        self.receiver_.raw = None
        # Half of the time, the answer and the kill race.
        if self.random.random() < 0.5:
            go_on.set()
        self.kill()
        go_on.set()

    def known(self):
        """How many issues the receiver has heard of."""
        return len({m["data"]["issue"]["number"] for m in self.messages(self.receiver_, "issue.created")})

    def test_kills(self):
        self.receiver_ = self.receiver()
        self.hook = self.channel(self.receiver_, per_hour=0)
        mail = self.expect(201, "POST", "/api/v1/channels", {"kind": "mail", "to": ["ann@example.com"], "per_hour": 0})
        steps = (self.accepted, self.soon, self.written, self.claimed, self.soon)
        for n in range(30):
            if n % 6 == 5:
                self.sent()
            else:
                self.report()
                steps[n % 6]()
        # A job whose worker died is taken again when its lease is over, too.
        for _ in range(20):
            if self.known() >= self.n_issues and len(self.mail_ids()) >= self.n_issues:
                break
            time.sleep(1)
            self.offset += LEASE_S
            self.ahead(self.offset)
        self.assertEqual(self.n_issues, 30)
        numbers = sorted({m["data"]["issue"]["number"] for m in self.messages(self.receiver_, "issue.created")})
        self.assertEqual(numbers, list(range(1, 31)), "none is lost")
        # One id for each issue, however often it came.
        ids = {}
        for (_, headers, _), message in zip(self.receiver_.requests, self.messages(self.receiver_)):
            if message["type"] == "issue.created":
                ids.setdefault(message["data"]["issue"]["number"], set()).add(headers["webhook-id"])
        self.assertEqual({len(one) for one in ids.values()}, {1})
        self.assertEqual(len({next(iter(one)) for one in ids.values()}), 30)
        # Killed while it was sending, a message came twice; the test would show nothing if that never happened.
        n_requests = len([m for m in self.messages(self.receiver_) if m["type"] == "issue.created"])
        self.assertGreater(n_requests, 30)
        until(lambda: len(self.mail_ids()) >= 30, "the mails")
        self.assertEqual(len(self.mail_ids()), 30)
        for channel in (self.hook, mail):
            until(lambda c=channel: len([d for d in self.deliveries(c, ("delivered",)) if d["type"] == "issue.created"]) == 30,
                  "the log agrees")
        print(f"30 kills, {n_requests} requests and {len(self.smtp.mails)} mails about 30 issues")

    def mail_ids(self):
        return {line for _, _, data in list(self.smtp.mails) if b"New issue" in data
                for line in data.split(b"\r\n") if line.startswith(b"Message-ID: ")}


if __name__ == "__main__":
    main()
