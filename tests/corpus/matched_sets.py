"""The matched sets of the corpus as native reports with the frames that they must give.

A matched set is a crash, the debug files that belong to it and the expected frames. load_cases() yields each crash
as an address-only native report (images with their load addresses, threads with raw addresses), the debug files to
use, and per frame what must come out.
"""

import glob
import json
import os
import re


class Case:
    """One crash: `report` is the native report, `debug_files` are paths, `wanted` one Wanted a frame."""

    def __init__(self, name, report, debug_files, wanted):
        self.name = name
        self.report = report
        self.debug_files = debug_files
        self.wanted = wanted


class Wanted:
    """What frame `frame` of thread number `thread` must give; `symbols` innermost first, None = no check of names."""

    def __init__(self, thread, frame, status, symbols, note=""):
        self.thread = thread
        self.frame = frame
        self.status = status
        self.symbols = symbols
        self.note = note


STATUS = {
    "symbolicated": "symbolicated",
    "missing_dsym": "missing_symbol_file",
    "unknown_image": "unknown_image",
}


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def hex_int(text):
    return int(text, 16)


def sentry_images(event):
    for image in event.get("debug_meta", {}).get("images", []):
        yield {
            "uuid": image.get("uuid") or image.get("debug_id"),
            "name": os.path.basename(image.get("name") or image.get("code_file") or ""),
            "path": image.get("name") or image.get("code_file"),
            "address": image["image_addr"],
            "size": image.get("image_size", 0),
        }


def measure_images(event):
    body = event.get("exception") or event.get("anr") or {}
    for image in body.get("binary_images", []):
        start = hex_int(image.get("start_addr") or image["base_addr"])
        end = image.get("end_addr")
        yield {
            "uuid": image["uuid"],
            "name": image.get("name"),
            "path": image.get("path"),
            "arch": image.get("arch"),
            "address": hex(start),
            "size": hex_int(end) - start + 1 if end else 0,
        }


def ips_images(path):
    with open(path, encoding="utf-8") as f:
        f.readline()
        body = json.load(f)
    for image in body["usedImages"]:
        if image.get("base"):
            yield {
                "uuid": image["uuid"],
                "name": image.get("name"),
                "path": image.get("path"),
                "arch": image.get("arch"),
                "address": image["base"],
                "size": image.get("size", 0),
            }


def module_images(expected):
    for module in expected["modules"]:
        yield {
            "uuid": module["uuid"],
            "name": os.path.basename(module["name"]),
            "path": module["name"],
            "address": module["base"],
            "size": module["size"],
        }


def images_of(corpus, expected):
    path = os.path.join(corpus, expected["report"])
    if "modules" in expected:
        return list(module_images(expected))
    if path.endswith(".ips"):
        return list(ips_images(path))
    event = read_json(path)
    return list(sentry_images(event) if "debug_meta" in event else measure_images(event))


def from_expected(corpus, path):
    """A case from an expected.json that lists frames with their addresses."""
    expected = read_json(path)
    threads, order, wanted, debug_files = {}, [], [], set()
    for frame in expected["frames"]:
        key = frame["thread"]
        if key not in threads:
            threads[key] = []
            order.append(key)
        exact = frame["lookup_addr"] == frame["instruction_addr"]
        entry = frame["instruction_addr"]
        if frame["is_leaf"] and not exact:
            entry = {"address": entry, "adjusted": False}
        elif not frame["is_leaf"] and exact:
            entry = {"address": entry, "adjusted": True}
        elif frame["index"] == 0 and not frame["is_leaf"]:
            entry = {"address": entry, "adjusted": False}
        symbols = None
        if frame["status"] == "symbolicated":
            symbols = frame["frames"]
            debug_files.add(os.path.join(corpus, frame["debug_file"]))
        wanted.append(
            Wanted(order.index(key), len(threads[key]), STATUS[frame["status"]], symbols)
        )
        threads[key].append(entry)
    report = {
        "framezero": 1,
        "arch": expected.get("arch", "x86_64"),
        "images": images_of(corpus, expected),
        "threads": [
            {"index": n, "name": str(key), "crashed": n == 0, "frames": threads[key]}
            for n, key in enumerate(order)
        ],
    }
    name = os.path.relpath(path, corpus)
    return Case(name, report, sorted(debug_files), wanted)


def from_breakpad_sym(corpus, directory):
    """Every row of a Breakpad .sym file as one address that must give this file and line."""
    sym = glob.glob(os.path.join(directory, "*.sym"))[0]
    debug_file = os.path.join(directory, "dump_syms_dwarf_data")
    files, rows = {}, []
    with open(sym, encoding="utf-8") as f:
        header = f.readline().split()
        for line in f:
            parts = line.split()
            if parts[0] == "FILE":
                files[parts[1]] = line.split(None, 2)[2].rstrip("\n")
            elif parts[0] == "FUNC":
                start, end = hex_int(parts[1]), hex_int(parts[1]) + hex_int(parts[2])
            # The writer also listed the end of each sequence as a row, one byte after the function.
            elif re.match(r"^[0-9a-f]+$", parts[0]) and len(parts) == 4 and hex_int(parts[0]) < end:
                # And it took file and line of a function's first row from the row before it, even
                # from the end of another unit's sequence; the line programs say otherwise.
                is_first = hex_int(parts[0]) == start
                rows.append((hex_int(parts[0]), None if is_first else (int(parts[2]), files[parts[3]])))
    base = 0x10000000
    for start in range(0, len(rows), 1000):
        part = rows[start : start + 1000]
        report = {
            "framezero": 1,
            "arch": "i386",
            "threads": [
                {
                    "frames": [
                        {"address": hex(base + addr), "adjusted": True}
                        for addr, _ in part
                    ]
                }
            ],
            "images": [{"uuid": header[3], "name": header[4], "address": hex(base), "size": 1 << 24}],
        }
        wanted = [
            # The writer left relative paths as they were; ours are joined with the compilation directory.
            Wanted(0, n, "symbolicated", at and [{"line": at[0], "file_suffix": at[1]}], "any of the chain")
            for n, (_, at) in enumerate(part)
        ]
        yield Case(f"{os.path.relpath(sym, corpus)}[{start}]", report, [debug_file], wanted)


