#!/usr/bin/env python3
"""Archives with tricks and bombs through a real server: refused or bounded, nothing written outside of its own folder.

usage: test_archives.py --framezero BINARY

Each archive is generated here and sent as an upload of its own. Its verdict must come within 10 seconds of CPU of the child
and without a death; what it leaves on disk is bounded. Around the server's folder are files and folders that members name,
as absolute paths, through '..' and through links: afterwards they are as they were, and no file of a name that members have is
anywhere in the folder tree of the test, the server's own folder included.
"""

import argparse
import bz2
import gzip
import hashlib
import io
import lzma
import os
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
from framezero import Server  # noqa: E402
from symbol_files import sample, sample_macho  # noqa: E402

ANSWERS = {201, 400, 413, 415, 422}
CANARY = "canary-in-the-tree"
DISK_MAX = 64 << 20  # what one of these may leave


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, data)
    return out.getvalue()


def linked(name, mode=stat.S_IFLNK | 0o777):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def tar_of(members, format=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for member, data in members:
            info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            if info.isreg():
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return out.getvalue()


def special(name, kind, target="", **more):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    for key, value in more.items():
        setattr(info, key, value)
    return info


def patched(data, *changes):
    out = bytearray(data)
    for at, layout, value in changes:
        struct.pack_into(layout, out, at if at >= 0 else len(out) + at, value)
    return bytes(out)


def central(data, nth=0):
    """Where the central directory's entry is."""
    at = struct.unpack_from("<I", data, len(data) - 6)[0]
    for _ in range(nth):
        n, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        at += 46 + n + extra + comment
    return at


def overlapping(n, size=1 << 20):
    """Fifield: all entries of the directory name one compressed run."""
    one = zip_of([("f0", bytes(size))])
    start, end = central(one), len(one) - 22
    entries = b"".join(one[start:end].replace(b"f0", b"%02x" % (i % 256)) for i in range(n))
    return one[:start] + entries + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, n % 65536, n % 65536, len(entries), start, 0)


def zip64(macho, size):
    """An entry whose 64-bit sizes are lies."""
    one = zip_of([("a", macho)], zipfile.ZIP_STORED)
    at = central(one)
    extra = struct.pack("<HHQQQ", 1, 24, size, size, 0)
    entry = bytearray(one[at:len(one) - 22] + extra)
    struct.pack_into("<II", entry, 20, 0xFFFFFFFF, 0xFFFFFFFF)
    struct.pack_into("<H", entry, 30, len(extra))
    struct.pack_into("<I", entry, 42, 0xFFFFFFFF)
    return one[:at] + bytes(entry) + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(entry), at, 0)


def encrypted(macho):
    one = zip_of([("a", macho)])
    return patched(one, (6, "<H", 1), (central(one) + 8, "<H", 1))


def descriptor(data, crc, size):
    """A streamed entry whose sizes follow it, wrongly."""
    packed = zlib.compress(data)[2:-4]
    head = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 8, 8, 0, 0, 0, 0, 0, 1, 0) + b"a"
    tail = struct.pack("<IIII", 0x08074B50, crc, len(packed), size)
    at = len(head) + len(packed) + len(tail)
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 8, 8, 0, 0, crc, len(packed), size, 1, 0, 0, 0, 0, 0, 0) + b"a"
    return head + packed + tail + entry + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(entry), at, 0)


def nested(depth, make, inner):
    for i in range(depth):
        inner = make([(f"n{i}.zip", inner)])
    return inner


def sparse_tar(size):
    """An old GNU sparse file: a hole of any size, and 512 bytes."""
    head = bytearray(tarfile.TarInfo("s.dSYM/Contents/Resources/DWARF/s").tobuf(tarfile.GNU_FORMAT))
    head[156:157] = b"S"
    head[124:136] = b"%011o\0" % 512
    head[386:398], head[398:410] = b"%011o\0" % (size - 512), b"%011o\0" % 512
    head[483:495] = b"\x80\0\0\0" + struct.pack(">Q", size)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(512 + 1024)


