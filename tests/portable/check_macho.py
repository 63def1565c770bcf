#!/usr/bin/env python3
"""Does the command line compile for macOS, as far as this can be checked without Apple's headers?

Every source of `framezero` is compiled to a Mach-O object for arm64 by clang, against musl's headers: strict POSIX, and
neither Linux nor glibc is defined. The objects are then linked by LLVM's Mach-O linker, and what they need from outside
must be in macos_symbols.txt, the functions that macOS and Homebrew's libraries are known to have.

usage: check_macho.py --build BUILD --source SOURCE --deps PREFIX
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
TARGET = "arm64-apple-macos13"
WARNINGS = ("-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wstrict-prototypes "
            "-Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wformat=2 -Wswitch-enum "
            "-Wno-gnu-statement-expression -Werror").split()
# Not in a build with musl, but in one on a Mac.
ALSO = ["server/cli/cmd_upload.c", "base/net/http_client.c", "server/cli/upload_client.c", "server/cli/upload_send.c", "symbolicator/demangle/cxx/system.c"]
NOT = ["server/cli/no_upload.c"]


def sources(build, top):
    """The C files that the program of that build is made of, by what ninja links."""
    inputs = subprocess.run(["ninja", "-C", build, "-t", "inputs", "server/framezero"], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    found = {os.path.relpath(path, top) for path in inputs if path.endswith(".c") and path.startswith(str(top))}
    found = {path for path in found if re.match(r"(base|symbolicator|server)/", path)}
    return sorted((found | {path for path in ALSO if (top / path).exists()}) - set(NOT))


def compile_one(arguments):
    top, deps, path, target, includes = arguments
    command = ["clang-19", "-target", TARGET, "-std=c11", "-O1", *WARNINGS, "-D_POSIX_C_SOURCE=200809L",
               '-DFZ_VERSION="0"', "-nostdinc", *includes, "-I", top, "-c", top / path, "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main():
    parser = argparse.ArgumentParser()
    for name in ("--build", "--source", "--deps"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    top, deps = pathlib.Path(options.source).resolve(), pathlib.Path(options.deps).resolve()
    musl = pathlib.Path("/usr/include") / f"{os.uname().machine}-linux-musl"
    missing = [tool for tool in ("clang-19", "ld64.lld-19", "llvm-nm-19", "ninja") if not shutil.which(tool)]
    if missing or not musl.is_dir():
        print(f"skipped: missing {' '.join(missing) or musl}")
        return SKIPPED
    builtin = subprocess.run(["clang-19", "-print-resource-dir"], check=True, capture_output=True, text=True)
    includes = ["-isystem", builtin.stdout.strip() + "/include", "-isystem", str(deps / "include"), "-isystem", str(musl)]
    with tempfile.TemporaryDirectory() as work:
        # curl's headers are the same everywhere; nothing else of that folder may be seen.
        for folder in (f"/usr/include/{os.uname().machine}-linux-gnu", "/usr/include"):
            if os.path.exists(f"{folder}/curl/curl.h"):
                os.symlink(f"{folder}/curl", f"{work}/curl")
                includes += ["-isystem", work]
                break
        paths = sources(options.build, top)
        objects = [f"{work}/{number}.o" for number in range(len(paths))]
        jobs = [(top, deps, path, target, includes) for path, target in zip(paths, objects)]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            problems = [text for text in pool.map(compile_one, jobs) if text]
        if problems:
            print("\n".join(problems))
            return 1
        linked = subprocess.run(["ld64.lld-19", "-arch", "arm64", "-platform_version", "macos", "13.0", "13.0",
                                 "-undefined", "dynamic_lookup", "-dead_strip", "-o", f"{work}/framezero", *objects],
                                capture_output=True, text=True, check=False)
        if linked.returncode:
            print(linked.stderr)
            return 1
        needed = subprocess.run(["llvm-nm-19", "-u", "-j", f"{work}/framezero"], check=True, capture_output=True, text=True)
        listed = pathlib.Path(__file__).with_name("macos_symbols.txt").read_text(encoding="utf-8")
        known = {word for line in listed.splitlines() for word in line.partition("#")[0].split()}
        unknown = sorted(name for name in needed.stdout.split() if name.removeprefix("_") not in known)
        print(f"{len(paths)} files compiled and linked for {TARGET}, {len(needed.stdout.split())} names from outside")
        for name in unknown:
            print(f"{name}: not known to be on macOS; if it is, list it in tests/portable/macos_symbols.txt")
        return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
