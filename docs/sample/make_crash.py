#!/usr/bin/env python3
"""Writes crash.json: what the loader saw of the crash, with what an app says about itself around it.

usage: make_crash.py DUMP REPORT >crash.json

DUMP is the loader's (tests/loader --dump), REPORT is report.json. Memory outside the program's own data and stack is the loader's
and left out.
"""
import base64
import json
import sys

BREADCRUMBS = [
    (28.4, "navigation", "Catalogue"),
    (12.9, "user", "add to cart: tea"),
    (7.2, "user", "add to cart: cup"),
    (3.1, "http", "GET /items/2 404"),
    (2.6, "user", "add to cart: (unknown item)"),
    (0.1, "navigation", "Checkout"),
]


def trimmed(block):
    """Without the zeros at its end, in whole words."""
    data = base64.b64decode(block["bytes"]).rstrip(b"\0")
    data += b"\0" * (-len(data) % 16)
    return {"address": block["address"], "bytes": base64.b64encode(data).decode()}


def main():
    dump = json.load(open(sys.argv[1]))
    report = json.load(open(sys.argv[2]))
    image = report["images"][0]
    start = int(image["address"], 16)
    end = start + image["size"]
    thread = dump["threads"][0]
    report["crash"] = {**report["crash"], **dump["crash"]}
    report["threads"] = [{"index": 0, "name": "main", "queue": "com.apple.main-thread", "crashed": True,
                          "registers": {name: value for name, value in thread["registers"].items() if name[0] != "v"},
                          "stack": thread["stack"]}]
    # The program's data begins at `end`, or within the image where the report gives its whole size.
    report["memory"] = [trimmed(block) for block in dump["memory"] if start <= int(block["address"], 16) < end + 0x8000]
    report["user"] = {"id": "sample-user"}
    report["tags"] = {"channel": "beta", "cart.items": "3"}
    hour, minute, second = 9, 30, 12.345
    crumbs = []
    for before, kind, text in BREADCRUMBS:
        at = hour * 3600 + minute * 60 + second - before
        stamp = f"2026-01-15T{int(at // 3600):02}:{int(at // 60 % 60):02}:{at % 60:06.3f}Z"
        crumbs.append({"timestamp": stamp, "type": kind, "message": text})
    report["breadcrumbs"] = crumbs
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
