#!/usr/bin/env python3
"""sentry-cli itself, in the versions that builds have, against a real server: upload, and what a build phase also calls.

A table at the end shows which version ran which command. Versions that cannot be installed are skipped.
"""

import base64
import functools
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import clients
import symbol_files
from case import CLIENTS, ServerCase, main, until

VERSIONS = ["1.77.2", "2.22.2", "2.40.0", "2.58.6", "3.0.0", "3.8.0"]
RELEASE = "app@1.0+1"
TABLE = {}  # (what, version) -> outcome
NUMBERS = itertools.count(1)


@functools.cache
def program(version):
    """The path of this version; None if it cannot be installed here."""
    try:
        home = clients.npm(CLIENTS, f"@sentry/cli-linux-x64@{version}")
    except unittest.SkipTest as why:
        print(f"sentry-cli {version}: {why}", file=sys.stderr)
        return None
    return os.path.join(home, "node_modules", "@sentry", "cli-linux-x64", "bin", "sentry-cli")


class Cli:
    """One version of the client, with a project and a token of its own."""

    def __init__(self, version, server, folder):
        self.version, self.server, self.folder = version, server, folder
        self.program = program(version)
        self.project = f"p{next(NUMBERS)}"
        self.number = server.command("project", "create", self.project).split()[0]
        self.token = server.command("token", "create", "--scope", "upload", "--project", self.project)
        self.upload = ["upload-dif"] if version.startswith("1.") else ["debug-files", "upload"]

    def request(self, method, path, **options):
        """As an admin, of this project."""
        return self.server.request(method, f"{path}?project={self.project}", **options)

    def symbols(self):
        """Of images; symbol maps are listed beside them."""
        return {(s["uuid"], s["kind"], s["state"]) for s in self.request("GET", "/api/v1/symbols")[1]["symbols"]
                if s["kind"] in ("dsym", "binary")}

    def chunk_requests(self):
        return self.server.log().count("route=sentry_chunks ")

    def run(self, *args, what=None, want=0, **env):
        """Run it; fails unless it ends with `want`. Gives what it printed."""
        own = {"SENTRY_URL": self.server.url, "SENTRY_AUTH_TOKEN": self.token, "SENTRY_ORG": "acme",
               "SENTRY_PROJECT": self.project, "SENTRY_DISABLE_UPDATE_CHECK": "1", "SENTRY_HTTP_MAX_RETRIES": "0",
               "HOME": self.folder, "PATH": os.environ["PATH"], **env}
        own = {name: value for name, value in own.items() if value is not None}
        done = subprocess.run([self.program, *args], capture_output=True, text=True, timeout=120, env=own,
                              cwd=self.folder)
        text = f"sentry-cli {self.version} {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}"
        if what:
            TABLE[what, self.version] = "ok" if done.returncode == want else "FAILED"
        if done.returncode != want:
            raise AssertionError(text + self.server.log_tail())
        return done.stdout + done.stderr


def each_version(test):
    """Run test(self, cli) for every version that is there."""
    @functools.wraps(test)
    def run(self):
        there = [v for v in VERSIONS if program(v)]
        if not there:
            self.skipTest("no sentry-cli: npm cannot install it here")
        for version in VERSIONS:
            with self.subTest(version=version), tempfile.TemporaryDirectory() as folder:
                if version in there:
                    test(self, Cli(version, self.server, folder))
                else:
                    TABLE["installed", version] = "no"
    return run


class Versions(ServerCase):
    def wait_report(self, cli, report_id, condition):
        def found():
            report = cli.request("GET", f"/api/v1/reports/{report_id}")[1]
            return report if condition(report) else None

        return until(found, f"report {report_id} is finished")

    def check_named(self, cli, report_id):
        # A map that arrives after its dSYM queues the report again.
        report = self.wait_report(
            cli, report_id, lambda r: r["status"] == "symbolicated" and "_hidden#" not in json.dumps(r["threads"]))
        names = [s["function"] for f in report["threads"][0]["frames"] for s in f["symbols"]]
        want = [line.split()[1] for line in symbol_files.sample("expected.txt").decode().splitlines() if line[:1].isdigit()]
        self.assertEqual([n.partition("(")[0] for n in names], [n.partition("(")[0] for n in want])


