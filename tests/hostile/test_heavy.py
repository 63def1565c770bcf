#!/usr/bin/env python3
"""Symbol files that are small for what they ask: each has its verdict within 10 s of CPU and 512 MB.

usage: test_heavy.py --framezero BINARY [--size MB] [NAME...]

Each makes some table of the index as large as it can; `size` is that of the part that is repeated.
"""

import argparse
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from macho import PAGE, TEXT_VMADDR, macho  # noqa: E402

CODE = TEXT_VMADDR + PAGE
# 1: unit without attributes; 2: function (low_pc addrx, high_pc data1); 3: the same, with children; 4: inlined call;
# 5: unit (stmt_list, addr_base, low_pc); 6: function whose high_pc and range are nothing but the abbreviation.
ABBREVS = bytes([1, 0x11, 1, 0x73, 0x17, 0, 0,
                 2, 0x2e, 0, 0x11, 0x1b, 0x12, 0x0b, 0, 0,
                 3, 0x2e, 1, 0x11, 0x1b, 0x12, 0x0b, 0, 0,
                 4, 0x1d, 0, 0x11, 0x1b, 0x12, 0x0b, 0x58, 0x0b, 0, 0,
                 5, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0, 0,
                 6, 0x2e, 0, 0x11, 0x1b, 0x12, 0x21, 4, 0, 0,
                 7, 0x11, 0, 0, 0,
                 8, 0x11, 1, 0x55, 0x17, 0, 0,
                 9, 0x2e, 0, 0x55, 0x17, 0, 0,
                 0])


def addresses(n, step):
    table = b"".join(struct.pack("<Q", CODE + i * step) for i in range(n))
    return struct.pack("<IHBB", len(table) + 4, 5, 8, 0) + table


def unit(dies, abbrevs=0):
    body = struct.pack("<HBBI", 5, 1, 8, abbrevs) + dies
    return struct.pack("<I", len(body)) + body


