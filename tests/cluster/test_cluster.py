#!/usr/bin/env python3
"""Three nodes behind haproxy, PostgreSQL with a synchronous standby, an object store, and clients that write down what was
acknowledged, while one part after the other fails. ./dev cluster-test; exit code 77 where there are no namespaces.

After each fault the cluster comes to rest and everything is looked at: no acknowledged report is lost, none is finished twice, each
has the bytes that were sent and is counted once in its issue. --quick is a few faults with the small object store.
"""

import argparse
import os
import random
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "faults")]

import machines  # noqa: E402

CLIENTS = 4
# They are to find faults, not the limits of the machine: workers have to keep up.
PAUSE_S = 0.15
UPLOAD_PAUSE_S = 1.5
RECOVERY_S = 5
IDLE_LIMIT_S = 150
PROBES_FROM = 1_000_000_000  # numbers of reports that no client has


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--clock-shim", required=True)
    parser.add_argument("--quick", action="store_true", help="one machine less, the small store, and only a few faults")
    parser.add_argument("--long", action="store_true", help="faults of up to a minute, and the whole lease of a paused worker")
    parser.add_argument("--rounds", type=int, default=2, help="how often each fault")
    parser.add_argument("--seconds", type=float, default=0, help="how long each fault lasts; 0: 1 to 6, with --long 1 to 60")
    parser.add_argument("--only", default="", help="parts of names of faults, with commas between them")
    parser.add_argument("--store", choices=("small", "radosgw"), default="", help="the small one with --quick, else radosgw")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser.parse_args()


class Cluster:
    """Everything that is up."""

    def __init__(self, options, folder):
        import database
        import node
        import store
        self.network = machines.Network()
        self.paused_jobs = 0
        self.pair = database.Pair([machines.Machine(self.network, name, n) for name, n in (("db1", 21), ("db2", 22))], folder)
        self.store = store.make(options.store, machines.Machine(self.network, "s3", 31))
        # Both at once: the object store needs half a minute.
        starting = threading.Thread(target=self.start_store)
        starting.start()
        self.pair.start()
        starting.join()
        if self.store_error:
            raise self.store_error
        # HTTP alone, and HTTP with workers.
        self.nodes = [node.Node(machines.Machine(self.network, f"node{n}", 10 + n), options.framezero, folder, self.pair.url,
                                self.store, workers) for n, workers in ((1, 0), (2, 1), (3, 1))]
        for one in self.nodes:
            one.use_clock(options.clock_shim)
        self.service = node.Service(self.nodes, self.pair, folder)
        self.service.start()

    def start_store(self):
        self.store_error = None
        try:
            self.store.start()
        except Exception as error:  # the main thread reports it
            self.store_error = error

    def hashes(self, _, named):
        """{name: SHA-256 of what the object store has under it}"""
        import hashlib
        found = {}
        for name in named:
            raw = self.store.read(f"cluster/{name[:2]}/{name[2:4]}/{name}")
            if raw is not None:
                found[name] = hashlib.sha256(raw).hexdigest()
        return found

    def stop(self):
        code = self.service.terminate()
        self.store.stop()
        return code


