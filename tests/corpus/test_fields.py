#!/usr/bin/env python3
"""Nothing that a report says is dropped: each value of each report is looked for in what `framezero symbolicate` shows.

usage: test_fields.py --framezero BINARY [--only FORMAT] [--all] [CORPUS]

The reports are the inputs under tests/golden and, if it is there, those of the corpus (FRAMEZERO_CORPUS). Values are the
texts from 4 characters on and the numbers from 1,000 on of a JSON or protobuf report, and the words of a text. A value
is found if the finished report has it as a text or within one, as a number in any base, as a UUID in any spelling, or
as the same time. What may be missing is explained in EXPLAINED, with a pattern of its path.
Prints one line a format; what is neither found nor explained is wrong.
"""

import argparse
import base64
import collections
import datetime
import glob
import json
import os
import re
import struct
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import test_formats  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden")
NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+")
UUID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?")

# {format: [(pattern of the path or of the value, why it need not be in the finished report)]}
REDACTED = (r"= (<redacted>|_mh_execute_header)$", "no name")
FILE_ADDRESS = (r"(image_vmaddr|machoVMAddress) = ", "the image's address in its own file: the symbol file has it")
CPU = (r"(?i)cpu_?(sub)?type = ", "shown as the name of the architecture")
ODD = (r"= ('?yesterday|no thread|zzz|4097|rel:0|all_but_first|<4c4c|caf|hello|invalid bar|@UUID@)",
       "invalid values of a test's input, reported in notes")
NO_UUID = (r"= 0{8}-", "no UUID")
OS_NAME = (r"((osVersion|train|os_version|build) = iPhone OS \d|system_name = (iPhone|Mac) OS)", "iPhone OS is shown as iOS")
FLAVOR = (r"flavor = ", "the names of the registers say it")
KEY = (r"(apiKey|\.dsn) = ", "the sender's key")
FRAMING = (r": \.(type|length|content_type|sid|status) = |discarded_events", "items of an envelope beside the event")
IMAGE_TYPE = (r"type = (macho|cocoa|apple)$", "true of all of its reports")
KS_WORDS = (r"value = (Exception \d|.*Subcode|Signal \d)", "the same numbers in words")
TEMPLATE = (r"^lldb_a.out.template", "a template with placeholders: not JSON")
NO_STACK = (r"stack\.(dump_start|dump_end|stack_pointer) = ", "the memory itself is not there")
EPOCH = (r"= 1970-01-01T00:00:00", "no time")
HEADING_WORDS = (
    r"Thread Thread_\d+ Crashed Hardware Model Code Type Types Process Version Incident Identifier Path "
    r"Parent Date/Time Launch Time Binary Images Exception Exception_Codes Codes Triggered Report "
    r"Information Extra Application Specific Stack Dump Notable Addresses CrashDoctor Diagnosis Last "
    r"Backtrace State with Build Subtype Note Reason Termination Namespace Reporter Key CrashReporter "
    r"Anonymous UUID User Responsible Dispatch queue DispatchQueue Call graph Total number Sort null Name "
    r"Role Coalition Signal by Highlighted Filtered syslog None found Trap Error thread crashed Native "
    r"Translated 64-bit 32-bit Architecture Region ARM-?64 ARM64_32 X86-64 X86 ARM priority base counted "
    r"multiple binary \?xml version encoding TODO "
)
HEADS = (f"= ({'|'.join(HEADING_WORDS.split())})$", "headings")
EXPLAINED = {
    "crash": [HEADS, (r": (Hi,|>) = |: \{.app_name", "the text around it"),
              (r"0xffffffffffffffff$|= 0{8}-", "no image"), (r"= (inlined|iPhone|debug.n|ivars)$", "shown otherwise")],
    "plcrash": [REDACTED, (r": \.10 = ", "JSON, kept as such"),
                (r": \.(4\.5|8\.2)\.[23] = ", "shown as the name of the architecture"),
                (r": \.\d\.\d\.6\.1 = _", "a linkage name, shown as people write it")],
    "minidump": [(r"exception.code = 1129344632$", "Crashpad's code of an exception of the language, shown as that")],
    "quincy": [HEADS, (r"<\?xml = |arch=", "marks"), (r"= custom/$", "an empty element")],
    "text": [HEADS, (r": (Total|Sort|libc..abi|\*+|\*|Demo\[.*|100|2433|20|Thread|frame|\+|time):? = ",
                     "the words around the values of a sampler, a log or a debugger")],
    "bugsnag": [REDACTED, FILE_ADDRESS, KEY, IMAGE_TYPE],
    "kscrash": [REDACTED, FILE_ADDRESS, CPU, ODD, NO_STACK, OS_NAME],
    "multipart": [REDACTED, FILE_ADDRESS, CPU],
    "sentry": [REDACTED, FILE_ADDRESS, CPU, ODD, KEY, FRAMING, IMAGE_TYPE, KS_WORDS, EPOCH],
    "framezero": [ODD, (r"arch\[\]", "nonsense of a test's input")],
    "ips": [REDACTED, CPU, ODD, NO_UUID, OS_NAME, FLAVOR, TEMPLATE,
            (r"(lldb_leb|asi).ips: .timestamp = ", "when the file was written, in the crash's own minute")],
    "metrickit": [ODD, OS_NAME],
}


