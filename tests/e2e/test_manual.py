#!/usr/bin/env python3
"""What is generated from the tables of options: --help, the manual page, the completions; and the tables of README.md."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from case import BINARY, SOURCE, main


def run(*args, code=0, **how):
    done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60, **how)
    if done.returncode != code:
        raise AssertionError(f"{args}: exit code {done.returncode}: {done.stderr}")
    return done


def help_of(*command):
    return run(*command, "--help").stdout


def commands():
    """The commands, "token create" for those with actions."""
    found = []
    for name in re.findall(r"(?m)^  ([\w-]+) ", run("--help").stdout):
        text = help_of(name)
        actions = re.findall(r"(?m)^  (\w+) ", text.partition("Actions:")[2].partition("'framezero")[0])
        found += [[name, action] for action in actions] or [[name]]
    return found


def options_of(command):
    return re.findall(r"(?m)^  (?:-\w, |    )(--?[\w-]+)", help_of(*command))


class Help(unittest.TestCase):
    def test_ways_to_ask(self):
        overview = run("--help").stdout
        for args in (["-h"], ["help"]):
            self.assertEqual(run(*args).stdout, overview)
        self.assertEqual(run("-V").stdout, run("--version").stdout)
        self.assertRegex(run("--version").stdout, r"^framezero \d+\.\d+\.\d+\n$")
        self.assertEqual(run(code=2).stderr, overview)
        for command in commands():
            text = help_of(*command)
            self.assertEqual(run(*command, "-h").stdout, text)
            self.assertEqual(run("help", *command).stdout, text)
            self.assertTrue(text.startswith("usage: framezero " + " ".join(command)), text)
            self.assertNotIn("\033", text)
            usual = text.partition("\nExamples:")[0]
            self.assertLessEqual(max(map(len, usual.splitlines())), 80, text)
        self.assertIn("unknown command 'chld'", run("help", "chld", code=2).stderr)
        self.assertIn("unknown command 'child'", run("help", "child", code=2).stderr)

    def test_unknown_options(self):
        for command in commands():
            name = " ".join(command)
            for option in ("--nonsense", "--nonsense=1"):
                self.assertEqual(run(*command, option, code=2).stderr,
                                 f"framezero {name}: unknown option --nonsense; see 'framezero {name} --help'\n")
            for option in options_of(command):
                typo = option + "z"
                error = run(*command, typo, code=2).stderr
                self.assertRegex(error, rf"^framezero {name}: unknown option {typo}; did you mean -[\w-]+\? "
                                 rf"See 'framezero {name} --help'\n$")
        self.assertEqual(run("--versoin", code=2).stderr,
                         "framezero: unknown option --versoin; did you mean --version? See 'framezero --help'\n")
        self.assertEqual(run("symbolcate", code=2).stderr,
                         "framezero: unknown command 'symbolcate'; did you mean symbolicate? See 'framezero --help'\n")
        self.assertEqual(run("help", "token", "creat", code=2).stderr,
                         "framezero token: unknown action 'creat'; did you mean create? See 'framezero token --help'\n")


class Manual(unittest.TestCase):
    def test_is_well_formed(self):
        page = run("help", "--man").stdout
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            file.write(page)
            file.flush()
            if shutil.which("mandoc"):
                lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", file.name], capture_output=True, text=True,
                                      check=False).stdout
                # The page has no date: the same program is built the same on any day.
                self.assertEqual([line for line in lint.splitlines() if "missing date" not in line], [])
            if shutil.which("groff"):
                done = subprocess.run(["groff", "-man", "-ww", "-z", file.name], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        bare = page.replace("\\-", "-")
        for command in commands():
            self.assertIn(f".SS framezero {' '.join(command)}", bare)
            for option in options_of(command):
                self.assertTrue(option in ("--help", "-help") or f"\\fB{option}\\fR" in bare, (command, option))

    def test_is_made_by_the_build(self):
        made = os.path.dirname(BINARY)
        for name, args in (("framezero.1", ["--man"]), ("framezero.bash", ["--completion", "bash"]),
                           ("_framezero", ["--completion", "zsh"])):
            with open(os.path.join(made, name), encoding="utf-8") as f:
                self.assertEqual(f.read(), run("help", *args).stdout)


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = run("help", "--completion", "bash").stdout

    def complete(self, *words, cwd=None):
        """What bash offers for the last of the words."""
        ask = (self.script + '\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1))\n_framezero\n'
               'printf "%s\\n" "${COMPREPLY[@]}"\n')
        done = subprocess.run(["bash", "-u", "-c", ask, "bash", "framezero", *words], capture_output=True, text=True,
                              cwd=cwd, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return [line for line in done.stdout.splitlines() if line]

    def test_commands(self):
        found = self.complete("")
        self.assertEqual(found, re.findall(r"(?m)^  ([\w-]+) ", run("--help").stdout) + ["--help", "--version"])
        self.assertEqual(self.complete("sym"), ["symbolicate"])
        if "token" in found:
            self.assertEqual(self.complete("token", ""), ["create", "list", "revoke", "--help"])
        self.assertIn("inspect", self.complete("help", ""))

    def test_options(self):
        for command in commands():
            self.assertEqual(sorted(self.complete(*command, "-")), sorted(options_of(command)), command)
        self.assertEqual(self.complete("lookup", "--js"), ["--json"])

    def test_values(self):
        self.assertEqual(self.complete("help", "--completion", ""), ["bash", "zsh"])
        self.assertEqual(self.complete("help", "--completion", "=", "b"), ["bash"])
        self.assertEqual(self.complete("help", "--completion", "="), ["bash", "zsh"])
        self.assertEqual(self.complete("lookup", "--jobs", ""), [])
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "my reports"))
            with open(os.path.join(folder, "my file.ips"), "w", encoding="utf-8"):
                pass
            self.assertEqual(sorted(self.complete("symbolicate", "my", cwd=folder)), ["my file.ips", "my reports"])
            self.assertEqual(self.complete("symbolicate", "-o", "my", cwd=folder), ["my reports"])
            self.assertEqual(self.complete("index", "-o", "my f", cwd=folder), ["my file.ips"])


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="framezero-zsh-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(os.path.join(cls.folder, "_framezero"), "w", encoding="utf-8") as f:
            f.write(run("help", "--completion", "zsh").stdout)

    def test_syntax(self):
        subprocess.run(["zsh", "-n", os.path.join(self.folder, "_framezero")], check=True)

    def test_specifications(self):
        """Every command's function runs, and gives _arguments each of its options."""
        ask = """
            _arguments() { print -rl -- "$@" }
            _describe() { print -rl -- "describe:$1" "${(P@)2}" }
            compdef() { : }
            source "$1/_framezero"
            shift
            words=("$@" "")
            CURRENT=$#words
            _framezero
        """
        for command in commands():
            done = subprocess.run(["zsh", "-f", "-c", ask, "zsh", self.folder, "framezero", *command],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            found = re.findall(r"(?m)^\*?(--?[\w-]+)[=+]?\[", done.stdout)
            self.assertEqual(sorted(name for name in found if len(name) > 2), sorted(options_of(command)), command)


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
            cls.text = f.read()

    def rows(self, title):
        """The rows of the table whose first head cell is `title`, as lists of cells."""
        table = re.search(rf"(?m)^\| {title} \|.*\n\|[-|: ]+\n((?:\|.*\n)+)", self.text)
        self.assertIsNotNone(table, title)
        return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip("|"))] for row in table[1].splitlines()]

    def test_tables(self):
        """./dev docs writes the tables of settings and limits."""
        found = re.search(r"(?s)<!-- tables: .*?-->\n(.*?)<!-- end of tables -->\n", self.text)
        self.assertEqual(found[1], run("help", "readme").stdout, "run ./dev docs")

    def test_tables_are_whole(self):
        settings = {row[0].strip("`").split()[0] for row in self.rows("option")}
        shown = set(re.findall(r"(?m)^      (--[\w-]+).*", help_of("serve").partition("Settings")[2])) \
            if ["serve"] in commands() else settings
        self.assertGreater(len(shown), 10)
        self.assertEqual(settings, shown)
        limits = re.findall(r"(?m)^  ([a-z]\w+_?\w*) {2,}(\S+) {2,}", run("help", "limits").stdout)
        self.assertEqual([(row[0].strip("`"), row[1]) for row in self.rows("limit")],
                         [limit for limit in limits if limit[0] != "name"])

    def test_commands(self):
        if ["serve"] not in commands():
            self.skipTest("a build without a server")
        documented = {name for row in self.rows("command") for name in re.findall(r"`([\w-]+)", row[0])}
        self.assertEqual(documented, {command[0] for command in commands()})


if __name__ == "__main__":
    main()
