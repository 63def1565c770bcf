"""Programs of this folder, run by the loader: what they say is true, and the reports that the client wrote.

Each test is a program: test_x.py --framezero BINARY --built FOLDER [unittest arguments]. FOLDER has the loaders and the
programs (CMakeLists.txt).
"""
import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

_parser = argparse.ArgumentParser()
_parser.add_argument("--framezero", required=True, help="the program under test")
_parser.add_argument("--built", required=True, help="where the loaders and the programs are")
_options, REST = _parser.parse_known_args()
BINARY, BUILT = os.path.abspath(_options.framezero), os.path.abspath(_options.built)
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

ARCHES = ("x86_64", "arm64")
LEVELS = ("O0", "O1", "Os", "O2")
SIGNALS, MACH, EXCEPTIONS, HANGS = 1, 2, 4, 8
ADDRESSES, STACK, VALUES = 0, 1, 2
SLIDE = "4f8000"


def main():
    return unittest.main(argv=sys.argv[:1] + REST, verbosity=2)


def built(*parts):
    return os.path.join(BUILT, *parts)


def loader(arch):
    command = [built(f"loader-{arch}")]
    return ["qemu-aarch64"] + command if arch == "arm64" else command


class Run:
    """One run of a program: `chain` and `truth` as printed, `reports` as {ending of the file: report}."""

    def __init__(self, arch, level, program, way, ways=SIGNALS | MACH | EXCEPTIONS, **how):
        self.arch, self.level, self.program = arch, level, program
        self.folder = how.get("folder") or tempfile.mkdtemp(prefix="framezero-loader-")
        options = ["--slide", SLIDE, "--library", built(f"{arch}-O2", "libshop.dylib")]
        if how.get("extension"):
            options += ["--extension", built(f"{arch}-O2", "extension")]
        arguments = [self.folder, way, str(ways), str(how.get("privacy", VALUES))]
        done = subprocess.run(loader(arch) + options + [built(f"{arch}-{level}", program)] + arguments, timeout=60,
                              capture_output=True, text=True, env={**os.environ, **how.get("env", {})}, check=False)
        self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr
        lines = [line.partition(" ") for line in self.output.splitlines()]
        self.chain = next((rest.split(" ") for kind, _, rest in lines if kind == "C"), [])
        if program == "shop" and self.chain and self.chain[0] != "*":
            self.chain = ["-[Cart pay:into:]", "+[Cart checkout:]", "main"]
        self.run_id = next((rest for kind, _, rest in lines if kind == "R"), None)
        self.truth = [rest for kind, _, rest in lines if kind == "T"]
        self.reports, self.paths = {}, {}
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".json"):
                self.paths[name[36:]] = os.path.join(self.folder, name)
                with open(os.path.join(self.folder, name), encoding="utf-8") as f:
                    self.reports[name[36:]] = json.load(f)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def symbols(self):
        """The symbol files of the program, as options: the dSYM and the program itself. The library has none."""
        program = built(f"{self.arch}-{self.level}", self.program)
        return ["--dsym", program + ".dSYM", "--dsym", program]

    def symbolicated(self, ending=".json", *more):
        command = [BINARY, "symbolicate", self.paths[ending], "--json", *self.symbols, *more]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)


def crashed_thread(report):
    return next(thread for thread in report["threads"] if thread.get("crashed"))


def plain(name):
    """A function's name without scopes of templates, arguments and result."""
    if name.startswith(("-[", "+[")):
        return name
    name = name.partition("(")[0] if not "operator()" in name else "operator()"
    return name.partition("<")[0].split(" ")[-1].split("::", 1)[-1] if "::" in name else name


def names(thread):
    """Functions of the chain, innermost first, inlined calls too; frames without a name are "?"."""
    found = []
    for frame in thread["frames"]:
        found += [plain(symbol["function"]) for symbol in frame.get("symbols", [])] or ["?"]
    return found


def fits(want, got):
    """Is `got` the chain `want`? "?" stands for one frame or more without a name, "*" also for none at all."""
    if not want:
        return True
    if want[0] in "?*":
        n = 0
        while n < len(got) and got[n] == "?":
            n += 1
            if fits(want[1:], got[n:]):
                return True
        return want[0] == "*" and fits(want[1:], got)
    return bool(got) and got[0] == want[0] and fits(want[1:], got[1:])


def variables(thread):
    """{(function, name): variable} of the innermost frame of each function."""
    found = {}
    for frame in thread["frames"]:
        for symbol in frame.get("symbols", []):
            for variable in symbol.get("variables", []):
                found.setdefault((plain(symbol["function"]), variable["name"]), variable)
    return found


def memory(report):
    """What the report has captured, as a function of address and size; None if it has not."""
    spans = [(int(part["address"], 16), base64.b64decode(part["bytes"]))
             for part in report.get("memory", []) + [thread["stack"] for thread in report["threads"] if "stack" in thread]]

    def read(address, size):
        for start, content in spans:
            if start <= address and address + size <= start + len(content):
                return content[address - start:address - start + size]
        return None
    return read
