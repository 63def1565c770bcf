"""One documented request for each route, as tests send them to a server that has just been started.

build(server, sample) gives {(method, path of openapi.json): Request}. The pages of docs/api show the same requests.
"""

import hashlib
import io
import json
import os
import zipfile

GOLDEN = os.path.join(os.path.dirname(__file__), "..", "golden")
BOUNDARY = "framezero-boundary"
UUID = "4c4c442e55553144a1387743844373d8"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


class Request:
    def __init__(self, path, body=None, headers=None, token="admin", status=200):
        self.path, self.body, self.headers, self.token = path, body, headers or {}, token
        self.status = status  # of the first answer; later ones may be a conflict or "not found"


def form(*parts):
    """A multipart body of (name, file name or None, bytes)."""
    body = b""
    for name, file, data in parts:
        label = f'; filename="{file}"' if file else ""
        body += f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{label}\r\n\r\n'.encode() + data + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


def golden(path):
    with open(os.path.join(GOLDEN, path), "rb") as f:
        return f.read()


def envelope(event, **header):
    lines = [header, {"type": "event"}, event]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def new_report(**more):
    return json.dumps({"framezero": 1, "addresses": ["0x10000410c"], "images": [], **more}).encode()


def send(server, body):
    """The id of a new report."""
    return server.request("POST", "/api/v1/reports", body=body, token="ingest")[1]["id"]


def reports(server, key, report):
    shop = json.dumps({"event_id": "d3b07384d113edec49eaa6238ad5ff00", "platform": "cocoa", "level": "fatal",
                       "message": "out of cups"}).encode()
    # An envelope with an attachment, so that a test can get one.
    attached = envelope({"event_id": "d3b07384d113edec49eaa6238ad5ff01", "message": "m"}) + \
        b'{"type":"attachment","length":5,"filename":"log.txt"}\nhello\n'
    server.request("POST", f"/api/1/envelope/?sentry_key={key}", body=attached, token=None)
    kept, doomed = send(server, report), send(server, new_report(tags={"n": "2"}))
    dump = golden("minidump/signal_ios/input.dmp")
    return {
        ("POST", "/api/v1/reports"): Request("/api/v1/reports?wait=10", report),
        ("GET", "/api/v1/reports"): Request("/api/v1/reports?limit=10&app=Demo"),
        ("GET", "/api/v1/reports/{id}"): Request(f"/api/v1/reports/{kept}?format=crash"),
        ("DELETE", "/api/v1/reports/{id}"): Request(f"/api/v1/reports/{doomed}", status=204),
        ("POST", "/api/v1/reports/{id}/reprocess"): Request(f"/api/v1/reports/{kept}/reprocess", status=202),
        ("GET", "/api/v1/reports/{id}/attachments/{n}"):
            Request("/api/v1/reports/d3b07384d113edec49eaa6238ad5ff01/attachments/0"),
        ("POST", "/api/v1/symbolicate"): Request("/api/v1/symbolicate", report),
        ("POST", "/symbolicate/v5"): Request("/symbolicate/v5", json.dumps({"jobs": [{
            "memoryMap": [["Demo", UUID.upper() + "0"]], "stacks": [[[0, 16652], [0, 16543]]]}]}).encode()),
        ("GET", "/api/v1/issues"): Request("/api/v1/issues?query=kind:crash%20is:open&sort=reports&limit=10"),
        ("GET", "/api/v1/issues/{number}"): Request("/api/v1/issues/1?since=7d"),
        ("GET", "/api/v1/issues/{number}/reports"): Request("/api/v1/issues/1/reports?limit=10"),
        ("GET", "/api/v1/issues/{number}/variants"): Request("/api/v1/issues/1/variants"),
        ("GET", "/api/v1/issues/{number}/similar"): Request("/api/v1/issues/1/similar?limit=3"),
        ("GET", "/api/v1/query/complete"): Request("/api/v1/query/complete?text=is%3Aopen%20app%3Acom.&at=16"),
        ("GET", "/api/v1/values"): Request("/api/v1/values?field=app&prefix=com."),
        ("GET", "/api/v1/sessions"): Request("/api/v1/sessions"),
        ("GET", "/api/v1/events"): Request("/api/v1/events?seconds=1"),
        ("GET", "/api/v1/export/reports"): Request("/api/v1/export/reports?limit=10"),
        ("GET", "/api/v1/export/issues"): Request("/api/v1/export/issues?format=csv"),
        ("GET", "/api/v1/export/versions"): Request("/api/v1/export/versions"),
        ("GET", "/api/v1/versions"): Request("/api/v1/versions?environment=beta&limit=10&parts=3"),
        ("POST", "/api/{project}/envelope"):
            Request(f"/api/1/envelope/?sentry_key={key}", envelope({"message": "m"}), token=None),
        ("POST", "/api/{project}/store"): Request(f"/api/1/store/?sentry_key={key}", shop, token=None),
        ("POST", "/api/store"): Request(f"/api/store/?sentry_key={key}", shop, token=None),
        ("POST", "/api/{project}/minidump"): Request(
            f"/api/1/minidump/?sentry_key={key}", form(("upload_file_minidump", "a.dmp", dump)), FORM, None),
        ("POST", "/kscrash/{key}"):
            Request(f"/kscrash/{key}", form(("reports", "reports.json", report)), FORM, None),
        ("POST", "/quincy/{key}"): Request(f"/quincy/{key}", form(("xmlstring", None, report)), FORM, None),
        ("POST", "/crash_v300.php"):
            Request(f"/crash_v300.php?key={key}", form(("xmlstring", None, report)), FORM, None),
        ("POST", "/api/2/apps/{key}/crashes"):
            Request(f"/api/2/apps/{key}/crashes", form(("sdk", None, b"HockeySDK"), ("xml", "crash.xml", report)), FORM,
                    None),
        ("POST", "/crashpad/{key}"):
            Request(f"/crashpad/{key}", form(("prod", None, b"Shop"), ("upload_file_minidump", "a.dmp", dump)), FORM, None),
        ("POST", "/breakpad/{key}"):
            Request(f"/breakpad/{key}", form(("upload_file_minidump", "a.dmp", dump)), FORM, None),
        ("POST", "/socorro/{key}"):
            Request(f"/socorro/{key}", form(("upload_file_minidump", "a.dmp", dump)), FORM, None),
        ("POST", "/bugsnag/{key}"): Request(f"/bugsnag/{key}", json.dumps({
            "notifier": {"name": "iOS Bugsnag Notifier"}, "events": [{"exceptions": [
                {"errorClass": "A", "message": "b", "stacktrace": [{"frameAddress": "0x10"}]}]}]}).encode(), token=None),
    }


