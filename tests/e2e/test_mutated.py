#!/usr/bin/env python3
"""Damaged reports of every format through a real server: each is stored, or rejected with a reason; no process dies.

usage: test_mutated.py --framezero BINARY [--count N] [--seed N] [--only FORMAT] [--keep FOLDER] [CORPUS]

The seeds are the inputs under tests/golden and, if it is there, the reports of the corpus (FRAMEZERO_CORPUS). N of each
format are sent over several connections; when the queue is empty, every kept report must have ended in a state, a
failed one with its error, no child of a worker may have died, no job be quarantined, and the server must take a good
report. Prints one line per format. --keep writes bodies that broke a rule to a folder.
"""

import argparse
import collections
import glob
import http.client
import json
import os
import queue
import random
import re
import sys
import threading
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "corpus")]
from framezero import Server  # noqa: E402
from mutate import mutated  # noqa: E402
import test_formats  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden")
SEED_BYTES = 256 << 10  # larger ones take time and cover no more code
SENDERS = 4
ENDS = {"symbolicated", "partial", "unsymbolicated", "failed"}
GOOD = {"framezero": 1, "addresses": ["0x10"], "images": []}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def seeds_by_format(corpus):
    """{format: [body]}: the inputs under tests/golden/FORMAT, and the corpus's files of the same format."""
    seeds = collections.OrderedDict()
    for path in sorted(glob.glob(os.path.join(GOLDEN, "*", "*", "input.*"))):
        format = path.split(os.sep)[-3]
        seeds.setdefault({"native": "framezero"}.get(format, format), []).append(read(path))
    for row in test_formats.FORMATS if corpus else []:
        patterns = list(row.reads) + list(row.made) + list(row.matched)
        patterns += [f"derived/*/*{row.derived}"] if row.derived else []
        for pattern in patterns:
            for path in sorted(glob.glob(os.path.join(corpus, pattern), recursive=True)):
                if os.path.isfile(path) and os.path.getsize(path) <= SEED_BYTES:
                    seeds.setdefault(row.name, []).append(read(path))
    return seeds


class Seed:
    """A body and the id in it: a report is stored once per id, so each mutant gets an id of its own."""

    def __init__(self, server, body):
        self.body = body
        self.ids = []
        status, answer = server.request("POST", "/api/v1/reports", body=body)
        answers = answer.get("reports", [answer]) if status == 202 else []
        for text in [a["id"] for a in answers]:
            dashed = "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])
            spellings = [s.encode() for s in (text, text.upper(), dashed, dashed.upper())]
            spellings += [uuid.UUID(text).bytes, uuid.UUID(text).bytes_le]  # the latter in minidumps
            self.ids += [s for s in spellings if s in body]

    def with_new_ids(self, rng):
        body = self.body
        for old in self.ids:
            new = rng.randbytes(16)
            if len(old) > 16:
                new = re.sub(rb"[0-9a-fA-F]", lambda _: b"%x" % rng.randrange(16), old)
            body = body.replace(old, new)
        return body


class Row:
    def __init__(self):
        self.n_sent = self.n_kept = self.n_again = self.n_refused = self.n_failed = self.n_deaths = 0
        self.statuses = collections.Counter()
        self.wrong = []


