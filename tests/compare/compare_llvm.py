#!/usr/bin/env python3
"""Compare framezero's lookups with llvm-symbolizer's, address by address.

    compare_llvm.py --framezero BIN --symbolizer llvm-symbolizer-19 [--addresses N] PATH...

Every Mach-O file under the paths (default: FRAMEZERO_CORPUS) is taken, each slice of it; N addresses are spread over its code
(the same ones in each run). For each: function, inline chain, file and line must be equal. Every
difference is listed with its class; the classes that EXPLAINED names are differences of intent or
known faults of the oracle. Prints a line per slice; exit 1 if a difference is not explained.
"""
import argparse
import bisect
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
CORPUS = os.environ.get("FRAMEZERO_CORPUS") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "corpus")

EXPLAINED = {
    "past_end": "no DWARF covers the address, and the symbol before it has ended: it has DWARF (so "
                "its end is known), or its section or a function starts between; "
                "llvm-symbolizer names it in any case",
    "symtab_name": "DWARF and symbol table name the function differently (the address is the start "
                   "of both); llvm-symbolizer prints the symbol, framezero the DWARF name, and reports the "
                   "symbol as alias",
    "label": "a symbol inside a DWARF function, a label; llvm-symbolizer names the label",
    "exports": "the symbol table has no symbol between the export's start and the address; "
               "llvm-symbolizer does not read the exports trie",
    "no_name": "a line table without function and symbol: nothing to name",
}

CPUS = {7: "i386", 0x01000007: "x86_64", 12: "arm", 0x0100000c: "arm64", 0x0200000c: "arm64_32",
        18: "ppc", 0x01000012: "ppc64"}
ARM = {6: "armv6", 9: "armv7", 10: "armv7f", 11: "armv7s", 12: "armv7k"}
MAGICS = {0xfeedface: ("<", False), 0xfeedfacf: ("<", True),
          0xcefaedfe: (">", False), 0xcffaedfe: (">", True)}


def arch_name(cpu, sub):
    sub &= 0xffffff
    if cpu == 12:
        return ARM.get(sub, "arm")
    if cpu == 0x0100000c and sub == 2:
        return "arm64e"
    if cpu == 0x01000007 and sub == 8:
        return "x86_64h"
    return CPUS.get(cpu, "unknown")


def slices(data):
    """(offset, size) of each Mach-O in the bytes."""
    if len(data) < 8:
        return []
    magic, n = struct.unpack(">II", data[:8])
    if magic in (0xcafebabe, 0xcafebabf) and 0 < n < 32:
        step = 20 if magic == 0xcafebabe else 32
        found = []
        for i in range(n):
            entry = data[8 + i * step:8 + (i + 1) * step]
            if len(entry) == step:
                found.append(struct.unpack(">II" if step == 20 else ">QQ",
                                           entry[8:16] if step == 20 else entry[8:24]))
        return found
    return [(0, len(data))]


