"""What is killed, and when: processes at any moment, or a process at a point that kill_shim.c knows. Three points do not kill
but make a commit fail, or lose its answer.

    killer = Killer(server, shims, rng, cluster)
    killer.environment()        before the server starts
    killer.kill("all")          returns when what was killed runs again
"""

import mmap
import os
import random
import signal
import struct
import tempfile
import time

from clock import Clock
from framezero import is_alive, send

# enum point of kill_shim.c
POINTS = ["none", "wal_written", "wal_sync_before", "wal_sync_after", "database_written", "database_sync",
          "blob_sync_before", "blob_link_before", "blob_link_after", "rename_after", "answer_before", "answer_after",
          "child_asked", "statement_sent", "commit_before", "commit_after", "commit_cut", "wal_full", "commit_lost"]
ANY, SERVE, WORKER = 0, 1, 2
# (point, program, passes of which one is chosen at random). Checkpoints come once in some hundred commits.
SQLITE = [("wal_written", SERVE, 12), ("wal_written", WORKER, 40), ("wal_sync_before", SERVE, 4),
          ("wal_sync_before", WORKER, 4), ("wal_sync_after", SERVE, 4), ("wal_sync_after", WORKER, 4),
          ("database_written", ANY, 8), ("database_sync", ANY, 1), ("wal_full", SERVE, 12),
          ("wal_full", WORKER, 40)]
POSTGRESQL = [("statement_sent", SERVE, 20), ("statement_sent", WORKER, 40), ("commit_before", SERVE, 3),
              ("commit_before", WORKER, 3), ("commit_after", SERVE, 3), ("commit_after", WORKER, 3),
              ("commit_cut", SERVE, 3), ("commit_cut", WORKER, 3), ("commit_lost", SERVE, 3), ("commit_lost", WORKER, 3)]
BOTH = [("blob_sync_before", ANY, 3), ("blob_link_before", ANY, 2), ("blob_link_after", ANY, 2), ("rename_after", ANY, 1),
        ("answer_before", SERVE, 4), ("answer_after", SERVE, 4), ("child_asked", WORKER, 4)]
PROCESSES = ["all", "all", "serving", "serving", "supervisor", "worker", "child", "intake_child"]
DATABASE = ["backend", "immediate", "postmaster"]
STEPS_S = [86400, -86400, 400 * 86400, -400 * 86400, 0]
POINT_LIMIT_S = 2.0


