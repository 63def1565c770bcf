#!/usr/bin/env python3
"""skipped.py JUNIT: names the tests of a ctest run that were skipped for another reason than that the corpus of real
files (FRAMEZERO_CORPUS) is not on this machine; exit 1 if there are any. ./dev installs all else that tests need."""
import sys
import xml.etree.ElementTree

LAST_LINES = 3


def unwanted(tree):
    lines = []
    for case in tree.iter("testcase"):
        output = case.findtext("system-out") or ""
        if case.find("skipped") is not None and "FRAMEZERO_CORPUS" not in output:
            lines.append(case.get("name"))
            lines += ["    " + line for line in output.strip().splitlines()[-LAST_LINES:]]
    return lines


if __name__ == "__main__":
    skipped = unwanted(xml.etree.ElementTree.parse(sys.argv[1]))
    print("\n".join(skipped), end="\n" if skipped else "")
    sys.exit(1 if skipped else 0)
