#!/usr/bin/env python3
"""One crash of a program is one issue, however the program was built; two bugs in one function are two variants of it.

tests/fixtures/bugs.* are built at -O0 and -O2, with DWARF 4 and 5, for arm64 and x86_64. Lines of the sources are marked
(@first, @closure, @total, @run, @main); a stack is a chain of marks, and each of its frames an address whose inlined calls are
on these lines. The dSYMs are also given as a bitcode build leaves them, with a BCSymbolMap.
"""
import argparse
import json
import os
import re
import struct
import subprocess
import tempfile

import symbol_files

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
BUILDS = ("arm64-dw4-O0", "arm64-dw5-O2", "x86_64-dw4-O2", "x86_64-dw5-O0")
ANCHORS = {"c": "Cart.total(of:)", "cpp": "shop::cart::total", "m": "+[Cart total:of:]"}
CALLERS = ["total", "run", "main"]
FIRST, SECOND = ["first", "closure", *CALLERS], ["second", *CALLERS]


def marks(language):
    """{mark: line} of the source."""
    with open(os.path.join(SOURCES, f"bugs.{language}"), encoding="utf-8") as f:
        return {found.group(1): number for number, line in enumerate(f, 1) if (found := re.search(r"@(\w+)( \*/)?$", line))}


def text_range(macho):
    """Start and end of __TEXT,__text (loader.h, section_64)."""
    at = macho.index(b"__text\0\0\0\0\0\0\0\0\0\0__TEXT\0")
    addr, size = struct.unpack_from("<QQ", macho, at + 32)
    return addr, addr + size


def lines_of(program, symbols, text):
    """{address: lines of its calls, innermost first}."""
    addresses = range(*text)
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        subprocess.run([program, "index", symbols, "-o", index], check=True, capture_output=True)
        answer = subprocess.run([program, "lookup", index, "--json"], input="".join(f"{a:#x}\n" for a in addresses),
                                check=True, capture_output=True, text=True).stdout
    found = {}
    for address, line in zip(addresses, answer.splitlines()):
        found[address] = [symbol.get("line") for symbol in json.loads(line)["symbols"]]
    return found


def stack_of(places, chain):
    """Addresses whose calls are the lines of the chain, one after the other."""
    frames = []
    while chain:
        fitting = [(len(lines), -address) for address, lines in places.items() if lines and lines == chain[:len(lines)]]
        assert fitting, f"no code on the lines {chain}"
        length, address = max(fitting)
        frames.append(-address)
        chain = chain[length:]
    return frames


def group(program, symbols, macho, frames, **crash):
    """The issue of a report with these frames."""
    slide, uuid = 0x4000, symbol_files.uuid_of(macho)
    base = text_range(macho)[0] & ~0xffffff
    report = {"framezero": 1, "crash": {"thread": 0, **crash}, "app": {"name": "Shop"},
              "threads": [{"crashed": True, "frames": [{"address": f + slide, "adjusted": True} for f in frames]}],
              "images": [{"uuid": uuid, "name": "Shop", "path": "/private/a/Shop.app/Shop", "address": base + slide}]}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        symbol_files.write(path, json.dumps(report).encode())
        answer = subprocess.run([program, "symbolicate", "--json", path, "--dsym", symbols], check=True,
                                capture_output=True, text=True).stdout
    return json.loads(answer)


def hidden(folder, dsym, macho):
    """The dSYM as a bitcode build leaves it, in an archive with its BCSymbolMap."""
    found = re.findall(rb"\0((?:_?\$s4Shop|__?Z|_?run_of|_?start_of|_?thunk_of|_?closure_of|_?total_of|[-+]\[|___?17)[^\0]+)(?=\0)",
                       dsym)
    names = sorted({name for name in found if len(name) >= len("__hidden#00_")}, key=len, reverse=True)
    for number, name in enumerate(names):
        dsym = dsym.replace(b"\0" + name + b"\0", b"\0" + (b"__hidden#%d_" % number).ljust(len(name), b"\0") + b"\0")
    top = os.path.join(folder, "Shop.xcarchive")
    bundle = symbol_files.make_dsym(os.path.join(top, "dSYMs"), "Shop.app", dsym)
    original, uuid = "11111111-2222-3333-4444-555555555555", symbol_files.dashed(symbol_files.uuid_of(macho)).upper()
    symbol_files.write(os.path.join(bundle, "Contents", "Resources", f"{uuid}.plist"),
                       b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict><key>DBGOriginalUUID</key>'
                       b"<string>" + original.encode() + b"</string></dict></plist>\n")
    symbol_files.write(os.path.join(top, "BCSymbolMaps", f"{original}.bcsymbolmap"),
                       b"BCSymbolMap Version: 2.0\n" + b"".join(name + b"\n" for name in names))
    return top, bundle, len(names)


def test_language(program, fixtures, language):
    line_of, issues = marks(language), {}
    for build in BUILDS:
        folder = os.path.join(fixtures, f"bugs-{language}-{build}")
        symbols = os.path.join(folder, "Shop.dSYM")
        with open(os.path.join(folder, "Shop"), "rb") as f:
            macho = f.read()
        with open(os.path.join(symbols, "Contents", "Resources", "DWARF", "Shop"), "rb") as f:
            dsym = f.read()
        places = lines_of(program, symbols, text_range(macho))
        stacks = {name: stack_of(places, [line_of[mark] for mark in chain])
                  for name, chain in (("first", FIRST), ("second", SECOND))}
        # The inlined call is a frame of its own without optimisation only.
        assert (len(stacks["first"]) == len(FIRST)) == build.endswith("O0"), (build, stacks)
        for name, frames in stacks.items():
            report = group(program, symbols, macho, frames, signal="SIGSEGV" if "arm" in build else "SIGBUS")
            issues[build, name] = report["issue"]
        with tempfile.TemporaryDirectory() as made:
            archive, bundle, n_names = hidden(made, dsym, macho)
            assert n_names >= 2, n_names
            without = group(program, bundle, macho, stacks["first"], signal="SIGSEGV")
            assert "_hidden#" in json.dumps(without["threads"]), without["threads"]
            assert without["issue"]["key"][0].startswith("no name yet; "), without["issue"]
            issues[build, "hidden"] = group(program, archive, macho, stacks["first"], signal="SIGSEGV")["issue"]
        # A bug in one function, with another message and on another line: a variant.
        assert issues[build, "first"]["variant"] != issues[build, "second"]["variant"], issues
    assert len({issue["hash"] for issue in issues.values()}) == 1, issues
    assert {issue["key"][0] for issue in issues.values()} == {f"first own frame: {ANCHORS[language]}"}, issues
    # The same bug is the same variant in builds that report the same signal.
    same = [issues[build, "first"]["variant"] for build in BUILDS if "arm" in build]
    assert len(set(same)) == 1, same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--fixtures", required=True)
    options = parser.parse_args()
    for language in ANCHORS:
        test_language(os.path.abspath(options.framezero), options.fixtures, language)
        print(f"ok {language}")


if __name__ == "__main__":
    main()
