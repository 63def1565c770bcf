#!/usr/bin/env python3
"""The list of reports: what its rows show, every filter, several values, order, count and pages, on real reports."""

import json
import time

from case import ServerCase, main
from openapi import DescribedServer as Server
from symbol_files import sample

HOUR = 3600


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


NOW = time.time()
# name, what a native report has beyond its stack
REPORTS = {
    "a": {"timestamp": iso(NOW - HOUR),
          "app": {"id": "com.acme.shop", "name": "Shop", "version": "4.2", "build": "4201"},
          "os": {"name": "iOS", "version": "18.1", "build": "22B83"}, "device": {"model": "iPhone15,2"}, "arch": "arm64",
          "crash": {"signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS", "code": "KERN_INVALID_ADDRESS"},
          "user": {"id": "u1"}, "tags": {"channel": "beta", "plan": "pro"}, "environment": "staging"},
    "b": {"timestamp": iso(NOW - 3 * HOUR), "app": {"id": "com.acme.shop", "name": "Shop", "version": "4.3"},
          "os": {"name": "macOS", "version": "15.0"}, "device": {"model": "Mac14,2"},
          "crash": {"exception": "std::map<int, int>"}, "user": {"email": "b@example.com"}, "tags": {"channel": "store"}},
    "c": {"timestamp": iso(NOW - 2 * HOUR), "app": {"id": "com.acme.café"}, "device": {"model": "iPhone14,3"}},
}