def filters(server):
    new = b'{"name": "%s", "query": "is:open", "since": "7d"}'
    ids = [server.request("POST", "/api/v1/filters", body=new % name)[1]["id"] for name in (b"a", b"b")]
    return {
        ("GET", "/api/v1/filters"): Request("/api/v1/filters"),
        ("POST", "/api/v1/filters"): Request("/api/v1/filters", new % b"c", status=201),
        ("PATCH", "/api/v1/filters/{id}"): Request(f"/api/v1/filters/{ids[0]}", b'{"sort": "users"}'),
        ("DELETE", "/api/v1/filters/{id}"): Request(f"/api/v1/filters/{ids[1]}", status=204),
    }


def channels(server):
    new = b'{"kind": "webhook", "url": "https://hooks.example.com/x"}'
    ids = [server.request("POST", "/api/v1/channels", body=new)[1]["id"] for _ in range(2)]
    one = f"/api/v1/channels/{ids[0]}"
    # Nothing is sent: this one is not allowed, and the others have no events.
    inside = server.request("POST", "/api/v1/channels", body=b'{"kind": "webhook", "url": "http://localhost/"}')[1]["id"]
    return {
        ("GET", "/api/v1/channels"): Request("/api/v1/channels"),
        ("POST", "/api/v1/channels"): Request("/api/v1/channels", b'{"kind": "mail", "to": ["ann@example.com"]}', status=201),
        ("PATCH", "/api/v1/channels/{id}"): Request(one, b'{"enabled": false}'),
        ("DELETE", "/api/v1/channels/{id}"): Request(f"/api/v1/channels/{ids[1]}", status=204),
        ("POST", "/api/v1/channels/{id}/rotate"): Request(f"{one}/rotate"),
        ("POST", "/api/v1/channels/{id}/test"): Request(f"/api/v1/channels/{inside}/test"),
        ("GET", "/api/v1/channels/{id}/deliveries"): Request(f"{one}/deliveries"),
        ("POST", "/api/v1/channels/{id}/deliveries/{delivery}/resend"): Request(f"{one}/deliveries/999999/resend", status=404),
    }


