#!/usr/bin/env python3
"""Long fuzzing, one target after the other: each gets --minutes of CPU time of its own, at low priority.

    ./dev --preset fuzz build fuzzers
    tests/fuzz/campaign.py --programs build/fuzz/tests/fuzz --work build/campaign [--minutes 20] [TARGET...]

Time counts as CPU time of the fuzzing process, in rounds of --round seconds, so that a busy machine shortens
nothing. The state is kept in WORK/state.json: a campaign that was stopped goes on where it was, and a target
whose program has changed starts again with the corpus that it has. While WORK/pause exists the process is
held. With --watch it does not end, but looks every half minute whether a program has changed.

What counts as a finding, written to WORK/found/TARGET: a crash or a report of a sanitizer; an input that takes
more than a second of CPU time when it is run alone (what libFuzzer calls slow may only have waited for the
machine); more than 256 MB beyond what the idle program takes; no end within a minute of CPU time.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROUND_S = 120
HANG_S = 60
SLOW_S = 1.0
MEMORY_MB = 256
MAX_LEN = 65536
FINDINGS_MAX = 5  # then the target is left until its program changes
HERE = pathlib.Path(__file__).resolve().parent


def environment():
    """Freed memory that the address sanitizer holds back would count as the parser's."""
    return dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=8:malloc_context_size=5:detect_leaks=1",
                UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")


def cpu_of(pid):
    """CPU seconds of a process that may be gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def run(command, log, pause, limit_s):
    """Run at the lowest priority; returns (exit status, CPU seconds, whether it had to be ended)."""
    with open(log, "ab") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, env=environment(), preexec_fn=lambda: os.nice(19))
    held = hung = False
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, hung
        if pause.exists() != held:
            held = not held
            child.send_signal(signal.SIGSTOP if held else signal.SIGCONT)
        if not hung and cpu_of(child.pid) > limit_s:
            hung = True
            child.send_signal(signal.SIGFPE)  # libFuzzer writes the input that it is at
        elif hung and cpu_of(child.pid) > limit_s + HANG_S:
            child.kill()
        time.sleep(0.5)


class Target:
    """One fuzz program, its folders and what is known of it."""

    def __init__(self, name, programs, work, state):
        self.name, self.work = name, work
        self.program = programs / f"fuzz_{name}"
        self.corpus, self.found = work / "corpus" / name, work / "found" / name
        self.log = work / "log" / f"{name}.log"
        for folder in (self.corpus, self.found, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        self.state = state.setdefault(name, {})
        digest = hashlib.sha256(self.program.read_bytes()).hexdigest()
        if self.state.get("program") != digest:
            if self.state.get("executions"):
                state.setdefault("before", []).append({"target": name, **self.state})
            self.state.clear()
            self.state.update(program=digest, since=time.strftime("%Y-%m-%d %H:%M:%S"), cpu_s=0, executions=0,
                              findings=[], slowest_s=0.0, peak_mb=0, idle_mb=self.idle_mb())

    def idle_mb(self):
        """Peak memory of the program on an empty input: what sanitizers and libFuzzer take themselves."""
        empty = self.work / "empty"
        empty.write_bytes(b"")
        out = subprocess.run([self.program, "-runs=1", "-print_final_stats=1", empty], capture_output=True,
                             env=environment(), check=False).stderr.decode(errors="replace")
        child = subprocess.Popen([self.program, "-runs=1", empty], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=environment())
        usage = os.wait4(child.pid, 0)[2]
        peak = re.search(r"peak_rss_mb:\s+(\d+)", out)
        return max(usage.ru_maxrss // 1024, int(peak.group(1)) if peak else 0)

    def alone(self, path, pause):
        """CPU seconds of one input, without the program's start."""
        log = self.work / "alone.log"
        times = [run([self.program, "-runs=1", what], log, pause, HANG_S)[1] for what in (self.work / "empty", path)]
        return max(times[1] - times[0], 0.0)

    def fuzz(self, pause, round_s):
        """One round."""
        state, before = self.state, {path.name for path in self.found.iterdir()}
        start = self.log.stat().st_size if self.log.exists() else 0
        seeds = HERE / "corpus" / self.name
        status, cpu_s, hung = run(
            [self.program, f"-max_total_time={round_s}", "-timeout=100000", "-report_slow_units=1",
             "-print_final_stats=1", f"-max_len={MAX_LEN}", f"-rss_limit_mb={state['idle_mb'] + MEMORY_MB}",
             "-verbosity=1", f"-artifact_prefix={self.found}/", self.corpus, *([seeds] if seeds.is_dir() else [])],
            self.log, pause, round_s + HANG_S)
        with open(self.log, "rb") as log:
            log.seek(start)
            text = log.read().decode(errors="replace")
        count = lambda key: sum(int(n) for n in re.findall(rf"stat::{key}:\s+(\d+)", text))
        state["cpu_s"] = round(state["cpu_s"] + cpu_s, 1)
        state["executions"] += count("number_of_executed_units")
        state["peak_mb"] = max(state["peak_mb"], count("peak_rss_mb"))
        new = sorted({path.name for path in self.found.iterdir()} - before)
        for name in new:
            self.judge(name, pause)
        if hung:
            state["findings"].append("no end within a minute of CPU time")
        elif status != 0 and not new:  # a seed that fails, say: no round will get any further
            state["findings"].append(f"exit status {status} and nothing new, see the log")

    def judge(self, name, pause):
        path = self.found / name
        if not name.startswith("slow-unit-"):
            self.state["findings"].append(name)
            return
        seconds = self.alone(path, pause)
        self.state["slowest_s"] = round(max(self.state["slowest_s"], seconds), 3)
        if seconds > SLOW_S:
            self.state["findings"].append(f"{name}: {seconds:.2f} s alone")
        else:
            path.unlink()

    def minimise(self, pause):
        """Keep of the corpus what reaches something of its own."""
        small = self.work / "corpus" / f"{self.name}.small"
        small.mkdir(exist_ok=True)
        status, _, _ = run([self.program, "-merge=1", "-timeout=100000", f"-max_len={MAX_LEN}", small, self.corpus],
                           self.work / "merge.log", pause, 20 * 60)
        if status == 0:
            for path in self.corpus.iterdir():
                path.unlink()
            for path in small.iterdir():
                path.rename(self.corpus / path.name)
            self.state["corpus"] = len(list(self.corpus.iterdir()))
        for path in small.iterdir():
            path.unlink()
        small.rmdir()


