#!/usr/bin/env python3
"""Symbol uploaders of other products: their requests, made with curl as their scripts make them, and datadog-ci itself.

A table at the end shows what ran, and the results.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import warnings
import zipfile

import clients
import symbol_files
from case import BINARY, CLIENTS, FolderCase, main
from framezero import Server

LATE_TOKEN_BYTES = 64 * 1024
TABLE = {}

# name, the file's part and its contents, other curl arguments, status, exact answer (None: any).
# TOKEN, UUID (32 hex) and DASHED are replaced.
REQUESTS = [
    ("Datadog", "symbols_archive=@zip;filename=ios_symbols_archive;type=application/zip",
     ["-H", "DD-API-KEY: TOKEN", "-H", "DD-EVP-ORIGIN: datadog-ci_dsyms", "-F",
      'event={"type":"ios_symbols","uuids":"DASHED"};filename=event;type=application/json', "/api/v2/srcmap"], 202, None),
    ("Bugsnag", "dsym=@macho;filename=Demo", ["-F", 'projectRoot="/src"', "-F", "apiKey=TOKEN", "/dsym"], 200, b"OK"),
    ("Bugsnag, key in the URL", "dsym=@macho;filename=Demo", ["-F", "projectRoot=/src", "/dsym?key=TOKEN"], 200, b"OK"),
    ("Bugsnag, fat", "dsym=@fat;filename=Demo", ["-F", "apiKey=TOKEN", "/dsym"], 200, b"OK"),
    ("Countly", "symbols=@zip", ["/i/crash_symbols/upload_symbol?platform=ios&epn=iphoneos&app_key=TOKEN&build=DASHED"],
     200, b'{"result":"Success"}'),
    ("Bugfender", "file=@zip;filename=dSYMs.zip",
     ["-H", "Authorization: Bearer TOKEN", "-F", "version=1.0", "-F", "build=1", "/api/upload-symbols"], 200, None),
    ("New Relic", "dsym=@zip",
     ["-H", "X-APP-LICENSE-KEY:TOKEN", "-F", "buildId=UUID", "-F", "appName=Demo", "/symbol"], 201, None),
    ("Instabug/Luciq", "symbols_file=@zip",
     ["-F", "os=ios", "-F", "application_token=TOKEN", "/api/sdk/v3/symbols_files"], 200, None),
    ("Raygun", "DsymFile=@zip", ["/dashboard/abc123/settings/symbols?authToken=TOKEN"], 200, None),
    ("Splunk MINT", "file=@zip",
     ["-H", "X-Splunk-Mint-Auth-Token: TOKEN", "-H", "X-Splunk-Mint-apikey: x", "/api/v1/dsyms/upload"], 200, None),
    ("gzip of a Mach-O", "dsym=@gzip;filename=Demo.gz", ["-H", "X-APP-LICENSE-KEY: TOKEN", "/symbol"], 201, None),
    ("Chunked body", "dsym=@zip", ["-H", "X-APP-LICENSE-KEY: TOKEN", "-H", "Transfer-Encoding: chunked", "/symbol"], 201,
     None),
]


class WithServer(FolderCase):
    def setUp(self):
        super().setUp()
        self.server = Server(BINARY, args=["--limit", f"late_token_bytes={LATE_TOKEN_BYTES}"])
        self.server.start()
        self.addCleanup(self.server.stop)
        self.token = self.server.command("token", "create", "--scope", "upload")

    def files(self, number):
        """The sample under a UUID of its own: Mach-O, fat and zip."""
        macho = bytearray(symbol_files.sample_macho())
        macho[symbol_files.macho_uuid(macho)] = number
        macho = bytes(macho)
        bundle = symbol_files.make_dsym(os.path.join(self.folder, str(number)), "Demo", macho)
        return symbol_files.uuid_of(macho), {"macho": macho, "zip": symbol_files.zip_folder(bundle),
                                        "fat": symbol_files.fat(macho, symbol_files.as_x86_64(macho)),
                                        "gzip": gzip.compress(macho)}

    def curl(self, part, arguments, uuid, contents, token):
        kind = re.search(r"@(\w+)", part)[1]
        path = symbol_files.write(os.path.join(self.folder, f"upload.{kind}"), contents[kind])
        words = {"TOKEN": token, "DASHED": symbol_files.dashed(uuid).upper(), "UUID": uuid}
        arguments = [re.sub("TOKEN|DASHED|UUID", lambda m: words[m[0]], a) for a in arguments]
        form = part.replace(f"@{kind}", f"@{path}")
        done = subprocess.run(
            ["curl", "-sS", "-w", "%{stderr}%{http_code}", "-F", form, *arguments[:-1], self.server.url + arguments[-1]],
            capture_output=True, timeout=120)
        return int(done.stderr[-3:] or 0), done.stdout

    def ready(self):
        """UUIDs of images whose symbols are ready; symbol maps are listed beside them."""
        return {s["uuid"] for s in self.server.request("GET", "/api/v1/symbols")[1]["symbols"]
                if s["state"] == "ready" and s["kind"] in ("dsym", "binary")}


class Curl(WithServer):
    def test_requests(self):
        for number, (name, part, arguments, status, answer) in enumerate(REQUESTS, 1):
            with self.subTest(uploader=name):
                TABLE[name] = "FAILED"
                uuid, contents = self.files(number)
                got = self.curl(part, arguments, uuid, contents, self.token)
                self.assertEqual(got[0], status, got)
                if answer is not None:
                    self.assertEqual(got[1], answer)
                self.assertNotIn(b"error", got[1])
                self.assertIn(uuid, self.ready())
                TABLE[name] = "ok"

    def test_names(self):
        """A report that came first gets its names from what any of them sends."""
        queued = self.server.request("POST", "/api/v1/reports", body=symbol_files.sample("report.json"), token="ingest")[1]
        name, part, arguments, status, _ = REQUESTS[4]
        contents = {"zip": symbol_files.sample("Demo.dSYM.zip")}
        uuid = symbol_files.uuid_of(symbol_files.sample_macho())
        self.assertEqual(self.curl(part, arguments, uuid, contents, self.token)[0], status)
        report = self.server.wait_report(queued["id"], until=lambda r: r["status"] == "symbolicated")
        self.assertTrue(all(f["symbols"] for f in report["threads"][0]["frames"]))

    def test_who_may(self):
        """No token, a wrong one, one without the scope, another project's."""
        self.server.command("project", "create", "other")
        tokens = {"none": ("", 401), "wrong": ("fz_" + "A" * 43, 401),
                  "scope": (self.server.command("token", "create", "--scope", "read"), 403)}
        uuid, contents = self.files(77)
        for name, part, arguments, _, _ in REQUESTS:
            for what, (token, status) in tokens.items():
                with self.subTest(uploader=name, token=what):
                    if what == "wrong" and name not in ("Datadog", "Bugsnag", "Raygun"):
                        continue  # too many wrong tokens
                    self.assertEqual(self.curl(part, arguments, uuid, contents, token)[0], status)
        self.assertEqual(self.ready(), set())
        token = self.server.command("token", "create", "--scope", "upload", "--project", "other")
        for name, part, arguments, status, _ in REQUESTS[:3]:
            self.assertEqual(self.curl(part, arguments, uuid, contents, token)[0], status)
        self.assertEqual(self.ready(), set())
        answer = self.server.request("GET", "/api/v1/symbols?project=other")[1]
        self.assertEqual({s["uuid"] for s in answer["symbols"]}, {uuid})

    def test_late_token(self):
        """Before anybody is known only a small body is taken in."""
        uuid, contents = self.files(1)
        large = {"macho": contents["macho"] + b"\0" * LATE_TOKEN_BYTES}
        name, part, late, status, _ = REQUESTS[1]
        self.assertEqual(self.curl(part, late, uuid, large, self.token)[0], 413)
        name, part, early, status, _ = REQUESTS[2]
        self.assertEqual(self.curl(part, early, uuid, large, self.token)[0], status)
        # For a compressed body the inflated size counts.
        body = gzip.compress(b"x" * (LATE_TOKEN_BYTES + 1))
        self.assertLess(len(body), LATE_TOKEN_BYTES)
        got = self.server.request("POST", "/dsym", body=body, token=None,
                                  headers={"Content-Encoding": "gzip", "Content-Type": "multipart/form-data; boundary=x"})
        self.assertEqual(got[0], 413)

    def test_rejected(self):
        """A file without symbols is a bad request, so that clients do not send it again."""
        for name, part, arguments, _, _ in REQUESTS[:2]:
            kind = re.search(r"@(\w+)", part)[1]
            status, answer = self.curl(part, arguments, "0" * 32, {kind: b"just a text\n" * 99}, self.token)
            self.assertEqual(status, 400)
            self.assertIn("no symbol file", json.loads(answer)["error"]["message"])
        header = {"Content-Type": "multipart/form-data; boundary=x", "X-APP-LICENSE-KEY": self.token}
        for body in (b"", b"--x--", b"--x\r\n\r\nabc", b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--"):
            self.assertEqual(self.server.request("POST", "/symbol", body=body, token=None, headers=header)[0], 400, body)


class Captured(WithServer):
    """Requests as they were once sent, byte by byte but for the key."""

    def replay(self, folder, old):
        path = symbol_files.corpus("clients", folder, "001.req")
        if not path:
            self.skipTest("no corpus (FRAMEZERO_CORPUS)")
        with open(path, "rb") as f:
            head, _, body = f.read().partition(b"\r\n\r\n")
        self.assertIn(old, head + body)
        head, body = head.replace(old, self.token.encode()), body.replace(old, self.token.encode())
        head = re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % len(body), head)
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as s:
            s.sendall(head + b"\r\n\r\n" + body)
            answer = s.recv(65536)
        status = int(answer.split()[1])
        TABLE["captured: " + folder] = f"{status}"
        self.assertEqual(self.ready(), {"4c4c445b55553144a12988beb9d5eb60", "4c4c445055553144a185388e9cce3047"})
        return status

    def test_instabug(self):
        self.assertEqual(self.replay("emulated-instabug-luciq", b"0123456789abcdef0123456789abcdef"), 200)

    def test_new_relic(self):
        self.assertEqual(self.replay("emulated-newrelic-symbol", b"AA0123456789"), 201)

    def test_raygun(self):
        self.assertEqual(self.replay("emulated-raygun", b"authToken=tok".partition(b"=")[2]), 200)


