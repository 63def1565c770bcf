#!/usr/bin/env python3
"""Every rule of rules.py, kept and broken once: a check that cannot fail checks nothing."""
import hashlib
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import architecture
import check_tree
import fuzz
import page
import rules
import skipped
import style

HEADER = "/*\n * Gives a thing.\n */\n#ifndef STORE_H\n#define STORE_H\n{}#endif\n"



PAGE = """# A

## Modules

| folder | what | start |
|---|---|---|
| `base/` | w | `base/error.h` {} |
| `server/api/` | w | |
| `server/cli/` | w | |
| `server/worker/` | w | |

## Who may use whom

| module | may use | public headers |
|---|---|---|
| symbolicator | – | `macho.h` |
| storage | – | `store.h` |
| process | {} | `limits.h` |
| http | process | `http.h` |
| api | process storage http | – |
| worker | process storage symbolicator | – |
| cli | process http | – |

Text.

| header | home |
|---|---|
| `sqlite3.h` | `storage/sql/` |
| `libdwarf.h` | `symbolicator/dwarf/` |
| `openssl/` | `base/digest.c` `base/mac.c` |

## Facts
"""
TREE = {architecture.PAGE: PAGE.format("", "–"),
        **dict.fromkeys(("base/error.h", "symbolicator/macho.h", "symbolicator/macho/format.h", "storage/store.h",
                         "storage/sql/sql.h", "server/process/limits.h", "server/http/http.h", "server/http/pool.h",
                         "server/api/api.c", "server/worker/worker.c", "server/cli/main.c"), "")}
IN_A = "base/a.c"
VENDORED = f"| `a.mjs` | a | 1 | MIT | `a.mjs` | `{hashlib.sha256(b'x').hexdigest()}` |\n"

FUZZ = {fuzz.PAGE: "| bytes of | functions | target |\n|---|---|---|\n| a | `fz_a_parse` | `a` |\n| b | `fz_b` | `b` `c` |\n",
        "tests/fuzz/base.cmake": "fz_fuzz_target(a fz_a)\nfz_fuzz_target(b FOREIGN_MEMORY fz_b CORPORA\n  b c)\n",
        "tests/fuzz/fuzz_a.c": "fz_a_parse(x);\n", "tests/fuzz/fuzz_b.c": "fz_b(x);\n",
        **{f"tests/fuzz/corpus/{name}/x": "" for name in "abc"},
        "base/a.h": "FZ_MUST_CHECK enum fz_code fz_a_parse(struct fz_span text,\n    struct fz_error *err);\n"}
