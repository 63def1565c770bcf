#!/usr/bin/env python3
"""Channels of alerts from the API to receivers: events, filters, attempts, storms, secrets, kills, refused targets."""

import json
import os
import re
import socket
import time

from case import SOURCE, main, until
from channels import Channels, crash, signature
from receivers import SmtpReceiver


class Events(Channels):
    def test_new_issue(self):
        """A new issue is told once, with its frames, signed; the next report of it says nothing."""
        receiver = self.receiver()
        channel = self.channel(receiver)
        self.assertTrue(channel["secret"].startswith("whsec_"))
        self.send(crash("checkout(int)", 0))
        self.send(crash("checkout(int)", 1))
        event = self.wait_messages(receiver, 1)[0]
        self.assertEqual(event["type"], "issue.created")
        self.assertEqual(event["data"]["issue"]["number"], 1)
        self.assertEqual(event["data"]["version"], "4.2 (421)")
        self.assertIn("checkout", event["data"]["issue"]["title"])
        self.assertEqual([f["function"] for f in event["data"]["issue"]["frames"]], ["checkout", "main"])
        self.assertEqual(event["data"]["link"], f"{self.server.url}/p/default/issues/1")
        path, headers, body = receiver.requests[0]
        self.assertEqual(path, "/hook/secret")
        self.assertEqual(headers["webhook-signature"], signature(channel["secret"], headers, body))
        self.send(crash("pay()"))
        self.assertEqual(self.wait_messages(receiver, 2)[1]["data"]["issue"]["number"], 2)
        until(lambda: len(self.deliveries(channel, ("delivered",))) == 2, "both are in the log")
        attempt = self.deliveries(channel)[0]["attempts"][0]
        self.assertEqual((attempt["n"], attempt["result"], attempt["status"]), (1, "answered", 200))

    def test_kinds_of_channels(self):
        receiver = self.receiver()
        for kind in ("slack", "mattermost", "discord", "teams"):
            self.channel(receiver, kind)
        self.send(crash("checkout(int)"))
        until(lambda: len(receiver.requests) >= 4, "four messages")
        keys = [sorted(json.loads(body))[0] for _, _, body in receiver.requests]
        self.assertEqual(sorted(keys), ["allowed_mentions", "attachments", "blocks", "text"])
        for _, headers, body in receiver.requests:
            self.assertNotIn("webhook-signature", headers)
            self.assertIn(b"checkout", body)

    def test_filters_and_events(self):
        receiver, other, third = self.receiver(), self.receiver(), self.receiver()
        self.channel(receiver, query="version:>=4.3 device:iPhone*")
        self.channel(other, query="function:pay -is:placeholder is:new")
        self.channel(third, events=["issue.regressed"])
        self.send(crash("checkout(int)"))
        self.send(crash("pay()", version="4.4"))
        self.assertEqual([m["data"]["issue"]["number"] for m in self.wait_messages(receiver, 1)], [2])
        self.assertEqual([m["data"]["issue"]["number"] for m in self.wait_messages(other, 1)], [2])
        self.assertEqual(third.requests, [])

    def test_regressed_and_unmuted(self):
        receiver = self.receiver()
        self.channel(receiver)
        self.send(crash("checkout(int)"))
        self.send(crash("pay()"))
        self.wait_messages(receiver, 2)
        self.expect(200, "PATCH", "/api/v1/issues/1", {"state": "resolved", "resolved_in": "4.3"})
        self.expect(200, "PATCH", "/api/v1/issues/2", {"state": "ignored", "ignore_until": {"reports": 1}})
        self.send(crash("checkout(int)", 1, "4.3"))
        event = self.wait_messages(receiver, 1, "issue.regressed")[0]
        self.assertEqual((event["data"]["issue"]["number"], event["data"]["version"]), (1, "4.3 (421)"))
        self.assertEqual(event["data"]["issue"]["resolved_in"], "4.3")
        self.send(crash("pay()", 1))
        event = self.wait_messages(receiver, 1, "issue.unmuted")[0]
        self.assertEqual((event["data"]["issue"]["number"], event["data"]["issue"]["reason"]), (2, "reports"))

    def test_waits_for_names(self):
        """A placeholder is told after ten minutes, with the dSYM that is missing; then the dSYM alone is."""
        self.can_move()
        receiver = self.receiver()
        self.channel(receiver)
        image = "4c4c445b-5555-3144-a129-88beb9d5eb60"
        body = {"framezero": 1, "addresses": ["0x100001000"], "app": {"id": "com.acme.shop", "version": "4.2", "build": "7"},
                "crash": {"signal": "SIGSEGV", "thread": 0},
                "images": [{"uuid": image, "name": "Shop", "arch": "arm64", "address": "0x100000000", "size": 65536,
                            "path": "/private/var/containers/Bundle/Application/Shop.app/Shop"}]}
        self.send(json.dumps(body).encode())
        self.send(crash("pay()"))
        self.assertEqual(self.wait_messages(receiver, 1)[0]["data"]["issue"]["number"], 2)
        self.ahead(601)
        event = self.wait_messages(receiver, 2, "issue.created")[1]
        self.assertEqual(event["data"]["issue"]["number"], 1)
        self.assertEqual([s["uuid"].lower() for s in event["data"]["missing"]["symbols"]], [image])
        event = self.wait_messages(receiver, 1, "symbols.missing", 60)[0]
        self.assertEqual(event["data"]["version"], "4.2")
        self.assertIn(image, [s["uuid"].lower() for s in event["data"]["missing"]["symbols"]])
        self.ahead(1400)
        time.sleep(0.1)
        self.send(crash("later()"))
        self.wait_messages(receiver, 3, "issue.created")
        self.assertEqual(len(self.messages(receiver, "symbols.missing")), 1)

    def test_urgent(self):
        """Many users within the window: once for the issue and version. Few are not urgent."""
        receiver = self.receiver()
        self.channel(receiver, events=["issue.urgent"])
        self.expect(200, "PUT", "/api/v1/project", {"alerts": {"urgent_users": 5}})
        for n in range(4):
            self.send(crash("pay()", n))
        for n in range(6):
            self.send(crash("checkout(int)", n))
        event = self.wait_messages(receiver, 1, "issue.urgent", 60)[0]
        self.assertEqual(event["data"]["issue"]["title"].count("checkout"), 1)
        self.assertGreaterEqual(event["data"]["urgent"]["reports"], 5)
        self.assertEqual(event["data"]["urgent"]["window_s"], 1800)

    def test_unhealthy(self):
        receiver = self.receiver()
        self.channel(receiver, events=["release.unhealthy"], query="version:>=2")
        self.expect(200, "PUT", "/api/v1/project", {"alerts": {"healthy_sessions": 10, "healthy_ppm": 950000}})
        for release, crashed in (("shop@2.0", 1), ("shop@3.0", 0)):
            head = json.dumps({"sent_at": "2026-11-20T10:00:00Z"})
            sums = {"aggregates": [{"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "exited": 10 - crashed,
                                    "crashed": crashed}], "attrs": {"release": release}}
            body = "\n".join([head, json.dumps({"type": "sessions"}), json.dumps(sums)]) + "\n"
            status, answer = self.server.request(
                "POST", f"/api/1/envelope/?sentry_key={self.server.ingest_key}", body=body.encode(), token=None)
            self.assertEqual(status, 200, answer)
        event = self.wait_messages(receiver, 1, "release.unhealthy", 60)[0]
        self.assertEqual(event["data"]["version"], "shop@2.0")
        self.assertEqual((event["data"]["release"]["sessions"], event["data"]["release"]["crashed_sessions"]), (10, 1))


