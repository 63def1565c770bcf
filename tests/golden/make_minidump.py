#!/usr/bin/env python3
"""Writes the minidumps of the golden cases, and the seeds of their fuzz target; all contents are invented.

usage: make_minidump.py           (in place, beside this file; then --target golden-update, and review the diff)
"""

import os
import struct
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "..", "fuzz", "corpus", "ingest_minidump")
MACOS, IOS, LINUX, WINDOWS = 0x8101, 0x8102, 0x8201, 2
X86, ARM, AMD64, ARM64, ARM64_OLD = 0, 5, 9, 12, 0x8003

SHOP = uuid.UUID("4c4c445b-5555-3144-a129-88beb9d5eb60")
LIBC = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
REPORT = uuid.UUID("5e1f2a2e-0000-4000-8000-0000000000aa")
CLIENT = uuid.UUID("0c11e47a-0000-4000-8000-000000000001")
APP, SYSTEM, STACK = 0x104000000, 0x1A0000000, 0x16FDFF000


class Dump:
    """Bytes after the header are appended in order; the directory is written last."""

    def __init__(self, end="<"):
        self.end = end
        self.body = bytearray(32)
        self.streams = []

    def pack(self, form, *values):
        return struct.pack(self.end + form, *values)

    def put(self, text):
        """(size, offset) of bytes that are added."""
        while len(self.body) % 4:
            self.body += b"\0"
        at = len(self.body)
        self.body += text
        return len(text), at

    def place(self, text):
        return self.pack("II", *self.put(text)) if text is not None else self.pack("II", 0, 0)

    def utf16(self, text):
        coded = text.encode("utf-16-be" if self.end == ">" else "utf-16-le")
        return self.put(self.pack("I", len(coded)) + coded + b"\0\0")[1]

    def utf8(self, text):
        text = text.encode() if isinstance(text, str) else text
        return self.put(self.pack("I", len(text)) + text + b"\0")[1]

    def guid(self, value):
        return self.pack("IHH", value.time_low, value.time_mid, value.time_hi_version) + value.bytes[8:]

    def stream(self, number, text):
        self.streams.append((number, *self.put(text)))

    def system(self, cpu, platform, version=(17, 2, 0), build="21C62", n_cpus=6):
        self.stream(7, self.pack("HHHBBIIIIIHH", cpu, 0, 0, n_cpus, 0, *version, platform, self.utf16(build), 0, 0)
                    + bytes(24))

    def modules(self, modules, pad=False):
        text = self.pack("I", len(modules)) + (bytes(4) if pad else b"")
        for base, size, path, ident, version in modules:
            record = self.pack("I", 0x53445352) + self.guid(ident) + self.pack("I", 0) + b"x\0" if ident else None
            info = (self.pack("IIII", 0xFEEF04BD, 0, *version) + bytes(36)) if version else bytes(52)
            text += self.pack("QIIII", base, size, 0, 0, self.utf16(path)) + info + self.place(record) + bytes(24)
        self.stream(4, text)

    def threads(self, threads, pad=False):
        """(id, stack address, stack bytes or None, context or None, priority)"""
        text = self.pack("I", len(threads)) + (bytes(4) if pad else b"")
        for number, at, stack, context, priority in threads:
            text += self.pack("IIIIQQ", number, 0, 0, priority, 0, at) + self.place(stack) + self.place(context)
        self.stream(3, text)

    def memory(self, regions):
        self.stream(5, self.pack("I", len(regions))
                    + b"".join(self.pack("Q", at) + self.place(text) for at, text in regions))

    def exception(self, thread, code, flags, address, parameters, context):
        text = self.pack("IIIIQQII", thread, 0, code, flags, 0, address, len(parameters), 0)
        text += b"".join(self.pack("Q", p & (1 << 64) - 1) for p in parameters) + bytes(8 * (15 - len(parameters)))
        self.stream(6, text + self.place(context))

    def names(self, names):
        self.stream(24, self.pack("I", len(names))
                    + b"".join(self.pack("IQ", number, self.utf16(name)) for number, name in names))

    def dictionary(self, pairs):
        return self.pack("I", len(pairs)) + b"".join(self.pack("II", self.utf8(k), self.utf8(v)) for k, v in pairs)

    def crashpad(self, simple, modules):
        """modules: (number, texts, dictionary, objects)"""
        links = self.pack("I", len(modules))
        for number, texts, pairs, objects in modules:
            record = self.pack("I", 1)
            record += self.place(self.pack("I", len(texts)) + b"".join(self.pack("I", self.utf8(t)) for t in texts))
            record += self.place(self.dictionary(pairs))
            record += self.place(self.pack("I", len(objects)) + b"".join(
                self.pack("IHHI", self.utf8(name), kind, 0, self.utf8(value)) for name, kind, value in objects))
            links += self.pack("I", number) + self.place(record)
        self.stream(0x43500001, self.pack("I", 1) + self.guid(REPORT) + self.guid(CLIENT)
                    + self.place(self.dictionary(simple)) + self.place(links) + self.pack("IQ", 0, 0))

    def misc(self, build=""):
        text = self.pack("IIIIIIIIIII", 1364, 3, 4242, 1767225000, 7, 2, 0, 0, 0, 0, 0) + bytes(16 + 172)
        self.stream(15, text + build.encode("utf-16-le").ljust(520, b"\0") + bytes(80))

    def crash_info(self, infos):
        places = b""
        for number, texts in infos:
            numbers = self.pack("QQQQQ", 0x4D7A0001, 5, number, 0, 0)
            places += self.place(numbers + b"".join(t.encode() + b"\0" for t in texts))
        self.stream(0x4D7A0001, self.pack("III", 0x4D7A0001, len(infos), 40) + places.ljust(160, b"\0"))

    def arm64(self, pc, sp, fp, lr, old=False):
        words = [0x100 + i for i in range(29)] + [fp, lr, sp, pc]
        if old:
            return self.pack("Q33QI", 0x80000006, *words, 0x60000000).ljust(796, b"\0")
        return self.pack("II33Q", 0x400007, 0x60000000, *words).ljust(912, b"\0")

    def amd64(self, rip, rsp, rbp):
        text = bytearray(1232)
        struct.pack_into(self.end + "IIHHHHHHI", text, 48, 0x10000F, 0, 0x2B, 0, 0, 0, 0, 0, 0x246)
        struct.pack_into(self.end + "17Q", text, 120, 1, 2, 3, 4, rsp, rbp, *range(7, 17), rip)
        return bytes(text)

    def x86(self, eip, esp, ebp):
        text = bytearray(716)
        struct.pack_into(self.end + "I", text, 0, 0x1000F)
        struct.pack_into(self.end + "16I", text, 140, 0x37, 0, 0x1F, 0x1F, 1, 2, 3, 4, 5, 6, ebp, eip, 0x17, 0x246, esp, 0x1F)
        return bytes(text)

    def arm(self, pc, sp, r7, lr):
        return self.pack("I17I", 0x40000003, 0, 1, 2, 3, 4, 5, 6, r7, 8, 9, 10, 11, 12, sp, lr, pc, 0x30).ljust(368, b"\0")

    def records(self, at, returns, word=8, lead=0):
        """A stack at `at`: `lead` bytes, then frame records one after the other; the last one's caller is 0. Memory is
        that of the processor, so its words are little-endian in every dump."""
        form, text, here = "QQ" if word == 8 else "II", bytes(lead), at + lead
        for number, addr in enumerate(returns):
            here += 2 * word
            text += struct.pack("<" + form, here if number + 1 < len(returns) else 0, addr)
        return text

    def done(self):
        directory = b"".join(self.pack("III", *s) for s in self.streams)
        _, at = self.put(directory)
        self.body[:32] = self.pack("IIIIIIQ", 0x504D444D, 0xA793, len(self.streams), at, 0, 1767225600, 0)
        return bytes(self.body)