def times_in(text):
    for day, clock, _, zone in TIME.findall(text):
        zone = "+0000" if zone in ("", "Z") else zone.replace(":", "")
        try:
            yield int(datetime.datetime.strptime(f"{day}T{clock}{zone}", "%Y-%m-%dT%H:%M:%S%z").timestamp())
        except ValueError:
            pass


def leaves(value, path=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path + "[]")
    elif value is not None and not isinstance(value, bool):
        yield path, value


class Shown:
    """Everything that the finished reports say."""

    def __init__(self, reports):
        texts, self.numbers = [], set()
        for path, value in leaves(reports):
            if isinstance(value, str):
                texts.append(value)
            else:
                self.numbers.add(value)
            texts += path.split(".")
        self.text = "\n".join(texts)
        self.words = set(re.findall(r"\S+", self.text))
        self.numbers |= {int(n, 16 if n[1:2] in "xX" else 10) for n in NUMBER.findall(self.text)}
        self.uuids = {u.replace("-", "").lower() for u in UUID.findall(self.text)}
        self.times = set(times_in(self.text))
        for report in reports:
            self.add_derived(report)

    def add_derived(self, report):
        """What follows from two members: ends of images, starts of functions, load addresses."""
        for image in report.get("images", []):
            end = int(image.get("address", "0x0"), 16) + image.get("size", 0)
            self.numbers |= {end, end - 1}
        stacks = report.get("threads", []) + [report.get("exception_backtrace", {"frames": []})]
        for memory in report.get("memory", []) + [s["stack"] for s in stacks if "stack" in s]:
            self.numbers.add(int(memory["address"], 16) + memory["size"])
            self.text += "\n" + base64.b64decode(memory.get("bytes", "")).hex().upper()
        for thread in stacks:
            for frame in thread["frames"]:
                address, symbols = int(frame["address"], 16), frame["symbols"]
                if symbols and "offset" in symbols[-1]:
                    self.numbers |= {address - symbols[-1]["offset"], int(frame["lookup_address"], 16) - symbols[-1]["offset"]}
                if "image_offset" in frame:
                    offset = int(frame["image_offset"], 16)
                    self.numbers |= {address - offset, offset | 1}  # bit 0 is Thumb's

    def has_number(self, number):
        if number in self.numbers or abs(number) > 2**65 or number % 2**64 in self.numbers:
            return True
        # Times are kept in milliseconds.
        return any(int(number / unit) in self.times for unit in (1, 1000, 10**6, 10**9))

    def has(self, value):
        if not isinstance(value, str):
            return self.has_number(value)
        if value in self.text or value.strip() in self.text:
            return True
        if UUID.fullmatch(value) and value.replace("-", "").lower() in self.uuids:
            return True
        if re.fullmatch(r"(0[xX])?[0-9a-fA-F]+", value):
            if int(value, 16) in self.numbers or (value.isdigit() and int(value) in self.numbers):
                return True
        found = list(times_in(value))
        if found:
            return all(t in self.times for t in found)
        # A text that is shown in parts: "18.1 (22B83)", "0x1, 0x10".
        parts = [p for p in re.split(r"[\s(),;:=@+`\[\]\"']+|(?<=\w)-(?=0x)|&\w+;?", value) if p]
        return bool(parts) and parts != [value] and all(self.has(p) for p in parts)