class Limited(Channels):
    def more_args(self):
        return ("--limit", "report_bytes_per_day=600")

    def test_limited(self):
        receiver = self.receiver()
        self.channel(receiver, events=["ingest.limited"])
        self.send(crash("checkout(int)"))
        event = self.wait_messages(receiver, 1, "ingest.limited", 60)[0]
        self.assertEqual((event["data"]["limit"]["name"], event["data"]["limit"]["value"]), ("report_bytes_per_day", 600))


class Attempts(Channels):
    def test_down_then_up(self):
        receiver = self.receiver()
        channel = self.channel(receiver)
        receiver.status = 500
        self.send(crash("checkout(int)"))
        until(lambda: receiver.requests, "an attempt")
        waiting = until(lambda: self.deliveries(channel, ("waiting",)), "it waits")[0]
        self.assertIn("next_attempt", waiting)
        self.assertEqual(waiting["attempts"][0]["status"], 500)
        self.assertTrue(self.expect(200, "GET", "/api/v1/channels")["channels"][0].get("failing_since"))
        receiver.status = 200
        until(lambda: self.deliveries(channel, ("delivered",)), "it is delivered")
        ids = {headers["webhook-id"] for _, headers, _ in receiver.requests}
        self.assertEqual((len(receiver.requests), len(ids)), (2, 1))
        self.assertNotIn("failing_since", self.expect(200, "GET", "/api/v1/channels")["channels"][0])

    def test_retry_after(self):
        """429 slows the whole channel down, not others."""
        self.can_move()
        receiver, other = self.receiver(), self.receiver()
        channel = self.channel(receiver)
        self.channel(other)
        receiver.status, receiver.headers = 429, {"Retry-After": "600"}
        self.send(crash("checkout(int)"))
        until(lambda: self.deliveries(channel, ("waiting",)) and receiver.requests, "an attempt")
        receiver.status, receiver.headers = 200, {}
        self.send(crash("pay()"))
        self.wait_messages(other, 2)
        self.assertEqual(len(receiver.requests), 1)
        self.ahead(590)
        self.send(crash("later()"))
        self.wait_messages(other, 3)
        self.assertEqual(len(receiver.requests), 1)
        self.ahead(700)
        self.wait_messages(receiver, 4)

    def test_gone(self):
        """410 disables the channel; others hear of it; what waits is sent once it is enabled again."""
        receiver, other = self.receiver(), self.receiver()
        channel = self.channel(receiver, name="ops")
        self.channel(other, events=["channel.failing"], query="version:999")
        receiver.status = 410
        self.send(crash("checkout(int)"))
        event = self.wait_messages(other, 1, "channel.failing")[0]
        self.assertEqual((event["data"]["channel"]["name"], event["data"]["channel"]["disabled"]), ("ops", True))
        shown = self.expect(200, "GET", "/api/v1/channels")["channels"][0]
        self.assertFalse(shown["enabled"])
        self.assertIn("gone", shown["why_disabled"])
        self.send(crash("pay()"))
        self.assertEqual(len(receiver.requests), 1)
        failed = self.deliveries(channel, ("failed",))[0]
        path = f"/api/v1/channels/{channel['id']}"
        self.expect(409, "POST", f"{path}/deliveries/{failed['id']}/resend")
        receiver.status = 200
        self.assertTrue(self.expect(200, "PATCH", path, {"enabled": True})["enabled"])
        self.expect(202, "POST", f"{path}/deliveries/{failed['id']}/resend")
        again = until(lambda: [one for one in self.deliveries(channel, ("delivered",)) if one["id"] == failed["id"]],
                      "it is sent again")[0]
        self.assertEqual([a["n"] for a in again["attempts"]], [2, 1])
        ids = [headers["webhook-id"] for _, headers, _ in receiver.requests]
        self.assertEqual(ids.count(ids[0]), 2)

    def test_hanging_receiver(self):
        """A receiver that accepts and says nothing delays neither reports nor other channels for long."""
        receiver, other = self.receiver(), self.receiver()
        receiver.raw = iter(lambda: time.sleep(60) or b"", None)
        self.channel(receiver)
        self.channel(other)
        self.send(crash("checkout(int)"))
        until(lambda: receiver.requests, "an attempt hangs")
        start = time.monotonic()
        for n in range(5):
            self.send(crash(f"f{n}()"))
        self.assertLess(time.monotonic() - start, 15)
        self.wait_messages(other, 6, None, 60)

    def test_worker_is_killed(self):
        """kill -9 while a message is being sent: it is sent again, with the same id; none is lost."""
        self.can_move()
        receiver = self.receiver()
        self.channel(receiver, per_hour=0)
        hold = [True]

        def slowly():
            while hold[0]:
                time.sleep(0.02)
            yield b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"
        receiver.raw = slowly()
        self.send(crash("checkout(int)"))
        until(lambda: receiver.requests, "an attempt is under way")
        self.server.kill_all()
        hold[0], receiver.raw = False, None
        self.server.start()
        # The lease of the one that was killed is over a minute later.
        self.ahead(61)
        self.wait_messages(receiver, 2)
        self.assertEqual(len({headers["webhook-id"] for _, headers, _ in receiver.requests}), 1)
        numbers = set()
        for n in range(12):
            self.send(crash(f"f{n}()"))
            if n % 4 == 1:
                self.server.kill_all()
                self.server.start()
                self.ahead(61 + 61 * n)
        until(lambda: numbers.update(m["data"]["issue"]["number"] for m in self.messages(receiver, "issue.created")) or
              numbers >= set(range(1, 14)), "all issues are told", 60)


