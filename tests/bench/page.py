#!/usr/bin/env python3
"""How long the screens of the page take in a real browser, over a million reports.

    bench/page.py [--framezero BIN] [--work DIR] [--reports N] [--rounds N] [--only NAME] [--clients DIR] [--json FILE]

The database is that of `bench issues`; a few real reports are sent to it, one of them as large as a report may be, and merged into
the largest issue. support/page.mjs drives chromium, each round with a new profile. A screen is there when what one came for is drawn:
the time runs from the click to the end of the frame that shows it. API: while at least one request to the API was under way,
as the browser saw it; page: the rest. CPU: of the page's own thread, which is nearly the same when others use the machine, too. A goal
is for the median.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import issues

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "page"))
import clients  # noqa: E402
import sample_data  # noqa: E402

LARGEST = 1  # The issue with 46 % of all reports.
REAL, THREADS, FRAMES = 220, 512, 232
BIG = "b" * 32
GOALS = {"first visit": 500, "large issue": 200, "largest report": None}
OTHERS_MS = 150


def big_report():
    """119,000 frames in 512 threads, as many as 4 MB hold."""
    images = [int(sample_data.MAIN["address"], 16), *(at for _, _, at in sample_data.SYSTEM)]
    body = json.loads(sample_data.reports(1)[0])
    body.update(id=BIG, threads=[{"index": i, "crashed": i == 0, "frames": [{"address": hex(images[(i + n) % 5] + 64 * n)} for n in range(FRAMES)]}
                                 for i in range(THREADS)])
    return json.dumps(body, separators=(",", ":")).encode()


def ask(server, want, method, path, body=None):
    status, answer = server.request(method, path, body=body)
    if status != want:
        sys.exit(f"page: {method} {path}: {status} {answer}")
    return answer


def add_real_reports(server):
    """Once; they stay in the database."""
    if server.request("GET", f"/api/v1/reports/{BIG}")[0] == 200:
        return
    # More than those among which the page's server looks for the best one.
    bodies = [body for body in sample_data.reports(REAL * 5) if b"CartView.total" in body][:REAL]
    for body in (big_report(), *bodies):
        ask(server, 200, "POST", "/api/v1/reports?wait=60", body)
    first = ask(server, 200, "GET", f"/api/v1/reports/{json.loads(bodies[0])['id']}")["issue"]["number"]
    if first != LARGEST:
        ask(server, 200, "POST", f"/api/v1/issues/{first}/merge", json.dumps({"into": LARGEST}).encode())


def show(found):
    print(f"\n{'screen':28}{'n':>4}{'median':>9}{'p95':>9}{'API':>9}{'page':>9}{'CPU':>9}{'goal':>7}   ms")
    for name, of in found["screens"].items():
        goal = GOALS.get(name, OTHERS_MS)
        mark = "" if goal is None else "ok" if of["median"] <= goal else "SLOW"
        print(f"{name:28}{of['n']:4}{of['median']:9.0f}{of['p95']:9.0f}{of['api']:9.0f}{of['page']:9.0f}{of['cpu']:9.0f}{goal or '-':>7}   {mark}")
    for name, text in found["notes"].items():
        print(f"{name}: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--reports", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="screens, scroll, largest or heap")
    parser.add_argument("--clients", default=str(TOP / "build/clients"))
    parser.add_argument("--json")
    options = parser.parse_args()
    told = {"chromium": clients.find_browser(clients.BROWSERS), "rounds": options.rounds, "only": options.only, "largest": LARGEST, "big": BIG,
            "playwright": str(pathlib.Path(clients.npm(options.clients, clients.PLAYWRIGHT), "node_modules", "playwright-core", "index.mjs"))}
    if not shutil.which("node"):
        sys.exit("page: there is no node; install nodejs")
    server, database = issues.prepare(options.framezero, options.work, options.reports)
    server.start()
    try:
        issues.wait_sealed(database, server)
        add_real_reports(server)
        told |= {"url": server.url, "token": server.admin_token}
        done = subprocess.run(["node", str(TOP / "tests/bench/support/page.mjs"), json.dumps(told)], stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit("page: the browser's part failed")
    finally:
        server.stop()
    found = json.loads(done.stdout)
    show(found)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
