#!/usr/bin/env python3
"""What docs/operations gives to operators, tried with Debian's programs: `./dev operations-test`.

nginx and Caddy, with the files of docs/operations in which only names, ports and certificates are replaced, stand before a
server: events come while they are made, a body as large as the limit passes without a copy on the proxy's disk, the client's
address is the one that the proxy has seen, Retry-After arrives, and strangers do not read /metrics. promtool checks the
rules, their own tests, and what /metrics prints. The programs are in a Debian in a folder, so nothing is installed or
started on this machine. Needs root.
"""
import argparse
import http.client
import json
import os
import re
import shutil
import ssl
import stat
import subprocess
import sys
import time

from root import SOURCE, Root, base, codename, run, say, until

sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e"))
from framezero import Server, free_port  # noqa: E402

FILES = os.path.join(SOURCE, "docs", "operations")
CLAIMED = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9", "X-Real-IP": "203.0.113.9"}


def replaced(name, *pairs):
    """The file of docs/operations with each of `pairs` replaced, all of which it must contain."""
    with open(os.path.join(FILES, name), encoding="utf-8") as file:
        text = file.read()
    for old, new in pairs:
        assert old in text, f"{name} has no {old!r}"
        text = text.replace(old, new)
    return text


class Proxy:
    """One proxy, which listens on a free port of 127.0.0.1."""

    def __init__(self, root, server, address):
        self.root, self.server, self.port, self.plain_port = root, server, free_port(), free_port()
        self.address = address  # of the clients
        self.context = ssl.create_default_context(cafile=root.inside("/tls.pem"))
        with open(root.inside("/proxy.conf"), "w", encoding="utf-8") as file:
            file.write(self.configuration())
        root.start(root.command(*self.program, network=True), root.path + ".log", lambda pid: True)
        until(lambda: self.request("GET", "/healthz")[0] == 200, "the proxy passes a request")

    def connection(self):
        return http.client.HTTPSConnection("localhost", self.port, timeout=600, context=self.context,
                                           source_address=(self.address, 0))

    def request(self, method, path, body=None, token=None, headers=None, **more):
        connection = self.connection()
        headers = {**(headers or {}), **({"Authorization": "Bearer " + token} if token else {})}
        try:
            connection.request(method, path, body, headers, **more)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        except ConnectionError as error:
            return 0, {}, str(error).encode()
        finally:
            connection.close()


class Nginx(Proxy):
    program = ("nginx", "-c", "/proxy.conf")

    def configuration(self):
        site = replaced("nginx.conf", ("listen 80;", f"listen 127.0.0.1:{self.plain_port};"),
                        ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"), ("127.0.0.1:8480", f"127.0.0.1:{self.server.port}"),
                        ("/etc/ssl/certs/crashes.example.com.pem", "/tls.pem"),
                        ("/etc/ssl/private/crashes.example.com.key", "/tls.key"))
        return f"daemon off;\nerror_log stderr;\npid /nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{site}}}\n"


class Caddy(Proxy):
    program = ("caddy", "run", "--adapter", "caddyfile", "--config", "/proxy.conf")

    def configuration(self):
        site = replaced("Caddyfile", ("crashes.example.com {", f"https://localhost:{self.port} {{\n\ttls /tls.pem /tls.key"),
                        ("127.0.0.1:8480", f"127.0.0.1:{self.server.port}"))
        return "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + site


def check_events(proxy):
    """An event arrives while the stream is open."""
    stream = proxy.connection()
    stream.request("GET", "/api/v1/events?seconds=60", headers={"Authorization": "Bearer " + proxy.server.admin_token})
    answer = stream.getresponse()
    assert answer.status == 200, answer.read()
    body = json.dumps({"framezero": 1, "addresses": [hex(proxy.port << 8)]})
    sent = time.monotonic()
    status, _, told = proxy.request("POST", "/api/v1/reports", body, proxy.server.ingest_key)
    assert status == 202, told
    seen = b""
    while json.loads(told)["id"].encode() not in seen:
        part = answer.read1(65536)
        assert part, f"the stream ended: {seen}"
        seen += part
    stream.close()
    say(f"   an event after {(time.monotonic() - sent) * 1000:.0f} ms")