class Upload(Versions):
    @each_version
    def test_report_then_dsym(self, cli):
        status, queued = cli.request("POST", "/api/v1/reports", body=symbol_files.sample("report.json"))
        self.assertEqual(status, 202)
        bundle = symbol_files.make_dsym(cli.folder, "Demo", symbol_files.sample_macho())
        before = cli.chunk_requests()
        out = cli.run(*cli.upload, "--wait", bundle, what="dSYM, --wait")
        self.assertIn("OK " + symbol_files.dashed(symbol_files.uuid_of(symbol_files.sample_macho())), out)
        self.check_named(cli, queued["id"])
        # Known by now: nothing is sent.
        cli.run(*cli.upload, "--wait", bundle, what="again")
        self.assertEqual(cli.chunk_requests(), before + 1)
        # Deleted, so that it is sent again.
        uuid = symbol_files.uuid_of(symbol_files.sample_macho())
        self.assertEqual(cli.request("DELETE", f"/api/v1/symbols/{uuid}")[0], 204)
        cli.run(*cli.upload, "--wait", bundle, what="after deletion")
        self.assertEqual(cli.symbols(), {(uuid, "dsym", "ready")})

    @each_version
    def test_shapes(self, cli):
        """xcarchive, folder, zip, fat and thin files; with and without --wait."""
        archive, uuids = symbol_files.make_xcarchive(cli.folder)
        out = cli.run(*cli.upload, "--wait", archive, what="xcarchive")
        for uuid in uuids:
            self.assertIn(f"OK {symbol_files.dashed(uuid)}", out)
        self.assertEqual(cli.symbols(), {(u, "dsym", "ready") for u in uuids})
        for kind, path in (("bcsymbolmap", "11111111-2222-3333-4444-555555555555.bcsymbolmap"), ("plist", ".plist")):
            self.assertIn(path, out, kind)
        thin, folder = symbol_files.as_x86_64(symbol_files.sample_macho()), os.path.join(cli.folder, "more")
        changed = bytearray(thin)
        kinds = {}
        for i, kind in enumerate(("folder", "zip", "fat dSYM", "file"), 1):
            changed[symbol_files.macho_uuid(thin)] = i
            macho, home = bytes(changed), os.path.join(folder, str(i))
            kinds[kind] = symbol_files.uuid_of(macho)
            bundle = symbol_files.make_dsym(home, "Demo", symbol_files.fat(macho) if kind == "fat dSYM" else macho)
            path = {"folder": home, "fat dSYM": bundle}.get(kind)
            if kind == "zip":
                path = symbol_files.write(os.path.join(cli.folder, "Demo.dSYM.zip"), symbol_files.zip_folder(bundle))
            elif kind == "file":
                path = os.path.join(bundle, "Contents", "Resources", "DWARF", "Demo")
            out = cli.run(*cli.upload, *(["--wait"] if kind != "file" else []), path, what=kind)
            self.assertIn(symbol_files.dashed(kinds[kind]), out)
        self.assertTrue({(u, "dsym", "ready") for u in kinds.values()} <= cli.symbols())

    @each_version
    def test_sources(self, cli):
        """--include-sources: the sources are stored as such, and do not disturb the symbols."""
        for name, text in (("main.c", b"int main(void) { return 0; }\n"), ("other.c", b"/* */\n")):
            symbol_files.write(os.path.join(cli.folder, "src", name), text)
        bundle = self.bundle_with_sources(cli)
        out = cli.run(*cli.upload, "--wait", "--include-sources", bundle, what="--include-sources")
        self.assertIn("any", out)
        self.assertIn("sources", out)
        cli.run(*cli.upload, "--wait", "--include-sources", bundle)
        self.assertEqual({s[1:] for s in cli.symbols()}, {("dsym", "ready")})

    def bundle_with_sources(self, cli):
        """The sample's dSYM, with its first source file's path leading to one that is there."""
        macho = symbol_files.sample_macho()
        line = next(x for x in symbol_files.sample("expected.txt").decode().split() if x.count(":") == 2 and "/" in x)
        old = line.split(":")[0].rpartition("/")[0].encode()
        links = (os.path.join("/tmp", "fz" + os.urandom(8).hex())[:len(old)].ljust(len(old), "x") for _ in range(100))
        link = next((path for path in links if not os.path.lexists(path)), None)
        real = os.path.join(symbol_files.SAMPLE, "src")
        if old not in macho or not link:
            self.skipTest("the sample's paths are not where they were")
        os.symlink(real, link)
        self.addCleanup(os.unlink, link)
        return symbol_files.make_dsym(cli.folder, "Demo", macho.replace(old, link.encode()))

    @each_version
    def test_hidden_names(self, cli):
        """A BCSymbolMap, which comes as a file of its own, gives a bitcode build's dSYM its names."""
        macho, names = symbol_files.with_hidden_name(symbol_files.sample_macho(), b"_ZNK4shop4cart5totalEv")
        top, original = os.path.join(cli.folder, "App.xcarchive"), "A1B2C3D4-2222-3333-4444-555555555555"
        bundle = symbol_files.make_dsym(os.path.join(top, "dSYMs"), "Demo", macho)
        key = symbol_files.dashed(symbol_files.uuid_of(macho)).upper()
        symbol_files.write(
            os.path.join(bundle, "Contents", "Resources", f"{key}.plist"),
            b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict><key>DBGOriginalUUID</key><string>'
            + original.encode() + b"</string></dict></plist>\n")
        symbol_files.write(os.path.join(top, "BCSymbolMaps", f"{original}.bcsymbolmap"), names)
        status, queued = cli.request("POST", "/api/v1/reports", body=symbol_files.sample("report.json"))
        self.assertEqual(status, 202)
        cli.run(*cli.upload, "--wait", top, what="BCSymbolMap")
        self.check_named(cli, queued["id"])

    @each_version
    def test_corpus(self, cli):
        archive = symbol_files.corpus("clients", "made", "App.xcarchive")
        dsym = symbol_files.corpus("clients", "made", "Demo.dSYM")
        if not archive or not dsym:
            self.skipTest("no corpus (FRAMEZERO_CORPUS)")
        with open(symbol_files.corpus("clients", "made", "expected-symbolication.json"), encoding="utf-8") as f:
            want = [frame[0][0] for frame in (entry["frames"] for entry in json.load(f))]
        with open(symbol_files.corpus("clients", "made", "native.json"), "rb") as f:
            report = f.read()
        status, queued = cli.request("POST", "/api/v1/reports", body=report)
        self.assertEqual(status, 202)
        cli.run(*cli.upload, "--wait", dsym, what="corpus: Demo.dSYM")
        out = cli.run(*cli.upload, "--wait", "--include-sources", archive, what="corpus: App.xcarchive")
        self.assertEqual(out.count("OK "), 4)
        self.assertEqual(cli.symbols(), {
            ("4c4c445b55553144a12988beb9d5eb60", "dsym", "ready"),
            ("4c4c445b55553144a12988beb9d5eb60", "binary", "ready"),
            ("4c4c445055553144a185388e9cce3047", "dsym", "ready")})
        done = self.wait_report(
            cli, queued["id"], lambda r: any(f["symbols"] for t in r.get("threads", []) for f in t["frames"]))
        names = [s["function"] for t in done["threads"] for f in t["frames"] for s in f["symbols"][:1]]
        self.assertEqual(names[:len(want)], want)

    @each_version
    def test_rejections(self, cli):
        bundle = symbol_files.make_dsym(cli.folder, "Demo", symbol_files.sample_macho())
        out = cli.run(*cli.upload, bundle, what="wrong token", want=1, SENTRY_AUTH_TOKEN="0" * 64)
        self.assertIn("the token is unknown or was revoked", out)
        out = cli.run(*cli.upload, bundle, what="wrong project", want=1, SENTRY_PROJECT="nope")
        self.assertIn("roject not found", out)
        cli.run(*cli.upload, "--wait", bundle, what="project by number", SENTRY_PROJECT=cli.number)
        cut = symbol_files.write(os.path.join(cli.folder, "cut", "Demo"),
                            symbol_files.as_x86_64(symbol_files.sample_macho())[:-4000])
        # Whether it sees itself that the file is cut differs by version; it must not say OK either way.
        done = subprocess.run(
            [cli.program, *cli.upload, "--wait", os.path.dirname(cut)], capture_output=True, text=True, timeout=120,
            env={"SENTRY_URL": cli.server.url, "SENTRY_AUTH_TOKEN": cli.token, "SENTRY_ORG": "acme",
                 "SENTRY_PROJECT": cli.project, "HOME": cli.folder})
        self.assertLess(done.returncode, 2)

    @each_version
    def test_tokens(self, cli):
        """An API key as a user's name, and an organisation's token that says where the server is."""
        bundle = symbol_files.make_dsym(cli.folder, "Demo", symbol_files.sample_macho())
        if cli.version[0] in "12":
            cli.run("--api-key", cli.token, *cli.upload, "--wait", bundle, what="--api-key", SENTRY_AUTH_TOKEN=None)
        token = cli.server.command("token", "create", "--scope", "upload", "--project", cli.project,
                        "--sentry-url", cli.server.url)
        self.assertEqual(json.loads(base64.b64decode(token.split("_")[1]))["url"], cli.server.url)
        cli.run(*cli.upload, "--wait", bundle, what="sntrys_ token", SENTRY_URL=None, SENTRY_ORG=None,
                SENTRY_AUTH_TOKEN=token)