class Slice:
    """What is needed of a Mach-O slice: arch, UUID, code ranges, function symbols."""

    def __init__(self, data):
        if len(data) < 28:
            raise ValueError("short")
        self.endian, self.is_64 = MAGICS[struct.unpack("<I", data[:4])[0]]
        self.data = data
        self.uuid = ""
        self.code, self.symbols, self.sections, self.starts = [], [], [], []
        self.text = None
        cpu, sub, self.filetype, n, _size = self.get("IIIII", 4)
        self.arch = arch_name(cpu, sub)
        at = 32 if self.is_64 else 28
        symtab = where = None
        for _ in range(n):
            cmd, size = self.get("II", at)
            if size < 8:
                break
            if cmd == 0x1b:
                self.uuid = data[at + 8:at + 24].hex()
            elif cmd == 0x2:
                symtab = self.get("IIII", at + 8)
            elif cmd == 0x26:
                where = self.get("II", at + 8)
            elif cmd in (0x1, 0x19):
                self.segment(at, cmd == 0x19)
            at += size
        if not self.code:  # dSYMs of old tools give sections no sizes
            starts = sorted(addr for addr, _size, _is_code in self.sections) + [0]
            self.code = [(addr, starts[starts.index(addr) + 1])
                         for addr, _size, is_code in self.sections if is_code]
            self.code = [(low, high) for low, high in self.code if low < high]
        if symtab:
            self.read_symbols(*symtab)
        if where:
            self.read_starts(*where)

    def get(self, fmt, at):
        size = struct.calcsize("=" + fmt)
        return struct.unpack(self.endian + fmt, self.data[at:at + size])

    def read_starts(self, off, size):
        addr, value, shift = self.text or 0, 0, 0
        for byte in self.data[off:off + size]:
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                addr += value
                self.starts.append(addr)
                value = shift = 0

    def has_ended(self, start, addr):
        """Whether what starts at `start` cannot reach to `addr`."""
        if any(start < value <= addr for value in self.starts):
            return True
        return any(low <= addr < high and not low <= start < high for low, high in self.code)

    def segment(self, at, wide):
        if self.data[at + 8:at + 24].rstrip(b"\0") == b"__TEXT":
            self.text, = self.get("Q" if wide else "I", at + 24)
        n, = self.get("I", at + (64 if wide else 48))
        at += 72 if wide else 56
        for _ in range(n):
            addr, size = self.get("QQ" if wide else "II", at + 32)
            flags, = self.get("I", at + (64 if wide else 56))
            is_code = bool(flags & 0x80000400)
            self.sections.append((addr, size, is_code))
            if is_code and size:
                self.code.append((addr, addr + size))
            at += 80 if wide else 68

    def read_symbols(self, off, n, stroff, strsize):
        step = 16 if self.is_64 else 12
        for i in range(n):
            strx, kind, sect, desc, value = self.get("IBBHQ" if self.is_64 else "IBBHI",
                                                     off + i * step)
            if kind & 0xe0 or kind & 0x0e != 0x0e or not 0 < sect <= len(self.sections):
                continue
            if self.sections[sect - 1][2]:
                end = self.data.find(b"\0", stroff + strx)
                self.symbols.append((value & ~1 if self.arch.startswith("armv") else value,
                                     self.data[stroff + strx:end].decode("latin1")))
        self.symbols.sort(key=lambda symbol: symbol[0])

    def addresses(self, n, seed):
        """Spread over the code, with function starts and their neighbours among them."""
        rng = random.Random(seed)
        step = 4 if self.arch.startswith("arm64") else 2 if self.arch.startswith("arm") else 1
        total = sum(high - low for low, high in self.code)
        picked = set()
        if not total:
            return []
        starts = [addr for addr, _ in self.symbols]
        for _ in range(n * 4):
            if len(picked) >= n:
                break
            if starts and rng.random() < 0.2:
                addr = rng.choice(starts) + rng.choice((0, 0, step, -step))
                if not any(low <= addr < high for low, high in self.code):
                    continue
            else:
                left = rng.randrange(total)
                for low, high in self.code:
                    if left < high - low:
                        addr = low + left
                        break
                    left -= high - low
            picked.add(addr // step * step)
        return sorted(picked)


def macho_files(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _dirs, names in sorted(os.walk(path)):
            for name in sorted(names):
                full = os.path.join(folder, name)
                if name.startswith("._") or os.path.islink(full) or not os.path.isfile(full):
                    continue
                with open(full, "rb") as file:
                    magic = file.read(4)
                if len(magic) == 4 and (struct.unpack("<I", magic)[0] in MAGICS or
                                        magic in (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")):
                    yield full


def nearest(piece, addr):
    """The start of the last symbol at or before the address, -1 without one."""
    at = bisect.bisect_right(piece.symbols, addr, key=lambda symbol: symbol[0])
    return piece.symbols[at - 1][0] if at else -1


def ask_llvm(args, path, addresses):
    command = [args.symbolizer, "--obj=" + path, "--inlines", "--functions=linkage",
               "--no-demangle", "--output-style=JSON"]
    text = "".join("0x%x\n" % addr for addr in addresses)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    answers = []
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        frames = [(f.get("FunctionName", ""), f.get("FileName", ""), f.get("Line", 0),
                   f.get("Column", 0)) for f in answer.get("Symbol", [])]
        answers.append([f for f in frames if f[0] or f[1]])
    return answers


def ask_framezero(args, path, piece, addresses, temp):
    index = os.path.join(temp, "index")
    command = [args.framezero, "index", path, "-o", index]
    if piece.uuid:
        command += ["--uuid", piece.uuid]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    text = "".join("0x%x\n" % addr for addr in addresses)
    done = subprocess.run([args.framezero, "lookup", index, "--json"], input=text,
                          capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def bare(name):
    return name[1:] if name.startswith("_") else name


def same_name(ours, theirs):
    """Mach-O puts one underscore before C names; llvm-symbolizer takes it off the symbol's."""
    return ours == theirs or bare(ours) == theirs or ours == bare(theirs)


def classify(ours, theirs, piece, addr):
    """None if equal, else the class of the difference."""
    symbols = ours["symbols"]
    mine = [(s.get("mangled", s.get("function", "")), s.get("file", ""), s.get("line", 0),
             s.get("column", 0)) for s in symbols]
    if len(mine) == len(theirs):
        places = all(a[1:3] == b[1:3] for a, b in zip(mine, theirs))
        inner = all(a[0] == b[0] for a, b in zip(mine[:-1], theirs[:-1]))
        if places and inner:
            if not mine or same_name(mine[-1][0], theirs[-1][0]):
                columns = all(a[3] == b[3] for a, b in zip(mine, theirs))
                return None if columns else "column"
            return classify_name(ours, theirs[-1][0], piece, addr)
        return "place" if inner else "inlined_name"
    if not mine:
        nearest = [s for s in piece.symbols if s[0] <= addr]
        if not nearest or not theirs[-1][0]:
            return "no_name"
        return "missing" if theirs[0][1] else "past_end?"
    return "chain"


def classify_name(ours, name, piece, addr):
    last = ours["symbols"][-1]
    start = addr - last.get("offset", 0)
    mine = last.get("mangled", "")
    if last.get("source") == "exports" and not any(start <= s[0] <= addr for s in piece.symbols):
        return "exports"
    if any(same_name(alias, name) for alias in ours.get("aliases", [])):
        return "symtab_name"
    holders = [value for value, symbol in piece.symbols if same_name(symbol, name) and value <= addr]
    if holders and max(holders) > start:
        return "label"
    if not any(value == start for value, _ in piece.symbols) and last.get("source") == "dwarf":
        return "past_end" if holders and max(holders) < start else "name"
    return "name:" + mine


def compare(args, path, data, number, counts):
    offset, size = data[0]
    piece = Slice(data[1][offset:offset + size])
    addresses = piece.addresses(args.addresses, path + str(number))
    label = "%s (%s)" % (os.path.relpath(path), piece.arch)
    if piece.filetype == 1:
        print("%s: an object file, not linked" % label)
        return
    if not addresses:
        print("%s: no code" % label)
        return
    with tempfile.TemporaryDirectory() as temp:
        # Each slice as a thin file, so that no tool has to choose.
        thin = os.path.join(temp, os.path.basename(path))
        with open(thin, "wb") as file:
            file.write(piece.data)
        try:
            ours = ask_framezero(args, thin, piece, addresses, temp)
        except RuntimeError as error:
            print("%s: %s" % (label, error))
            counts["unreadable"] = counts.get("unreadable", 0) + 1
            return
        theirs = ask_llvm(args, thin, addresses)
        before = {}  # the last symbol before an address -> what llvm-symbolizer says of it
        for addr in addresses:
            before[nearest(piece, addr)] = None
        before = dict(zip(before, ask_llvm(args, thin, [max(addr, 0) for addr in before])))
    if len(theirs) != len(addresses):
        print("%s: llvm-symbolizer cannot read it" % label)
        return
    classes = {}
    for addr, mine, other in zip(addresses, ours, theirs):
        kind = classify(mine, other, piece, addr)
        if kind == "past_end?":
            start = nearest(piece, addr)
            known = before[start] and before[start][0][1]
            kind = "past_end" if known or piece.has_ended(start, addr) else "missing"
        if not kind:
            continue
        classes[kind] = classes.get(kind, 0) + 1
        if args.verbose or (kind.split(":")[0] not in EXPLAINED and classes[kind] <= args.show):
            print("  0x%x %s\n    ours   %s\n    theirs %s" %
                  (addr, kind, json.dumps(mine["symbols"]), json.dumps(other)))
    for kind, n in classes.items():
        counts[kind] = counts.get(kind, 0) + n
    equal = len(addresses) - sum(classes.values())
    counts["equal"] = counts.get("equal", 0) + equal
    print("%s: %d of %d equal%s" % (label, equal, len(addresses),
                                    "".join(", %s %d" % item for item in sorted(classes.items()))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--symbolizer", default="llvm-symbolizer-19")
    parser.add_argument("--addresses", type=int, default=1000)
    parser.add_argument("--show", type=int, default=3, help="examples per class and slice")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("paths", nargs="*", default=[CORPUS])
    args = parser.parse_args()
    args.paths = [path for path in args.paths if os.path.exists(path)]
    if not args.paths or not shutil.which(args.symbolizer):
        print("skipped: %s" % ("there is no " + args.symbolizer if args.paths else
                               "no path exists (set FRAMEZERO_CORPUS)"))
        return SKIPPED
    counts = {}
    seen = set()
    for path in macho_files(args.paths):
        with open(path, "rb") as file:
            data = file.read()
        if hash(data) in seen:
            continue
        seen.add(hash(data))
        for number, where in enumerate(slices(data)):
            try:
                compare(args, path, (where, data), number, counts)
            except (ValueError, KeyError, struct.error) as error:
                print("%s: no readable Mach-O (%s)" % (os.path.relpath(path), error))
    unexplained = {kind: n for kind, n in counts.items()
                   if kind not in EXPLAINED and kind not in ("equal", "unreadable")}
    print("total: %s" % ", ".join("%s %d" % item for item in sorted(counts.items())))
    for kind in sorted(counts):
        if kind in EXPLAINED:
            print("  %s: %s" % (kind, EXPLAINED[kind]))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
