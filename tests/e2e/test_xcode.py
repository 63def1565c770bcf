#!/usr/bin/env python3
"""docs/xcode/upload-dsyms.sh as a Run Script phase runs it, against a running server, in every shell that is here.


PATH holds only what macOS has, and `dwarfdump`, `ditto`, `zip` as the case wants them.
"""

import concurrent.futures
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from case import BINARY, MANY_FAILURES, SOURCE
from framezero import Server
from symbol_files import sample_macho

TOOLS = ["basename", "cat", "cmp", "dirname", "find", "grep", "head", "ls", "mktemp", "paste", "rm", "sed", "sh", "sleep",
         "sort", "tr"]
SCRIPT = os.path.join(SOURCE, "docs", "xcode", "upload-dsyms.sh")
UUID = "4c4c442e55553144a1387743844373d8"

# `dwarfdump --uuid FILE`: what Apple's prints of a Mach-O file, and its failure on one that is cut off.
DWARFDUMP = """#!%s
import struct, sys, uuid
data = open(sys.argv[2], "rb").read()
try:
    n, at = struct.unpack_from("<I", data, 16)[0], 32
    commands = []
    for _ in range(n):
        kind, size = struct.unpack_from("<II", data, at)
        commands.append((kind, at))
        if kind == 0x19:
            offset, length = struct.unpack_from("<QQ", data, at + 40)
            if offset + length > len(data):
                raise ValueError
        at += size
    at = next(at for kind, at in commands if kind == 0x1b)
    print("UUID:", str(uuid.UUID(bytes=data[at + 8:at + 24])).upper(), "(arm64)", sys.argv[2])
except Exception:
    print("error:", sys.argv[2], "truncated or malformed object", file=sys.stderr)
    sys.exit(1)
""" % sys.executable

# Arguments are kept, so that one can see that no token is among them.
CURL = """#!/bin/sh
printf '%%s\\n' "$*" >>'%s'
exec '%s' "$@"
"""


