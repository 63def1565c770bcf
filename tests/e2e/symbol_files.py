"""Symbol files for tests to send: the project's sample in every form that an uploader may find.

corpus(...) is a path in the corpus of real reports and requests, None without it.
"""

import io
import os
import struct
import zipfile

SAMPLE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "sample"))


def corpus(*parts):
    """A path in the corpus of real reports and requests; None without it."""
    top = os.environ.get("FRAMEZERO_CORPUS")
    path = os.path.join(top, *parts) if top else None
    return path if path and os.path.exists(path) else None


def sample(name):
    with open(os.path.join(SAMPLE, name), "rb") as f:
        return f.read()


def sample_macho():
    with zipfile.ZipFile(os.path.join(SAMPLE, "Demo.dSYM.zip")) as z:
        return z.read(next(n for n in z.namelist() if "/DWARF/" in n and not n.endswith("/")))


LC_UUID, CPU_X86_64, CPU_ARM64, CPU_ARM = 0x1B, 0x01000007, 0x0100000C, 12


def macho_uuid(macho):
    """The offset of the UUID in a thin 64-bit Mach-O."""
    n_commands, at = struct.unpack_from("<I", macho, 16)[0], 32
    for _ in range(n_commands):
        command, size = struct.unpack_from("<II", macho, at)
        if command == LC_UUID:
            return at + 8
        at += size
    raise ValueError("no LC_UUID")


def as_x86_64(macho):
    """The same symbol file as of another architecture, with a UUID of its own."""
    return as_cpu(macho, CPU_X86_64, 3, 0xFF)


def as_cpu(macho, cpu, sub, change):
    """The same symbol file with another cpu type and subtype; `change` makes another UUID."""
    changed = bytearray(macho)
    struct.pack_into("<II", changed, 4, cpu, sub)
    changed[macho_uuid(macho)] ^= change
    return bytes(changed)


def fat(*slices):
    """A universal file of thin 64-bit ones."""
    align = 14
    offset, header, body = 1 << align, struct.pack(">II", 0xCAFEBABE, len(slices)), b""
    for data in slices:
        cpu, sub = struct.unpack_from("<II", data, 4)
        body += b"\0" * (-len(body) % (1 << align))
        header += struct.pack(">IIIII", cpu, sub, offset + len(body), len(data), align)
        body += data
    return header + b"\0" * (offset - len(header)) + body


def uuid_of(macho):
    at = macho_uuid(macho)
    return macho[at:at + 16].hex()


def dashed(uuid):
    return "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def make_dsym(folder, name, macho):
    """A .dSYM bundle with this DWARF file; its path."""
    bundle = os.path.join(folder, f"{name}.dSYM")
    write(os.path.join(bundle, "Contents", "Info.plist"), b'<?xml version="1.0"?><plist version="1.0"><dict/></plist>')
    write(os.path.join(bundle, "Contents", "Resources", "DWARF", name), macho)
    return bundle


def make_xcarchive(folder):
    """An archive as Xcode leaves it: a fat dSYM, its UUID map, a BCSymbolMap; path and the UUIDs of the dSYM."""
    thin = sample_macho()
    other = as_x86_64(thin)
    top = os.path.join(folder, "App.xcarchive")
    bundle = make_dsym(os.path.join(top, "dSYMs"), "Demo.app", fat(thin, other))
    key = dashed(uuid_of(thin)).upper()
    write(os.path.join(bundle, "Contents", "Resources", f"{key}.plist"),
          b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict><key>DBGOriginalUUID</key>'
          b"<string>11111111-2222-3333-4444-555555555555</string></dict></plist>\n")
    write(os.path.join(top, "BCSymbolMaps", "11111111-2222-3333-4444-555555555555.bcsymbolmap"),
          b"BCSymbolMap Version: 2.0\n_first\n_second\n")
    return top, [uuid_of(thin), uuid_of(other)]


def with_hidden_name(macho, name):
    """The file as a bitcode build leaves it: a name hidden in the symbol table and in DWARF, and the map that has it."""
    hidden = b"__hidden#0_"
    for spelling in (b"_" + name, name):
        old = b"\0" + spelling + b"\0"
        if old not in macho:
            raise ValueError(f"{spelling} is not in the file")
        macho = macho.replace(old, b"\0" + hidden.ljust(len(spelling), b"\0") + b"\0")
    return macho, b"BCSymbolMap Version: 2.0\n_" + name + b"\n"


def zip_folder(path):
    """The bytes of a zip of a folder, the folder's own name at the top."""
    out, top = io.BytesIO(), os.path.dirname(path)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for folder, _, names in os.walk(path):
            for name in sorted(names):
                full = os.path.join(folder, name)
                z.write(full, os.path.relpath(full, top))
    return out.getvalue()
