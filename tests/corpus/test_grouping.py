#!/usr/bin/env python3
"""Real crashes whose kind is known: one issue for each kind, in every build and every format.

The labelled crashes of CrashProbe are grouped as tests/compare/grouping_keys.py does it, which also prints other keys; the
same crashes written in other formats, and one made crash in all formats, are one issue each.
"""
import argparse
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "compare"))
import grouping_keys  # noqa: E402

SKIPPED = 77
CORPUS = pathlib.Path(os.environ.get("FRAMEZERO_CORPUS") or HERE.parents[2] / "shared" / "corpus")


def reports_of(program, report, symbols):
    command = [program, "symbolicate", "--json", str(report), *(f"--dsym={path}" for path in symbols)]
    ran = subprocess.run(command, capture_output=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def body_of(request):
    """The body of a recorded HTTP request."""
    head, _, body = request.read_bytes().partition(b"\r\n\r\n")
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        chunks, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            chunks += rest[:int(size, 16)]
            rest = rest[int(size, 16) + 2:] if int(size, 16) else b""
        body = chunks
    if b"content-encoding: gzip" in lower:
        return gzip.decompress(body)
    return zlib.decompress(body) if b"content-encoding: deflate" in lower else body


def test_labelled(program):
    reports = grouping_keys.load(program, CORPUS)
    labels = [label for label, _, _ in reports]
    groups = [report["issue"]["hash"] for _, _, report in reports]
    intact = [i for i, (label, _, report) in enumerate(reports) if grouping_keys.is_intact(label, report)]
    f1 = grouping_keys.b_cubed(labels, groups)[2]
    whole = grouping_keys.b_cubed([labels[i] for i in intact], [groups[i] for i in intact])[2]
    assert len(reports) == 64 and len(intact) == 55, (len(reports), len(intact))
    assert whole == 1.0 and f1 >= grouping_keys.GOAL_ALL, (f1, whole)


def test_derived(program):
    """Crashes in further formats, which lack the name of the exception and the names of the system."""
    for folder in sorted((CORPUS / "derived").iterdir()):
        symbols = [CORPUS / "matched" / folder.name / "dSYMs"]
        issues, n_formats = collections.defaultdict(set), collections.Counter()
        events = {p.stem: p for p in (CORPUS / "matched" / folder.name / "events").iterdir()}
        for path in sorted(folder.iterdir()):
            kind = path.name.split(".")[0]
            for report in reports_of(program, path, symbols) + reports_of(program, events[kind], symbols):
                issues[kind].add((report["issue"]["hash"], report["issue"]["key"][0]))
                n_formats[kind] += 1
        assert all(len(found) == 1 for found in issues.values()), (folder.name, issues)
        assert all(n >= 10 for n in n_formats.values()), n_formats


def test_made(program):
    """One crash as every client writes it. What has no stack, or is another crash, is left out."""
    made = CORPUS / "clients" / "made"
    symbols = [made / "Demo.dSYM", made / "Demo", made / "exe", made / "Demo.x86_64"]
    issues, formats = collections.defaultdict(list), set()
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(p for p in made.iterdir() if p.is_file() and p.suffix != ".py"):
            if path.name.startswith("demo-nsexception"):
                continue
            body = path
            if path.suffix == ".req":
                body = pathlib.Path(folder, path.name)
                body.write_bytes(body_of(path))
            for report in reports_of(program, body, symbols):
                if any(thread["frames"] for thread in report["threads"]):
                    issues[report["issue"]["hash"], report["issue"]["key"][0]].append(path.name)
                    formats.add(report["format"])
    assert len(issues) == 1, dict(issues)
    assert formats >= {"crash", "framezero", "ips", "kscrash", "metrickit", "plcrash", "quincy", "sentry"}, formats


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    program = parser.parse_args().framezero
    if not CORPUS.is_dir():
        print(f"skipped: no corpus at {CORPUS} (set FRAMEZERO_CORPUS)")
        sys.exit(SKIPPED)
    for test in (test_labelled, test_derived, test_made):
        test(program)
        print(f"ok {test.__name__}")


if __name__ == "__main__":
    main()
