"""How long after a fault each part of the cluster does its work again.

    times = Recovery(service, nodes, ledger, numbers).measure(ended)

Through each node one report is sent until it is acknowledged, and looked at until it is finished; for faults of the object store,
symbol files are sent through the balancer as well. All are in the ledger, as those of the clients.
"""

import http.client
import json
import os
import random
import threading
import time

from ledger import Sender, make_body
from symbol_files import macho_uuid, make_dsym, sample_macho, zip_folder

LIMIT_S = 100
RETRY_S = 0.01
TIMEOUT_S = 2
FINISHED = {"symbolicated", "partially_symbolicated", "unsymbolicated"}


class Probe(threading.Thread):
    """One report to one node, past the balancer."""

    def __init__(self, service, node, ledger, seed, number):
        super().__init__(daemon=True)
        self.service, self.node, self.ledger, self.seed, self.number = service, node, ledger, seed, number
        self.acknowledged = self.finished = None
        self.last = "nothing was sent"

    def request(self, method, path, body, token):
        connection = http.client.HTTPConnection(self.node.machine.address, 8480, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error).encode()
        finally:
            connection.close()

    def repeat(self, method, path, body, token, is_done):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            self.began = time.monotonic()
            status, raw = self.request(method, path, body, token)
            self.last = f"{status} {raw[:200]}"
            if status in (200, 202):
                answer = json.loads(raw)
                if is_done(answer):
                    return answer
            time.sleep(RETRY_S)
        return None

    def run(self):
        kind, body = make_body(self.seed, self.number)
        answer = self.repeat("POST", "/api/v1/reports", body, self.service.ingest_key, lambda _: True)
        if not answer:
            return
        self.acknowledged = time.monotonic()
        self.ledger.acknowledge(self.number, body, answer["id"], kind, self.began)
        if self.repeat("GET", f"/api/v1/reports/{answer['id']}", None, self.service.admin_token, lambda a: a["status"] in FINISHED):
            self.finished = time.monotonic()


class SymbolProbe(Sender):
    """A symbol file that no store has yet, through the balancer."""

    def __init__(self, service, ledger, seed, number):
        super().__init__(service, threading.Event())
        self.ledger, self.rng, self.finished = ledger, random.Random(f"{seed} {number}"), None

    def work(self):
        macho, uuid = bytearray(sample_macho()), self.rng.randbytes(16)
        at = macho_uuid(macho)
        macho[at:at + 16] = uuid
        path = make_dsym(os.path.join(self.server.folder, "symbols", uuid.hex()), "Demo", bytes(macho))
        self.post_until("/api/v1/symbols?name=Demo.dSYM.zip", zip_folder(path), self.server.admin_token, (201,))
        self.finished = time.monotonic()
        self.ledger.symbols.append(uuid.hex())


def measure(service, nodes, ledger, seed, number, ended, stores):
    """{what: seconds after `ended`}; the numbers of the reports are number, number + 1 and so on."""
    probes = [Probe(service, node, ledger, seed, number + i) for i, node in enumerate(nodes)]
    symbols = [SymbolProbe(service, ledger, seed, number)] if stores else []
    for probe in probes + symbols:
        probe.start()
    for probe in probes + symbols:
        probe.join(3 * LIMIT_S)
    for probe in probes:
        if not probe.finished:
            raise RuntimeError(f"{probe.node.machine.name} does not recover within {LIMIT_S} s: {probe.last}")
    for probe in symbols:
        if not probe.finished:
            raise RuntimeError(f"no symbol file is taken: {probe.error}")
    times = {"acknowledged": max(probe.acknowledged for probe in probes) - ended,
             "finished": max(probe.finished for probe in probes) - ended}
    if symbols:
        times["symbol file"] = symbols[0].finished - ended
    return times
