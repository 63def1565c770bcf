"""What must be true after all faults: everything that was acknowledged is there, once, as it was sent, and counted once.

prove(server, ledger) returns what is wrong, as lines for a person.
"""

import hashlib
import http.client
import os
import sqlite3
import subprocess
import threading
import time

import recount

READERS = 3
FINAL = {"symbolicated", "partially_symbolicated", "unsymbolicated"}
SHOWN = 10


def run_statement(server, statement):
    if server.database:
        subprocess.run(["psql", "-X", "-q", server.database, "-c", statement], check=True, timeout=60)
        return
    with sqlite3.connect(os.path.join(server.data, "framezero.db"), timeout=30) as db:
        db.execute(statement)


def wait_idle(server, limit_s=120):
    """Until no job waits or runs; what is left of the queue if nothing was done for limit_s. The database was away several
    times, so jobs have back-offs of up to some minutes, which are cut short; leases are not."""
    run_statement(server, "UPDATE jobs SET due_ms = 1 WHERE state = 0 AND due_ms > 0")
    least, end = None, 0
    while True:
        n = recount.number(server, "SELECT count(*) FROM jobs WHERE state < 2")
        if least is None or n < least:
            least, end = n, time.monotonic() + limit_s
        if n == 0 or time.monotonic() > end:
            return n
        time.sleep(0.05)


def some(lines):
    return lines[:SHOWN] + ([f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])


class Reader(threading.Thread):
    def __init__(self, server, entries, wrong):
        super().__init__()
        self.server, self.entries, self.wrong = server, entries, wrong

    def get(self, connection, path):
        """503 is an answer of a server that is busy, not of one that has lost something."""
        end = time.monotonic() + 60
        while True:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.server.admin_token}"})
            response = connection.getresponse()
            raw = response.read()
            if response.status != 503 or time.monotonic() > end:
                return response, raw
            time.sleep(0.05)

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            for n, (digest, report_id, _) in self.entries:
                response, raw = self.get(connection, f"/api/v1/reports/{report_id}?format=raw")
                if response.status != 200:
                    self.wrong.append(f"report {n}, {report_id}: acknowledged, and now {response.status}")
                elif hashlib.sha256(raw).hexdigest() != digest:
                    self.wrong.append(f"report {n}, {report_id}: other bytes than were acknowledged")
        except (OSError, http.client.HTTPException) as error:
            self.wrong.append(f"reading the reports: {error!r}")
        finally:
            connection.close()


def prove_bytes(server, ledger):
    entries, wrong = sorted(ledger.entries.items()), []
    readers = [Reader(server, entries[i::READERS], wrong) for i in range(READERS)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return wrong


def prove_rows(server, ledger):
    """One row for each acknowledgement and none besides: each client goes on until it has one. Finished once, and once
    more if a dSYM came."""
    stored = {row[0]: row[1:] for row in recount.rows(server, "SELECT id, status, n_processed FROM reports")}
    n_files = max(1, recount.number(server, "SELECT max(symbol_seq) FROM projects"))
    kinds = {report_id: kind for _, report_id, kind in ledger.entries.values()}
    wrong = [f"report {report_id} is not stored" for report_id in kinds.keys() - stored.keys()]
    wrong += [f"report {report_id} is stored and not in the ledger" for report_id in stored.keys() - kinds.keys()]
    for report_id in kinds.keys() & stored.keys():
        status, n_processed = stored[report_id]
        most = 1 + n_files if kinds[report_id] == "demo" else 1
        if status not in FINAL:
            wrong.append(f"report {report_id} is {status}")
        if not 1 <= n_processed <= most:
            wrong.append(f"report {report_id} ({kinds[report_id]}) was finished {n_processed} times")
        if kinds[report_id] == "demo" and ledger.has_demo() and status != "symbolicated":
            wrong.append(f"report {report_id} is {status}, and its dSYM is there")
    n_counted = recount.number(server, "SELECT coalesce(sum(n_reports), 0) FROM issues")
    if n_counted != len(kinds):
        wrong.append(f"issues count {n_counted} reports of {len(kinds)}")
    if len(kinds) != len(ledger.entries):
        wrong.append(f"{len(ledger.entries)} bodies have {len(kinds)} ids")
    return wrong


def hashes_of_folder(server, _):
    """{name: SHA-256 of the content} of all blobs in the server's folder; a blob's name is that hash."""
    found = {}
    for folder, _, names in os.walk(os.path.join(server.data, "blobs")):
        for name in names:
            # Files under tmp are deletions that were interrupted.
            if os.path.basename(folder) == "tmp":
                continue
            with open(os.path.join(folder, name), "rb") as f:
                found[name] = hashlib.sha256(f.read()).hexdigest()
    return found


def prove_symbols(server, ledger, hashes):
    wrong = []
    for uuid in ledger.symbols:
        status, answer = server.request("GET", f"/api/v1/symbols/{uuid}")
        if status != 200 or answer["symbols"][0]["state"] != "ready":
            wrong.append(f"symbol file {uuid}: {status} {answer}")
    named = {name for row in recount.rows(server, "SELECT file_sha256, index_sha256 FROM symbol_files") for name in row
             if name}
    found = hashes(server, named)
    wrong += [f"blob {name} has another checksum" for name, digest in found.items() if digest != name]
    return wrong + [f"blob {name} is missing" for name in named - found.keys()]


def prove_database(server):
    """The engine's own checks; the server has ended, where that matters."""
    if not server.database:
        with sqlite3.connect(os.path.join(server.data, "framezero.db"), timeout=30) as db:
            said = [row[0] for row in db.execute("PRAGMA integrity_check")]
            broken = db.execute("PRAGMA foreign_key_check").fetchall()
        return [f"integrity_check: {line}" for line in said if line != "ok"] + [f"foreign_key_check: {b}" for b in broken]
    query = ("CREATE EXTENSION IF NOT EXISTS amcheck; SELECT count(bt_index_check(c.oid, true)) FROM pg_class c JOIN pg_am a "
             "ON a.oid = c.relam JOIN pg_namespace n ON n.oid = c.relnamespace WHERE a.amname = 'btree' AND c.relkind = 'i' "
             "AND n.nspname = 'public'")
    done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", server.database, "-c", query], capture_output=True,
                          text=True, timeout=300, check=False)
    return [] if done.returncode == 0 else [f"amcheck: {done.stderr}"]


def prove_rest(server, ledger, hashes=hashes_of_folder):
    """What is wrong with a server that rests and goes on."""
    wrong = []
    quarantined = recount.number(server, "SELECT count(*) FROM jobs WHERE state = 2")
    wrong += [f"{quarantined} jobs are in quarantine"] if quarantined else []
    wrong += some(ledger.wrong)
    for part in (prove_bytes(server, ledger), prove_rows(server, ledger), prove_symbols(server, ledger, hashes),
                 recount.wrong(server)):
        wrong += some(part)
    return wrong


def prove(server, ledger):
    left = wait_idle(server)
    if left:  # what follows looks at a server that rests
        return [f"{left} jobs are not done"]
    wrong = prove_rest(server, ledger)
    code = server.terminate()
    if code:
        wrong.append(f"serve ended with {code} on SIGTERM")
    return wrong + prove_database(server)
