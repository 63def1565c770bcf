"""Every list, filter and search of the API, as requests for the test of query plans.

requests(ids, spans) gives (name, URL). What openapi.json and the query language
have is compared with what is here, so a new list or key without a request is a failure.
"""

import json
import pathlib
import re
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parents[3]

# GETs that read no table which grows, or wait for something else than the database.
WITHOUT = {
    "/api/v1/session", "/api/v1/session/oidc", "/api/v1/session/oidc/callback", "/api/v1/openapi.json", "/api/v1/events",
    "/api/v1/account/sessions",  # of a user: a cookie; web_sessions_user
    "/api/0", "/api/0/organizations", "/api/0/organizations/{org}/chunk-upload", "/api/0/organizations/{org}/repos",
}

# Of each key of the query language: a value that is in the data of bench/issues.py where it can be; its beginning.
VALUES = {
    "version": ("6.5", "6."), "build": ("155", "15"), "release": ("com.acme.shop@6.5+155", "com.acme.shop@6"),
    "os": ("18.2", "iO"), "os_version": ("18.2", "18."), "os_build": ("22C150", "22C"), "device": ('"iPhone12,2"', "iPhone1"),
    "arch": ("arm64e", "arm"), "environment": ("beta", "be"), "app": ("com.acme.shop", "com."), "status": ("partial", None),
    "kind": ("crash", None), "format": ("framezero", "frame"), "exception": ("NS7Exception", "NS1"), "signal": ("SIGSEGV", "SIG"),
    "mach": ("EXC_BAD_ACCESS", "EXC_"), "code": ("KERN_INVALID_ADDRESS", "KERN_"), "function": ("Screen17", "-[Screen17"),
    "file": ("Screen17", "/src/Screen1"), "reason": ("selector", "unrecognized"), "text": ('"unrecognized selector"', None),
    "user": ("user-000017", "user-0000"), "tag": ("channel=store", "channel=st"), "run": ("r-8", "r-"), "image": ("Shop", "Sh"),
    "uuid": ("4c4c442e55553144a1387743844373d8", None), "id": (f"{77:032x}", f"{77:032x}"[:31]), "received": ("24h", None),
    "crashed": ("24h", None), "variant": ("7", None), "issue": ("7", None), "is": ("open", None), "assignee": ("ann", "an"),
    "first_seen": ("7d", None), "last_seen": ("7d", None), "introduced": ("6.5", "6."), "fixed": ("6.5", "6."),
    "since": ("24h", None), "until": ("24h", None),
}
CHOICES = {"status": ("queued", "partial", "failed"),
           "is": ("open", "resolved", "ignored", "regressed", "new", "unassigned", "placeholder")}


def documented_keys():
    """{key: operators}, of the table in docs/query.md, which a unit test compares with the program."""
    text = (TOP / "docs" / "query.md").read_text()
    rows = re.findall(r"^\| (`[a-z_` ]+`) \| (?:report|issue) \| ([^|]*)\|", text, re.M)
    return {re.findall(r"`(\w+)`", names)[0]: re.findall(r"`([^`]+)`", operators) for names, operators in rows}


def conditions():
    """(name, text) of each key with each kind of operator, and some together."""
    for key, operators in documented_keys().items():
        value, beginning = VALUES[key]
        if "=" in operators or not operators:
            for choice in CHOICES.get(key, (value,)):
                yield f"{key}:{choice}"
            yield f"-{key}:{value}"
            yield f"{key}:={value}" if key in ("function", "file", "reason") else None
        if "*" in operators:
            yield f"{key}:{beginning}*"
            yield f"{key}:*{beginning.strip('-[/')}*" if key not in ("tag", "id") else None
        if "<" in operators:
            yield f"{key}:>={value}"
            yield f"{key}:<{value}"
        if "has:" in operators and key != "tag":
            yield f"has:{key}"
            yield f"-has:{key}"
    yield "tag.channel:store"  # not has:tag.channel, which all tags of the data are
    yield "device:iPad*,iPod*"
    yield "os:>=17 device:iPhone14*"
    yield "version:6.5 is:open selector"


def searches():
    """(name, path of openapi.json, query, other parameters)"""
    texts = ["", *filter(None, conditions())]
    for path in ("issues", "reports"):
        for text in texts:
            yield f"{path} {text}".strip(), f"/api/v1/{path}", text, {}
    for text in ("", "version:>=6.0", "device:iPad*", "selector", "-os:18.2", "user:user-000017", "tag.channel:store"):
        for number in (1, 500):
            yield f"issue {number} {text}".strip(), "/api/v1/issues/{number}", text, {"number": number}
            yield f"issue {number} reports {text}".strip(), "/api/v1/issues/{number}/reports", text, {"number": number}
            yield f"issue {number} variants {text}".strip(), "/api/v1/issues/{number}/variants", text, {"number": number}
    for sort in ("reports", "users", "last_seen", "first_seen", "trend"):
        yield f"issues by {sort}", "/api/v1/issues", "", {"sort": sort}
    for sort in ("received", "timestamp", "-received", "-timestamp"):
        yield f"reports by {sort}", "/api/v1/reports", "", {"sort": sort}
    yield "reports, counted", "/api/v1/reports", "version:6.5", {"count": "true"}


