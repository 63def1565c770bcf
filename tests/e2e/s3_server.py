#!/usr/bin/env python3
"""A small object store for tests that starts at once, is strict, and can be told to fail.

It speaks what Amazon's API reference says of the requests that framezero sends: each signature is computed again (AWS Signature
Version 4), each body is compared with the hash that was signed, If-None-Match: * and multipart uploads work. It was written from
that reference and not from framezero's code; the same suite also runs on other people's servers (tests/contract).

As a program: s3_server.py [--port N] prints its URL and serves until its standard input ends. Requests to /-/ control it:

  POST /-/faults    [{"match": "PUT .*", "times": 1, "do": "500"}, …]   see Handler.fail()
  GET  /-/requests  a line for each request since the last time
  POST /-/skew      seconds by which its clock is ahead
  GET  /-/uploads   how many uploads in parts no one ended
  GET  /latest/…    keys of a machine, as the metadata service of EC2 gives them
"""

import argparse
import atexit
import hashlib
import hmac
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import urllib.parse
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

ACCESS, SECRET, REGION, BUCKET = "TESTACCESSKEY", "test/secret+key=", "test-region-1", "blobs"
MACHINE = ("MACHINEKEY", "machine/secret", "machine//token==")
SKEW_S = 15 * 60


def quote(text):
    return urllib.parse.quote(text, safe="-._~")


class Failed(Exception):
    def __init__(self, status, code, message="", more=""):
        super().__init__(code)
        self.status, self.code, self.message, self.more = status, code, message, more


