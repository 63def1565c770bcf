#!/usr/bin/env python3
"""Does memory stay flat while the page shows what a busy team sends in an hour?

    bench/live.py [--framezero BIN] [--work DIR] [--updates N] [--rows N] [--minutes M] [--json FILE]

The list of issues is open in chromium, and hears of N updates (3,600: one a second for an hour) within M minutes: reports, and every
20th an upload of symbols. The page's own waits are shorter by as much; the server sends one message a second all the same. At the
start and after each quarter: the JavaScript heap after a collection of garbage, what of it is code (the browser compiles what is used often, again
and better, for as long as it runs), what else is on it (objects, texts, arrays), DOM nodes and listeners of the page, how often the list was loaded,
and memory and descriptors of the process that serves. With --rows N there are N more issues, and the list is scrolled until it has their rows: it
hears of everything, and stays as it is, since one is further down.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "e2e"), str(TOP / "tests" / "page")]
import clients  # noqa: E402
import sample_data  # noqa: E402
import symbol_files  # noqa: E402
from framezero import Server  # noqa: E402

PLAYWRIGHT = "playwright-core@1.65.1"
FIRST = 300  # reports before the page is opened, so that it has all issues


def issue(number):
    """A report that has an issue of its own."""
    return json.dumps({"framezero": 1, "app": sample_data.APP, "crash": {"signal": "SIGSEGV"}, "images": [sample_data.MAIN], "threads": [
        {"index": 0, "crashed": True, "frames": [sample_data.frame("Shop", f"Rows.f{number}()", "Rows.swift", 7)]}]}).encode()


def symbols(number):
    """A Mach-O file with a UUID of its own."""
    macho = bytearray(symbol_files.sample_macho())
    at = symbol_files.macho_uuid(macho)
    macho[at:at + 4] = number.to_bytes(4, "big")
    return bytes(macho)


def server_figures(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return {"rss": int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024, "fds": len(os.listdir(f"/proc/{pid}/fd"))}


class Page:
    def __init__(self, server, factor, rows):
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        if not chromium or not shutil.which("node"):
            sys.exit("live: needs node and chromium; ./dev bench live installs them")
        folder = clients.npm(str(TOP / "build" / "clients"), PLAYWRIGHT)
        settings = {"url": server.url, "token": server.admin_token, "chromium": chromium, "factor": factor, "rows": rows,
                    "playwright": os.path.join(folder, "node_modules", "playwright-core", "index.mjs")}
        self.process = subprocess.Popen(["node", str(TOP / "tests/bench/support/live.mjs"), json.dumps(settings)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("live: the page does not open")

    def measure(self):
        print("measure", file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def run(server, args):
    def send(path, body):
        status, answer = server.request("POST", path, body=body)
        if status not in (201, 202):
            sys.exit(f"live: {path} was answered with {status}: {answer}")
    bodies = sample_data.reports(FIRST + args.updates)
    for body in [*bodies[:FIRST], *map(issue, range(args.rows))]:
        send("/api/v1/reports", body)
    while server.request("GET", "/api/v1/reports?status=queued&limit=1")[1]["reports"]:
        time.sleep(0.2)
    page, rows = Page(server, 60 / args.minutes, args.rows), []
    time.sleep(3)

    def note(done):
        rows.append({"updates": done, **page.measure(), **server_figures(server.serving_pid)})
        print("| {updates:>7} | {heap_mb:7.2f} | {code_mb:7.2f} | {objects_mb:10.3f} | {nodes:>5.0f} | {listeners:>9.0f} | {loads:>5} | {rows:>4} | {rss_mb:7.1f} | {fds:>3} |".format(
            **{f"{name}_mb": rows[-1][name] / 1e6 for name in ("heap", "code", "objects", "rss")}, **rows[-1]), flush=True)
    print("| updates | heap MB | code MB | objects MB | nodes | listeners | loads | rows | RSS MB | fds |\n|--|--|--|--|--|--|--|--|--|--|", flush=True)
    note(0)
    began = time.monotonic()
    for done in range(1, args.updates + 1):
        if done % 20 == 0:
            send(f"/api/v1/symbols?name=part{done}", symbols(done))
        else:
            send("/api/v1/reports", bodies[FIRST + done - 1])
        time.sleep(max(0.0, began + done * args.minutes * 60 / args.updates - time.monotonic()))
        if done % (args.updates // 4) == 0:
            time.sleep(2)
            note(done)
    page.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", help="a folder for the server's files (default: a new one)")
    parser.add_argument("--updates", type=int, default=3600)
    parser.add_argument("--rows", type=int, default=0, help="more issues, whose rows are loaded (default: 0)")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    data = None
    if args.work:
        data = os.path.join(args.work, "live")
        shutil.rmtree(data, ignore_errors=True)
        os.makedirs(data)
    with Server(args.framezero, workers=1, data=data, args=("--limit", "events_per_minute=0")) as server:
        rows = run(server, args)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