class Datadog(WithServer):
    def test_datadog_ci(self):
        TABLE["datadog-ci 5"] = "not installed"
        node = shutil.which("node")
        if not node:
            self.skipTest("no node")
        home = clients.npm(CLIENTS, "@datadog/datadog-ci@5")
        program = os.path.join(home, "node_modules", "@datadog", "datadog-ci", "dist", "bundle.js")
        tools = os.path.join(self.folder, "tools")
        for name in ("dwarfdump", "lipo"):  # Apple's tools; LLVM has equivalents
            real = next((p for v in ("", "-19", "-18", "-17", "-16", "-15", "-14")
                         if (p := shutil.which(f"llvm-{name}{v}"))), None)
            if not real:
                self.skipTest(f"no llvm-{name}")
            os.chmod(symbol_files.write(os.path.join(tools, name), f'#!/bin/sh\nexec {real} "$@"\n'.encode()), 0o755)
        archive, uuids = symbol_files.make_xcarchive(self.folder)
        env = {"PATH": tools + ":" + os.environ["PATH"], "HOME": self.folder, "DATADOG_API_KEY": self.token,
               "DATADOG_DSYM_INTAKE_URL": self.server.url, "DATADOG_SITE": "localhost"}
        done = subprocess.run([node, program, "dsyms", "upload", archive], capture_output=True, text=True, timeout=240,
                              env=env)
        TABLE["datadog-ci 5"] = "ok" if done.returncode == 0 else "FAILED"
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Uploaded 2 dSYMs", done.stdout)
        self.assertEqual(self.ready(), set(uuids))


