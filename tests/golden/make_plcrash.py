#!/usr/bin/env python3
"""Writes the PLCrashReporter inputs of the golden cases, and the seeds of their fuzz target; all contents are invented.

usage: make_plcrash.py            (in place, beside this file; then --target golden-update, and review the diff)
"""

import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "..", "fuzz", "corpus", "ingest_plcrash")


def varint(n):
    out = b""
    while True:
        out += bytes([(n & 0x7F) | (0x80 if n > 0x7F else 0)])
        n >>= 7
        if not n:
            return out


def num(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def blob(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(pc, symbol=None, field=3):
    text = num(3, pc)
    if symbol:
        name, start = symbol
        text += blob(6, blob(1, name) + num(2, start))
    return blob(field, text)


def thread(number, frames, crashed=False, registers=()):
    text = num(1, number) + b"".join(frame(*f, field=2) for f in frames) + num(3, crashed)
    return blob(3, text + b"".join(blob(4, blob(1, name) + num(2, value)) for name, value in registers))


def image(base, size, path, uuid, cpu=(0x0100000C, 0)):
    text = num(2, size) + num(1, base) + blob(3, path) + blob(4, bytes.fromhex(uuid))
    if cpu:
        text += blob(5, num(1, 1) + num(2, cpu[0]) + num(3, cpu[1]))
    return blob(4, text)


def system(os_number=1, version="17.2", architecture=6, build="21C62"):
    return blob(1, num(1, os_number) + blob(2, version) + num(3, architecture) + num(4, 1767225600)
                + (blob(5, build) if build else b""))


def application():
    return blob(2, blob(1, "com.example.shop") + blob(2, "34") + blob(3, "1.2"))


def process():
    return blob(7, blob(1, "Shop") + num(2, 4242) + blob(3, "/private/var/Shop.app/Shop") + blob(4, "launchd")
                + num(5, 1) + num(6, 1) + num(7, 1767225000))


def machine():
    return blob(8, blob(1, "iPhone15,2") + blob(2, num(1, 1) + num(2, 0x0100000C) + num(3, 2)) + num(3, 6) + num(4, 6))


SHOP = "4c4c445b55553144a12988beb9d5eb60"
LIBC = "00112233445566778899aabbccddeeff"
INFO = blob(9, num(1, 0) + blob(2, bytes.fromhex("5e1f2a2e0000400080000000000000aa")))
IMAGES = (image(0x104000000, 0x8000, "/private/var/Shop.app/Shop", SHOP)
          + image(0x1A0000000, 0x20000, "/usr/lib/system/libsystem_c.dylib", LIBC, (0x0100000C, 0x80000002)))


def usual():
    """A null pointer; one name of the client's, one that it hides, and JSON of the app's own."""
    main = [(0x104004068, ("_work_step", 0x104004060)), (0x10400400C, ("<redacted>", 0x104004000)),
            (0x104004030, ("-[Shop open:]", 0x104004020)), (0x1A0000104, None)]
    registers = [("pc", 0x104004068), ("fp", 0x16FDFF000), ("sp", 0x16FDFEFF0), ("x0", 21),
                 ("x8", 0xFFFFFFFFFFFFFFFF), ("lr", 0x10400400C)]
    signal = blob(6, blob(1, "SIGSEGV") + blob(2, "SEGV_MAPERR") + num(3, 0x10)
                  + blob(4, num(1, 1) + num(2, 1) + num(2, 0x10)))
    return (system() + application() + process() + machine() + INFO + thread(0, [(0x1A0000208, None)])
            + thread(1, main, True, registers) + IMAGES + signal
            + blob(10, '{"user":"u1","level":3}'))


def exception():
    """An NSException: every frame of its backtrace is a return address."""
    thrown = [(0x1A0000300, ("___exceptionPreprocess", 0x1A0000280)), (0x104004120, ("__Z4testv", 0x104004100))]
    text = blob(1, "NSRangeException") + blob(2, "index 7 beyond bounds [0 .. 2]")
    text += b"".join(frame(*f) for f in thrown)
    return (IMAGES + blob(5, text) + blob(6, blob(1, "SIGABRT") + blob(2, "#0") + num(3, 0x1A0000400))
            + thread(0, [(0x1A0000400, None), (0x1A0000500, None)], True, [("pc", 0x1A0000400)])
            + system(4) + application() + INFO + blob(10, "free words"))


def old():
    """Version 1.0 of the format: only system_info has the processor, and the other messages are missing."""
    images = image(0x1000, 0x3000, "/Applications/Demo.app/MacOS/Demo", SHOP, None)
    images += blob(4, num(1, 0x90000000) + num(2, 0x100000) + blob(3, "/usr/lib/libSystem.B.dylib"))
    return (system(0, "10.5.6", 0, None) + application() + thread(0, [(0x90000584, None), (0x1F4B, None)], True,
                                                                 [("eip", 0x90000584)])
            + images + blob(6, blob(1, "SIGBUS") + blob(2, "BUS_ADRERR") + num(3, 5)))


def odd():
    """What other writers may do: unknown fields, groups, wrong types, packed codes, missing parts, live reports."""
    group = varint(12 << 3 | 3) + num(1, 5) + varint(12 << 3 | 4)
    bad_image = blob(4, blob(3, "/usr/lib/libnone.dylib"))
    bad_uuid = blob(4, num(1, 0x200000000) + num(2, 1 << 63) + blob(3, "/a/b") + blob(4, b"short")
                    + blob(5, num(1, 0) + num(2, 7)))
    frames = b"".join(blob(2, f) for f in (blob(6, blob(1, "f")), num(3, 0x104004068) + num(9, 77), b""))
    odd_thread = blob(3, num(1, 7) + frames + num(3, 1) + blob(4, num(2, 5)) + blob(1, "seven"))
    signal = blob(6, blob(1, "SIGTRAP") + num(2, 5) + blob(4, num(1, 99) + blob(2, varint(3) + varint(1 << 63))))
    return (group + system(9) + num(2, 4) + blob(11, "more") + num(12, (1 << 64) - 1)
            + struct.pack("<BQ", 13 << 3 | 1, 7) + blob(14, b"\0\xff") + odd_thread + bad_image + IMAGES + bad_uuid
            + signal + blob(9, num(1, 1) + blob(2, b"not sixteen")) + blob(10, b"\0\1\2"))


def cut():
    """The disk was full: the file ends within the last image's path."""
    whole = usual().replace(blob(10, '{"user":"u1","level":3}'), b"")
    signal = whole.index(b"SIGSEGV") - 4
    reordered = whole[:whole.index(IMAGES)] + whole[signal:] + IMAGES
    return reordered[:-60]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)


def main():
    for case in (usual, exception, old, odd, cut):
        text = b"plcrash\x01" + case()
        write(os.path.join(HERE, "plcrash", case.__name__, "input.plcrash"), text)
        write(os.path.join(SEEDS, case.__name__), text)
    write(os.path.join(SEEDS, "version"), b"plcrash\x02" + usual())
    write(os.path.join(SEEDS, "deep"), b"plcrash\x01" + system() + b"\x1b" * 80)
    write(os.path.join(SEEDS, "nothing"), b"plcrash\x01\x00\xff")


if __name__ == "__main__":
    main()
