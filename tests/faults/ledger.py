"""Clients that post reports and symbol files, and the ledger of what was acknowledged.

A report is in the ledger as soon as its answer was read: its number, the SHA-256 of its body and the id of the answer.
One without an answer is sent again, as an SDK would, until there is one.
"""

import gzip
import hashlib
import http.client
import json
import os
import random
import threading
import time

from symbol_files import macho_uuid, make_dsym, sample, sample_macho, zip_folder

DEMO_UUID = "4c4c442e55553144a1387743844373d8"  # of the sample's dSYM
LIMIT_S = 120
RETRY_S = 0.005


def make_body(seed, n):
    """The n-th report: small ones, ones of the sample, and large ones; always the same for one seed."""
    rng = random.Random(f"{seed} {n}")
    kind = rng.choice(("small", "small", "small", "demo", "demo", "large"))
    if kind == "demo":
        report = json.loads(sample("report.json"))
    else:
        addresses = [hex(0x100000000 + 16 * rng.randrange(40)), "0x100000100", hex(0x100000200 + rng.randrange(3))]
        report = {"framezero": 1, "addresses": addresses,
                  "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Other",
                              "address": "0x100000000", "size": 1048576}]}
    report["tags"] = {"number": str(n), "seed": str(seed)}
    report["user"] = {"id": f"user-{rng.randrange(50)}"}
    if kind == "large":
        report["custom"] = {"noise": rng.randbytes(rng.choice((2000, 20000, 60000))).hex()}
    return kind, json.dumps(report).encode()


class Ledger:
    def __init__(self, folder):
        self.lock = threading.Lock()
        self.entries = {}  # number: (SHA-256 of the body, id, kind)
        self.symbols = []  # UUIDs that were answered with 201
        self.answered = threading.Condition(self.lock)
        self.times = []  # (when its request began, when it was answered), in the order of the answers
        self.n_duplicates, self.n_repeated = 0, 0
        self.wrong = []
        self.file = open(os.path.join(folder, "ledger"), "w", encoding="ascii")  # pylint: disable=consider-using-with

    def acknowledge(self, n, body, report_id, kind, began):
        digest = hashlib.sha256(body).hexdigest()
        with self.answered:
            known = self.entries.get(n)
            if known and known[1] != report_id:
                self.wrong.append(f"report {n} is {known[1]}, and sent again {report_id}")
            self.n_duplicates += known is not None
            self.entries[n] = (digest, report_id, kind)
            self.times.append((began, time.monotonic()))
            self.file.write(f"{n} {digest} {report_id}\n")
            self.file.flush()
            self.answered.notify_all()

    def has_demo(self):
        return DEMO_UUID in self.symbols

    def wait_more(self, n, limit_s):
        """Until n more reports are acknowledged, or the time is over."""
        with self.answered:
            target = len(self.times) + n
            self.answered.wait_for(lambda: len(self.times) >= target, limit_s)

    def first_after(self, at, limit_s):
        """When the first report that was sent after that time was acknowledged."""
        seen = len(self.times)
        while seen > 0 and self.times[seen - 1][1] > at:
            seen -= 1
        end = time.monotonic() + limit_s
        with self.answered:
            while True:
                for began, answered in self.times[seen:]:
                    if began > at:
                        return answered
                if not self.answered.wait(end - time.monotonic()):
                    raise RuntimeError(f"no report was acknowledged within {limit_s} s after a kill")


class Sender(threading.Thread):
    """One connection that is kept as long as it lives."""

    def __init__(self, server, stop):
        super().__init__(daemon=True)
        self.server, self.stop, self.connection, self.error = server, stop, None, None
        self.began = 0.0  # of the last request

    def post(self, path, body, token, headers=None):
        """The answer of the server; None: there was none."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=15)
            self.connection.request("POST", path, body, {"Authorization": f"Bearer {token}", **(headers or {})})
            response = self.connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            return None, b""

    def post_until(self, path, body, token, wanted, headers=None, on_retry=None):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            self.began = time.monotonic()
            status, answer = self.post(path, body, token, headers)
            if status in wanted:
                return json.loads(answer)
            if status is not None and status not in (202, 429, 502, 503, 504):  # two of them are of a balancer
                raise RuntimeError(f"{path}: {status} {answer[:300]}")
            if on_retry:
                on_retry()
            time.sleep(RETRY_S)
        raise RuntimeError(f"{path}: not taken within {LIMIT_S} s")

    def run(self):
        try:
            self.work()
        except Exception as error:  # the main thread reports it
            self.error = error
        if self.connection:
            self.connection.close()


class Client(Sender):
    """Posts reports number first, first + step and so on, until it is told to stop; with a pause after each if there is one."""

    def __init__(self, server, stop, ledger, seed, first, step, pause_s=0):
        super().__init__(server, stop)
        self.pause_s = pause_s
        self.ledger, self.seed, self.n, self.step = ledger, seed, first, step
        self.rng = random.Random(f"client {seed} {first}")

    def send(self, n):
        kind, body = make_body(self.seed, n)
        sent, headers = body, {}
        if self.rng.random() < 0.3:
            sent, headers = gzip.compress(body, 1), {"Content-Encoding": "gzip"}

        def on_retry():
            self.ledger.n_repeated += 1

        answer = self.post_until("/api/v1/reports", sent, self.server.ingest_key, (200, 202), headers, on_retry)
        self.ledger.acknowledge(n, body, answer["id"], kind, self.began)

    def work(self):
        sent = []
        while not self.stop.is_set():
            self.send(self.n)
            sent.append(self.n)
            self.n += self.step
            if self.rng.random() < 0.05:
                self.send(self.rng.choice(sent))
            if self.pause_s:
                self.stop.wait(self.pause_s)


class Uploader(Sender):
    """After a while the dSYM of the sample's reports; before and after it others, each once."""

    def __init__(self, server, stop, ledger, seed, folder, demo_now, pause_s=0.15):
        super().__init__(server, stop)
        self.pause_s = pause_s
        self.ledger, self.folder, self.demo_now = ledger, folder, demo_now
        self.rng = random.Random(f"uploads {seed}")

    def upload(self, archive, uuid):
        self.post_until("/api/v1/symbols?name=Demo.dSYM.zip", archive, self.server.admin_token, (201,))
        self.ledger.symbols.append(uuid)

    def other(self):
        macho, uuid = bytearray(sample_macho()), self.rng.randbytes(16)
        at = macho_uuid(macho)
        macho[at:at + 16] = uuid
        path = make_dsym(os.path.join(self.folder, uuid.hex()), "Demo", bytes(macho))
        self.upload(zip_folder(path), uuid.hex())

    def work(self):
        demo_sent = False
        while not self.stop.is_set():
            if self.demo_now.is_set() and not demo_sent:
                self.upload(sample("Demo.dSYM.zip"), DEMO_UUID)
                demo_sent = True
            else:
                self.other()
            self.stop.wait(self.pause_s)  # the machine is to do something else, too
