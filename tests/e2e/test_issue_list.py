#!/usr/bin/env python3
"""Issues of real reports: the list, one issue, its reports and variants, values to select by."""

import http.client
import json
import os
import sqlite3
import urllib.parse

from case import ServerCase, main, until
from openapi import DescribedServer as Server


def report(number, **more):
    """A crash in a function of its own for each `place`."""
    place = more.pop("place", 0)
    made = {
        "framezero": 1, "arch": "arm64", "device": {"model": "iPhone15,2"}, "os": {"name": "iOS", "version": "18.1"},
        "app": {"id": "com.acme.shop", "name": "Shop", "version": "4.2", "build": "4201"},
        "images": [{"uuid": "4c4c442e-5555-3144-a138-7743844373d8", "name": "Shop", "arch": "arm64",
                    "path": "/private/var/containers/Bundle/Application/x/Shop.app/Shop",
                    "address": "0x100000000", "size": 1 << 20}],
        "threads": [{"index": 0, "crashed": True, "frames": [hex(0x100004000 + place * 64), "0x100008000"]}],
        "crash": {"thread": 0, "signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS"}, "note": number}
    made.update(more)
    return json.dumps(made).encode()


class Issues(ServerCase):
    server_type = Server

    def send(self, number, **more):
        return self.expect(200, "POST", "/api/v1/reports?wait=30", body=report(number, **more))["id"]

    def get(self, path, status=200, **query):
        return self.expect(status, "GET", f"/api/v1/{path}?" + urllib.parse.urlencode(query))

    def test_all(self):
        first = [self.send(i, user={"id": f"user-{i % 3}"}) for i in range(5)]
        second = [self.send(10 + i, place=1, app={"id": "com.acme.shop", "version": "4.10"}) for i in range(2)]
        # ---- the list ----
        page = self.get("issues", sort="reports")
        self.assertEqual([one["reports"] for one in page["issues"]], [5, 2])
        large, small = page["issues"]
        self.assertEqual((large["users"], small["users"]), (3, 0))
        self.assertEqual((large["state"], large["regressed"], large["kind"]), ("open", False, "crash"))
        self.assertEqual((large["first_version"], small["last_version"]), ("4.2", "4.10"))
        self.assertEqual((sum(large["trend"]), len(large["trend"])), (5, 28))
        # Newer versions count first: 4.10 is after 4.2, but has no users.
        self.assertEqual(self.get("issues")["issues"][0]["number"], large["number"])
        self.assertEqual(self.get("issues", sort="first_seen")["issues"][0]["number"], small["number"])
        # Pages do not repeat an issue and leave out none.
        one = self.get("issues", sort="reports", limit=1)
        two = self.get("issues", sort="reports", limit=1, cursor=one["next_cursor"])
        self.assertEqual([i["number"] for i in one["issues"] + two["issues"]], [large["number"], small["number"]])
        self.assertNotIn("next_cursor", two)
        self.get("issues", status=400, sort="users", limit=1, cursor=one["next_cursor"])
        # Numbers are those of the reports that meet the conditions.
        page = self.get("issues", query="user:user-0")
        self.assertEqual([(i["number"], i["reports"], i["users"]) for i in page["issues"]], [(large["number"], 2, 1)])
        for query, n in (("version:>4.2", 1), ("device:iPad*", 0), ("is:resolved", 0), ("is:open,new", 2), ("shop", 2),
                         (f"issue:{small['number']}", 1), ("since:1h", 2), ("until:1h", 0)):
            with self.subTest(query=query):
                self.assertEqual(len(self.get("issues", query=query)["issues"]), n)
        answer = self.get("issues", status=400, query="is:opne")
        self.assertIn("did you mean open", answer["error"]["message"])
        self.assertEqual(answer["error"]["detail"], {"offset": 3})
        # ---- one issue ----
        number = large["number"]
        issue = self.get(f"issues/{number}")
        self.assertEqual((issue["reports"], issue["users"]), (5, 3))
        self.assertEqual(issue["distributions"]["versions"]["top"], [{"version": "4.2", "build": "4201", "reports": 5}])
        self.assertEqual(issue["distributions"]["devices"]["top"], [{"model": "iPhone15,2", "reports": 5}])
        self.assertEqual(issue["distributions"]["environments"]["top"], [{"reports": 5}])
        self.assertEqual((issue["newest_report"], issue["best_report"]), (first[-1], first[-1]))
        self.assertEqual(self.get(f"issues/{number}", since="1h")["distributions"], issue["distributions"])
        self.assertEqual(self.get(f"issues/{number}", version="9")["reports"], 0)
        self.assertEqual([v["reports"] for v in self.get(f"issues/{number}/variants")["variants"]], [5])
        self.assertEqual([r["id"] for r in self.get(f"issues/{number}/reports")["reports"]], first[::-1])
        self.assertEqual([r["id"] for r in self.get(f"issues/{number}/reports", user="user-1")["reports"]],
                         [first[4], first[1]])
        self.get("issues/99", status=404)
        self.get("issues/x", status=404)
        # ---- reports of it, and values ----
        self.assertEqual([r["id"] for r in self.get("reports", issue=small["number"])["reports"]], second[::-1])
        page = self.get("reports", query=f"issue:{number} -user:user-0", count="true", sort="received")
        self.assertEqual(([r["id"] for r in page["reports"]], page["count"]), ([first[1], first[2], first[4]], 3))
        self.assertEqual([v["value"] for v in self.get("values", field="version")["values"]], ["4.10", "4.2"])
        self.assertEqual(self.get("values", field="device", prefix="IPH")["values"],
                         [{"value": "iPhone15,2", "reports": 7}])
        self.assertIn("did you mean", self.get("values", status=400, field="devise")["error"]["message"])

    def test_reason(self):
        """What an issue is about is said by its newest report, and never by another issue's."""
        def said():
            return {one["number"]: (one.get("exception"), one.get("signal"), one.get("reason")) for one in self.get("issues", query="app:com.acme.reason")["issues"]}

        def send(number, place, reason):
            body = report(number, place=place, app={"id": "com.acme.reason", "version": "1"},
                          crash={"thread": 0, "signal": "SIGABRT", "exception": "NSRangeException", "reason": reason})
            sent = self.expect(200, "POST", "/api/v1/reports?wait=30", body=body)
            return sent["id"], sent["issue"]["number"]

        _, one = send(100, 40, "index 1 beyond bounds")
        self.assertEqual(said(), {one: ("NSRangeException", "SIGABRT", "index 1 beyond bounds")})
        newest, again = send(101, 40, "ä" * 300)
        self.assertEqual((again, said()[one][2]), (one, "ä" * 100))
        # Deleted, nothing is said; its key may be the next report's, which is of another issue.
        self.expect(204, "DELETE", f"/api/v1/reports/{newest}")
        self.assertEqual(said(), {one: (None, None, None)})
        _, other = send(102, 41, "of the other one")
        self.assertNotEqual(one, other)
        self.assertEqual(said(), {one: (None, None, None), other: ("NSRangeException", "SIGABRT", "of the other one")})
        # With new symbols a report is taken away and counted again.
        last, _ = send(103, 40, "the last one")
        self.expect(202, "POST", f"/api/v1/reports/{last}/reprocess")
        until(lambda: self.get("reports/" + last)["status"] != "queued", "it is done again")
        self.assertEqual(said()[one][2], "the last one")
        self.expect(200, "POST", f"/api/v1/issues/{one}/merge", body=json.dumps({"into": other}).encode())
        self.assertEqual(said(), {other: ("NSRangeException", "SIGABRT", "the last one")})

    def test_completion(self):
        tags = {"release channel": "a \"b\"", "stage": "beta"}
        self.send(20, place=2, tags=tags, device={"model": "Watch7,1"})
        cases = (  # text, cursor, start, what is there
            ("", None, 0, {"version:", "has:", "since:", "tag."}),
            ("is:open -devi", None, 9, {"device:"}),
            ("is:open env", None, 8, {"environment:"}),
            ("is:op", None, 3, {"open"}),
            ("is:open device:watch", None, 15, {'"Watch7,1"'}),
            ("dev version:4", 3, 0, {"device:"}),
            ("tag.", None, 4, {"stage:", '"release channel":'}),
            ("tag.stage:", None, 10, {"beta"}),
            ('tag."release channel":', None, 22, {'"a \\"b\\""'}),
            ("since:", None, 6, {"24h"}),
            ("\u00e4 ver", None, 3, {"version:"}),
            ("id:8", None, 3, set()),
            ('"a text', None, 0, set()),
        )
        for text, at, start, items in cases:
            with self.subTest(text=text):
                got = self.get("query/complete", text=text, **({} if at is None else {"at": at}))
                found = {one["text"] for one in got["items"]}
                self.assertEqual((got["start"], items - found), (start, set()))
                self.assertTrue(items or not found, found)
                # What is completed can be read, where the cursor is at the end.
                for one in items if at is None else ():
                    query = text.encode()[:start].decode() + one
                    if not one.endswith((":", ".")):
                        self.get("issues", query=query)
        for at in ("-1", "5", "x", "1.0", "99999999999999999999"):
            self.assertIn("at:", self.get("query/complete", status=400, text="abcd", at=at)["error"]["message"])
        self.assertEqual(self.get("query/complete", text="x" * 9000)["items"], [])


