#!/usr/bin/env python3
"""docs/operations: what alerts and the dashboard read is what a server tells, and the page has each alert."""

import json
import os
import re
import unittest

from case import SAMPLE, SOURCE, ServerCase, main

FOLDER = os.path.join(SOURCE, "docs", "operations")
NAME = re.compile(r"\b(?:framezero|process)_[a-z_]+\b")
LABEL = re.compile(r'\b((?:framezero|process)_[a-z_]+)\{([^}]*)\}')


def read(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()


def expressions():
    """(where, expression) of rules and panels."""
    rules = read(FOLDER, "prometheus-rules.yml")
    # `expr:` with its value on the same line, or in the lines below that are further in.
    for found in re.finditer(r"- alert: (\w+)\n(?: +#.*\n)* +expr: (?:>-\n((?: {10,}.*\n)+)|(.*)\n)", rules):
        yield found[1], found[2] or found[3]
    for panel in json.loads(read(FOLDER, "grafana.json"))["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


class Operations(ServerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(SAMPLE, "report.json"), "rb") as file:
            _, answer = cls.server.request("POST", "/api/v1/reports?wait=10", file.read())
        cls.server.wait_report(answer["id"])
        cls.metrics = cls.server.request("GET", "/metrics", token=None)[1].decode()

    def test_metrics(self):
        known = set()
        for name, kind in re.findall(r"(?m)^# TYPE (\w+) (\w+)$", self.metrics):
            known |= {name + end for end in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
        told = list(expressions())
        self.assertGreater(len(told), 40)
        for where, expression in told:
            names = set(NAME.findall(expression))
            self.assertTrue(names or "up{" in expression, expression)
            self.assertLessEqual(names, known, f"{where}: no server has {names - known}")

    def test_labels(self):
        """A condition on a label names one that the metric has: another would never match."""
        for where, expression in expressions():
            for name, conditions in LABEL.findall(expression):
                for label, _, value in re.findall(r'(\w+)(!?=~?)"([^"]*)"', conditions):
                    if label in ("job", "instance"):  # Prometheus' own
                        continue
                    lines = re.findall(rf"(?m)^{name}\{{(.*)\}} ", self.metrics)
                    self.assertTrue(any(f'{label}="' in line for line in lines), f"{where}: {name} has no label {label}")
                    if label in ("state", "route") and "|" not in value:
                        self.assertTrue(any(f'{label}="{value}"' in line for line in lines), f"{where}: no {label} {value}")

    def test_page(self):
        page = read(SOURCE, "docs", "operations.md")
        alerts = re.findall(r"- alert: (\w+)", read(FOLDER, "prometheus-rules.yml"))
        self.assertEqual(re.findall(r"(?m)^\| `(Framezero\w+)` \|", page), alerts)
        for name in os.listdir(FOLDER):
            self.assertIn(f"(operations/{name})", page)

    def test_dashboard(self):
        dashboard = json.loads(read(FOLDER, "grafana.json"))
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in dashboard["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])


if __name__ == "__main__":
    main()