class ManyWorkers(Channels):
    workers = 3

    def test_each_once(self):
        receiver = self.receiver()
        channel = self.channel(receiver, per_hour=0)
        for n in range(30):
            self.send(crash(f"f{n}()"))
        until(lambda: len(self.deliveries(channel, ("delivered",))) == 30, "all are delivered", 60)
        self.assertEqual(len({headers["webhook-id"] for _, headers, _ in receiver.requests}), 30)
        self.assertEqual(len(receiver.requests), 30)


class Storms(Channels):
    workers = 2

    def test_storm(self):
        """A thousand new issues within a minute: some messages, and a digest with the rest."""
        self.can_move()
        receiver = self.receiver()
        channel = self.channel(receiver, per_hour=30, digest_s=600)
        for n in range(1000):
            status, answer = self.server.request("POST", "/api/v1/reports", body=crash(f"f{n}()"))
            self.assertEqual(status, 202, f"{answer}\n{self.server.log_tail()}")
        # All of them: the digest has what is held when its time comes.
        until(lambda: self.held(channel) + len(self.messages(receiver, "issue.created")) >= 1000, "the storm is over", 240)
        single = self.messages(receiver, "issue.created")
        self.assertTrue(5 <= len(single) <= 30, len(single))
        self.ahead(700)
        digest = self.wait_messages(receiver, 1, "digest", 60)[0]
        self.assertEqual(digest["data"]["digest"]["events"] + len(self.messages(receiver, "issue.created")), 1000)
        self.assertEqual(len(digest["data"]["digest"]["items"]), 20)
        self.assertEqual(len(self.messages(receiver, "digest")), 1)

    def held(self, channel):
        n, cursor = 0, ""
        while True:
            page = self.expect(200, "GET", f"/api/v1/channels/{channel['id']}/deliveries?limit=200{cursor}")
            n += sum(one["state"] == "held" for one in page["deliveries"])
            if "next_cursor" not in page:
                return n
            cursor = "&cursor=" + page["next_cursor"]


