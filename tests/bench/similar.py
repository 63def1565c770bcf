#!/usr/bin/env python3
"""How long GET /issues/{number}/similar takes with many stacks.

    bench/similar.py [--framezero BIN] [--work DIR] [--stacks N] [--postgresql URL] [--rounds N]

A deterministic generator writes 3,000 issues and N distinct stacks (100,000) of about 45 functions directly into the tables: the
functions of an issue are a path through a tree of calls, below it are those of the system. The largest issue has a fifth of all
stacks. With --postgresql (the URL of an empty database) COPY fills that instead of a new file of SQLite. Prints the times of the
client in ms for the largest issues and for others, the first request of each and the ROUNDS after it.
"""
import argparse
import bisect
import hashlib
import pathlib
import random
import statistics
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests" / "bench" / "support"))
from issues import DAY, FUNCTION, Postgresql, Server, Sqlite, weighted  # noqa: E402
from stacks import encoded, frame  # noqa: E402

ISSUES, OWN, SYSTEM, DEPTH = 3000, 4000, 600, 14


def make_paths(rng):
    """The functions of each issue, innermost first: from a leaf of the tree of calls to its root."""
    parents = [max(0, (i - 1) // 3 - rng.randrange(3)) for i in range(OWN)]
    paths = []
    for leaf in rng.sample(range(OWN // 4, OWN), ISSUES):
        path = [leaf]
        while path[-1] and len(path) < DEPTH:
            path.append(parents[path[-1]])
        paths.append([f"-[Screen{i % 300} action{i}:]" for i in path])
    return paths


def stacks(rng, paths, n):
    """(issue from 1, functions)."""
    sizes = weighted(rng, ISSUES, 0.2)
    bottom = [f"system_run_loop_{i}" for i in range(20)]
    for i in range(n):
        issue = i if i < ISSUES else bisect.bisect(sizes, rng.random() * sizes[-1])
        at = rng.randrange(SYSTEM)
        middle = [f"UIKit_internal_{(at + k * k) % SYSTEM}" for k in range(12)]
        top = [f"libsystem_{rng.randrange(40)}" for _ in range(2)]
        extra = [f"Shop.helper{rng.randrange(2000)}()"] if i % 3 == 0 else []
        yield issue + 1, top + extra + paths[issue] + middle + bottom


def fill(to, n, project, now):
    rng = random.Random(20261124)
    paths, terms = make_paths(rng), {}
    keys, facts, counts, pairs = [], [], [0] * (ISSUES + 1), []
    for key, (issue, names) in enumerate(stacks(rng, paths, n), 1):
        body = frame(encoded(names))
        keys.append((key, project, hashlib.sha256(b"s%d" % key).digest(), issue, body))
        facts.append((project, now - n * 1000 + key * 1000, key, issue, key, 1, 1))
        counts[issue] += 1
        pairs += [(terms.setdefault(name, len(terms) + 1), key) for name in dict.fromkeys(names)]
    to.fill("terms", ("id", "project_id", "field", "text"), ((i, project, FUNCTION, name) for name, i in terms.items()))
    to.fill("issues", ("id", "project_id", "number", "title", "kind", "created_ms", "first_ms", "last_ms", "n_reports"),
            ((i, project, i, paths[i - 1][0], "crash", now - 90 * DAY, now - 90 * DAY, now, counts[i])
             for i in range(1, ISSUES + 1)))
    to.fill("issue_keys", ("id", "project_id", "sha256", "issue_id", "title", "is_placeholder"),
            ((i, project, hashlib.sha256(b"k%d" % i).digest(), i, "", 0) for i in range(1, ISSUES + 1)))
    to.fill("variants", ("id", "key_id", "sha256", "issue_id", "label", "n_reports", "first_ms", "last_ms"),
            ((i, i, hashlib.sha256(b"v%d" % i).digest(), i, "SIGSEGV", counts[i], now - 90 * DAY, now)
             for i in range(1, ISSUES + 1)))
    to.fill("stacks", ("key", "project_id", "sha256", "key_id", "body"), keys)
    # PostgreSQL keeps rows in the order in which they came, stack by stack; SQLite in that of the key, which is faster in order.
    to.fill("stack_terms", ("term_id", "stack_key"), sorted(pairs) if isinstance(to, Sqlite) else pairs)
    to.fill("facts", ("project_id", "received_ms", "report_key", "variant_id", "stack_key", "status", "is_counted"), facts)
    to.finish()
    print(f"{n} stacks, {len(pairs)} functions of them, {len(terms)} distinct; the largest issue has {max(counts)}", flush=True)
    return sorted(range(1, ISSUES + 1), key=lambda i: -counts[i])


def measure(server, numbers, rounds):
    first, later, found = [], [], 0
    for number in numbers:
        for i in range(rounds + 1):
            start = time.monotonic()
            status, answer = server.request("GET", f"/api/v1/issues/{number}/similar")
            (later if i else first).append((time.monotonic() - start) * 1000)
            assert status == 200, answer
        found += bool(answer["similar"])
    return (f"first {statistics.median(first):.1f} (at most {max(first):.1f}), later {statistics.median(later):.1f} "
            f"(at most {max(later):.1f}) ms; {found} of {len(numbers)} have proposals")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--stacks", type=int, default=100000)
    parser.add_argument("--postgresql")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    server = Server(options.framezero, database=options.postgresql, data=str(options.work), workers=0)
    server.start()
    server.terminate()
    to = Postgresql(options.postgresql) if options.postgresql else Sqlite(options.work / "framezero.db")
    to.start()
    by_size = fill(to, options.stacks, server.credentials["project_id"], int(time.time() * 1000))
    server.start()
    try:
        for name, numbers in (("the 20 largest", by_size[:20]), ("40 of the middle", by_size[1000:1040]),
                              ("the 40 smallest", by_size[-40:])):
            print(f"{name}: {measure(server, numbers, options.rounds)}", flush=True)
    finally:
        server.terminate()


if __name__ == "__main__":
    sys.exit(main())
