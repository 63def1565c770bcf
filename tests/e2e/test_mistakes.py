#!/usr/bin/env python3
"""The messages of every command for wrong paths, wrong values, a full disk and a closed pipe; and colour."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from case import BINARY, SAMPLE, main
from terminal import open_terminal

NOWHERE = ["--server", "http://127.0.0.1:1", "--token", "x"]


def has_server():
    return "\n  serve " in subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="framezero-mistakes-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.dsym, cls.report = (os.path.join(SAMPLE, name) for name in ("Demo.dSYM.zip", "report.json"))
        cls.index = os.path.join(cls.folder, "index")
        subprocess.run([BINARY, "index", cls.dsym, "-o", cls.index], stdout=subprocess.DEVNULL, check=True, timeout=60)
        for name, data in (("empty", b""), ("text", b"hello\n"), ("random", bytes(range(256)) * 64)):
            with open(os.path.join(cls.folder, name), "wb") as f:
                f.write(data)
        os.mkdir(os.path.join(cls.folder, "folder"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_on(self, *args, code, stdin=b"", **how):
        how.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([BINARY, *args], input=stdin, stderr=subprocess.PIPE, timeout=60, check=False, **how)
        error = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, code, f"{args}"[:200] + f": {error}")
        return error


class Paths(Case):
    def commands(self, path):
        out = self.path("never")
        yield ["inspect", path]
        yield ["atos", "-o", path, "0x1000"]
        yield ["index", path, "-o", out]
        yield ["lookup", path]
        yield ["symbolicate", path]
        yield ["symbolicate", self.report, "--dsym", path]
        yield ["upload", *NOWHERE, path]

    def test_wrong_paths(self):
        """One message each, with the command and the path, and no output file."""
        for name, words in (("missing", "No such file or directory"), ("empty", "empty|symbol index"), ("text", "text|symbol index|known format"),
                            ("random", "unknown binary|known format|symbol index"),
                            ("folder", "holds no Mach-O|no files|not a regular file")):
            for args in self.commands(self.path(name)):
                with self.subTest(args=args):
                    error = self.run_on(*args, code=1)
                    self.assertRegex(error, rf"\Aframezero {args[0]}: {self.path(name)}: .*({words}).*\n\Z")
        for args in self.commands("/dev/null"):
            error = self.run_on(*args, code=1)
            self.assertRegex(error, rf"\Aframezero {args[0]}: /dev/null: (not a regular file|the file is empty).*\n\Z")
        self.assertFalse(os.path.exists(self.path("never")))
        self.assertIn("'framezero index FILE -o INDEX' makes an index", self.run_on("lookup", self.dsym, code=1))

    @unittest.skipIf(os.getuid() == 0, "root may read anything")
    def test_unreadable(self):
        os.chmod(self.path("text"), 0)
        self.addCleanup(os.chmod, self.path("text"), 0o600)
        for args in self.commands(self.path("text")):
            self.assertIn("Permission denied", self.run_on(*args, code=1))

    def test_long_paths(self):
        """The message has the reason, however long the path."""
        for length in (200, 300, 100000):
            for args in self.commands("x/" * (length // 2)):
                error = self.run_on(*args, code=1)
                self.assertRegex(error, "(No such file or directory|File name too long)\n")
                self.assertLess(len(error), 600)

    def test_long_words(self):
        word = "x" * 100000
        for args in ([word], ["upload", "--" + word], ["upload", "-" + word], ["symbolicate", "-arch", word, self.report],
                     ["index", "--uuid", word, "-o", "x", self.dsym], ["lookup", "--jobs", word, self.index],
                     ["help", word], ["upload", "--server", word, "x"], ["help", "--completion", word]):
            error = self.run_on(*args, code=2)
            self.assertLess(len(error), 600)
            self.assertIn("framezero", error)

    def test_missing_arguments(self):
        for args, words in ((["inspect"], "inspect: FILE is missing; see 'framezero inspect --help'"),
                            (["symbolicate"], "symbolicate: REPORT is missing"), (["upload"], "upload: PATH is missing"),
                            (["atos"], "atos: -o FILE is missing"), (["index", "x"], "index: -o OUT is missing"),
                            (["lookup"], "lookup: INDEX is missing"), (["inspect", ""], "inspect: FILE is empty"),
                            (["inspect", "a", "b"], "inspect: unexpected argument 'b'"),
                            (["atos", "-o"], "atos: -object needs a value: -object FILE"),
                            (["atos", "-o", "x", "-l", "zz"], "'zz' is not a hex address"),
                            (["atos", "-o", "x", "-l", "0", "-s", "0"], "only one of -l, -s and -offset can be given"),
                            (["index", "-o", "x", "--arch", "a", "--uuid", "0" * 32, "y"],
                             "--arch and --uuid cannot be used together")):
            self.assertIn(words, self.run_on(*args, code=2))


@unittest.skipUnless(sys.platform == "linux", "/dev/full")
class Output(Case):
    def commands(self):
        address = b"0x100003f10\n"
        yield ["--version"], b""
        yield ["--help"], b""
        yield ["inspect", "--help"], b""
        for option in (["--man"], ["--completion", "bash"], ["--completion", "zsh"], ["limits"]):
            yield ["help", *option], b""
        yield ["inspect", self.dsym], b""
        yield ["inspect", "--json", self.dsym], b""
        yield ["demangle", "_Z1av"], b""
        yield ["demangle"], b"_Z1av\n"
        yield ["atos", "-o", self.dsym, "0x100003f10"], b""
        yield ["atos", "-o", self.dsym], address
        yield ["lookup", self.index], address
        yield ["lookup", "--json", self.index], address
        yield ["symbolicate", self.report, "--dsym", self.dsym], b""
        yield ["index", self.dsym, "-o", self.path("other")], b""

    def test_full_disk(self):
        for args, stdin in self.commands():
            with self.subTest(args=args), open("/dev/full", "wb") as full:
                error = self.run_on(*args, code=1, stdin=stdin, stdout=full)
                self.assertRegex(error, r"\Aframezero.*: cannot write.*: No space left on device\n")
                self.assertEqual(error.count("No space left"), 1)

    def test_closed(self):
        """With a closed standard output, no output goes into files that get its descriptor."""
        for args, stdin in self.commands():
            with self.subTest(args=args):
                error = self.run_on(*args, code=1, stdin=stdin, stdout=None, preexec_fn=lambda: os.close(1))
                self.assertIn("Bad file descriptor", error)
        with open(self.path("other"), "rb") as other, open(self.index, "rb") as index:
            self.assertEqual(other.read(), index.read())

    def test_closed_pipe(self):
        """As with `| head -1`: no message, also if the parent ignores SIGPIPE."""
        for ignored in (False, True):
            for args, stdin in self.commands():
                if args[0].startswith("-"):
                    continue
                with self.subTest(args=args, ignored=ignored):
                    ours, theirs = os.pipe()
                    os.close(ours)

                    def prepare():
                        signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL)

                    error = self.run_on(*args, code=-signal.SIGPIPE, stdin=stdin, stdout=theirs, preexec_fn=prepare,
                                        restore_signals=False)
                    os.close(theirs)
                    self.assertNotIn("roken pipe", error)


class Colour(Case):
    def on_terminal(self, *args, **env):
        ours, theirs = open_terminal()
        try:
            clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
            subprocess.run([BINARY, *args], stdout=theirs, stderr=theirs, timeout=60, check=False, env={**clean, **env})
            return os.read(ours, 65536).decode()
        finally:
            os.close(theirs)
            os.close(ours)

    def test_on_a_terminal_only(self):
        for args in (["inspect", self.dsym], ["inspect", self.path("text")], ["inspect", "--help"], ["inspect", "--no"]):
            with self.subTest(args=args):
                self.assertIn("\033[1", self.on_terminal(*args, TERM="xterm"))
                for env in ({"TERM": "dumb"}, {"TERM": ""}, {}, {"TERM": "xterm", "NO_COLOR": "1"}):
                    self.assertNotIn("\033", self.on_terminal(*args, **env), env)
                done = subprocess.run([BINARY, *args], capture_output=True, text=True, check=False, timeout=60,
                                      env={**os.environ, "TERM": "xterm"})
                self.assertNotIn("\033", done.stdout + done.stderr)
        self.assertIn("\033[1;31mframezero inspect:\033[0m ", self.on_terminal("inspect", "/none", TERM="xterm"))
        # An empty NO_COLOR has no effect (no-color.org).
        self.assertIn("\033", self.on_terminal("inspect", "/none", TERM="xterm", NO_COLOR=""))


class Settings(Case):
    def setUp(self):
        if not has_server():
            self.skipTest("a build without a server")

    def serve(self, *args, env=None, code=2):
        return self.run_on("serve", "--data", self.path("data"), *args, code=code, env={**os.environ, **(env or {})})

    def test_addresses(self):
        port = "the port must be a number from 0 to 65535"
        for value, words in (("127.0.0.1:99999", port), (":65536", port), ("localhost:", port), ("localhost:-1", port),
                             ("localhost", "the port is missing"), ("::1:80", "in brackets"), ("1.2.3.4.5:80", "not a host name"),
                             ("[::g]:80", "is not an IPv6 address"), ("a b:80", "not a host name")):
            self.assertRegex(self.serve("--listen", value), rf"--listen: '.*'.*{words}")
            self.assertRegex(self.serve(env={"FRAMEZERO_LISTEN": value}), rf"FRAMEZERO_LISTEN: '.*'.*{words}")
            with open(self.path("config"), "w", encoding="utf-8") as f:
                f.write(f"# here\nlisten = \"{value}\"\n")
            self.assertRegex(self.serve("--config", self.path("config")), rf"config:2: '.*'.*{words}")
        self.assertIn("--listen: the value is empty", self.serve("--listen", ""))
        for option, value, words in (("--public-url", "crashes.example.com", "must begin with http:// or https://"),
                                     ("--public-url", "http://a:0", "from 1 to 65535"),
                                     ("--database", "mysql://u:secret@db/x", "'mysql://u:\\*\\*\\*@db/x' is not a database URL"),
                                     ("--database", "sqlite:", "expected sqlite:PATH"),
                                     ("--blobs", "s3:/bucket", "expected file:DIR"),
                                     ("--workers", "257", "a number from 0 to 256"), ("--workers", "2.5", "a number from 0 to 256"),
                                     ("--upload-wait", "1h", "a number from 0 to 3600"),
                                     ("--log-level", "loud", "not one of: debug info warn error"),
                                     ("--limit", "frames=0", "not a positive number"),
                                     ("--limit", "fames=1", "did you mean frames\\?")):
            self.assertRegex(self.serve(option, value), rf"\Aframezero serve: {option}: .*{words}")
        self.assertFalse(os.path.exists(self.path("data")))

    def test_unknown_names(self):
        with open(self.path("config"), "w", encoding="utf-8") as f:
            f.write("listen = :0\n\npublic-ulr = x\n")
        self.assertIn("config:3: unknown key 'public-ulr'; did you mean public-url?",
                      self.serve("--config", self.path("config")))
        # Unknown variables are reported, once, and change nothing: the command works as before.
        args = ["project", "list", "--data", self.path("nothing")]
        error = self.run_on(*args, code=1, env={**os.environ, "FRAMEZERO_DTAA": "x", "FRAMEZERO_TOKEN": "y"})
        self.assertEqual(error.count("FRAMEZERO_DTAA"), 1)
        self.assertIn("framezero project list: warning: the variable FRAMEZERO_DTAA is unknown and ignored; "
                      "did you mean FRAMEZERO_DATA?\n", error)
        self.assertIn("there is no database at", error)
        self.assertNotIn("FRAMEZERO_TOKEN", error)


if __name__ == "__main__":
    main()
