#!/usr/bin/env python3
"""The symbol engine beside LLVM's: building an index, looking up, opening, demangling.

    bench/engine.py [--framezero BIN] [--work DIR] [--all | --stage NAME...] [--without PEER...]
              [--rounds N] [--json FILE] [FILE...]

Every contender runs once in each round and in changing order, so that other load on the machine meets all alike;
the results are medians over the rounds; ratios are taken within a round. docs/performance.md explains the rows.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import corpus, table  # noqa: E402
from support.macho import MachO  # noqa: E402
from support.runner import Runner, RunFailed  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
SEED = 1
N_ADDRESSES = 100_000
N_LOOKUPS = 1_000_000
N_NAMES = 100_000
N_OPENINGS = 20  # per round: each takes about a millisecond, and a busy machine disturbs it the most
PEERS = ("llvm-gsymutil-19", "llvm-gsymutil-14", "llvm-symbolizer-19", "llvm-cxxfilt-19")
MIB = 1 << 20


def say(text):
    print(f"engine: {text}", file=sys.stderr, flush=True)


class Bench:
    def __init__(self, runner, options):
        self.runner, self.rounds, self.work = runner, options.rounds, options.work
        self.framezero = options.framezero
        self.peers = {name: None if name in options.without else shutil.which(name) for name in PEERS}
        self.left_out = options.without
        self.rows, self.notes, self.samples = [], [], {}

    def missing(self):
        return [name for name, path in self.peers.items() if not path and name not in self.left_out]

    def interleave(self, what, contenders):
        """{name: [answer of each round]}; contenders are {name: function}. One that fails is left out, with a note."""
        answers = {name: [] for name in contenders}
        for name, run in list(contenders.items()):  # not counted: it brings the files into the page cache
            try:
                run()
            except RunFailed as error:
                if "framezero" in name:
                    sys.exit(f"engine: {error}")
                self.notes.append(f"{what}: {name} fails ({error})")
                answers.pop(name)
        names = list(answers)
        for i in range(self.rounds):
            for name in names[i % len(names):] + names[:i % len(names)]:
                answers[name].append(contenders[name]())
            say(f"{what}: round {i + 1} of {self.rounds}")
        self.samples[what] = answers
        return answers

    def row(self, subject, measure, value, **more):
        self.rows.append({"stage": subject.stage, "file": subject.name, "measure": measure, "value": value, **more})

    # --- building ----------------------------------------------------------------------------------

    def build(self, subject):
        index, path = self.work / f"{subject.name}.index", subject.path
        gsym = {version: self.work / f"{subject.name}.gsym{version}" for version in (19, 14)}

        def fresh(out, argv):
            """A new file each time: replacing one makes the file system write it to the disk at once."""
            def run():
                out.unlink(missing_ok=True)
                return self.runner.run(argv)
            return run

        def framezero(threads):
            return fresh(index, [self.framezero, "index", path, "-o", index, "--jobs", threads])

        def gsymutil(version, threads):
            return fresh(gsym[version], [self.peers[f"llvm-gsymutil-{version}"], f"--convert={path}", "--quiet",
                                         f"--num-threads={threads}", f"--out-file={gsym[version]}"])

        contenders = {}
        for threads in (1, 2):
            contenders[f"framezero {threads}"] = framezero(threads)
            for version in (19, 14):
                if self.peers[f"llvm-gsymutil-{version}"]:
                    contenders[f"gsymutil-{version} {threads}"] = gsymutil(version, threads)
        answers = self.interleave(f"{subject.name} build", contenders)
        for threads in (1, 2):
            for version in (19, 14):
                self.build_rows(subject, threads, version, answers)
        own = max(median(answers[f"framezero {threads}"], "rss") for threads in (1, 2))
        self.row(subject, "memory, absolute", own, unit="bytes", limit=MachO(path).dwarf_size + 64 * MIB)
        if gsym[19].exists() and any(name.startswith("gsymutil-19") for name in answers):
            self.row(subject, "size", index.stat().st_size, unit="bytes", peer="gsymutil-19",
                     peer_value=gsym[19].stat().st_size, ratio=index.stat().st_size / gsym[19].stat().st_size)
        return index, gsym[19]

    def build_rows(self, subject, threads, version, answers):
        own, peer = answers[f"framezero {threads}"], answers.get(f"gsymutil-{version} {threads}")
        if not peer:
            return
        suffix = f"{threads} thread{'s' if threads > 1 else ''}"
        for measure, key, unit in (("build", "wall", "s"), ("memory", "rss", "bytes")):
            self.row(subject, f"{measure}, {suffix}", median(own, key), unit=unit, peer=f"gsymutil-{version}",
                     peer_value=median(peer, key), ratio=ratio(own, peer, key),
                     **({"cpu_ratio": ratio(own, peer, "cpu")} if measure == "build" else {}))

    # --- looking up --------------------------------------------------------------------------------

    def look_up(self, subject, index, gsym):
        stem = self.work / subject.name
        addresses = [f"{address:#x}" for address in MachO(subject.path).addresses(N_ADDRESSES, SEED)]
        plain, one, for_gsym, empty, out = (stem.with_name(f"{subject.name}.{end}")
                                            for end in ("addresses", "one", "gsym-addresses", "empty", "out"))
        plain.write_text("\n".join(addresses) + "\n")
        one.write_text(addresses[0] + "\n")
        for_gsym.write_text("".join(f"{address} {gsym}\n" for address in addresses))
        empty.write_text("")

        def warm():
            answer = self.runner.run([self.framezero, "lookup", index, "--bench", N_LOOKUPS], stdin=plain, stdout=out)
            return {**answer, "ns": float(out.read_text().split()[0])}

        def openings():
            """First lookups in new processes, and processes that do nothing, in turns."""
            pairs = [(self.runner.run([self.framezero, "lookup", index], stdin=one)["wall"],
                      self.runner.run([self.framezero, "--version"])["wall"]) for _ in range(N_OPENINGS)]
            return {"first": [pair[0] for pair in pairs], "nothing": [pair[1] for pair in pairs]}

        def less(argv, stdin, without):
            """ns per address of a whole run, less one that has the same start."""
            whole, start = self.runner.run(argv, stdin=stdin), self.runner.run(argv, stdin=without)
            return {**whole, "ns": max(0.0, whole["wall"] - start["wall"]) * 1e9 / N_ADDRESSES}

        contenders = {"framezero warm": warm, "framezero opening": openings,
                      "framezero list": lambda: self.runner.run([self.framezero, "lookup", index], stdin=plain)}
        gsymutil, symbolizer = self.peers["llvm-gsymutil-19"], self.peers["llvm-symbolizer-19"]
        if gsymutil and gsym.exists():
            contenders["gsymutil-19"] = lambda: less([gsymutil, "--addresses-from-stdin"], for_gsym, empty)
        if symbolizer:
            contenders["llvm-symbolizer-19"] = lambda: less([symbolizer, f"--obj={subject.path}"], plain, one)
        answers = self.interleave(f"{subject.name} lookup", contenders)
        warm_ns, own = answers["framezero warm"], answers["framezero list"]
        self.row(subject, "lookup, warm", median(warm_ns, "ns"), unit="ns")
        for peer in ("gsymutil-19", "llvm-symbolizer-19"):
            if peer in answers:
                self.row(subject, "lookup, warm", median(warm_ns, "ns"), unit="ns", peer=peer,
                         peer_value=median(answers[peer], "ns"), ratio=ratio(warm_ns, answers[peer], "ns"))
                self.row(subject, "100,000 addresses", median(own, "wall"), unit="s", peer=peer,
                         peer_value=median(answers[peer], "wall"), faster=1 / ratio(own, answers[peer], "wall"),
                         cpu_faster=1 / ratio(own, answers[peer], "cpu"))
        first, nothing = (statistics.median(wall for answer in answers["framezero opening"] for wall in answer[key])
                          for key in ("first", "nothing"))
        self.row(subject, "open and first lookup", 1000 * (first - nothing), unit="ms", whole_ms=1000 * first)

    # --- demangling --------------------------------------------------------------------------------

    def demangle(self, subject):
        distinct = MachO(subject.path).cxx_names(N_NAMES, SEED)
        if len(distinct) < 1000:
            return False
        names = [distinct[i % len(distinct)] for i in range(N_NAMES)]
        path, empty = self.work / "names", self.work / "empty"
        path.write_text("\n".join(names) + "\n")
        empty.write_text("")

        def rate(argv):
            def run():
                whole, start = self.runner.run(argv, stdin=path), self.runner.run(argv, stdin=empty)
                return {**whole, "rate": len(names) / max(1e-6, whole["wall"] - start["wall"])}
            return run

        contenders = {"framezero demangle": rate([self.framezero, "demangle"])}
        if self.peers["llvm-cxxfilt-19"]:
            contenders["llvm-cxxfilt-19"] = rate([self.peers["llvm-cxxfilt-19"]])
        answers = self.interleave(f"{subject.name} demangle ({len(distinct)} names)", contenders)
        own, peer = answers["framezero demangle"], answers.get("llvm-cxxfilt-19")
        more = {} if not peer else {"peer": "llvm-cxxfilt-19", "peer_value": median(peer, "rate"),
                                    "faster": ratio(own, peer, "rate")}
        self.row(subject, "demangling C++", median(own, "rate"), unit="names/s", **more)
        return True


def median(answers, key):
    return statistics.median(answer[key] for answer in answers)


def ratio(own, peer, key):
    """The median of the rounds' ratios."""
    return statistics.median(a[key] / max(b[key], 1e-9) for a, b in zip(own, peer))


