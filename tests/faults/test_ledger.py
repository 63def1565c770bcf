#!/usr/bin/env python3
"""kill -9 of everything, at any moment and at named points, while clients post: what was acknowledged is there.

usage: test_ledger.py --framezero BINARY --kill-shim LIBRARY [--clock-shim LIBRARY] [--kills N] [--seed S] [--only KINDS]

Clients post reports and symbol files and keep a ledger of all acknowledgements (ledger.py). Between two kills (killer.py) some
reports are acknowledged. In the end proof.py looks for everything in the ledger. With FRAMEZERO_TEST_POSTGRESQL also the
database's processes are killed. With the clock shim the calendar is set by a day and by 400 days, forward and back. The
seed decides reports, order and kinds of the kills; the moments differ from run to run.
"""

import argparse
import os
import shutil
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e")]

import ledger  # noqa: E402
from cluster import Cluster  # noqa: E402
from framezero import Server  # noqa: E402
from killer import Killer  # noqa: E402
from ledger import Client, Ledger, Uploader  # noqa: E402
from proof import prove  # noqa: E402

CLIENTS = 4
AT_MOST_BETWEEN = 30  # acknowledgements between two kills
CLOCK_EVERY = 7  # kills
# After these no report can be taken until something was started again.
INTERRUPTS = {"all", "serving", "supervisor", "backend", "immediate", "postmaster"}


class Run:
    def __init__(self, options):
        self.options = options
        url = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
        self.server = Server(options.framezero, workers=2)
        self.killer = Killer(self.server, [options.kill_shim, options.clock_shim], options.seed,
                             Cluster(url) if url else None)
        if options.only:
            self.killer.keep_only(options.only.split(","))
        self.server.env.update(self.killer.environment())
        self.stop, self.demo_now = threading.Event(), threading.Event()
        self.ledger = Ledger(self.killer.folder)
        self.recoveries = {}  # kind of kill: seconds

    def start(self):
        self.server.start()
        if not self.killer.is_preloaded():
            raise RuntimeError("the shim is not loaded")
        # The calendar is set by more days than reports are kept for: all of them must be there in the end.
        status, answer = self.server.request("PUT", "/api/v1/project", body=b'{"keep_reports_days": 0}')
        if status != 200:
            raise RuntimeError(f"reports would be deleted by their age: {status} {answer}")
        seed = self.options.seed
        self.senders = [Client(self.server, self.stop, self.ledger, seed, i, CLIENTS) for i in range(CLIENTS)]
        self.senders.append(Uploader(self.server, self.stop, self.ledger, seed, self.killer.folder, self.demo_now))
        for sender in self.senders:
            sender.start()

    def kill_many(self):
        n_done, n_tried = 0, 0
        while n_done < self.options.kills:
            if n_done * 3 >= self.options.kills:
                self.demo_now.set()
            if self.options.clock_shim and n_tried % CLOCK_EVERY == 0:
                self.killer.step_clock()
            self.ledger.wait_more(self.killer.rng.randint(0, AT_MOST_BETWEEN), 5)
            kind = self.killer.choose(n_tried)
            n_tried += 1
            at = self.killer.kill(kind)
            if at is not None:
                n_done += 1
                first = self.ledger.first_after(at, 60)
                if kind in INTERRUPTS:
                    self.recoveries.setdefault(kind, []).append(first - at)
            if n_tried > 4 * self.options.kills + 50:
                raise RuntimeError(f"only {n_done} of {n_tried} points were reached")
            if n_done % 50 == 0 and at is not None:
                print(f"{n_done} kills, {len(self.ledger.times)} acknowledgements", flush=True)

    def end(self):
        self.demo_now.set()
        while not self.ledger.has_demo() and not any(s.error for s in self.senders):
            time.sleep(0.05)
        self.stop.set()
        for sender in self.senders:
            sender.join()
            if sender.error:
                raise sender.error

    def report(self, seconds):
        counts = ", ".join(f"{name} {n}" for name, n in sorted(self.killer.counts.items()))
        print(f"kills: {sum(self.killer.counts.values())} in {seconds:.0f} s ({counts}); {self.killer.missed} points not reached")
        print(f"acknowledged: {len(self.ledger.entries)} reports, {len(self.ledger.symbols)} symbol files; sent again without "
              f"an answer: {self.ledger.n_repeated} times; sent twice: {self.ledger.n_duplicates}")
        for kind, times in sorted(self.recoveries.items()):
            print(f"from kill ({kind}) to the first report that was sent and acknowledged after it: median "
                  f"{statistics.median(times) * 1000:.0f} ms, max {max(times) * 1000:.0f} ms, {len(times)} kills")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--kill-shim", required=True)
    parser.add_argument("--clock-shim", default="")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--only", default="", help="kinds of kills and points, with commas between them")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    # A second for each kill: long runs are made beside other work, where symbol files, the last of all, may wait for minutes.
    ledger.LIMIT_S = max(ledger.LIMIT_S, options.kills)
    print(f"seed {options.seed}", flush=True)
    run = Run(options)
    wrong = ["it did not come to an end"]
    try:
        began = time.monotonic()
        run.start()
        run.kill_many()
        run.end()
        run.report(time.monotonic() - began)
        began = time.monotonic()
        wrong = prove(run.server, run.ledger)
        print(f"looked at everything in {time.monotonic() - began:.0f} s: {len(wrong)} wrong")
    finally:
        run.stop.set()
        if run.server.process:
            run.server.kill_all()
        if wrong:
            print("\n".join(wrong))
            print(f"the data, the log and the ledger are in {run.server.data} and {run.killer.folder}; seed {options.seed}")
        else:
            shutil.rmtree(run.server.data, ignore_errors=True)
            shutil.rmtree(run.killer.folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
