"""A real `framezero serve` in a temporary folder on a free port, for tests from outside.

    with Server(binary) as server:
        status, answer = server.request("POST", "/api/v1/reports?wait=10", body=report)

JSON responses are returned parsed. FRAMEZERO_TEST_POSTGRESQL chooses the database when it is set and
`database` is not given. With FRAMEZERO_TEST_ROW_SECURITY=1 the server is no superuser there, and row security is on.
"""

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse


# Started by root, servers stay root, whichever users the machine has; test_user.py tests the rest.
if os.geteuid() == 0:
    os.environ.setdefault("FRAMEZERO_USER", "root")


def free_port():
    """Below those that the system gives to connections. One of these may be taken while a server is down for a moment, even by a
    client that tries to connect to it and so to itself."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        above = int(f.read().split()[0])
    while True:
        port = random.SystemRandom().randint(min(10000, above // 2), above - 1)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


TEMPLATES = {}  # of a cluster and a program, databases with its tables
TEMPLATES_LOCK = threading.Lock()


def new_database(more=""):
    """A new database in the cluster of FRAMEZERO_TEST_POSTGRESQL; None (SQLite) if that is not set."""
    cluster = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
    if not cluster:
        return None
    name = "e2e_" + os.urandom(6).hex()
    url = urllib.parse.urlsplit(cluster)._replace(path="/" + name)
    if not has_row_security():
        subprocess.run(["psql", "-q", cluster, "-c", f"CREATE DATABASE {name} {more}"], check=True, timeout=60)
        return url.geturl()
    # As an operator has it who gives nobody more than is needed.
    texts = (f"CREATE ROLE {name}_owner LOGIN", f"CREATE ROLE {name}_requests NOLOGIN", f"GRANT {name}_requests TO {name}_owner",
             f"CREATE DATABASE {name} OWNER {name}_owner")
    subprocess.run(["psql", "-q", cluster, *[word for text in texts for word in ("-c", text)]], check=True, timeout=60)
    return url._replace(netloc=f"{name}_owner@").geturl()


def migrated_database(binary):
    """The same with all tables: a copy of one that was migrated, which costs less than 40 migrations."""
    cluster = os.environ.get("FRAMEZERO_TEST_POSTGRESQL")
    if not cluster or has_row_security():
        return new_database()
    with TEMPLATES_LOCK:
        if (cluster, binary) not in TEMPLATES:
            template = new_database()
            subprocess.run([binary, "migrate", "--database", template], check=True, timeout=60, capture_output=True)
            TEMPLATES[cluster, binary] = urllib.parse.urlsplit(template).path[1:]
    return new_database(f"TEMPLATE {TEMPLATES[cluster, binary]} STRATEGY file_copy")


def has_row_security():
    return os.environ.get("FRAMEZERO_TEST_ROW_SECURITY") == "1"


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def is_alive(pid):
    """Whether the process exists and not all of its threads have ended: until then its sockets are open, whatever the first one is."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            ended = f.read().rpartition(")")[2].split()[0] in ("Z", "X")
        return not ended or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


