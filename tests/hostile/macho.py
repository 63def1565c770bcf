"""Mach-O files made of sections, for tests that need hostile ones.

    bytes = macho([("__debug_info", info), ("__debug_abbrev", abbrev)], symbols=[...])
"""

import struct

HEADER, PAGE = 32, 4096
TEXT_VMADDR, TEXT_SIZE = 0x100000000, 0x40000000
CODE = 0x80000400  # S_ATTR_PURE_INSTRUCTIONS, S_ATTR_SOME_INSTRUCTIONS


def segment(name, vmaddr, vmsize, offset, size, sections):
    body = b"".join(struct.pack("<16s16sQQIIIIIIII", s[0].encode(), name.encode(), s[1], s[2], s[3], 0, 0, 0, s[4], 0, 0, 0)
                    for s in sections)
    return struct.pack("<II16sQQQQIIII", 0x19, 72 + len(body), name.encode(), vmaddr, vmsize, offset, size, 7, 5,
                       len(sections), 0) + body


def macho(debug, symbols=b"", strings=b"", exports=b"", uuid=b"HOSTILE MACHO  1"):
    """The bytes of a 64-bit dSYM with these sections of __DWARF, and a __text of 1 GB that has no bytes."""
    tables = [symbols, strings, exports]
    n_commands = 5
    header_end = HEADER + 24 + 152 + 72 + 80 * len(debug) + 24 + 48
    at = -(-header_end // PAGE) * PAGE
    sections, body = [], []
    for name, data in debug:
        sections.append((name, 0x200000000 + at, len(data), at, 0))
        body.append(data)
        at += len(data)
    places = []
    for data in tables:
        places.append(at if data else 0)
        body.append(data)
        at += len(data)
    commands = struct.pack("<II", 0x1b, 24) + uuid
    commands += segment("__TEXT", TEXT_VMADDR, TEXT_SIZE, 0, 0, [("__text", TEXT_VMADDR + PAGE, TEXT_SIZE - PAGE, 0, CODE)])
    commands += segment("__DWARF", 0x200000000, at, 0, at, sections)
    commands += struct.pack("<IIIIII", 2, 24, places[0], len(symbols) // 16, places[1], len(strings))
    commands += struct.pack("<II", 0x80000022, 48) + bytes(32) + struct.pack("<II", places[2], len(exports))
    head = struct.pack("<IIIIIIII", 0xfeedfacf, 0x0100000c, 0, 10, n_commands, len(commands), 0, 0) + commands
    return head + bytes(-len(head) % PAGE) + b"".join(body)