class Secrets(Channels):
    def test_rotation(self):
        self.can_move()
        receiver = self.receiver()
        channel = self.channel(receiver)
        path = f"/api/v1/channels/{channel['id']}"
        shown = json.dumps(self.expect(200, "GET", "/api/v1/channels"))
        self.assertNotIn("whsec_", shown)
        self.assertNotIn("hook/secret", shown)
        new = self.expect(200, "POST", f"{path}/rotate")
        self.assertNotEqual(new["secret"], channel["secret"])
        self.expect(200, "POST", f"{path}/test")
        _, headers, body = receiver.requests[-1]
        self.assertEqual(headers["webhook-signature"].split(" "),
                         [signature(new["secret"], headers, body), signature(channel["secret"], headers, body)])
        self.ahead(86401)
        self.expect(200, "POST", f"{path}/test")
        _, headers, body = receiver.requests[-1]
        self.assertEqual(headers["webhook-signature"], signature(new["secret"], headers, body))
        slack = self.channel(receiver, "slack")
        self.assertNotIn("secret", slack)
        self.expect(409, "POST", f"/api/v1/channels/{slack['id']}/rotate")

    def test_test(self):
        """The answer of a test is what the receiver said."""
        receiver = self.receiver()
        channel = self.channel(receiver)
        receiver.status, receiver.body = 418, b"I am a teapot"
        answer = self.expect(200, "POST", f"/api/v1/channels/{channel['id']}/test")
        self.assertEqual((answer["delivered"], answer["status"], answer["answer"]), (False, 418, "I am a teapot"))
        receiver.status = 204
        answer = self.expect(200, "POST", f"/api/v1/channels/{channel['id']}/test")
        self.assertEqual((answer["delivered"], answer["status"]), (True, 204))
        self.assertEqual(self.messages(receiver)[-1]["type"], "test")
        self.expect(404, "POST", "/api/v1/channels/999/test")
        self.expect(404, "POST", "/api/v1/channels/x/test")