def json_values(body):
    """The values of a JSON report; of concatenated pieces (.ips, envelopes) those that are JSON."""
    decoder, text, at = json.JSONDecoder(), body.decode(errors="replace"), 0
    while True:
        at = re.compile(r"[{\[]").search(text, at)
        if not at:
            return
        try:
            value, end = decoder.raw_decode(text, at.start())
            yield from leaves(value)
            at = end
        except ValueError:
            at = at.start() + 1


def is_text(data):
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


# The fields that are messages, by their path of numbers (PLCrashReport.proto).
MESSAGES = {".1", ".2", ".3", ".3.2", ".3.2.6", ".3.4", ".4", ".4.5", ".5", ".5.3", ".5.3.6", ".6", ".6.4", ".7", ".8",
            ".8.2", ".9"}


def protobuf_values(data, path=""):
    """[(path, value)] of a message; ValueError if the bytes are not a message."""
    at, found = 0, []

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        here, kind = f"{path}.{tag >> 3}", tag & 7
        if kind == 0:
            found.append((here, varint()))
        elif kind == 2:
            size = varint()
            part, at = data[at:at + size], at + size
            if at > len(data):
                raise ValueError("cut")
            if here in MESSAGES:
                found += protobuf_values(part, here)
            else:
                text = part.rstrip(b"\0")
                found.append((here, text.decode() if is_text(text) else part.hex()))
        else:
            raise ValueError(f"wire type {kind} at {here}")
    return found


def plcrash_values(body):
    try:
        return protobuf_values(body[8:])
    except (ValueError, IndexError):
        return []  # a cut one


def words(body):
    """The words of a text, each with the first word of its line."""
    text = re.sub(r"<!\[CDATA\[|\]\]>|</?[a-z]+>", " ", body.decode(errors="replace"))
    for line in text.splitlines():
        for time in TIME.finditer(line):
            yield "time", time.group()
        found = TIME.sub(" ", line).split()
        for word in found:
            yield found[0], word.strip("()[]{}<>,:;\"'")


def minidump_text(body, at):
    size = struct.unpack_from("<I", body, at)[0]
    return body[at + 4:at + 4 + size].decode("utf-16-le", "replace")


def minidump_values(body):
    """Modules, threads, the exception, the process, and Crashpad's texts: (path, value)."""
    magic, _, n, directory = struct.unpack_from("<IIII", body)
    if magic != 0x504D444D:
        return
    for i in range(n):
        kind, size, at = struct.unpack_from("<III", body, directory + 12 * i)
        if kind == 4:
            n_modules = struct.unpack_from("<I", body, at)[0]
            first = at + size - 108 * n_modules  # some writers align the list to 8 bytes
            for j in range(n_modules):
                base, length, _, _, name = struct.unpack_from("<QIIII", body, first + 108 * j)
                record_size, record = struct.unpack_from("<II", body, first + 108 * j + 76)
                uuid_bytes = body[record + 4:record + 20]
                yield from (("modules.base", base), ("modules.size", length), ("modules.name", minidump_text(body, name)))
                if record_size >= 24 and body[record:record + 4] == b"RSDS":
                    yield "modules.uuid", str(uuid.UUID(bytes_le=uuid_bytes))
        elif kind == 6:
            thread, _, code, _, _, address, n_info = struct.unpack_from("<IIIIQQI", body, at)
            yield from (("exception.thread", thread), ("exception.code", code), ("exception.address", address))
            yield from (("exception.info", v) for v in struct.unpack_from(f"<{min(n_info, 15)}Q", body, at + 40))
        elif kind == 3:
            n_threads = struct.unpack_from("<I", body, at)[0]
            for j in range(n_threads):
                yield "threads.id", struct.unpack_from("<I", body, at + size - 48 * (n_threads - j))[0]
        elif kind == 15:
            yield "misc.pid", struct.unpack_from("<I", body, at + 8)[0]
        elif kind == 0x43500001:
            # Its texts are counted, end with a zero, and are somewhere after it.
            for text in re.finditer(rb"[\x20-\x7e]{4,}\x00", body):
                if text.start() >= 4 and struct.unpack_from("<I", body, text.start() - 4)[0] == len(text.group()) - 1:
                    yield "crashpad.texts", text.group()[:-1].decode()