IMAGES = [(APP, 0x8000, "/private/var/Shop.app/Shop", SHOP, None),
          (SYSTEM, 0x20000, "/usr/lib/system/libsystem_c.dylib", LIBC, (1 << 16 | 2, 3 << 16))]


def crashpad_mac():
    """A null pointer on macOS, with all that Crashpad writes there."""
    d = Dump()
    d.system(AMD64, MACOS, (14, 2, 1), "23C71")
    stack = d.records(STACK, [APP + 0x4010, APP + 0x4030, SYSTEM + 0x104], lead=16)
    context = d.amd64(APP + 0x4068, STACK, STACK + 16)
    d.threads([(259, STACK + 0x10000, bytes(32), d.amd64(SYSTEM + 0x208, STACK + 0x10000, 0), 31),
               (771, STACK, stack, d.amd64(SYSTEM, STACK, 0), 47)])
    d.modules(IMAGES)
    d.memory([(STACK, b"x"), (0x600000000000, b"heap bytes")])
    d.exception(771, 1, 1, 0x10, [1, 1, 0x10], context)
    d.names([(771, "main \U0001F980"), (5, "nobody")])
    d.crashpad([("prod", "Shop"), ("ver", "1.2.34"), ("channel", "beta")],
               [(0, [], [("ptype", "browser")], [("url-chunk", 1, "about:blank"), ("bits", 2, b"\1\2")]),
                (1, ["abort() called"], [], [])])
    d.misc("macOS 14.2.1 (23C71); MacBookPro18,1 (Mac-1234)")
    d.crash_info([(0, ["/usr/lib/libobjc.A.dylib", "bad isa", "sig", "", "second"])])
    return d.done()


