#!/usr/bin/env python3
"""Scrubbing: what is masked before anything of a report is stored, who gets the body, rules of a project, and their preview."""

import json

from case import ServerCase, main, report

MAIL = "anna.berg@mail.example.com"
FRAMES = {"threads": [{"index": 0, "crashed": True, "name": "Anna's iPhone", "frames": [{"address": "0x100001000", "function": "pay()"}]}],
          "images": [{"uuid": "4c4c445b-5555-3144-a129-88beb9d5eb60", "name": "Shop", "path": "/Users/annaberg/Shop.app/Shop",
                      "address": "0x100000000", "size": 65536}]}
PERSONAL = (MAIL, "annaberg", "Anna's", "hunter2", "4111 1111", "10.9.8.7", "+49 170")


def personal(**more):
    return {"framezero": 1, **FRAMES, "crash": {"signal": "SIGTRAP", "reason": f"no route to {MAIL}"},
            "user": {"id": "u-1", "email": MAIL, "ip_address": "10.9.8.7"}, "tags": {"password": "hunter2", "shelf": "B7"},
            "breadcrumbs": [{"message": "card 4111 1111 1111 1111, call +49 170 1234567"}], **more}


class Scrub(ServerCase):
    def post(self, body, path="/api/v1/reports?wait=60"):
        status, answer = self.server.request("POST", path, body=json.dumps(body).encode())
        self.assertEqual(status, 200, answer)
        return answer

    def project(self, **settings):
        return self.expect(200, "PUT", "/api/v1/project", body=json.dumps(settings).encode())

    def token(self, *scopes):
        return self.expect(201, "POST", "/api/v1/tokens", body=json.dumps({"label": "t", "scopes": scopes}).encode())["token"]

    def text(self, path, token="admin", status=200):
        return str(self.expect(status, "GET", path, token=token))

    def test_1_masked(self):
        answer = self.post(personal())
        path = f"/api/v1/reports/{answer['id']}"
        self.assertEqual(answer["crash"]["reason"], "no route to [email]")
        self.assertEqual(answer["user"], {"id": "u-1", "email": "[email]", "ip_address": "[ip]"})
        self.assertEqual(answer["tags"], {"password": "[secret]", "shelf": "B7"})
        self.assertEqual(answer["images"][0]["path"], "/Users/[user]/Shop.app/Shop")
        self.assertEqual(answer["scrubbed"], {"secret": 1, "card": 1, "email": 2, "phone": 1, "user": 2, "device": 1, "ip": 1})
        read = self.token("read")
        number = answer["issue"]["number"]
        # Whatever is made of the report.
        for place in (path, f"{path}?format=crash", f"{path}?format=ips", "/api/v1/reports", "/api/v1/export/reports",
                      "/api/v1/issues", f"/api/v1/issues/{number}", f"/api/v1/issues/{number}/variants",
                      "/api/v1/values?field=reason", "/api/v1/values?field=user", "/api/v1/values?field=tag"):
            shown = self.text(place, token=read)
            for secret in PERSONAL:
                self.assertNotIn(secret, shown, place)
        # It is found by its id, which stays.
        self.assertEqual(len(self.expect(200, "GET", "/api/v1/reports?query=user:u-1")["reports"]), 1)
        # Processed again it is the same, in the same issue.
        self.expect(202, "POST", f"{path}/reprocess")
        again = self.server.wait_report(answer["id"])
        self.assertEqual((again["scrubbed"], again["issue"]["number"]), (answer["scrubbed"], number))

    def test_2_body(self):
        sent = personal(user={"id": "u-2", "email": MAIL})
        with_marks = self.post(sent)["id"]
        without = self.post({"framezero": 1, "addresses": ["0x100000000"], "crash": {"reason": "empty"}})["id"]
        read, sees = self.token("read"), self.token("read", "variables")
        refused = self.expect(403, "GET", f"/api/v1/reports/{with_marks}?format=raw", token=read)
        self.assertEqual(refused["error"]["detail"], {"scope": "variables"})
        self.assertEqual(self.expect(200, "GET", f"/api/v1/reports/{with_marks}?format=raw", token=sees), json.dumps(sent).encode())
        self.expect(200, "GET", f"/api/v1/reports/{without}?format=raw", token=read)

    def test_3_text_of_apple(self):
        with_path = ("Process: Shop [1]\nPath: /Users/annaberg/Shop\nIdentifier: com.acme.shop\nCode Type: ARM-64\n\n"
                     "Exception Type: EXC_CRASH (SIGABRT)\n\nApplication Specific Information:\nmail to " + MAIL + "\n\n"
                     "Thread 0 Crashed:\n0   Shop  0x0000000100001000 0x100000000 + 4096\n\nBinary Images:\n"
                     "0x100000000 - 0x10000ffff Shop arm64 <4c4c445b55553144a12988beb9d5eb60> /Users/annaberg/Shop\n")
        status, answer = self.server.request("POST", "/api/v1/reports?wait=60", body=with_path.encode())
        self.assertEqual(status, 200, answer)
        path = f"/api/v1/reports/{answer['id']}?format=crash"
        shown = str(self.expect(200, "GET", path, token=self.token("read")))
        self.assertIn("mail to [email]", shown)
        self.assertNotIn("annaberg", shown)
        # Who may see the body gets the text that was sent, with names.
        self.assertIn("mail to " + MAIL, str(self.expect(200, "GET", path)))

    def test_4_rules_and_preview(self):
        rules = ["text:order-*", "key:shelf", "off:email", "keep:password"]
        self.post(personal(crash={"reason": "order-4711 is gone"}))
        before = self.project(scrub="on")
        self.assertEqual((before["scrub"], before["scrub_rules"]), ("on", []))
        seen = self.expect(200, "POST", "/api/v1/scrubbing/preview", body=json.dumps({"scrub_rules": rules, "limit": 1}).encode())
        self.assertEqual((seen["reports"], seen["changed"], seen["masked"]), (1, 1, {"custom": 2}))
        self.assertIn({"before": "order-4711 is gone", "after": "[custom] is gone"},
                      [{"before": e["before"], "after": e["after"]} for e in seen["examples"]])
        self.assertEqual(self.expect(200, "GET", "/api/v1/project")["scrub_rules"], [])
        self.assertEqual(self.project(scrub_rules=rules)["scrub_rules"], rules)
        answer = self.post(personal(crash={"reason": f"order-4711 of {MAIL}"}))
        self.assertEqual(answer["crash"]["reason"], f"[custom] of {MAIL}")
        self.assertEqual(answer["tags"], {"password": "hunter2", "shelf": "[custom]"})
        for wrong in (["off:mail"], ["text:*"], ["x"], "x", ["key:" + "a" * 200]):
            status, got = self.server.request("PUT", "/api/v1/project", body=json.dumps({"scrub_rules": wrong}).encode())
            self.assertIn(status, (400, 413), wrong)
            self.assertEqual(got["error"]["detail"], {"path": "scrub_rules"}, wrong)
        self.expect(400, "PUT", "/api/v1/project", body=b'{"scrub": true}')
        for wrong in (b'{"scrub_rules": [], "limit": 0}', b'{"scrub_rules": [], "limit": 201}', b"{}"):
            self.expect(400, "POST", "/api/v1/scrubbing/preview", body=wrong)
        self.assertEqual(self.project(scrub="off")["scrub"], "off")
        off = self.post(personal(crash={"reason": f"again {MAIL}"}))
        self.assertEqual((off["crash"]["reason"], "scrubbed" in off), (f"again {MAIL}", False))
        self.assertEqual(self.project(scrub="on", scrub_rules=[])["scrub_rules"], [])

    def test_5_command(self):
        run = self.server.command("project", "set", "default", "--scrub", "on", "--scrub-rule", "key:shelf", "--scrub-rule", "off:phone")
        self.assertIn("scrub\ton\nscrub_rules\tkey:shelf\nscrub_rules\toff:phone", run)
        self.assertEqual(self.expect(200, "GET", "/api/v1/project")["scrub_rules"], ["key:shelf", "off:phone"])
        self.assertNotIn("scrub_rules", self.server.command("project", "set", "default", "--scrub-rule", "none"))

    def test_6_users_without_id(self):
        ids = [self.post(personal(user={"email": mail}))["user"]["email"] for mail in (MAIL, "bob@example.com", MAIL)]
        self.assertRegex(ids[0], r"^\[email:[0-9a-f]{8}\]$")
        self.assertEqual((ids[0] == ids[2], ids[0] == ids[1]), (True, False))


if __name__ == "__main__":
    main()
