#!/usr/bin/env python3
"""Sentry's own SDKs and command line send to a real server. A client that cannot be fetched is skipped with the reason."""

import glob
import json
import os
import subprocess
import tempfile
import time
import unittest

import clients
from case import BINARY, CLIENTS, main
from framezero import Server

NODE = """
const Sentry = require(process.argv[2] + '/node_modules/@sentry/node');
Sentry.init({ dsn: process.argv[3], release: 'shop@1.2.3+45', environment: 'test', tracesSampleRate: 1.0 });
function pay(total) { throw new Error('made up ' + total); }
(async () => {
  Sentry.setTag('channel', 'beta');
  for (const total of ['1', '2', '3'].slice(0, Number(process.argv[4]))) {
    try { pay(total); } catch (e) {
      Sentry.captureException(e, { attachments: [{ filename: 'log.txt', data: 'line ' + total }] });
    }
    await Sentry.flush(5000);
  }
  await Sentry.close(5000);
})();
"""

PYTHON = """
import sys
import sentry_sdk
sentry_sdk.init(sys.argv[1], release="shop@1.2.3+45", environment="test", default_integrations=False)
def pay(total):
    raise ValueError("made up")
try:
    pay(3)
except ValueError as error:
    with sentry_sdk.push_scope() as scope:
        if len(sys.argv) > 2:
            scope.add_attachment(bytes=b"hello", filename="log.txt")
        sentry_sdk.capture_exception(error)
sentry_sdk.flush(10)
"""

RAVEN = """
require "raven/base" rescue require "sentry_raven_without_integrations"
Raven.configure do |config|
  config.dsn = ARGV[0]
  config.release = "shop@1.2.3"
  config.encoding = ARGV[1]
  config.silence_ready = true
end
begin
  raise ArgumentError, "made up"
rescue => error
  Raven.capture_exception(error)
end
"""

RUBY = """
require "sentry-ruby"
Sentry.init do |config|
  config.dsn = ARGV[0]
  config.release = "shop@1.2.3"
  config.background_worker_threads = 0
  config.logger = Logger.new(nil)
end
begin
  raise ArgumentError, "made up"
rescue => error
  Sentry.capture_exception(error)
end
"""

RUBY_PACKAGES = ["ruby3.1", "libruby3.1", "libyaml-0-2", "ruby-concurrent", "ruby-faraday", "ruby-multipart-post",
                 "ruby-ruby2-keywords", "ruby-sentry-raven", "ruby-sentry-ruby", "ruby-sentry-ruby-core"]


def ruby_command(root):
    """(environment, command) of the Ruby below `root`, which has no built-in paths."""
    library = os.path.join(root, "usr", "lib")
    gems = os.path.join(root, "usr", "share", "rubygems-integration", "all", "gems")
    path = sorted(glob.glob(os.path.join(gems, "*", "lib")) + glob.glob(os.path.join(gems, "*", "lib", "concurrent-ruby")))
    path += [p for base in ("ruby", "x86_64-linux-gnu/ruby") for p in (
        os.path.join(library, base, "vendor_ruby"), os.path.join(library, base, "3.1.0"),
        os.path.join(library, base, "vendor_ruby/3.1.0"))]
    env = {**os.environ, "RUBYLIB": ":".join(path), "LD_LIBRARY_PATH": os.path.join(library, "x86_64-linux-gnu")}
    return env, [os.path.join(root, "usr", "bin", "ruby3.1")]