def pax(key, value, claimed=None):
    """A pax header with one record, whose length may be a lie."""
    record = f"{claimed or len(key) + len(value) + 8} {key}={value}\n".encode()
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, len(record)
    body = record + bytes(-len(record) % 512)
    return info.tobuf(tarfile.USTAR_FORMAT) + body + tar_of([("a", b"x")])


def pax_of_size(size):
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(4096)


def archives(outside):
    """[(name, bytes)]; `outside` is a folder that members try to write to."""
    macho, path = sample_macho(), os.path.join(outside, CANARY)
    up = "../" * 12 + path.lstrip("/")
    dsym = "a.dSYM/Contents/Resources/DWARF/a"
    zeros, link = bytes(32 << 20), os.path.join(outside, "link")
    quine_like = zip_of([("self.zip", zip_of([("self.zip", zip_of([("a", macho)]))]))])
    yield "zip: ..", zip_of([(up, macho)])
    yield "zip: absolute", zip_of([(path, macho)])
    yield "zip: backslashes", zip_of([(up.replace("/", "\\"), macho)])
    yield "zip: drive", zip_of([("C:\\" + CANARY, macho), ("//server/share/" + CANARY, macho)])
    yield "zip: NUL in the name", zip_of([("a.dSYM/x" + CANARY, macho)]).replace(b"x" + CANARY.encode(), b"\0" + CANARY.encode())
    yield "zip: no name", zip_of([("", macho)])
    yield "zip: names of 65,535 bytes", zip_of([("d/" * 32700 + CANARY, macho)])
    yield "zip: not UTF-8", zip_of([("a" * 8, macho)]).replace(b"a" * 8, b"\xff\xfe\x80../\x1b")
    yield "zip: link, then through it", zip_of([(linked("l"), outside.encode()), ("l/" + CANARY, macho)])
    yield "zip: link to a file", zip_of([(linked(dsym), path.encode())])
    yield "zip: device", zip_of([(linked("dev", stat.S_IFCHR | 0o666), b""), (linked("fifo", stat.S_IFIFO | 0o666), b"")])
    yield "zip: the same name 500 times", zip_of([(dsym, macho)] * 500)
    yield "zip: a file, then a folder of its name", zip_of([("a", macho), ("a/b", macho), ("a/", b"")])
    yield "zip: overlapping, 9,000", overlapping(9000)
    yield "zip: overlapping, 60,000", overlapping(60000)
    yield "zip: 65,000 entries", zip_of([(f"{i}", b"") for i in range(65000)], zipfile.ZIP_STORED)
    yield "zip: 12,000 Mach-Os", zip_of([(f"{i}", macho[:64]) for i in range(12000)])
    yield "zip: ratio", zip_of([(dsym, macho[:32] + zeros)])
    yield "zip: ratio, many", zip_of([(f"{i}", zeros[:4 << 20]) for i in range(64)])
    yield "zip: size too small", patched(zip_of([("a", macho)]), (22, "<I", 10))
    yield "zip: sizes too small in both", (lambda z: patched(z, (22, "<I", 10), (central(z) + 24, "<I", 10)))(zip_of([("a", macho)]))
    yield "zip: size too large", (lambda z: patched(z, (22, "<I", 1 << 31), (central(z) + 24, "<I", 1 << 31)))(zip_of([("a", macho)]))
    yield "zip: offset outside", (lambda z: patched(z, (central(z) + 42, "<I", 0xFFFFFFF0)))(zip_of([("a", macho)]))
    yield "zip: directory outside", patched(zip_of([("a", macho)]), (-6, "<I", 0xFFFFFFF0))
    yield "zip: wrong checksum", (lambda z: patched(z, (14, "<I", 1), (central(z) + 16, "<I", 1)))(zip_of([("a", macho)]))
    yield "zip64: 2^63", zip64(macho, 1 << 63)
    yield "zip64: 2^64 - 1", zip64(macho, (1 << 64) - 1)
    yield "zip64: 1 TB", zip64(macho, 1 << 40)
    yield "zip: encrypted", encrypted(macho)
    yield "zip: descriptor", descriptor(macho, zlib.crc32(macho), len(macho))
    yield "zip: descriptor that lies", descriptor(macho, 1, 0xFFFFFFF0)
    yield "zip: unknown method", (lambda z: patched(z, (8, "<H", 97), (central(z) + 10, "<H", 97)))(zip_of([("a", macho)]))
    yield "zip: bzip2 and lzma", zip_of([("a", zeros)], zipfile.ZIP_BZIP2) + zip_of([("a", zeros)], zipfile.ZIP_LZMA)
    yield "zip: before and after it, others", b"MZ" + bytes(1000) + zip_of([("a", macho)]) + bytes(60000)
    yield "zip: nested 40 deep", nested(40, zip_of, zip_of([("a", macho)]))
    yield "zip: in itself", quine_like
    yield "zip: cut", zip_of([("a", macho), ("b", macho)])[:-100]
    yield "tar: ..", tar_of([(up, macho)])
    yield "tar: absolute", tar_of([(path, macho)])
    yield "tar: link, then through it", tar_of([(special("l", tarfile.SYMTYPE, outside), b""), ("l/" + CANARY, macho)])
    yield "tar: hard link", tar_of([(special(dsym, tarfile.LNKTYPE, path), b""), (special("m", tarfile.LNKTYPE, "/etc/passwd"), b"")])
    yield "tar: devices", tar_of([(special("c", tarfile.CHRTYPE, devmajor=1, devminor=5), b""), (special("f", tarfile.FIFOTYPE), b""),
                                  (special("b", tarfile.BLKTYPE, devmajor=8), b""), (special(link, tarfile.SYMTYPE, "x"), b"")])
    yield "tar: set-user-id", tar_of([(special(dsym, tarfile.REGTYPE, mode=0o6777, uid=0), macho)])
    yield "tar: sparse, 1 TB", sparse_tar(1 << 40)
    yield "tar: sparse, 2^63", sparse_tar((1 << 63) - 1)
    yield "tar: pax header of 1 GB", pax_of_size(1 << 30)
    yield "tar: pax header of 2^60", pax_of_size(1 << 60)
    yield "tar: pax size of 2^63", pax("size", str(1 << 63))
    yield "tar: pax record that lies", pax("path", CANARY, 999999999)
    yield "tar: pax path", pax("path", up)
    yield "tar: name of 1 MB", tar_of([("d/" * 500000 + CANARY, b"x")], tarfile.GNU_FORMAT)
    yield "tar: 200,000 entries, gzip", gzip.compress(tarfile.TarInfo("x").tobuf() * 200000)
    yield "tar: negative size", patched(tar_of([("a", macho)]), (124, ">I", 0xFFFFFFFF), (128, ">Q", 0xFFFFFFFFFFFFFFFF))
    yield "tar: cut", tar_of([("a", macho)])[:700]
    yield "gzip: bomb", gzip.compress(macho + bytes(100 << 20), 1)
    yield "gzip: twice", gzip.compress(gzip.compress(bytes(16 << 20)))
    yield "gzip: 20,000 members", gzip.compress(b"") * 20000 + gzip.compress(tar_of([("a", macho)]))
    yield "gzip: name with ..", b"\x1f\x8b\x08\x08" + bytes(6) + up.encode() + b"\0" + zlib.compress(macho)[2:-4] + struct.pack("<II", zlib.crc32(macho), len(macho))
    yield "gzip: wrong length", gzip.compress(tar_of([("a", macho)]))[:-4] + b"\xff\xff\xff\x7f"
    yield "xz: bomb", lzma.compress(bytes(32 << 20), preset=0)
    yield "xz: dictionary of 4 GB", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x28\0\0\0" + bytes(64)
    yield "xz: concatenated", lzma.compress(tar_of([("a", macho)])) * 200
    yield "bzip2: bomb", bz2.compress(bytes(20 << 20))
    yield "zstd: window of 2 GB", b"\x28\xb5\x2f\xfd\x00\xa8" + bytes(200)
    yield "7z, rar, cab, iso", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(100) + b"Rar!\x1a\x07\0" + b"MSCF" + bytes(40000) + b"CD001"
    yield "ar, cpio, mtree", b"!<arch>\n" + b"070701" + b"f" * 104 + b"#mtree\n./a type=link link=" + path.encode()