def plain(ids):
    """The lists without a query, and what is read by a name."""
    report = f"{77:032x}"
    yield "report", "/api/v1/reports/{id}", {"id": report}
    yield "attachment", "/api/v1/reports/{id}/attachments/{n}", {"id": "f" * 32, "n": 0}
    yield "activity", "/api/v1/issues/{number}/activity", {"number": 1}
    yield "similar", "/api/v1/issues/{number}/similar", {"number": 1}
    for since in ("14d", "92d"):
        yield f"versions {since}", "/api/v1/versions", {"since": since}
        yield f"versions {since} beta", "/api/v1/versions", {"since": since, "environment": "beta"}
        yield f"sessions {since}", "/api/v1/sessions", {"since": since}
        yield f"export versions {since}", "/api/v1/export/versions", {"since": since}
    yield "export reports", "/api/v1/export/reports", {"limit": 100, "query": "version:6.5"}
    yield "export issues", "/api/v1/export/issues", {"limit": 100}
    for field in ("version", "build", "os", "os_version", "device", "arch", "environment", "app", "exception", "signal",
                  "reason", "function", "file", "user", "tag"):
        yield f"values {field}", "/api/v1/values", {"field": field}
        yield f"values {field} prefix", "/api/v1/values", {"field": field, "prefix": "a"}
    for text in ("user:user-0", "device:iPh", "tag.channel:", "reason:un", "tag.", "assignee:a"):
        yield f"complete {text}", "/api/v1/query/complete", {"text": text, "at": len(text)}
    yield "person", "/api/v1/people/{person}", {"person": "user-000017"}
    yield "person's data", "/api/v1/people/{person}/export", {"person": "user-000017", "limit": 10}
    yield "erasure", "/api/v1/erasures/{id}", {"id": 1}
    yield "audit", "/api/v1/audit", {}
    yield "audit of an action", "/api/v1/audit", {"action": "project_put", "since": "7d"}
    yield "audit of an actor", "/api/v1/audit", {"actor": "ann", "until": "1h"}
    yield "symbols", "/api/v1/symbols", {}
    yield "missing symbols", "/api/v1/symbols/missing", {}
    yield "symbols of a UUID", "/api/v1/symbols/{uuid}", {"uuid": "4c4c442e55553144a1387743844373d8"}
    yield "uploads that failed", "/api/v1/uploads", {"status": "failed"}
    yield "upload", "/api/v1/uploads/{id}", {"id": "0" * 32}
    yield "deliveries", "/api/v1/channels/{id}/deliveries", {"id": ids["channel"]}
    for name in ("filters", "channels", "users", "projects", "tokens", "project", "grouping"):
        yield name, f"/api/v1/{name}", {}
    yield "retention", "/api/v1/project/retention", {}
    yield "retention of 30 days", "/api/v1/project/retention", {"keep_reports_days": 30}
    scope = {"org": "acme", "project": "default", "version": "com.acme.shop@6.5+155"}
    for path in ("/api/0/organizations/{org}/projects", "/api/0/projects/{org}/{project}/files/dsyms",
                 "/api/0/projects/{org}/{project}/releases", "/api/0/projects/{org}/{project}/releases/{version}",
                 "/api/0/organizations/{org}/releases", "/api/0/organizations/{org}/releases/{version}",
                 "/api/0/organizations/{org}/releases/{version}/previous-with-commits",
                 "/api/0/organizations/{org}/releases/{version}/deploys"):
        yield path[len("/api/0/"):], path, scope
    yield "dSYMs unknown", "/api/0/projects/{org}/{project}/files/dsyms/unknown", {**scope, "checksums": "a" * 40}


def url(path, parameters):
    """Names in braces are filled in, the others follow the question mark."""
    names = set(re.findall(r"{(\w+)}", path))
    for name in names:
        path = path.replace("{%s}" % name, urllib.parse.quote(str(parameters[name]), safe=""))
    rest = {key: value for key, value in parameters.items() if key not in names and not (path.startswith("/api/0/") and key in
                                                                                        ("org", "project", "version"))}
    return path + ("?" + urllib.parse.urlencode(rest) if rest else "")


def requests(ids, spans):
    """(name, URL); checks that each GET of openapi.json is among them."""
    found, covered = [], set()
    for name, path, text, more in searches():
        covered.add(path)
        for span in spans:
            query = f"{span} {text}".strip()
            found.append((f"{name} {span}".strip(), url(path, {**more, **({"query": query} if query else {})})))
    for name, path, more in plain(ids):
        covered.add(path)
        found.append((name, url(path, more)))
    paths = json.loads((TOP / "docs" / "api" / "openapi.json").read_text())["paths"]
    documented = {path for path, methods in paths.items() if "get" in methods and path.startswith("/api/")}
    wrong = (documented - covered - WITHOUT) | (covered - documented) | (WITHOUT - documented)
    if wrong:
        raise SystemExit(f"plans: plan_requests.py and openapi.json differ: {', '.join(sorted(wrong))}")
    return found
