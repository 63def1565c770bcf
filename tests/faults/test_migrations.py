#!/usr/bin/env python3
"""kill -9 in the middle of migrations: the database is of the old version or of the new one, whole, and the next try ends it.

usage: test_migrations.py --framezero BINARY --kill-shim LIBRARY [--kills N] [--seed S]

A database of version OLD with reports is migrated again and again, each time killed at another pass of a point of kill_shim.c.
"""

import argparse
import hashlib
import mmap
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(HERE, "..", "e2e")]

from framezero import new_database  # noqa: E402
from killer import ANY, POINTS  # noqa: E402

OLD, REPORTS = 10, 200
SQLITE = [("wal_written", 120), ("wal_sync_before", 1), ("wal_sync_after", 1), ("database_written", 10)]
POSTGRESQL = [("statement_sent", 60), ("commit_before", 1), ("commit_after", 1)]


def migrations(engine):
    folder = os.path.join(TOP, "migrations", engine)
    found = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            found.append((name.removesuffix(".sql"), f.read()))
    return found


def old_script(engine):
    """The statements that make a database as an older program left it."""
    parts = ["CREATE TABLE schema_migrations (version bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, "
             "applied_ms bigint NOT NULL);"]
    for number, (name, text) in enumerate(migrations(engine)[:OLD], 1):
        checksum = hashlib.sha256(text.encode()).hexdigest()
        parts.append(f"{text}\nINSERT INTO schema_migrations VALUES ({number}, '{name}', '{checksum}', 1);")
    parts.append("INSERT INTO projects (name, created_ms) VALUES ('old', 1);")
    for n in range(REPORTS):
        parts.append("INSERT INTO reports (project_id, id, body_sha256, received_ms, status, format) VALUES (1, "
                     f"'{n:032x}', '{n:064x}', {1700000000000 + n}, 'unsymbolicated', 'framezero');")
    return "\n".join(parts)


class Lite:
    engine, points = "sqlite", SQLITE

    def __init__(self, folder):
        self.data = os.path.join(folder, "data")
        self.where = ["--data", self.data]

    def make(self):
        shutil.rmtree(self.data, ignore_errors=True)
        os.makedirs(self.data, mode=0o700)
        with sqlite3.connect(os.path.join(self.data, "framezero.db")) as db:
            db.executescript("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;\n" + old_script(self.engine))

    def ask(self, query):
        with sqlite3.connect(os.path.join(self.data, "framezero.db"), timeout=10) as db:
            return db.execute(query).fetchone()[0]

    def is_whole(self):
        return self.ask("PRAGMA integrity_check") == "ok"


class Postgresql:
    engine, points = "postgresql", POSTGRESQL

    def __init__(self, _folder):
        self.where = []

    def make(self):
        self.url = new_database()
        self.where = ["--database", self.url]
        subprocess.run(["psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", self.url], input=old_script(self.engine).encode(),
                       check=True, timeout=60, stdout=subprocess.DEVNULL)

    def ask(self, query):
        done = subprocess.run(["psql", "-q", "-X", "-A", "-t", self.url, "-c", query], check=True, timeout=60,
                              capture_output=True, text=True)
        return int(done.stdout)

    @staticmethod
    def is_whole():
        return True


class Migrations:
    def __init__(self, options, folder):
        self.options, self.rng = options, random.Random(options.seed)
        self.database = (Postgresql if os.environ.get("FRAMEZERO_TEST_POSTGRESQL") else Lite)(folder)
        self.newest = len(migrations(self.database.engine))
        path = os.path.join(folder, "control")
        with open(path, "wb") as f:
            f.write(bytes(20))
        with open(path, "r+b") as f:
            self.control = mmap.mmap(f.fileno(), 0)
        self.env = {**os.environ, "LD_PRELOAD": os.path.abspath(options.kill_shim), "KILL_SHIM_FILE": path}

    def migrate(self, env=None):
        return subprocess.run([self.options.framezero, "migrate", *self.database.where], env=env, timeout=60,
                              capture_output=True, text=True, check=False)

    def version(self):
        return self.database.ask("SELECT max(version) FROM schema_migrations")

    def once(self, point, passes):
        """What is wrong after one kill; None: the point was not reached."""
        self.database.make()
        self.control[0:12] = struct.pack("3i", POINTS.index(point), ANY, passes)
        done = self.migrate(self.env)
        if done.returncode == 0:
            return None
        if done.returncode != -9:
            return [f"it ended with {done.returncode}: {done.stderr}"]
        wrong = []
        version = self.version()
        if version not in (OLD, self.newest):
            wrong.append(f"it is of version {version}, between {OLD} and {self.newest}")
        if not self.database.is_whole():
            wrong.append("it is damaged")
        done = self.migrate()
        if done.returncode != 0 or self.version() != self.newest:
            wrong.append(f"the next try: {done.returncode} {done.stderr}")
        elif self.database.ask("SELECT count(*) FROM reports") != REPORTS or not self.database.is_whole():
            wrong.append("afterwards reports are missing, or it is damaged")
        return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--kill-shim", required=True)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # kills lose nothing there either
    folder = tempfile.mkdtemp(prefix="framezero-migrations-", dir=memory)
    wrong, n_kills, n_tries = [], 0, 0
    try:
        run = Migrations(options, folder)
        while n_kills < options.kills and n_tries < 4 * options.kills:
            point, most = run.database.points[n_tries % len(run.database.points)]
            passes = run.rng.randint(1, most)
            n_tries += 1
            found = run.once(point, passes)
            n_kills += found is not None
            wrong += [f"killed at {point}, pass {passes}: {line}" for line in found or []]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{n_kills} kills in {n_tries} migrations: {len(wrong)} wrong")
    print("\n".join(wrong[:20]))
    return 1 if wrong or n_kills < options.kills // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
