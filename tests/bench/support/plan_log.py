"""What PostgreSQL's auto_explain writes into the server's log: the plan of each statement as it was executed.

A connection asks for it by the options in its URL (explained()). Log.read() gives what was written since the last call.
"""

import collections
import json
import re
import urllib.parse

OPTIONS = ("session_preload_libraries=auto_explain", "auto_explain.log_min_duration=0", "auto_explain.log_analyze=on",
           "auto_explain.log_timing=off", "auto_explain.log_nested_statements=on", "auto_explain.log_format=json",
           "log_min_messages=log")
START = re.compile(r" LOG:  duration: [\d.]+ ms  plan:$")

Statement = collections.namedtuple("Statement", "text plan")
# What a plan does with a table: how (the kind of node), by which index, rows that it looked at.
Access = collections.namedtuple("Access", "table how index rows")


def explained(database):
    """The URL, for connections that have their plans logged; its user must be a superuser."""
    options = urllib.parse.quote(" ".join(f"-c {option}" for option in OPTIONS))
    return database + ("&" if "?" in database else "?") + f"options={options}"


class Log:
    def __init__(self, path):
        self.file = open(path, encoding="utf-8", errors="replace")
        self.file.seek(0, 2)
        self.rest = ""
        self.plan = None  # lines of one that is not complete

    def take(self, found):
        """The plan whose lines were read, if that was all of them."""
        if not self.plan:
            return
        try:
            explained_by = json.loads("\n".join(self.plan))
        except json.JSONDecodeError:
            return  # another thread of the server's is being written
        found.append(Statement(explained_by["Query Text"], explained_by["Plan"]))
        self.plan = None

    def read(self):
        """The statements that were executed since."""
        found = []
        lines = (self.rest + self.file.read()).split("\n")
        self.rest = lines.pop()
        for line in lines:
            if line.startswith("\t"):
                if self.plan is not None:
                    self.plan.append(line[1:])
                continue
            self.take(found)
            self.plan = [] if START.search(line) else None
        self.take(found)
        return found


def is_parallel(plan):
    return plan["Node Type"].startswith("Gather") or any(map(is_parallel, plan.get("Plans", [])))


def accesses(plan, is_limited=False):
    """Each access of a plan to a table. Below a limit, the rows of one turn of a loop are counted."""
    how = plan["Node Type"]
    rows = plan.get("Actual Rows", 0) + sum(value for key, value in plan.items() if key.startswith("Rows Removed by"))
    rows *= 1 if is_limited else plan.get("Actual Loops", 1)
    children = plan.get("Plans", [])
    if how == "Bitmap Heap Scan":
        for child in children:
            # The index of a bitmap belongs to the table of the node above.
            for one in accesses(child, is_limited):
                yield one._replace(table=one.table or plan["Relation Name"])
        return
    if "Relation Name" in plan or how == "Bitmap Index Scan":
        yield Access(plan.get("Relation Name"), how, plan.get("Index Name", ""), rows)
    for child in children:
        yield from accesses(child, is_limited or how == "Limit")