def units(size):
    """Millions of units of a few bytes."""
    one = unit(b"\x07")
    return macho([("__debug_abbrev", ABBREVS), ("__debug_info", one * (size // len(one)))])


def functions(size):
    """One unit of functions of 3 bytes."""
    dies = b"".join(bytes([2, i % 128, 8]) for i in range(128)) * (size // 384)
    return macho([("__debug_abbrev", ABBREVS), ("__debug_addr", addresses(128, 16)),
                  ("__debug_info", unit(b"\x01\x08\0\0\0" + dies + b"\0"))])


def tiny_functions(size):
    """Functions of 2 bytes, apart from each other, in units of 128."""
    dies = b"".join(bytes([6, i]) for i in range(128))
    one = unit(b"\x01\x08\0\0\0" + dies + b"\0")
    return macho([("__debug_abbrev", ABBREVS), ("__debug_addr", addresses(128, 32)),
                  ("__debug_info", one * (size // len(one)))])


def inlined(size):
    """Inlined calls, each at another place of the function."""
    dies = b"\x03\0\xff" + bytes([4, 1, 200, 1, 4, 2, 180, 2, 4, 3, 150, 3]) * 20 + b"\0"
    one = unit(b"\x01\x08\0\0\0" + dies * 16 + b"\0")
    return macho([("__debug_abbrev", ABBREVS), ("__debug_addr", addresses(128, 4)),
                  ("__debug_info", one * (size // len(one)))])


def line_program(body):
    header = bytes([1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"d\0\0" + b"f.c\0\1\0\0\0"
    rest = struct.pack("<I", len(header)) + header + body
    return struct.pack("<IH", len(rest) + 2, 4) + rest


def lines(size):
    """A row of a line table for each byte."""
    body = b"\x00\x09\x02" + struct.pack("<Q", CODE) + bytes([0x21, 0x22]) * (size // 2) + b"\x02\x08\x00\x01\x01"
    return macho([("__debug_abbrev", ABBREVS), ("__debug_line", line_program(body)),
                  ("__debug_info", unit(b"\x05\0\0\0\0" + struct.pack("<Q", 0)))])


def many_lines(size):
    """Many units with a line table each, all for the same code."""
    body = b"\x00\x09\x02" + struct.pack("<Q", CODE) + bytes([0x21, 0x22]) * 4000 + b"\x02\x08\x00\x01\x01"
    program = line_program(body)
    n = size // len(program)
    info = b"".join(unit(b"\x05" + struct.pack("<IQ", i * len(program), 0)) for i in range(n))
    return macho([("__debug_abbrev", ABBREVS), ("__debug_line", program * n), ("__debug_info", info)])


def sequences(size):
    """Line tables of one row each."""
    one = b"\x00\x09\x02" + struct.pack("<Q", CODE) + b"\x21\x02\x08\x00\x01\x01"
    return macho([("__debug_abbrev", ABBREVS), ("__debug_line", line_program(one * (size // len(one)))),
                  ("__debug_info", unit(b"\x05\0\0\0\0" + struct.pack("<Q", 0)))])


def ranges(size):
    """Many functions that name one long list of ranges."""
    table = b"".join(struct.pack("<QQ", CODE + 32 * i, CODE + 32 * i + 16) for i in range(size // 32)) + bytes(16)
    dies = (b"\x09" + struct.pack("<I", 0)) * (size // 10)
    return macho([("__debug_abbrev", ABBREVS), ("__debug_ranges", table),
                  ("__debug_info", unit(b"\x08\0\0\0\0" + dies + b"\0"))])


def abbreviations(size):
    """Nothing but abbreviations."""
    one = b"\x01\x2e\x00" + b"\x03\x08" * 500 + b"\0\0"
    return macho([("__debug_abbrev", one * (size // len(one)) + b"\0"), ("__debug_info", unit(b"\x01a\0") * 1000)])


def symbols(size):
    """Symbols at addresses of their own that share the end of one name."""
    n = size // 16
    table = b"".join(struct.pack("<IBBHQ", 1 + i % 60, 0x0f, 1, 0, CODE + i * 4) for i in range(n))
    return macho([], symbols=table, strings=b"\0" + b"_" + b"x" * 64 + b"\0")


def long_names(size):
    """Symbols whose names are all the rest of one string."""
    n = size // 32
    table = b"".join(struct.pack("<IBBHQ", 1 + i % (size // 2 - 8), 0x0f, 1, 0, CODE + i * 4) for i in range(n))
    return macho([], symbols=table, strings=b"\0_" + b"x" * (size // 2) + b"\0")


def exports(size):
    """Exports of 6 bytes of the trie, with names that grow."""
    children = 250
    node = b"\x02\x00\x10\x00"
    edges = b"".join(b"%c\x00\x02" % (1 + i) for i in range(children))
    return macho([], exports=(b"\x00" + bytes([children]) + edges + node) + node * (size // 4))


def inflated(size):
    """Sections that inflate to a thousand times their size."""
    packed = b"ZLIB" + struct.pack(">Q", size * 20) + zlib.compress(bytes(size * 20), 9)
    return macho([("__zdebug_abbrev", packed), ("__zdebug_line", packed), ("__zdebug_str", packed),
                  ("__zdebug_info", packed)])


CUT = {"units", "functions", "tiny_functions", "lines", "many_lines"}  # need more than they get, at 6 MB and more
HEAVY = {make.__name__: make for make in (units, functions, tiny_functions, inlined, lines, many_lines, sequences, ranges,
                                          abbreviations, symbols, long_names, exports, inflated)}


def judge(framezero, data, work):
    """(CPU seconds, MB, exit status, output)"""
    path = os.path.join(work, "file")
    with open(path, "wb") as file:
        file.write(data)
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 21))
    with subprocess.Popen([framezero, "index", path, "-o", path + ".index"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=limit) as process:
        out = process.stdout.read().decode(errors="replace")
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, process.returncode, out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--size", type=float, default=6, help="MB")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    n_wrong = 0
    with tempfile.TemporaryDirectory(prefix="framezero-hostile-") as work:
        for name in options.names or HEAVY:
            data = HEAVY[name](int(options.size * (1 << 20)))
            cpu, memory, status, out = judge(options.framezero, data, work)
            # Status 1 is a verdict: nothing of the file can be used. A file whose units were cut says so.
            wrong = cpu > 10 or memory > 512 or status not in (0, 1) or (name in CUT) != ("too_much_work" in out)
            n_wrong += wrong
            print(f"{'WRONG ' if wrong else ''}{name:<16}{len(data):>10} bytes: {cpu:5.2f} s of CPU, {memory:4} MB, "
                  f"status {status}", out[-200:] if wrong else "", flush=True)
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
