#!/usr/bin/env python3
"""POST /symbolicate/v5 against a running server: its answers, its errors, and the Firefox Profiler's own client.


The client (profiler-cli) is installed once, by npm, into the folder of clients. Without npm this part is skipped, and so is the replay
of requests without the corpus (FRAMEZERO_CORPUS).
"""

import glob
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile

from case import BINARY, CLIENTS, CORPUS
from framezero import Server
from symbol_files import corpus, sample

MODULE = ("Demo", "4C4C442E55553144A1387743844373D80")
# Offsets of the sample's three frames; those of return addresses are inside the call already.
OFFSETS = [0x410C, 0x409F, 0x400F]
NAMES = ["shop::cart::total() const", "checkout(int)", "main"]
UNKNOWN = ("Other", "00112233445566778899AABBCCDDEEFF0")


class Check:
    def __init__(self):
        self.n = self.n_bad = 0

    def __call__(self, condition, text):
        self.n += 1
        if not condition:
            self.n_bad += 1
            print(f"wrong: {text}")

    def same(self, got, want, text):
        self(got == want, f"{text}: {got!r}, wanted {want!r}")


def post(server, body, headers=(), method="POST", path="/symbolicate/v5"):
    """As the profiler sends it: JSON with the type of text. (status, headers, JSON or text)"""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    text = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "text/plain;charset=UTF-8", **dict(headers)})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    is_json = answer.headers.get("Content-Type", "").startswith("application/json")
    return answer.status, answer.headers, json.loads(content) if is_json else content


def nulls(value, path="$"):
    """Where a null is, except in found_modules: the profiler rejects a response with one."""
    if isinstance(value, dict):
        return [p for k, v in value.items() if k != "found_modules" for p in nulls(v, f"{path}.{k}")]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in nulls(v, f"{path}[{i}]")]
    return [path] if value is None else []


def check_answers(check, server, token):
    job = {"memoryMap": [MODULE, UNKNOWN, ("Unused", "F" * 33)],
           "stacks": [[[0, o] for o in OFFSETS], [[1, 16], [-1, 4660], [0, 1 << 40], [0, 0x7FFFFFF]], []]}
    status, headers, answer = post(server, {"jobs": [job, job]}, token)
    check.same(status, 200, "status")
    check.same(headers.get("Access-Control-Allow-Origin"), "*", "CORS")
    check.same(nulls(answer), [], "nulls")
    check.same(len(answer["results"]), 2, "results")
    check.same(answer["results"][0], answer["results"][1], "the same job twice")
    first, odd, empty = answer["results"][0]["stacks"]
    check.same(empty, [], "an empty stack")
    check.same([f["function"] for f in first], NAMES, "functions")
    check.same([f["frame"] for f in first], [0, 1, 2], "numbers of frames")
    check.same([f["module_offset"] for f in first], [hex(o) for o in OFFSETS], "offsets")
    check(all(f["function_offset"].startswith("0x") for f in first), "function_offset is hex")
    check.same((first[0]["file"], first[0]["line"]), ("/src/Demo/cart.cpp", 18), "place of the outer function")
    check.same(first[0]["inlines"], [{"function": "shop::price_of(shop::item const*)", "file": "/src/Demo/cart.h",
                                      "line": 16}], "inlined calls")
    check("inlines" not in first[1], "a frame without inlined calls has no inlines")
    check.same(odd, [{"frame": 0, "module": "Other", "module_offset": "0x10"},
                     {"frame": 1, "module": "<unknown>", "module_offset": "0x1234"},
                     {"frame": 2, "module": "Demo", "module_offset": "0x10000000000"},
                     {"frame": 3, "module": "Demo", "module_offset": "0x7ffffff"}], "frames without a name")
    check.same(answer["results"][0]["found_modules"],
               {"Demo/" + MODULE[1]: True, "Other/" + UNKNOWN[1]: False, "Unused/" + "F" * 33: None}, "found_modules")
    status, _, bare = post(server, {**job, "version": 5}, token)
    check.same((status, bare["results"]), (200, [answer["results"][0]]), "one job without jobs")
    status, _, none = post(server, {"jobs": []}, token)
    check.same((status, none), (200, {"results": []}), "no jobs")
    # More frames than one thread of a report holds.
    many = {"memoryMap": [MODULE], "stacks": [[[0, OFFSETS[i % 3]] for i in range(2500)]]}
    status, _, answer = post(server, many, token)
    check.same(status, 200, "2,500 frames")
    check.same([f["function"] for f in answer["results"][0]["stacks"][0]], [NAMES[i % 3] for i in range(2500)],
               "2,500 functions")
    most = {"memoryMap": [MODULE], "stacks": [[[0, OFFSETS[0]]] * 65536]}
    status, _, answer = post(server, most, token)
    check.same((status, [len(s) for s in answer.get("results", [{}])[0].get("stacks", [])]), (200, [65536]), "the most")
    status, listed = server.request("GET", "/api/v1/reports")
    check.same((status, listed["reports"]), (200, []), "nothing is stored")