class Notes(ServerCase):
    def test_condition_in_text(self):
        """A search for a text that looks like a condition says how conditions are written."""
        self.expect(200, "POST", "/api/v1/reports?wait=30", body=report(1, place=1))
        for path in ("issues", "reports", "issues/1/reports"):
            for text, key in (("version:4.2", "version"), ("no such -is:open", "is"), ("tag.channel:x", "tag.NAME")):
                answer = self.server.query(f"/api/v1/{path}", q=text)[1]
                self.assertEqual(answer.get("notes"), ["q is searched for as it is; conditions are read from query: "
                                                       f"query={key}:VALUE"], (path, text))
            for text in ("no such text", "std::no_such", "version:", "- -", ":::", "-[Cart add:item:]"):
                self.assertNotIn("notes", self.expect_text(path, text), text)
            self.assertNotIn("notes", self.server.query(f"/api/v1/{path}", query="version:77")[1])
            self.assertNotIn("notes", self.server.query(f"/api/v1/{path}")[1])

    def expect_text(self, path, text):
        status, answer = self.server.query(f"/api/v1/{path}", q=text)
        self.assertEqual(status, 200, answer)
        return answer


class Redirects(ServerCase):
    def test_merged(self):
        if self.server.database:
            self.skipTest("changes the file of SQLite")
        for place in (5, 6):
            self.expect(200, "POST", "/api/v1/reports?wait=30", body=report(place, place=place))
        database = sqlite3.connect(os.path.join(self.server.data, "framezero.db"))
        database.execute("UPDATE issues SET merged_into = (SELECT id FROM issues WHERE number = 1) WHERE number = 2")
        database.commit()
        database.close()
        where = urllib.parse.urlsplit(self.server.url)
        connection = http.client.HTTPConnection(where.hostname, where.port)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/issues/2/reports?query=os%3A18.1&limit=3",
                           headers={"Authorization": f"Bearer {self.server.admin_token}"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 308)
        self.assertEqual(answer.getheader("Location"), "/api/v1/issues/1/reports?query=os%3A18.1&limit=3")
        self.assertEqual(json.loads(answer.read()), {"number": 2, "merged_into": 1})
        # A filter by the old number leads there as well; what was merged is not listed.
        self.assertEqual(len(self.expect(200, "GET", "/api/v1/issues?query=issue:2")["issues"]), 1)
        self.assertEqual([i["number"] for i in self.expect(200, "GET", "/api/v1/issues")["issues"]], [1])


if __name__ == "__main__":
    main()
