#!/usr/bin/env python3
"""docs/sample: are its files what make_sample.sh makes, and does framezero print the expected names?"""
import argparse
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = TOP / "docs" / "sample"
DWARF = "Demo.dSYM/Contents/Resources/DWARF/Demo"


def uuid_of(zip_bytes):
    """The UUID in the dSYM's LC_UUID (command 0x1b, 24 bytes). The debug data itself names the compiler's exact
    package version, so it is not compared byte by byte."""
    data = zipfile.ZipFile(io.BytesIO(zip_bytes)).read(DWARF)
    at = data.index((0x1B).to_bytes(4, "little") + (24).to_bytes(4, "little"))
    return data[at + 8:at + 24].hex()


def remade():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([SAMPLE / "make_sample.sh", folder], check=True)
        for name in ("report.json", "expected.txt"):
            made = (pathlib.Path(folder) / name).read_text()
            if made != (SAMPLE / name).read_text():
                problems.append(f"{name} is not what make_sample.sh makes:\n{made}")
        made = uuid_of((pathlib.Path(folder) / "Demo.dSYM.zip").read_bytes())
    stored = uuid_of((SAMPLE / "Demo.dSYM.zip").read_bytes())
    reported = json.loads((SAMPLE / "report.json").read_text())["images"][0]["uuid"].replace("-", "")
    if len({made, stored, reported}) != 1:
        problems.append(f"UUIDs differ: made {made}, stored {stored}, in the report {reported}")
    return problems


def stack_alone(framezero):
    """The same addresses as a plain stack, which has no UUID: the symbols that were given are found by their name."""
    report = json.loads((SAMPLE / "report.json").read_text())
    load = int(report["images"][0]["address"], 16)
    lines = [f"{i}   Demo   {a} {load:#x} + {int(a, 16) - load}\n"
             for i, a in enumerate(report["threads"][0]["frames"])]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as stack:
        stack.write("".join(lines))
        stack.flush()
        return names(framezero, stack.name)


def names(framezero, path=SAMPLE / "report.json"):
    output = subprocess.run([framezero, "symbolicate", path, "--dsym", SAMPLE / "Demo.dSYM.zip", "--json"],
                            check=True, capture_output=True, text=True).stdout
    report = json.loads(output)
    named = []
    for frame in report["threads"][0]["frames"]:
        for symbol in frame["symbols"]:
            place = f'{symbol["file"]}:{symbol["line"]}:{symbol["column"]}'
            named.append(f'{frame["index"]}\t{symbol["function"]}\t{place}')
    expected = (SAMPLE / "expected.txt").read_text().splitlines()
    problems = [] if named == expected else ["named:", *named, "expected:", *expected]
    if report["status"] != "symbolicated":
        problems.append(f'status is {report["status"]}')
    return problems


def values_of(symbols, name):
    """The variables with this name in a frame's symbols, and in what they contain."""
    found, rest = [], [v for symbol in symbols for v in symbol.get("variables", [])]
    while rest:
        variable = rest.pop()
        rest += variable.get("fields", [])
        if variable.get("name") == name:
            found.append(variable.get("value"))
    return found


def crash(framezero):
    """crash.json has no frames but registers and the stack: the same names, and the values that explain the crash."""
    output = subprocess.run([framezero, "symbolicate", SAMPLE / "crash.json", "--dsym", SAMPLE / "Demo.zip", "--json",
                             "--variables"], check=True, capture_output=True, text=True).stdout
    frames = json.loads(output)["threads"][0]["frames"]
    named = [(frame["index"], symbol["function"], symbol["file"], symbol["line"])
             for frame in frames for symbol in frame["symbols"]]
    expected = []
    for line in (SAMPLE / "expected.txt").read_text().splitlines():
        index, function, place = line.split("\t")
        file, number, _ = place.rsplit(":", 2)
        expected.append((int(index), function, file, int(number)))
    problems = [] if named == expected else ["named:", *map(str, named), "expected:", *map(str, expected)]
    for index, name, value in ((0, "what", "0x0"), (0, "sum", "1050"), (0, "n_items_", "3"), (1, "price_cents", "800")):
        got = values_of(frames[index]["symbols"], name)
        if value not in got:
            problems.append(f"frame {index}: {name} is {got}, not {value}")
    return problems


def pasted(framezero):
    """What `serve` prints on its first start, pasted into a shell: does it end with the names of the crash?"""
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen([framezero, "serve", "--data", data, "--listen", "127.0.0.1:0"], cwd=TOP,
                                  stdout=subprocess.PIPE, text=True)
        try:
            printed = ""
            while "format=crash" not in printed:
                line = server.stdout.readline()
                if not line:
                    return ["serve ended early, or printed no commands:", printed]
                printed += line
            commands = re.search(r"^  TOKEN=.*format=crash\"$", printed, re.M | re.S).group()
            done = subprocess.run(["bash", "-e", "-c", commands], cwd=TOP, capture_output=True, text=True, timeout=60)
        finally:
            server.terminate()
            server.wait(30)
    expected = [line.split("\t")[1] for line in (SAMPLE / "expected.txt").read_text().splitlines()]
    named = re.findall(r"^\d+ +Demo +\t *0x\w+ (.*?) \+ \d+ \(", done.stdout, re.M)
    return [] if named == expected else ["pasted:", commands, done.stdout, done.stderr, "expected:", *expected]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("remade", "names", "stack_alone", "crash", "pasted"))
    parser.add_argument("--framezero")
    arguments = parser.parse_args()
    if arguments.what == "remade":
        problems = remade()
    else:
        checks = {"names": names, "stack_alone": stack_alone, "crash": crash, "pasted": pasted}
        problems = checks[arguments.what](arguments.framezero)
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
