#!/usr/bin/env python3
"""Reading all variables of a crash: 30 frames in 30 units of a large dSYM, and the same by lldb-19 on the same memory.

    bench/variables.py [--framezero BIN] [--work DIR] [--units N] [--runs N] [--json FILE]

Generates a C program of N units (default 240: a dSYM of about 25 MB), builds it for x86_64 macOS with clang-19, ld64.lld-19
and dsymutil-19, crashes it under tests/loader, and reads it: "cold" is the first time in a process, with opening the DWARF,
"warm" the median of the others. What lldb takes is measured inside of it, after everything is loaded. Building takes some
minutes once; WORK keeps it.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
VARIABLES = TOP / "tests" / "variables"
LOADER = TOP / "tests" / "loader"
CHAIN, FILLERS, STRUCTS, SLIDE = 30, 120, 40, "4f8000"
TOOLS = ["clang-19", "ld64.lld-19", "dsymutil-19", "lldb-19", "gcc"]


def unit_source(unit):
    """One unit: structures, functions that only make it large, and one link of the chain of calls."""
    lines = ['#define ESCAPE(p) __asm__ volatile("" : : "r"(p) : "memory")']
    for i in range(STRUCTS):
        lines.append(f"struct s{unit}_{i} {{ int a; double b; const char *c; struct s{unit}_{max(i - 1, 0)} *next; "
                     f"unsigned d : 3, e : 9; enum {{ E{unit}_{i}_A, E{unit}_{i}_B = 7 }} k; char name[12]; int m[2][3]; }};")
    lines.append(f"static int count{unit} = {unit};")
    for i in range(FILLERS):
        lines.append(f"__attribute__((noinline)) static int fill{unit}_{i}(struct s{unit}_{i % STRUCTS} *p, int x, long y, double z) {{ "
                     f"int a = x * {i}; long b = y + a; double c = z / (a + 1); struct s{unit}_{i % STRUCTS} copy = *p; "
                     f"for (int i = 0; i < x; i++) {{ int q = a + i; ESCAPE(&q); b += q; }} ESCAPE(&copy); "
                     f"count{unit} += a; return (int)(b + (int)c + copy.a); }}")
    calls = " + ".join(f"fill{unit}_{i}(p, x, x * 2, 1.5)" for i in range(FILLERS))
    lines.append(f"int all{unit}(void *p, int x) {{ return {calls}; }}")
    if unit < CHAIN:
        last = unit == CHAIN - 1
        lines.append(f"int chain{unit + 1}(int, long, const char *);")
        lines.append(f"__attribute__((noinline)) int chain{unit}(int a, long b, const char *name) {{ "
                     f'struct s{unit}_5 one = {{a, b * 1.5, name, 0, 3, 100, E{unit}_5_B, "hello"}}; '
                     f"struct s{unit}_6 two = {{a + 1, b, name, &one}}; int v = a * 3, w = v + {unit}; double d = b / 2.0; "
                     f'char text[20] = "text"; long list[5] = {{a, b, v, w, {unit}}}; unsigned char raw[4] = {{1, 2, 3, 4}}; '
                     f"ESCAPE(&one); ESCAPE(&two); ESCAPE(text); ESCAPE(list); ESCAPE(raw); ESCAPE(&d); count{unit}++; "
                     + ("int r = *(volatile int *)(long)0;" if last else f"int r = chain{unit + 1}(v, b + w, name);")
                     + " ESCAPE(&one); return r + v + w + (int)d; }")
    return "\n".join(lines) + "\n"


def run(argv, **options):
    subprocess.run([str(word) for word in argv], check=True, **options)


def build(work, units):
    if (work / "dump").exists():
        return
    sources = work / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    for unit in range(units):
        (sources / f"u{unit}.c").write_text(unit_source(unit))
    every = "".join(f"int all{unit}(void *, int);\n" for unit in range(units))
    table = ", ".join(f"all{unit}" for unit in range(units))
    (sources / "main.c").write_text(f"{every}int chain0(int, long, const char *);\nint (*const table[])(void *, int) = {{{table}}};\n"
                                    "int main(int n, char **v) { return n > 5 ? table[n](v, n) : chain0(n + 1, 7, \"the name\"); }\n")
    files = sorted(path.name for path in sources.glob("*.c"))
    run(["xargs", "-P", os.cpu_count() or 1, "-n", 8, "clang-19", "-target", "x86_64-apple-macos11.0", "-g", "-O1", "-fno-builtin",
         "-fno-stack-protector", "-w", "-c"], input="\n".join(files), text=True, cwd=sources)
    run(["ld64.lld-19", "-arch", "x86_64", "-platform_version", "macos", "11.0", "11.0", "-o", work / "crash", LOADER / "libSystem.tbd",
         *sorted(sources.glob("*.o"))])
    run(["dsymutil-19", work / "crash", "-o", work / "crash.dSYM"])
    run(["gcc", "-std=gnu11", "-O1", "-fno-omit-frame-pointer", "-w", "-o", work / "loader", *sorted(LOADER.glob("*.c")), "-lpthread"])
    subprocess.run([work / "loader", "--slide", SLIDE, "--dump", work / "report.json", work / "crash"], capture_output=True, check=False)
    with open(work / "dump", "w", encoding="utf-8") as file:
        run([VARIABLES / "make.py", "dump", work / "report.json"], stdout=file)


def lldb_ms(work, runs):
    run([VARIABLES / "core.py", work / "report.json", work / "core"])
    times = []
    for _ in range(runs):
        run(["lldb-19", "-b", "-o", f"command script import {VARIABLES}/lldb_values.py"], stdout=subprocess.DEVNULL,
            env=dict(os.environ, VARIABLES_FOLDER=str(work), VARIABLES_SLIDE="0x" + SLIDE))
        with open(work / "lldb.json", encoding="utf-8") as file:
            times.append(json.load(file)["ms"])
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", default=str(TOP / "build/release/server/framezero"))
    parser.add_argument("--work", help="a folder for files (default: a new one)")
    parser.add_argument("--units", type=int, default=240)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    program = pathlib.Path(args.framezero).parent / "bench_variables"
    missing = [tool for tool in TOOLS if not shutil.which(tool)] + ([] if program.exists() else [program.name])
    if missing:
        print(f"variables: left out, not here: {', '.join(missing)}")
        return 0
    work = pathlib.Path(args.work or tempfile.mkdtemp()) / "variables"
    work.mkdir(parents=True, exist_ok=True)
    build(work, args.units)
    symbols = work / "crash.dSYM/Contents/Resources/DWARF/crash"
    shown = subprocess.run([program, work / "dump", symbols, work / "crash", str(args.runs + 1)], capture_output=True, text=True,
                           check=True)
    times = [float(ms) for ms in re.findall(r"^([\d.]+) ms", shown.stderr, re.M)]
    figures = {"dsym_mb": round(symbols.stat().st_size / 1e6, 1), "variables": shown.stdout.count("\n"), "cold_ms": times[0],
               "warm_ms": statistics.median(times[1:]), "lldb_ms": round(lldb_ms(work, 3), 1)}
    figures["ratio"] = round(figures["lldb_ms"] / figures["warm_ms"], 1)
    print(f"{CHAIN} frames of a dSYM of {figures['dsym_mb']} MB: cold {figures['cold_ms']:.1f} ms, warm {figures['warm_ms']:.1f} ms; "
          f"lldb-19 {figures['lldb_ms']:.1f} ms, {figures['ratio']} times as long")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