class Flaky(http.server.BaseHTTPRequestHandler):
    """Busy twice, then all is well."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(self.path)
        status, body = (503, b'{"error":{"message":"busy"}}') if len(self.server.seen) < 3 else (200, b'{"missing":[]}')
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Runner:
    """One shell, one folder of programs, one Xcode environment."""

    def __init__(self, shell, folder, server):
        self.shell, self.server = shell, server
        self.folder = tempfile.mkdtemp(dir=folder)
        self.bin = os.path.join(self.folder, "bin")
        self.products = os.path.join(self.folder, "Build Products")
        self.curl_log = os.path.join(self.folder, "curl.log")
        os.makedirs(self.bin)
        os.makedirs(self.products)
        for name in TOOLS:
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        self.program("curl", CURL % (self.curl_log, shutil.which("curl")))

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)

    def dsym(self, content, name="My Demo.app.dSYM"):
        """Write a dSYM with that DWARF file; its path."""
        path = os.path.join(self.products, name, "Contents", "Resources", "DWARF", "Demo")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def start(self, *paths, **env):
        base = {"PATH": self.bin, "TMPDIR": self.folder, "DWARF_DSYM_FOLDER_PATH": self.products,
                "DWARF_DSYM_FILE_NAME": "My Demo.app.dSYM", "DEBUG_INFORMATION_FORMAT": "dwarf-with-dsym",
                "FRAMEZERO_URL": self.server.url + "/", "FRAMEZERO_TOKEN": self.server.admin_token,
                "FRAMEZERO_WAIT": "1", "FRAMEZERO_RETRIES": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        env = {k: v for k, v in {**base, **env}.items() if v is not None}
        return subprocess.Popen([self.shell, SCRIPT, *paths], env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def run(self, *paths, **env):
        process = self.start(*paths, **env)
        output = process.communicate(timeout=120)[0].decode(errors="replace")
        return process.returncode, output


class Test:
    def __init__(self, folder):
        self.folder = folder
        self.n = self.n_bad = 0
        self.macho = sample_macho()

    def check(self, condition, text):
        self.n += 1
        if not condition:
            self.n_bad += 1
            print(f"wrong: {text}")

    def is_stored(self, server):
        return server.request("GET", "/api/v1/symbols/" + UUID)[0] == 200

    def forget(self, server):
        server.request("DELETE", "/api/v1/symbols/" + UUID)

    def sends(self, shell, server):
        """Each way to send it; the second time there is nothing to send."""
        for tools in (["dwarfdump", "zip"], ["dwarfdump"], ["zip"], ["dwarfdump", "ditto"]):
            self.forget(server)
            runner = Runner(shell, self.folder, server)
            runner.dsym(self.macho)
            if "dwarfdump" in tools:
                runner.program("dwarfdump", DWARFDUMP)
            if "zip" in tools:
                os.symlink(shutil.which("zip"), os.path.join(runner.bin, "zip"))
            if "ditto" in tools:  # as a mac's, made of zip
                runner.program("ditto", f'#!/bin/sh\ncd "${{4%/*}}" && exec {shutil.which("zip")} -qr "$5" "${{4##*/}}"\n')
            name = f"{shell} with {'+'.join(tools)}"
            code, output = runner.run()
            self.check(code == 0 and "note: framezero: 1 sent to" in output, f"{name}: {code} {output}")
            self.check(self.is_stored(server), f"{name}: the server has no {UUID}")
            code, output = runner.run()
            again = "My Demo.app.dSYM is there already" if "dwarfdump" in tools else "1 sent to"
            self.check(code == 0 and again in output, f"{name}, once more: {code} {output}")
            with open(runner.curl_log, encoding="utf-8") as f:
                self.check(server.admin_token not in f.read(), f"{name}: the token is an argument of curl")
            left = [n for n in os.listdir(runner.folder) if n.startswith("framezero.")]
            self.check(not left, f"{name}: {left} remains")

    def finds(self, shell, server):
        """An archive, a folder and a file that are named."""
        runner = Runner(shell, self.folder, server)
        runner.program("dwarfdump", DWARFDUMP)
        archive = os.path.join(runner.products, "App 1.xcarchive")
        path = runner.dsym(self.macho, os.path.join("App 1.xcarchive", "dSYMs", "Demo.app.dSYM"))
        runner.dsym(b"notes of a Mac", os.path.join("App 1.xcarchive", "dSYMs", "Demo.app.dSYM"))
        os.rename(path, os.path.join(os.path.dirname(path), "._Demo"))
        runner.dsym(self.macho, os.path.join("App 1.xcarchive", "dSYMs", "Demo.app.dSYM"))
        for named in (archive, runner.products, path, os.path.join(archive, "dSYMs", "Demo.app.dSYM/")):
            self.forget(server)
            code, output = runner.run(named, DWARF_DSYM_FOLDER_PATH=None, DWARF_DSYM_FILE_NAME=None)
            self.check(code == 0 and "1 sent to" in output, f"{shell} {named}: {code} {output}")
        code, output = runner.run(os.path.join(runner.folder, "none"), FRAMEZERO_STRICT="1")
        self.check(code == 1 and "error: framezero:" in output and "is not there" in output, f"{shell}: {output}")

    def finds_zips(self, shell, server):
        """What fastlane leaves: a zip of dSYMs in a folder, or named."""
        for tools in (["dwarfdump", "unzip"], ["dwarfdump"], []):
            runner = Runner(shell, self.folder, server)
            for name in tools:
                runner.program(name, DWARFDUMP if name == "dwarfdump" else f'#!/bin/sh\nexec {shutil.which("unzip")} "$@"\n')
            runner.dsym(self.macho)
            named = os.path.join(runner.products, "My Demo.app.dSYM.zip")
            subprocess.run(["zip", "-qr", named, "My Demo.app.dSYM"], cwd=runner.products, check=True)
            shutil.rmtree(os.path.join(runner.products, "My Demo.app.dSYM"))
            with open(os.path.join(runner.products, "other.zip"), "wb") as f:
                f.write(b"something else")
            for path in (runner.products, named):
                self.forget(server)
                code, output = runner.run(path, DWARF_DSYM_FOLDER_PATH=None, DWARF_DSYM_FILE_NAME=None)
                self.check(code == 0 and "sent My Demo.app.dSYM.zip" in output and "1 sent to" in output,
                           f"{shell} {tools} {path}: {code} {output}")
                self.check(self.is_stored(server), f"{shell} {tools} {path}: not stored: {output}")
            code, output = runner.run(named, DWARF_DSYM_FOLDER_PATH=None, DWARF_DSYM_FILE_NAME=None)
            again = "My Demo.app.dSYM.zip is there already" if "unzip" in tools else "1 sent to"
            self.check(code == 0 and again in output, f"{shell} {tools}, once more: {output}")

    def waits(self, shell, server):
        """A dSYM that comes while the script runs, in two halves."""
        self.forget(server)
        runner = Runner(shell, self.folder, server)
        runner.program("dwarfdump", DWARFDUMP)
        process = runner.start(FRAMEZERO_WAIT="60")
        time.sleep(1.5)
        path = runner.dsym(self.macho[: len(self.macho) // 2])
        time.sleep(2.5)
        with open(path, "ab") as f:
            f.write(self.macho[len(self.macho) // 2:])
        output = process.communicate(timeout=120)[0].decode()
        self.check(process.returncode == 0 and "1 sent to" in output, f"{shell}, late: {output}")
        _, listed = server.request("GET", "/api/v1/symbols/" + UUID)
        self.check([s["size"] for s in listed.get("symbols", [])] == [len(self.macho)], f"{shell}, late: {listed}")
        for content, text in ((self.macho[:5000], "is not complete after 1 s, left out"), (b"", "is not complete")):
            runner.dsym(content)
            code, output = runner.run()
            self.check(code == 0 and "warning: framezero:" in output and text in output, f"{shell}, half: {output}")
            code, output = runner.run(FRAMEZERO_STRICT="1")
            self.check(code == 1 and "error: framezero:" in output, f"{shell}, half, strict: {code} {output}")
        code, output = runner.run(DWARF_DSYM_FILE_NAME="None.dSYM")
        self.check(code == 0 and "was not made within 1 s" in output, f"{shell}, none: {output}")

    def fails(self, shell, server):
        """Failures do not stop the build, unless FRAMEZERO_STRICT says so."""
        runner = Runner(shell, self.folder, server)
        runner.program("dwarfdump", DWARFDUMP)
        runner.dsym(self.macho)
        runner.dsym(self.macho, "Other.framework.dSYM")
        cases = [
            ({"FRAMEZERO_TOKEN": "fz_wrong"}, 1, "the token is unknown or was revoked (HTTP status 401)"),
            ({"FRAMEZERO_TOKEN": server.ingest_key}, 1, "this token lacks the scope 'upload' (HTTP status 403)"),
            ({"FRAMEZERO_PROJECT": "nope"}, 1, "(HTTP status 404)"),
            ({"FRAMEZERO_URL": "http://127.0.0.1:1"}, 1, "(HTTP status 000)"),
            ({"FRAMEZERO_TOKEN": None}, 2, "FRAMEZERO_URL and FRAMEZERO_TOKEN must be set"),
            ({"DWARF_DSYM_FOLDER_PATH": None}, 2, "DWARF_DSYM_FOLDER_PATH is not set"),
        ]
        for env, strict_code, text in cases:
            code, output = runner.run(**env)
            self.check(code == 0 and text in output, f"{shell} {env}: {code} {output}")
            self.check(output.count("warning: framezero:") == 1, f"{shell} {env}: one warning: {output}")
            code, output = runner.run(FRAMEZERO_STRICT="1", **env)
            self.check(code == strict_code and "error: framezero:" in output, f"{shell} {env}: {code} {output}")
        code, output = runner.run(DEBUG_INFORMATION_FORMAT="dwarf", FRAMEZERO_STRICT="1")
        self.check(code == 0 and "makes no dSYM" in output, f"{shell}, a debug build: {output}")
        code, output = runner.run("--nope", FRAMEZERO_STRICT="1")
        self.check(code == 2 and "unknown option --nope" in output, f"{shell}: {output}")
        code, output = runner.run("--help")
        self.check(code == 0 and "FRAMEZERO_STRICT" in output, f"{shell}: {output}")

    def reports(self, shell, server):
        """What the server finds wrong with a file is a warning of the build."""
        runner = Runner(shell, self.folder, server)
        runner.dsym(b"no symbol file at all")
        code, output = runner.run()
        self.check(code == 0 and "warning: framezero: Demo could not be sent: text, no symbol file" in output,
                   f"{shell}: {output}")
        runner.dsym(self.macho[: len(self.macho) - 700])
        code, output = runner.run()
        self.check(code == 0 and "warning: framezero: Demo" in output, f"{shell}, cut off: {output}")

    def tries_again(self, shell, server):
        flaky = http.server.HTTPServer(("127.0.0.1", 0), Flaky)
        flaky.seen = []
        thread = threading.Thread(target=flaky.serve_forever)
        thread.start()
        runner = Runner(shell, self.folder, server)
        runner.program("dwarfdump", DWARFDUMP)
        runner.dsym(self.macho)
        code, output = runner.run(FRAMEZERO_URL=f"http://127.0.0.1:{flaky.server_port}", FRAMEZERO_RETRIES="4")
        flaky.shutdown()
        thread.join()
        flaky.server_close()
        self.check(code == 0 and "is there already" in output and len(flaky.seen) == 3, f"{shell}: {output}")


def main():
    for name in ("curl", "zip", "unzip"):
        if not shutil.which(name):
            print(f"skipped: there is no {name}")
            return 77
    shells = [s for s in ("dash", "bash") if shutil.which(s)] or ["sh"]
    with tempfile.TemporaryDirectory(prefix="framezero-test-") as folder:
        test = Test(folder)
        parts = (test.waits, test.fails, test.sends, test.finds, test.finds_zips, test.reports, test.tries_again)

        def run(name, part):
            with Server(BINARY, args=MANY_FAILURES) as server:
                part(shutil.which(name), server)

        # Most of the time is spent waiting, so several go on at once, each with a server of its own.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for future in [pool.submit(run, name, part) for part in parts for name in shells]:
                future.result()
        if shutil.which("shellcheck"):
            done = subprocess.run(["shellcheck", "-s", "sh", SCRIPT], stdout=subprocess.PIPE, check=False)
            test.check(done.returncode == 0, done.stdout.decode())
        else:
            print("skipped: shellcheck is not there")
    print(f"{test.n} checks in {', '.join(shells)}, {test.n_bad} wrong")
    return 1 if test.n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
