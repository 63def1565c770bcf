#!/usr/bin/env python3
"""Ways out of the sandbox: a child that was taken over tries each of them, as root and as an ordinary user.

The table of ways is in evil_child.c. With all locks every way is stopped, in every role. With each lock alone, the ways are
stopped that the table says of it; without any, the others are open: so every way is known to work, and a lock that is left out
is noticed. Where the kernel lacks a lock, the ways that nothing else stops are listed by name.
"""
import argparse
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

OPEN, ORDINARY = 42, 61234
ROOT, SURE = 1, 2
ROLES = {"reports": 1, "symbols": 2, "intake": 3}
PROGRAM = None


class Ways(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.folder.chmod(0o755)
        cls.program = shutil.copy2(PROGRAM, cls.folder / "evil_child")
        lines = [line.split() for line in subprocess.run([cls.program, "list"], capture_output=True, text=True,
                                                         check=True).stdout.splitlines()]
        cls.locks = [line[1] for line in lines if line[0] == "lock"]
        cls.ways = {line[1]: (int(line[2]), int(line[3])) for line in lines if line[0] == "way"}
        cls.all_locks = (1 << len(cls.locks)) - 1
        cls.server = socket.create_server(("127.0.0.1", 0), backlog=4096)
        cls.port = cls.server.getsockname()[1]
        cls.abstract = socket.socket(socket.AF_UNIX)
        cls.abstract.bind(f"\0fz-evil-{cls.port}")
        cls.abstract.listen(4096)
        cls.users = [0, ORDINARY] if os.getuid() == 0 else [os.getuid()]
        cls.victims = {user: subprocess.Popen(["sleep", "600"], env={"SECRET": "x"}, **cls.as_user(user)) for user in cls.users}
        for user in cls.users:
            place = cls.folder / str(user)
            place.mkdir()
            (place / "secret").write_text("secret\n")
            if os.getuid() == 0:
                os.chown(place, user, user)
                os.chown(place / "secret", user, user)
        cls.known = {}

    @classmethod
    def tearDownClass(cls):
        for victim in cls.victims.values():
            victim.kill()
            victim.wait()
        cls.server.close()
        cls.abstract.close()
        shutil.rmtree(cls.folder)

    @staticmethod
    def as_user(user):
        return {"user": user, "group": user, "extra_groups": []} if os.getuid() == 0 else {}

    def attempt(self, way, user, without=0, role="reports"):
        """(is it open, the active locks, landlock's version)"""
        key = (way, user, without, role)
        if key not in self.known:
            done = subprocess.run([self.program, "try", way, str(ROLES[role]), str(without), self.folder / str(user),
                                   str(self.victims[user].pid), str(self.port)], capture_output=True, text=True, timeout=20,
                                  **self.as_user(user))
            self.assertNotEqual(done.returncode, 2, f"{key}: {done.stderr}")
            self.assertIn(done.returncode, (0, OPEN, -signal.SIGSYS), f"{key}: {done.stderr}")
            locks, abi = (int(word) for word in done.stdout.split())
            self.known[key] = (done.returncode == OPEN, locks, abi)
        return self.known[key]

    def names(self, mask):
        return [name for i, name in enumerate(self.locks) if mask >> i & 1]

    def leaks(self, user, without=0, role="reports"):
        """The ways that are open although a lock that would stop them is active; those that only absent ones stop."""
        leaks, excused = [], []
        for way, (_, stopped_by) in self.ways.items():
            is_open, active, _ = self.attempt(way, user, without, role)
            if is_open:
                (leaks if stopped_by & (active | without) else excused).append(way)
        return leaks, excused

    def test_all_are_stopped(self):
        self.assertGreaterEqual(len(self.ways), 45)
        for user in self.users:
            for role in ROLES:
                leaks, excused = self.leaks(user, role=role)
                active = self.attempt("read_secret", user, role=role)[1]
                print(f"uid {user}, {role}: {len(self.ways) - len(leaks) - len(excused)} of {len(self.ways)} stopped; absent: "
                      f"{self.names(self.all_locks & ~active) or 'nothing'}; open because of that: {excused or 'none'}")
                self.assertEqual(leaks, [], f"uid {user}, {role}")

    def test_open_without_locks(self):
        """Else a way would count as stopped because it never worked."""
        for user in self.users:
            is_open = [way for way in self.ways if self.attempt(way, user, self.all_locks)[0]]
            print(f"uid {user}: {len(is_open)} of {len(self.ways)} are open without locks; not: "
                  f"{[way for way in self.ways if way not in is_open]}")
            for way, (flags, _) in self.ways.items():
                if flags & SURE and (user == 0 or not flags & ROOT):
                    self.assertIn(way, is_open, f"uid {user}")

    def test_each_lock_alone(self):
        """Every lock stops what the table says, without the help of others."""
        for user in self.users:
            for number, lock in enumerate(self.locks):
                one = 1 << number
                for way, (_, stopped_by) in self.ways.items():
                    is_open, active, abi = self.attempt(way, user, self.all_locks & ~one)
                    if not active & one or (lock == "landlock" and abi < 6):
                        continue
                    if stopped_by & one:
                        self.assertFalse(is_open, f"uid {user}, {lock} alone: {way} is open")

    def test_root_that_may_not_kill(self):
        """Its children stay root: it could not end them as another user's."""
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        for drop, is_nobody in (([], True), (["setpriv", "--bounding-set", "-kill"], False)):
            done = subprocess.run([*drop, self.program, "try", "read_secret", "1", "0", self.folder / "0",
                                   str(self.victims[0].pid), str(self.port)], capture_output=True, text=True, timeout=20)
            self.assertIn(done.returncode, (0, -signal.SIGSYS), done.stderr)
            active = self.names(int(done.stdout.split()[0]))
            self.assertEqual("unprivileged_user" in active, is_nobody, active)

    def test_a_missing_lock_is_noticed(self):
        """test_all_are_stopped must fail if the filter of system calls is left out."""
        for user in self.users:
            if "seccomp" not in self.names(self.attempt("read_secret", user)[1]):
                continue
            leaks, _ = self.leaks(user, without=1 << self.locks.index("seccomp"))
            print(f"uid {user}, without seccomp: open are {leaks}")
            self.assertGreaterEqual(len(leaks), 10)
            self.assertNotIn("read_secret", leaks)  # others stop it
            both = 1 << self.locks.index("seccomp") | 1 << self.locks.index("landlock") | 1 << self.locks.index("empty_root")
            self.assertIn("read_secret", self.leaks(user, without=both)[0])


def main():
    global PROGRAM
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="evil_child")
    args, rest = parser.parse_known_args()
    PROGRAM = args.program
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
