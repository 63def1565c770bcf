"""Receivers of alerts for tests: HTTP (also with TLS), SMTP (with STARTTLS and a login), and certificates."""

import asyncio
import base64
import http.server
import logging
import os
import socket
import ssl
import subprocess
import threading
import unittest


def certificate(folder):
    """A certificate for localhost and 127.0.0.1 that is its own authority; returns its path and that of its key."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    try:
        done = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", cert, "-keyout", key],
            capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        raise unittest.SkipTest("there is no openssl") from None
    assert done.returncode == 0, done.stderr
    return cert, key


def tls_context(pair):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    return context


class HttpReceiver:
    """Records POSTs; answers with `status`, `headers` and `body`, or with `raw` bytes in place of a response."""

    def __init__(self, address="127.0.0.1", port=0, pair=None):
        receiver = self
        self.requests, self.status, self.headers, self.body, self.raw = [], 200, {}, b"", None
        self.n_connections = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self):
                receiver.n_connections += 1
                super().setup()

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.requests.append((self.path, dict(self.headers.items()), body))
                if receiver.raw is not None:
                    for part in receiver.raw:
                        self.wfile.write(part)
                    self.close_connection = True
                    return
                self.send_response(receiver.status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(receiver.body)))
                self.end_headers()
                self.wfile.write(receiver.body)

            do_GET = do_CONNECT = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that has enough of an endless answer, or does not trust the certificate

        self.server = Server((address, port), Handler)
        if pair:
            self.server.socket = tls_context(pair).wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class SmtpReceiver:
    """One SMTP server in a thread: records mails as (sender, recipients, bytes) and every line that came in clear.

    `refuse` maps the start of a command to the reply it gets.
    """

    def __init__(self, pair=None, implicit_tls=False, login=None):
        self.mails, self.clear_lines, self.logins = [], [], []
        self.refuse = {}
        self.pair, self.implicit_tls, self.login = pair, implicit_tls, login
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)

    def _run(self, ready):
        # Python 3.11 and 3.12 warn of each client that ends the connection under TLS.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        asyncio.set_event_loop(self.loop)
        context = tls_context(self.pair) if self.implicit_tls else None
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()
        server.close()
        self.loop.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    async def _serve(self, reader, writer):
        try:
            await self._talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _talk(self, reader, writer):
        encrypted, sender, to = self.implicit_tls, None, []

        def say(*lines):
            for i, line in enumerate(lines):
                writer.write((line[:3] + (" " if i == len(lines) - 1 else "-") + line[4:] + "\r\n").encode())

        async def read():
            line = await reader.readuntil(b"\r\n")
            if not encrypted:
                self.clear_lines.append(line)
            return line

        say("220 test")
        while True:
            line = (await read()).decode("ascii").rstrip("\r\n")
            word = line.upper().split(":")[0].split(" ")[0]
            refused = next((reply for start, reply in self.refuse.items() if line.upper().startswith(start.upper())), None)
            if refused:
                say(refused)
                if refused.startswith("421"):
                    return
            elif word == "EHLO":
                extras = ["250 STARTTLS"] if self.pair and not encrypted else []
                extras += ["250 AUTH PLAIN"] if self.login and encrypted else []
                say("250 test", *extras, "250 SIZE 1000000")
            elif word == "STARTTLS":
                say("220 go on")
                await writer.drain()
                transport = await self.loop.start_tls(writer.transport, writer.transport.get_protocol(),
                                                      tls_context(self.pair), server_side=True)
                reader._transport = writer._transport = transport  # what StreamWriter.start_tls() of 3.11 does
                encrypted = True
            elif word == "AUTH":
                fields = line.split(" ")
                if len(fields) < 3:
                    say("334 ")
                    fields.append((await read()).decode("ascii").strip())
                self.logins.append(tuple(base64.b64decode(fields[2]).decode().split("\0")[1:]))
                say("235 ok" if self.logins[-1] == self.login else "535 wrong password")
            elif word == "MAIL":
                sender, to = line[10:].split(" ")[0], []
                say("250 ok")
            elif word == "RCPT":
                to.append(line[8:])
                say("250 ok")
            elif word == "DATA":
                say("354 go on")
                data = bytearray()
                while (part := await read()) != b".\r\n":
                    data += part[1:] if part.startswith(b".") else part
                self.mails.append((sender, to, bytes(data)))
                say("250 queued")
            elif word == "QUIT":
                say("221 bye")
                return
            else:
                say("502 what?")