class Clients(unittest.TestCase):
    def serve(self, *args):
        data = tempfile.TemporaryDirectory()
        self.addCleanup(data.cleanup)
        server = Server(BINARY, workers=1, data=data.name, args=list(args))
        server.start()
        self.addCleanup(server.stop)
        return server

    def run_client(self, command, env=None, source=None):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write(source or "")
            f.flush()
            command = [f.name if part is None else part for part in command]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def reports(self, server, n, deadline_s=30):
        """The n reports that came, finished, newest first."""
        end = time.monotonic() + deadline_s
        while True:
            _, answer = server.request("GET", "/api/v1/reports")
            if len(answer["reports"]) >= n or time.monotonic() > end:
                break
            time.sleep(0.05)
        self.assertEqual(len(answer["reports"]), n, server.log_tail())
        return [server.wait_report(r["id"]) for r in answer["reports"]]

    def check_error(self, report, exception, platform, version="1.2.3"):
        self.assertEqual((report["format"], report["kind"]), ("sentry", "error"))
        self.assertEqual(report["crash"]["exception"], exception)
        self.assertTrue(report["crash"]["reason"].startswith("made up"))
        self.assertEqual(report["app"]["version"], version)
        self.assertEqual(report["extra"]["platform"], platform)
        frames = report["threads"][0]["frames"]
        self.assertTrue(frames[0]["symbols"][0]["function"], frames[0])
        self.assertEqual(frames[0]["symbols"][0]["source"], "client")

    def test_node(self):
        path = clients.npm(CLIENTS, "@sentry/node@10")
        server = self.serve()
        self.run_client(["node", None, path, server.credentials["dsn"], "1"], source=NODE)
        report, = self.reports(server, 1)
        self.check_error(report, "Error", "node")
        self.assertEqual(report["threads"][0]["frames"][0]["symbols"][0]["function"], "pay")
        self.assertEqual(report["tags"]["channel"], "beta")
        self.assertEqual(report["attachments"][0]["name"], "log.txt")
        status, data = server.request("GET", f"/api/v1/reports/{report['id']}/attachments/0")
        self.assertEqual((status, data), (200, b"line 1"))
        self.assertEqual(server.last_headers["Content-Disposition"], 'attachment; filename="log.txt"')
        releases = server.request("GET", "/api/v1/sessions")[1]["releases"]
        self.assertEqual((releases[0]["release"], releases[0]["environment"]), ("shop@1.2.3+45", "test"))
        self.assertEqual(releases[0]["crashed"], 0)
        self.assertGreaterEqual(releases[0]["sessions"], 1)

    def test_node_respects_the_rate_limit(self):
        path = clients.npm(CLIENTS, "@sentry/node@10")
        server = self.serve("--limit", "events_per_minute=1")
        self.run_client(["node", None, path, server.credentials["dsn"], "3"], source=NODE)
        self.reports(server, 1)
        discarded = server.request("GET", "/api/v1/sessions")[1]["discarded"]
        # The second event got 429; the client did not send the third one.
        backoff = {d["category"]: d["events"] for d in discarded if d["reason"] == "ratelimit_backoff"}
        self.assertEqual(backoff.get("error"), 1, discarded)
        self.assertEqual(server.log().count("status=429"), 1, server.log_tail())

    def test_python(self):
        root = clients.debian(CLIENTS, "python3-sentry-sdk", ["python3-sentry-sdk"])
        env = {**os.environ, "PYTHONPATH": os.path.join(root, "usr/lib/python3/dist-packages")}
        probe = subprocess.run(["python3", "-c", "import sentry_sdk"], env=env, capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("python3-sentry-sdk does not load: " + probe.stderr.decode()[-200:])
        server = self.serve()
        for more in ([], ["attach"]):  # alone to /store/, with a file to /envelope/
            self.run_client(["python3", None, server.credentials["dsn"], *more], env=env, source=PYTHON)
        reports = self.reports(server, 2)
        for report in reports:
            self.check_error(report, "ValueError", "python")
        self.assertEqual(sorted(len(r.get("attachments", [])) for r in reports), [0, 1])

    def test_ruby_raven(self):
        env, ruby = ruby_command(clients.debian(CLIENTS, "ruby-sentry", RUBY_PACKAGES))
        server = self.serve()
        for encoding in ("gzip", "json"):  # gzip: base64 of zlib
            self.run_client([*ruby, None, server.credentials["dsn"], encoding], env=env, source=RAVEN)
        for report in self.reports(server, 2):
            self.check_error(report, "ArgumentError", "ruby")

    def test_ruby_sentry(self):
        env, ruby = ruby_command(clients.debian(CLIENTS, "ruby-sentry", RUBY_PACKAGES))
        server = self.serve()
        self.run_client([*ruby, None, server.credentials["dsn"]], env=env, source=RUBY)
        report, = self.reports(server, 1)
        self.check_error(report, "ArgumentError", "ruby")

    def command_line(self, version):
        path = clients.npm(CLIENTS, f"@sentry/cli-linux-x64@{version}")
        program = os.path.join(path, "node_modules/@sentry/cli-linux-x64/bin/sentry-cli")
        server = self.serve()
        env = {**os.environ, "SENTRY_DSN": server.credentials["dsn"], "SENTRY_DISABLE_UPDATE_CHECK": "1",
               "SENTRY_HTTP_MAX_RETRIES": "0"}
        self.run_client([program, "send-event", "-m", "hello", "--no-environ", "-t", "a:b"], env=env)
        report, = self.reports(server, 1)
        self.assertEqual((report["kind"], report["crash"]["reason"]), ("message", "hello"))
        self.assertEqual(report["tags"]["a"], "b")
        return server, env, program

    def test_command_line_1_77(self):
        self.command_line("1.77.2")

    def test_command_line_3_8(self):
        server, env, program = self.command_line("3.8.0")
        event = {"event_id": "d3b07384d113edec49eaa6238ad5ff02", "platform": "cocoa", "level": "fatal",
                 "message": {"formatted": "out of cups"}}
        envelope = "\n".join(json.dumps(part) for part in ({}, {"type": "event"}, event))
        self.run_client([program, "send-envelope", "--raw", None], env=env, source=envelope)
        newest = self.reports(server, 2)
        report = next(r for r in newest if r["id"] == event["event_id"])
        self.assertEqual(report["crash"]["reason"], "out of cups")


if __name__ == "__main__":
    main()
