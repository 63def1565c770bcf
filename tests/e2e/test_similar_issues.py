#!/usr/bin/env python3
"""GET /issues/{number}/similar: what is proposed for an issue, in which order and why, and what is not."""

import json

from case import ServerCase, main
from openapi import DescribedServer as Server
from test_issues import crash

HOSTILE = '</script>"\\\u202e %s ' + "x" * 600


class Similar(ServerCase):
    server_type = Server
    workers = 2

    def issue(self, n, *functions, **more):
        frames = [{"address": hex(0x100001000 + 16 * i), "function": f} for i, f in enumerate(functions)]
        body = crash("", n, threads=[{"index": 0, "crashed": True, "frames": frames}], **more)
        status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=body)
        self.assertEqual(status, 200, answer)
        return self.expect(200, "GET", f"/api/v1/reports/{answer['id']}")["issue"]["number"]

    def similar(self, number, **query):
        status, answer = self.server.query(f"/api/v1/issues/{number}/similar", **query)
        self.assertEqual(status, 200, answer)
        return answer["similar"]

    def test_proposals(self):
        base = ["cart_total", "cart_draw", "cart_show", "cart_open", "main"]
        first = self.issue(1, *base)
        near = self.issue(2, "cart_sum", *base)
        far = self.issue(3, "cart_sort", "cart_list", "cart_show", "main")
        other = self.issue(4, "login", "session", "main")
        self.assertEqual(len({first, near, far, other}), 4)
        found = self.similar(first)
        self.assertEqual(found[0]["number"], near)
        self.assertEqual((found[0]["title"], found[0]["state"], found[0]["reports"]), ("cart_sum", "open", 1))
        self.assertEqual(found[0]["function_count"], 5)
        self.assertEqual(len(found[0]["functions"]), 5)
        self.assertTrue(found[0]["why"].startswith("both have cart_total, ") and found[0]["why"].endswith(" and main"),
                        found[0]["why"])
        scores = [p["score"] for p in found]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertTrue(all(-0.25 <= score <= 1 for score in scores), scores)
        numbers = [p["number"] for p in found]
        self.assertNotIn(first, numbers)
        self.assertNotIn(other, numbers)
        # It holds in both directions, and a proposal does nothing.
        self.assertEqual([p["number"] for p in self.similar(near)][0], first)
        self.assertEqual(self.expect(200, "GET", f"/api/v1/issues/{near}")["reports"], 1)
        self.assertEqual(self.similar(first), found)
        self.assertEqual(self.similar(first, limit=1), found[:1])
        # The issue that has the reports is proposed, and answers.
        self.expect(200, "POST", f"/api/v1/issues/{near}/merge", body=json.dumps({"into": other}).encode())
        self.assertEqual(self.similar(first)[0]["number"], other)
        self.expect(308, "GET", f"/api/v1/issues/{near}/similar?limit=2")
        self.assertEqual(self.server.last_headers["Location"], f"/api/v1/issues/{other}/similar?limit=2")
        self.assertEqual(self.similar(other)[0]["number"], first)
        self.expect(200, "POST", f"/api/v1/issues/{other}/merge", body=json.dumps({"into": first}).encode())
        self.assertNotIn(other, [p["number"] for p in self.similar(first)])

    def test_what_is_refused(self):
        number = self.issue(10, "refused")
        for query in ("limit=0", "limit=21", "limit=x", "limi=3", "query=is:open"):
            self.expect(400, "GET", f"/api/v1/issues/{number}/similar?{query}")
        for path in ("999999", "0", "-1", "x", "9" * 40):
            self.expect(404, "GET", f"/api/v1/issues/{path}/similar")
        self.expect(403, "GET", f"/api/v1/issues/{number}/similar", token="ingest")
        self.expect(401, "GET", f"/api/v1/issues/{number}/similar", token=None)

    def test_nothing_to_compare(self):
        """No stack, no names, or functions that no other issue has."""
        empty = self.issue(20)
        self.assertEqual(self.similar(empty), [])
        unnamed = self.expect(200, "GET", "/api/v1/issues?limit=1")["issues"][0]["number"]
        self.assertIsInstance(self.similar(unnamed), list)
        self.assertEqual(self.similar(self.issue(21, "only_here")), [])

    def test_hostile(self):
        """Names of any length and any text, deep stacks, one function again and again."""
        deep = [f"deep_{i}" for i in range(600)]
        pairs = [(self.issue(30, "hostile_a", HOSTILE, HOSTILE + "!"), self.issue(31, "hostile_b", HOSTILE, HOSTILE + "!")),
                 (self.issue(32, "deep_a", *deep), self.issue(33, "deep_b", *deep)),
                 (self.issue(34, "again_a", *["again"] * 3), self.issue(35, "again_b", *["again"] * 3))]
        for a, b in pairs:
            found = {p["number"]: p for p in self.similar(a)}
            self.assertIn(b, found)
            self.assertLessEqual(len(found[b]["functions"]), 5)
        self.assertEqual(found[b]["functions"], ["again"])
        self.assertEqual(found[b]["why"], "both have again")

    def test_many(self):
        """Hundreds of issues with one path: few are compared, quickly, and the most similar one is found."""
        path = ["many_1", "many_2", "many_3", "many_4", "main"]
        first = self.issue(40, "many_first", "rare", *path)
        for i in range(150):
            body = crash(f"many_leaf_{i}", 1000 + i, threads=[{"index": 0, "crashed": True, "frames": [
                {"address": hex(0x100001000 + 16 * k), "function": f} for k, f in enumerate([f"many_leaf_{i}", *path])]}])
            self.expect(202, "POST", "/api/v1/reports", body=body)
        near = self.issue(41, "many_near", "rare", *path)
        for _ in range(100):
            self.assertEqual(self.similar(first)[0]["number"], near)
        # What all of them have says nothing.
        leaf = self.server.query("/api/v1/issues", query="function:many_leaf_77")[1]["issues"][0]["number"]
        self.assertEqual(self.similar(leaf, limit=20), [])


if __name__ == "__main__":
    main()
