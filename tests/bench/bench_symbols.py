#!/usr/bin/env python3
"""How long a dSYM takes to become a symbol index, and an address to become names.

usage: bench_symbols.py --framezero BINARY --work FOLDER [DSYM...]

Without a DSYM, one is made that has the shape of an app: many small compilation units with inlined calls. Index
building is measured against llvm-gsymutil with one thread, in turns, so that a busy machine slows both; told is the
median of the rounds' ratios. Lookups: 10,000 random code addresses, warm, as `framezero lookup --bench` counts them.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import time

ROUNDS = 5
UNITS, FUNCTIONS = 300, 60
LOOKUPS = 10000

UNIT = """static inline __attribute__((always_inline)) int step_{u}(volatile int *p, int n)
{{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += *p + i;
    return sum;
}}
"""
FUNCTION = """struct s_{u}_{f} {{ int a, b; struct s_{u}_{f} *next; }};
__attribute__((noinline)) int work_{u}_{f}(volatile int *p)
{{
    struct s_{u}_{f} s = {{*p, {f}, 0}};
    if (s.a > {f})
        return step_{u}(p, s.b) + {f};
    return step_{u}(p, 3) * step_{u}(p, s.a);
}}
"""


def make_dsym(folder):
    """A dSYM of UNITS compilation units with FUNCTIONS functions each; kept in `folder` for the next run."""
    made = folder / "App.dSYM" / "Contents" / "Resources" / "DWARF" / "App"
    if made.exists():
        return made
    print(f"making a dSYM of {UNITS} units with {FUNCTIONS} functions each", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for u in range(UNITS):
        text = UNIT.format(u=u) + "".join(FUNCTION.format(u=u, f=f) for f in range(FUNCTIONS))
        if u == 0:
            text += "int main(int argc, char **argv) { (void)argv; volatile int x = argc; return work_0_0(&x); }\n"
        (folder / f"u{u}.c").write_text(text)

    def run(*command):
        subprocess.run(command, cwd=folder, check=True)

    for u in range(0, UNITS, 50):
        run("clang-19", "-target", "arm64-apple-ios14.0", "-g", "-O2", "-c", *(f"u{i}.c" for i in range(u, u + 50)))
    run("ld64.lld-19", "-arch", "arm64", "-platform_version", "ios", "14.0", "14.0", "-undefined", "dynamic_lookup",
        "-o", "App", *(f"u{u}.o" for u in range(UNITS)))
    run("dsymutil-19", "App", "-o", "App.dSYM")
    return made


def timed(command):
    """(seconds, standard output) of a command."""
    start = time.monotonic()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return time.monotonic() - start, done.stdout


def code_addresses(dsym):
    """Random addresses within the functions of the dSYM's first slice, from its symbol table."""
    output = subprocess.run(["llvm-nm-19", "--defined-only", "--numeric-sort", dsym], check=True, capture_output=True,
                            text=True).stdout
    rows = map(str.split, output.splitlines())
    starts = [int(row[0], 16) for row in rows if len(row) == 3 and row[1] in "tT"]
    starts = starts[1:] if len(starts) > 1 else starts  # the first is the header's
    chosen = random.Random(1)
    return "".join(f"{chosen.choice(starts) + chosen.randrange(0, 16, 4):#x}\n" for _ in range(LOOKUPS))


def bench(framezero, dsym, work):
    index, gsym = work / "out.idx", work / "out.gsym"
    ours, ratios = [], []
    info = b"{}"
    for _ in range(ROUNDS):
        seconds, info = timed([framezero, "index", dsym, "-o", index])
        ours.append(seconds)
        theirs, _ = timed(["llvm-gsymutil-19", "--convert", dsym, "--out-file", gsym, "--num-threads=1"])
        ratios.append(seconds / theirs)
    told = json.loads(info)
    size = os.path.getsize(dsym)
    lookup = subprocess.run([framezero, "lookup", index, "--bench", "1000000"], input=code_addresses(dsym), check=True,
                            capture_output=True, text=True).stdout.strip()
    print(f"{pathlib.Path(dsym).name}: {size / 1e6:.1f} MB, {told.get('functions')} functions, "
          f"{told.get('ranges')} ranges, index {told.get('bytes', 0) / 1e6:.2f} MB")
    print(f"  index    {statistics.median(ours) * 1000:8.1f} ms, {statistics.median(ratios):.2f} x llvm-gsymutil")
    print(f"  lookup   {lookup}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("dsym", nargs="*")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for dsym in options.dsym or [make_dsym(options.work / "app")]:
        bench(options.framezero, dsym, options.work)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"peak memory of any child: {peak / 1024:.0f} MB")


if __name__ == "__main__":
    main()