class Run:
    def __init__(self, server, options):
        self.server = server
        self.options = options
        self.lock = threading.Lock()

    def wrong(self, row, body, text):
        with self.lock:
            row.wrong.append(text)
            if self.options.keep:
                os.makedirs(self.options.keep, exist_ok=True)
                with open(os.path.join(self.options.keep, f"{len(row.wrong):04}-{text[:40]}".replace("/", "_")), "wb") as f:
                    f.write(body)

    def judge(self, row, body, ids, status, answer):
        """What the response to one report must contain."""
        if status == 202:
            new = {a["id"] for a in answer.get("reports", [answer])}
            with self.lock:
                row.n_kept += 1
                row.n_again += not new - ids
                ids |= new
            if answer.get("refused") and not answer.get("refused_why"):
                self.wrong(row, body, "refused one of several without a reason")
            return
        error = answer.get("error", {}) if isinstance(answer, dict) else {}
        with self.lock:
            row.n_refused += 1
            row.statuses[status] += 1
        if not 400 <= status < 500 or not error.get("code") or not error.get("message"):
            self.wrong(row, body, f"answered {status}: {answer}")
        elif status == 400 and not error.get("detail"):
            self.wrong(row, body, f"refused without a place: {error}")

    def post(self, connection, body):
        headers = {"Authorization": f"Bearer {self.server.ingest_key}"}
        connection.request("POST", "/api/v1/reports", body=body, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def send_all(self, row, bodies, ids):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        for body in iter(bodies.get, None):
            for attempt in range(2):
                try:
                    self.judge(row, body, ids, *self.post(connection, body))
                    break
                except (OSError, ValueError, http.client.HTTPException) as error:
                    # The server may have closed a connection that was idle.
                    connection.close()
                    if attempt == 1:
                        self.wrong(row, body, f"no answer: {error!r}")
        connection.close()

    def metrics(self):
        _, text = self.server.request("GET", "/metrics", token=None)
        # A counter that was never incremented has no line.
        found = re.findall(r"^framezero_(\S+) (\S+)$", text.decode(), re.M)
        return collections.defaultdict(float, {n: float(v) for n, v in found})

    def drain(self):
        """Wait until no report is queued; the gauges of /metrics lag by seconds."""
        end = time.monotonic() + 1800
        time.sleep(2.5)  # the gauges lag by two seconds
        while True:
            status, answer = self.server.query("/api/v1/reports", status="queued", count="true", limit=1)
            if status == 200 and answer["count"] == 0:
                return self.metrics()
            if time.monotonic() > end:
                raise RuntimeError("the queue does not become empty")
            time.sleep(0.1)

    def look_at_ends(self, row):
        """Every stored report is finished, and each failed one says why."""
        cursor = {}
        while True:
            status, page = self.server.query("/api/v1/reports", limit=500, **cursor)
            if status != 200:
                raise RuntimeError(f"the list answers {status}: {page}")
            for summary in page["reports"]:
                if summary["status"] not in ENDS:
                    row.wrong.append(f"{summary['id']} ended as {summary['status']}")
                if summary["status"] == "failed":
                    row.n_failed += 1
                    _, report = self.server.request("GET", f"/api/v1/reports/{summary['id']}")
                    if not report.get("error"):
                        row.wrong.append(f"{summary['id']} failed without a reason: {report}")
                    elif self.options.verbose:
                        print(f"  failed: {report['error']}")
            if "next_cursor" not in page:
                return
            cursor = {"cursor": page["next_cursor"]}

    def run(self, bodies, rng):
        row, ids = Row(), set()
        seeds = [Seed(self.server, body) for body in bodies]
        before = self.drain()
        todo = queue.Queue(64)
        senders = [threading.Thread(target=self.send_all, args=(row, todo, ids)) for _ in range(SENDERS)]
        for sender in senders:
            sender.start()
        for _ in range(self.options.count):
            todo.put(mutated(rng, rng.choice(seeds).with_new_ids(rng), bodies))
            row.n_sent += 1
        for _ in senders:
            todo.put(None)
        for sender in senders:
            sender.join()
        after = self.drain()
        row.n_deaths = int(after.get("child_deaths_total", 0) - before.get("child_deaths_total", 0))
        if row.n_deaths:
            row.wrong.append(f"{row.n_deaths} children died")
        if after['jobs{state="quarantined"}'] or after.get('jobs_total{kind="report",result="lost"}'):
            row.wrong.append("jobs were quarantined or lost")
        self.look_at_ends(row)
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=json.dumps(GOOD))
        if status != 200 or answer.get("status") not in ENDS - {"failed"}:
            row.wrong.append(f"a good report afterwards: {status} {answer}")
        return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--count", type=int, default=200, help="mutants of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only this format")
    parser.add_argument("--keep", default="", help="folder for bodies that broke a rule")
    parser.add_argument("--verbose", action="store_true", help="print why reports failed")
    parser.add_argument("corpus", nargs="?", default=os.environ.get("FRAMEZERO_CORPUS", ""))
    options = parser.parse_args()
    seeds = seeds_by_format(options.corpus)
    n_wrong = 0
    print(f"{'format':<11}{'seeds':>6}{'sent':>8}{'kept':>8}{'again':>7}{'refused':>9}{'failed':>8}{'deaths':>8}  refused as")
    for format, bodies in seeds.items():
        if options.only and options.only != format:
            continue
        # One server for each format, so that its list has the reports of this format only.
        with Server(options.framezero, workers=2) as server:
            row = Run(server, options).run(bodies, random.Random(f"{options.seed} {format}"))
            code = server.terminate()
        if code != 0:
            row.wrong.append(f"serve ended with {code}")
        n_wrong += len(row.wrong)
        refused = ", ".join(f"{status}: {n}" for status, n in sorted(row.statuses.items()))
        print(f"{format:<11}{len(bodies):>6}{row.n_sent:>8}{row.n_kept:>8}{row.n_again:>7}{row.n_refused:>9}"
              f"{row.n_failed:>8}{row.n_deaths:>8}  {refused}", flush=True)
        for text, n in collections.Counter(row.wrong).most_common(10):
            print(f"  WRONG {n}x {text[:500]}")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