class Legacy(WithServer):
    """How sentry-cli sent debug files before it used chunks; old plugins still do."""

    def test_zip(self):
        macho, base = symbol_files.sample_macho(), "/api/0/projects/acme/default/"
        other = symbol_files.as_x86_64(macho)
        missing = self.server.request("GET", base + "files/dsyms/unknown/?checksums=" + "a" * 40 + "&checksums=" + "b" * 40,
                                      token=self.token)
        self.assertEqual(missing, (200, {"missing": ["a" * 40, "b" * 40]}))
        body = self.two_of_one_name(macho, other)
        form = (b'--x\r\nContent-Disposition: form-data; name="file"; filename="1b4e28ba"\r\n\r\n' + body + b"\r\n--x--\r\n")
        status, files = self.server.request("POST", base + "files/dsyms/", body=form, token=self.token,
                                            headers={"Content-Type": "multipart/form-data; boundary=x"})
        self.assertEqual(status, 201)
        uuids = {symbol_files.uuid_of(macho), symbol_files.uuid_of(other)}
        self.assertEqual({f["uuid"].replace("-", "") for f in files}, uuids)
        self.assertEqual({f["data"]["type"] for f in files}, {"dbg"})
        self.assertEqual(self.ready(), uuids)
        status, listed = self.server.request("GET", base + "files/dsyms/", token=self.token)
        self.assertEqual((status, {f["uuid"] for f in listed}), (200, {f["uuid"] for f in files}))
        self.assertEqual(self.server.request("POST", base + "reprocessing/", token=self.token), (200, {}))
        ask = {"platform": "apple", "checksums": ["a" * 40], "name": "Demo", "appId": "a", "version": "1", "build": "2"}
        self.assertEqual(self.server.request("POST", base + "files/dsyms/associate/", body=json.dumps(ask),
                                             token=self.token), (200, {"associatedDsymFiles": []}))

    def two_of_one_name(self, *files):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for data in files:
                z.writestr("Demo", data)
        return out.getvalue()


