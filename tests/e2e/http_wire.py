"""The HTTP side alone (tests/e2e/http_echo.c), spoken to over raw sockets.

    with Echo(binary, header_s=1) as echo:
        wire = echo.connect()
        wire.send(b"GET /items/1 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
        answer = wire.answer()
"""

import json
import re
import socket
import subprocess
import tempfile
import time


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]


class Wire:
    """One connection."""

    def __init__(self, port, timeout=15):
        self.socket = None
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data):
        """False if the other side has hung up."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def answer(self, head=False):
        """The next answer, or None if the connection ended before one."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                return None
        text, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = text.decode("latin-1").split("\r\n")
        status = int(re.fullmatch(r"HTTP/1\.1 (\d\d\d) .*", lines[0]).group(1))
        headers = {}
        for line in lines[1:]:
            name, value = line.split(": ", 1)
            assert name.lower() not in headers, f"{name} twice"
            headers[name.lower()] = value
        if status == 100:
            return Answer(100, headers, b"")
        size = 0 if head else int(headers["content-length"])
        while len(self.buffer) < size:
            if not self.more():
                raise AssertionError(f"the answer ends after {len(self.buffer)} of {size} bytes")
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return Answer(status, headers, body)

    def ended(self, within=5, rest=False):
        """True if the other side ends the connection in time, without further bytes (unless `rest`)."""
        self.socket.settimeout(within)
        try:
            while self.more():
                pass
        except socket.timeout:
            return False
        return rest or self.buffer == b""

    def quiet(self, seconds=0.3):
        """True if nothing comes, and no end."""
        self.socket.settimeout(seconds)
        try:
            self.more()
            return False
        except socket.timeout:
            return True
        finally:
            self.socket.settimeout(15)

    def close(self):
        if self.socket:
            self.socket.close()

    def __del__(self):
        self.close()


class Echo:
    def __init__(self, binary, **limits):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [binary] + [f"{name}={value}" for name, value in limits.items()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.stdin and not self.process.stdin.closed:
            self.stop()
        self.process.kill()
        self.process.stdout.close()
        self.log.close()

    def connect(self):
        return Wire(self.port)

    def ask(self, data, head=False):
        wire = self.connect()
        wire.send(data)
        answer = wire.answer(head)
        wire.close()
        return answer

    def begin_stop(self):
        self.process.stdin.close()

    def stop(self):
        """The orderly end; returns the metrics as {name: value}."""
        if not self.process.stdin.closed:
            self.begin_stop()
        text = self.process.stdout.read()
        code = self.process.wait(60)
        if code != 0:
            raise AssertionError(f"the server ended with {code}:\n{self.log_text()[-3000:]}")
        samples = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in samples}

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def log_lines(self):
        return [line for line in self.log_text().splitlines() if 'msg="request"' in line]

    def rss(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024


def post(path, body=b"", *fields, length=None, host=True):
    """A POST with Content-Length; `length` overrides the true one."""
    lines = [b"POST " + path.encode() + b" HTTP/1.1"]
    if host:
        lines.append(b"Host: a")
    lines.append(b"Content-Length: %d" % (len(body) if length is None else length))
    lines += [field.encode() if isinstance(field, str) else field for field in fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def post_chunked(path, body=b"", *fields, size=1000):
    lines = [b"POST " + path.encode() + b" HTTP/1.1", b"Host: a", b"Transfer-Encoding: chunked"]
    lines += [field.encode() for field in fields]
    pieces = [chunk(body[i:i + size]) for i in range(0, len(body), size)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + b"".join(pieces) + b"0\r\n\r\n"


def get(path, *fields):
    lines = [b"GET " + path.encode() + b" HTTP/1.1", b"Host: a"]
    lines += [field.encode() for field in fields]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def wait_for(condition, within=15):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it does not come")
        time.sleep(0.01)