def users(server):
    """No cookie is sent here, so what needs one is refused; test_login.py has that."""
    login = json.dumps({"token": server.admin_token}).encode()
    invitation = json.dumps({"email": "zoe@example.com", "role": "viewer"}).encode()
    secret = server.request("POST", "/api/v1/invitations", body=invitation)[1]["url"].partition("#")[2]
    made = {"token": secret, "name": "Zoe", "password": "correct horse"}
    user = server.request("POST", "/api/v1/invitations/accept", body=json.dumps(made).encode(), token=None)[1]["user"]["id"]
    made = json.dumps({**made, "email": "eve@example.com"}).encode()
    one = f"/api/v1/users/{user}"
    return {
        ("GET", "/api/v1/session"): Request("/api/v1/session"),
        ("POST", "/api/v1/session"): Request("/api/v1/session", login, token=None),
        # Without a provider; test_oidc.py has one.
        ("GET", "/api/v1/session/oidc"): Request("/api/v1/session/oidc", token=None, status=404),
        ("GET", "/api/v1/session/oidc/callback"): Request("/api/v1/session/oidc/callback?code=x&state=y", token=None, status=404),
        ("DELETE", "/api/v1/session"): Request("/api/v1/session", token=None, status=204),
        ("POST", "/api/v1/setup"): Request("/api/v1/setup", made, token=None, status=403),
        ("POST", "/api/v1/invitations/accept"): Request("/api/v1/invitations/accept", made, token=None, status=403),
        ("POST", "/api/v1/reset"): Request("/api/v1/reset", made, token=None, status=403),
        ("GET", "/api/v1/account/sessions"): Request("/api/v1/account/sessions", status=403),
        ("DELETE", "/api/v1/account/sessions/{id}"): Request("/api/v1/account/sessions/1", status=403),
        ("PATCH", "/api/v1/account"): Request("/api/v1/account", b'{"name": "Ann"}', status=403),
        ("PUT", "/api/v1/account/password"):
            Request("/api/v1/account/password", b'{"old": "correct horse", "new": "battery staple"}', status=403),
        ("GET", "/api/v1/projects"): Request("/api/v1/projects"),
        ("POST", "/api/v1/projects"): Request("/api/v1/projects", b'{"name": "shop"}', status=201),
        ("GET", "/api/v1/tokens"): Request("/api/v1/tokens"),
        ("POST", "/api/v1/tokens"): Request("/api/v1/tokens", b'{"scopes": ["ingest"], "label": "app"}', status=201),
        ("DELETE", "/api/v1/tokens/{id}"): Request("/api/v1/tokens/4711", status=404),
        ("GET", "/api/v1/users"): Request("/api/v1/users"),
        ("PATCH", "/api/v1/users/{id}"): Request(one, b'{"roles": [{"role": "member"}]}'),
        ("DELETE", "/api/v1/users/{id}"): Request("/api/v1/users/4711", status=404),
        ("POST", "/api/v1/users/{id}/reset"): Request(f"{one}/reset", status=201),
        ("DELETE", "/api/v1/users/{id}/identities"): Request(f"{one}/identities", status=404),
        ("POST", "/api/v1/invitations"):
            Request("/api/v1/invitations", b'{"email": "bob@example.com", "role": "member", "project": "*"}', status=201),
    }