class Store:
    """Objects are files, so that gigabytes need no memory."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="framezero-s3-")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.lock = threading.Lock()
        self.objects, self.uploads = {}, {}
        self.faults, self.log = [], []
        self.n = 0
        self.buckets = {BUCKET}
        self.keys = {ACCESS: (SECRET, ""), MACHINE[0]: MACHINE[1:]}
        self.skew = timedelta(0)

    def path(self):
        with self.lock:
            self.n += 1
            return os.path.join(self.folder, str(self.n))

    def now(self):
        return datetime.now(timezone.utc) + self.skew


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    @property
    def store(self):
        return self.server.store

    # ---- answers ----

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + self.store.skew.total_seconds())

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def xml(self, text, status=200):
        self.answer(status, ('<?xml version="1.0" encoding="UTF-8"?>\n' + text).encode(), Content_Type="application/xml")

    def fail(self, do):
        """A fault: a status, or one of the words."""
        if do.isdigit():
            names = {"403": "AccessDenied", "404": "NoSuchKey", "409": "ConditionalRequestConflict", "501": "NotImplemented", "503": "SlowDown"}
            raise Failed(int(do), names.get(do, "InternalError"), "told to fail")
        if do == "close":  # nothing was done and there is no answer
            self.close_connection = True
            return True
        if do.startswith("stall"):
            time.sleep(float(do[5:]))
            return False
        self.fault = do  # "cut" and "corrupt" a body, "lose" the answer, "error200", "plus" in the id of an upload, "half" of a size
        return False

    # ---- who and what was signed ----

    def check_signature(self):
        auth = self.headers.get("Authorization", "")
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
                             r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})", auth)
        if not found:
            raise Failed(403, "AccessDenied", "no signature")
        access, day, region, signed, signature = found.groups()
        stamp, names = self.headers.get("x-amz-date", ""), signed.split(";")
        if access not in self.store.keys:
            raise Failed(403, "InvalidAccessKeyId", "no such key")
        secret, token = self.store.keys[access]
        if token and self.headers.get("x-amz-security-token") != token:
            raise Failed(400, "InvalidToken", "the token is not that of the key")
        if region != REGION:
            raise Failed(400, "AuthorizationHeaderMalformed", f"the region '{region}' is wrong", f"<Region>{REGION}</Region>")
        needed = {"host", "x-amz-date", "x-amz-content-sha256"} | {n.lower() for n in self.headers if n.lower().startswith("x-amz-")}
        if not needed <= set(names) or names != sorted(names):
            raise Failed(403, "AccessDenied", f"headers were not signed: {needed - set(names)}")
        sent = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        if abs((sent - self.store.now()).total_seconds()) > SKEW_S or not stamp.startswith(day):
            raise Failed(403, "RequestTimeTooSkewed", "the clocks differ")
        path, _, query = self.path.partition("?")
        pairs = [p.partition("=")[::2] for p in query.split("&") if p]
        query = "&".join(sorted(f"{quote(urllib.parse.unquote(n))}={quote(urllib.parse.unquote(v))}" for n, v in pairs))
        canonical = "\n".join([self.command, urllib.parse.quote(urllib.parse.unquote(path), safe="/-._~"), query,
                               *(f"{n}:{' '.join(self.headers[n].split())}" for n in names), "", signed,
                               self.headers["x-amz-content-sha256"]])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, f"{day}/{region}/s3/aws4_request", hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + secret).encode()
        for part in (day, region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), signature):
            raise Failed(403, "SignatureDoesNotMatch", "the signature is another one")

    def read_body(self):
        """Into a file; its path and MD5."""
        left, sha256, md5, path = int(self.headers.get("Content-Length", 0)), hashlib.sha256(), hashlib.md5(), self.store.path()
        with open(path, "wb") as f:
            while left:
                piece = self.rfile.read(min(left, 1 << 20))
                if not piece:
                    self.close_connection = True
                    raise Failed(400, "IncompleteBody")
                f.write(piece)
                sha256.update(piece)
                md5.update(piece)
                left -= len(piece)
        if sha256.hexdigest() != self.headers.get("x-amz-content-sha256"):
            raise Failed(400, "XAmzContentSHA256Mismatch", "the body has another hash than was signed")
        return path, md5.hexdigest()

    # ---- requests ----

    def handle_any(self):
        self.fault = ""
        try:
            if self.path.startswith(("/-/", "/latest/")):
                return self.control()
            with self.store.lock:
                self.store.log.append(f"{self.command} {self.path} {self.headers.get('Range', '')}")
                fault = next((f for f in self.store.faults if f["times"] > 0 and re.match(f["match"], f"{self.command} {self.path}")), None)
                if fault:
                    fault["times"] -= 1
            if fault and self.fail(fault["do"]):
                return None
            self.check_signature()
            bucket, _, self.key = urllib.parse.unquote(self.path.partition("?")[0])[1:].partition("/")
            if bucket not in self.store.buckets:
                raise Failed(404, "NoSuchBucket", "no such bucket")
            self.query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))
            if self.fault == "error200":
                self.read_body()
                return self.xml("<Error><Code>InternalError</Code><Message>told to fail</Message></Error>")
            return getattr(self, "do_" + self.command.lower() + ("_key" if self.key else "_bucket"))()
        except Failed as e:
            # What is left of a body would be taken for the next request.
            if self.headers.get("Content-Length", "0") != "0":
                self.close_connection = True
            return self.xml(f"<Error><Code>{e.code}</Code><Message>{escape(e.message)}</Message>{e.more}</Error>", e.status)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    def done(self, status, **headers):
        if self.fault == "lose":
            self.close_connection = True
        else:
            self.answer(status, **headers)

    def refuse_existing(self):
        if self.headers.get("If-None-Match") == "*" and self.key in self.store.objects:
            raise Failed(412, "PreconditionFailed", "it is there")

    def keep(self, path, etag):
        with self.store.lock:
            self.refuse_existing()
            self.store.objects[self.key] = {"path": path, "etag": etag, "at": self.store.now(), "size": os.path.getsize(path)}

    def do_put_key(self):
        path, md5 = self.read_body()
        if "uploadId" in self.query:
            self.upload()["parts"][int(self.query["partNumber"])] = (path, md5)
            return self.done(200, ETag=f'"{md5}"')
        self.keep(path, md5)
        return self.done(200, ETag=f'"{md5}"')

    def found(self):
        if self.key not in self.store.objects:
            raise Failed(404, "NoSuchKey", "no such key")
        return self.store.objects[self.key]

    def do_head_key(self):
        found = self.found()
        self.send_response(200)
        self.send_header("ETag", f'"{found["etag"]}"')
        # As of a store that shows what it is still joining.
        self.send_header("Content-Length", str(found["size"] // 2 if self.fault == "half" else found["size"]))
        self.end_headers()

    def do_get_key(self):
        found = self.found()
        start = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(start.group(1)) if start else 0
        left = found["size"] - start
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{found['size'] - 1}/{found['size']}")
        self.send_header("Content-Length", str(left))
        self.end_headers()
        if self.fault == "cut":
            left //= 2
            self.close_connection = True
        with open(found["path"], "rb") as f:
            f.seek(start)
            while left:
                piece = f.read(min(left, 1 << 20))
                left -= len(piece)
                if self.fault == "corrupt":
                    piece = bytes([piece[0] ^ 1]) + piece[1:]
                self.wfile.write(piece)

    def do_delete_key(self):
        if "uploadId" in self.query:
            self.upload()
            del self.store.uploads[self.query["uploadId"]]
        else:
            self.store.objects.pop(self.key, None)
        self.done(204)

    # ---- uploads in parts ----

    def upload(self):
        found = self.store.uploads.get(self.query.get("uploadId", ""))
        if not found or found["key"] != self.key:
            raise Failed(404, "NoSuchUpload", "no such upload")
        return found

    def do_post_key(self):
        if "uploads" in self.query:
            self.read_body()
            # Characters that have to be encoded in a query.
            upload_id = f"2~{os.urandom(8).hex()}/==" + "+" * (self.fault == "plus")
            self.store.uploads[upload_id] = {"key": self.key, "parts": {}, "at": self.store.now()}
            return self.xml(f"<InitiateMultipartUploadResult><UploadId>{escape(upload_id)}</UploadId></InitiateMultipartUploadResult>")
        upload, (path, _) = self.upload(), self.read_body()
        with open(path, encoding="utf-8") as f:
            asked = re.findall(r"<Part><PartNumber>(\d+)</PartNumber><ETag>&quot;(\w+)&quot;</ETag></Part>", f.read())
        if [int(n) for n, _ in asked] != sorted(upload["parts"]) or any(upload["parts"][int(n)][1] != etag for n, etag in asked):
            raise Failed(400, "InvalidPart", "not the parts that were sent")
        parts = [upload["parts"][int(n)][0] for n, _ in asked]
        if any(os.path.getsize(p) < 5 << 20 for p in parts[:-1]):
            raise Failed(400, "EntityTooSmall", "a part has 5 MiB at least")
        joined = self.store.path()
        with open(joined, "wb") as to:
            for part in parts:
                with open(part, "rb") as f:
                    shutil.copyfileobj(f, to, 1 << 20)
                os.unlink(part)
        etag = hashlib.md5(b"".join(bytes.fromhex(e) for _, e in asked)).hexdigest() + f"-{len(parts)}"
        self.keep(joined, etag)
        self.store.uploads.pop(self.query["uploadId"], None)
        if self.fault == "lose":
            self.close_connection = True
            return None
        return self.xml(f"<CompleteMultipartUploadResult><ETag>&quot;{etag}&quot;</ETag></CompleteMultipartUploadResult>")

    # ---- lists ----

    def do_get_bucket(self):
        prefix = self.query.get("prefix", "")
        if "uploads" in self.query:
            items = "".join(f"<Upload><Key>{escape(u['key'])}</Key><UploadId>{escape(i)}</UploadId>"
                            f"<Initiated>{u['at']:%Y-%m-%dT%H:%M:%S.000Z}</Initiated></Upload>"
                            for i, u in self.store.uploads.items() if u["key"].startswith(prefix))
            return self.xml(f"<ListMultipartUploadsResult>{items}</ListMultipartUploadsResult>")
        if self.query.get("list-type") != "2":
            raise Failed(501, "NotImplemented", "only lists of type 2")
        with self.store.lock:
            objects = dict(self.store.objects)
        keys = [k for k in sorted(objects) if k.startswith(prefix) and k > self.query.get("start-after", "")]
        n = min(int(self.query.get("max-keys", 1000)), 1000, self.server.page)
        items = "".join(f"<Contents><Key>{escape(k)}</Key><LastModified>{objects[k]['at']:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
                        f"<Size>{objects[k]['size']}</Size></Contents>" for k in keys[:n])
        return self.xml(f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{BUCKET}</Name>'
                        f"<IsTruncated>{'true' if len(keys) > n else 'false'}</IsTruncated>{items}</ListBucketResult>")

    # ---- control ----

    def control(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/-/faults":
            faults = json.loads(body)
            for f in faults:
                f.setdefault("times", 1)
            self.store.faults = faults
            return self.answer(200)
        if self.path == "/-/requests":
            with self.store.lock:
                log, self.store.log = self.store.log, []
            return self.answer(200, "".join(line + "\n" for line in log).encode())
        if self.path == "/-/skew":
            self.store.skew = timedelta(seconds=int(body))
            return self.answer(200)
        if self.path == "/-/uploads":
            return self.answer(200, str(len(self.store.uploads)).encode())
        if self.path == "/latest/api/token" and self.command == "PUT":
            return self.answer(200, b"TOKEN" if "X-aws-ec2-metadata-token-ttl-seconds" in self.headers else b"")
        roles = "/latest/meta-data/iam/security-credentials/"
        if not self.path.startswith(roles) or self.headers.get("X-aws-ec2-metadata-token") != "TOKEN":
            return self.answer(401)
        if self.path == roles:
            return self.answer(200, b"a-role")
        ends = datetime.now(timezone.utc) + timedelta(hours=1)
        return self.answer(200, json.dumps({"Code": "Success", "AccessKeyId": MACHINE[0], "SecretAccessKey": MACHINE[1],
                                            "Token": MACHINE[2], "Expiration": f"{ends:%Y-%m-%dT%H:%M:%SZ}"}).encode())


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port=0, store=None, page=1000, host="127.0.0.1", tls=None):
        """tls: a server context; the handshake is part of a connection's own thread."""
        super().__init__((host, port), Handler)
        self.store, self.page = store or Store(), page
        self.port = self.server_address[1]
        self.url = f"http{'s' if tls else ''}://{host}:{self.port}"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.connections = set()

    def handle_error(self, request, client_address):
        pass  # a client that went away

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def close_request(self, request):
        self.connections.discard(request)
        super().close_request(request)

    def start(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def kill(self):
        """As if the process ended: nothing listens, and connections break."""
        self.shutdown()
        self.server_close()
        for request in list(self.connections):
            try:
                request.shutdown(2)
            except OSError:
                pass

    def blobs(self, prefix="", **more):
        query = {"endpoint": self.url, "region": REGION, "path_style": "1", **more}
        return f"s3://{BUCKET}/{prefix}?" + "&".join(f"{k}={v}" for k, v in query.items())


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--page", type=int, default=1000, help="keys in one page of a list, at most")
    chosen = options.parse_args()
    server = Server(chosen.port, page=chosen.page).start()
    print(server.url, flush=True)
    sys.stdin.read()
    server.kill()


if __name__ == "__main__":
    main()