class ReportList(ServerCase):
    server_type = Server

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.names = {}
        for name, more in REPORTS.items():
            body = {"framezero": 1, "addresses": ["0x1000"], "images": [
                {"uuid": f"{name}" * 32, "name": f"Image{name.upper()}", "address": "0x1000", "size": 4096}], **more}
            status, answer = cls.server.request("POST", "/api/v1/reports?wait=20", body=json.dumps(body))
            assert status == 200, answer
            cls.names[answer["id"]] = name

    def list(self, query):
        """The names in the order of the list, page by page."""
        found, cursor = "", ""
        while True:
            status, answer = self.server.request("GET", f"/api/v1/reports?limit=2&{query}{cursor}")
            self.assertEqual(status, 200, answer)
            found += "".join(self.names[row["id"]] for row in answer["reports"])
            if "next_cursor" not in answer:
                return found
            cursor = "&cursor=" + answer["next_cursor"]

    def test_row(self):
        status, answer = self.server.request("GET", "/api/v1/reports?build=4201")
        row = answer["reports"][0]
        self.assertEqual(status, 200)
        self.assertEqual(row["kind"], "crash")
        self.assertEqual(row["release"], "com.acme.shop@4.2+4201")
        self.assertEqual(row["environment"], "staging")
        self.assertEqual(row["os"], {"name": "iOS", "version": "18.1", "build": "22B83"})
        self.assertEqual(row["crash"], {"signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS", "code": "KERN_INVALID_ADDRESS"})
        self.assertEqual(row["user"], {"id": "u1"})

    def test_filters(self):
        # An address of mail is masked before anything is stored, so no report is found by it.
        for query, want in [
            ("", "cba"), ("build=4201", "a"), ("version=4.2,4.3", "ba"), ("version=4.2&version=4.3", "ba"),
            ("device=iPhone15,2", "a"), ("device=iPhone15,2,iPhone14,3", "ca"), ("device=Mac14,2,iPhone15,2", "ba"),
            ("device=2", ""), ("os=iOS,15.0", "ba"), ("os_version=18.1", "a"), ("os_build=22B83", "a"), ("kind=crash", "cba"),
            ("kind=hang,memory", ""), ("mach=EXC_BAD_ACCESS", "a"), ("code=KERN_INVALID_ADDRESS", "a"),
            ("exception=std%3A%3Amap%3Cint,%20int%3E", "b"), ("format=framezero,kscrash", "cba"),
            ("environment=staging", "a"), ("release=com.acme.shop@4.2%2B4201", "a"), ("release=com.acme.shop@4.3", "b"),
            ("user=u1", "a"), ("user=b@example.com", ""), ("tag=channel:beta", "a"), ("tag=channel", "ba"),
            ("tag=channel&tag=plan:pro", "a"), ("tag=plan:p", ""), ("image=ImageB", "b"), ("image=ImageB,ImageC", "cb"),
            ("uuid=" + "a" * 32, "a"), ("app=com.acme.caf%C3%A9", "c"), ("app=SHOP&os=iOS", "a"),
            ("since=1h", "cba"), ("until=1h", ""), ("since=0s", ""), ("crashed_since=90m", "a"),
            ("crashed_until=90m", "cb"), ("crashed_since=150m&crashed_until=90m", "c"),
            ("sort=received", "abc"), ("sort=-received", "cba"), ("sort=timestamp", "bca"), ("sort=-timestamp", "acb"),
        ]:
            with self.subTest(query=query):
                self.assertEqual(self.list(query), want)
                status, answer = self.server.request("GET", f"/api/v1/reports?limit=1&count=true&{query}")
                self.assertEqual((status, answer["count"]), (200, len(want)))

    def test_wrong(self):
        for query, words in [
            ("kind=crahs", "kind: 'crahs' is not one of crash, hang,"), ("kind=hang,x", "'x'"), ("kind=hang%20cpu", "'hang cpu'"),
            ("status=done", "status: 'done' is not one of queued"), ("sort=name", "sort: 'name' is not one of"),
            ("count=yes", "count: 'yes' is not true or false"), ("since=7x", "since: '7x' is not a time"),
            ("uuid=zz", "uuid: 'zz' is not a UUID"), ("status=partial,nope", "'nope'"),
            ("version=" + ",".join(str(n) for n in range(40)), "version: more than 32 values"),
        ]:
            with self.subTest(query=query):
                status, answer = self.server.request("GET", f"/api/v1/reports?{query}")
                self.assertIn(status, (400, 413), answer)
                self.assertIn(words, answer["error"]["message"])
        _, page = self.server.request("GET", "/api/v1/reports?limit=1&sort=timestamp")
        status, answer = self.server.request("GET", "/api/v1/reports?cursor=" + page["next_cursor"])
        self.assertEqual(status, 400, answer)

    def test_top_is_the_throw(self):
        self.server.request("POST", "/api/v1/symbols", body=sample("Demo.dSYM.zip"))
        sent = json.loads(sample("report.json"))
        frames, image = sent["threads"][0]["frames"], sent["images"][0]
        ips = {"app_name": "Demo", "bug_type": "309"}
        load = int(image["address"], 16)
        body = {
            "procName": "Demo", "faultingThread": 0, "exception": {"type": "EXC_CRASH", "signal": "SIGABRT"},
            "usedImages": [{"uuid": image["uuid"], "name": "Demo", "arch": "arm64", "base": load, "size": 1 << 20}],
            "threads": [{"triggered": True, "frames": [{"imageIndex": 0, "imageOffset": int(frames[-1], 16) - load}]}],
            "lastExceptionBacktrace": [{"imageIndex": 0, "imageOffset": int(frames[0], 16) - load}]}
        text = json.dumps(ips) + "\n" + json.dumps(body)
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=text)
        self.assertEqual((status, answer["status"]), (200, "symbolicated"), answer)
        self.names[answer["id"]] = "t"
        status, listed = self.server.request("GET", "/api/v1/reports?format=ips")
        top = listed["reports"][0]["top"]
        self.assertEqual(top["function"], "shop::cart::total() const")  # not main, where the thread ended
        self.assertEqual(self.list("function=cart::total"), "t")
        status, _ = self.server.request("DELETE", f"/api/v1/reports/{answer['id']}")
        self.assertEqual(status, 204)


if __name__ == "__main__":
    main()
