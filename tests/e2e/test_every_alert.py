#!/usr/bin/env python3
"""Each kind of event, caused as in life, through each kind of channel to a receiver that checks what its service would."""

import http.client
import json
import os
import time
import urllib.request

from alert_shapes import CHECKS, HIDDEN, check_mail
from case import main, until
from channels import Channels, crash, signature
from receivers import SmtpReceiver, certificate

CHAT = tuple(CHECKS)
RECIPIENTS = ["ann@example.com", "bob@example.com"]
IMAGE = "4c4c445b-5555-3144-a129-88beb9d5eb60"
# What each kind says; the headline begins with "[default] ".
SAYS = {"issue.created": "New issue #1: ", "issue.regressed": "Issue #1 is back in 4.3 (421): ",
        "issue.urgent": "Issue #3 is urgent: ", "issue.unmuted": "Issue #2 is not ignored any more: ",
        "symbols.missing": "dSYMs of version 5.0 are missing", "release.unhealthy": "Version shop@2.0 is not healthy",
        "ingest.limited": "Reports are refused: limit report_bytes_per_day",
        "channel.failing": "Alerts to the channel 'broken' fail"}
HOSTILE = ("<!channel> <@U1> @everyone @here *b* _i_ ~s~ ||h|| `c` ``` [x](javascript:alert(1)) <https://evil.example|y> & "
           "{{DATE(2020,SHORT)}} # h \u202egpj.exe\u2066 \u200f\x1b[31m\r\nBcc: eve@evil.example\r\n\r\n")

# What the message of each kind links to, below /p/default.
LINKS = {"symbols.missing": "symbols", "release.unhealthy": "versions", "ingest.limited": "settings",
         "channel.failing": "settings/alerts"}


def plain(text):
    """Without the escapes of Markdown."""
    return text.replace("\\", "").replace("\u200b", "")


def placeholder(version):
    return json.dumps({"framezero": 1, "addresses": ["0x100001000"], "app": {"id": "com.acme.shop", "version": version},
                       "crash": {"signal": "SIGSEGV", "thread": 0},
                       "images": [{"uuid": IMAGE, "name": "Shop", "arch": "arm64", "address": "0x100000000", "size": 65536,
                                   "path": "/private/var/containers/Bundle/Application/Shop.app/Shop"}]}).encode()


class Everywhere(Channels):
    """One channel of each kind; webhooks and mail over TLS, which is checked."""
    args = ("--alert-internal", "127.0.0.1", "--mail-from", "alerts@example.com", "--smtp-user", "fz")

    def more_args(self):
        pair = certificate(self.folder)
        self.smtp = SmtpReceiver(pair=pair, login=("fz", "s3cret"))
        self.addCleanup(self.smtp.close)
        self.http = {kind: self.receiver(pair=pair if kind == "webhook" else None) for kind in ("webhook",) + CHAT}
        os.environ["FRAMEZERO_SMTP_PASSWORD"] = "s3cret"  # not an option: other users of the machine see those
        self.addCleanup(os.environ.pop, "FRAMEZERO_SMTP_PASSWORD")
        return ("--smtp-url", f"smtp://127.0.0.1:{self.smtp.port}/crashes.example.com", "--alert-ca", pair[0], *self.limit)

    limit = ()

    def add_channels(self, **more):
        made = {}
        for kind, receiver in self.http.items():
            scheme = "https" if kind == "webhook" else "http"
            made[kind] = self.expect(201, "POST", "/api/v1/channels", {
                "kind": kind, "url": f"{scheme}://127.0.0.1:{receiver.port}/hook/secret", **more})
        made["mail"] = self.expect(201, "POST", "/api/v1/channels", {"kind": "mail", "to": RECIPIENTS, **more})
        self.secret = made["webhook"]["secret"]
        return made

    def webhooks(self):
        return [json.loads(body) for _, _, body in self.http["webhook"].requests]

    def texts(self, kind):
        """The messages of a channel, each checked, as text."""
        if kind == "mail":
            return [check_mail(self, mail, "alerts@example.com", RECIPIENTS) for mail in list(self.smtp.mails)]
        return [CHECKS[kind](self, body) for _, _, body in list(self.http[kind].requests)]

    def wait_all(self, n, deadline_s=60):
        """n messages on each channel."""
        for kind, receiver in self.http.items():
            until(lambda r=receiver: len(r.requests) >= n, f"{n} messages on {kind}", deadline_s)
        until(lambda: len(self.smtp.mails) >= n, f"{n} mails", deadline_s)

    def check_webhooks(self):
        for _, headers, body in self.http["webhook"].requests:
            self.assertEqual(headers["webhook-signature"], signature(self.secret, headers, body))
            self.assertEqual(headers["Content-Type"], "application/json")
            self.assertRegex(headers["webhook-id"], r"\Amsg_[0-9a-f]{32}\Z")
            self.assertLess(len(body), 20000)
            message = json.loads(body)
            self.assertEqual(set(message), {"type", "timestamp", "data"})
            self.assertLessEqual({"project", "title", "text"}, set(message["data"]))
            self.assertIsNone(HIDDEN.search(body.decode()))


