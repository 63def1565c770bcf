#!/usr/bin/env python3
"""Tokens while an attacker tries many: a valid one always passes, a wrong one counts for the client that sent it."""

import json
import threading
import time
import unittest

from case import BINARY, main, report, until
from framezero import Server


def create(server, scope):
    return server.command("token", "create", "--scope", scope)


class Attacker(threading.Thread):
    """Sends wrong tokens, one after the other, in the header and in the body, until it is stopped."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.over, self.statuses = server, threading.Event(), []

    def run(self):
        n = 0
        while not self.over.wait(0.02):
            n += 1
            self.statuses.append(self.server.request("GET", "/api/v1/reports", token=f"wrong{n}")[0])
            envelope = json.dumps({"dsn": f"http://{n:032x}@localhost/1"}).encode() + b"\n"
            self.statuses.append(self.server.request("POST", "/api/1/envelope/", body=envelope, token=None)[0])

    def wait_for_429(self, within=30):
        end = time.monotonic() + within
        while 429 not in self.statuses:
            assert time.monotonic() < end, self.statuses
            time.sleep(0.01)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


class WhileSomebodyGuesses(unittest.TestCase):
    def test_good_tokens_pass(self):
        with Server(BINARY, workers=0) as server:
            tokens = {scope: create(server, scope) for scope in ("read", "upload")}
            # Two restarts: the server then has no memory of earlier clients.
            for n in range(3):
                with Attacker(server) as attacker:
                    attacker.wait_for_429()
                    for _ in range(5):
                        for _ in range(3):
                            self.assertEqual(server.request("POST", "/api/v1/reports", report(n), token="ingest")[0], 202)
                        self.assertEqual(server.request("GET", "/api/v1/reports", token="admin")[0], 200)
                        self.assertEqual(server.request("GET", "/api/v1/reports", token=tokens["read"])[0], 200)
                        self.assertEqual(server.request("POST", "/api/v1/symbols/known", b'{"uuids":[]}',
                                                        token=tokens["upload"])[0], 200)
                    # A new token, from the address that has sent many wrong ones.
                    self.assertEqual(server.request("GET", "/api/v1/reports", token=create(server, "read"))[0], 200)
                self.assertLessEqual(set(attacker.statuses), {401, 403, 429})
                server.terminate()
                server.start()

    def test_a_key_in_the_body_passes(self):
        with Server(BINARY, workers=0) as server, Attacker(server):
            envelope = json.dumps({"dsn": f"http://{server.ingest_key}@localhost/1"}).encode() + b"\n"
            for _ in range(20):
                self.assertEqual(server.request("POST", "/api/1/envelope/", body=envelope, token=None)[0], 200)

    def test_many_at_once(self):
        """Two hundred wrong tokens in flight do not delay valid ones."""
        with Server(BINARY, workers=0) as server:
            def attack(n):
                for k in range(10):
                    server.request("GET", "/api/v1/reports", token=f"wrong{n}-{k}")
            threads = [threading.Thread(target=attack, args=(n,)) for n in range(20)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self.assertEqual(server.request("GET", "/api/v1/reports", token="admin", timeout=2)[0], 200)
            for thread in threads:
                thread.join()


class Counting(unittest.TestCase):
    def wrong(self, server, client, n):
        headers = {"X-Forwarded-For": client} if client else {}
        return server.request("GET", "/api/v1/reports", token=f"wrong{n}", headers=headers)[0]

    def test_by_real_client(self):
        with Server(BINARY, workers=0, args=["--trusted-proxies", "127.0.0.1", "--limit", "auth_failures=3"]) as server:
            self.assertEqual([self.wrong(server, "198.51.100.1", n) for n in range(5)], [401] * 3 + [429] * 2)
            self.assertGreater(int(server.last_headers["Retry-After"]), 0)
            self.assertEqual(self.wrong(server, "198.51.100.2", 0), 401)
            # IPv6 by /64.
            got = [self.wrong(server, f"2001:db8::{n}", n) for n in range(1, 6)]
            self.assertEqual(got, [401] * 3 + [429] * 2)
            self.assertEqual(self.wrong(server, "2001:db8:0:1::1", 0), 401)
            headers = {"X-Forwarded-For": "198.51.100.1"}
            self.assertEqual(server.request("GET", "/api/v1/reports", token="admin", headers=headers)[0], 200)

    def test_untrusted_header_is_ignored(self):
        with Server(BINARY, workers=0, args=["--limit", "auth_failures=3"]) as server:
            got = [self.wrong(server, f"198.51.100.{n}", n) for n in range(5)]
            self.assertEqual(got, [401] * 3 + [429] * 2)


class Life(unittest.TestCase):
    def test_new_and_revoked(self):
        with Server(BINARY, workers=0, args=["--limit", "auth_failures=1000"]) as server:
            for _ in range(5):
                token = create(server, "read")
                self.assertEqual(server.request("GET", "/api/v1/reports", token=token)[0], 200)
            listed = server.command("token", "list").splitlines()
            server.command("token", "revoke", [line.split()[0] for line in listed if token[:8] in line][-1])
            until(lambda: server.request("GET", "/api/v1/reports", token=token)[0] != 200, "the token is rejected", 3.5)

    def test_new_project(self):
        with Server(BINARY, workers=0) as server:
            server.command("project", "create", "late")
            self.assertEqual(server.request("GET", "/api/v1/reports?project=late")[0], 200)
            self.assertEqual(server.request("GET", "/api/v1/reports?project=never")[0], 404)

    def test_not_in_the_log(self):
        """Keys are parts of paths, and a path without a route is logged."""
        with Server(BINARY, workers=0) as server:
            key, token = server.ingest_key, server.admin_token
            for method in ("GET", "DELETE"):
                for secret in (key, token, key.replace("a", "%61")):
                    for path in (f"/kscrash/{secret}", f"/kscrash/{secret}/x", f"/api/{secret}/no", f"/{'long/' * 15}{secret}"):
                        self.assertIn(server.request(method, path, token=None)[0], (404, 405))
            self.assertEqual(server.request("GET", "/api/v1/unknown", token=None)[0], 404)
            requests = [line for line in server.log().splitlines() if 'msg="request"' in line]
            self.assertEqual(len([line for line in requests if "***" in line]), 24)
            self.assertIn('path="/api/v1/unknown"', "\n".join(requests))
            for line in requests:
                for secret in (key, token):
                    self.assertFalse(any(secret[n:n + 8] in line for n in range(len(secret) - 8)), line)

    def test_long_paths_in_the_log(self):
        """Wherever the log cuts a path: in a part of any length."""
        with Server(BINARY, workers=0) as server:
            before = server.serving_pid
            for part in range(1, 12):
                for shift in range(part + 1):
                    path = "/" + "." * shift + ("/" + "a" * part) * 90
                    self.assertIn(server.request("GET", path, token=None)[0], (404, 414))
            self.assertEqual(server.serving_pid, before)

    def test_scheme_in_any_case(self):
        with Server(BINARY, workers=0) as server:
            for scheme in ("bearer", "BEARER", "Bearer", "bEaReR "):
                headers = {"Authorization": f"{scheme} {server.admin_token}"}
                self.assertEqual(server.request("GET", "/api/v1/reports", token=None, headers=headers)[0], 200, scheme)
            for wrong in ("Basic ", "Bearer", ""):
                headers = {"Authorization": wrong + server.admin_token}
                self.assertEqual(server.request("GET", "/api/v1/reports", token=None, headers=headers)[0], 401, wrong)


if __name__ == "__main__":
    main()
