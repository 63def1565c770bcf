#!/usr/bin/env python3
"""Every rule of rules.py, kept and broken once: a check that cannot fail checks nothing."""
import unittest
import xml.etree.ElementTree

import rules
import skipped

HEADER = "/*\n * Gives a thing.\n */\n#ifndef STORE_H\n#define STORE_H\n{}#endif\n"



def page(rooms="| r | w | `base/error.h` |", **changed):
    """An ARCHITECTURE.md that tells the rules as they are, but for what is changed."""
    names = list(rules.MAY_USE)
    rows = [[name] + ["yes" if to in changed.get(name, rules.MAY_USE[name]) else "" for to in names] for name in names]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [[""] + names, ["---"] * (len(names) + 1)] + rows)
    rooms = "| room | what | start |\n|---|---|---|\n" + rooms.replace("| r |", "| `base/` |")
    return f"# A\n\n## Rooms\n\n{rooms}\n\n## Who may use whom\n\n{table}\n\n## Facts\n"


# rule, good files, bad files with the one problem that each must give
CASES = [
    ("architecture",
     {rules.ARCHITECTURE: page(), "base/error.h": ""},
     {rules.ARCHITECTURE: (page(ingest={"report"}), "ingest uses ['report'] there")}),
    ("dependencies",
     {"storage/store.c": '#include "storage/store.h"\n#include "base/error.h"\n',
      "storage/store.h": "", "base/error.h": "", "server/process/limits.h": "", "storage/sql/sql.h": "",
      "server/worker/job.c": '#include "storage/store.h"\n#include "server/process/limits.h"\n'
                             '/* #include "server/http/http.h" */\n',
      "server/http/http.h": "", "server/http/pool.h": "", "symbolicator/macho/format.h": "", "symbolicator/macho.h": "",
      "server/cli/cmd_serve.c": '#include "server/http/http.h"\n'},
     {"storage/bad.c": ('#include "symbolicator/macho.h"\n', "storage may not use symbolicator"),
      "symbolicator/bad.c": ('\n#include "server/http/http.h"\n', ":2: symbolicator may not use http"),
      "base/bad.c": ('#include "server/process/limits.h"\n', "base may not use process"),
      "server/http/bad.c": ('  #  include "storage/store.h"\n', "http may not use storage"),
      "server/api/bad.c": ('#include "server/http/pool.h"\n', "private to http"),
      "server/worker/bad.c": ('#include "storage/sql/sql.h"\n', "private to storage"),
      "server/worker/bad2.c": ('#include "symbolicator/macho/format.h"\n', "private to symbolicator"),
      "server/bad.c": ('#include "store.h"\n', "no file of the project")}),
    ("homes",
     {"storage/sql/sqlite.c": "#include <sqlite3.h>\n", "base/digest.c": "#include <openssl/evp.h>\n",
      "base/file.c": "#include <stdio.h>\n"},
     {"server/api/bad.c": ("#include <sqlite3.h>\n", "<sqlite3.h> belongs into storage/"),
      "symbolicator/index/bad.c": ("#include <libdwarf.h>\n", "belongs into symbolicator/dwarf/"),
      "server/cli/main.c": ("#include <openssl/sha.h>\n", "belongs into base/digest.c")}),
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
      "server/ingest/identity.h": '#include "base/digest.h"\n', "server/child/sandbox.c": "#include <sys/prctl.h>\n",
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

    def test_page_names_what_is_there(self):
        problems = rules.check_architecture({rules.ARCHITECTURE: page("| r | w | `gone.h` |"), "base/error.h": ""})
        self.assertEqual(problems, [f"{rules.ARCHITECTURE}: there is no gone.h"])

    def test_every_rule_has_a_case(self):
        self.assertEqual({name for name, _, _ in CASES}, set(rules.CHECKS))

    def test_skipped(self):
        case = '<testcase name="{}"><{}/><system-out>{}</system-out></testcase>'.format
        tree = xml.etree.ElementTree.fromstring("<testsuite>" + case("a", "properties", "ok") + case(
            "b", "skipped", "no corpus (set FRAMEZERO_CORPUS)") + case("c", "skipped", "no database") + "</testsuite>")
        self.assertEqual(skipped.unwanted(tree), ["c", "    no database"])


if __name__ == "__main__":
    unittest.main()
