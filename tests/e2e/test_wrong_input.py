#!/usr/bin/env python3
"""Wrong input, as a user would make it: each answer has the right status and says where and why.


Prints a table of what was sent and what came back. The server must serve a good report in the end.
"""

import gzip
import io
import json
import os
import struct
import sys
import zipfile

from case import BINARY
from framezero import Server
from symbol_files import sample, sample_macho

IMAGE = {"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Demo", "address": "0x100000000", "size": 4096}


def native(**parts):
    return json.dumps({"framezero": 1, **parts}).encode()


def zip_of(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in entries:
            z.writestr(name, data)
    return out.getvalue()


def zip_bomb():
    """A Mach-O header followed by 300 MiB of zeros: 1,000 to 1."""
    return zip_of([("Bomb.dSYM/Contents/Resources/DWARF/Bomb", b"\xcf\xfa\xed\xfe" + bytes(300 << 20))])


def requests():
    """(what, method, path, body, headers, token, statuses, words that the answer must hold)"""
    macho = sample_macho()
    reports, symbols = "/api/v1/reports", "/api/v1/symbols"
    deep = b'{"framezero":1,"addresses":' + b"[" * 5000 + b"]" * 5000 + b"}"
    return [
        ("empty body", "POST", reports, b"", {}, "ingest", {400}, ["empty"]),
        ("not JSON", "POST", reports, b"Hello, world", {}, "ingest", {400, 415}, []),
        ("broken JSON", "POST", reports, b'{"framezero":1,"addresses":["0x1" "0x2"]}', {}, "ingest", {400}, ["byte 34"]),
        ("JSON that is not a report", "POST", reports, b'{"hello":"world"}', {}, "ingest", {400, 415}, ["known format"]),
        ("nesting of 5,000", "POST", reports, deep, {}, "ingest", {413}, ["deeper than 128"]),
        ("report above the limit", "POST", reports, native(addresses=[], x="x" * (5 << 20)), {}, "ingest", {413}, ["4194304"]),
        ("gzip bomb", "POST", reports, gzip.compress(bytes(100 << 20)), {"Content-Encoding": "gzip"}, "ingest", {413}, []),
        ("invalid gzip", "POST", reports, b"no gzip", {"Content-Encoding": "gzip"}, "ingest", {400}, ["gzip"]),
        ("unsupported coding", "POST", reports, b"x", {"Content-Encoding": "br"}, "ingest", {415}, ["gzip"]),
        ("no token", "POST", reports, native(addresses=[]), {}, None, {401}, []),
        ("wrong token", "POST", reports, native(addresses=[]), {}, "nonsense", {401}, []),
        ("ingest key that wants to read", "GET", reports, None, {}, "ingest", {403}, ["read"]),
        ("ingest key that wants to upload", "POST", symbols, macho, {}, "ingest", {403}, ["upload"]),
        ("unknown path", "GET", "/api/v1/nothing", None, {}, "admin", {404}, []),
        ("wrong method", "PUT", reports, b"", {}, "admin", {405}, []),
        ("unknown filter", "GET", reports + "?colour=red", None, {}, "admin", {400}, ["colour"]),
        ("bad cursor", "GET", reports + "?cursor=zzz", None, {}, "admin", {400}, ["cursor"]),
        ("unknown report", "GET", reports + "/" + "0" * 32, None, {}, "admin", {404}, []),
        ("invalid id", "GET", reports + "/..%2f..%2fetc", None, {}, "admin", {400, 404}, []),
        ("text file as dSYM", "POST", symbols, b"This is a text file.\n" * 40, {}, "admin", {415}, ["text"]),
        ("empty dSYM", "POST", symbols, b"", {}, "admin", {400, 415}, ["empty"]),
        ("Mach-O cut in its header", "POST", symbols, macho[:20], {}, "admin", {400}, ["truncated"]),
        ("zip bomb", "POST", symbols, zip_bomb(), {}, "admin", {413}, []),
        ("zip without a Mach-O", "POST", symbols, zip_of([("readme.txt", b"hi")]), {}, "admin", {415}, ["Mach-O"]),
        ("zip cut in the middle", "POST", symbols, zip_of([("a/Demo", macho)])[:2000], {}, "admin", {400}, []),
        ("ELF as dSYM", "POST", symbols, b"\x7fELF\x02\x01\x01" + bytes(57), {}, "admin", {415}, ["ELF"]),
        ("invalid UUIDs", "POST", symbols + "/known", b'{"uuids":["hello"]}', {}, "admin", {400}, ["hello"]),
    ]


class Table:
    def __init__(self):
        self.wrong = 0

    def row(self, what, status, text, ok):
        self.wrong += not ok
        print(f"{'' if ok else 'WRONG  '}{what} | {status} | {text[:150]}")


def check_requests(server, table):
    for what, method, path, body, headers, token, statuses, words in requests():
        status, answer = server.request(method, path, body=body, headers=headers, token=token)
        error = answer.get("error", {}) if isinstance(answer, dict) else {}
        text = f"{error.get('code')}: {error.get('message')} {json.dumps(error.get('detail', ''))}"
        ok = status in statuses and bool(error.get("code")) and bool(error.get("message"))
        ok = ok and all(word.lower() in text.lower() for word in words)
        table.row(what, status, text, ok)


def check_damaged_dsyms(server, table):
    """What can be read of a damaged dSYM is kept, and the answer says what is wrong with it."""
    macho = sample_macho()
    wrong = macho[:16] + struct.pack("<II", 0xFFFFFFF, 0xFFFFFFF) + macho[24:]
    damaged = [
        ("three quarters of a dSYM", macho[: len(macho) * 3 // 4], "truncated"),
        ("dSYM with wrong counts of load commands", wrong, "bad_load_command"),
    ]
    for what, body, kind in damaged:
        status, answer = server.request("POST", "/api/v1/symbols", body=body)
        problems = answer["files"][0]["problems"] if status == 201 else []
        table.row(what, status, json.dumps(problems or answer), kind in json.dumps(problems))


def check_outside_address(server, table):
    body = native(addresses=["0x1", "0xffffffffffffffff", "0x100000010"], images=[IMAGE])
    status, answer = server.request("POST", "/api/v1/reports?wait=20", body=body)
    states = [f["status"] for f in answer["threads"][0]["frames"]] if status == 200 else answer
    wanted = ["unknown_image", "unknown_image", "missing_symbol_file"]
    table.row("addresses outside every image", status, str(states), status == 200 and states == wanted)


def check_odd_report(server, table):
    """Each odd value is left out and reported; the rest is used."""
    odd = (
        b'{"framezero":1,"threads":[{"frames":["0x100000010",99999999999999999999999,"zzz",null,18446744073709551615]}],'
        b'"images":[{"name":"no uuid","address":"0x5000"},' + json.dumps(IMAGE).encode() + b'],'
        b'"tags":{"a":"\\ud800","b":"\\u0000","c":"\xff\xfe"}}'
    )
    status, answer = server.request("POST", "/api/v1/reports?wait=20", body=odd)
    ok = status == 200 and len(answer["threads"][0]["frames"]) >= 2 and bool(answer.get("notes"))
    table.row("odd numbers and characters", status, str(answer.get("notes", answer)), ok)


def check_other_project(server, table):
    server.command("project", "create", "other")
    token = server.command("token", "create", "--scope", "admin", "--project", "other")
    _, answer = server.request("POST", "/api/v1/reports", body=native(addresses=["0x7"], images=[IMAGE]))
    report = "/api/v1/reports/" + answer["id"]
    for method, path in (
        ("GET", report), ("GET", report + "?format=raw"), ("DELETE", report), ("POST", report + "/reprocess"),
        ("GET", "/api/v1/symbols/" + IMAGE["uuid"]), ("DELETE", "/api/v1/symbols/" + IMAGE["uuid"]),
    ):
        status, other = server.request(method, path, token=token)
        code = other.get("error", {}).get("code") if isinstance(other, dict) else other
        table.row(f"another project's token: {method} {path[:16]}…", status, str(code), status == 404)
    status, page = server.request("GET", "/api/v1/reports", token=token)
    table.row("another project's list", status, str(page), status == 200 and page["reports"] == [])
    status, page = server.request("GET", "/api/v1/symbols/missing", token=token)
    table.row("another project's missing images", status, str(page), status == 200 and page["missing"] == [])


def check_still_serves(server, table):
    server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
    status, answer = server.request("POST", "/api/v1/reports?wait=20", body=sample("report.json"))
    table.row("then a good report", status, str(answer.get("status")), status == 200 and answer["status"] != "failed")


def main():
    table = Table()
    with Server(BINARY, database=os.environ.get("FRAMEZERO_TEST_POSTGRESQL")) as server:
        check_outside_address(server, table)
        check_odd_report(server, table)
        check_other_project(server, table)
        check_requests(server, table)
        check_damaged_dsyms(server, table)
        check_still_serves(server, table)
    print(f"{table.wrong} wrong answers")
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