class Run:
    def __init__(self, options, folder):
        from ledger import Ledger
        self.options, self.folder, self.rng = options, folder, random.Random(options.seed)
        began = time.monotonic()
        self.cluster = Cluster(options, folder)
        print(f"up after {time.monotonic() - began:.0f} s: {len(self.cluster.nodes)} nodes, haproxy, PostgreSQL with a synchronous "
              f"standby, object store {options.store}", flush=True)
        self.ledger = Ledger(folder)
        self.next, self.next_probe = 0, PROBES_FROM
        self.rows, self.wrong, self.proved = {}, [], 0
        self.demo_now = threading.Event()

    def start_clients(self):
        from ledger import Client, Uploader
        self.stop = threading.Event()
        service, seed = self.cluster.service, self.options.seed
        first = self.next
        self.senders = [Client(service, self.stop, self.ledger, seed, first + i, CLIENTS, PAUSE_S) for i in range(CLIENTS)]
        self.senders.append(Uploader(service, self.stop, self.ledger, f"{seed} {first}", self.folder, self.demo_now,
                                     UPLOAD_PAUSE_S))
        for sender in self.senders:
            sender.start()

    def stop_clients(self):
        self.stop.set()
        for sender in self.senders:
            sender.join()
            if sender.error:
                raise sender.error
        self.next = max(sender.n for sender in self.senders[:CLIENTS]) + CLIENTS

    def wait_idle(self):
        """Until no job waits or runs; the seconds that this takes. Nothing is hurried."""
        import recount
        began = time.monotonic()
        while True:
            left = recount.number(self.cluster.service, "SELECT count(*) FROM jobs WHERE state < 2")
            if left == 0:
                return time.monotonic() - began
            if time.monotonic() > began + IDLE_LIMIT_S:
                self.wrong.append(f"{left} jobs are not done after {IDLE_LIMIT_S} s")
                return IDLE_LIMIT_S
            time.sleep(0.05)

    def once(self, fault, seconds):
        import recovery
        self.start_clients()
        self.ledger.wait_more(20, 30)
        began = time.monotonic()
        with fault.make(self.cluster, self.rng):
            time.sleep(seconds)
        ended = time.monotonic()
        times = recovery.measure(self.cluster.service, self.cluster.nodes, self.ledger, self.options.seed, self.next_probe, ended,
                                 fault.stores)
        self.next_probe += len(self.cluster.nodes)
        first = self.ledger.first_after(ended, 60) - ended
        self.ledger.wait_more(20, 30)
        self.stop_clients()
        answers = sorted([began, *(at for _, at in self.ledger.times if began < at < ended + 10)])
        pause = max((b - a for a, b in zip(answers, answers[1:])), default=0)
        if fault.name == "database failed over":
            self.cluster.pair.rejoin()
        rest = self.wait_idle()
        wrong = self.look()
        self.wrong += [f"{fault.name}, {seconds:.1f} s: {line}" for line in wrong]
        worst = max(first, *times.values())
        self.rows.setdefault(fault.name, []).append((seconds, worst, pause, len(wrong)))
        more = ", ".join(f"{name} {s:.2f} s" for name, s in times.items())
        print(f"{fault.name}, {seconds:.1f} s: first acknowledgement {first:.2f} s, each node {more}; longest pause {pause:.1f} s; at "
              f"rest {rest:.1f} s later; {len(self.ledger.entries)} reports, {len(wrong)} wrong", flush=True)
        for line in wrong:
            print("  " + line, flush=True)

    def look(self):
        import proof
        return proof.prove_rest(self.cluster.service, self.ledger, self.cluster.hashes)

    def all(self, faults):
        for n in range(self.options.rounds):
            for fault in faults:
                if n * 2 >= self.options.rounds:
                    self.demo_now.set()
                most = 60 if self.options.long else 2 if self.options.quick else 6
                self.once(fault, self.options.seconds or self.rng.uniform(1, most))

    def end(self):
        import proof
        wrong = proof.prove_database(self.cluster.service)
        code = self.cluster.stop()
        if code:
            wrong.append(f"a node ended with {code} on SIGTERM")
        lost = sum(node.log().count("result=lost") for node in self.cluster.nodes)
        if self.cluster.paused_jobs and not lost:
            wrong.append(f"{self.cluster.paused_jobs} jobs of paused workers, and no result of theirs was refused")
        self.wrong += wrong
        print(f"acknowledged: {len(self.ledger.entries)} reports, {len(self.ledger.symbols)} symbol files; sent again without an "
              f"answer: {self.ledger.n_repeated} times; sent twice: {self.ledger.n_duplicates}; jobs of paused workers: "
              f"{self.cluster.paused_jobs}; results refused: {lost}")

    def table(self):
        print("\n| fault | times | held, s | recovery p50, s | max, s | longest pause, s | wrong |\n|---|---|---|---|---|---|---|")
        for name, rows in self.rows.items():
            held, worst, pause, wrong = zip(*rows)
            print(f"| {name} | {len(rows)} | {min(held):.1f} to {max(held):.1f} | {statistics.median(worst):.2f} | {max(worst):.2f} | "
                  f"{max(pause):.1f} | {sum(wrong)} |")
        print(flush=True)


def inside(options):
    import database
    import faults
    if not database.programs():
        print("skipped: PostgreSQL is not installed")
        return 77
    print(f"seed {options.seed}", flush=True)
    chosen = faults.FAULTS + (faults.LONG if options.long else [])
    if options.quick:
        chosen = [fault for fault in chosen if fault.name in faults.QUICK]
    if options.only:
        chosen = [fault for fault in chosen if any(word in fault.name for word in options.only.split(","))]
    run = Run(options, os.environ[machines.INSIDE])
    run.all(chosen)
    run.end()
    run.table()
    slow = [f"{name}: recovery took {row[1]:.2f} s, more than {RECOVERY_S} s" for name, rows in run.rows.items() for row in rows
            if row[1] > RECOVERY_S]
    print("\n".join(run.wrong + slow))
    return 1 if run.wrong or slow else 0


def main():
    options = parse()
    options.store = options.store or ("small" if options.quick else "radosgw")
    if machines.INSIDE not in os.environ:
        return machines.alone([sys.executable, *sys.argv])
    return inside(options)


if __name__ == "__main__":
    sys.exit(main())
