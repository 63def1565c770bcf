#!/usr/bin/env python3
"""How many reports per second are acknowledged when they are on disk, beside the least that does so.

    bench/acks.py [--framezero BIN] [--peer BIN] [--work DIR] [--clients N] [--seconds S] [--rounds N] [--json FILE]

Reports of 17 KB come over N connections that stay open. The peers (support/acks_peer.c) are libmicrohttpd and one SQLite
table, without tokens, checks and jobs: "loop" commits each report, "grouped" all that wait, as framezero does. All write
to the same disk and take turns; without workers, so that only taking reports in is measured. Another build of framezero
can take part with --peer.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from framezero import Server, free_port  # noqa: E402

BODY_BYTES = 17 * 1024


def make_body():
    """A native report of 17 KB: threads of frames that no two share, and a place for a number."""
    chance = random.Random(17)
    made = {"framezero": 1, "tags": {"number": "0" * 16}, "app": {"id": "com.example.demo", "version": "1.0"},
            "os": {"name": "iOS", "version": "18.1"}, "arch": "arm64", "crash": {"thread": 0, "signal": "SIGSEGV"},
            "images": [{"uuid": "4c4c442e-5555-3144-a138-7743844373d8", "name": "Demo", "address": "0x104000000",
                        "size": 16777216}],
            "threads": []}
    while len(json.dumps(made)) < BODY_BYTES:
        frames = [hex(0x104000000 + chance.randrange(1 << 24)) for _ in range(30)]
        made["threads"].append({"index": len(made["threads"]), "frames": frames})
    return json.dumps(made).encode()


class Framezero:
    def __init__(self, binary, work):
        self.name = binary
        data = tempfile.mkdtemp(prefix="acks-", dir=work)
        self.server = Server(binary, workers=0, data=data)
        self.server.start()
        self.port, self.token, self.target = self.server.port, self.server.ingest_key, "/api/v1/reports"

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.server.data, ignore_errors=True)


class Peer:
    def __init__(self, binary, work, name, mode):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="acks-peer-", dir=work)
        self.port, self.token, self.target = free_port(), "none", "/"
        self.process = subprocess.Popen([binary, str(self.port), os.path.join(self.folder, "peer.db"), mode],
                                        stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            sys.exit("acks: the peer does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def measure(tool, server, body, clients, seconds):
    """Acknowledgements per second and the median latency of one round."""
    done = subprocess.run([tool, str(server.port), server.target, server.token, body, str(clients), str(seconds)],
                          capture_output=True, check=True)
    made = json.loads(done.stdout)
    if made["others"]:
        sys.exit(f"acks: {server.name} gave {made['others']} other answers than 202")
    return made["acks"] / made["seconds"], made["p50_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--peer", help="another build of framezero")
    parser.add_argument("--work", default=None, help="a folder on the disk to be used")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    if args.work:
        os.makedirs(args.work, exist_ok=True)
    tools = pathlib.Path(args.framezero).resolve().parent
    with tempfile.NamedTemporaryFile(dir=args.work, suffix=".json") as body:
        body.write(make_body())
        body.flush()
        servers = [Framezero(binary, args.work) for binary in [args.framezero, args.peer] if binary]
        peer = str(tools / "bench_acks_peer")
        servers += [Peer(peer, args.work, "loop", "each"), Peer(peer, args.work, "grouped", "all")]
        rates = {server.name: [] for server in servers}
        latencies = {server.name: [] for server in servers}
        try:
            for _ in range(args.rounds):
                for server in servers:
                    rate, latency = measure(str(tools / "bench_acks_load"), server, body.name, args.clients, args.seconds)
                    rates[server.name].append(rate)
                    latencies[server.name].append(latency)
                    time.sleep(0.2)
        finally:
            for server in servers:
                server.stop()
    print(f"{args.clients} clients, {args.rounds} rounds of {args.seconds:g} s, reports of {BODY_BYTES // 1024} KB")
    for name, all_of in rates.items():
        compared = []
        for peer in ("loop", "grouped"):
            ratios = [own / other for own, other in zip(all_of, rates[peer])]
            compared.append(f"{statistics.median(ratios):5.2f} x {peer} ({min(ratios):.2f} to {max(ratios):.2f})")
        print(f"{statistics.median(all_of):8.0f} acks/s  {'  '.join(compared)}  p50 {statistics.median(latencies[name]):6.2f} ms  {name}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"acks_per_s": rates, "p50_ms": latencies}, indent=1) + "\n")


if __name__ == "__main__":
    main()