# rule, good files, bad files with the one problem that each must give
CASES = [
    ("architecture", TREE,
     {architecture.PAGE: (PAGE.format("", "http"), "these modules use each other: http process")}),
    ("dependencies",
     {**TREE, "storage/store.c": '#include "storage/store.h"\n#include "base/error.h"\n',
      "server/worker/job.c": '#include "storage/store.h"\n#include "server/process/limits.h"\n'
                             '/* #include "server/http/http.h" */\n',
      "server/cli/cmd_serve.c": '#include "server/http/http.h"\n'},
     {"storage/bad.c": ('#include "symbolicator/macho.h"\n', "storage may not use symbolicator"),
      "symbolicator/bad.c": ('\n#include "server/http/http.h"\n', ":2: symbolicator may not use http"),
      "base/bad.c": ('#include "server/process/limits.h"\n', "base may not use process"),
      "server/http/bad.c": ('  #  include "storage/store.h"\n', "http may not use storage"),
      "server/api/bad.c": ('#include "server/http/pool.h"\n', "private to http"),
      "server/worker/bad.c": ('#include "storage/sql/sql.h"\n', "private to storage"),
      "server/worker/bad2.c": ('#include "symbolicator/macho/format.h"\n', "private to symbolicator"),
      "server/bad.c": ('#include "store.h"\n', "not a path from the top")}),
    ("fuzz", FUZZ,
     {fuzz.PAGE: (FUZZ[fuzz.PAGE] + "| d | `fz_d` | `d` |\n", ":5: no target is named d"),
      "tests/fuzz/fuzz_a.c": ("/* fz_a_parse() */ fz_x();\n", "has no fz_a_parse()"),
      "tests/fuzz/fuzz_new.c": ("fz_n();\n", "no list has this target"),
      "base/new.h": ("\nbool fz_n_decode(const struct fz_span bytes);\n", ":2: fz_n_decode() takes bytes")}),
    ("homes",
     {**TREE, "storage/sql/sqlite.c": "#include <sqlite3.h>\n", "base/digest.c": "#include <openssl/evp.h>\n",
      "base/file.c": "#include <stdio.h>\n"},
     {"server/api/bad.c": ("#include <sqlite3.h>\n", "<sqlite3.h> is used in storage/sql/ only"),
      "symbolicator/index/bad.c": ("#include <libdwarf.h>\n", "is used in symbolicator/dwarf/ only"),
      "server/cli/main.c": ("#include <openssl/sha.h>\n", "is used in base/digest.c and base/mac.c only")}),
    ("cycles",
     {"base/a.h": '#include "base/b.h"\nvoid fz_a(void);\n', "base/b.h": "void fz_b(void);\nextern int fz_v;\n",
      "base/a.c": '#include "base/a.h"\nvoid\nfz_a(void)\n{\n    fz_b();\n}\n',
      # Its own fz_a(), a member and a comment are not uses of the other file's.
      "base/b.c": '#include "base/a.h"\nint fz_v = 1;\nvoid\nfz_b(void)\n{\n    x->fz_a(); /* fz_a() */ say("fz_a");\n}\n',
      "base/other.c": '#include "base/a.h"\nvoid\nfz_a(void)\n{\n    fz_v = 2;\n}\n'},
     {"base/b.h": ('#include "base/c.h"\n#include "base/b.h"\n', "in a cycle (include): base/b.h -> base/b.h")}),
    ("sizes", {"base/long.c": "x\n" * 500}, {"base/longer.c": ("x\n" * 501, "501 lines, at most 500")}),
    ("headers",
     {"storage/store.h": HEADER.format("FZ_MUST_CHECK enum fz_code store_open(void);\nenum fz_code fz_fail(void);\n")},
     {"storage/bad.h": ("#ifndef STORE_H\n#define STORE_H\n#endif\n", "opens with no comment"),
      "storage/bad2.h": (HEADER.format("enum fz_code store_open(void);\n"), "store_open can fail")}),
    ("sql",
     {"storage/jobs.c": 'q("SELECT 1 FROM jobs")', "server/cli/main.c": '/* "SELECT x" */ say("selected")'},
     {"server/api/bad.c": ('\n\nq("DELETE FROM jobs")', ":3: SQL outside storage: DELETE FROM")}),
    ("functions",
     {"base/text.c": "snprintf(a, 1, b); strtok_r(a, b, c); /* strcpy(a, b) */"},
     {"base/bad.c": ("x = atoi (text);", "atoi() is not used"), "base/bad2.c": ("strcpy(a, b);", "strcpy()")}),
    ("cleanups",
     {"base/attr.h": "#define FZ_CLEANUP(fn) __attribute__((cleanup(fn)))",
      "base/a.c": "FZ_CLEANUP(x_deinit) struct x a = x_make(0);\nFZ_CLEANUP(x_closep)\nint *fd = open_it();\n"
                  "json_auto_t *root = NULL;\nFZ_CLEANUP(x_deinit) struct x b = {0};\n"},
     {"base/b.c": ("\nFZ_CLEANUP(x_deinit) struct x a;", ":2: a variable with a cleanup is declared alone"),
      "base/c.c": ("FZ_CLEANUP(x_deinit) struct x a, b = {0};", "with its value"),
      "base/d.c": ("struct x a FZ_CLEANUP(x_deinit);", "with its value"),
      "tests/unit/e.c": ("json_auto_t *root;", "with its value"),
      "base/f.c": ("__attribute__((cleanup(f))) int a = 0;", "declared with FZ_CLEANUP()")}),
    ("portable",
     {"base/platform_linux.c": "#define _GNU_SOURCE\n#include <sys/random.h>\nfd = memfd_create(a, MFD_CLOEXEC);\n",
      "storage/blob/blob.c": '#include "base/digest.h"\nopen(path, O_TMPFILE);\n',
      "server/sandbox/sandbox.c": "#include <sys/prctl.h>\n",
      "base/file.c": '/* memfd_create(), as pipe2() */\nsay("no prctl() here"); open(path, O_RDONLY | O_CLOEXEC);\n'
                     'x->splice(1); my_pipe2(a);\nfz_platform_memory_file("/tmp");\n'},
     {"base/a.c": ("\n#include <sys/random.h>\n", ":2: <sys/random.h> is not on every system"),
      "base/a2.c": ("#include <endian.h>\n", "<endian.h>"), "base/a3.c": ("# include <linux/fs.h>\n", "<linux/fs.h>"),
      "symbolicator/index/b.c": ("int fd = memfd_create(name, 0);", "memfd_create()"),
      "server/report/c.c": ("\n\nqsort_r (a, b, c, d, e);", ":3: qsort_r()"),
      "server/cli/cmd_lookup.c": ("mmap(0, 1, MAP_POPULATE)", "MAP_POPULATE"),
      "server/cli/local.c": ("pipe2(fds, 0);", "pipe2()"),
      "server/resolve/resolve_symbols.h": ("#ifdef __linux__", "__linux__"),
      "server/cli/symbolicate.c": ('#include "base/digest.h"\n', "only the server hashes"),
      "server/ingest/d.c": ("#define _GNU_SOURCE\n", "_GNU_SOURCE"),
      "server/cli/main.c": ('open("/proc/self/exe", 0)', "/proc is Linux's"),
      "server/json/e.c": ("pthread_setname_np(a, b);", "pthread_setname_np()")}),
    ("codes",
     {IN_A: "enum fz_code code = f();\nif (code != FZ_OK || fz_open(a) == FZ_OK)\n    return code == FZ_OK ? 1 : code;\n",
      "base/a.h": "FZ_MUST_CHECK enum fz_code fz_open(int a);\n"},
     {"base/b.c": ("enum fz_code code;\nif (code)", ":2: compare the code with FZ_OK"),
      "base/c.c": ("enum fz_code code;\nif (a && !code)", ":2: compare the code with FZ_OK"),
      "base/d.c": ("enum fz_code code;\nreturn code ? code : 1;", ":2: compare the code with FZ_OK"),
      "base/e.c": ("if (fz_open(a(b)))", ":1: compare fz_open() with FZ_OK"),
      "base/f.c": ("static enum fz_code\nmy(int a)\n{\n}\nenum fz_code my(int a);\nwhile (!my(1) && b)", "compare my()")}),
    ("names",
     {IN_A: "int fz_x = 1;\nstatic int y;\nint\nfz_f(int a)\n{\n}\nstatic int\ng(void)\n{\n}\n",
      "server/report/report.h": "struct report {\n", "server/cli/main.c": "int\nmain(void)\n{\n}\n",
      "server/process/limits.c": "int\nlimit_of(void)\n{\n}\n"},
     {"base/b.c": ("int\nread_it(int a)\n{\n}\n", ":2: read_it does not begin with fz_"),
      "storage/c.c": ("const int table[] = {1};\n", ":1: table does not begin with store_"),
      "server/http/d.h": ("enum state {\n", ":1: state does not begin with http_")}),
    ("typedefs",
     {IN_A: "typedef int (*fz_read_fn)(int a);\ntypedef void fz_end_fn(void);\n"},
     {"base/b.c": ("\ntypedef struct x x;\n", ":2: a typedef is for callbacks only"),
      "base/c.h": ("typedef int (*read)(int a);\n", ":1: a typedef")}),
    ("gotos", {IN_A: "/* goto out; */ go_to(1);"}, {"base/b.c": ("\ngoto out;", ":2: goto")}),
    ("parameters",
     {IN_A: "int\nf(int a, int b, int c, int d, int e, int f, int (*g)(int, int))\n{\n    call(1, 2, 3, 4, 5, 6, 7, 8);\n}\n"},
     {"base/b.c": ("int\nf(int a, int b, int c, int d,\n  int e, int f, int g, int h)\n{\n", ":2: f() has 8 parameters"),
      "base/b.h": ("int *f(int a, int b, int c, int d, int e, int f, int g, int h);\n", ":1: f() has 8 parameters")}),
    ("small_files", {**dict.fromkeys(style.SMALL_FILES, "x\n"), IN_A: "x\n" * 60, "base/a.h": "x\n"},
     {"base/b.c": ("x\n" * 59, "59 lines, at least 60")}),
    ("old_code",
     {IN_A: "/* If it is open (or was), return early: a call of f() ends it; see the table below. */\n/*\n * a = b\n */\n",
      "base/a.h": "/*\n *     x = f();\n */\n"},
     {"base/b.c": ("\n/* x = f(1); */\n", ":2: code in a comment: /* x = f(1); */"),
      "base/c.c": ("/*\n * if (x)\n */\n", ":2: code in a comment"), "base/d.c": ("//    return x;\n", ":1: code in"),
      "base/e.c": ("\n#if 0\n", ":2: code under #if 0")}),
    ("json",
     {"base/json/write.c": r'print("{\"a\":%d}");', IN_A: r'print("{\"ok\":true}"); print("%s is not \"a\"");  f("\"%s\"");'},
     {"base/b.c": (r'' + "\n" + r'print("{\"a\":%d}");', ":2: JSON in a string"),
      "base/c.c": (r'put("{\"a\":"' + "\n" + r'"1");', ":1: JSON in a string"),
      "base/d.c": (r'put("\"a\":");', ":1: JSON"), "base/e.c": (r'put(",\"a\":{}");', ":1: JSON")}),
    ("own_header",
     {IN_A: '/* A. */\n#include "base/a.h"\n#include <stdio.h>\n', "base/a.h": "", "base/b.h": "", "base/main.c": "#include <x.h>",
      "client/src/a.c": '#include "a.h"\n#include <x.h>\n', "client/src/a.h": "", "client/src/b.h": ""},
     {"base/b.c": ('#include <stdio.h>\n#include "base/b.h"\n', '"base/b.h" is not its first include'),
      "client/src/b.c": ('#include "a.h"\n#include "b.h"\n', '"client/src/b.h" is not its first include')}),
    ("words",
     {IN_A: '/* x stands for the name; it is no longer open, as there is no file; NULL if there\n * is none, or\n * behind a trusted proxy. */\nint stands = told; /* outside comments */\n'},
     {"base/b.c": ("\n/* After\n * this, a is\n * no UUID. */\n", ':3: "is no UUID": write is not a'),
      "base/c.c": ('say("told");', ':1: "told": write reports, says'), "base/d.h": ("// the bytes behind it", '"behind": write after')}),
    ("page",
     {page.PAGE + "lib/api.js": "fetch(url);\n", page.PAGE + "style/tokens.css": ":root { --a: #fff; }\n",
      page.PAGE + "app.js": "// x.innerHTML, https://a.example\nload(); prefetch(x); a.style.top = 1;\nplaceholder=\"https://a.example\"\n",
      page.VENDOR + "a.mjs": "x", page.VENDOR + "README.md": VENDORED},
     {page.PAGE + "a.js": ("\nx.innerHTML = y;\n", ":2: innerHTML can make a script of a text"),
      page.PAGE + "b.js": ("html`<p style=\"top: 0\">`", ':1: style=" can make'), page.PAGE + "c.js": ("eval(x)", "eval can make"),
      page.PAGE + "d.html": ('<a onclick="x()">', 'onclick=" can make'), page.PAGE + "e.js": ("setTimeout('x')", "setTimeout"),
      page.PAGE + "f.js": ('import("https://a.example/b.js")', "nothing of other hosts"), page.PAGE + "g.js": ("fetch(x)", "fetch() is called"),
      page.PAGE + "h.css": ("a { color: #fff; }", "a colour outside"), page.PAGE + "i.js": ("\n" * 201, "201 lines, at most 200"),
      page.PAGE + "j.js": ("n.toLocaleString()", "toLocaleString is slow"), page.PAGE + "k.js": ("new Intl.NumberFormat()", "Intl.NumberFormat is slow"),
      page.VENDOR + "b.mjs": ("", "not in the list"), page.VENDOR + "a.mjs": ("y", "its SHA-256 is not")}),
    ("places",
     {"dev": "cd build/wo" + "rk/x; see https://www.debian.org", "a.c": "/src/ho" + "me/x"},
     {"bad": ("\nhttp://deb.debian" + ".org/debian", ":2: names deb.debian" + ".org"),
      "bad2": ('"/wo' + 'rk/main"', "names /wo" + "rk/")}),
]


