"""The PostgreSQL of with_postgresql.sh: its processes are killed, and it is started again."""

import glob
import os
import shlex
import subprocess
import time
import urllib.parse

from framezero import is_alive, send

LIMIT_S = 60


class Cluster:
    def __init__(self, url):
        self.url = url
        base = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["host"][0]
        self.data = os.path.join(base, "data")
        with open(os.path.join(self.data, "postmaster.opts"), encoding="utf-8") as f:
            program, *words = shlex.split(f.read())
        self.bin = os.path.dirname(program)
        if words[:1] == ["-D"]:
            words = words[2:]
        self.options = shlex.join(words)
        self.preload = next(iter(glob.glob(os.path.join(base, "shim.so"))), "")

    def as_owner(self, *words):
        owner = os.stat(self.data)
        if os.getuid() == owner.st_uid:
            return list(words)
        return ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", "--", *words]

    def first_pid(self):
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as f:
            return int(f.readline())

    def processes(self):
        """{pid: title} of the processes below the first one."""
        first, found = self.first_pid(), {}
        for entry in os.listdir("/proc"):
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                    parent = int(f.read().rpartition(")")[2].split()[1])
                if parent == first:
                    with open(f"/proc/{entry}/cmdline", "rb") as f:
                        found[int(entry)] = f.read().rstrip(b"\0 ").decode(errors="replace")
            except (OSError, ValueError, IndexError):
                continue
        return found

    def backends(self):
        """Those that serve a connection of ours: "postgres: framezero DATABASE [local] idle"."""
        return [pid for pid, title in self.processes().items() if title.startswith("postgres: framezero ")]

    def stop_at_once(self, number):
        """SIGQUIT: an immediate stop, without a checkpoint. SIGKILL: nobody tells the other processes."""
        pids = [self.first_pid(), *self.processes()]
        send(pids[0], number)
        end = time.monotonic() + LIMIT_S
        while any(is_alive(pid) for pid in pids):
            if time.monotonic() > end:
                raise RuntimeError("PostgreSQL did not end")
            time.sleep(0.002)

    def start(self):
        end = time.monotonic() + LIMIT_S
        command = self.as_owner(os.path.join(self.bin, "pg_ctl"), "-D", self.data, "-w", "-t", str(LIMIT_S), "-l",
                                os.path.join(self.data, "log"), "-o", self.options, "start")
        while True:
            done = subprocess.run(command, capture_output=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False, env={**os.environ, "LD_PRELOAD": self.preload})
            if done.returncode == 0:
                return
            if time.monotonic() > end:
                raise RuntimeError("PostgreSQL does not start")

    def wait_ready(self):
        """After the death of a backend all others end, and the log is read again."""
        end = time.monotonic() + LIMIT_S
        while subprocess.run(["psql", "-q", "-X", self.url, "-c", "SELECT 1"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if time.monotonic() > end:
                raise RuntimeError("PostgreSQL does not come back")
            time.sleep(0.01)
