#!/usr/bin/env python3
"""From a dSYM and a list of addresses to names, through a server with workers; both ways round."""

import io
import json
import os
import re
import signal
import subprocess
import tarfile
import threading
import time
import unittest
import uuid
import zipfile

from case import BINARY, main
from openapi import DescribedServer as Server
from symbol_files import sample, sample_macho, uuid_of


def expected():
    """[(frame, function, file, line, column)], innermost first, as expected.txt has them."""
    rows = []
    for line in sample("expected.txt").decode().splitlines():
        found = re.match(r"(\d+)\s+(.+?)\s+(\S+):(\d+):(\d+)$", line)
        if found:
            rows.append((int(found[1]), found[2], found[3], int(found[4]), int(found[5])))
    return rows


def named(report):
    return [(frame["index"], s["function"], s["file"], s["line"], s["column"])
            for frame in report["threads"][0]["frames"] for s in frame["symbols"]]


def variant(n):
    """The sample's report, as sent by another device."""
    body = json.loads(sample("report.json"))
    body["tags"] = {"number": str(n)}
    return json.dumps(body).encode()


class WithWorkers(unittest.TestCase):
    workers = 1
    args = ()

    def setUp(self):
        self.server = Server(BINARY, workers=self.workers, args=self.args)
        self.server.start()

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0)

    def expect(self, status, method, path, **options):
        got, answer = self.server.request(method, path, **options)
        self.assertEqual(got, status, answer)
        return answer

    def upload(self, body=None, path="/api/v1/symbols", **options):
        return self.expect(201, "POST", path, body=sample("Demo.dSYM.zip") if body is None else body, **options)

    def check_named(self, report):
        self.assertEqual(report["status"], "symbolicated", report)
        self.assertEqual(named(report), expected())
        self.assertEqual([i["symbols"] for i in report["images"]], ["found"])
        self.assertNotIn("missing", {k: v for k, v in report.items() if v})