class Refused(Channels):
    args = ()

    def refuse(self, url, kind="webhook"):
        """What is refused at once, or when a message is sent."""
        got, answer = self.server.request("POST", "/api/v1/channels", body=json.dumps({"kind": kind, "url": url}).encode())
        if got == 400:
            return answer["error"]["message"]
        self.assertEqual(got, 201, answer)
        test = self.expect(200, "POST", f"/api/v1/channels/{answer['id']}/test")
        self.assertEqual((test["delivered"], test["result"]), (False, "refused"), (url, test))
        self.expect(204, "DELETE", f"/api/v1/channels/{answer['id']}")
        return test["error"]

    def test_internal_targets(self):
        trap = self.receiver(address="0.0.0.0")
        port = trap.port
        with open(os.path.join(SOURCE, "docs", "alerts.md"), encoding="utf-8") as f:
            rows = re.search(r"^\| refused \| for example \|\n\|---\|---\|\n((?:\|.*\n)+)", f.read(), re.M)[1].splitlines()
        hosts = [host for row in rows[:-2] for host in re.findall("`([^`]+)`", row)]
        self.assertGreater(len(hosts), 25)
        for host in hosts + ["0x7f.1", "017700000001", "127.0.1", "0x0", "LOCALHOST", "[0:0:0:0:0:0:0:1]", "[::ffff:7f00:1]",
                             "[::ffff:0:127.0.0.1]", "[::ffff:169.254.169.254]", "[fec0::1]", "[fe80::1]", "255.255.255.255",
                             socket.gethostname()]:
            message = self.refuse(f"http://{host}:{port}/latest/meta-data/")
            self.assertIn("may not connect", message, host)
            self.assertNotIn("meta-data", message)
        for url in ("file:///etc/passwd", "gopher://127.0.0.1/", "http://user:pass@example.com/", "http:///x", "ftp://x/",
                    f"http://example.com@127.0.0.1:{port}/", f"http://127.0.0.1:{port}\\@example.com/", "http:/127.0.0.1/",
                    f"http://[fe80::1%25lo]:{port}/", f"http://127.0.0.1%00.example.com:{port}/", "http://example.com:0/",
                    "http://example.com:65536/", "http://example.com:80:81/", f"http://[::1:{port}/", "http://ex ample.com/",
                    f"http://\u2460\u2461\u2466.0.0.1:{port}/", f"http://127\u30020.0.1:{port}/", "//127.0.0.1/", "unix:///run/x.sock",
                    "dict://127.0.0.1/", "smtp://127.0.0.1/", "http://a..b/", "http://.a/", "http://example.com/\r\nX: y"):
            got, answer = self.server.request("POST", "/api/v1/channels",
                                              body=json.dumps({"kind": "webhook", "url": url}).encode())
            self.assertEqual(got, 400, (url, answer))
        self.assertEqual(trap.n_connections, 0)

    def test_wrong_input(self):
        good = {"kind": "webhook", "url": "https://hooks.example.com/x"}
        for change, path in (({"kind": "pager"}, "kind"), ({"url": 7}, "url"), ({"url": ""}, "url"),
                             ({"query": "version:"}, "query"), ({"query": "is:nonsense"}, "query"),
                             ({"events": ["issue.gone"]}, "events"), ({"events": []}, "events"),
                             ({"events": ["digest"]}, "events"), ({"per_hour": -1}, "per_hour"),
                             ({"digest_s": 1}, "digest_s"), ({"name": ""}, "name"), ({"name": "a\nb"}, "name"),
                             ({"to": ["ann@example.com"]}, "to"), ({"kind": "mail"}, "url"),
                             ({"enabled": "yes"}, "enabled")):
            got, answer = self.server.request("POST", "/api/v1/channels", body=json.dumps({**good, **change}).encode())
            self.assertEqual((got, answer["error"].get("detail", {}).get("path")), (400, path), (change, answer))
        got, answer = self.server.request("POST", "/api/v1/channels", body=json.dumps({**good, "querry": "x"}).encode())
        self.assertEqual(got, 400)
        self.assertIn("querry", answer["error"]["message"])
        got, answer = self.server.request("POST", "/api/v1/channels", body=json.dumps(
            {"kind": "mail", "to": ["ann@example.com\nBcc: x@example.com"]}).encode())
        self.assertEqual(got, 400)
        for n in range(50):
            self.expect(201, "POST", "/api/v1/channels", good)
        got, answer = self.server.request("POST", "/api/v1/channels", body=json.dumps(good).encode())
        self.assertIn(got, (413, 429), answer)


