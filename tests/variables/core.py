#!/usr/bin/env python3
"""Writes a report with registers and memory as a Mach-O core file, which lldb opens on Linux: core.py REPORT CORE"""
import base64
import json
import struct
import sys

MH_CORE, LC_THREAD, LC_SEGMENT_64 = 4, 4, 0x19
X86 = "rax rbx rcx rdx rdi rsi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip rflags cs fs gs".split()


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def thread_state(arch, registers):
    """The cpu type, and the thread states as LC_THREAD has them: flavour, number of words, words."""
    if arch.startswith("arm64"):
        general = [registers.get(f"x{i}", 0) for i in range(29)] + [registers[name] for name in ("fp", "lr", "sp", "pc")]
        state = struct.pack("<33QII", *general, registers.get("cpsr", 0), 0)
        vectors = b"".join(registers.get(f"v{i}", 0).to_bytes(16, "little") for i in range(32)) + bytes(8)
        return (0x100000C, 0), struct.pack("<II", 6, 68) + state + struct.pack("<II", 17, len(vectors) // 4) + vectors
    state = struct.pack("<21Q", *(registers.get(name, 0) for name in X86))
    floats = bytearray(524)
    for i in range(16):
        floats[168 + 16 * i:184 + 16 * i] = registers.get(f"xmm{i}", 0).to_bytes(16, "little")
    return (0x1000007, 3), struct.pack("<II", 4, 42) + state + struct.pack("<II", 5, 131) + bytes(floats)


def write_core(report, path):
    thread = next(t for t in report["threads"] if t.get("crashed", True))
    cpu, state = thread_state(report["arch"], {name: number(value) for name, value in thread["registers"].items()})
    regions = [thread["stack"]] if "stack" in thread else []
    regions = sorted((number(r["address"]), base64.b64decode(r["bytes"])) for r in regions + report.get("memory", []))
    segments, end = [], 0
    for address, data in regions:
        data = data[max(end - address, 0):]
        address = max(address, end)
        if data:
            segments.append((address, data))
            end = address + len(data)
    size = 72 * len(segments) + 8 + len(state)
    offset = start = (32 + size + 0xFFF) & ~0xFFF
    commands = b""
    for address, data in segments:
        commands += struct.pack("<II16sQQQQIIII", LC_SEGMENT_64, 72, b"", address, len(data), offset, len(data), 7, 7, 0, 0)
        offset += len(data)
    commands += struct.pack("<II", LC_THREAD, 8 + len(state)) + state
    with open(path, "wb") as file:
        file.write(struct.pack("<IIIIIIII", 0xFEEDFACF, *cpu, MH_CORE, len(segments) + 1, size, 0, 0) + commands)
        file.seek(start)
        file.write(b"".join(data for _, data in segments))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        write_core(json.load(source), sys.argv[2])