def symbols(token, zipped, slice_bytes):
    def upload(path, name, headers=None, status=200, parts=(), bearer=None):
        return Request(path, form((name, "Demo.zip", zipped), *parts), {**FORM, **(headers or {})}, bearer, status)

    sha1 = hashlib.sha1(slice_bytes).hexdigest()
    assemble = json.dumps({sha1: {"name": "Demo", "chunks": [sha1]}}).encode()
    cli = "/api/0/organizations/acme"
    project = "/api/0/projects/acme/default"
    found = {
        ("POST", "/api/v1/symbols"): Request("/api/v1/symbols?name=Demo.dSYM.zip", zipped, status=201),
        ("GET", "/api/v1/symbols"): Request("/api/v1/symbols?limit=10"),
        ("POST", "/api/v1/symbols/known"): Request("/api/v1/symbols/known", json.dumps({"uuids": [UUID]}).encode()),
        ("GET", "/api/v1/symbols/missing"): Request("/api/v1/symbols/missing"),
        ("GET", "/api/v1/symbols/{uuid}"): Request(f"/api/v1/symbols/{UUID}"),
        ("GET", "/api/v1/uploads"): Request("/api/v1/uploads?status=failed"),
        ("POST", "/api/v1/uploads/{id}/reprocess"): Request("/api/v1/uploads/" + "0" * 31 + "1/reprocess", status=404),
        ("GET", "/api/v1/uploads/{id}"): Request("/api/v1/uploads/" + "0" * 31 + "1", status=404),
        ("POST", "/api/v2/srcmap"): upload("/api/v2/srcmap", "symbols_archive", {"DD-API-KEY": token}, 202),
        ("POST", "/dsym"): upload("/dsym", "dsym", parts=(("apiKey", None, token.encode()),)),
        ("POST", "/i/crash_symbols/upload_symbol"):
            upload(f"/i/crash_symbols/upload_symbol?platform=ios&app_key={token}", "symbols"),
        ("POST", "/api/upload-symbols"): upload("/api/upload-symbols", "file", bearer=token),
        ("POST", "/symbol"): upload("/symbol", "dsym", {"X-APP-LICENSE-KEY": token}, 201),
        ("POST", "/api/sdk/v3/symbols_files"):
            upload("/api/sdk/v3/symbols_files", "symbols_file", parts=(("application_token", None, token.encode()),)),
        ("POST", "/dashboard/{app}/settings/symbols"):
            upload(f"/dashboard/abc/settings/symbols?authToken={token}", "DsymFile"),
        ("POST", "/api/v1/dsyms/upload"):
            upload("/api/v1/dsyms/upload", "file", {"X-Splunk-Mint-Auth-Token": token}),
        ("GET", "/api/0"): Request("/api/0/"),
        ("GET", "/api/0/organizations"): Request("/api/0/organizations/"),
        ("GET", "/api/0/organizations/{org}/projects"): Request(f"{cli}/projects/"),
        ("GET", "/api/0/organizations/{org}/repos"): Request(f"{cli}/repos/"),
        ("GET", "/api/0/organizations/{org}/chunk-upload"): Request(f"{cli}/chunk-upload/"),
        ("POST", "/api/0/organizations/{org}/chunk-upload"):
            Request(f"{cli}/chunk-upload/", form(("file", sha1, slice_bytes)), FORM),
        ("POST", "/api/0/projects/{org}/{project}/files/difs/assemble"):
            Request(f"{project}/files/difs/assemble/", assemble),
        ("GET", "/api/0/projects/{org}/{project}/files/dsyms/unknown"):
            Request(f"{project}/files/dsyms/unknown/?checksums={sha1}"),
        ("POST", "/api/0/projects/{org}/{project}/files/dsyms"):
            Request(f"{project}/files/dsyms/", form(("file", "a.zip", zipped)), FORM, status=201),
        ("GET", "/api/0/projects/{org}/{project}/files/dsyms"): Request(f"{project}/files/dsyms/"),
        ("POST", "/api/0/projects/{org}/{project}/files/dsyms/associate"):
            Request(f"{project}/files/dsyms/associate/", b'{"checksums": []}'),
        ("POST", "/api/0/projects/{org}/{project}/reprocessing"): Request(f"{project}/reprocessing/", b"{}"),
    }
    for scope, pattern in ((project, "/api/0/projects/{org}/{project}"), (cli, "/api/0/organizations/{org}")):
        # Both kinds of path lead to the same releases, so each has a version of its own.
        version = "1.0" if scope == cli else "2.0"
        one = f"{scope}/releases/app@{version}/"
        release = json.dumps({"version": f"app@{version}", "projects": ["default"]}).encode()
        found.update({
            ("POST", f"{pattern}/releases"): Request(f"{scope}/releases/", release, status=201),
            ("GET", f"{pattern}/releases"): Request(f"{scope}/releases/"),
            ("PUT", f"{pattern}/releases/{{version}}"): Request(one, b'{"dateReleased": "2026-11-20T10:11:12Z"}'),
            ("GET", f"{pattern}/releases/{{version}}"): Request(one),
            ("DELETE", f"{pattern}/releases/{{version}}"): Request(one, status=204),
        })
    one = f"{cli}/releases/app@1.0"
    found.update({
        ("GET", "/api/0/organizations/{org}/releases/{version}/previous-with-commits"):
            Request(f"{one}/previous-with-commits/"),
        ("POST", "/api/0/organizations/{org}/releases/{version}/deploys"):
            Request(f"{one}/deploys/", b'{"environment": "prod"}', status=201),
        ("GET", "/api/0/organizations/{org}/releases/{version}/deploys"): Request(f"{one}/deploys/"),
        # Last: what is sent to other routes needs the symbols.
        ("DELETE", "/api/v1/symbols/{uuid}"): Request(f"/api/v1/symbols/{UUID}", status=204),
    })
    return found


