#!/usr/bin/env python3
"""Taking reports in under load: how many, how long, and what it costs, with ratios to the least that does the same.

    bench/ingest.py [--framezero BIN] [--peer BIN] [--work DIR] [--database URL] [--clients N] [--seconds S] [--rounds N]
                    [--only acks,overload,latency,work,scrub] [--soak MINUTES] [--json FILE]

acks      Reports of 17 KB are acknowledged when they are on disk. The peers (support/acks_peer.c) are libmicrohttpd and one
          table, without tokens, checks and jobs: "loop" commits each report, "grouped" all that wait, as framezero does.
          All write to the same disk and take turns; no workers, so that only taking reports in is measured. Another build of
          framezero can take part with --peer; --database postgresql://... puts framezero and the peers on PostgreSQL.
overload  Five times as many requests as were acknowledged, of 3,900 clients, whatever the server does: goodput, refusals, and
          the memory of all processes (PSS, what several share counts once). A refusal's time begins when its request is sent; how
          late the client was with that, and for how long it did not look at its sockets, is printed, too.
latency   200 reports a second with a warm index, from the POST to the symbolicated report (?wait).
scrub     What scrubbing takes of a child's work (support/scrub_share.c), and of the CPU time of all processes of a server that
          gets the same reports, for the reports of tests/golden, by format.
work      KSCrash reports of 120 KB, per second of CPU of the worker and its children: of two clients that wait for each
          result, and of 16 and 64, so that the queue is never empty.
soak      1,000 reports a second for so many minutes: memory and descriptors of all processes, once a minute.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from framezero import Server, free_port  # noqa: E402

BODY_BYTES = 17 * 1024
SCRUB_S = 1.5  # of each format
OVERLOAD_CLIENTS = 3900  # the server takes 4,096 connections


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
    def __init__(self, binary, work, database=None, workers=0):
        self.name = binary
        data = tempfile.mkdtemp(prefix="acks-", dir=work)
        # All requests come from one address and one key.
        limits = [word for name in ("events_per_minute", "events_per_minute_address", "reports_per_day", "report_bytes_per_day")
                  for word in ("--limit", f"{name}=0")]
        self.server = Server(binary, workers=(os.cpu_count() or 1) if workers is None else workers, data=data,
                             database=database, args=limits)
        self.server.start()
        self.port, self.token, self.target = self.server.port, self.server.ingest_key, "/api/v1/reports"

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.server.data, ignore_errors=True)


class Peer:
    def __init__(self, binary, work, name, mode, database):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="acks-peer-", dir=work)
        self.port, self.token, self.target = free_port(), "none", "/"
        self.process = subprocess.Popen([binary, str(self.port), database or os.path.join(self.folder, "peer.db"), mode],
                                        stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            sys.exit("ingest: the peer does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_load(tools, server, body, clients, seconds, rate=0, query=""):
    done = subprocess.run([str(tools / "bench_acks_load"), str(server.port), server.target + query, server.token, body,
                           str(clients), str(seconds), str(rate)], capture_output=True, check=True)
    return json.loads(done.stdout)


def measure(tools, server, body, clients, seconds):
    """Acknowledgements per second and the median latency of one round."""
    made = run_load(tools, server, body, clients, seconds)
    if made["others"] or made["refused"]:
        sys.exit(f"ingest: {server.name} gave {made['others'] + made['refused']} other answers than 202")
    return made["acks"] / made["seconds"], made["p50_ms"]


def footprint(server):
    """PSS in MB and descriptors of all processes of a server."""
    kb = files = 0
    for pid in server.descendants():
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
            files += len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            continue  # it has ended
        kb += int(re.search(r"^Pss:\s+(\d+)", text, re.M).group(1))
    return kb / 1024, files


class Watch(threading.Thread):
    """The largest footprint while something runs."""

    def __init__(self, server):
        super().__init__()
        self.server, self.ended, self.mb = server, threading.Event(), 0

    def run(self):
        while not self.ended.wait(0.5):
            self.mb = max(self.mb, footprint(self.server)[0])

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def acks(args, tools, body):
    servers = [Framezero(binary, args.work, args.database) for binary in [args.framezero, args.peer] if binary]
    servers += [Peer(str(tools / "bench_acks_peer"), args.work, name, mode, args.database)
                for name, mode in (("loop", "each"), ("grouped", "all"))]
    rates = {server.name: [] for server in servers}
    latencies = {server.name: [] for server in servers}
    try:
        for _ in range(args.rounds):
            for server in servers:
                rate, latency = measure(tools, server, body, args.clients, args.seconds)
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
    return {"acks_per_s": rates, "p50_ms": latencies}


def overload(args, tools, body):
    server = Framezero(args.framezero, args.work, args.database, workers=None)
    try:
        found = []
        for _ in range(args.rounds):
            time.sleep(2)  # what waited at the end of the round before is stored first
            peak, _ = measure(tools, server, body, args.clients, args.seconds)
            with Watch(server.server) as watch:
                made = run_load(tools, server, body, OVERLOAD_CLIENTS, 2 * args.seconds, rate=5 * peak)
            found.append({**made, "peak": peak, "goodput": made["acks"] / made["seconds"] / peak, "mb": watch.mb})
        goodput = [one["goodput"] for one in found]
        print(f"overload   {statistics.median(goodput):.2f} x peak ({min(goodput):.2f} to {max(goodput):.2f}), "
              f"{sum(one['refused'] for one in found)} refusals, p99 {max(one['refusal_p99_ms'] for one in found):.0f} ms, the "
              f"slowest {max(one['refusal_max_ms'] for one in found):.0f} ms (the client is late by {max(one['late_p99_ms'] for one in found):.0f} "
              f"ms, p99, and pauses for at most {max(one['stall_max_ms'] for one in found):.0f} ms); acknowledgements p99 "
              f"{max(one['p99_ms'] for one in found):.0f} ms; {sum(one['dropped'] for one in found)} never sent, "
              f"{sum(one['others'] for one in found)} others; {max(one['mb'] for one in found):.0f} MB of all processes")
        return found
    finally:
        server.stop()


def give_symbols(server):
    sample = TOP / "docs" / "sample"
    status, answer = server.server.request("POST", "/api/v1/symbols?name=Demo.dSYM.zip", timeout=120,
                                           body=(sample / "Demo.dSYM.zip").read_bytes())
    if status != 201:
        sys.exit(f"ingest: the dSYM was answered with {status}: {answer}")


def sample_report(**more):
    made = json.loads((TOP / "docs" / "sample" / "report.json").read_text(encoding="utf-8"))
    made.pop("id", None)
    return {**made, "tags": {"number": "0" * 16}, **more}


def latency(args, tools, folder):
    path = os.path.join(folder, "sample.json")
    pathlib.Path(path).write_text(json.dumps(sample_report()), encoding="utf-8")
    server = Framezero(args.framezero, args.work, args.database, workers=None)
    try:
        give_symbols(server)
        run_load(tools, server, path, 8, 1, rate=50, query="?wait=10")
        made = run_load(tools, server, path, 64, max(args.seconds, 10), rate=200, query="?wait=10")
        rate = made["acks"] / made["seconds"]
        print(f"latency    {rate:.0f} reports/s from POST to symbolicated: p50 {made['p50_ms']:.1f} ms, p99 {made['p99_ms']:.1f} ms; "
              f"{made['refused'] + made['others']} others")
        return made
    finally:
        server.stop()


def kscrash_report():
    """A report of 120 KB in KSCrash's form, of the sample's program."""
    sample = sample_report()
    image = sample["images"][0]
    base, size = int(str(image["address"]), 0), int(image.get("size", 1 << 14))
    chance = random.Random(7)
    threads = []
    made = {"report": {"id": "00000000-0000-4000-8000-000000000000", "version": "3.3.0", "type": "standard"},
            "system": {"CFBundleIdentifier": "com.example.demo", "CFBundleShortVersionString": "1.0", "system_name": "iOS",
                       "system_version": "18.1", "cpu_arch": sample.get("arch", "arm64")},
            "user": {"number": "0" * 16},
            "binary_images": [{"uuid": image["uuid"], "name": image.get("path", image["name"]), "image_addr": base,
                               "image_size": size, "image_vmaddr": 0x100000000}],
            "crash": {"error": {"type": "signal", "signal": {"signal": 11, "name": "SIGSEGV", "code": 0}, "address": 16},
                      "threads": threads}}
    while len(json.dumps(made)) < 120 * 1000:
        threads.append({"index": len(threads), "crashed": not threads, "current_thread": not threads,
                        "backtrace": {"skipped": 0, "contents": [
                            {"instruction_addr": base + chance.randrange(size), "object_addr": base, "object_name": image["name"]}
                            for _ in range(30)]}})
    return made


def cpu_s(pids):
    ticks = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        ticks += sum(int(field) for field in text.rpartition(")")[2].split()[11:15])  # those of ended children, too
    return ticks / os.sysconf("SC_CLK_TCK")


def work(args, tools, folder):
    path = os.path.join(folder, "kscrash.json")
    pathlib.Path(path).write_text(json.dumps(kscrash_report()), encoding="utf-8")
    server = Framezero(args.framezero, args.work, args.database, workers=1)
    try:
        give_symbols(server)

        def pids():
            workers = server.server.pids_of("worker")
            return workers + [pid for worker in workers for pid in server.server.descendants(worker)]
        run_load(tools, server, path, 1, 2, query="?wait=10")
        found = {}
        for clients, what in ((2, "one after the other"), (16, "from a queue"), (64, "from a long queue")):
            began = cpu_s(pids())
            made = run_load(tools, server, path, clients, max(args.seconds, 10), query="?wait=20")
            found[what] = made["acks"] / (cpu_s(pids()) - began)
            print(f"work       {found[what]:.0f} KSCrash reports of {os.path.getsize(path) // 1000} KB a second and core, {what}")
        return {"per_s_and_core": found}
    finally:
        server.stop()


def forms_of(report_id):
    """How bodies write an id of 32 hexadecimal digits; a minidump has a GUID of Windows."""
    dashed = "-".join((report_id[:8], report_id[8:12], report_id[12:16], report_id[16:20], report_id[20:]))
    return [form.encode() for form in (report_id, report_id.upper(), dashed, dashed.upper())] + [
        bytes.fromhex(report_id), uuid.UUID(report_id).bytes_le]


def with_id(body, before):
    """The body with a new id in the place of its own."""
    for old, new in zip(before, forms_of(os.urandom(16).hex())):
        body = body.replace(old, new)
    return body


def space():
    return "".join(random.choice(" \t") for _ in range(64)).encode()


def in_last_part(body):
    at = body.rfind(b"\r\n--")
    return body[:at] + space() + body[at:]


# What a body without an id becomes another one by: space at its end, or at that of a form's last part; an unknown field of protobuf
# (number 1000, 16 bytes).
CHANGES = (lambda body: body + space(), in_last_part, lambda body: body + b"\xc2\x3e\x10" + os.urandom(16))


def maker(server, body):
    """A function that makes the report again with another identity; None: that cannot be done, or it is not one report."""
    def send(data):
        status, answer = server.server.request("POST", "/api/v1/reports?wait=10", body=data)
        return answer.get("id") if status == 200 else None
    known = send(body)
    before = forms_of(known) if known else []
    makers = [lambda: with_id(body, before)] if any(form in body for form in before) else []
    makers += [lambda change=change: change(body) for change in CHANGES] if known else []
    for make in makers:
        found = send(make())
        if found and found != known:
            return make
    return None


def whole_us(server, make):
    """CPU time of all processes for one report."""
    n, began, ends = 0, cpu_s(server.server.descendants()), time.monotonic() + SCRUB_S
    while n == 0 or time.monotonic() < ends:
        n += server.server.request("POST", "/api/v1/reports?wait=10", body=make())[0] == 200
    return (cpu_s(server.server.descendants()) - began) / n * 1e6


def scrub(args, tools, folder):
    """Of each format in tests/golden, the sum of its reports, and the sample's KSCrash report."""
    path = pathlib.Path(folder) / "kscrash.json"
    path.write_text(json.dumps(kscrash_report()), encoding="utf-8")
    server = Framezero(args.framezero, args.work, args.database, workers=1)
    found = {}
    try:
        for name in sorted(one.name for one in (TOP / "tests" / "golden").iterdir() if one.is_dir()) + ["120 KB of KSCrash"]:
            files = [str(path)] if " " in name else sorted(str(one) for one in (TOP / "tests" / "golden" / name).glob("*/input*"))
            done = subprocess.run([str(tools / "bench_scrub_share"), *files], capture_output=True, text=True, check=True)
            rows = [line.split(" ", 2) for line in done.stdout.splitlines()]
            if not rows:
                continue
            own_us = sum(float(own) for _, own, _ in rows) / len(rows)
            # The one for which scrubbing takes longest, sent to a server as well, of those that are one report.
            for _, most, which in sorted(rows, key=lambda row: -float(row[1])):
                make = maker(server, pathlib.Path(which).read_bytes())
                if make:
                    break
            else:
                sys.exit(f"ingest: no report of {name} can be sent twice")
            whole = whole_us(server, make)
            found[name] = {"us": own_us, "sent_us": float(most), "whole_us": whole,
                           "share": own_us * len(rows) / sum(float(all_of) for all_of, _, _ in rows)}
            print(f"scrub      {name:18} {own_us:6.1f} us a report, {100 * found[name]['share']:5.2f} % of the child's work on "
                  f"{len(rows)}; {float(most):6.1f} us of one, {100 * float(most) / whole:5.2f} % of {whole / 1000:.1f} ms in all processes")
    finally:
        server.stop()
    return found


