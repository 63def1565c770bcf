"""What the tests of channels share: reports that make issues, a server whose calendar moves, receivers."""

import base64
import hashlib
import hmac
import json
import os
import uuid

from case import BINARY, SHIM, FolderCase, until
from clock import Clock
from openapi import DescribedServer as Server
from receivers import HttpReceiver


def signature(secret, headers, body):
    """Standard Webhooks 1.0.0, by nothing of ours."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(base64.b64decode(secret[6:]), signed, hashlib.sha256).digest()).decode()


def crash(function, n=0, version="4.2", user=None, app="Shop"):
    """A report that has its names; `function` makes the issue, n the report."""
    own = {"image": app, "function": function, "address": hex(0x100001000 + 16 * n), "status": "symbolicated"}
    text = f"""Incident Identifier: {uuid.uuid4()}
Hardware Model:      iPhone15,2
Process:             {app} [1]
Path:                /private/var/containers/Bundle/Application/{app}.app/{app}
Identifier:          com.acme.shop
Version:             {version} (421)
Code Type:           ARM-64
OS Version:          iOS 18.1 (22B83)

Exception Type:  EXC_BAD_ACCESS (SIGSEGV)
Triggered by Thread:  0

Thread 0 Crashed:
0   {app}                          \t0x{0x100001000 + 16 * n:016x} {own['function']} + 16 (work.c:{n + 1})
1   {app}                          \t0x{0x100002000:016x} main + 8 (main.c:5)

Binary Images:
0x100000000 - 0x100ffffff {app} arm64 <{uuid.uuid5(uuid.NAMESPACE_URL, app).hex}> /private/var/containers/Bundle/Application/{app}.app/{app}
"""
    return text.encode()


class Channels(FolderCase):
    workers = 1
    args = ("--alert-internal", "127.0.0.1")

    def setUp(self):
        super().setUp()
        # PostgreSQL has the same clock (with_postgresql.sh).
        self.clock = Clock(os.environ.get("CLOCK_SHIM_FILE") or self.path("offset"), SHIM)
        self.server = Server(BINARY, workers=self.workers, args=self.args + self.more_args(), env=self.clock.environment())
        self.addCleanup(self.stop_server)
        self.server.start()

    def stop_server(self):
        code, log = self.server.terminate(), self.server.log()
        self.server.stop()
        # A worker that a sanitizer ends is started again, and nothing else shows it.
        self.assertFalse([line for line in log.splitlines() if "Sanitizer" in line or "runtime error" in line])
        self.assertEqual(code, 0, log[-2000:])

    def more_args(self):
        return ()

    def ahead(self, seconds):
        """Move the calendar of the server and of its database (SQLite)."""
        self.clock.set(seconds)

    def can_move(self):
        if not os.path.isfile(SHIM) or ("FRAMEZERO_TEST_POSTGRESQL" in os.environ) != ("CLOCK_SHIM_FILE" in os.environ):
            self.skipTest("the clock of the database cannot be moved")

    def receiver(self, **how):
        receiver = HttpReceiver(**how)
        self.addCleanup(receiver.close)
        return receiver

    def expect(self, status, method, path, body=None):
        got, answer = self.server.request(method, path, body=None if body is None else json.dumps(body).encode())
        self.assertEqual(got, status, answer)
        return answer

    def channel(self, receiver, kind="webhook", **more):
        return self.expect(201, "POST", "/api/v1/channels",
                           {"kind": kind, "url": f"http://127.0.0.1:{receiver.port}/hook/secret", **more})

    def send(self, body):
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=body)
        self.assertEqual(status, 200, answer)
        return answer["id"]

    def deliveries(self, channel, states=None):
        found = self.expect(200, "GET", f"/api/v1/channels/{channel['id']}/deliveries?limit=200")["deliveries"]
        return [one for one in found if states is None or one["state"] in states]

    def messages(self, receiver, of_type=None):
        found = [json.loads(body) for _, _, body in receiver.requests]
        return [one for one in found if of_type is None or one.get("type") == of_type]

    def wait_messages(self, receiver, n, of_type=None, deadline_s=30):
        until(lambda: len(self.messages(receiver, of_type)) >= n, f"{n} messages {of_type or ''}", deadline_s)
        return self.messages(receiver, of_type)
