#!/usr/bin/env python3
"""The pages of docs/api are correct: their commands run, in order, against a real server.


Each page gets a new server; $URL, $TOKEN (admin) and $KEY (ingest) are set and the folder is the project's. A block
```sh is run. A line that is only a status in backquotes (`202`) must be the status of the block's last curl; a block
```json or ```text after it must equal what it printed. There, "…" as a key or as an array's last element means
anything; times, ids that the server makes and cursors may differ.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from case import BINARY, REST, SOURCE
from framezero import Server

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
MADE = {"upload": r"^[0-9a-f]{32}$", "next_cursor": r"^[\w-]+$"}
MADE.update({key: MADE["upload"] for key in ("id", "newest_report", "best_report")})
# What the kernel of the machine decides: only the type is compared.
MACHINE = ("landlock_abi", "active", "absent")
MADE["level"] = r"^(full|partial|none)$"
MARK = "@@ end of block"


def parse_page(text):
    """[{"sh": …, "status": …, "kind": "json" | "text" | None, "want": …}]"""
    steps = []
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$|^`(\d{3})`", text, re.M | re.S):
        kind, body, status = found.groups()
        if kind == "sh":
            steps.append({"sh": body, "status": None, "kind": None, "want": None})
        elif steps and status:
            steps[-1]["status"] = int(status)
        elif steps and kind in ("json", "text") and steps[-1]["want"] is None:
            steps[-1].update(kind=kind, want=body)
    return steps


def run_steps(server, steps):
    """What each block printed, and the status of its last curl."""
    script = "curl() { command curl -s -w '%{stderr}%{http_code}\\n' \"$@\"; }\n"
    for step in steps:
        script += step["sh"] + f"\necho '{MARK}'; echo '{MARK}' >&2\n"
    env = {**os.environ, "URL": server.url, "TOKEN": server.admin_token, "KEY": server.ingest_key,
           "PATH": os.path.dirname(server.binary) + ":" + os.environ["PATH"], "DATA": server.data}
    done = subprocess.run(["bash", "-c", script], cwd=SOURCE, env=env, capture_output=True, text=True, timeout=120)
    outs, errs = done.stdout.split(MARK + "\n"), done.stderr.split(MARK + "\n")
    statuses = [re.findall(r"^\d{3}$", err, re.M) for err in errs]
    return [(out, int(status[-1]) if status else None) for out, status in zip(outs, statuses)][:len(steps)]


def differs(want, got, key="", where="$"):
    """The first difference as a text; None if both are equal."""
    if isinstance(want, dict) and isinstance(got, dict):
        more = "…" in want
        for name, value in want.items():
            if name != "…":
                if name not in got:
                    return f"{where}.{name} is missing"
                found = differs(value, got[name], name, f"{where}.{name}")
                if found:
                    return found
        extra = set(got) - set(want)
        return f"{where} also has {sorted(extra)}" if extra and not more else None
    if key in MACHINE and type(want) is type(got):
        return None
    if isinstance(want, list) and isinstance(got, list):
        more = bool(want) and want[-1] == "…"
        want = want[:-1] if more else want
        if len(got) < len(want) or (len(got) > len(want) and not more):
            return f"{where} has {len(got)} elements"
        return next((d for i, w in enumerate(want) if (d := differs(w, got[i], key, f"{where}[{i}]"))), None)
    if want == got and type(want) is type(got):
        return None
    if isinstance(want, str) and isinstance(got, str):
        if TIME.match(want) and TIME.match(got):
            return None
        if key in MADE and re.match(MADE[key], want) and re.match(MADE[key], got):
            return None
    return f"{where} is {json.dumps(got)}, the page says {json.dumps(want)}"


def check_text(want, got):
    """Line by line; a line "…" means any lines."""
    def steady(text):
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.]*", "TIME", text.strip("\n"))
        return re.sub(r"(?i)\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b", "ID", text) + "\n"

    lines = steady(want).splitlines(keepends=True)
    pattern = "".join(r"(?s:.*?)" if line == "…\n" else re.escape(line) for line in lines)
    return None if re.fullmatch(pattern, steady(got)) else f"printed:\n{got}"


def check_page(page):
    with open(page, encoding="utf-8") as f:
        steps = parse_page(f.read())
    problems = []
    with tempfile.TemporaryDirectory() as data, Server(BINARY, workers=1, data=data) as server:
        results = run_steps(server, steps)
    for step, (out, status) in zip(steps, results):
        what = None
        if step["status"] and status != step["status"]:
            what = f"status {status}, the page says {step['status']}: {out[:300]}"
        elif step["kind"] == "json":
            try:
                what = differs(json.loads(step["want"]), json.loads(out))
            except ValueError as error:
                what = f"{error}: {out[:300]!r}"
        elif step["kind"] == "text":
            what = check_text(step["want"], out)
        if what:
            problems.append(f"{os.path.basename(page)}: {step['sh'].strip()}\n    {what}")
    if len(results) != len(steps):
        problems.append(f"{page}: only {len(results)} of {len(steps)} blocks were run")
    return len(steps), problems


def main():
    folder = os.path.join(SOURCE, "docs", "api")
    pages = REST or sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".md"))
    n_steps, problems = 0, []
    for page in pages:
        n, found = check_page(page)
        n_steps += n
        problems += found
    # Every route is on a page.
    with open(os.path.join(folder, "openapi.json"), encoding="utf-8") as f:
        paths = json.load(f)["paths"]
    text = "".join(open(page, encoding="utf-8").read() for page in pages)
    if not REST:
        problems += [f"no page describes {method.upper()} {path}" for path, methods in paths.items() for method in methods
                     if f"`{method.upper()} {path}`" not in text]
    print("\n".join(problems) or f"{len(pages)} pages, {n_steps} commands: as documented")
    sys.exit(1 if problems or n_steps == 0 else 0)


if __name__ == "__main__":
    main()