class EveryKind(Everywhere):
    limit = ("--limit", "report_bytes_per_day=60000")

    def sessions(self, release, ok, crashed):
        sums = {"aggregates": [{"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.offset)),
                                "exited": ok, "crashed": crashed}], "attrs": {"release": release}}
        body = "\n".join([json.dumps({"sent_at": "2026-11-20T10:00:00Z"}), json.dumps({"type": "sessions"}),
                          json.dumps(sums)]) + "\n"
        status, answer = self.server.request(
            "POST", f"/api/1/envelope/?sentry_key={self.server.ingest_key}", body=body.encode(), token=None)
        self.assertEqual(status, 200, answer)

    def cause_all(self):
        """Reports, sessions, states and time: no event is written by the test."""
        self.expect(200, "PUT", "/api/v1/project", {"alerts": {"urgent_users": 5, "healthy_sessions": 10}})
        self.send(crash("checkout(int)"))
        self.send(crash("pay()"))
        for n in range(6):
            self.send(crash("search()", n))
        self.expect(200, "PATCH", "/api/v1/issues/1", {"state": "resolved", "resolved_in": "4.3"})
        self.expect(200, "PATCH", "/api/v1/issues/2", {"state": "ignored", "ignore_until": {"reports": 1}})
        self.send(crash("checkout(int)", 1, "4.3"))
        self.send(crash("pay()", 1))
        self.sessions("shop@2.0", 9, 1)
        self.send(placeholder("5.0"))
        broken = self.receiver()
        broken.status = 410
        self.channel(broken, name="broken", events=["issue.created"])
        self.send(crash("last()"))
        # A placeholder waits for its dSYM, and a dSYM is missing after ten minutes.
        self.offset = 601
        self.ahead(self.offset)
        wanted = {("issue.urgent", "4.2 (421)"), ("release.unhealthy", "shop@2.0"), ("symbols.missing", "5.0")}
        until(lambda: wanted <= {(m["type"], m["data"].get("version")) for m in self.webhooks()},
              "what is looked for from time to time", 90)
        # The quota at last, since nothing is taken after it.
        while self.server.request("POST", "/api/v1/reports", body=crash("big()", 7))[0] != 429:
            pass

    offset = 0

    def test_every_kind_everywhere(self):
        self.can_move()
        channels = self.add_channels(per_hour=0)
        self.cause_all()
        until(lambda: set(SAYS) <= {m["type"] for m in self.webhooks()}, "each kind of event", 60)
        types = [m["type"] for m in self.webhooks()]
        self.wait_all(len(types))
        self.check_webhooks()
        titles = [m["data"]["title"] for m in self.webhooks()]
        for name, says in SAYS.items():
            self.assertTrue(any(title.startswith(f"[default] {says}") for title in titles), (name, titles))
        for kind in CHAT + ("mail",):
            texts = self.texts(kind)
            self.assertEqual(len(texts), len(types), kind)
            for name, says in SAYS.items():
                self.assertTrue(any(f"[default] {says}" in plain(text) for text in texts), (kind, name, texts))
        # One message has the same id on all channels, and each has an id of its own on each channel.
        ids = [headers["webhook-id"] for _, headers, _ in self.http["webhook"].requests]
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual({f"<{one}@example.com>" for one in ids},
                         {line[12:].decode() for _, _, data in self.smtp.mails for line in data.split(b"\r\n")
                          if line.startswith(b"Message-ID: ")})
        self.assertEqual(set(self.smtp.logins), {("fz", "s3cret")})
        self.assertEqual({line.split()[0] for line in self.smtp.clear_lines}, {b"EHLO", b"STARTTLS"})
        self.check_contents()
        for channel in channels.values():
            self.assertTrue(self.expect(200, "POST", f"/api/v1/channels/{channel['id']}/test")["delivered"])
        self.assertEqual(self.webhooks()[-1]["type"], "test")
        for kind in CHAT + ("mail",):
            self.assertIn("Test: this channel receives the alerts of framezero", plain(self.texts(kind)[-1]))
        self.keep()

    def check_contents(self):
        """What a message says lets a person act."""
        data = {m["type"]: m["data"] for m in self.webhooks()}
        # Each leads to where people see more, and the server has a page there.
        for kind, path in LINKS.items():
            self.assertEqual(data[kind]["link"], f"{self.server.url}/p/default/{path}")
            with urllib.request.urlopen(data[kind]["link"]) as page:
                self.assertIn(b"<!doctype html>", page.read(100).lower())
        issue = data["issue.regressed"]
        self.assertEqual(issue["link"], f"{self.server.url}/p/default/issues/{issue['issue']['number']}")
        self.assertEqual(data["issue.unmuted"]["issue"]["reason"], "reports")
        self.assertIn("It was ignored until it had enough reports", data["issue.unmuted"]["text"])
        self.assertEqual(data["issue.regressed"]["issue"]["resolved_in"], "4.3")
        self.assertEqual(data["release.unhealthy"]["release"]["crashed_sessions"], 1)
        self.assertEqual([s["uuid"] for s in data["symbols.missing"]["missing"]["symbols"]], [IMAGE])
        self.assertEqual(data["channel.failing"]["channel"]["name"], "broken")
        self.assertTrue(data["channel.failing"]["channel"]["disabled"])
        self.assertNotIn("refused", data["ingest.limited"]["limit"])
        self.assertIn("The limit report_bytes_per_day = 60000 is used up", data["ingest.limited"]["text"])
        for kind in CHAT + ("mail",):
            command = f"framezero upload --server {self.server.url} --project default"
            self.assertTrue(any(command in text and IMAGE.upper() in text for text in self.texts(kind)), kind)

    def keep(self):
        """With FRAMEZERO_KEEP_ALERTS, a folder: the messages as they came, for docs/alerts.md."""
        folder = os.environ.get("FRAMEZERO_KEEP_ALERTS")
        if folder:
            os.makedirs(folder, exist_ok=True)
            for kind, receiver in self.http.items():
                for n, (path, headers, body) in enumerate(receiver.requests):
                    with open(os.path.join(folder, f"{kind}-{n}.json"), "w", encoding="utf-8") as f:
                        json.dump({"path": path, "headers": headers, "body": json.loads(body), "raw": body.decode()}, f,
                                  indent=1, ensure_ascii=False)
            for n, (_, _, data) in enumerate(self.smtp.mails):
                with open(os.path.join(folder, f"mail-{n}.txt"), "wb") as f:
                    f.write(data)