class Way(WithWorkers):
    def test_symbols_first(self):
        answer = self.upload()
        self.assertEqual(answer["unblocked_reports"], 0)
        (file,) = answer["files"]
        self.assertEqual((file["uuid"], file["arch"], file["kind"], file["status"]),
                         (uuid_of(sample_macho()), "arm64", "dsym", "new"))
        self.assertTrue(file["features"]["dwarf"])
        again = self.upload()
        self.assertEqual(again["files"][0]["status"], "known")
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        self.check_named(report)
        self.assertEqual((report["project"], report["format"]), ("default", "framezero"))
        # The same again is answered alike, and there is one report.
        self.assertEqual(self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json")), report)
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{report['id']}"), report)
        (summary,) = self.expect(200, "GET", "/api/v1/reports")["reports"]
        first = expected()[0]
        self.assertEqual(summary["top"], {"function": first[1], "file": first[2], "line": first[3]})
        self.assertEqual((summary["status"], summary["missing"]), ("symbolicated", 0))
        sent = json.loads(sample("report.json"))
        self.assertEqual(summary["app"], sent["app"])
        self.assertEqual(summary["device"], sent["device"])
        self.check_filters(report["id"], sent, first)
        self.check_formats(report["id"], first)

    def check_filters(self, report_id, sent, first):
        app, system, crash = sent["app"], sent["os"], sent["crash"]
        for query, hits in (
                ({"status": "symbolicated"}, 1), ({"status": "partial"}, 0), ({"app": app["id"]}, 1),
                ({"app": app["name"].upper()}, 1), ({"app": "other"}, 0), ({"version": app["version"]}, 1),
                ({"version": "0"}, 0), ({"build": app["build"]}, 1), ({"os": system["name"]}, 1), ({"os": "Plan 9"}, 0),
                ({"device": sent["device"]["model"]}, 1), ({"arch": "arm64"}, 1), ({"arch": "i386"}, 0),
                ({"signal": crash["signal"]}, 1), ({"signal": "SIGNONE"}, 0), ({"exception": "NSNone"}, 0),
                ({"uuid": sent["images"][0]["uuid"].upper()}, 1), ({"uuid": "0" * 32}, 0),
                ({"function": first[1][:5]}, 1), ({"function": "%%%"}, 0), ({"file": os.path.basename(first[2])}, 1),
                ({"q": first[1]}, 1), ({"q": "nothing like it"}, 0), ({"since": "2020-01-01T00:00:00Z"}, 1),
                ({"until": "2020-01-01"}, 0), ({"since": "2020-01-01T00:00:00+01:00"}, 1), ({"since": "1577836800", "arch": "arm64", "q": first[1]}, 1)):
            with self.subTest(query=query):
                status, page = self.server.query("/api/v1/reports", **query)
                self.assertEqual(status, 200, page)
                self.assertEqual([r["id"] for r in page["reports"]], [report_id] * hits)

    def check_formats(self, report_id, first):
        crash = self.expect(200, "GET", f"/api/v1/reports/{report_id}?format=crash").decode()
        self.assertIn(first[1], crash)
        self.assertIn(f"{os.path.basename(first[2])}:{first[3]}", crash)
        ips = self.expect(200, "GET", f"/api/v1/reports/{report_id}?format=ips").decode()
        header, _, body = ips.partition("\n")
        self.assertIn("app_name", json.loads(header))
        self.assertIn(first[1], json.dumps(json.loads(body)))
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{report_id}?format=raw"), sample("report.json"))

    def test_report_first(self):
        posted = [self.expect(202, "POST", "/api/v1/reports", body=variant(n), token="ingest")["id"] for n in range(3)]
        for report_id in posted:
            report = self.server.wait_report(report_id)
            self.assertEqual(report["status"], "unsymbolicated")
            self.assertEqual(report["missing"], [{"uuid": uuid_of(sample_macho()), "name": "Demo"}])
            self.assertEqual({f["status"] for f in report["threads"][0]["frames"]}, {"missing_symbol_file"})
        (missing,) = self.expect(200, "GET", "/api/v1/symbols/missing")["missing"]
        self.assertEqual((missing["uuid"], missing["name"], missing["reports"]), (uuid_of(sample_macho()), "Demo", 3))
        self.assertEqual(missing["app_versions"], [json.loads(sample("report.json"))["app"]["version"]])
        start = time.monotonic()
        self.assertEqual(self.upload()["unblocked_reports"], 3)
        for report_id in posted:
            self.check_named(self.server.wait_report(report_id, until=lambda r: r["status"] == "symbolicated"))
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(self.expect(200, "GET", "/api/v1/symbols/missing")["missing"], [])

    def test_binary_first(self):
        """A binary gives names out of its symbol table; the dSYM that comes later gives files and lines."""
        with zipfile.ZipFile(io.BytesIO(sample("Demo.dSYM.zip"))) as z:
            dsym = z.read(next(n for n in z.namelist() if "/DWARF/" in n and not n.endswith("/")))
        # MH_EXECUTE instead of MH_DSYM, and debug sections by no known name.
        binary = dsym[:12] + (2).to_bytes(4, "little") + dsym[16:].replace(b"__debug_", b"__other_")
        (file,) = self.upload(binary)["files"]
        self.assertEqual((file["kind"], file["features"]["dwarf"]), ("binary", False))
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        self.assertEqual({s["source"] for f in report["threads"][0]["frames"] for s in f["symbols"]}, {"symtab"})
        self.assertEqual(self.expect(200, "GET", "/api/v1/symbols/missing")["missing"], [])
        self.assertEqual(self.upload()["unblocked_reports"], 1)
        self.check_named(self.server.wait_report(
            report["id"], until=lambda r: r["threads"][0]["frames"][0]["symbols"][0]["source"] == "dwarf"))

    def test_ways_to_upload(self):
        macho, uuid = sample_macho(), uuid_of(sample_macho())
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as t:
            entry = tarfile.TarInfo("Demo.dSYM/Contents/Resources/DWARF/Demo")
            entry.size = len(macho)
            t.addfile(entry, io.BytesIO(macho))
        form = (b'--frontier\r\nContent-Disposition: form-data; name="label"\r\n\r\nnightly\r\n'
                b'--frontier\r\nContent-Disposition: form-data; name="file"; filename="a/Demo.dSYM.zip"\r\n'
                b"Content-Type: application/zip\r\n\r\n" + sample("Demo.dSYM.zip") + b"\r\n--frontier--\r\n")
        for body, headers in (
                (macho, {}), (macho, {"Content-Disposition": 'attachment; filename="Demo"'}), (tar.getvalue(), {}),
                (form, {"Content-Type": 'multipart/form-data; boundary="frontier"'})):
            with self.subTest(headers=headers):
                answer = self.upload(body, headers=headers)
                self.assertEqual([f["uuid"] for f in answer["files"]], [uuid])
        (symbol,) = self.expect(200, "GET", "/api/v1/symbols")["symbols"]
        self.assertEqual((symbol["uuid"], symbol["kind"], symbol["state"]), (uuid, "dsym", "ready"))
        dashed = json.loads(sample("report.json"))["images"][0]["uuid"].upper()
        self.assertEqual(self.expect(200, "GET", f"/api/v1/symbols/{dashed}")["symbols"], [symbol])
        ask = {"uuids": [dashed, "0" * 32]}
        self.assertEqual(self.expect(200, "POST", "/api/v1/symbols/known", body=json.dumps(ask)),
                         {"missing": ["0" * 32]})
        self.assertEqual(self.expect(200, "POST", "/api/v1/symbols/known", body=json.dumps({**ask, "kind": "dsym"})),
                         {"missing": ["0" * 32]})
        self.assertEqual(self.expect(200, "POST", "/api/v1/symbols/known", body=json.dumps({**ask, "kind": "binary"})),
                         {"missing": ask["uuids"]})
        self.expect(204, "DELETE", f"/api/v1/symbols/{uuid}")
        self.expect(404, "DELETE", f"/api/v1/symbols/{uuid}")
        self.expect(404, "GET", f"/api/v1/symbols/{uuid}")
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        self.assertEqual(report["status"], "unsymbolicated")

    def test_name_in_no_encoding_beside_a_good_file(self):
        """A damaged file whose name is not UTF-8 is a problem of its own; the dSYM beside it is used."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("Demo.dSYM/Contents/Resources/n@te", b"note " * 100)
            z.writestr("Demo.dSYM/Contents/Resources/DWARF/Demo", sample_macho())
        data = packed.getvalue().replace(b"n@te", b"n\x96te")
        at = data.index(b"n\x96te") + 4  # the start of its packed bytes
        answer = self.upload(data[:at] + b"\xff\xff\xff\xff" + data[at + 4:])
        self.assertEqual([f["uuid"] for f in answer["files"]], [uuid_of(sample_macho())])
        self.assertEqual([p["kind"] for p in answer["problems"]], ["bad_member"])
        self.assertIn("Resources/n", answer["problems"][0]["text"])
        self.expect(204, "DELETE", f"/api/v1/symbols/{uuid_of(sample_macho())}")

    def test_member_with_another_checksum(self):
        """What can be read of a damaged member is used until the file is uploaded again, and both answers say so."""
        packed, name = io.BytesIO(), "\x1b[31mDemo\u202e.dSYM/Contents/Resources/DWARF/De\u2066mo"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr(name, sample_macho())
        data = bytearray(packed.getvalue())
        for at in (14, data.rindex(b"PK\1\2") + 16):  # of the entry, and of its entry in the directory
            data[at] ^= 1
        answer = self.upload(bytes(data))
        file = answer["files"][0]
        self.assertEqual((file["verdict"]["code"], file["verdict"]["retry"]), ("truncated", True))
        self.assertEqual([p["kind"] for p in file["problems"]], ["bad_member"])
        self.assertEqual(file["name"], "De\\u2066mo")
        self.assertIn("\\u001b[31mDemo\\u202e.dSYM/Contents/Resources/DWARF/De\\u2066mo: damaged: ZIP bad CRC", answer["problems"][0]["text"])
        self.check_named(self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json")))
        again = self.upload(packed.getvalue())
        self.assertEqual((again["files"][0]["verdict"]["code"], again.get("problems")), ("ok", None))
        listed = self.expect(200, "GET", f"/api/v1/symbols/{uuid_of(sample_macho())}")
        self.assertNotIn("damaged", str(listed))
        self.expect(204, "DELETE", f"/api/v1/symbols/{uuid_of(sample_macho())}")

    def test_symbolicate_keeps_nothing(self):
        self.upload()
        for _ in range(2):
            report = self.expect(200, "POST", "/api/v1/symbolicate", body=sample("report.json"))
            self.check_named(report)
        text = self.expect(200, "POST", "/api/v1/symbolicate?format=crash", body=sample("report.json")).decode()
        self.assertIn(expected()[0][1], text)
        self.expect(400, "POST", "/api/v1/symbolicate?format=raw", body=sample("report.json"))
        self.assertEqual(self.expect(200, "GET", "/api/v1/reports")["reports"], [])
        self.expect(404, "GET", f"/api/v1/reports/{report['id']}")
        self.assertEqual(self.expect(200, "GET", "/api/v1/symbols/missing")["missing"], [])

    def test_symbolicate_beside_a_stored_twin(self):
        self.upload()
        stored = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        again = self.expect(200, "POST", "/api/v1/symbolicate", body=sample("report.json"))
        self.check_named(again)
        self.assertNotEqual(again["id"], stored["id"])
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{stored['id']}"), stored)

    def test_queued_again(self):
        """A report that is queued again shows its earlier result with the status queued."""
        self.upload()
        stored = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        self.assertEqual(self.server.terminate(), 0)
        self.server.workers = 0
        self.server.start()
        self.expect(202, "POST", f"/api/v1/reports/{stored['id']}/reprocess")
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{stored['id']}"), {**stored, "status": "queued"})

    def test_reprocess(self):
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        self.expect(202, "POST", f"/api/v1/reports/{report['id']}/reprocess")
        again = self.server.wait_report(report["id"])
        self.assertEqual(named(again), named(report))

    def test_cut_prefixes(self):
        """A project's prefixes are cut from the file names of reports that are symbolicated afterwards."""
        self.expect(201, "POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        whole = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        path = named(whole)[0][2]
        prefix = path[:path.index("/", 1) + 1] if "/" in path[1:] else path[:1]
        self.expect(400, "PUT", "/api/v1/project", body=json.dumps({"cut_prefixes": ["a\nb"]}))
        self.expect(200, "PUT", "/api/v1/project", body=json.dumps({"cut_prefixes": ["/nothing/", prefix]}))
        self.assertEqual(self.expect(200, "GET", "/api/v1/project")["cut_prefixes"], ["/nothing/", prefix])
        cut = self.expect(200, "POST", "/api/v1/reports?wait=20", body=variant(1))
        self.assertEqual(named(cut)[0][2], path[len(prefix):])
        self.expect(200, "PUT", "/api/v1/project", body=json.dumps({"cut_prefixes": []}))
        again = self.expect(200, "POST", "/api/v1/reports?wait=20", body=variant(2))
        self.assertEqual(named(again), named(whole))

    def test_symbol_file_is_reported(self):
        self.expect(201, "POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        found = [i for i in report["images"] if i["symbols"] == "found"]
        self.assertEqual([f["kind"] for f in found[0]["symbol_files"]], ["dsym"])
        self.assertRegex(found[0]["symbol_files"][0]["sha256"], "^[0-9a-f]{64}$")

    def test_map_comes_later(self):
        """Names that a bitcode build hid: the report waits for the BCSymbolMap and is symbolicated again when it arrives."""
        real, hidden = b"_ZNK4shop4cart5totalEv\0", b"__hidden#0_\0"
        macho = sample_macho()
        self.assertIn(real, macho)
        macho = macho.replace(real, hidden + real[len(hidden):])
        answer = self.expect(201, "POST", "/api/v1/symbols", body=macho)
        self.assertEqual(answer["files"][0]["verdict"]["code"], "hidden_names")
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        self.assertIn("__hidden#0_", [row[1] for row in named(report)])
        dashed = str(uuid.UUID(uuid_of(sample_macho()))).upper()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as z:
            z.writestr(f"BCSymbolMaps/{dashed}.bcsymbolmap", b"BCSymbolMap Version: 2.0\n_" + real[:-1] + b"\n")
        answer = self.expect(201, "POST", "/api/v1/symbols", body=packed.getvalue())
        self.assertEqual([(f["kind"], f["verdict"]["code"]) for f in answer["files"]], [("bcsymbolmap", "map")])
        end = time.monotonic() + 20
        while named(report) != expected() and time.monotonic() < end:
            time.sleep(0.05)
            report = self.expect(200, "GET", f"/api/v1/reports/{report['id']}")
        self.assertEqual(named(report), expected())

    def test_projects_are_apart(self):
        """A dSYM belongs to one project only."""
        for args in (["project", "create", "other"], ["token", "create", "--scope", "admin", "--project", "other"]):
            done = subprocess.run([BINARY, *args, *self.server.where], capture_output=True, text=True, check=True)
        other = done.stdout.strip()
        self.upload()
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"), token=other)
        self.assertEqual((report["project"], report["status"]), ("other", "unsymbolicated"))
        self.assertEqual(self.expect(200, "GET", "/api/v1/symbols", token=other)["symbols"], [])
        self.expect(404, "GET", f"/api/v1/symbols/{uuid_of(sample_macho())}", token=other)
        self.expect(404, "DELETE", f"/api/v1/symbols/{uuid_of(sample_macho())}", token=other)
        asked = json.dumps({"uuids": [uuid_of(sample_macho())]})
        self.assertEqual(self.expect(200, "POST", "/api/v1/symbols/known", body=asked, token=other),
                         {"missing": [uuid_of(sample_macho())]})
        self.assertEqual(self.upload(token=other)["unblocked_reports"], 1)

    def test_worker_that_is_killed_is_replaced(self):
        victims = self.server.pids_of("worker") + self.server.pids_of("child")
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        self.upload()
        report = self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        self.check_named(report)
        self.assertEqual(self.expect(200, "GET", "/readyz", token=None)["status"], "ready")
        self.assertIn('msg="worker died"', self.server.log())

    def test_metrics_of_workers(self):
        self.upload()
        self.expect(200, "POST", "/api/v1/reports?wait=20", body=sample("report.json"))
        end, text = time.monotonic() + 10, ""
        # A worker counts a job after it has stored the result, so the client may be earlier.
        while 'framezero_jobs_total{kind="report",result="done"} 1' not in text:
            self.assertLess(time.monotonic(), end)
            text = self.expect(200, "GET", "/metrics", token=None).decode()
        self.assertIn('framezero_jobs_total{kind="upload",result="done"} 1', text)
        self.assertRegex(text, r"(?m)^framezero_frames_symbolicated_total 3$")


class Many(WithWorkers):
    workers = 2

    def test_many_wait(self):
        """200 clients wait at once; one thread answers all."""
        self.upload()
        answers = []

        def post(n):
            answers.append(self.server.request("POST", "/api/v1/reports?wait=30", body=variant(n)))

        threads = [threading.Thread(target=post, args=(n,)) for n in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({status for status, _ in answers}, {200})
        self.assertEqual({report["tags"]["number"] for _, report in answers}, {str(n) for n in range(200)})
        for _, report in answers:
            self.check_named(report)


class NoPatience(WithWorkers):
    """A server that does not wait for uploads, and has no workers at first."""
    workers = 0
    args = ("--upload-wait", "1")

    def test_upload_later(self):
        answer = self.expect(202, "POST", "/api/v1/symbols?name=Demo.dSYM.zip", body=sample("Demo.dSYM.zip"))
        self.assertEqual(answer["status"], "queued")
        where = self.server.last_headers["Location"]
        self.assertEqual(where, f"/api/v1/uploads/{answer['upload']}")
        state = self.expect(200, "GET", where)
        self.assertEqual((state["status"], state["name"]), ("queued", "Demo.dSYM.zip"))
        self.server.terminate()
        self.server.workers = 1
        self.server.start()
        end = time.monotonic() + 30
        while (state := self.expect(200, "GET", where))["status"] == "queued":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(state["status"], "done")
        self.assertEqual(state["result"]["files"][0]["uuid"], uuid_of(sample_macho()))
        # On a busy machine its second may be over before the file is read.
        end = time.monotonic() + 30
        while (got := self.server.request("POST", "/api/v1/symbols", body=b"just a text file\n" * 50))[0] == 202:
            self.assertLess(time.monotonic(), end)
        self.assertEqual(got[0], 415, got[1])
        self.assertIn("text", got[1]["error"]["message"])


if __name__ == "__main__":
    main()
