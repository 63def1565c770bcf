#!/usr/bin/env python3
"""Every report of the corpus, format by format, through `framezero symbolicate --json`.

usage: test_formats.py --framezero BINARY [--only FORMAT] [CORPUS]

For each row of FORMATS: every file is read without an error, or refused if it is known to be broken; the made-up crash
(clients/made) gives the names of expected-symbolication.json; reports with known answers (matched, derived) give them.
Prints one line a format: files read, reports in them, frames right of those with a known answer, fields kept (distinct
members that the finished reports have).

Exit codes: 0 all as expected, 1 something differs, 77 the corpus is not there (CTest shows it as skipped).
"""

import argparse
import glob
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import matched_sets  # noqa: E402

SKIPPED = 77
MADE_DSYM = "clients/made/Demo.dSYM"


class Format:
    """One row. `reads` are globs of files that must be read, `broken` maps a file to why it is refused; `made` are
    files that hold the made-up crash; `derived` is the ending under derived/ of known crashes in this format;
    `matched` maps a file to the answers that belong to it (both may have one *, which is the same in both). `name` may
    be a tuple where files of a row differ."""

    def __init__(self, name, reads=(), broken=(), made=(), derived="", matched=()):
        self.name = name
        self.reads = reads
        self.broken = dict(broken)
        self.made = made
        self.derived = derived
        self.matched = dict(matched)


FORMATS = [
    Format("bugsnag", reads=["reports/bugsnag-event/*.json"]),
    Format("plcrash", reads=["reports/plcrash/**/*.plcrash"], made=["clients/made/demo.plcrash"], derived=".plcrash"),
    Format(
        "ips",
        reads=["reports/ips/*.ips", "reports/apple-crash-text/*.ips"],
        made=["clients/made/demo.ips", "clients/made/demo-nsexception.ips", "clients/made/demo-translated-plus-ips.txt"],
        derived=".ips",
        matched={"matched/lldb-asi/asi.ips": "matched/lldb-asi/expected/asi.expected.json"},
    ),
    Format(
        "kscrash",
        reads=["reports/kscrash/**/*.json"],
        made=["clients/made/kscrash-report.json"],
    ),
    Format(
        "sentry",
        reads=["reports/sentry-event/*.json", "reports/sentry-envelope/*", "clients/made/envelope-*.envelope"],
        broken={
            "reports/sentry-event/failed-request-event-ios.json": "it is a test's picture of an envelope",
            "clients/made/envelope-bad-length-no-newline.envelope": "its payload continues after its length",
            "clients/made/envelope-bad-truncated.envelope": "its payload ends early",
            "clients/made/envelope-empty-attachments.envelope": "it holds no event",
            "clients/made/envelope-headers-only.envelope": "it holds nothing",
            "clients/made/envelope-implicit-lengths.envelope": "it holds a session, but no event",
        },
        made=["clients/made/sentry-cocoa-event.json", "clients/made/sentry-cocoa.envelope"],
        derived=".envelope",
        matched={
            f"matched/crashprobe-{name}/events/*.json": f"matched/crashprobe-{name}/expected/*.expected.json"
            for name in ("debug-armv7", "debug-x86_64", "release-arm64")
        },
    ),
    Format("minidump", reads=["reports/minidump/*.dmp", "clients/made/empty.dmp"],
           matched={"matched/minidump-crash_macos/crash_macos.dmp": "matched/minidump-crash_macos/expected/frames.json"}),
    Format(
        "crash",
        reads=["reports/apple-crash-text/*.crash", "reports/apple-crash-text/*.txt", "reports/kscrash/**/*.txt",
               "reports/plcrash/expected/*.txt", "reports/ips/expected/*.log"] +
        [f"reports/crashprobe-data/**/_{name}_*.crash" for name in ("apple", "bugsee", "hockeyapp", "sentry")],
        made=["clients/made/demo.crash"],
        derived=".crash",
    ),
    Format(
        "text",
        reads=["reports/raw-stack-text/*.txt", "reports/sample-text/*.txt",
               "reports/crashprobe-data/**/_raygun_*.crash"],
        derived=".callstack.txt",
    ),
    Format(
        "metrickit",
        reads=["reports/metrickit/*.json"],
        made=["clients/made/metrickit.json", "clients/made/metrickit-ios14-baseaddr.json"],
        derived=".metrickit.json",
    ),
    Format("framezero", made=["clients/made/native.json", "clients/made/native-short.json"]),
]


