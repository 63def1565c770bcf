#!/usr/bin/env python3
"""Uploads whose child dies: quarantine with the reason after two deaths, the file kept, once more through the API."""

import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "hostile")]
from case import ServerCase, main, until  # noqa: E402
from test_heavy import HEAVY  # noqa: E402


class Quarantine(ServerCase):
    args = ("--upload-wait", "0", "--limit", "sweep_s=1")

    def end_child(self, number):
        """Send a signal to the child that reads the upload, once there is one."""
        before = getattr(self, "ended", set())
        pid = until(lambda: next((p for p in self.server.worker_children if p not in before), None), "a child of a worker")
        self.ended = before | {pid}
        os.kill(pid, number)

    def uploads(self):
        return self.expect(200, "GET", "/api/v1/uploads?status=failed")["uploads"]

    def test_two_deaths(self):
        body = HEAVY["tiny_functions"](16 << 20)
        upload = self.expect(202, "POST", "/api/v1/symbols?name=heavy", body=body)["upload"]
        path = f"/api/v1/uploads/{upload}"
        self.end_child(signal.SIGKILL)  # from outside, as by the kernel without memory: does not count
        self.end_child(signal.SIGSEGV)
        self.end_child(signal.SIGSEGV)
        failed = until(lambda: [u for u in self.uploads() if u["upload"] == upload], "it failed")[0]
        self.assertEqual((failed["status"], failed["kept"], failed["name"], failed["size"]), ("failed", True, "heavy", len(body)))
        self.assertRegex(failed["error"]["message"], "signal 11|SIGSEGV|Segmentation")
        self.assertEqual(self.expect(200, "GET", path), failed)
        self.assertEqual(self.expect(202, "POST", path + "/reprocess"), {"upload": upload, "status": "queued"})
        self.expect(202, "POST", path + "/reprocess")  # is queued already, or done: nothing is lost by asking twice
        done = until(lambda: (u := self.expect(200, "GET", path))["status"] == "done" and u, "it is done")
        self.assertEqual([p["kind"] for p in done["result"]["files"][0]["problems"]], ["too_much_work", "no_lines"])
        self.assertNotIn(upload, [u["upload"] for u in self.uploads()])
        self.expect(409, "POST", path + "/reprocess")

    def test_refused_is_not_kept(self):
        ids = [self.expect(202, "POST", "/api/v1/symbols", body=b"text %d" % i)["upload"] for i in range(3)]
        listed = until(lambda: len(all := self.uploads()) == 3 and all, "all failed")
        self.assertEqual({u["upload"] for u in listed}, set(ids))
        self.assertEqual({u["kept"] for u in listed}, {False})
        first = self.expect(200, "GET", "/api/v1/uploads?status=failed&limit=2")
        rest = self.expect(200, "GET", f"/api/v1/uploads?status=failed&limit=2&cursor={first['next_cursor']}")
        self.assertEqual(first["uploads"] + rest["uploads"], listed)
        answer = self.expect(409, "POST", f"/api/v1/uploads/{ids[0]}/reprocess")
        self.assertIn("send it again", answer["error"]["message"])
        self.expect(404, "POST", "/api/v1/uploads/" + "0" * 32 + "/reprocess")
        for wrong in ("", "?status=done", "?status=failed&limit=501"):
            self.expect(400, "GET", "/api/v1/uploads" + wrong)


if __name__ == "__main__":
    main()
