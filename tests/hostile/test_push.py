#!/usr/bin/env python3
"""Damaged dSYMs, Mach-Os and archives through a real server: no process of it dies, every upload gets a verdict.

usage: test_push.py --framezero BINARY [--count N] [--alone N] [--seconds N] [--seed N] [--data FOLDER] [FOLDER or FILE...]

N files (default 2,000) have one field of a header changed, are cut at one, or have bytes changed. They are sent over four
connections that are kept alive, 100 in a zip, or (--alone, default a tenth) each as a request of its own, half of these as
damaged archives. Afterwards no process but the children of workers may have ended, no child of a worker have died, no job be
in quarantine, and the sample must be taken. No child may have taken more than 10 s of CPU or 512 MB, so no verdict has:
a child gives that of one file or those of a zip. --seconds ends the sending earlier. --data names a folder that is fast
(/dev/shm) for large counts.
"""

import argparse
import collections
import http.client
import io
import os
import queue
import random
import re
import struct
import sys
import tempfile
import threading
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
from fields import mutants  # noqa: E402
from framezero import Server, is_alive  # noqa: E402
from symbol_files import macho_uuid, sample, sample_macho  # noqa: E402
from test_fields import files  # noqa: E402

SENDERS, IN_ONE, SEED_BYTES = 4, 100, 70000
CPU_MS, MEMORY_KB = 10000, 512 << 10
ANSWERS = {201, 202, 400, 413, 415, 422}


class Maker:
    """Endless mutants of some seeds."""

    def __init__(self, paths, rng):
        self.rng = rng
        self.seeds = [data for _, data in [("Demo", sample_macho())] + files(paths) if len(data) <= SEED_BYTES]
        self.mutants = {}

    def file(self):
        rng = self.rng
        i = rng.randrange(len(self.seeds))
        out = bytearray(self.seeds[i])
        try:  # a UUID of its own, as builds have
            at = macho_uuid(out)
            out[at:at + 16] = rng.randbytes(16)
        except (ValueError, struct.error):
            pass
        if rng.random() < 0.2:
            for _ in range(int(2 ** rng.uniform(0, 7))):
                out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
            return bytes(out)
        if i not in self.mutants:
            self.mutants[i] = list(mutants(self.seeds[i]))
        _, length, changes = rng.choice(self.mutants[i])
        for offset, width, value in changes:
            out[offset:offset + width] = value.to_bytes(width, "little")
        return bytes(out[:length])

    def zip(self, n):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", self.rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            for i in range(n):
                archive.writestr(f"{i}.dSYM/Contents/Resources/DWARF/f{i}", self.file())
        return out.getvalue()

    def damaged_zip(self):
        """Changed where an archive has its sizes and offsets: at its start and its end."""
        out, rng = bytearray(self.zip(2)), self.rng
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.choice([rng.randrange(64), len(out) - 1 - rng.randrange(250), rng.randrange(len(out))])
            out[max(at, 0)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        return bytes(out if rng.random() < 0.9 else out[:rng.randrange(len(out))])


class Push:
    def __init__(self, server):
        self.server, self.todo, self.answers, self.wrong = server, queue.Queue(16), collections.Counter(), []

    def send(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        for body in iter(self.todo.get, None):
            for attempt in range(2):
                try:
                    connection.request("POST", "/api/v1/symbols?name=x", body=body,
                                       headers={"Authorization": f"Bearer {self.server.admin_token}"})
                    response = connection.getresponse()
                    response.read()
                    self.answers[response.status] += 1
                    break
                except (OSError, http.client.HTTPException) as error:
                    connection.close()  # it may have been idle for too long
                    if attempt:
                        self.wrong.append(f"no answer: {error!r}")

    def run(self, bodies, end):
        """Returns how many were sent before the end."""
        senders = [threading.Thread(target=self.send, daemon=True) for _ in range(SENDERS)]
        for sender in senders:
            sender.start()
        n = 0
        for body in bodies:
            self.todo.put(body)
            n += 1
            if time.monotonic() > end:
                break
        for _ in senders:
            self.todo.put(None)
        for sender in senders:
            sender.join()
        return n


def metrics(server):
    _, text = server.request("GET", "/metrics", token=None)
    return collections.defaultdict(float, {n: float(v) for n, v in re.findall(r"^framezero_(\S+) (\S+)$", text.decode(), re.M)})


def used(server):
    """[(ms of CPU, KB)] of the children that read uploads, from the log."""
    found = re.findall(r"kind=upload .* cpu_ms=(\d+) memory_kb=(\d+)$", server.log(), re.M)
    return [(int(cpu), int(memory)) for cpu, memory in found]


def drained(server, deadline_s=600):
    end = time.monotonic() + deadline_s
    while True:
        found = metrics(server)
        # The gauges lag by two seconds: an upload that was not waited for is in them by then.
        if found['jobs{state="waiting"}'] + found['jobs{state="running"}'] == 0 or time.monotonic() > end:
            return found
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--alone", type=int, default=-1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default=None)
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    alone = options.alone if options.alone >= 0 else options.count // 10
    maker = Maker(options.paths, random.Random(options.seed))
    data = tempfile.mkdtemp(prefix="framezero-push-", dir=options.data) if options.data else None
    with Server(options.framezero, workers=2, data=data) as server:
        server.own_data = True
        main_pids = [server.process.pid, *server.pids_of("serve"), *server.pids_of("worker")]
        push, began = Push(server), time.monotonic()
        end = began + options.seconds
        # At most half of the time: each takes a process of its own.
        alone = push.run((maker.file() if i % 2 else maker.damaged_zip() for i in range(alone)), began + options.seconds / 2)
        alone_s = time.monotonic() - began
        in_zips = options.count - alone
        in_zips = min(in_zips, IN_ONE * push.run((maker.zip(min(IN_ONE, in_zips - i)) for i in range(0, in_zips, IN_ONE)), end))
        took_s = time.monotonic() - began
        after = drained(server)
        wrong = push.wrong
        wrong += [f"process {pid} ended" for pid in main_pids if not is_alive(pid)]
        wrong += [f"answered {status} {n}x" for status, n in push.answers.items() if status not in ANSWERS]
        for name in ("child_deaths_total", 'jobs{state="quarantined"}', 'jobs_total{kind="upload",result="lost"}'):
            if after[name]:
                wrong.append(f"{name}: {after[name]:.0f}")
        verdicts = used(server)
        if len(verdicts) < push.answers[201] + push.answers[202] or min(memory for _, memory in verdicts) < 1000:
            wrong.append(f"{len(verdicts)} uploads in the log, or one without its figures")
        cpu_ms, memory_kb = (max((one[i] for one in verdicts), default=0) for i in range(2))
        if cpu_ms > CPU_MS or memory_kb > MEMORY_KB:
            wrong.append(f"a verdict took {cpu_ms} ms of CPU or {memory_kb} KB")
        status, answer = server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        if status != 201 or answer["files"][0]["verdict"]["code"] != "ok":
            wrong.append(f"the sample afterwards: {status} {answer}")
        if server.terminate() != 0:
            wrong.append("serve did not end well")
        print(f"{alone} files as requests of their own: {alone / max(alone_s, 1e-3):.0f}/s; {alone + in_zips} in all: "
              f"{(alone + in_zips) / took_s:.0f}/s; answers {dict(sorted(push.answers.items()))}; "
              f"symbol files {after['symbol_files']:.0f}; {len(verdicts)} children, at most {cpu_ms} ms of CPU and {memory_kb >> 10} MB each; "
              f"wrong: {len(wrong)}")
        for text in wrong[:20]:
            print(f"  WRONG {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