class Row:
    """What came of one format."""

    def __init__(self):
        self.n_files = self.n_reports = self.n_right = self.n_frames = self.n_refused = 0
        self.fields = set()
        self.texts = []


def symbolicate(binary, path, debug_files=()):
    """(reports, "") or (None, message)."""
    command = [binary, "symbolicate", path, "--json"]
    for debug_file in debug_files:
        command += ["--dsym", debug_file]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    text = done.stderr.decode(errors="replace")
    if done.returncode < 0 or "Sanitizer" in text:
        raise RuntimeError(f"{path}: ended by signal {-done.returncode}: {text[-2000:]}")
    if done.returncode != 0:
        return None, text.strip().splitlines()[-1]
    return [json.loads(line) for line in done.stdout.splitlines()], ""


def add_fields(value, path, fields):
    """The paths of all members that hold a value; list items share one path."""
    if isinstance(value, dict):
        for key, item in value.items():
            # Names of registers and of tags are the report's, not members of the model.
            add_fields(item, f"{path}.{key}" if not path.endswith((".registers", ".tags")) else path, fields)
    elif isinstance(value, list):
        for item in value:
            add_fields(item, path, fields)
    else:
        fields.add(path)


def crashed_thread(report):
    threads = report.get("threads", [])
    return next((t for t in threads if t.get("crashed")), threads[0] if threads else {"frames": []})


def check_made(reports, answers, row, name):
    """The frames of the crashed thread and of the exception that have an answer."""
    found = []
    for report in reports:
        stacks = [crashed_thread(report)["frames"], report.get("exception_backtrace", {}).get("frames", [])]
        for frame in (f for stack in stacks for f in stack if f["address"] in answers):
            found.append(frame["address"])
            row.n_frames += 1
            wanted = answers[frame["address"]]
            case = matched_sets.Case(name, None, [], [matched_sets.Wanted(0, 0, "symbolicated", wanted)])
            differences = matched_sets.compare(case, {"threads": [{"frames": [frame]}]})
            row.n_right += not differences
            row.texts += [f"{name}: {frame['address']}: {text}" for text in differences]
    missing = [address for address in answers if address not in found]
    if missing:
        row.texts.append(f"{name}: no frame at {', '.join(missing)}")


def expected_frames(report, expected):
    """(frame of the report or None, expected frame), matched by thread, place and address."""
    by_index = {t["index"]: t["frames"] for t in report.get("threads", [])}
    for want in expected["frames"]:
        # Some answers do not say of which thread they are.
        stacks = list(by_index.values()) if want["thread"] is None else [by_index.get(want["thread"], [])]
        # Some events do not number their threads: any thread may hold the frame then.
        stacks = [by_index[want["thread"]]] if want["thread"] in by_index else list(by_index.values())
        if want["thread"] == "exception":
            stacks = [crashed_thread(report)["frames"], report.get("exception_backtrace", {}).get("frames", [])]
        at = want["index"]
        address = int(want["instruction_addr"], 16)
        match = [s[at] for s in stacks if at < len(s) and int(s[at]["address"], 16) == address]
        yield (match[0] if match else None), want


def check_expected(reports, expected, row, name):
    for frame, want in expected_frames(reports[0], expected):
        if want["status"] != "symbolicated":
            continue
        # A plain stack is that of one thread.
        if frame is None and want["thread"] != "exception" and len(reports[0]["threads"]) == 1:
            continue
        # A client may have cut frames before it sent the report; no other format shows it.
        if want["is_leaf"] and want["lookup_addr"] != want["instruction_addr"]:
            continue
        # These expectations use the address after a throw, to which nothing returns, as the pc: the next function.
        if want["is_leaf"] and expected.get("crash_type") == "cpp_exception":
            continue
        row.n_frames += 1
        where = f"{name}: thread {want['thread']} frame {want['index']}"
        if frame is None:
            row.texts.append(f"{where}: no such frame ({want['instruction_addr']})")
            continue
        symbols = matched_sets.Wanted(0, 0, "symbolicated", want["frames"])
        case = matched_sets.Case(name, None, [], [symbols])
        differences = matched_sets.compare(case, {"threads": [{"frames": [frame]}]})
        row.n_right += not differences
        row.texts += [f"{where}: {text}" for text in differences]


