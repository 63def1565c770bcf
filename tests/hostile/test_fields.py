#!/usr/bin/env python3
"""Every field of the headers of Mach-O files set to each extreme: no signal, at most 10 s of CPU and 512 MB each.

usage: test_fields.py --judge PROGRAM [--fixtures FOLDER] [--count N] [--seed N] [FOLDER or FILE...]

With --count, a sample of N mutants in all; else all of them. A mutant is read as a child reads an upload: index, lookups,
inspection, a stack and its values, on a copy that ends at a page that cannot be read.
"""

import argparse
import os
import random
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
from fields import encoded, mutants  # noqa: E402
from symbol_files import as_x86_64, fat, sample_macho  # noqa: E402

MAGICS = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
SIZE_MAX = 4 << 20


def files(paths):
    """[(name, bytes)]: one of each size, since copies are frequent."""
    found = {}
    for top in paths:
        names = [top] if os.path.isfile(top) else [os.path.join(f, n) for f, _, all in os.walk(top) for n in sorted(all)]
        for name in names:
            if os.path.isfile(name) and 64 < os.path.getsize(name) <= SIZE_MAX:
                with open(name, "rb") as file:
                    data = file.read()
                if data[:4] in MAGICS and not (data[:4] == MAGICS[2] and data[4:8] > b"\0\0\0\x20"):
                    found.setdefault(len(data), (os.path.basename(name), data))
    return [found[size] for size in sorted(found)]


def judge(program, name, data, chosen, work):
    """(lines of what broke a rule, the line of figures)"""
    path = os.path.join(work, f"seed-{len(data)}")
    with open(path, "wb") as file:
        file.write(data)
    with subprocess.Popen([program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        def feed():
            for _, length, changes in chosen:
                process.stdin.write(encoded(length, changes))
            process.stdin.close()
        feeder = threading.Thread(target=feed)
        feeder.start()
        lines = process.stdout.read().decode().splitlines()
        feeder.join()
    os.unlink(path)
    bad = []
    for line in lines[:-1]:
        number, _, why = line.partition(":")
        bad.append(f"{name}: {chosen[int(number)][0]}:{why}")
    if process.wait() not in (0, 1) or not lines or not lines[-1].startswith(f"{len(chosen)} mutants"):
        bad.append(f"{name}: the program ended with {process.returncode} after {lines[-1:]}")
    return bad, lines[-1] if lines else ""


def main():
    import tempfile
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge", required=True)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    demo = sample_macho()
    seeds = [("Demo", demo), ("Demo, fat", fat(demo, as_x86_64(demo)))] + files(options.paths)
    rng = random.Random(options.seed)
    n_wrong = n_all = 0
    with tempfile.TemporaryDirectory(prefix="framezero-hostile-") as work:
        for name, data in seeds:
            chosen = list(mutants(data))
            if options.count:
                chosen = rng.sample(chosen, min(len(chosen), options.count // len(seeds)))
            bad, figures = judge(options.judge, name, data, chosen, work)
            n_wrong += len(bad)
            n_all += len(chosen)
            print(f"{name:<34.34} {len(data):>9} bytes: {figures}", flush=True)
            for text in bad[:20]:
                print(f"  WRONG {text}", flush=True)
    print(f"{n_all} mutants of {len(seeds)} files, {n_wrong} wrong")
    return 1 if n_wrong or not n_all else 0


if __name__ == "__main__":
    sys.exit(main())