class Redirected(Channels):
    def test_redirect(self):
        receiver, trap = self.receiver(), self.receiver()
        channel = self.channel(receiver)
        receiver.status, receiver.headers = 302, {"Location": f"http://127.0.0.1:{trap.port}/"}
        answer = self.expect(200, "POST", f"/api/v1/channels/{channel['id']}/test")
        self.assertEqual((answer["delivered"], answer["status"]), (False, 302))
        self.assertEqual(trap.n_connections, 0)


class Mail(Channels):
    def more_args(self):
        self.smtp = SmtpReceiver()
        self.addCleanup(self.smtp.close)
        return ("--smtp-url", f"smtp://127.0.0.1:{self.smtp.port}", "--smtp-tls", "off", "--mail-from", "alerts@example.com")

    def test_mail(self):
        channel = self.expect(201, "POST", "/api/v1/channels",
                              {"kind": "mail", "to": ["ann@example.com", "bob@example.com"]})
        self.assertEqual(channel["to"], ["ann@example.com", "bob@example.com"])
        self.send(crash("checkout(int)"))
        until(lambda: self.smtp.mails, "a mail")
        sender, to, data = self.smtp.mails[0]
        self.assertEqual((sender, to), ("<alerts@example.com>", ["<ann@example.com>", "<bob@example.com>"]))
        self.assertIn(b"checkout", data)
        until(lambda: self.deliveries(channel, ("delivered",)), "it is in the log")
        self.assertTrue(self.expect(200, "POST", f"/api/v1/channels/{channel['id']}/test")["delivered"])


if __name__ == "__main__":
    main()
