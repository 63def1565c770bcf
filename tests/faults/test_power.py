#!/usr/bin/env python3
"""Power cuts: whatever was not synced is lost, and what was acknowledged is there (SQLite and blobs).

usage: test_power.py --framezero BINARY --power-shim LIBRARY [--reports N] [--cuts N] [--seed S]

Clients post reports and symbol files to one server whose shim writes down each operation on its files. Then the folder is
made as a cut would have left it, at moments all over the run, once with all lost that was not synced, and once with each
such operation lost or kept by chance, writes by sectors. In each folder the database must be whole, hold all that was
answered before, with the same bytes, and name only blobs that are there. On some of them a server is started.
"""

import argparse
import hashlib
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e")]

import power  # noqa: E402
from framezero import Server  # noqa: E402
from ledger import Client, Ledger, Uploader  # noqa: E402
from proof import wait_idle  # noqa: E402

CLIENTS = 3
SYMBOLS = 3  # files, at least
SERVERS = 2  # that are started on what a cut left


def record(options, server, folder):
    """Run the clients; the base, the records and {id: bytes} of all bodies."""
    server.start()
    server.terminate()
    base = power.copy(server.data)
    log = os.path.join(folder, "log")
    with open(log, "wb"):
        os.chmod(log, 0o666)
    server.env.update({"LD_PRELOAD": os.path.abspath(options.power_shim), "POWER_SHIM_LOG": log,
                       "POWER_SHIM_FOLDER": server.data})
    server.start()
    stop, demo_now, ledger = threading.Event(), threading.Event(), Ledger(folder)
    senders = [Client(server, stop, ledger, options.seed, i, CLIENTS) for i in range(CLIENTS)]
    senders.append(Uploader(server, stop, ledger, options.seed, folder, demo_now))
    for sender in senders:
        sender.start()
    def is_enough():
        return len(ledger.times) >= options.reports and len(ledger.symbols) >= SYMBOLS

    while not is_enough() and not any(s.error for s in senders):
        ledger.wait_more(1, 5)
        if len(ledger.times) * 2 > options.reports:
            demo_now.set()
    stop.set()
    for sender in senders:
        sender.join()
        if sender.error:
            raise sender.error
    wait_idle(server)
    server.terminate()
    with sqlite3.connect(os.path.join(server.data, "framezero.db")) as db:
        bodies = dict(db.execute("SELECT id, body FROM reports JOIN report_bodies ON report_key = key"))
    return base, power.read_log(log), bodies, ledger


def check_state(folder, ids, uuids, bodies):
    """What is wrong with the folder that a cut left."""
    wrong = []
    with sqlite3.connect(os.path.join(folder, "framezero.db")) as db:
        said = [row[0] for row in db.execute("PRAGMA integrity_check")]
        if said != ["ok"]:
            return [f"integrity_check: {said[:3]}"]
        stored = dict(db.execute("SELECT id, body FROM reports JOIN report_bodies ON report_key = key"))
        symbols = {row[0].hex() for row in db.execute("SELECT uuid FROM symbol_files WHERE state = 'ready'")}
        named = {row[0] for row in db.execute(
            "SELECT file_sha256 FROM symbol_files UNION SELECT index_sha256 FROM symbol_files UNION "
            "SELECT blob_sha256 FROM uploads WHERE state = 'queued'") if row[0]}
    wrong += [f"report {i} was answered and is lost" for i in ids - stored.keys()]
    wrong += [f"report {i} has other bytes" for i in stored.keys() & bodies.keys() if stored[i] != bodies[i]]
    wrong += [f"symbol file {u} was answered and is lost" for u in uuids - symbols]
    for name in named:
        path = os.path.join(folder, "blobs", name[:2], name[2:4], name)
        try:
            with open(path, "rb") as f:
                if hashlib.sha256(f.read()).hexdigest() != name:
                    wrong.append(f"blob {name} is damaged")
        except FileNotFoundError:
            wrong.append(f"blob {name} is named and lost")
    return wrong


def start_on(options, folder, ids):
    """A server works with what a cut left, and finishes what was answered."""
    server = Server(options.framezero, data=folder)
    try:
        server.start(60)
        left = wait_idle(server)
        wrong = [f"{left} jobs are not done"] if left else []
        for report_id in ids:
            status, answer = server.request("GET", f"/api/v1/reports/{report_id}")
            if status != 200 or answer["status"] in ("queued", "failed"):
                wrong.append(f"report {report_id}: {status} {answer.get('status')}")
        return wrong
    finally:
        if server.process:
            server.kill_all()


def cut_all(options, folder, data, base, records, bodies):
    rng = random.Random(options.seed)
    replies = power.answers(records)
    # Around answers and ends of syncs is where something may be missing.
    marks = [n for n, r in enumerate(records) if r[0] in (power.ANSWER, power.SYNC_END)]
    moments = sorted({min(len(records), rng.choice(marks) + 1) for _ in range(options.cuts // 2)} |
                     {rng.randrange(len(records)) for _ in range(options.cuts // 2)})
    started = set(rng.sample(moments, SERVERS))
    replay, wrong, n_states = power.Replay(base, data, records), [], 0
    # In memory, where there is such a place: the database is opened, and so synced, many times.
    memory = "/dev/shm"
    at = tempfile.mkdtemp(prefix="framezero-cut-", dir=memory if os.access(memory, os.W_OK) else folder)
    for moment in moments:
        replay.run_to(moment)
        before = [r for r in replies if r[0] < moment]
        ids = {i.decode() for r in before for i in r[1]} & bodies.keys()
        uuids = {u.decode() for r in before if r[2] for u in r[3]}
        for what, keep in (("all lost", lambda: False), ("some lost", lambda: rng.random() < 0.5)):
            replay.write(at, keep)
            n_states += 1
            wrong += [f"cut at {moment} of {len(records)}, {what}: {line}" for line in check_state(at, ids, uuids, bodies)]
        if moment in started:
            replay.write(at, lambda: False)
            wrong += [f"server after a cut at {moment}: {line}" for line in start_on(options, at, ids)]
        if len(wrong) > 20:
            break
    shutil.rmtree(at, ignore_errors=True)
    return wrong, n_states


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--power-shim", required=True)
    parser.add_argument("--reports", type=int, default=120)
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    if os.environ.get("FRAMEZERO_TEST_POSTGRESQL"):
        raise SystemExit("the files of PostgreSQL are its own")
    folder = tempfile.mkdtemp(prefix="framezero-power-")
    os.chmod(folder, 0o755)
    server = Server(options.framezero)
    wrong = ["it did not come to an end"]
    try:
        base, records, bodies, ledger = record(options, server, folder)
        kinds = [r[0] for r in records]
        n_answers = len(power.answers(records))
        print(f"{len(records)} operations: {kinds.count(power.WRITE)} writes, {kinds.count(power.SYNC_END)} syncs, "
              f"{kinds.count(power.LINK)} blobs, {n_answers} answers; {len(ledger.entries)} reports, {len(ledger.symbols)} symbol files")
        missing = {entry[1] for entry in ledger.entries.values()} - {
            i.decode() for r in power.answers(records) for i in r[1]}
        if missing:
            raise RuntimeError(f"{len(missing)} acknowledgements are not in the log of the shim")
        wrong, n_states = cut_all(options, folder, server.data, base, records, bodies)
        print(f"{n_states} power cuts, {SERVERS} of them with a server afterwards: {len(wrong)} wrong")
    finally:
        if server.process:
            server.kill_all()
        print("\n".join(wrong[:20]))
        if not wrong:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(server.data, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
