"""The tables of routes in the source: who may call what, and what it is counted as.

read() gives {(method, path): Row}. A row is one line of server/api/api.c, of a client protocol or of server/web:

    {"POST", "/api/v1/symbols", "symbol_post", .scope = STORE_SCOPE_UPLOAD, .body = API_BODY_SYMBOLS, ...},

and what it leaves out is in `.defaults` of its table.
"""

import collections
import glob
import os
import re

from case import SOURCE

# scope: "ingest"... or None; takes: API_TAKES_* or None; sees_all: where requests are kept from other projects' rows, this one is not
Row = collections.namedtuple("Row", "name scope takes sees_all")

ROW = re.compile(r'^    \{"([A-Z]+)", "([^"]+)", "(\w+)"(.*?)\},', re.M)
DEFAULTS = re.compile(r"(?:\.defaults =\s*|FZ_ARRAY_LEN\(rows\), )\{(.*?)\}", re.S)
# What a body counts as unless its row says otherwise (takes_of() in server/api/api.c).
TAKES = {"API_BODY_REPORT": "API_TAKES_REPORTS", "API_BODY_ENVELOPE": "API_TAKES_REPORTS",
         "API_BODY_SYMBOLS": "API_TAKES_SYMBOLS", "API_BODY_CHUNKS": "API_TAKES_SYMBOLS"}


def members(text):
    return dict(re.findall(r'\.(\w+) = "?(\w+)', text))


def read():
    rows = {}
    others = [path for pattern in ("server/clients/**/*.c", "server/web/*.c")
              for path in glob.glob(pattern, root_dir=SOURCE, recursive=True)]
    for path in ("server/api/api.c", *sorted(others)):
        if path == "server/web/files.c":  # the page itself, which is no API
            continue
        with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
            text = f.read()
        defaults = DEFAULTS.search(text)
        defaults = members(defaults.group(1)) if defaults else {}
        for method, pattern, name, rest in ROW.findall(text):
            if method != "OPTIONS":
                cell = {**defaults, **members(rest)}
                scope = cell.get("scope", "").rpartition("_")[2].lower()
                rows[method, pattern] = Row(name, scope or None, cell.get("takes", TAKES.get(cell.get("body"))),
                                            "sees_all" in cell)
    return rows
