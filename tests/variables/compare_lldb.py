#!/usr/bin/env python3
"""Compares the values that framezero shows of a crash with those of lldb-19.

usage: compare_lldb.py SHOW FOLDER...: SHOW is the program variables_show; make.sh leaves a FOLDER for each program in
BUILD/variables. Prints for each folder how many values are the same, differ, and are shown by one side alone; then what
differs and what lldb alone shows. Not compared: how the two write the same value. lldb shows 0 for pieces that are optimised out.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

SLIDE = "0x4f8000"  # as make.sh has it
HERE = pathlib.Path(__file__).resolve().parent
ESCAPES = {"0": 0, "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27, "\\": 92, "'": 39}


def shown(show, folder):
    """Per frame and inlined call: {path: (availability, value)}."""
    symbols = folder / "crash.dSYM/Contents/Resources/DWARF/crash"
    output = subprocess.run([show, folder / "dump", symbols, folder / "crash"], capture_output=True, text=True, check=True).stdout
    frames = []
    for line in output.split("\n"):
        found = re.match(r"(\S+) (.*?) (?:param|local|global|this) (\S+) \{.*?\}(?: = (.*))?$", line)
        if line.startswith("@"):
            frames.append({})
        elif found and frames:
            frames[-1].setdefault(found.group(2), (found.group(3), found.group(4)))
    return frames


def as_number(text, size):
    found = re.match(r"'(?:\\x([0-9a-f]{2})|\\(.)|(.))'$", text)
    if found:
        code, escape, plain = found.groups()
        return int(code, 16) if code else ESCAPES.get(escape) if escape else ord(plain)
    found = re.match(r"(-?\d+|0x[0-9a-f]+)(?: |$)", text) or re.search(r"\((-?\d+)\)$", text)
    if found:
        return int(found.group(1), 0) % (1 << 8 * size)
    return {"true": 1, "false": 0, "YES": 1, "NO": 0, "nil": 0}.get(text)


def is_same(ours, theirs):
    value, summary = theirs["value"], theirs["summary"]
    if re.match(r"U\+", value) or "::*" in theirs["type"]:  # U+0041; offsets of members, functions in 16 bytes
        code = re.search(r"0x([0-9a-f]+)", ours) or re.search(r"offset (\d+)", ours)
        number = int(code.group(1), 16) if code else ord(ours[2:-1])
        return number == int(re.sub(r"U\+", "", value), 16)
    if theirs["type"].endswith("&"):  # the address of what we show; its parts are compared
        return True
    if re.search(r"\b(float|double)\b", theirs["type"]) and "*" not in theirs["type"] and "i" not in value:
        return value == "NaN" or abs(float(value) - float(ours)) <= 1e-6 * abs(float(value))
    if theirs["unsigned"] is not None and as_number(ours, theirs["size"]) is not None:
        return as_number(ours, theirs["size"]) == theirs["unsigned"] % (1 << 8 * theirs["size"])
    return ours in (value, summary) or (summary is not None and ours.endswith(summary))


def compare(show, folder):
    subprocess.run([HERE / "core.py", folder / "report.json", folder / "core"], check=True)
    subprocess.run(["lldb-19", "-b", "-o", f"command script import {HERE}/lldb_values.py"], capture_output=True, check=False,
                   env=dict(os.environ, VARIABLES_FOLDER=str(folder), VARIABLES_SLIDE=SLIDE))
    with open(folder / "lldb.json", encoding="utf-8") as file:
        theirs = json.load(file)["frames"]
    counts, differences = collections.Counter(), []
    for i, frame in enumerate(shown(show, folder)):
        for value in theirs[i] if i < len(theirs) else []:
            state, ours = frame.get(value["path"], (None, None))
            has_theirs = value["ok"] and value["value"] is not None
            if state is None:
                continue
            if not has_theirs or ours is None:
                counts["theirs"] += has_theirs
                if has_theirs:
                    differences.append(f"#{i} {value['path']}: {state}, lldb: {value['value']} {value['summary']}")
                counts["ours"] += ours is not None
            elif is_same(ours, value):
                counts["same"] += 1
            else:
                counts["different"] += 1
                differences.append(f"#{i} {value['path']}: {ours} ({state}), lldb: {value['value']} {value['summary']}")
    print(f"{folder.name}: {counts['same']} same, {counts['different']} different, {counts['ours']} ours alone, "
          f"{counts['theirs']} lldb's alone")
    for line in differences:
        print("   ", line)


for name in sys.argv[2:]:
    compare(sys.argv[1], pathlib.Path(name))
