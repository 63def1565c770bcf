"""What a benchmark must know of a Mach-O file, read without either engine: its DWARF's size, its functions' code,
its mangled C++ names."""
import random
import struct

MAGIC_64 = 0xFEEDFACF
CPU_ARM64 = 0x0100000C
LC_SEGMENT_64, LC_SYMTAB = 0x19, 0x2
N_STAB, N_TYPE, N_SECT = 0xE0, 0x0E, 0x0E


class MachO:
    """A thin little-endian 64-bit Mach-O file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        magic, self.cpu = struct.unpack_from("<Ii", self.data)
        if magic != MAGIC_64:
            raise ValueError(f"{path}: no thin 64-bit Mach-O")
        self.dwarf_size, self.text, self.symtab = 0, [], (0, 0, 0, 0)
        n_sections = 0
        at, n_commands = 32, struct.unpack_from("<I", self.data, 16)[0]
        for _ in range(n_commands):
            command, size = struct.unpack_from("<II", self.data, at)
            if command == LC_SYMTAB:
                self.symtab = struct.unpack_from("<IIII", self.data, at + 8)
            elif command == LC_SEGMENT_64:
                n_sections = self._segment(at, n_sections)
            at += size

    def _segment(self, at, n_before):
        count = struct.unpack_from("<I", self.data, at + 64)[0]
        for i in range(count):
            section, segment, addr, size = struct.unpack_from("<16s16sQQ", self.data, at + 72 + 80 * i)
            if segment.rstrip(b"\0") == b"__DWARF":
                self.dwarf_size += size
            elif section.rstrip(b"\0") == b"__text":
                self.text.append((n_before + i + 1, addr, addr + size))
        return n_before + count

    def _symbols(self):
        offset, count, _, _ = self.symtab
        return struct.iter_unpack("<IBBHQ", self.data[offset:offset + 16 * count])

    def functions(self):
        """(start, end) of all code between one symbol of __text and the next."""
        ret = []
        for number, begin, end in self.text:
            starts = {value for _, kind, section, _, value in self._symbols()
                      if not kind & N_STAB and kind & N_TYPE == N_SECT and section == number and begin <= value < end}
            starts = sorted(starts)
            ret += zip(starts, starts[1:] + [end])
        return ret

    def addresses(self, count, seed):
        """Random addresses of instructions: a function is hit as often as its size asks for."""
        rng = random.Random(seed)
        functions = self.functions()
        sizes = [end - start for start, end in functions]
        step = 4 if self.cpu == CPU_ARM64 else 1
        return [start + rng.randrange(max(1, (end - start) // step)) * step
                for start, end in rng.choices(functions, weights=sizes, k=count)]

    def cxx_names(self, count, seed):
        """Mangled names of the symbol table, without the underscore of the platform."""
        _, _, strings, size = self.symtab
        table = self.data[strings:strings + size]
        names = set()
        for strx, kind, _, _, _ in self._symbols():
            if not kind & N_STAB and table.startswith(b"__Z", strx):
                names.add(table[strx + 1:table.index(b"\0", strx)].decode("ascii", "replace"))
        names = sorted(names)
        random.Random(seed).shuffle(names)
        return names[:count]