class Killer:
    def __init__(self, server, shims, seed, cluster=None):
        self.server, self.cluster, self.rng = server, cluster, random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="framezero-faults-")
        os.chmod(self.folder, 0o755)  # `serve` may run as another user than the tests
        control = os.path.join(self.folder, "control")
        with open(control, "wb") as f:
            f.write(bytes(struct.calcsize("5i")))
        os.chmod(control, 0o666)
        with open(control, "r+b") as f:
            self.control = mmap.mmap(f.fileno(), 0)
        self.clock = Clock(os.path.join(self.folder, "offset"), *shims)
        self.counts, self.missed, self.recoveries = {}, 0, {}
        self.in_a_row = 0
        points = (POSTGRESQL if cluster else SQLITE) + BOTH
        self.kinds = PROCESSES * 2 + [("point", *p) for p in points] + DATABASE * (3 if cluster else 0)

    def environment(self):
        return {**self.clock.environment(), "KILL_SHIM_FILE": os.path.join(self.folder, "control")}

    def is_preloaded(self):
        with open(f"/proc/{self.server.serving_pid}/maps", encoding="utf-8") as f:
            maps = f.read()
        return all(os.path.basename(shim) in maps for shim in self.clock.shims)

    def keep_only(self, names):
        self.kinds = [kind for kind in self.kinds if (kind[1] if isinstance(kind, tuple) else kind) in names]

    # ---- what to do next

    def choose(self, n):
        """The n-th kill: each kind once in a random order, and then again in another."""
        at = n % len(self.kinds)
        if at == 0:
            self.order = self.rng.sample(self.kinds, len(self.kinds))
        return self.order[at]

    def kill(self, kind):
        """Kill, see to it that everything is started again, and return when that was; None: the point was not reached."""
        if isinstance(kind, tuple):
            name, at = kind[1], self.at_point(*kind[1:])
            if at is None:
                self.missed += 1
                return None
        else:
            name, at = kind, getattr(self, "kill_" + kind)()
        self.counts[name] = self.counts.get(name, 0) + 1
        self.come_back()
        return at

    def come_back(self):
        """The supervisor starts again what died below it. It waits longer after each death, so now and then all begins
        anew, and always if the supervisor is what died."""
        self.in_a_row += 1
        dead = self.server.process.poll() is not None
        if dead or self.in_a_row > 3:
            self.restart(dead)
        else:
            self.server.wait_ready(60)

    def restart(self, dead=False):
        self.in_a_row = 0
        if dead:
            self.reap()
        elif self.server.process:
            self.server.kill_all()
        self.start_server()

    def reap(self):
        """What a supervisor left behind ends by itself; it must not hold the port or the jobs of the next one."""
        self.server.process.wait()
        self.server.process = None

    def start_server(self):
        """serve ends if its database is not there when it starts; one that serves waits for it."""
        if self.cluster:
            self.cluster.wait_ready()
        self.server.start(60)

    # ---- moments

    def kill_all(self):
        self.server.kill_all()
        at = time.monotonic()
        self.in_a_row = 0
        self.start_server()
        return at

    def kill_supervisor(self):
        below = self.server.descendants()
        send(self.server.process.pid, signal.SIGKILL)
        at = time.monotonic()
        self.server.process.wait()
        end = at + 30
        while any(is_alive(pid) for pid in below):
            if time.monotonic() > end:
                raise RuntimeError("processes outlive their supervisor by 30 s")
            time.sleep(0.002)
        return at

    def kill_one(self, pids):
        if pids:
            send(self.rng.choice(pids), signal.SIGKILL)
        return time.monotonic()

    def kill_serving(self):
        pid = self.server.serving_pid
        at = self.kill_one([pid])
        end = at + 30
        while is_alive(pid) and time.monotonic() < end:
            time.sleep(0.001)
        return at

    def kill_worker(self):
        return self.kill_one(self.server.pids_of("worker"))

    def kill_child(self):
        return self.kill_one(self.server.worker_children)

    def kill_intake_child(self):
        workers = self.server.worker_children
        return self.kill_one([pid for pid in self.server.pids_of("child") if pid not in workers])

    def kill_backend(self):
        return self.kill_one(self.cluster.backends())

    def kill_immediate(self):
        self.cluster.stop_at_once(signal.SIGQUIT)
        at = time.monotonic()
        self.cluster.start()
        return at

    def kill_postmaster(self):
        self.cluster.stop_at_once(signal.SIGKILL)
        at = time.monotonic()
        self.cluster.start()
        return at

    # ---- points

    def read_control(self):
        return struct.unpack("5i", self.control[:20])

    def at_point(self, point, program, most):
        """Wait until a process kills itself there; half of the time everything else goes with it."""
        n_before = self.read_control()[3]
        # The point last: it arms the shim.
        self.control[4:12] = struct.pack("2i", program, self.rng.randint(1, most))
        self.control[0:4] = struct.pack("i", POINTS.index(point))
        end = time.monotonic() + POINT_LIMIT_S
        while self.read_control()[3] == n_before:
            if time.monotonic() > end:
                self.control[0:4] = struct.pack("i", 0)
                if self.read_control()[3] == n_before:
                    return None
            time.sleep(0.0005)
        at, pid = time.monotonic(), self.read_control()[4]
        if self.rng.random() < 0.5:
            if self.server.process.poll() is None:
                self.server.kill_all()
            else:
                self.reap()
            self.start_server()
            self.in_a_row = 0
        # The dead one's successor is what comes back, not itself.
        while is_alive(pid) and time.monotonic() < end + 30:
            time.sleep(0.001)
        return at

    def step_clock(self):
        self.clock.set(self.rng.choice(STEPS_S))