def debug_files_of(corpus, expected):
    return sorted({os.path.join(corpus, f["debug_file"]) for f in expected["frames"] if f.get("debug_file")})


class Check:
    def __init__(self, binary, corpus):
        self.binary = binary
        self.corpus = corpus
        made = matched_sets.read_json(os.path.join(corpus, "clients", "made", "expected-symbolication.json"))
        self.answers = {
            f["addr"]: [{"function": name, "file_suffix": file, "line": line} for name, file, line in f["frames"]]
            for f in made
        }

    def read(self, format, row, path, debug_files=()):
        name = os.path.relpath(path, self.corpus)
        row.n_files += 1
        reports, error = symbolicate(self.binary, path, debug_files)
        if name in format.broken:
            row.n_refused += 1
            if reports is not None:
                row.texts.append(f"{name}: read, although {format.broken[name]}")
            return None
        if reports is None:
            row.texts.append(f"{name}: {error}")
            return None
        row.n_reports += len(reports)
        for report in reports:
            names = format.name if isinstance(format.name, tuple) else (format.name,)
            if report["format"] not in names:
                row.texts.append(f"{name}: read as {report['format']}")
            add_fields(report, "", row.fields)
        return reports

    def run(self, format):
        row = Row()
        for pattern in format.reads:
            paths = sorted(p for p in glob.glob(os.path.join(self.corpus, pattern), recursive=True) if os.path.isfile(p))
            if not paths:
                row.texts.append(f"{pattern}: no such file")
            for path in paths:
                self.read(format, row, path)
        for name in format.made:
            path = os.path.join(self.corpus, name)
            reports = self.read(format, row, path, [os.path.join(self.corpus, MADE_DSYM)])
            if reports:
                check_made(reports, self.answers, row, name)
        known = {}
        for pattern, answer in format.matched.items():
            start = os.path.join(self.corpus, pattern).find("*")
            for path in sorted(glob.glob(os.path.join(self.corpus, pattern))):
                star = path[start : len(path) - len(pattern.partition("*")[2])] if start >= 0 else ""
                known[os.path.relpath(path, self.corpus)] = answer.replace("*", star)
        if format.derived:
            for path in sorted(glob.glob(os.path.join(self.corpus, "derived", "*", "*" + format.derived))):
                set_name, file = os.path.relpath(path, os.path.join(self.corpus, "derived")).split(os.sep)
                answer = os.path.join("matched", set_name, "expected", file[: -len(format.derived)] + ".expected.json")
                known[os.path.relpath(path, self.corpus)] = answer
        for name, answer in known.items():
            expected = matched_sets.read_json(os.path.join(self.corpus, answer))
            debug_files = debug_files_of(self.corpus, expected)
            reports = self.read(format, row, os.path.join(self.corpus, name), debug_files)
            if reports:
                check_expected(reports, expected, row, name)
        return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--only", default="", help="only this format")
    parser.add_argument("corpus", nargs="?", default=os.environ.get("FRAMEZERO_CORPUS", ""))
    options = parser.parse_args()
    corpus = options.corpus or os.path.join(
        os.path.dirname(__file__), "..", "..", "..", "shared", "corpus"
    )
    if not os.path.isdir(os.path.join(corpus, "matched")):
        print(f"skipped: no corpus at {corpus} (set FRAMEZERO_CORPUS)")
        return SKIPPED
    check = Check(os.path.abspath(options.framezero), corpus)
    n_wrong = 0
    print(f"{'format':<12}{'files':>7}{'refused':>9}{'reports':>9}{'frames right':>15}{'fields':>8}")
    for format in FORMATS:
        name = format.name if isinstance(format.name, str) else "+".join(format.name)
        if options.only and options.only != name:
            continue
        row = check.run(format)
        n_wrong += len(row.texts)
        right = f"{row.n_right}/{row.n_frames}"
        print(f"{name:<12}{row.n_files:>7}{row.n_refused:>9}{row.n_reports:>9}{right:>15}{len(row.fields):>8}")
        for text in row.texts[:20]:
            print(f"  {text}")
        if len(row.texts) > 20:
            print(f"  and {len(row.texts) - 20} more")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