def check_errors(check, server, token):
    good = {"memoryMap": [MODULE], "stacks": [[[0, 16]]]}
    cases = [
        ("{", 400, "json"),
        ("[]", 400, "the request: not an object"),
        ({"jobs": 5}, 400, "jobs: not an array"),
        ({}, 400, "jobs[0].memoryMap: not an array"),
        ({"memoryMap": []}, 400, "jobs[0].stacks: not an array"),
        ({"jobs": [good, {"memoryMap": [["a"]], "stacks": []}]}, 400, "jobs[1].memoryMap[0]: not a pair"),
        ({**good, "stacks": [[[1, 16]]]}, 400, "jobs[0].stacks[0][0]: not a pair"),
        ({**good, "stacks": [[[0, 16], [-2, 16]]]}, 400, "jobs[0].stacks[0][1]: not a pair"),
        ({**good, "stacks": [[[0, "x"]]]}, 400, "jobs[0].stacks[0][0]: not a pair"),
        ({**good, "stacks": [[5]]}, 400, "jobs[0].stacks[0][0]: not a pair"),
        ({**good, "stacks": [{}]}, 400, "jobs[0].stacks[0]: not an array"),
        ({"jobs": [good] * 257}, 413, "jobs: 257, at most 256"),
        ({**good, "stacks": [[[0, 16]] * 65537]}, 413, "stacks: 65537 frames, at most 65536"),
    ]
    for body, want, text in cases:
        status, headers, answer = post(server, body, token)
        check.same(status, want, f"status of {text}")
        check(isinstance(answer.get("error"), str) and text in answer["error"], f"{text}: {answer}")
        check.same(headers.get("Access-Control-Allow-Origin"), "*", f"CORS of {text}")


def check_access(check, server):
    body = {"memoryMap": [MODULE], "stacks": [[[0, 16]]]}
    status, _, answer = post(server, body)
    check.same(status, 401, "without a token")
    check("token" in answer["error"], f"without a token: {answer}")
    status, _, answer = post(server, body, {"Authorization": "Bearer " + server.ingest_key})
    check.same(status, 403, "with an ingest key")
    check("scope 'read'" in answer["error"], f"with an ingest key: {answer}")
    status, headers, _ = post(server, None, {"Origin": "https://profiler.firefox.com"}, "OPTIONS")
    check.same((status, headers.get("Access-Control-Allow-Origin")), (200, "*"), "OPTIONS")
    check("POST" in headers.get("Access-Control-Allow-Methods", ""), "the methods of OPTIONS")
    check("content-type" in headers.get("Access-Control-Allow-Headers", ""), "the headers of OPTIONS")
    status, _, answer = post(server, body, {"Authorization": "Bearer " + server.admin_token}, path="//symbolicate/v5/")
    check.same(status, 200, "a server's address with a slash at its end")


def check_replay(check, server):
    """The requests that the client sent, byte for byte, with the responses that it accepted."""
    for path in sorted(glob.glob(os.path.join(CORPUS, "clients", "firefox-*", "001.req"))):
        with open(path, "rb") as f:
            body = f.read().partition(b"\r\n\r\n")[2]
        with open(path[:-3] + "res", "rb") as f:
            want = json.loads(f.read().partition(b"\r\n\r\n")[2])["results"][0]
        status, _, answer = post(server, body)
        check.same(status, 200, path)
        got = answer["results"][0]
        for frame, wanted in zip(got["stacks"][0], want["stacks"][0]):
            for key in ("frame", "module", "module_offset", "function", "function_offset", "line"):
                check.same(frame.get(key), wanted[key], f"{path}: {key}")
            check(frame["file"].endswith(wanted["file"].rpartition("src/")[2]), f"{path}: {frame['file']}")
        check.same(got["found_modules"], {"Demo/4C4C445B55553144A12988BEB9D5EB600": True}, path)


