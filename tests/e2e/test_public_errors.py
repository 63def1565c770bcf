#!/usr/bin/env python3
"""Internal errors stay in the server's log: no response contains a host, a port or a path.

A PostgreSQL that is stopped needs FRAMEZERO_TEST_POSTGRESQL; the rest runs on SQLite.
"""

import json
import os
import shutil
import socket
import threading
import unittest
import urllib.parse

import route_requests
from case import BINARY, SAMPLE, main, until
from framezero import Server, new_database
from symbol_files import sample


class Relay:
    """A TCP port in front of PostgreSQL's socket, so that one database can disappear without the others."""

    def __init__(self, folder, port):
        self.target = os.path.join(folder, f".s.PGSQL.{port}")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                server.close()
                continue
            self.pairs += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    @staticmethod
    def copy(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # otherwise accept() does not return
        self.listener.close()
        for end in self.pairs:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


def wait_log(server, text):
    until(lambda: text in server.log(), f"'{text}' in the log")


class StoppedDatabase(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("FRAMEZERO_TEST_POSTGRESQL"), "needs PostgreSQL")
    def test_stopped(self):
        real = urllib.parse.urlsplit(new_database())
        query = dict(urllib.parse.parse_qsl(real.query))
        relay = Relay(query["host"], real.port or query.get("port", 5432))
        url = f"postgresql://{real.username}@127.0.0.1:{relay.port}{real.path}"
        with Server(BINARY, workers=0, database=url, args=("--upload-wait", "0")) as server:
            requests = route_requests.build(server, SAMPLE)
            relay.stop()
            secrets = (str(relay.port), real.username + "@", real.path[1:], "Connection refused",
                       "connection to server", server.data)
            seen = set()
            for (method, pattern), request in requests.items():
                status, answer = server.request(method, request.path, body=request.body, token=request.token,
                                                headers={**request.headers, "X-Request-Id": f"stopped-{len(seen)}"})
                text = answer.decode(errors="replace") if isinstance(answer, bytes) else json.dumps(answer)
                seen.add(status)
                with self.subTest(method=method, pattern=pattern):
                    for secret in secrets:
                        self.assertNotIn(secret, text)
                        self.assertNotIn(secret, str(server.last_headers))
            self.assertIn(503, seen)
            until(lambda: server.request("GET", "/readyz", token=None)[0] == 503, "the server is not ready")
            status, answer = server.request("GET", "/readyz", token=None)
            self.assertEqual(answer["error"]["message"], "not ready: database: it does not answer")
            status, answer = server.request("POST", "/api/v1/reports", body=requests["POST", "/api/v1/reports"].body,
                                            token="ingest", headers={"X-Request-Id": "find-me"})
            self.assertEqual(status, 503)
            self.assertEqual(server.last_headers["X-Request-Id"], "find-me")
            self.assertIn("Retry-After", server.last_headers)
            self.assertIn("the database ", answer["error"]["message"])
            self.assertEqual(server.request("GET", "/healthz", token=None)[0], 200)
            # Metrics of the process itself are still present.
            metrics = server.request("GET", "/metrics", token=None)[1].decode()
            self.assertIn("process_open_fds", metrics)
            # The operator finds the cause.
            wait_log(server, str(relay.port))


def replace_folder(path):
    """A file instead of the folder, which then cannot be made again. False: it was made meanwhile, as by a worker that starts."""
    shutil.rmtree(path, ignore_errors=True)
    try:
        with open(path, "wb"):
            return True
    except IsADirectoryError:
        return False


class LostFolder(unittest.TestCase):
    def test_no_path(self):
        with Server(BINARY, workers=1) as server:
            body = sample("Demo.dSYM.zip")
            until(lambda: replace_folder(os.path.join(server.data, "blobs")), "the folder is gone")
            form = route_requests.form(("dsym", "Demo.zip", body))
            key = server.admin_token
            for path, sent, headers in (("/api/v1/symbols", body, {}), ("/symbol", form, {
                    **route_requests.FORM, "X-APP-LICENSE-KEY": key}), ("/readyz", None, {}), ("/metrics", None, {})):
                status, answer = server.request("POST" if sent else "GET", path, body=sent,
                                                headers={**headers, "X-Request-Id": "lost-folder"})
                text = answer.decode() if isinstance(answer, bytes) else json.dumps(answer)
                with self.subTest(path=path):
                    self.assertNotIn(server.data, text)
                    self.assertNotIn("Not a directory", text)
                    if sent:
                        self.assertIn(status, (500, 503), text)
            wait_log(server, "lost-folder")


if __name__ == "__main__":
    main()