def machine():
    model = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    return {"cpu": model, "cores": os.cpu_count(), "load": os.getloadavg()[0]}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--framezero", type=pathlib.Path, default=TOP / "build/release/server/framezero")
    parser.add_argument("--work", type=pathlib.Path, default=TOP / "build/release/bench", help="for what is built")
    parser.add_argument("--all", action="store_true", help="all stages; making the large one takes over half an hour")
    parser.add_argument("--stage", action="append", choices=corpus.STAGES, help="only this one; may be given again")
    parser.add_argument("--without", action="append", choices=PEERS, default=[], help="leave this peer out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="rows and every sample to FILE ('-': stdout)")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE", help="these Mach-O files, no corpus")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds wants 1 or more")
    options.framezero, options.work = options.framezero.resolve(), options.work.resolve()
    if not options.framezero.exists():
        parser.error(f"{options.framezero} is not there: ./dev bench builds it")
    options.work.mkdir(parents=True, exist_ok=True)
    return options


def subjects(options):
    if options.files:
        return [corpus.Subject("given", path.name, path) for path in options.files]
    root = pathlib.Path(os.environ.get("FRAMEZERO_BENCH_CORPUS") or TOP / "build/bench-corpus").resolve()
    ret = []
    for stage in options.stage or (corpus.STAGES if options.all else corpus.BY_DEFAULT):
        if not corpus.find(root, stage):
            corpus.make(root, stage)
        ret += corpus.find(root, stage)
    return ret


def main():
    runner = Runner()
    options = parse()
    bench, before, begin = Bench(runner, options), machine(), time.time()
    for name in bench.missing():
        say(f"{name} is not installed: rows against it are left out")
    done_names = False
    for subject in subjects(options):
        index, gsym = bench.build(subject)
        bench.look_up(subject, index, gsym)
        done_names = done_names or bench.demangle(subject)
    if not done_names:
        bench.notes.append("demangling: no file has a thousand C++ names; the middle stage has")
    floor = runner.run([options.framezero, "--version"])["rss"]
    info = {"date": time.strftime("%Y-%m-%d", time.gmtime(begin)), "seconds": round(time.time() - begin),
            "rounds": options.rounds, "before": before, "after": machine(), "memory_floor": floor,
            "missing": bench.missing(), "left_out": options.without, "notes": bench.notes}
    rows = table.judge(bench.rows)
    if options.json:
        text = json.dumps({"info": info, "rows": rows, "samples": bench.samples}, indent=1)
        sys.stdout.write(text + "\n") if str(options.json) == "-" else options.json.write_text(text + "\n")
    if str(options.json) != "-":
        print(table.markdown(info, rows))


if __name__ == "__main__":
    main()
