"""A node of framezero on a machine of its own, haproxy in front of several, and both together as one server for the ledger.

    nodes = [Node(machine, binary, folder, pair.url, store, workers) ...]
    service = Service(nodes, pair, folder)
    service.start()
    service.request("GET", "/readyz")      through haproxy
"""

import http.client
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

from framezero import Server, free_port, is_alive, send

PORT = 8480
HAPROXY = """
global
    maxconn 2000
    stats socket {folder}/haproxy.sock mode 600
defaults
    mode http
    timeout connect 1s
    timeout client 30s
    timeout server 30s
    timeout check 1s
    option forwardfor
    option redispatch 1
    retries 2
    # A request that no node has got goes to another one, and one that only reads also if its answer was lost.
    retry-on conn-failure empty-response
frontend clients
    bind 127.0.0.1:{port}
    http-request disable-l7-retry unless METH_GET
    default_backend nodes
backend nodes
    balance roundrobin
    option httpchk GET /readyz
    default-server inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


class Node:
    def __init__(self, machine, binary, folder, database, store, workers):
        self.machine, self.workers = machine, workers
        self.data = os.path.join(folder, machine.name)
        os.makedirs(self.data)
        self.log_path = os.path.join(self.data, "serve.log")
        self.clock = os.path.join(self.data, "clock")
        self.set_clock(0)
        self.command = [os.path.abspath(binary), "serve", "--listen", f"{machine.address}:{PORT}", "--data", self.data, "--workers",
                        str(workers), "--database", database, "--blobs", store.blobs("cluster"), "--database-replica", database.replace("read-write", "prefer-standby"), "--trusted-proxies",
                        machine.network.address]
        self.env = {**os.environ, **store.environment(), "FRAMEZERO_USER": "root"}
        self.url = f"http://{machine.address}:{PORT}"
        self.process = None

    def use_clock(self, shim):
        self.env.update({"LD_PRELOAD": os.path.abspath(shim), "CLOCK_SHIM_FILE": self.clock})

    def set_clock(self, seconds):
        with open(self.clock + ".new", "w", encoding="ascii") as f:
            f.write(str(seconds))
        os.replace(self.clock + ".new", self.clock)

    def start(self, wait_s=60):
        with open(self.log_path, "ab") as log:
            self.process = self.machine.spawn(self.command, stdout=log, stderr=log, env=self.env)
        if wait_s:
            self.wait_ready(wait_s)

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url + "/readyz", timeout=2) as answer:
                return answer.status == 200
        except (OSError, http.client.HTTPException):
            return False

    def wait_ready(self, limit_s=60):
        end = time.monotonic() + limit_s
        while not self.is_ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.machine.name}: serve ended with {self.process.returncode}:\n{self.log()[-3000:]}")
            if time.monotonic() > end:
                raise RuntimeError(f"{self.machine.name} was not ready after {limit_s} s:\n{self.log()[-3000:]}")
            time.sleep(0.02)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def kill(self):
        self.machine.kill_all()
        self.process.kill()  # nsenter stops with its child, and would not see it die
        self.process.wait()

    def pids_of(self, command):
        """Its processes that run one sub-command, "serve" or "worker"."""
        found = []
        for pid in self.machine.pids():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
                if words[1:2] == [command.encode()]:
                    found.append(pid)
            except OSError:
                continue
        return found

    def stop(self, limit_s=40):
        """SIGTERM to the supervisor, whose exit code is returned."""
        if not self.process or self.process.poll() is not None:
            return None
        supervisors = self.pids_of("serve")
        send(min(supervisors), signal.SIGTERM) if supervisors else None  # pylint: disable=expression-not-assigned
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return -1


class Service(Server):
    """All nodes through haproxy, with what the ledger and its proof ask of one server."""

    def __init__(self, nodes, pair, folder):  # pylint: disable=super-init-not-called
        self.nodes, self.folder = nodes, folder
        self.database, self.data = pair.url, nodes[0].data
        self.port, self.process, self.credentials, self.last_headers = free_port(), None, None, {}

    def start(self, deadline_s=60):
        # The first one makes the schema and the keys.
        self.nodes[0].start(deadline_s)
        with open(os.path.join(self.data, "credentials.json"), encoding="utf-8") as f:
            self.credentials = json.load(f)
        for node in self.nodes[1:]:
            node.start(wait_s=0)
        for node in self.nodes[1:]:
            node.wait_ready(deadline_s)
        self.start_balancer()
        end = time.monotonic() + deadline_s
        while self.request("GET", "/readyz", token=None)[0] != 200:
            if time.monotonic() > end:
                raise RuntimeError("haproxy finds no node")
            time.sleep(0.05)

    def start_balancer(self):
        path = os.path.join(self.folder, "haproxy.cfg")
        servers = "".join(f"    server {node.machine.name} {node.machine.address}:{PORT} check\n" for node in self.nodes)
        with open(path, "w", encoding="ascii") as f:
            f.write(HAPROXY.format(folder=self.folder, port=self.port, servers=servers))
        with open(os.path.join(self.folder, "haproxy.log"), "ab") as log:
            self.process = subprocess.Popen(["haproxy", "-db", "-f", path], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 10
        while True:
            try:
                return self.request("GET", "/readyz", token=None)
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"haproxy does not serve: {error}") from error
                time.sleep(0.02)

    def terminate(self, deadline_s=40):
        """All nodes by SIGTERM; the first exit code that is not 0."""
        codes = [node.stop(deadline_s) for node in self.nodes]
        if self.process and is_alive(self.process.pid):
            self.process.terminate()
            self.process.wait()
        return next((code for code in codes if code), 0)
