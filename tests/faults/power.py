"""The folder as a power cut would have left it, of the log that power_shim.c wrote.

    base = copy(folder)                 before the first record
    replay = Replay(base, folder, read_log(path))
    replay.run_to(n)                    the first n records
    replay.write(folder, keep)          keep(): whether an operation that was not synced has reached the disk

Rules, as those of POSIX and of ext4's documentation: the bytes of a file are durable after a sync of the file, a name
after a sync of its folder, and only what was done before that sync began. All else may be on the disk or not, each
operation for itself, a write also in parts of 512 bytes.
"""

import os
import re
import shutil
import struct

CREATE, WRITE, TRUNCATE, LINK, RENAME, UNLINK, MKDIR, SYNC_BEGIN, SYNC_END, ANSWER = range(1, 11)
HEADER = struct.Struct("<4I4Q")
SECTOR = 512


def read_log(path):
    """[(operation, path, to, inode, offset, data, is_folder, sync)]"""
    records = []
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at + HEADER.size <= len(data):
        operation, path_len, to_len, is_folder, inode, offset, data_len, sync = HEADER.unpack_from(data, at)
        at += HEADER.size
        name, at = data[at:at + path_len].decode(), at + path_len
        to, at = data[at:at + to_len].decode(), at + to_len
        body, at = data[at:at + data_len], at + data_len
        records.append((operation, name, to, inode, offset, body, is_folder, sync))
    return records


def answers(records):
    """[(number of the record, ids of reports, whether it is a 201)] of the answers in it."""
    found = []
    for n, record in enumerate(records):
        if record[0] == ANSWER:
            head = record[5][:12]
            found.append((n, re.findall(rb'"id": ?"([0-9a-f]{32})"', record[5]), head.endswith(b"201"),
                          re.findall(rb'"uuid": ?"([0-9a-f]{32})"', record[5])))
    return found


def copy(folder):
    """{name: (inode, bytes)} of the files, and {name: None} of the folders; all of it is durable."""
    base = {}
    for at, folders, names in os.walk(folder):
        relative = os.path.relpath(at, folder)
        base.update({os.path.normpath(os.path.join(relative, name)): None for name in folders})
        for name in names:
            if not name.endswith(("-shm", ".log")):
                path = os.path.join(at, name)
                with open(path, "rb") as f:
                    base[os.path.normpath(os.path.join(relative, name))] = (os.stat(path).st_ino, f.read())
    return base


class File:
    def __init__(self, data=b""):
        self.data = bytearray(data)  # what is durable
        self.pending = []  # (number of the record, operation, offset, bytes)

    def apply(self, operation, offset, data):
        if operation == TRUNCATE:
            if offset <= len(self.data):
                del self.data[offset:]
            else:
                self.data.extend(bytes(offset - len(self.data)))
            return
        if offset > len(self.data):
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:offset + len(data)] = data

    def sync(self, before):
        for n, *what in self.pending:
            if n < before:
                self.apply(*what)
        self.pending = [p for p in self.pending if p[0] >= before]

    def after_cut(self, keep):
        if not self.pending:
            return self.data  # most files at most moments: gigabytes would be copied for nothing
        left = File(self.data)
        for _, operation, offset, data in self.pending:
            if operation == TRUNCATE or len(data) <= SECTOR:
                if keep():
                    left.apply(operation, offset, data)
                continue
            for at in range(0, len(data), SECTOR):
                if keep():
                    left.apply(WRITE, offset + at, data[at:at + SECTOR])
        return left.data


class Replay:
    """Names are paths below the folder; a name leads to a File, or to None: a folder."""

    def __init__(self, base, folder, records):
        self.prefix, self.records, self.at = len(folder) + 1, records, 0
        self.files, self.durable, self.names, self.pending = {}, {}, {}, []
        self.syncs = {}
        self.inodes = {}
        for name, content in base.items():
            self.durable[name] = File(content[1]) if content else None
            if content:
                self.inodes[content[0]] = self.durable[name]
        self.names = dict(self.durable)

    def set_name(self, path, file):
        name = path[self.prefix:]
        self.names[name] = file
        self.pending.append((self.at, name, file))

    def drop_name(self, path):
        name = path[self.prefix:]
        self.names.pop(name, None)
        self.pending.append((self.at, name, False))

    @staticmethod
    def put(names, name, file):
        if file is False:
            names.pop(name, None)
        else:
            names[name] = file

    def sync_folder(self, folder, before):
        rest = []
        for n, name, file in self.pending:
            if n < before and os.path.dirname(name) == folder:
                self.put(self.durable, name, file)
            else:
                rest.append((n, name, file))
        self.pending = rest

    def file_of(self, inode):
        return self.inodes.setdefault(inode, File())

    def step(self, record):
        operation, path, to, inode, offset, data, is_folder, sync = record
        if operation == CREATE:
            if path and path[self.prefix:] in self.names:
                return
            self.inodes[inode] = File()
            if path:
                self.set_name(path, self.inodes[inode])
        elif operation in (WRITE, TRUNCATE):
            self.file_of(inode).pending.append((self.at, operation, offset, data))
        elif operation == LINK:
            self.set_name(path, self.file_of(inode))
        elif operation == RENAME:
            file = self.names.get(path[self.prefix:], File())
            self.drop_name(path)
            self.set_name(to, file)
        elif operation == UNLINK:
            self.drop_name(path)
        elif operation == MKDIR:
            self.set_name(path, None)
        elif operation == SYNC_BEGIN:
            self.syncs[sync] = (self.at, path, inode, is_folder)
        elif operation == SYNC_END:
            began, path, inode, is_folder = self.syncs.pop(sync)
            if is_folder:
                self.sync_folder(path[self.prefix:], began)
            else:
                self.file_of(inode).sync(began)

    def run_to(self, n):
        while self.at < n:
            self.step(self.records[self.at])
            self.at += 1

    def write(self, folder, keep):
        """The folder after a cut at this moment."""
        names = dict(self.durable)
        for _, name, file in self.pending:
            if keep():
                self.put(names, name, file)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, mode=0o700)
        folders = {""} | {name for name, file in names.items() if file is None}
        for name in sorted(folders - {""}):
            if os.path.dirname(name) in folders:
                os.makedirs(os.path.join(folder, name), exist_ok=True)
        for name, file in names.items():
            at = os.path.join(folder, name)
            # A file in a folder whose name was lost is lost with it.
            if file is not None and os.path.isdir(os.path.dirname(at)):
                with open(at, "wb") as f:
                    f.write(file.after_cut(keep))
                os.chmod(at, 0o600)