def profile():
    """The smallest profile that the client accepts; its frames have no names yet."""
    n, none = len(OFFSETS), [None] * len(OFFSETS)
    zeros, ones = [0] * n, [1] * n
    frames = {"address": OFFSETS[::-1], "category": ones, "column": none, "func": list(range(n)), "inlineDepth": zeros,
              "innerWindowID": zeros, "length": n, "line": none, "nativeSymbol": none, "originalLocation": zeros,
              "subcategory": zeros}
    functions = {"columnNumber": none, "isJS": [False] * n, "length": n, "lineNumber": none,
                 "name": list(range(1, n + 1)), "originalLocation": none, "relevantForJS": [False] * n,
                 "resource": zeros, "source": none}
    shared = {"frameTable": frames, "funcTable": functions,
              "nativeSymbols": {"address": [], "functionSize": [], "length": 0, "libIndex": [], "name": []},
              "resourceTable": {"host": [None], "length": 1, "lib": [0], "name": [0], "type": [1]},
              "sourceLocationTable": {"column": [], "length": 0, "line": [], "source": []},
              "sources": {"content": [], "filename": [], "id": [], "length": 0, "sourceMapURL": [], "startColumn": [],
                          "startLine": []},
              "stackTable": {"frame": list(range(n)), "length": n, "prefixOffset": [0] + [1] * (n - 1)},
              "stringArray": ["Demo"] + [hex(o) for o in OFFSETS[::-1]]}
    thread = {"isMainThread": True, "name": "main", "pausedRanges": [], "pid": "1", "processName": "Demo",
              "processShutdownTime": None, "processStartupTime": 0, "processType": "default", "registerTime": 0,
              "showMarkersInTimeline": False, "tid": "1", "unregisterTime": None,
              "markers": {"category": [], "data": [], "endTime": [], "length": 0, "name": [], "phase": [],
                          "startTime": []},
              "samples": {"length": 3, "stack": [n - 1] * 3, "timeDeltas": [0, 1, 1], "weight": [1, 1, 1],
                          "weightType": "samples", "threadCPUDelta": [0, 0, 0]}}
    meta = {"categories": [{"color": "grey", "name": "Other", "subcategories": ["Other"]},
                           {"color": "blue", "name": "Regular", "subcategories": ["Other"]}],
            "debug": False, "extensions": {"baseURL": [], "id": [], "length": 0, "name": []}, "interval": 1,
            "markerSchema": [], "oscpu": "macOS 14.4", "pausedRanges": [], "preprocessedProfileVersion": 66,
            "processType": 0, "product": "Demo", "startTime": 1767225600000, "symbolicated": False,
            "sampleUnits": {"eventDelay": "ms", "threadCPUDelta": "\u00b5s", "time": "ms"},
            "usesOnlyOneStackType": True, "sourceCodeIsNotOnSearchfox": True, "version": 24}
    library = {"arch": "arm64", "breakpadId": MODULE[1], "codeId": None, "debugName": "Demo", "debugPath": "/x/Demo",
               "name": "Demo", "path": "/x/Demo"}
    return {"meta": meta, "libs": [library], "pages": [], "profilerOverhead": [], "counters": [], "shared": shared,
            "threads": [thread]}


def install_client(folder):
    """The path of profiler-cli; None, with a message, where it cannot be installed."""
    prefix = os.path.join(folder, "profiler-cli")
    program = os.path.join(prefix, "node_modules", ".bin", "profiler-cli")
    if os.path.exists(program):
        return program
    if not shutil.which("npm"):
        print("skipped: the client's own part, npm is not installed")
        return None
    os.makedirs(prefix, exist_ok=True)
    done = subprocess.run(["npm", "i", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", prefix,
                           "@firefox-devtools/profiler-cli"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
    if done.returncode != 0 or not os.path.exists(program):
        print(f"skipped: the client's own part, npm could not install it: {done.stdout[-300:]!r}")
        return None
    return program


def check_client(check, server, program):
    with tempfile.TemporaryDirectory(prefix="framezero-test-") as home:
        path = os.path.join(home, "profile.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(profile(), f)
        env = {**os.environ, "HOME": home, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

        def run(*arguments):
            done = subprocess.run([program, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False, timeout=120)
            return done.stdout.decode(errors="replace")

        try:
            shown = run("load", path, "--symbol-server", server.url) + run("thread", "samples")
        finally:
            run("stop", "--all")
        for name in ["shop::price_of(shop::item const*)", *NAMES]:
            check(f"Demo!{name}" in shown or name in shown, f"the profiler does not show {name}:\n{shown}")
        version = subprocess.run([program, "--version"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 check=False, timeout=60).stdout.decode(errors="replace").strip()
        print(f"profiler-cli {version}: names shown")


def main():
    check = Check()
    symbols = sample("Demo.dSYM.zip")
    with Server(BINARY) as server:
        check.same(server.request("POST", "/api/v1/symbols", body=symbols)[0], 201, "upload")
        token = {"Authorization": "Bearer " + server.admin_token}
        check_answers(check, server, token)
        check_errors(check, server, token)
        check_access(check, server)
    dsym = corpus("clients", "made", "Demo.dSYM", "Contents", "Resources", "DWARF", "Demo")
    with Server(BINARY, ["--symbolicate-v5-project", "default"]) as server:
        server.request("POST", "/api/v1/symbols", body=symbols)
        if dsym:
            with open(dsym, "rb") as f:
                server.request("POST", "/api/v1/symbols", body=f.read())
            check_replay(check, server)
        else:
            print("skipped: the replay of requests needs the corpus (set FRAMEZERO_CORPUS)")
        program = install_client(CLIENTS)
        if program:
            check_client(check, server, program)
    print(f"{check.n} checks, {check.n_bad} wrong")
    return 1 if check.n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