class Chunks(WithServer):
    """Requests that sentry-cli never sends, and the behaviour that it relies on."""

    def assemble(self, files, status=200, project="default"):
        got, answer = self.server.request("POST", f"/api/0/projects/acme/{project}/files/difs/assemble/",
                                          body=json.dumps(files), token=self.token)
        self.assertEqual(got, status, answer)
        return answer

    def send(self, *chunks, names=None):
        body = b""
        for i, chunk in enumerate(chunks):
            name = names[i] if names else hashlib.sha1(chunk).hexdigest()
            body += (b'--x\r\nContent-Disposition: form-data; name="file_gzip"; filename="' + name.encode() +
                     b'"\r\nContent-Type: application/octet-stream\r\n\r\n' + gzip.compress(chunk) + b"\r\n")
        return self.server.request("POST", "/api/0/organizations/acme/chunk-upload/", body=body + b"--x--\r\n",
                                   token=self.token, headers={"Content-Type": "multipart/form-data; boundary=x"})

    def test_states(self):
        macho = symbol_files.sample_macho()
        sha1, half = hashlib.sha1(macho).hexdigest(), len(macho) // 2
        chunks = [macho[:half], macho[half:]]
        sums = [hashlib.sha1(c).hexdigest() for c in chunks]
        file = {sha1: {"name": "Demo", "chunks": sums}}
        self.assertEqual(self.assemble(file)[sha1], {"state": "not_found", "missingChunks": sums, "detail": None})
        self.assertEqual(self.send(chunks[0])[0], 200)
        self.assertEqual(self.assemble(file)[sha1]["missingChunks"], sums[1:])
        self.assertEqual(self.assemble({sha1: {"name": "Demo", "chunks": []}})[sha1]["state"], "error")
        self.assertEqual(self.send(chunks[1], chunks[1], chunks[0])[0], 200)
        answer = self.assemble(file)[sha1]
        self.assertEqual((answer["state"], answer["missingChunks"], answer["dif"]["sha1"]), ("ok", [], sha1))
        self.assertEqual(answer["dif"]["data"]["type"], "dbg")
        self.assertIn("debug", answer["dif"]["data"]["features"])
        # Asked without chunks it is known; with another UUID it is not what the client says.
        self.assertEqual(self.assemble({sha1: {"name": "Demo", "chunks": []}})[sha1]["state"], "ok")
        wrong = self.assemble({sha1: {"name": "Demo", "chunks": sums, "debug_id": "1" * 32}})[sha1]
        self.assertEqual(wrong["state"], "error")
        self.assertIn("UUID is 4c4c442e", wrong["detail"])

    def test_wrong_files(self):
        text = b"no symbol file at all\n" * 50
        sha1 = hashlib.sha1(text).hexdigest()
        self.send(text)
        answer = self.assemble({sha1: {"name": "a.txt", "chunks": [sha1]}, "0" * 40: {"name": "b", "chunks": [sha1]},
                                "1" * 40: {"name": "c", "chunks": [sha1], "debug_id": "not an id"}})
        self.assertEqual(set(answer), {sha1, "0" * 40, "1" * 40})
        self.assertEqual(answer["0" * 40]["state"], "error")
        self.assertIn(sha1, answer["0" * 40]["detail"])
        self.assertIn("debug id", answer["1" * 40]["detail"])
        end = time.monotonic() + 30
        while (state := self.assemble({sha1: {"name": "a.txt", "chunks": [sha1]}})[sha1])["state"] == "assembling":
            self.assertLess(time.monotonic(), end)
        self.assertEqual(state["state"], "error")
        self.assertIn("no symbol file", state["detail"])
        # A failure counts for some minutes, but not for a day because the clock was set back by one.
        with contextlib.closing(sqlite3.connect(os.path.join(self.server.data, "framezero.db"), timeout=30)) as database:
            with database:
                database.execute("UPDATE assembled_files SET created_ms = created_ms + 86400000 WHERE sha1 = ?", (sha1,))
            self.assemble({sha1: {"name": "a.txt", "chunks": [sha1]}})
            made, = database.execute("SELECT created_ms FROM assembled_files WHERE sha1 = ?", (sha1,)).fetchone()
        self.assertLess(made / 1000, time.time() + 60)

    def test_what_is_only_kept(self):
        one, two = "11111111-2222-3333-4444-555555555555", "44444444-4444-4444-4444-444444444444"
        kept = {"Demo": b"SYSB\x02\0\0\0PK\x05\x06" + b"\0" * 18,
                f"{one}.bcsymbolmap": b"BCSymbolMap Version: 2.0\n_a\n",
                f"{two}.plist": b'<?xml version="1.0"?><plist version="1.0"><dict><key>DBGOriginalUUID</key><string>' +
                                one.encode() + b"</string></dict></plist>"}
        types = {}
        for name, data in kept.items():
            sha1 = hashlib.sha1(data).hexdigest()
            self.send(data)
            uuid = one if name.startswith("1") else two
            answer = self.assemble({sha1: {"name": name, "chunks": [sha1], "debug_id": uuid}})[sha1]
            self.assertEqual(answer["state"], "ok", answer)
            types[name] = answer["dif"]["data"]["type"]
        self.assertEqual(types, {"Demo": "src", f"{one}.bcsymbolmap": "other", f"{two}.plist": "other"})
        self.assertEqual(self.ready(), set())

    def test_bad_requests(self):
        self.assertEqual(self.send(b"abc", names=["0" * 40])[0], 400)  # another hash
        self.assertEqual(self.send(b"abc", names=["../../etc"])[0], 400)
        self.assertEqual(self.send(*[b"%d" % i for i in range(65)])[0], 413)
        self.assertEqual(self.send()[0], 400)
        self.assertEqual(self.send(b"\0" * (8 << 20))[0], 200)  # as repetitive as possible
        self.assertEqual(self.send(b"\0" * ((8 << 20) + 1))[0], 413)
        for files in ([], {"abc": {}}, {"a" * 40: {"chunks": ["x"]}}):
            self.assertIn("detail", self.assemble(files, status=400))
        self.assertEqual(self.assemble({}), {})
        self.assertEqual(self.assemble({"a" * 40: None})["a" * 40]["state"], "error")
        self.assertIn("detail", self.assemble({}, status=404, project="nope"))
        status, answer = self.server.request("GET", "/api/0/organizations/acme/chunk-upload/", token="x" * 64)
        self.assertEqual((status, list(answer)), (401, ["detail"]))

    def test_old_chunks_go(self):
        """Chunks that are never assembled are deleted after their time, with their bytes; assembled files stay."""
        if self.server.database:
            self.skipTest("looks into the SQLite file")
        macho = b"one", b"two"
        self.assertEqual(self.send(*macho)[0], 200)
        self.assertEqual(self.send(symbol_files.sample_macho())[0], 200)
        sha1 = hashlib.sha1(symbol_files.sample_macho()).hexdigest()
        self.assertEqual(self.assemble({sha1: {"name": "Demo", "chunks": [sha1]}})[sha1]["state"], "ok")
        before = self.blobs()
        self.server.terminate()
        with contextlib.closing(sqlite3.connect(os.path.join(self.server.data, "framezero.db"))) as database:
            database.execute("UPDATE chunks SET expires_ms = 1")
            database.commit()
        self.server.start()
        end = time.monotonic() + 30
        while "old chunks deleted" not in self.server.log():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        self.assertEqual(len(self.blobs()), len(before) - 3)
        asked = {hashlib.sha1(m).hexdigest(): {"chunks": [hashlib.sha1(m).hexdigest()]} for m in macho}
        self.assertEqual({a["state"] for a in self.assemble(asked).values()}, {"not_found"})
        self.assertEqual(self.assemble({sha1: {"chunks": [sha1]}})[sha1]["state"], "ok")
        self.assertEqual(self.ready(), {symbol_files.uuid_of(symbol_files.sample_macho())})

    def blobs(self):
        return [name for _, _, names in os.walk(os.path.join(self.server.data, "blobs")) for name in names]

    def test_chunks_are_the_tokens(self):
        """A token cannot use or query another token's chunks."""
        macho = symbol_files.sample_macho()
        sha1 = hashlib.sha1(macho).hexdigest()
        self.send(macho)
        self.token = self.server.command("token", "create", "--scope", "upload")
        self.assertEqual(self.assemble({sha1: {"name": "Demo", "chunks": [sha1]}})[sha1]["missingChunks"], [sha1])


if __name__ == "__main__":
    result = main(exit=False).result
    print("\n" + "\n".join(f"{name:<40} {outcome}" for name, outcome in TABLE.items()))
    sys.exit(0 if result.wasSuccessful() else 1)
