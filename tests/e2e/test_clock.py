#!/usr/bin/env python3
"""The machine's clock is set back by a day and forward by a year while reports wait: no job waits for it."""

from case import BINARY, SHIM, FolderCase, main, report, until
from clock import Clock
from framezero import Server

DAY = 86400


class ClockSteps(FolderCase):
    def setUp(self):
        super().setUp()
        self.clock = Clock(self.path("offset"), SHIM)
        self.server = Server(BINARY, workers=0, env=self.clock.environment())
        self.addCleanup(self.server.stop)

    def start(self, workers):
        self.server.workers = workers
        self.server.start()

    def request(self, method, path, body=None):
        status, answer = self.server.request(method, path, body=body, timeout=60)
        self.assertLess(status, 300, answer)
        return answer

    def wait_done(self, report_id, deadline_s=20):
        until(lambda: self.request("GET", f"/api/v1/reports/{report_id}")["status"] != "queued", "the report is done",
              deadline_s)

    def oldest(self):
        text = self.request("GET", "/metrics")
        text = text.decode() if isinstance(text, bytes) else text
        line = next(t for t in text.splitlines() if t.startswith("framezero_oldest_job_seconds "))
        return float(line.split()[1])

    def wait_oldest(self, seconds):
        until(lambda: self.oldest() >= seconds, "the oldest job gets older", 20)

    def test_steps_while_it_waits(self):
        """Queued, the calendar set, then started again with workers."""
        for step in (-DAY, 400 * DAY):
            self.clock.set(0)
            self.start(0)
            posted = self.request("POST", "/api/v1/reports", report(step + DAY))
            self.wait_oldest(0.3)
            self.clock.set(step)
            # It goes on growing: the first answer may be one that was counted before the step.
            self.wait_oldest(self.oldest() + 1.5)
            self.assertLess(self.oldest(), 120)  # neither a day nor a year
            self.server.terminate()
            self.start(1)
            self.wait_done(posted["id"])
            self.server.terminate()

    def test_steps_while_it_works(self):
        self.start(1)
        for number, step in enumerate((0, -DAY, 400 * DAY, 0, -30 * DAY, 0)):
            self.clock.set(step)
            posted = self.request("POST", "/api/v1/reports?wait=20", report(number))
            self.assertNotEqual(posted["status"], "queued", f"after a step to {step} s")
            self.request("POST", f"/api/v1/reports/{posted['id']}/reprocess")
            self.wait_done(posted["id"])
        self.assertEqual(self.oldest(), 0)


if __name__ == "__main__":
    main()
