#!/usr/bin/env python3
"""Which lines of the parsers do the corpora and the unit tests run? A table by folder; fails if one is below --least.
For server/http and base/net also tests of whole servers count, since their parsers stand between callbacks of libraries.

    ./dev coverage [--least 90] [--files]

The build is that of the preset coverage (clang counts, llvm-cov reads). Lines that no test program contains do not count.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys

LABELS = "^(unit|golden|fuzz|unwind|variables)$"
# A child that has locked itself in cannot write its counts, and is ended when it tries.
NOT = r"^(sandbox\.ways|unit\.child_process)$"
SERVERS = (r"^(e2e\.(http_framing|http_limits|http_callers|http_streams|events|answers|budgets|upload_folder|commands|alerts|oidc)"
           r"|contract\.blobs_small)$")
PARSERS = ("base", "base/json", "base/net", "server/group", "server/http", "server/ingest", "server/protocol", "server/query",
           "server/scrub", "symbolicator/archive", "symbolicator/demangle", "symbolicator/dwarf", "symbolicator/index",
           "symbolicator/macho", "symbolicator/unwind", "symbolicator/variables")
TOP = pathlib.Path(__file__).resolve().parents[2]


def programs(build):
    """The test programs that were run."""
    found = []
    for path in sorted([*build.glob("tests/**/*"), *build.glob("server/test_*"), build / "server" / "framezero"]):
        if path.is_file() and os.access(path, os.X_OK) and path.open("rb").read(4) == b"\x7fELF" and "__llvm_cov" in sections(path):
            found.append(path)
    return found


def sections(path):
    return subprocess.run(["llvm-readelf-19", "-S", path], capture_output=True, text=True, check=True).stdout


def folder_of(name):
    """The longest folder of the table that the file is in."""
    return max((folder for folder in PARSERS if name.startswith(folder + "/")), key=len, default=None)


def measure(build, profiles):
    """{file: (lines, lines that were run)}"""
    merged = build / "coverage.profdata"
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", *profiles.glob("*.profraw"), "-o", merged], check=True)
    tests = programs(build)
    objects = [word for path in tests[1:] for word in ("-object", path)]
    sources = [TOP / folder for folder in sorted({folder.split("/")[0] for folder in PARSERS})]
    out = subprocess.run(["llvm-cov-19", "export", "-summary-only", "-num-threads=2", f"-instr-profile={merged}", tests[0], *objects,
                          *sources], check=True, capture_output=True).stdout
    found = {}
    for one in json.loads(out)["data"][0]["files"]:
        name = os.path.relpath(os.path.normpath(one["filename"]), TOP)
        if name.endswith(".c"):
            found[name] = (one["summary"]["lines"]["count"], one["summary"]["lines"]["covered"])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--least", type=float, default=90)
    parser.add_argument("--files", action="store_true", help="also each file that is below")
    parser.add_argument("--no-run", action="store_true", help="of the last run")
    options = parser.parse_args()
    build, profiles = options.build.resolve(), options.build.resolve() / "profiles"
    if not options.no_run:
        shutil.rmtree(profiles, ignore_errors=True)
        environment = dict(os.environ, LLVM_PROFILE_FILE=f"{profiles}/%4m.profraw")
        profiles.mkdir()
        profiles.chmod(0o777)  # a server that root starts leaves root
        for name, which in (("coverage", ["-L", LABELS, "-E", NOT]), ("coverage-servers", ["-R", SERVERS])):
            log = build / f"{name}.log"
            if subprocess.run(["ctest", "--test-dir", build, *which, "-j2", "--output-on-failure", "--quiet", "--output-log", log],
                              env=environment, check=False).returncode:
                print(f"some tests failed: {log}")
    sums, files = collections.defaultdict(lambda: [0, 0]), measure(build, profiles)
    for name, (n, run) in files.items():
        if folder_of(name):
            sums[folder_of(name)][0] += n
            sums[folder_of(name)][1] += run
    below = []
    print(f"{'folder':<24} {'lines':>7} {'run':>7} {'%':>6}")
    for folder, (n, run) in sorted(sums.items()):
        print(f"{folder:<24} {n:>7} {run:>7} {100 * run / n:>6.1f}")
        below += [folder] if 100 * run / n < options.least else []
    n, run = (sum(column) for column in zip(*sums.values()))
    print(f"{'all':<24} {n:>7} {run:>7} {100 * run / n:>6.1f}")
    for name, (n, run) in sorted(files.items()) if options.files else []:
        if folder_of(name) and n and 100 * run / n < options.least:
            print(f"  {name:<60} {n:>5} {run:>5} {100 * run / n:>6.1f}")
    print("\n".join(f"{folder}: below {options.least:g} %" for folder in below))
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