class Hostile(Everywhere):
    """Reports that want to name people, make links, break lines, or be too long: escaped, and cut with a mark."""

    def report(self, text, function):
        return json.dumps({
            "framezero": 1, "addresses": ["0x100001000", "0x100002000"],
            "app": {"id": "com.acme.shop", "name": text[:1000], "version": text[:200], "build": text[:100]},
            "crash": {"signal": "SIGABRT", "exception": text[:3000], "reason": text, "thread": 0},
            "threads": [{"index": 0, "crashed": True, "name": text[:1000], "frames": ["0x100001000"]}],
            "tags": {"a": text[:100]},
            "images": [{"uuid": IMAGE, "name": text[:2000], "arch": "arm64", "address": "0x100000000", "size": 65536,
                        "path": "/private/var/" + text[:2000] + "/" + function}]}, ensure_ascii=False).encode()

    def apple(self, text):
        """Names of functions and files, which end a line where they have a line break."""
        return crash(text.replace("\r\n", " "), version=text.replace("\r\n", " ")[:80])

    def test_hostile_texts(self):
        self.can_move()
        self.add_channels(per_hour=0)
        texts = {"marks": HOSTILE, "long": "<!channel>@everyone `*_[" * 44000, "wide": "\u6f22" * 350000,
                 "astral": "\U0001f4a5" * 300000, "quotes": "\"\\" * 400000, "spaces": " \t" * 500000}
        self.assertGreater(len(texts["long"]), 1000000)
        n = 0
        for name, text in texts.items():
            for body in (self.report(text, name), self.apple(name + text)):
                status, answer = self.server.request("POST", "/api/v1/reports?wait=20", body=body)
                self.assertIn(status, (200, 400, 413), (name, answer))
                n += status == 200 and answer["status"] != "failed"
        self.assertGreaterEqual(n, 8)
        self.ahead(601)
        until(lambda: {"issue.created", "symbols.missing"} <= {m["type"] for m in self.webhooks()}, "messages", 60)
        self.send(crash("sentinel()"))
        until(lambda: any("sentinel" in m["data"].get("title", "") for m in self.webhooks()), "the last one")
        self.wait_all(len(self.webhooks()))
        self.check_webhooks()
        for kind in CHAT + ("mail",):
            texts = self.texts(kind)
            self.assertEqual(len(texts), len(self.webhooks()))
            self.assertTrue(any("\u2026" in text for text in texts), f"{kind}: what is cut has a mark")
            self.assertFalse(any("\r" in text for text in texts))