class Server:
    def __init__(self, binary, args=(), database=None, workers=1, data=None, env=None):
        self.binary = os.path.abspath(binary)
        self.args = list(args)
        self.database = database or migrated_database(self.binary)
        self.workers = workers
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="framezero-test-")
        self.log_path = os.path.join(self.data, "serve.log")
        self.env = {**os.environ, **(env or {})}
        self.port = None
        self.process = None
        self.credentials = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def where(self):
        """Options that select the same database for another sub-command."""
        return ["--database", self.database] if self.database else ["--data", self.data]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def admin_token(self):
        return self.credentials["admin_token"]

    @property
    def ingest_key(self):
        return self.credentials["ingest_key"]

    def command(self, *args):
        """Run another sub-command on the server's database; returns what it prints."""
        done = subprocess.run([self.binary, *args, *self.where], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{args}: {done.stderr}")
        return done.stdout.strip()

    def start(self, deadline_s=30):
        """Start and wait until /readyz answers 200. A restart keeps the port and the folder."""
        self.port = self.port or free_port()
        command = [self.binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", self.data]
        command += ["--workers", str(self.workers)]
        if self.database:
            command += ["--database", self.database]
            if has_row_security():
                self.command("migrate")
                self.command("row-security", "on")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command + self.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env
            )
        self.wait_ready(deadline_s)
        with open(os.path.join(self.data, "credentials.json"), encoding="utf-8") as f:
            self.credentials = json.load(f)

    def wait_ready(self, deadline_s=30):
        end = time.monotonic() + deadline_s
        while True:
            if self.process.poll() is not None:
                if "this build has no server" in self.log_tail():
                    raise unittest.SkipTest("this build has no server")  # ./dev --preset portable, musl
                raise RuntimeError(f"serve ended with {self.process.returncode}:\n{self.log_tail()}")
            try:
                status, _ = self.request("GET", "/readyz", token=None, timeout=5)
                if status == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > end:
                raise RuntimeError(f"serve was not ready after {deadline_s} s:\n{self.log_tail()}")
            time.sleep(0.02)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def log_tail(self):
        """Not all of it: tests ask for this after every request, for a message that they seldom need."""
        with open(self.log_path, "rb") as f:
            f.seek(max(0, f.seek(0, os.SEEK_END) - 4000))
            return f.read().decode("utf-8", "replace")

    def stop(self, deadline_s=30):
        """SIGTERM, wait, and remove the folder if this object made it. Returns the exit code."""
        code = self.terminate(deadline_s)
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)
        return code

    def terminate(self, deadline_s=30):
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise RuntimeError(f"serve did not end on SIGTERM:\n{self.log_tail()}") from None
        self.process = None
        return code

    def descendants(self, of=None):
        """The process ids below the first process of `serve` (or below `of`): the process that serves, workers,
        their children."""
        children = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                    state, parent = f.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry))
        found, todo = [], [of or self.process.pid]
        while todo:
            for pid in children.get(todo.pop(), []):
                found.append(pid)
                todo.append(pid)
        return found

    def pids_of(self, command, of=None):
        """Those of them that run one sub-command, "serve" or "worker", or "child": framezero-child. A process that
        was only just forked has the words of its parent."""
        found = []
        for pid in self.descendants(of):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
                    # A process that has ended and was not waited for yet has no words.
                    name = b"child" if words[0] == b"framezero-child" else b"".join(words[1:2])
                    if name == command.encode():
                        found.append(pid)
            except OSError:
                pass
        return found

    @property
    def worker_children(self):
        """The children of the workers, without those that serve itself keeps."""
        below = {pid for worker in self.pids_of("worker") for pid in self.descendants(worker)}
        return [pid for pid in self.pids_of("child") if pid in below]

    @property
    def serving_pid(self):
        """The process that answers; self.process is its supervisor."""
        pids = self.pids_of("serve")
        return pids[0] if pids else self.process.pid

    def kill_all(self):
        """kill -9 of serve and all below it, like a power failure; the folder stays."""
        # All are stopped first: otherwise a supervisor would restart one, or shut down cleanly.
        pids = []
        while True:
            new = [pid for pid in [self.process.pid] + self.descendants() if pid not in pids]
            if not new:
                break
            for pid in new:
                send(pid, signal.SIGSTOP)
            pids += new
        for pid in pids:
            send(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        while any(is_alive(pid) for pid in pids):
            time.sleep(0.001)

    def request(self, method, path, body=None, token="admin", headers=None, timeout=60):
        """One request on its own connection. token: "admin", "ingest", a token's text, or None."""
        token = {"admin": self.credentials and self.admin_token,
                 "ingest": self.credentials and self.ingest_key}.get(token, token)
        all_headers = dict(headers or {})
        if token:
            all_headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=all_headers)
            response = connection.getresponse()
            data = response.read()
            self.last_headers = dict(response.getheaders())
        except http.client.HTTPException as error:
            raise OSError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()
        if response.getheader("Content-Type", "").startswith("application/json"):
            return response.status, json.loads(data)
        return response.status, data

    def query(self, path, **parameters):
        return self.request("GET", path + "?" + urllib.parse.urlencode(parameters))

    def wait_report(self, report_id, deadline_s=30, until=lambda r: r["status"] != "queued"):
        """Poll a report until it is finished; returns it."""
        end = time.monotonic() + deadline_s
        while True:
            status, report = self.request("GET", f"/api/v1/reports/{report_id}")
            if status == 200 and until(report):
                return report
            if time.monotonic() > end:
                raise RuntimeError(f"report {report_id} after {deadline_s} s: {status} {report}")
            time.sleep(0.02)
