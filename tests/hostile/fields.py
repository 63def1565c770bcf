"""Where the numbers of a Mach-O file's headers are, and what each may be set to.

    for offset, width, name in fields(data): for value in values(data, offset, width): ...

Headers, load commands, sections, symbols of each kind, the beginning of exports and function starts; of DWARF the headers
of units, abbreviations, line programs, lists of ranges, locations, strings and addresses, and frames. Also a fat header.
"""

import struct

FAT, FAT64 = 0xCAFEBABE, 0xCAFEBABF
THIN = {0xFEEDFACF: ("<", True), 0xFEEDFACE: ("<", False)}
SEGMENT, SYMTAB, DYSYMTAB, SEGMENT64 = 1, 2, 11, 0x19
LINKEDIT = {0x1D, 0x1E, 0x26, 0x29, 0x2B, 0x2E, 0x80000033, 0x80000034}
FUNCTION_STARTS, EXPORTS_TRIE, DYLD_INFO = 0x26, 0x80000033, {0x22, 0x80000022}
UNITS_MAX, RECORDS_MAX, HEAD = 3, 3, 48


def run(base, layout, name):
    """Consecutive fields: widths as digits, '-N' skips N bytes."""
    at = base
    for part in layout.split():
        if part[0] == "-":
            at += int(part[1:])
            continue
        width = int(part[0])
        for _ in range(int(part[2:] or 1) if "x" in part else 1):
            yield at, width, name
            at += width


def slices(data):
    """[(offset, size)] of thin files."""
    magic = struct.unpack_from(">I", data)[0]
    if magic not in (FAT, FAT64):
        return [(0, len(data))]
    n = struct.unpack_from(">I", data, 4)[0]
    if magic == FAT:
        return [struct.unpack_from(">II", data, 8 + 20 * i + 8) for i in range(n)]
    return [struct.unpack_from(">QQ", data, 8 + 32 * i + 8) for i in range(n)]


