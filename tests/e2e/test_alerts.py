#!/usr/bin/env python3
"""Alerts as real receivers get them: signatures, answers, refused addresses, the environment, TLS and mail."""

import base64
import email
import email.header
import email.policy
import email.utils
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

at = sys.argv.index("--alert-send")
SEND = sys.argv[at + 1]
del sys.argv[at:at + 2]

from case import CLIENTS, SOURCE, FolderCase, main  # noqa: E402
from clients import npm  # noqa: E402
from receivers import HttpReceiver, SmtpReceiver, certificate  # noqa: E402

GOLDEN = os.path.join(SOURCE, "tests", "golden", "alert")
EVENTS = {name: json.load(open(os.path.join(GOLDEN, name, "event.json"), encoding="utf-8")) for name in os.listdir(GOLDEN)}
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(range(1, 33))).decode()
LOOPBACK = "127.0.0.0/8"


def send(url=None, kind="webhook", event="issue.created", env=None, secrets=(SECRET,), **more):
    """One attempt; returns what alert_send says of it."""
    job = {"event": EVENTS[event], "id": "msg_1", "server": "https://crashes.example.com", "from": "alerts@example.com",
           "channel": {"kind": kind, "url": url, "secrets": list(secrets), "to": more.pop("to", ["ann@example.com"])},
           "attempt": 1, "timeout_ms": 5000, **more}
    done = subprocess.run([SEND], input=json.dumps(job), capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, **(env or {})})
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def signature(secret, headers, body):
    """Standard Webhooks 1.0.0, by nothing of ours."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(base64.b64decode(secret[6:]), signed, hashlib.sha256).digest()).decode()


class Receiving(FolderCase):
    def receiver(self, *args, **options):
        receiver = HttpReceiver(*args, **options)
        self.addCleanup(receiver.close)
        return receiver

    def smtp(self, **options):
        receiver = SmtpReceiver(**options)
        self.addCleanup(receiver.close)
        return receiver


class Webhooks(Receiving):
    def test_signature(self):
        """Every kind of event, signed, under 20 KB; the signature covers id, time and body."""
        receiver = self.receiver()
        for name, event in EVENTS.items():
            with self.subTest(event=name):
                outcome = send(f"http://127.0.0.1:{receiver.port}/hook?a=b", event=name, internal=LOOPBACK)
                self.assertEqual((outcome["result"], outcome["verdict"]), ("answered", "delivered"), outcome)
                path, headers, body = receiver.requests[-1]
                self.assertEqual(path, "/hook?a=b")
                self.assertEqual(headers["Content-Type"], "application/json")
                self.assertEqual(headers["webhook-id"], "msg_1")
                self.assertLess(abs(int(headers["webhook-timestamp"]) - time.time()), 60)
                self.assertEqual(headers["webhook-signature"], signature(SECRET, headers, body))
                self.assertNotEqual(headers["webhook-signature"], signature(SECRET, headers, body + b" "))
                self.assertLess(len(body), 20000)
                message = json.loads(body)
                self.assertEqual((message["type"], message["timestamp"]), (event["type"], event["timestamp"]))
                self.assertTrue(message["data"]["text"])
        self.assertEqual(len(receiver.requests), len(EVENTS))

    def test_rotation(self):
        receiver = self.receiver()
        send(f"http://127.0.0.1:{receiver.port}/", secrets=[OTHER, SECRET], internal=LOOPBACK)
        _, headers, body = receiver.requests[-1]
        self.assertEqual(headers["webhook-signature"].split(),
                         [signature(OTHER, headers, body), signature(SECRET, headers, body)])

    def test_public_library(self):
        """The reference library for Node accepts each message, with either secret, and refuses a changed one."""
        if not shutil.which("node"):
            self.skipTest("there is no node")
        library = npm(CLIENTS, "standardwebhooks@1.0.0")
        receiver = self.receiver()
        for name in EVENTS:
            send(f"http://127.0.0.1:{receiver.port}/", event=name, secrets=[OTHER, SECRET], internal=LOOPBACK)
        messages = [{"headers": headers, "body": body.decode()} for _, headers, body in receiver.requests]
        script = """
            const { Webhook } = require("standardwebhooks");
            const { secrets, messages } = JSON.parse(require("fs").readFileSync(0));
            const tries = (hook, body, headers) => { try { hook.verify(body, headers); return true; } catch { return false; } };
            const results = messages.map(({ headers, body }) => [
              ...secrets.map((secret) => tries(new Webhook(secret), body, headers)),
              tries(new Webhook(secrets[0]), body + " ", headers),
              tries(new Webhook(secrets[0]), body, { ...headers, "webhook-id": "msg_2" })]);
            console.log(JSON.stringify(results));"""
        done = subprocess.run(["node", "-e", script], cwd=library, capture_output=True, text=True, timeout=60, check=False,
                              input=json.dumps({"secrets": [SECRET, OTHER], "messages": messages}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), [[True, True, False, False]] * len(EVENTS))

    def test_services(self):
        """Bodies of chat services are JSON of the right shape and not signed."""
        receiver = self.receiver()
        shapes = {"slack": {"text", "blocks", "unfurl_links", "unfurl_media"}, "mattermost": {"text", "username"},
                  "discord": {"username", "embeds", "allowed_mentions"}, "teams": {"type", "attachments"}}
        for kind, keys in shapes.items():
            for name in EVENTS:
                outcome = send(f"http://127.0.0.1:{receiver.port}/{kind}", kind=kind, event=name, internal=LOOPBACK)
                self.assertEqual(outcome["verdict"], "delivered", outcome)
                path, headers, body = receiver.requests[-1]
                self.assertEqual(path, f"/{kind}")
                self.assertEqual(set(json.loads(body)), keys)
                self.assertNotIn("webhook-signature", headers)

    def test_answers(self):
        receiver, elsewhere = self.receiver(), self.receiver()
        url = f"http://127.0.0.1:{receiver.port}/secret-path"
        later = email.utils.formatdate(time.time() + 120, usegmt=True)
        for status, headers, verdict, least_ms, most_ms in (
                (200, {}, "delivered", 0, 0),
                (204, {}, "delivered", 0, 0),
                (301, {"Location": f"http://127.0.0.1:{elsewhere.port}/"}, "again", 4000, 6000),
                (302, {"Location": f"http://127.0.0.1:{elsewhere.port}/"}, "again", 4000, 6000),
                (307, {"Location": f"http://127.0.0.1:{elsewhere.port}/"}, "again", 4000, 6000),
                (308, {"Location": f"http://127.0.0.1:{elsewhere.port}/"}, "again", 4000, 6000),
                (404, {}, "again", 4000, 6000),
                (410, {}, "disable", 0, 0),
                (429, {"Retry-After": "90"}, "again", 90000, 90000),
                (503, {"Retry-After": later}, "again", 110000, 121000),
                (429, {"Retry-After": "soon"}, "again", 60000, 60000),
                (500, {}, "again", 4000, 6000)):
            with self.subTest(status=status, headers=headers):
                receiver.status, receiver.headers = status, headers
                outcome = send(url, internal=LOOPBACK)
                self.assertEqual((outcome["result"], outcome["status"], outcome["verdict"]), ("answered", status, verdict))
                self.assertTrue(least_ms <= outcome["wait_ms"] <= most_ms, outcome)
                self.assertNotIn("secret-path", outcome["text"])
        self.assertEqual(elsewhere.n_connections, 0)

    def test_odd_answers(self):
        """Large, endless, cut and wrong answers end in time; what is kept of them is limited."""
        receiver = self.receiver()
        url = f"http://127.0.0.1:{receiver.port}/"
        receiver.body = b"x" * 1000000
        outcome = send(url, internal=LOOPBACK)
        self.assertEqual((outcome["verdict"], outcome["answer"]), ("delivered", "x" * 2048))
        ok = b"HTTP/1.1 200 OK\r\n"
        def endless():
            yield ok + b"Transfer-Encoding: chunked\r\n\r\n"
            while True:
                yield b"1\r\nx\r\n"
                time.sleep(0.1)
        for raw, verdict in (([ok + b"Content-Length: 100\r\n\r\nabc"], "delivered"),
                             (endless(), "delivered"),
                             ([b"HTTP/1.1 100 Continue\r\n\r\n" + ok + b"Content-Length: 0\r\n\r\n"], "delivered"),
                             ([b"HTTP/1.1 100 Continue\r\n\r\n"], "again"),
                             ([ok + b"X: y\r\n" * 100000], "again"),
                             ([ok + b"X: " + b"y" * 500000 + b"\r\n\r\n"], "again"),
                             ([b"nonsense\r\n\r\n"], "again"),
                             ([b""], "again")):
            with self.subTest(raw=raw):
                receiver.raw = raw
                start = time.monotonic()
                outcome = send(url, internal=LOOPBACK, timeout_ms=1500)
                self.assertLess(time.monotonic() - start, 10)
                self.assertEqual(outcome["verdict"], verdict, outcome)

    def test_tls(self):
        pair = certificate(self.folder)
        receiver = self.receiver(pair=pair)
        url = f"https://localhost:{receiver.port}/"
        internal = f"{LOOPBACK}, ::1"
        refused = send(url, internal=internal)
        self.assertEqual((refused["result"], refused["verdict"]), ("failed", "again"))
        self.assertIn("certificate", refused["text"])
        other = send(f"https://other.example:{receiver.port}/", internal=internal, ca=pair[0],
                     resolve=[f"other.example:{receiver.port}:127.0.0.1"])
        self.assertEqual(other["result"], "failed")
        self.assertEqual(receiver.requests, [])
        self.assertEqual(send(url, internal=internal, ca=pair[0])["verdict"], "delivered")
        self.assertEqual(len(receiver.requests), 1)


class Page(Receiving):
    """The examples of docs/alerts.md are correct."""

    def blocks(self, kind):
        with open(os.path.join(SOURCE, "docs", "alerts.md"), encoding="utf-8") as f:
            return re.findall(rf"^```{kind}\n(.*?)^```$", f.read(), re.M | re.S)

    def message(self):
        receiver = self.receiver()
        send(f"http://127.0.0.1:{receiver.port}/", secrets=[OTHER, SECRET], internal=LOOPBACK)
        return receiver.requests[-1][1:]

    def test_body(self):
        shown, sent = json.loads(self.blocks("json")[0]), json.loads(self.message()[1])
        shown["data"]["issue"]["frames"] += sent["data"]["issue"]["frames"][1:]
        self.assertEqual(shown, sent)

    def test_python(self):
        names = {}
        exec(self.blocks("python")[0], names)  # pylint: disable=exec-used
        headers, body = self.message()
        for secret in (SECRET, OTHER):
            names["verify"](secret, headers, body)
        stale = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 301)}
        for secret, changed, bytes_ in ((SECRET, headers, body + b" "), (SECRET, {**headers, "webhook-id": "x"}, body),
                                        ("whsec_" + "A" * 32, headers, body), (SECRET, stale, body)):
            with self.assertRaises(ValueError):
                names["verify"](secret, changed, bytes_)


class Refused(Receiving):
    """What a user names and the server must not reach: nothing connects to the trap."""

    def test_internal_targets(self):
        trap = self.receiver("0.0.0.0")
        trap6 = self.receiver("::1")
        port = trap.port
        for host in ("127.0.0.1", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "localhost",
                     "LOCALHOST", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"):
            outcome = send(f"http://{host}:{port}/")
            self.assertEqual((outcome["result"], outcome["verdict"]), ("refused", "again"), (host, outcome))
            self.assertIn("which the server may not connect to", outcome["text"])
        self.assertEqual(send(f"http://[::1]:{trap6.port}/")["result"], "refused")
        for addresses in ("127.0.0.1", "127.0.0.1,::1", "0.0.0.0", "169.254.169.254,127.0.0.1", "::ffff:127.0.0.1"):
            outcome = send(f"http://rebind.example:{port}/", resolve=[f"rebind.example:{port}:{addresses}"])
            self.assertEqual(outcome["result"], "refused", (addresses, outcome))
        self.assertEqual((trap.n_connections, trap6.n_connections), (0, 0))
        # The trap works: what the operator allows does reach it.
        self.assertEqual(send(f"http://127.0.0.1:{port}/", internal="127.0.0.1")["verdict"], "delivered")
        self.assertEqual(send(f"http://rebind.example:{port}/", resolve=[f"rebind.example:{port}:127.0.0.1"],
                              internal="rebind.example")["verdict"], "delivered")
        self.assertEqual(trap.n_connections, 2)

    def test_two_addresses(self):
        """Of a name with an allowed and a refused address, only the allowed one is connected to, in either order."""
        good = self.receiver("127.0.0.2")
        trap = self.receiver("127.0.0.1", good.port)
        for addresses in ("127.0.0.1,127.0.0.2", "127.0.0.2,127.0.0.1"):
            outcome = send(f"http://two.example:{good.port}/", internal="127.0.0.2",
                           resolve=[f"two.example:{good.port}:{addresses}"])
            self.assertEqual(outcome["verdict"], "delivered", outcome)
        self.assertEqual((len(good.requests), trap.n_connections), (2, 0))

    def test_urls(self):
        for url in ("file:///etc/passwd", "gopher://127.0.0.1:25/_x", "ftp://127.0.0.1/", "dict://127.0.0.1:11211/stats",
                    "http://user:pass@127.0.0.1/", "http://good.example@127.0.0.1/", "http://good.example\\@127.0.0.1/",
                    "http:///127.0.0.1/", "http://127.0.0.1%2f@good.example/", "unix:///var/run/docker.sock"):
            outcome = send(url, internal=LOOPBACK)
            self.assertEqual((outcome["result"], outcome["verdict"]), ("invalid", "disable"), (url, outcome))

    def test_environment(self):
        """Proxies and passwords of the environment are not used."""
        trap, receiver = self.receiver(), self.receiver()
        self.write(".netrc", b"default login ann password s3cret\n")
        os.chmod(self.path(".netrc"), 0o600)
        proxy = f"http://127.0.0.1:{trap.port}"
        env = {name: proxy for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")}
        env.update(HOME=self.folder, CURL_HOME=self.folder, NETRC=self.path(".netrc"), no_proxy="", NO_PROXY="")
        outcome = send(f"http://127.0.0.1:{receiver.port}/", internal=LOOPBACK, env=env)
        self.assertEqual(outcome["verdict"], "delivered", outcome)
        outcome = send(f"https://127.0.0.1:{receiver.port}/", internal=LOOPBACK, env=env)
        self.assertEqual(outcome["result"], "failed", outcome)
        self.assertEqual(trap.n_connections, 0)
        self.assertNotIn("Authorization", receiver.requests[-1][1])

    def test_no_answer(self):
        """A receiver that accepts and says nothing costs the time limit, not more."""
        receiver = self.receiver()
        receiver.raw = iter(lambda: time.sleep(30) or b"", None)
        start = time.monotonic()
        outcome = send(f"http://127.0.0.1:{receiver.port}/", internal=LOOPBACK, timeout_ms=800)
        self.assertEqual((outcome["result"], outcome["verdict"]), ("failed", "again"))
        self.assertLess(time.monotonic() - start, 5)


class Mail(Receiving):
    def mail(self, receiver, event="issue.created", scheme="smtp", **more):
        smtp = {"url": f"{scheme}://localhost:{receiver.port}", "tls": more.pop("tls", "off"), **more.pop("login", {})}
        return send(kind="mail", event=event, smtp=smtp, resolve=[f"localhost:{receiver.port}:127.0.0.1"], **more)

    def test_messages(self):
        """Each kind of event: the header has what it should and nothing that an event says; the text is as rendered."""
        receiver = self.smtp()
        for name in EVENTS:
            with self.subTest(event=name):
                outcome = self.mail(receiver, event=name, to=["ann@example.com", "bob@example.com"])
                self.assertEqual((outcome["result"], outcome["verdict"], outcome["text"]), ("answered", "delivered", ""))
                sender, to, data = receiver.mails[-1]
                self.assertEqual(sender, "<alerts@example.com>")
                self.assertEqual(to, ["<ann@example.com>", "<bob@example.com>"])
                for line in data.split(b"\r\n"):
                    self.assertLess(len(line), 200)
                    self.assertTrue(all(32 <= c < 127 or c == 9 for c in line), line)
                message = email.message_from_bytes(data, policy=email.policy.default)
                known = {"From", "To", "Subject", "Date", "Message-ID", "References", "List-Id", "Auto-Submitted", "MIME-Version",
                         "Content-Type", "Content-Transfer-Encoding"}
                self.assertLessEqual(set(message.keys()), known)
                self.assertEqual(message["Message-ID"], "<msg_1@example.com>")
                self.assertLess(abs(message["Date"].datetime.timestamp() - time.time()), 60)
                with open(os.path.join(GOLDEN, name, "mail.txt"), encoding="ascii") as f:
                    wanted = email.message_from_file(f, policy=email.policy.default)
                self.assertEqual(message["Subject"], wanted["Subject"])
                self.assertEqual(message.get_content().replace("\r\n", "\n"), wanted.get_content())

    def test_refusals(self):
        for command, reply, verdict in (("RCPT TO:<ann", "550 5.1.1 no such user", "give_up"),
                                        ("RCPT TO:<ann", "451 4.7.1 greylisted", "again"),
                                        ("MAIL", "552 too much", "give_up"),
                                        ("EHLO", "421 later", "again"),
                                        ("DATA", "554 no", "give_up")):
            with self.subTest(command=command, reply=reply):
                receiver = self.smtp()
                receiver.refuse = {command: reply}
                outcome = self.mail(receiver)
                self.assertEqual((outcome["result"], outcome["verdict"]), ("failed", verdict), outcome)
                self.assertEqual(outcome["text"], f"the mail server answered: {reply}")
                self.assertEqual(receiver.mails, [])
        receiver = self.smtp()
        receiver.refuse = {"RCPT TO:<bob": "550 5.1.1 no such user"}
        outcome = self.mail(receiver, to=["ann@example.com", "bob@example.com"])
        self.assertEqual((outcome["verdict"], outcome["text"]),
                         ("delivered", "the mail server answered: 550 5.1.1 no such user"))
        self.assertEqual(receiver.mails[0][1], ["<ann@example.com>"])

    def test_encryption(self):
        pair = certificate(self.folder)
        login = {"user": "ann", "password": "s3cret"}
        # No STARTTLS is offered: nothing of the mail is sent.
        receiver = self.smtp()
        outcome = self.mail(receiver, tls="required", login=login)
        self.assertEqual((outcome["result"], outcome["verdict"]), ("failed", "again"), outcome)
        self.assertFalse([line for line in receiver.clear_lines if line.startswith((b"MAIL", b"AUTH"))])
        # A password is not sent without encryption, even if that is configured.
        outcome = self.mail(receiver, tls="offered", login=login)
        self.assertEqual(outcome["result"], "invalid")
        self.assertIn("without encryption", outcome["text"])
        # STARTTLS, with a certificate that is not trusted, and with one that is.
        receiver = self.smtp(pair=pair, login=("ann", "s3cret"))
        self.assertEqual(self.mail(receiver, tls="required", login=login)["result"], "failed")
        outcome = self.mail(receiver, tls="required", login=login, ca=pair[0])
        self.assertEqual(outcome["verdict"], "delivered", outcome)
        self.assertEqual(receiver.logins, [("ann", "s3cret")])
        self.assertEqual({line.split()[0] for line in receiver.clear_lines}, {b"EHLO", b"STARTTLS"})
        # A wrong password is the operator's to correct.
        outcome = self.mail(receiver, tls="required", login={"user": "ann", "password": "x"}, ca=pair[0])
        self.assertEqual((outcome["result"], outcome["verdict"]), ("failed", "again"), outcome)
        # smtps
        receiver = self.smtp(pair=pair, implicit_tls=True, login=("ann", "s3cret"))
        outcome = self.mail(receiver, scheme="smtps", login=login, ca=pair[0])
        self.assertEqual(outcome["verdict"], "delivered", outcome)
        self.assertEqual((len(receiver.mails), receiver.clear_lines), (1, []))

    def test_not_configured(self):
        outcome = send(kind="mail")
        self.assertEqual((outcome["result"], outcome["verdict"]), ("failed", "again"))
        self.assertIn("no mail server is configured", outcome["text"])


if __name__ == "__main__":
    main()