def from_symbolicator_request(corpus, directory):
    request = read_json(os.path.join(directory, "request.json"))
    debug_file = glob.glob(os.path.join(directory, "*.dwarf"))[0]
    module = request["modules"][0]
    report = {
        "framezero": 1,
        "arch": "x86_64",
        "threads": [
            {"frames": [f["instruction_addr"] for f in request["stacktraces"][0]["frames"]]}
        ],
        "images": [
            {"uuid": module["debug_id"], "address": module["image_addr"], "size": module["image_size"]}
        ],
    }
    wanted = [
        Wanted(0, 0, "symbolicated", [{"function": "main", "file": "/tmp/hello.c", "line": 1}])
    ]
    return Case(os.path.relpath(directory, corpus), report, [debug_file], wanted)


def from_made_crash(corpus):
    """The fictitious crash that is there in every format, as a native report."""
    made = os.path.join(corpus, "clients", "made")
    answers = {f["addr"]: f["frames"] for f in read_json(os.path.join(made, "expected-symbolication.json"))}
    for name in ("native.json", "native-short.json"):
        report = read_json(os.path.join(made, name))
        addresses = report.get("addresses") or report["threads"][0]["frames"]
        wanted = []
        for n, address in enumerate(addresses):
            if address not in answers:
                wanted.append(Wanted(0, n, "missing_symbol_file", None))
                continue
            symbols = [{"function": f, "file_suffix": file, "line": line} for f, file, line in answers[address]]
            wanted.append(Wanted(0, n, "symbolicated", symbols))
        debug_file = os.path.join(made, "Demo.dSYM", "Contents", "Resources", "DWARF", "Demo")
        yield Case(f"clients/made/{name}", report, [debug_file], wanted)


def load_cases(corpus):
    for path in sorted(glob.glob(os.path.join(corpus, "matched", "*", "expected", "*.expected.json"))):
        yield from_expected(corpus, path)
    for path in sorted(glob.glob(os.path.join(corpus, "matched", "minidump-*", "expected", "frames.json"))):
        yield from_expected(corpus, path)
    for directory in sorted(glob.glob(os.path.join(corpus, "matched", "breakpad-*"))):
        yield from from_breakpad_sym(corpus, directory)
    for directory in sorted(glob.glob(os.path.join(corpus, "matched", "symbolicator-*"))):
        yield from_symbolicator_request(corpus, directory)
    yield from from_made_crash(corpus)


def compare_symbol(ours, wanted):
    """The differences of one symbol, as texts."""
    if "function" in wanted:
        names = {ours.get("function"), ours.get("mangled")}
        names |= {n[1:] for n in names if n and n.startswith("_")}
        names |= {n for also in ours.get("also", []) for n in (also, also.lstrip("_"))}
        if wanted["function"] not in names:
            yield f"function {ours.get('function')!r}, wanted {wanted['function']!r}"
    if wanted.get("file") and ours.get("file") != wanted["file"]:
        yield f"file {ours.get('file')!r}, wanted {wanted['file']!r}"
    if wanted.get("file_suffix") and not (ours.get("file") or "").endswith(wanted["file_suffix"]):
        yield f"file {ours.get('file')!r}, wanted …{wanted['file_suffix']!r}"
    if (wanted.get("line") or 0) != (ours.get("line") or 0):
        yield f"line {ours.get('line')}, wanted {wanted.get('line')}"


def compare(case, result):
    """The differences between a symbolicated report and what the case wants, as texts; [] = all as wanted."""
    differences = []
    for want in case.wanted:
        at = f"thread {want.thread} frame {want.frame}"
        frame = result["threads"][want.thread]["frames"][want.frame]
        if frame["status"] != want.status:
            differences.append(f"{at}: status {frame['status']}, wanted {want.status}")
            continue
        if want.symbols is None:
            continue
        if want.note:  # only a file and a line are known: some symbol of the chain has to have them
            if not any(not list(compare_symbol(s, want.symbols[0])) for s in frame["symbols"]):
                differences.append(f"{at}: no symbol at {want.symbols[0]}, got {frame['symbols']}")
            continue
        if len(frame["symbols"]) != len(want.symbols):
            differences.append(f"{at}: {len(frame['symbols'])} symbols, wanted {len(want.symbols)}")
            continue
        for ours, wanted in zip(frame["symbols"], want.symbols):
            differences += [f"{at}: {text}" for text in compare_symbol(ours, wanted)]
    return differences
