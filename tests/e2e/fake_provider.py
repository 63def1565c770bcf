"""An OpenID provider that answers as a test tells it to, also wrongly; with RSA and ECDSA of its own, in plain Python.

    with Provider() as provider:
        provider.claims["email"] = "bob@example.com"      # of the next token
        provider.tamper = lambda token: ...                # the text of the next token
"""

import base64
import hashlib
import hmac
import json
import random
import secrets
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


# ---- RSA: PKCS #1 v1.5 with SHA-256 ----

SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def is_prime(n):
    if any(n % p == 0 for p in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)):
        return False
    d, r = n - 1, 0
    while d % 2 == 0:
        d, r = d // 2, r + 1
    for _ in range(8):
        x = pow(random.randrange(2, n - 1), d, n)
        if x in (1, n - 1):
            continue
        for _ in range(r - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def prime(bits):
    while True:
        n = secrets.randbits(bits) | 3 << (bits - 2) | 1
        if n % 65537 != 1 and is_prime(n):
            return n


class Rsa:
    algorithm = "RS256"

    def __init__(self, kid, bits=2048):
        p, q = prime(bits // 2), prime(bits // 2)
        self.kid, self.n, self.d = kid, p * q, pow(65537, -1, (p - 1) * (q - 1))

    def jwk(self):
        return {"kty": "RSA", "kid": self.kid, "use": "sig", "alg": "RS256", "n": number(self.n), "e": "AQAB"}

    def sign(self, data):
        size = (self.n.bit_length() + 7) // 8
        info = SHA256_INFO + hashlib.sha256(data).digest()
        padded = b"\0\1" + b"\xff" * (size - 3 - len(info)) + b"\0" + info
        return pow(int.from_bytes(padded, "big"), self.d, self.n).to_bytes(size, "big")


# ---- ECDSA on P-256 ----

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    m = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (m * m - a[0] - b[0]) % P
    return x, (m * (a[0] - x) - a[1]) % P


def multiply(k, point):
    result = None
    while k:
        if k & 1:
            result = add(result, point)
        point, k = add(point, point), k >> 1
    return result


class Ec:
    algorithm = "ES256"

    def __init__(self, kid):
        self.kid, self.d = kid, secrets.randbelow(N - 1) + 1
        self.point = multiply(self.d, G)

    def jwk(self):
        x, y = (b64(c.to_bytes(32, "big")) for c in self.point)
        return {"kty": "EC", "kid": self.kid, "use": "sig", "crv": "P-256", "x": x, "y": y}

    def sign(self, data):
        z = int.from_bytes(hashlib.sha256(data).digest(), "big")
        while True:
            k = secrets.randbelow(N - 1) + 1
            r = multiply(k, G)[0] % N
            s = pow(k, -1, N) * (z + r * self.d) % N
            if r and s:
                return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def jwt(header, claims, sign):
    content = b64(json.dumps(header).encode()) + "." + b64(json.dumps(claims).encode())
    return content + "." + b64(sign(content.encode()))


class Provider:
    client_id, secret = "framezero", "s3cret/+&:"

    def __init__(self):
        self.keys, self.signer = [], Ec("first")
        self.keys.append(self.signer)
        self.codes, self.requests, self.answers = {}, [], {}
        self.claims, self.metadata, self.more, self.userinfo = {}, {}, {}, None
        self.header, self.tamper, self.delay_s = {}, lambda token: token, 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                provider.handle(self, b"")

            def do_POST(self):
                provider.handle(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def arguments(self, public_url, *more):
        """Of `framezero serve`."""
        return ["--public-url", public_url, "--oidc-issuer", self.url, "--oidc-client-id", self.client_id,
                "--oidc-client-secret", self.secret, "--oidc-name", "Acme", "--oidc-internal", "127.0.0.1", *more]

    def authorize(self, url, **claims):
        """What a person does there, after the browser was sent to `url`: where the browser is sent back to."""
        parts = urllib.parse.urlsplit(url)
        assert parts.path == "/auth", url
        asked = dict(urllib.parse.parse_qsl(parts.query))
        code = secrets.token_urlsafe(24)
        self.codes[code] = {**asked, "claims": claims}
        self.last_code = code
        return asked["redirect_uri"] + "?" + urllib.parse.urlencode({"code": code, "state": asked["state"], **self.more})

    def token(self, asked):
        now = int(time.time())
        claims = {"iss": self.url, "aud": self.client_id, "sub": "1", "iat": now, "exp": now + 300, "nonce": asked["nonce"],
                  "email": "ann@example.com", "email_verified": True, "name": "Ann", **self.claims, **asked["claims"]}
        header = {"alg": self.signer.algorithm, "kid": self.signer.kid, **self.header}
        claims = {name: value for name, value in claims.items() if value is not None}
        return self.tamper(jwt(header, claims, self.signer.sign))

    def exchange(self, body, headers):
        form = dict(urllib.parse.parse_qsl(body.decode()))
        pair = ":".join(urllib.parse.quote(text, safe="") for text in (self.client_id, self.secret))
        is_client = hmac.compare_digest(headers.get("Authorization", ""), "Basic " + base64.b64encode(pair.encode()).decode())
        asked = self.codes.pop(form.get("code"), None)
        if not is_client:
            return 401, {"error": "invalid_client"}
        if not asked or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if b64(hashlib.sha256(form["code_verifier"].encode()).digest()) != asked["code_challenge"]:
            return 400, {"error": "invalid_grant", "error_description": "PKCE"}
        self.last_token = self.token(asked)
        return 200, {"access_token": "at-" + form["code"], "token_type": "Bearer", "id_token": self.last_token}

    def answer(self, path, body, headers):
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            return 200, {"issuer": self.url, "authorization_endpoint": self.url + "/auth", "token_endpoint": self.url + "/token",
                         "jwks_uri": self.url + "/jwks", "userinfo_endpoint": self.url + "/me",
                         "code_challenge_methods_supported": ["S256"], **self.metadata}
        if path == "/jwks":
            return 200, {"keys": [key.jwk() for key in self.keys]}
        if path == "/token":
            return self.exchange(body, headers)
        if path == "/me" and self.userinfo:
            return 200, self.userinfo
        return 404, {}

    def handle(self, handler, body):
        self.requests.append((handler.command, handler.path, body))
        time.sleep(self.delay_s)
        status, answer = self.answer(handler.path, body, handler.headers)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        handler.send_response(status)
        if status in (301, 302, 303, 307):
            handler.send_header("Location", data.decode())
            data = b""
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        try:
            handler.wfile.write(data)
        except OSError:
            pass  # nobody waits for a long answer
