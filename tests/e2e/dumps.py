"""The recorded crashes of tests/variables as reports in framezero's own format, with their symbol files.

A dump has lines "cpu arm64", "reg x0 1f", "vec v8 HEX", "image ADDRESS SIZE", "mem ADDRESS HEX"; tests/variables/dump.h.
"""

import base64
import gzip
import io
import json
import os
import zipfile

from case import SOURCE
from symbol_files import uuid_of

DATA = os.path.join(SOURCE, "tests", "variables", "data")


def read(name):
    with gzip.open(os.path.join(DATA, name + ".gz")) as f:
        return f.read()


class Dump:
    """One crash: `dsym` and `binary` as bytes, `truth` as {(function, variable): [values]}, oldest frame first."""

    def __init__(self, name):
        self.name = name
        self.dsym = read(name + ".dsym")
        self.binary = read(name + ".binary")
        self.lines = [line.split() for line in read(name).decode().splitlines() if line]
        self.truth = {}
        with open(os.path.join(DATA, name + ".truth"), encoding="utf-8") as f:
            for line in f:
                place, _, value = line.rstrip("\n").partition(" = ")
                function, variable = place.split(" ", 1)
                # The space in the name of an Objective-C method is written as '~'.
                self.truth.setdefault((function.replace("~", " "), variable), []).append(value)

    def registers(self):
        found = {words[1]: "0x" + words[2] for words in self.lines if words[0] == "reg"}
        for words in self.lines:
            if words[0] == "vec":
                found[words[1]] = "0x" + bytes.fromhex(words[2])[::-1].hex()
        return found

    def report(self, **more):
        arch = next(words[1] for words in self.lines if words[0] == "cpu")
        registers = self.registers()
        pointer = int(registers.get("sp") or registers["rsp"], 16)
        stack, memory = None, []
        for words in self.lines:
            if words[0] != "mem":
                continue
            start, data = int(words[1], 16), bytes.fromhex(words[2])
            region = {"address": hex(start), "bytes": base64.b64encode(data).decode()}
            if stack is None and start <= pointer < start + len(data):
                stack = region
            else:
                memory.append(region)
        address, size = next(words[1:3] for words in self.lines if words[0] == "image")
        image = {"uuid": uuid_of(self.binary), "name": "Shop", "arch": arch, "address": "0x" + address,
                 "size": int(size, 16), "path": "/private/var/containers/Shop.app/Shop"}
        thread = {"index": 0, "crashed": True, "registers": registers, "stack": stack}
        return json.dumps({"framezero": 1, "arch": arch, "crash": {"thread": 0, "signal": "SIGSEGV"},
                           "threads": [thread], "memory": memory, "images": [image], **more}).encode()

    def archive(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            z.writestr("Shop.app.dSYM/Contents/Resources/DWARF/Shop", self.dsym)
            z.writestr("Shop.app/Shop", self.binary)
        return out.getvalue()


def symbols_of(report):
    """[(frame, symbol)] of the first thread, newest first, inlined calls before their function."""
    return [(frame, symbol) for frame in report["threads"][0]["frames"] for symbol in frame["symbols"]]


def values_of(symbol):
    """{path: value} of a symbol: "item.price", "this.*.total", "items[2]"."""
    found = {}

    def add(variable, prefix):
        name = variable.get("name", "")
        path = prefix + ("" if not prefix or name.startswith("[") else ".") + name
        if "value" in variable:
            found[path] = variable["value"]
        for field in variable.get("fields", []):
            add(field, path)

    for variable in symbol.get("variables", []):
        add(variable, "")
    return found