class Tree:
    """What is in a folder: names, kinds, sizes and contents."""

    def __init__(self, top, *without):
        self.found = {}
        for folder, folders, names in os.walk(top):
            folders[:] = [f for f in folders if os.path.join(folder, f) not in without]
            for name in folders + names:
                path = os.path.join(folder, name)
                st = os.lstat(path)
                digest = ""
                if stat.S_ISREG(st.st_mode):
                    with open(path, "rb") as file:
                        digest = hashlib.sha256(file.read()).hexdigest()
                self.found[path] = (st.st_mode, st.st_size, st.st_mtime_ns if not stat.S_ISDIR(st.st_mode) else 0, digest)

    def changes(self, other):
        return sorted(p for p in {**self.found, **other.found} if self.found.get(p) != other.found.get(p))


def disk_use(top):
    # du fails when a file goes while it looks; files of uploads do.
    for _ in range(20):
        done = subprocess.run(["du", "-sB1", top], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
    return int(done.stdout.split()[0])


def children_cpu(server):
    """CPU seconds of the workers' children that have ended."""
    total = 0
    for pid in server.pids_of("worker"):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        total += int(fields[13]) + int(fields[14])
    return total / os.sysconf("SC_CLK_TCK")


def strange_names(top):
    """Files of the server that have a name which a member gave: blobs are named by their hash."""
    return [os.path.join(f, n) for f, folders, names in os.walk(top) for n in folders + names
            if CANARY in n or n in ("l", "link", "dev", "fifo", "self.zip") or n.endswith(".dSYM")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    options = parser.parse_args()
    wrong, n = [], 0
    with tempfile.TemporaryDirectory(prefix="framezero-archives-") as top:
        outside, data = os.path.join(top, "outside"), os.path.join(top, "data")
        os.makedirs(os.path.join(outside, "sub"))
        os.makedirs(data)
        with open(os.path.join(outside, "kept"), "w", encoding="ascii") as file:
            file.write("as it was\n")
        os.symlink("kept", os.path.join(outside, "pointer"))
        before = Tree(top, data)
        with Server(options.framezero, workers=1, data=data) as server:
            pids = [server.process.pid, *server.pids_of("serve"), *server.pids_of("worker")]
            for name, body in archives(outside):
                used, cpu = disk_use(data), children_cpu(server)
                status, answer = server.request("POST", "/api/v1/symbols?name=x", body=body, timeout=120)
                used, cpu, n = disk_use(data) - used, children_cpu(server) - cpu, n + 1
                why = [text for text, is_so in ((f"answered {status}", status not in ANSWERS),
                                                (f"{cpu:.1f} s of CPU", cpu > 10),
                                                (f"{used} bytes left on disk", used > DISK_MAX + len(body))) if is_so]
                wrong += [f"{name}: {text}: {str(answer)[:300]}" for text in why]
                error = answer.get("error", {}).get("message") if isinstance(answer, dict) else ""
                print(f"{'WRONG ' if why else ''}{name:<40}{len(body):>9} {status} {cpu:5.2f} s {used:>10}  "
                      f"{error or [f['verdict']['code'] for f in answer['files'][:3]]}"[:190], flush=True)
            _, text = server.request("GET", "/metrics", token=None)
            wrong += [line for line in text.decode().splitlines()
                      if line.startswith(("framezero_child_deaths_total", 'framezero_jobs{state="quarantined"}'))
                      and line.split()[-1] != "0"]
            now = [server.process.pid, *server.pids_of("serve"), *server.pids_of("worker")]
            wrong += [f"processes {pids} became {now}"] if pids != now else []
            status, answer = server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
            if status != 201 or answer["files"][0]["verdict"]["code"] != "ok":
                wrong.append(f"the sample afterwards: {status} {answer}")
            wrong += [f"a file of a member's name: {path}" for path in strange_names(top)]
        wrong += [f"changed outside: {path}" for path in before.changes(Tree(top, data))]
    print(f"{n} archives, {len(wrong)} wrong")
    for text in wrong:
        print(f"  WRONG {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