class RulesTest(unittest.TestCase):
    def test_cases(self):
        for name, good, bad in CASES:
            check = rules.CHECKS[name]
            with self.subTest(rule=name, case="good"):
                self.assertEqual(check(good), [])
            for path, (text, want) in bad.items():
                with self.subTest(rule=name, case=path):
                    problems = check({**good, path: text})
                    self.assertEqual(len(problems), 1, problems)
                    self.assertIn(path, problems[0])
                    self.assertIn(want, problems[0])

    def test_page_names_what_exists(self):
        for names, uses, want in (("`gone.h`", "–", "there is no gone.h"), ("|\n| `server/gone/` | w | ", "–", "there is no server/gone/"), ("", "nowhere", "process uses nowhere, which has no row")):
            with self.subTest(want):
                self.assertEqual(rules.CHECKS["architecture"]({**TREE, architecture.PAGE: PAGE.format(names, uses)}),
                                 [f"{architecture.PAGE}: {want}"])

    def test_page_has_every_folder(self):
        self.assertEqual(rules.CHECKS["architecture"]({**TREE, "server/new/a.c": ""}), [f"{architecture.PAGE}: server/new/ has no row"])

    def test_small_files_exist(self):
        problems = rules.CHECKS["small_files"](dict.fromkeys(style.SMALL_FILES, "x\n" * 60))
        self.assertEqual(len(problems), len(style.SMALL_FILES))

    def test_cycles(self):
        """A cycle of calls over three files in two folders is found once per file and module, with the shortest way."""
        files = {"base/x/a.c": '#include "base/x.h"\nint\nfz_a(void)\n{\n    return fz_b();\n}\n',
                 "base/y/b.c": '#include "base/x.h"\nint\nfz_b(void)\n{\n    return c_table[0]();\n}\n',
                 "base/y/c.c": '#include "base/x.h"\nconst fz_fn c_table[] = {fz_a};\n',
                 "base/x.h": "int fz_a(void);\nint fz_b(void);\nextern const fz_fn c_table[];\n"}
        way = "base/x/a.c -> base/y/b.c (fz_b) -> base/y/c.c (c_table) -> base/x/a.c (fz_a)"
        self.assertEqual(rules.CHECKS["cycles"](files),
                         [f"{path}:1: in a cycle (call): {way}" for path in sorted(files) if path.endswith(".c")]
                         + [f"base/{folder}:1: in a cycle of modules: x y" for folder in "xy"])

    def test_fuzz_target_without_row_and_corpus(self):
        self.assertEqual(rules.CHECKS["fuzz"]({**FUZZ, "tests/fuzz/new.cmake": "fz_fuzz_target(n fz_n)\n"}),
                         [f"{fuzz.PAGE}: no row has the target n", "tests/fuzz/corpus/n: has no file"])

    def test_every_rule_has_a_case(self):
        self.assertEqual({name for name, _, _ in CASES}, set(rules.CHECKS))

    def test_executable(self):
        with tempfile.TemporaryDirectory() as top:
            path = pathlib.Path(top) / "a.py"
            path.write_text("#!/usr/bin/env python3\n")
            self.assertEqual(check_tree.not_executable(path.parent, ["a.py", "gone"]),
                             ["a.py:1: is a program, but is not executable (chmod +x)"])
            path.chmod(0o755)
            self.assertEqual(check_tree.not_executable(path.parent, ["a.py"]), [])

    def test_skipped(self):
        case = '<testcase name="{}"><{}/><system-out>{}</system-out></testcase>'.format
        tree = xml.etree.ElementTree.fromstring("<testsuite>" + case("a", "properties", "ok") + case(
            "b", "skipped", "no corpus (set FRAMEZERO_CORPUS)") + case("c", "skipped", "no database") + "</testsuite>")
        self.assertEqual(skipped.unwanted(tree), ["c", "    no database"])


if __name__ == "__main__":
    unittest.main()