def crash(function, signal, **more):
    frames = [{"address": "0x100001000", "function": function}]
    image = {"uuid": UUID, "name": "Shop", "path": "/X/Shop.app/Shop", "address": "0x100000000", "size": 65536}
    return json.dumps({"framezero": 1, "crash": {"signal": signal}, "images": [image], **more,
                       "threads": [{"index": 0, "crashed": True, "frames": frames}]}).encode()


def issues(server):
    numbers = []
    for function, signal in (("pay()", "SIGSEGV"), ("checkout(int)", "SIGSEGV"), ("pay()", "SIGTRAP")):
        report = server.request("POST", "/api/v1/reports?wait=20", body=crash(function, signal))[1]
        if "issue" not in report:
            # A server without workers makes no issues: then the requests name some that are not there.
            numbers = [1, 2]
            break
        numbers.append(report["issue"]["number"])
    server.request("POST", "/api/v1/reports?wait=20", body=crash("other()", "SIGABRT", user={"id": "u-7"}))
    pay, checkout = f"/api/v1/issues/{numbers[0]}", f"/api/v1/issues/{numbers[1]}"
    return {
        ("PATCH", "/api/v1/issues/{number}"):
            Request(pay, b'{"resolved_in": ["4.3", "next"], "assignee": "anna", "title": "Paying"}'),
        ("GET", "/api/v1/issues/{number}/activity"): Request(f"{pay}/activity?limit=10"),
        ("POST", "/api/v1/issues/{number}/comments"): Request(f"{pay}/comments", b'{"text": "seen"}', status=201),
        ("POST", "/api/v1/issues/{number}/split"): Request(f"{pay}/split", b'{"variant": "SIGTRAP"}'),
        ("POST", "/api/v1/issues/{number}/merge"):
            Request(f"{checkout}/merge", json.dumps({"into": numbers[0]}).encode()),
        ("GET", "/api/v1/grouping"): Request("/api/v1/grouping"),
        ("PUT", "/api/v1/grouping"):
            Request("/api/v1/grouping", json.dumps({"rules": "skip function pay*\n"}).encode()),
        ("POST", "/api/v1/grouping/dry-run"):
            Request("/api/v1/grouping/dry-run", json.dumps({"rules": "skip function check*\n"}).encode()),
        ("GET", "/api/v1/people/{person}"): Request("/api/v1/people/u-7"),
        ("GET", "/api/v1/people/{person}/export"): Request("/api/v1/people/u-7/export?limit=1"),
        ("DELETE", "/api/v1/people/{person}"): Request("/api/v1/people/u-7"),
        ("GET", "/api/v1/erasures/{id}"): Request("/api/v1/erasures/4711", status=404),
        ("GET", "/api/v1/audit"): Request("/api/v1/audit?limit=5&action=project_put"),
        ("POST", "/api/v1/scrubbing/preview"):
            Request("/api/v1/scrubbing/preview", json.dumps({"scrub_rules": ["text:crash*"]}).encode()),
        ("POST", "/api/v1/grouping/undo"): Request("/api/v1/grouping/undo", b"{}"),
    }


def build(server, sample):
    with open(os.path.join(sample, "Demo.dSYM.zip"), "rb") as f:
        zipped = f.read()
    with open(os.path.join(sample, "report.json"), "rb") as f:
        report = f.read()
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        name = next(n for n in archive.namelist() if "/DWARF/" in n and not n.endswith("/"))
        slice_bytes = archive.read(name)
    server.request("POST", "/api/v1/symbols", body=zipped)
    found = {
        ("GET", "/healthz"): Request("/healthz", token=None),
        ("GET", "/readyz"): Request("/readyz", token=None),
        ("GET", "/metrics"): Request("/metrics", token=None),
        ("GET", "/"): Request("/", token=None),
        ("GET", "/api/v1/openapi.json"): Request("/api/v1/openapi.json", token=None),
        ("GET", "/api/v1/project"): Request("/api/v1/project"),
        ("GET", "/api/v1/project/retention"): Request("/api/v1/project/retention?keep_reports_days=30"),
        ("POST", "/api/v1/project/retention/confirm"): Request("/api/v1/project/retention/confirm", b'{"n": 1}', status=409),
        ("PUT", "/api/v1/project"): Request("/api/v1/project", b'{"cut_prefixes": ["/Users/ci/build/shop/"]}'),
    }
    found.update(issues(server))
    found.update(channels(server))
    found.update(filters(server))
    found.update(users(server))
    found.update(reports(server, server.ingest_key, report))
    found.update(symbols(server.admin_token, zipped, slice_bytes))
    return found