class Failing(Everywhere):
    """A receiver that only fails: attempts of the whole schedule, others are told twice, then it is disabled."""
    DELAYS_S = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)

    def test_500_until_disabled(self):
        self.can_move()
        self.add_channels(per_hour=0, events=["channel.failing"])
        broken = self.receiver()
        broken.status, broken.body = 500, b"\xff\x00<script>" + b"x" * 100000
        channel = self.channel(broken, name="broken", events=["issue.created"])
        path = f"/api/v1/channels/{channel['id']}"
        self.send(crash("checkout(int)"))
        now = 0
        for n, delay_s in enumerate(self.DELAYS_S, 1):
            until(lambda: len(broken.requests) == n, f"attempt {n}")
            until(lambda: len(self.deliveries(channel)[0]["attempts"]) == n, f"attempt {n} is in the log")
            if n < 5:
                self.assertEqual(self.webhooks(), [], "not before three hours")
            now += int(delay_s * 1.1) + 1
            self.ahead(now)
        until(lambda: not self.expect(200, "GET", path.rsplit("/", 1)[0])["channels"][-1]["enabled"], "it is disabled")
        self.assertEqual(len(broken.requests), 10)
        self.assertEqual(len({headers["webhook-id"] for _, headers, _ in broken.requests}), 1)
        # The others hear of it after attempt 5, and at the end.
        self.wait_all(2)
        told = [m["data"]["channel"] for m in self.webhooks()]
        self.assertEqual([(t["attempts"], t["disabled"]) for t in told], [(5, False), (10, True)])
        self.assertIn("500", told[0]["error"])
        for kind in CHAT + ("mail",):
            self.assertIn("The channel is disabled now", plain(self.texts(kind)[-1]))
        log = self.deliveries(channel)[0]
        self.assertEqual((log["state"], [a["n"] for a in log["attempts"]]), ("failed", list(range(10, 0, -1))))
        for attempt in log["attempts"]:
            self.assertEqual((attempt["status"], attempt["result"]), (500, "answered"))
            self.assertLessEqual(len(attempt["answer"].encode()), 2048)
            self.assertNotIn("\x00", attempt["answer"])
        # Corrected, enabled, and sent again: the same message.
        broken.status, broken.body = 200, b""
        self.expect(200, "PATCH", path, {"enabled": True})
        self.expect(202, "POST", f"{path}/deliveries/{log['id']}/resend")
        until(lambda: self.deliveries(channel, ("delivered",)), "it is sent again")
        self.assertEqual({headers["webhook-id"] for _, headers, _ in broken.requests}, {log["message"]})

    def test_timeout(self):
        """A receiver that says nothing: the attempt ends, and the log says why."""
        self.can_move()
        self.add_channels(per_hour=0, events=["channel.failing"])
        silent = self.receiver()
        silent.raw = iter(lambda: time.sleep(60) or b"", None)
        channel = self.channel(silent, name="broken", events=["issue.created"])
        self.send(crash("checkout(int)"))
        attempts = until(lambda: self.deliveries(channel) and self.deliveries(channel)[0]["attempts"], "the attempt ends")
        self.assertEqual((attempts[0]["result"], "status" in attempts[0]), ("failed", False))
        self.assertRegex(attempts[0]["error"], "(?i)time")
        self.assertLess(attempts[0]["took_ms"], 22000)


