#!/usr/bin/env python3
"""A server that has had 110 reports of an app stores the next ones with a dictionary; every report stays what it was."""

import json
import sqlite3

from case import ServerCase, main, until
from symbol_files import sample

FIRST, NEXT = 110, 20


def body(n):
    report = json.loads(sample("report.json"))
    report["id"] = f"{n:032x}"
    report["custom"] = {"number": n}
    return json.dumps(report).encode()


class Dictionaries(ServerCase):
    def post(self, numbers):
        ids = [self.expect(202, "POST", "/api/v1/reports", body=body(n))["id"] for n in numbers]
        for one in ids:
            self.server.wait_report(one)
        return ids

    def read(self, one):
        raw = self.expect(200, "GET", f"/api/v1/reports/{one}?format=raw")
        return raw, self.expect(200, "GET", f"/api/v1/reports/{one}")

    def trained(self):
        return self.server.log().count("a dictionary was trained")

    def test_reports(self):
        first = self.post(range(1, FIRST))
        before = self.read(first[0])
        self.server.terminate()
        self.server.start()  # a worker looks when it starts
        until(lambda: self.trained() == 2, "a dictionary of bodies and one of results")
        following = self.post(range(FIRST, FIRST + NEXT))
        self.server.terminate()
        self.server.start()  # with nothing in memory
        self.assertEqual(self.read(first[0]), before)
        for i, one in enumerate(following):
            raw, result = self.read(one)
            self.assertEqual(raw, body(FIRST + i))
            self.assertEqual(result["threads"], before[1]["threads"])
        with sqlite3.connect(f"{self.server.data}/framezero.db") as database:
            sizes = [
                database.execute(
                    "SELECT avg(length(b.body)), avg(length(t.result)) FROM reports r JOIN report_bodies b ON "
                    "b.report_key = r.key JOIN report_results t ON t.report_key = r.key WHERE r.id IN "
                    f"({', '.join('?' * len(ids))})",
                    ids,
                ).fetchone()
                for ids in (first, following[1:])
            ]
        for old, new in zip(*sizes):
            self.assertLess(new, old / 2)


if __name__ == "__main__":
    main()