def soak(args, tools, body):
    server = Framezero(args.framezero, args.work, args.database, workers=None)
    try:
        seen = []
        for minute in range(args.soak + 1):
            seen.append(footprint(server.server))
            print(f"soak       minute {minute}: {seen[-1][0]:.0f} MB, {seen[-1][1]} descriptors", flush=True)
            if minute < args.soak:
                run_load(tools, server, body, 64, 60, rate=1000)
        return {"mb_and_descriptors": seen}
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--peer", help="another build of framezero")
    parser.add_argument("--work", default=None, help="a folder on the disk to be used")
    parser.add_argument("--database", help="of framezero, instead of SQLite in --work; it must be empty")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="acks,overload,latency,work,scrub", help="parts, with commas between them")
    parser.add_argument("--soak", type=int, default=0, help="minutes")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    if args.peer and args.database:
        parser.error("--peer: the two builds would share the database; compare them on SQLite, or run each on an empty one")
    if args.work:
        os.makedirs(args.work, exist_ok=True)
    tools = pathlib.Path(args.framezero).resolve().parent
    found = {}
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        body = os.path.join(folder, "report.json")
        pathlib.Path(body).write_bytes(make_body())
        parts = {"acks": (acks, body), "overload": (overload, body), "latency": (latency, folder), "work": (work, folder),
                 "scrub": (scrub, folder)}
        for name in [] if args.soak else args.only.split(","):
            part, where = parts[name]
            found[name] = part(args, tools, where)
        if args.soak:
            found["soak"] = soak(args, tools, body)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
