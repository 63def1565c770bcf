#!/usr/bin/env python3
"""./dev: the package sources that it derives from those of the machine, and its manners."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DEV = pathlib.Path(__file__).resolve().parents[2] / "dev"

ONE_LINE = """
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/k.gpg] http://one.example/debian bookworm main contrib
deb http://one.example/debian bookworm main   # the same again
deb-src http://source.example/debian bookworm main
deb http://one.example/debian bookworm-updates main
deb http://security.example/debian bookworm-security main
deb https://foreign.example/linux bookworm stable
"""

STANZAS = """# first line
Types: deb
# within the stanza
URIs: http://three.example/debian
 http://four.example/debian
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 xxxx

Enabled: no
Types: deb
URIs: http://disabled.example/debian
Suites: bookworm
Components: main

types: deb deb-src
uris: mirror+file:/etc/apt/mirrors/debian.list
suites: stable
components: main
"""

CASES = [
    ("one-line entries", {"sources.list": ONE_LINE}, ["http://one.example/debian"]),
    ("in the folder", {"sources.list.d/debian.list": ONE_LINE}, ["http://one.example/debian"]),
    ("stanzas", {"sources.list.d/debian.sources": STANZAS},
     ["http://three.example/debian", "http://four.example/debian", "mirror+file:/etc/apt/mirrors/debian.list"]),
    ("none", {}, []),
]


def run(*arguments, **variables):
    return subprocess.run([DEV, *arguments], env={**os.environ, **variables}, capture_output=True, text=True)


class DevTest(unittest.TestCase):
    def test_sources(self):
        for name, files, uris in CASES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                os.mkdir(f"{folder}/sources.list.d")
                for path, text in files.items():
                    pathlib.Path(folder, path).write_text(text)
                done = run("sources", DEV_APT_ETC=folder, DEV_CODENAME="bookworm")
                self.assertEqual(done.returncode, 0, done.stderr)
                want = "".join(f"Types: deb-src\nURIs: {uri}\nSuites: trixie\nComponents: main\nTrusted: yes\n\n"
                               for uri in uris)
                self.assertEqual(done.stdout, want)

    def test_rerun(self):
        """What failed in a run of all tests: the next run's result decides, unless too many failed or it is not known which."""
        function = subprocess.run(["sed", "-n", "/^rerun_failed()/,/^}/p", DEV], capture_output=True, text=True, check=True).stdout
        script = function + """
            say() { printf '%s\\n' "$*" >&2; }
            ctest() { echo "ctest $*"; return "$result"; }
            set -euo pipefail
            if rerun_failed; then echo passed; else echo failed; fi"""
        again = "ctest --preset dev --rerun-failed --parallel 1\n"
        for name, log, result, want, said in [
                ("passes alone", "4:e2e.a\n17:unit.b\n", 0, again + "passed\n", "e2e.a, unit.b"),
                ("fails again", "4:e2e.a\n", 8, again + "failed\n", "once more, alone: e2e.a\n"),
                ("too many", "1:a\n2:b\n3:c\n4:d\n", 0, "failed\n", ""),
                ("none is named", "", 0, "failed\n", ""),
                ("no file", None, 0, "failed\n", "")]:
            with self.subTest(name), tempfile.TemporaryDirectory() as top:
                folder = pathlib.Path(top, "build/dev/Testing/Temporary")
                folder.mkdir(parents=True)
                if log is not None:
                    folder.joinpath("LastTestsFailed.log").write_text(log)
                done = subprocess.run(["bash", "-c", script], env={**os.environ, "top": top, "preset": "dev", "result": str(result)},
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (0, want), done.stderr)
                self.assertIn(said, done.stderr)

    def test_usage(self):
        self.assertEqual(run("--help").returncode, 0)
        self.assertIn("serve [ARGS]", run("--help").stdout)
        for command in ("test", "faults", "hostile", "bench", "fuzz"):  # without building anything
            self.assertIn("serve [ARGS]", run(command, "--help").stdout)
        for wrong in ([], ["nonsense"]):
            done = run(*wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ""), wrong)
            self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