class Storm(Everywhere):
    workers = 2

    def test_storm(self):
        """A thousand new issues within a minute, and a regression among them, on chat and mail, too."""
        self.can_move()
        channels = self.add_channels(per_hour=6, digest_s=600)
        self.send(crash("checkout(int)"))
        self.expect(200, "PATCH", "/api/v1/issues/1", {"state": "resolved", "resolved_in": "4.3"})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.server.admin_token}"}
        for n in range(1000):
            body = crash("checkout(int)", 1, "4.3") if n == 500 else crash(f"f{n}()")
            connection.request("POST", "/api/v1/reports", body=body, headers=headers)
            response = connection.getresponse()
            self.assertEqual(response.status, 202, response.read())
            response.read()
        connection.close()
        until(lambda: self.ended(channels["mail"]) == 1001, "all events have been dispatched", 240)
        single = len(self.webhooks())
        self.assertTrue(1 <= single <= 6, single)
        self.ahead(700)
        self.wait_all(single + 1)
        digest = self.webhooks()[-1]
        self.assertEqual(digest["type"], "digest")
        counts = digest["data"]["digest"]["counts"]
        self.assertEqual(counts, {"issue.created": 1000 - single, "issue.regressed": 1})
        self.assertEqual(digest["data"]["digest"]["events"], 1001 - single)
        # The one that is not a new issue is the first of the list, however many came after it.
        self.assertEqual(digest["data"]["digest"]["items"][0]["type"], "issue.regressed")
        for kind in CHAT + ("mail",):
            texts = self.texts(kind)
            self.assertEqual(len(texts), single + 1, kind)
            text = plain(texts[-1])
            self.assertIn(f"[default] {1001 - single} alerts", text)
            self.assertIn(f"1 issue that is back, {1000 - single} new issues", text)
            self.assertIn("Issue #1 is back in 4.3 (421)", text)
            self.assertRegex(text, r"and \d+ more")
        time.sleep(1)
        self.assertEqual(len(self.webhooks()), single + 1)

    def ended(self, channel):
        """Deliveries that are held or were sent."""
        n, cursor = 0, ""
        while True:
            page = self.expect(200, "GET", f"/api/v1/channels/{channel['id']}/deliveries?limit=200{cursor}")
            n += sum(one["state"] in ("held", "delivered", "digested") for one in page["deliveries"])
            if "next_cursor" not in page:
                return n
            cursor = "&cursor=" + page["next_cursor"]


if __name__ == "__main__":
    main()