def show(state, minutes):
    """The table of a campaign."""
    print(f"{'target':<18} {'CPU min':>8} {'executions':>12} {'findings':>8} {'slowest alone':>14} {'beyond idle':>12}")
    for name, one in sorted(state.items()):
        if name == "before":
            continue
        slowest = f"{one['slowest_s']:.2f} s" if one["slowest_s"] else "< 1 s"
        print(f"{name:<18} {one['cpu_s'] / 60:>8.1f} {one['executions']:>12,} {len(one['findings']):>8} "
              f"{slowest:>14} {max(one['peak_mb'] - one['idle_mb'], 0):>9} MB"
              f"{'' if one['cpu_s'] >= minutes * 60 else '  (not done)'}")
        for finding in one["findings"]:
            print(f"    {finding}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, type=pathlib.Path, help="folder of the fuzz_* programs")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="corpora, findings, logs, state")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--round", type=int, default=ROUND_S, help="seconds of one run of a target")
    parser.add_argument("--watch", action="store_true", help="do not end; begin again with what changes")
    parser.add_argument("--show", action="store_true", help="only print the table")
    parser.add_argument("target", nargs="*", help="in this order; all that there are, if none is named")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    saved = options.work / "state.json"
    state = json.loads(saved.read_text()) if saved.exists() else {}
    if options.show:
        show(state, options.minutes)
        return 0
    order = options.target or sorted(path.name for path in (HERE / "corpus").iterdir())
    pause = options.work / "pause"
    while True:
        did = False
        for name in order:
            if not (options.programs / f"fuzz_{name}").exists():
                continue
            target = Target(name, options.programs, options.work, state)
            one, wanted = target.state, options.minutes * 60
            if one["cpu_s"] >= wanted or len(one["findings"]) >= FINDINGS_MAX:
                continue
            did = True
            target.fuzz(pause, options.round)
            if one["cpu_s"] >= wanted:
                target.minimise(pause)
            saved.with_suffix(".new").write_text(json.dumps(state, indent=1) + "\n")
            saved.with_suffix(".new").rename(saved)
            print(f"{time.strftime('%H:%M:%S')} {name}: {one['cpu_s'] / 60:.1f} min, {one['executions']:,} executions, "
                  f"{len(one['findings'])} findings", flush=True)
            break
        if not did and not options.watch:
            break
        if not did:
            time.sleep(30)
    show(state, options.minutes)
    return 1 if any(one["findings"] for name, one in state.items() if name != "before") else 0


if __name__ == "__main__":
    sys.exit(main())