class SmallChunks(Versions):
    """Files of many chunks, in several requests."""
    args = ("--limit", "chunk_bytes=1K", "--limit", "chunk_request_bytes=4K")

    @each_version
    def test_chunks(self, cli):
        archive, uuids = symbol_files.make_xcarchive(cli.folder)
        before = cli.chunk_requests()
        cli.run(*cli.upload, "--wait", archive, what="many chunks")
        self.assertEqual(cli.symbols(), {(u, "dsym", "ready") for u in uuids})
        self.assertGreater(cli.chunk_requests(), before + 3)


class Build(Versions):
    @each_version
    def test_build_phase(self, cli):
        """Releases, deploys and what else a build asks for."""
        if not shutil.which("git"):
            self.skipTest("no git")
        repository = os.path.join(cli.folder, "repository")
        os.mkdir(repository)
        for args in (["init", "-q"], ["-c", "user.name=A", "-c", "user.email=a@example.invalid", "commit", "-q",
                                      "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *args], cwd=repository, check=True, capture_output=True, timeout=60)
        self.assertIn(cli.server.url, cli.run("info", what="info"))
        cli.run("releases", "new", RELEASE, what="releases new")
        cli.run("releases", "finalize", RELEASE, what="releases finalize")
        folder, cli.folder = cli.folder, repository
        cli.run("releases", "set-commits", "--local", RELEASE, what="releases set-commits")
        cli.folder = folder
        self.assertIn(RELEASE, cli.run("releases", "list", what="releases list"))
        self.assertIn(RELEASE, cli.run("releases", "info", RELEASE, what="releases info"))
        if cli.version[0] in "12":
            cli.run("releases", "deploys", RELEASE, "new", "-e", "prod", what="deploys new")
            self.assertIn("prod", cli.run("releases", "deploys", RELEASE, "list", what="deploys list"))
        else:
            cli.run("deploys", "new", "-r", RELEASE, "-e", "prod", what="deploys new")
            self.assertIn("prod", cli.run("deploys", "list", "-r", RELEASE, what="deploys list"))
        cli.run("releases", "archive", RELEASE, what="releases archive")
        cli.run("releases", "restore", RELEASE, what="releases restore")
        self.assertIn(cli.project, cli.run("projects", "list", what="projects list"))
        self.assertIn("framezero", cli.run("organizations", "list", what="organizations list"))
        # A build machine adds; its token must not delete.
        cli.run("releases", "delete", RELEASE, want=1)
        self.assertIn(RELEASE, cli.run("releases", "list"))
        admin = cli.server.command("token", "create", "--scope", "admin", "--project", cli.project)
        cli.run("releases", "delete", RELEASE, what="releases delete", SENTRY_AUTH_TOKEN=admin)
        self.assertNotIn(RELEASE, cli.run("releases", "list"))


def print_table():
    rows = list(dict.fromkeys(what for what, _ in TABLE))
    print("\n" + "sentry-cli".ljust(24) + "".join(v.rjust(15) for v in VERSIONS))
    for what in rows:
        print(what.ljust(24) + "".join(TABLE.get((what, v), "-").rjust(15) for v in VERSIONS))


if __name__ == "__main__":
    result = main(exit=False).result
    print_table()
    sys.exit(0 if result.wasSuccessful() else 1)