def nsexception_ios():
    """Crashpad on iOS: an uncaught NSException; the stack is made of the exception's own return addresses."""
    d = Dump()
    d.system(ARM64, IOS)
    # As Crashpad rebuilds it: records from address 8 up, pc and lr hold the first two addresses.
    stack = bytes(8) + d.pack("QQQQ", 24, APP + 0x4030, 0, SYSTEM + 0x104)
    context = d.arm64(SYSTEM + 0x300, 0, 8, APP + 0x4120)
    d.threads([(771, 0, stack, context, 0)])
    d.modules(IMAGES)
    d.exception(771, 0x43506E78, 0, SYSTEM + 0x300, [], context)
    d.crashpad([], [(0, [], [], [("exceptionName", 1, "NSRangeException"),
                                 ("exceptionReason", 1, "index 7 beyond bounds [0 .. 2]")])])
    return d.done()


def signal_ios():
    """Crashpad on iOS: a caught signal is the exception's code; the call went to address 0."""
    d = Dump()
    d.system(ARM64, IOS, (16, 4, 0), "20E247")
    context = d.arm64(0, STACK, STACK + 32, APP + 0x4010)
    d.threads([(771, STACK, d.records(STACK, [APP + 0x4030], lead=32), context, 0)])
    d.modules(IMAGES)
    d.exception(771, 11, 2, 0, [], context)
    d.crashpad([], [])
    return d.done()


def breakpad_arm64_old():
    """Breakpad's first arm64 context, signed return addresses, padded lists, the stack in the memory list alone."""
    d = Dump()
    d.system(ARM64_OLD, IOS, (10, 3, 0), "14E277")
    signed = 0x2A5F << 48
    stack = d.records(STACK, [signed | APP + 0x4010, APP + 0x4030], lead=8)
    d.threads([(1027, STACK, None, d.arm64(APP + 0x4068, STACK, STACK + 8, 0, old=True), 0)], pad=True)
    d.modules([(APP, 0x8000, "/private/var/Shop.app/Shop", SHOP, (1, 2 << 16 | 3)),
               (SYSTEM, 0x20000, "/usr/lib/libnone.dylib", None, None)], pad=True)
    d.memory([(STACK, stack)])
    d.exception(1027, 10, 0x06000000, APP + 0x4068, [], None)
    d.stream(0x47670001, d.pack("III", 3, 1283, 1027))
    d.stream(10, b"the user wrote this\0")
    d.stream(16, bytes(16))
    return d.done()


def big_endian():
    """Every number of the dump the other way round."""
    d = Dump(">")
    d.system(X86, MACOS, (10, 6, 8), "10K549")
    stack = d.records(0xBFFFF000, [0x1F4B, 0x1E6E], word=4)
    d.threads([(1, 0xBFFFF000, stack, d.x86(0x90000584, 0xBFFFF000, 0xBFFFF000), 0)])
    d.modules([(0x1000, 0x3000, "/Applications/Demo", SHOP, None), (0x90000000, 0x1000, "/usr/lib/libc", LIBC, None)])
    d.exception(1, 1, 2, 5, [], d.x86(0x90000584, 0xBFFFF000, 0xBFFFF000))
    return d.done()


def no_crash():
    """Breakpad on an armv7 device: a dump that the app asked for."""
    d = Dump()
    d.system(ARM, IOS, (9, 3, 5), "13G36")
    stack = d.records(0x27DFF000, [0xB001, 0xB101], word=4)
    d.threads([(771, 0, None, None, 0), (1283, 0x27DFF000, stack, d.arm(0xB200, 0x27DFF000, 0x27DFF000, 0), 0)])
    d.modules([(0xA000, 0x4000, "/var/Shop.app/Shop", SHOP, None)])
    d.stream(0x47670001, d.pack("III", 3, 771, 1283))
    return d.done()


def foreign(platform):
    d = Dump()
    d.system(AMD64, platform)
    return d.done()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)


def main():
    cases = (crashpad_mac, nsexception_ios, signal_ios, breakpad_arm64_old, big_endian, no_crash)
    for case in cases:
        write(os.path.join(HERE, "minidump", case.__name__, "input.dmp"), case())
        write(os.path.join(SEEDS, case.__name__), case())
    write(os.path.join(SEEDS, "cut"), crashpad_mac()[:-300])
    write(os.path.join(SEEDS, "linux"), foreign(LINUX))
    write(os.path.join(SEEDS, "windows"), foreign(WINDOWS))
    write(os.path.join(SEEDS, "empty"), Dump().done())


if __name__ == "__main__":
    main()
