#!/usr/bin/env python3
"""What make.sh needs besides compilers: a report as a dump, and the truth with the names of the DWARF.

usage: make.py dump REPORT, make.py truth OUTPUT PROGRAM; both write to standard output.
"""
import base64
import json
import re
import subprocess
import sys


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def write_dump(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    print("cpu", report["arch"])
    thread = next(t for t in report["threads"] if t.get("crashed", True))
    for name, value in thread["registers"].items():
        if re.fullmatch(r"(v|xmm)\d+", name):
            print("vec", name, number(value).to_bytes(16, "little").hex())
        else:
            print("reg", name, f"{number(value):x}")
    for image in report["images"]:
        print("image", f"{number(image['address']):x}", f"{image.get('size', 0):x}")
    regions = [thread["stack"]] if "stack" in thread else []
    for region in regions + report.get("memory", []):
        print("mem", f"{number(region['address']):x}", base64.b64decode(region["bytes"]).hex())


def short_name(symbol):
    """The name that a program calls a function by when it prints its variables."""
    method = re.match(r"[-+]\[\S+ (\w+)", symbol)
    if "block_invoke" in symbol:
        return "block"
    if method:
        return method.group(1)
    if not symbol.startswith("_Z"):
        return symbol
    text = subprocess.run(["c++filt", "-n", symbol], capture_output=True, text=True, check=True).stdout.strip()
    text = re.sub(r" const$", "", text)
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[i], 0)
        if depth == 0:
            text = text[:i] if text.endswith(")") else text
            break
    last = text.rsplit("::", 1)[-1]
    return "operator()" if last.startswith("operator") else re.sub(r"<.*", "", last).split(" ")[-1]


def write_truth(path, program):
    symbols = subprocess.run(["llvm-nm-19", "--defined-only", "-j", program], capture_output=True, text=True, check=True).stdout
    names = {}
    for symbol in symbols.split("\n"):
        name = symbol if symbol[:1] in "-+" else symbol[1:]
        if name:
            names.setdefault(short_name(name), name)
    with open(path, encoding="utf-8") as file:
        for line in file:
            found = re.match(r"T (\S+) (.*)", line)
            if found:
                name = names.get(found.group(1), found.group(1)).replace(" ", "~")
                print(f"{name} {found.group(2)}")


{"dump": write_dump, "truth": write_truth}[sys.argv[1]](*sys.argv[2:])
