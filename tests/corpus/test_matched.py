#!/usr/bin/env python3
"""Every matched set of the corpus through `framezero symbolicate` and, with --server, through a running server.

usage: test_matched.py --framezero BINARY [--server] [CORPUS]

Exit codes: 0 all frames are as expected, 1 something differs, 77 the corpus is not there (CTest shows it as skipped).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
sys.path.insert(0, os.path.dirname(__file__))
import matched_sets  # noqa: E402

SKIPPED = 77


def through_command(binary, case):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(case.report, f)
        f.flush()
        command = [binary, "symbolicate", f.name, "--json"]
        for path in case.debug_files:
            command += ["--dsym", path]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')[:500]}")
    return json.loads(done.stdout)


class ThroughServer:
    def __init__(self, binary):
        from framezero import Server  # the e2e helper

        self.server = Server(binary)
        self.server.start()
        self.sent = set()

    def upload(self, case):
        for path in case.debug_files:
            if path in self.sent:
                continue
            with open(path, "rb") as f:
                status, answer = self.server.request("POST", "/api/v1/symbols", body=f.read())
            if status != 201:
                raise RuntimeError(f"upload of {path}: {status} {answer}")
            self.sent.add(path)

    def __call__(self, case):
        self.upload(case)
        status, answer = self.server.request(
            "POST", "/api/v1/reports?wait=30", body=json.dumps(case.report).encode()
        )
        if status != 200:
            raise RuntimeError(f"report: {status} {answer}")
        return answer

    def stop(self):
        self.server.stop()


def run(through, cases):
    n_cases = n_frames = n_named = n_wrong = 0
    for case in cases:
        n_cases += 1
        n_frames += len(case.wanted)
        n_named += sum(1 for w in case.wanted if w.symbols is not None)
        try:
            differences = matched_sets.compare(case, through(case))
        except Exception as error:  # one broken case must not hide the others
            differences = [str(error)]
        n_wrong += len(differences)
        for text in differences[:10]:
            print(f"{case.name}: {text}")
        if len(differences) > 10:
            print(f"{case.name}: and {len(differences) - 10} more")
    print(f"{n_cases} reports, {n_frames} frames, {n_named} with names expected, {n_wrong} differences")
    return n_wrong == 0 and n_cases > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("corpus", nargs="?", default=os.environ.get("FRAMEZERO_CORPUS", ""))
    options = parser.parse_args()
    corpus = options.corpus or os.path.join(
        os.path.dirname(__file__), "..", "..", "..", "shared", "corpus"
    )
    if not os.path.isdir(os.path.join(corpus, "matched")):
        print(f"skipped: no corpus at {corpus} (set FRAMEZERO_CORPUS)")
        return SKIPPED
    cases = [c for c in matched_sets.load_cases(corpus) if options.only in c.name]
    if options.server:
        through = ThroughServer(os.path.abspath(options.framezero))
        try:
            return 0 if run(through, cases) else 1
        finally:
            through.stop()
    binary = os.path.abspath(options.framezero)
    return 0 if run(lambda case: through_command(binary, case), cases) else 1


if __name__ == "__main__":
    sys.exit(main())
