#!/usr/bin/env python3
"""What the client's objects need of the system, against a fixed list, and how large they are.

The list is the test for safety in a handler of signals: what runs after a crash calls nothing that allocates or locks.
"""
import functools
import os
import re
import subprocess
import unittest

import machine
from machine import built

# The capture itself: Mach calls, memory, the clock, and write().
CAPTURE = {"capture", "describe", "images", "memory", "threads", "write"}
CAPTURE_IMPORTS = set("""
    _bzero ___bzero _memchr _memcmp _memcpy _memmove _memset _strlen _strrchr
    _clock_gettime _write ___error ___stack_chk_fail ___stack_chk_guard
    _mach_port_deallocate _mach_task_self_ _mach_thread_self _task_info _task_threads _thread_get_state _thread_info
    _thread_resume _thread_suspend _vm_deallocate _vm_read_overwrite _vm_region_recurse_64""".split())

# The ways into it. What comes first runs after a crash; what follows runs at installation only.
AFTER_CRASH = set("_close _fsync _ftruncate _lseek _mach_msg _nanosleep _pthread_sigmask _raise _rename _sigaction"
                  " _task_set_exception_ports".split())
INSTALLATION = set("""
    _arc4random_buf _getpid _mach_port_allocate _mach_port_insert_right _open _open_dprotected_np _pthread_attr_destroy
    _pthread_attr_init _pthread_attr_setdetachstate _pthread_attr_setstacksize _pthread_create _pthread_setname_np
    _sigaltstack _sysctl _task_get_exception_ports _strlcpy _dlsym""".split())
WAYS = {"run", "install", "signals", "mach", "hang", "exceptions"}

# 64 bits, -O2, with headroom of a fifth: code and constants of all objects; zero-filled memory.
CODE_MAX, WORK_MAX = 48 * 1024, 256 * 1024


@functools.cache
def listing(arch):
    """{object: (what it needs, what it defines)}"""
    text = subprocess.run(["llvm-nm-19", "-g", built(f"client-{arch}", "libframezero.a")], check=True, capture_output=True,
                          text=True).stdout
    objects = {}
    for line in text.splitlines():
        if line.endswith(".o:"):
            needed, defined = objects.setdefault(line[:-3], (set(), set()))
        elif line.strip():
            kind, name = line.split()[-2:]
            (needed if kind in "Uw" else defined).add(name)
    return objects


def symbols(arch, name):
    return listing(arch)[name][0]


def own(arch):
    return {name for _, defined in listing(arch).values() for name in defined}


class Imports(unittest.TestCase):
    def test_capture(self):
        for arch in ("x86_64", "arm64", "arm64e", "arm64_32", "tvos"):
            mine = own(arch)
            for name in sorted(CAPTURE):
                self.assertEqual(set(), symbols(arch, name) - mine - CAPTURE_IMPORTS, f"{arch}: {name}")

    def test_ways(self):
        for arch in ("x86_64", "arm64", "arm64e", "arm64_32", "tvos"):
            mine = own(arch)
            for name in sorted(WAYS):
                self.assertEqual(set(), symbols(arch, name) - mine - CAPTURE_IMPORTS - AFTER_CRASH - INSTALLATION,
                                 f"{arch}: {name}")

    def test_list_has_no_more_than_is_used(self):
        used = set()
        for arch in ("x86_64", "arm64"):
            for name in CAPTURE | WAYS:
                used |= symbols(arch, name)
        self.assertEqual(set(), (CAPTURE_IMPORTS | AFTER_CRASH | INSTALLATION) - used - {"_bzero", "___bzero", "_memset",
                         "___stack_chk_fail", "___stack_chk_guard", "_memcmp"})

    def test_names_do_not_clash(self):
        """Every symbol that other code can see has the library's prefix, but for the compiler's own."""
        for arch in ("x86_64", "arm64"):
            self.assertEqual(set(), {name for name in own(arch) if not name.startswith("_framezero_")}
                             - {"___clang_call_terminate"})

    def test_size(self):
        for arch in ("x86_64", "arm64"):
            shown = subprocess.run(["llvm-size-19", "-A", built(f"client-{arch}", "libframezero.a")], check=True,
                                   capture_output=True, text=True).stdout
            sizes = {}
            for name, size in re.findall(r"^(__\w+)\s+(\d+)", shown, re.M):
                sizes[name] = sizes.get(name, 0) + int(size)
            code = sum(sizes.get(name, 0) for name in ("__text", "__const", "__cstring", "__literal16", "__data",
                                                       "__gcc_except_tab"))
            work = sizes.get("__fz_work", 0) + sizes.get("__bss", 0) + sizes.get("__framezero", 0)
            print(f"{arch}: {code} bytes of code and constants, {work} bytes of work memory")
            self.assertLess(code, CODE_MAX)
            self.assertLess(work, WORK_MAX)

    def test_sources_include_nothing_else(self):
        """Headers of the system and of this folder, so that copying the folder is enough."""
        folder = os.path.join(machine.SOURCE, "client", "src")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                for header in re.findall(r'^#include "([^"]+)"', f.read(), re.M):
                    self.assertTrue(os.path.exists(os.path.join(folder, header)), f"{name}: {header}")
                    self.assertNotIn("../..", header)


if __name__ == "__main__":
    machine.main()
