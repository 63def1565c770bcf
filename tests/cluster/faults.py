"""The faults of a cluster. Each is a context manager: it begins when it is entered, and what leaves it ends it.

    for fault in FAULTS:  with fault.make(cluster, rng): time passes

`cluster` has nodes, pair, store, network. Whoever enters one holds it for as long as it is to last.
"""

import os
import re
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable

from framezero import send

DAY_S = 86400
LEASE_S = 60  # JOB_LEASE_MS of server/worker/job.h
TO_CATCH_S = 60


@contextmanager
def node_killed(cluster, rng):
    """kill -9 of all processes of one node, which is started again."""
    node = rng.choice(cluster.nodes)
    node.kill()
    yield
    node.start(wait_s=0)


@contextmanager
def database_restarted(cluster, _):
    """An immediate stop; without connections until it is started."""
    server = cluster.pair.primary
    server.call("pg_ctl", "-D", server.data, "-m", "immediate", "-w", "stop")
    yield
    server.start()


@contextmanager
def database_failed_over(cluster, _):
    """kill -9 of the primary, for good. The end is the promotion of the standby."""
    cluster.pair.kill(cluster.pair.primary)
    yield
    cluster.pair.fail_over()


@contextmanager
def store_killed(cluster, _):
    cluster.store.kill()
    yield
    cluster.store.start()


@contextmanager
def cut(cluster, machine, *others):
    cluster.network.cut(machine, *others)
    yield
    cluster.network.heal(machine)


def node_without_database(cluster, rng):
    return cut(cluster, rng.choice(cluster.nodes).machine, *(server.machine for server in cluster.pair.servers))


def node_without_store(cluster, rng):
    return cut(cluster, rng.choice(cluster.nodes).machine, cluster.store.machine)


def standby_without_primary(cluster, _):
    return cut(cluster, cluster.pair.standby.machine, cluster.pair.primary.machine)


@contextmanager
def clock_jumped(cluster, rng, days):
    """Of one node, while it runs. Not to be seen by those on other nodes, nor by any report."""
    node = rng.choice(cluster.nodes)
    node.set_clock(days * DAY_S)
    yield
    node.set_clock(0)


def space_of(pid):
    """The part of the names of workers that says in which process namespace they are."""
    with open(f"/proc/{pid}/cgroup", encoding="ascii"):  # it lives
        pass
    return re.sub(r"\D", "", os.readlink(f"/proc/{pid}/ns/pid"))


def leased_by(cluster, node):
    """The jobs that workers of the node have, as ids."""
    space = space_of(node.machine.first)
    text = cluster.pair.primary.sql(f"SELECT id FROM jobs WHERE state = 1 AND worker LIKE '%.{space}'", "framezero")
    return [int(line) for line in text.split()]


@contextmanager
def worker_paused(cluster, rng, in_time):
    """All workers of one node stop in the middle of a job, for longer than their lease. Then they come back and end it."""
    node = rng.choice([node for node in cluster.nodes if node.workers])
    end, jobs = time.monotonic() + TO_CATCH_S, []
    while not jobs:
        if time.monotonic() > end:
            raise RuntimeError(f"no worker was caught at work within {TO_CATCH_S} s")
        pids = [pid for pid in node.machine.pids() if pid not in node.pids_of("serve")]
        for pid in pids:
            send(pid, signal.SIGSTOP)
        jobs = leased_by(cluster, node)
        if not jobs:
            for pid in pids:
                send(pid, signal.SIGCONT)
            time.sleep(rng.random() / 100)
    cluster.paused_jobs += len(jobs)
    if in_time:
        time.sleep(LEASE_S)
    else:  # the lease ends now, and not in a minute
        numbers = ", ".join(map(str, jobs))
        cluster.pair.primary.sql(f"UPDATE jobs SET due_ms = 1 WHERE state = 1 AND id IN ({numbers})", "framezero")
    # Somebody else does them meanwhile.
    end = time.monotonic() + 30
    while set(jobs) & set(leased_by(cluster, node)) and time.monotonic() < end:
        time.sleep(0.02)
    yield
    for pid in pids:
        send(pid, signal.SIGCONT)


@dataclass
class Fault:
    name: str
    make: Callable
    stores: bool = False  # uploads have to recover, too


FAULTS = [
    Fault("node killed", node_killed),
    Fault("database restarted", database_restarted),
    Fault("database failed over", database_failed_over),
    Fault("object store killed", store_killed, stores=True),
    Fault("node cut from database", node_without_database),
    Fault("node cut from object store", node_without_store, stores=True),
    Fault("standby cut from primary", standby_without_primary),
    Fault("worker paused", lambda cluster, rng: worker_paused(cluster, rng, False)),
    Fault("clock of a node 400 days ahead", lambda cluster, rng: clock_jumped(cluster, rng, 400)),
    Fault("clock of a node 400 days behind", lambda cluster, rng: clock_jumped(cluster, rng, -400)),
]
QUICK = {"node killed", "database failed over", "worker paused"}
LONG = [Fault("worker paused for its lease", lambda cluster, rng: worker_paused(cluster, rng, True))]