class Thin:
    def __init__(self, data, base):
        self.data, self.base = data, base
        _, self.is_64 = THIN[struct.unpack_from("<I", data, base)[0]]
        self.sections, self.out, self.symtab, self.blobs = {}, [], None, []

    def u32(self, at):
        return struct.unpack_from("<I", self.data, at)[0]

    def add(self, at, layout, name):
        self.out += [f for f in run(at, layout, name) if f[0] + f[1] <= len(self.data)]

    def segment(self, at):
        self.add(at, "4 4 -16 8x4 4x4" if self.is_64 else "4 4 -16 4x8", "segment")
        head, size = (72, 80) if self.is_64 else (56, 68)
        for i in range(self.u32(at + (64 if self.is_64 else 48))):
            s = at + head + i * size
            self.add(s + 32, "8 8 4x7" if self.is_64 else "4x8", "section")
            name = self.data[s:s + 16].rstrip(b"\0").decode("latin-1")
            length = struct.unpack_from("<Q" if self.is_64 else "<I", self.data, s + (40 if self.is_64 else 36))[0]
            self.sections.setdefault(name, (self.base + self.u32(s + (48 if self.is_64 else 40)), length))

    def commands(self):
        self.add(self.base, "4x8" if self.is_64 else "4x7", "header")
        at = self.base + (32 if self.is_64 else 28)
        for _ in range(self.u32(self.base + 16)):
            kind, size = self.u32(at), self.u32(at + 4)
            if kind in (SEGMENT, SEGMENT64):
                self.segment(at)
            else:
                self.add(at, "4x%d" % (min(size, 96) // 4), "command %#x" % kind)
            if kind == SYMTAB:
                self.symtab = [self.u32(at + 8 + 4 * i) for i in range(4)]
            elif kind in LINKEDIT:
                self.blobs.append((self.base + self.u32(at + 8), "function starts" if kind == FUNCTION_STARTS else "exports"))
            elif kind in DYLD_INFO:
                self.blobs.append((self.base + self.u32(at + 40), "exports"))
            at += size

    def symbols(self):
        if not self.symtab:
            return
        seen, size = {}, 16 if self.is_64 else 12
        for i in range(min(self.symtab[1], 20000)):
            at = self.base + self.symtab[0] + i * size
            kind = self.data[at + 4:at + 6]
            if len(kind) == 2 and seen.setdefault(kind, 0) < 1 and len(seen) < 24:
                seen[kind] += 1
                self.add(at, "4 1 1 2 8" if self.is_64 else "4 1 1 2 4", "symbol")

    def units(self):
        at, size = self.sections.get("__debug_info", (0, 0))
        end, abbrevs = at + size, self.sections.get("__debug_abbrev", (0, 0))[0]
        for _ in range(UNITS_MAX):
            if at + 12 > end:
                return
            version = struct.unpack_from("<H", self.data, at + 4)[0]
            self.add(at, "4 2 1 1 4" if version >= 5 else "4 2 4 1", "unit header")
            dies = at + (12 if version >= 5 else 11)
            self.add(dies, "1x%d" % HEAD, "first DIEs")
            self.add(dies + 1, "4x8", "unit's attributes")
            self.add(abbrevs + self.u32(at + (8 if version >= 5 else 6)), "1x%d" % HEAD, "abbreviations")
            at += 4 + self.u32(at)

    def lines(self):
        at, size = self.sections.get("__debug_line", (0, 0))
        end = at + size
        for _ in range(UNITS_MAX):
            if at + 32 > end:
                return
            version = struct.unpack_from("<H", self.data, at + 4)[0]
            self.add(at, "4 2 1 1 4 1x18" if version >= 5 else "4 2 4 1x18", "line header")
            head = 30 if version >= 5 else 28
            self.add(at + head, "1x64", "line tables")
            length = self.u32(at + (8 if version >= 5 else 6))
            self.add(at + (12 if version >= 5 else 10) + length, "1x%d" % HEAD, "line program")
            at += 4 + self.u32(at)

    def lists(self):
        layouts = {"__debug_rnglists": "4 2 1 1 4 4x4 1x16", "__debug_loclists": "4 2 1 1 4 4x4 1x16",
                   "__debug_str_offs": "4 2 2 4x6", "__debug_addr": "4 2 1 1 8x4", "__debug_ranges": "8x6",
                   "__debug_loc": "8x2 2 1x16", "__debug_aranges": "4 2 4 1 1", "__debug_str": "1x4",
                   "__debug_line_str": "1x4", "__unwind_info": "4x24 2x8", "__apple_names": "4x2 2x2 4x6"}
        for name, layout in layouts.items():
            at, size = self.sections.get(name, (0, 0))
            if size >= 16 and at:
                self.add(at, layout, name)
        for name in ("__debug_frame", "__eh_frame"):
            at, size = self.sections.get(name, (0, 0))
            end = at + size
            for _ in range(RECORDS_MAX):
                if at + 16 > end:
                    break
                self.add(at, "4 4 1x32", name)
                self.add(at + 8, "8 8", name)
                at += 4 + self.u32(at)

    def fields(self):
        self.commands()
        self.symbols()
        for at, name in self.blobs:
            self.add(at, "1x24", name)
        self.units()
        self.lines()
        self.lists()
        return self.out


def fields(data):
    """[(offset, width, name)]"""
    out = []
    if struct.unpack_from(">I", data)[0] in (FAT, FAT64):
        out += list(run(0, "4 4 4x10", "fat header"))
    for offset, size in slices(data):
        if struct.unpack_from("<I", data, offset)[0] in THIN:
            out += Thin(data, offset).fields()
    return sorted(set(out))


def values(data, offset, width):
    """The extremes of a field's type, what is near its value, and the sizes that it may be compared with."""
    top = 1 << 8 * width
    old = int.from_bytes(data[offset:offset + width], "little")
    near = int.from_bytes(data[offset + width:offset + 2 * width], "little")
    wanted = [0, 1, top - 1, top >> 1, (top >> 1) - 1, old + 1, old - 1, old ^ top >> 1, near, len(data), len(data) - 1,
              len(data) + 1, old << 1, 0x7F, 0x80]
    found = []
    for value in wanted:
        value %= top
        if value != old and value not in found:
            found.append(value)
    return found


def mutants(data):
    """Every field at every value, each header cut at each of its bytes: (what, length, [(offset, width, value)])."""
    for offset, width, name in fields(data):
        for value in values(data, offset, width):
            yield f"{name} at {offset}: {value:#x}", len(data), [(offset, width, value)]
    for offset, width, name in fields(data):
        yield f"cut at {offset} ({name})", offset, []


def encoded(length, changes):
    """For the program judge."""
    return struct.pack("<IQ", len(changes), length) + b"".join(struct.pack("<QBQ", *c) for c in changes)