def large_files(root):
    """What the processes inside have open that is a file of more than a megabyte, also one without a name."""
    found = []
    for pid in root.pids(""):
        for number in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{number}"
            try:
                status = os.stat(path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_size > 1 << 20:
                found.append(os.readlink(path))
    return found


def check_large(proxy, size):
    """As much as symbol_bytes allows; what framezero answers to zeros, and not what a proxy says."""
    copies = []

    def zeros():
        block, left = bytes(1 << 20), size
        while left:
            if left <= len(block):
                copies.extend(large_files(proxy.root))
            yield block[:left]
            left -= min(left, len(block))

    start = time.monotonic()
    status, _, answer = proxy.request("POST", "/api/v1/symbols", zeros(), proxy.server.admin_token, {"Content-Length": str(size)})
    assert status in (200, 202, 400, 415, 422), (status, answer)
    assert isinstance(json.loads(answer), dict), answer
    line = [line for line in proxy.server.log().splitlines() if "route=symbol_post" in line][-1]
    assert int(re.search(r" in=(\d+)", line)[1]) >= size, line
    assert not copies, f"copies on the proxy's disk: {copies}"
    say(f"   {size / 1e9:.1f} GB in {time.monotonic() - start:.0f} s, status {status}, no copy on the proxy's disk")


def check_address(proxy):
    """The address that is logged, and limited, is the client's own."""
    for n in range(20):
        status, headers, _ = proxy.request("GET", "/api/v1/reports", token=f"wrong{n}", headers=CLAIMED)
        if status == 429:
            break
    assert status == 429 and int(headers["Retry-After"]) > 0, (status, headers)
    lines = [line for line in proxy.server.log().splitlines() if "status=429" in line]
    assert f"={proxy.address}" in lines[-1], lines[-1]
    assert "203.0.113.9" not in proxy.server.log()
    status, _, _ = proxy.request("GET", "/api/v1/reports", token=proxy.server.admin_token)
    assert status == 200, status
    say(f"   429 with Retry-After: {headers['Retry-After']}, for {proxy.address}")


def check_proxy(kind, archive, server, size, address):
    with Root(archive) as root:
        shutil.copytree(os.path.join(server.data, "tls"), root.path, dirs_exist_ok=True)
        say(f"{kind.__name__}: {root.run('sh', '-c', 'nginx -v 2>&1' if kind is Nginx else 'caddy version').strip()}")
        proxy = kind(root, server, address)
        status, headers, _ = proxy.request("GET", "/")
        assert status == 200 and "Strict-Transport-Security" in headers, (status, headers)
        assert proxy.request("GET", "/metrics")[0] == 403
        check_events(proxy)
        check_address(proxy)
        check_large(proxy, size)
        root.end()


def check_rules(archive, server):
    with Root(archive) as root:
        shutil.copytree(FILES, root.inside("/docs/operations"))
        os.makedirs(root.inside("/tests/package"))
        shutil.copy(os.path.join(SOURCE, "tests", "package", "prometheus_rules_test.yml"), root.inside("/tests/package/"))
        told = root.run("promtool", "check", "rules", "/docs/operations/prometheus-rules.yml")
        say("promtool check rules: " + re.search(r"\d+ rules found", told)[0])
        root.run("promtool", "test", "rules", "/tests/package/prometheus_rules_test.yml")
        say("promtool test rules: passed")
        with open(os.path.join(FILES, "prometheus-rules.yml"), encoding="utf-8") as file:
            alerts = re.findall(r"- alert: (\w+)", file.read())
        with open(os.path.join(SOURCE, "tests", "package", "prometheus_rules_test.yml"), encoding="utf-8") as file:
            tested = file.read()
        for alert in alerts:
            assert f"alertname: {alert}\n" in tested, f"{alert} has no test"
        metrics = server.request("GET", "/metrics", token=None)[1]
        with open(root.inside("/metrics.txt"), "wb") as file:
            file.write(metrics)
        root.run("sh", "-c", "promtool check metrics </metrics.txt")
        say("promtool check metrics: passed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framezero", required=True)
    parser.add_argument("--gigabytes", type=float, default=4.0, help="size of the large upload, at most 4")
    options = parser.parse_args()
    archive = base(codename(), "operations", "minbase", ("nginx-light", "caddy", "prometheus"))
    size = min(int(options.gigabytes * (1 << 30)), 4 << 30)
    with Server(os.path.abspath(options.framezero), workers=1, args=("--trusted-proxies", "127.0.0.1")) as server:
        tls = os.path.join(server.data, "tls")
        os.mkdir(tls)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{tls}/tls.key",
                        "-out", f"{tls}/tls.pem"], check=True, capture_output=True)
        os.chmod(f"{tls}/tls.key", 0o644)
        check_proxy(Nginx, archive, server, size, "127.0.0.3")
        check_proxy(Caddy, archive, server, size, "127.0.0.4")
        check_rules(archive, server)
    print("operations-test: passed")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("operations-test: needs root")
    main()