VALUES = {"plcrash": plcrash_values, "crash": words, "text": words, "quincy": words, "minidump": minidump_values}
READS = {"quincy": ["clients/made/quincy.xml"]}


def paths_by_format(corpus):
    paths = collections.OrderedDict()
    for path in sorted(glob.glob(os.path.join(GOLDEN, "*", "*", "input.*"))):
        format = path.split(os.sep)[-3]
        paths.setdefault({"native": "framezero"}.get(format, format), []).append(path)
    for row in test_formats.FORMATS if corpus else []:
        patterns = list(row.reads) + list(row.made) + list(row.matched)
        patterns += [f"derived/*/*{row.derived}"] if row.derived else []
        for pattern in patterns:
            found = sorted(glob.glob(os.path.join(corpus, pattern), recursive=True))
            names = [os.path.relpath(p, corpus) for p in found if os.path.isfile(p)]
            paths.setdefault(row.name, []).extend(os.path.join(corpus, n) for n in names if n not in row.broken)
    return paths


def matters(value):
    if isinstance(value, str):
        return len(value) >= 4
    return abs(value) >= 1000


class Row:
    def __init__(self):
        self.n_files = self.n_values = self.n_found = 0
        self.explained = collections.Counter()
        self.lost = collections.OrderedDict()


def look(binary, format, paths):
    row = Row()
    for path in paths:
        reports, error = test_formats.symbolicate(binary, path)
        if reports is None:
            row.lost.setdefault(f"({error})", []).append((path, ""))
            continue
        row.n_files += 1
        shown = Shown(reports)
        with open(path, "rb") as f:
            body = f.read()
        for where, value in set(VALUES.get(format, json_values)(body)):
            if not matters(value):
                continue
            row.n_values += 1
            if shown.has(value):
                row.n_found += 1
                continue
            text = f"{os.path.basename(path)}: {where} = {value}"
            why = next((why for pattern, why in EXPLAINED.get(format, []) if re.search(pattern, text)), None)
            if why:
                row.explained[why] += 1
            else:
                row.lost.setdefault(where, []).append((path, value))
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--only", default="", help="only this format")
    parser.add_argument("--all", action="store_true", help="print all that is lost")
    parser.add_argument("corpus", nargs="?", default=os.environ.get("FRAMEZERO_CORPUS", ""))
    options = parser.parse_args()
    n_lost = 0
    print(f"{'format':<12}{'files':>7}{'values':>9}{'found':>9}{'explained':>11}{'lost':>7}")
    for format, paths in paths_by_format(options.corpus).items():
        if options.only and options.only != format:
            continue
        row = look(os.path.abspath(options.framezero), format, paths)
        lost = sum(len(v) for v in row.lost.values())
        n_lost += lost
        print(f"{format:<12}{row.n_files:>7}{row.n_values:>9}{row.n_found:>9}{sum(row.explained.values()):>11}{lost:>7}")
        for why, n in row.explained.most_common():
            print(f"  {n} {why}")
        for where, found in list(row.lost.items())[: None if options.all else 30]:
            path, value = found[0]
            print(f"  LOST {len(found)}x {where}: {str(value)[:80]!r} ({os.path.join(*path.split(os.sep)[-3:])})")
    return 1 if n_lost else 0


if __name__ == "__main__":
    sys.exit(main())
