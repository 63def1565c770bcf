#!/usr/bin/env python3
"""What the users of a project share: its name, links to sources, saved filters. Who may change them, and what is refused."""

import json

from case import ServerCase, main

TEMPLATE = "https://github.com/acme/shop/blob/v{version}/{path}#L{line}"


class ProjectSettings(ServerCase):
    workers = 0

    def ask(self, method, path, body=None, token="admin"):
        data = None if body is None else json.dumps(body).encode()
        return self.server.request(method, path, body=data, token=token)[:2]

    def make_token(self, *scopes):
        return self.ask("POST", "/api/v1/tokens", {"label": "t", "scopes": scopes})[1]["token"]

    def test_links_to_sources(self):
        paths = [{"from": "/Users/ci/kit/", "to": "Packages/kit/"}, {"from": "/Users/ci/", "to": ""}]
        status, answer = self.ask("PUT", "/api/v1/project", {"source_template": TEMPLATE, "source_paths": paths})
        self.assertEqual((status, answer["source_template"], answer["source_paths"]), (200, TEMPLATE, paths))
        # What is absent stays.
        self.assertEqual(self.ask("PUT", "/api/v1/project", {"source_paths": []})[1]["source_template"], TEMPLATE)
        read = self.make_token("read")
        self.assertEqual(self.ask("GET", "/api/v1/project", token=read)[1]["source_template"], TEMPLATE)
        self.assertEqual(self.ask("PUT", "/api/v1/project", {"source_template": ""}, token=read)[0], 403)
        for wrong in ("javascript:alert(1)//{path}", "xed $(id) {path}", "https://{path}", "https://a/", 7, None, ["x"],
                      "https://a.b/{path}" + "a" * 500, "https://a.b/{path}\nx"):
            with self.subTest(wrong=wrong):
                status, answer = self.ask("PUT", "/api/v1/project", {"source_template": wrong})
                self.assertEqual((status, answer["error"]["detail"]), (400, {"path": "source_template"}))
        for wrong, want in (("x", 400), ([{}], 400), ([{"from": "", "to": ""}], 400), ([{"from": "/a\tb", "to": ""}], 400),
                            ([{"from": "/a", "to": "b\n/c"}], 400), ([{"from": "/" * 257, "to": ""}], 400),
                            ([{"from": "/a", "to": 1}], 400), ([{"from": "/a", "to": ""}] * 65, 413)):
            with self.subTest(wrong=wrong):
                status, answer = self.ask("PUT", "/api/v1/project", {"source_paths": wrong, "source_template": ""})
                self.assertEqual((status, answer["error"]["detail"]), (want, {"path": "source_paths"}))
        # Nothing of a request that was refused is stored.
        self.assertEqual(self.ask("GET", "/api/v1/project")[1]["source_template"], TEMPLATE)
        self.assertEqual(self.ask("PUT", "/api/v1/project", {"source_template": ""})[1]["source_template"], "")

    def test_name(self):
        self.assertEqual(self.ask("POST", "/api/v1/projects", {"name": "shop"})[0], 201)
        read = self.make_token("read")
        for wrong, want in (("Shop", 400), ("", 400), (7, 400), ("a/b", 400), ("shop", 409)):
            status, answer = self.ask("PUT", "/api/v1/project", {"name": wrong, "source_template": TEMPLATE})
            self.assertEqual((status, answer["error"]["detail"]), (want, {"path": "name"}), wrong)
        self.assertEqual(self.ask("GET", "/api/v1/project")[1]["source_template"], "")
        self.assertEqual(self.ask("PUT", "/api/v1/project", {"name": "other"}, token=read)[0], 403)
        self.assertEqual(self.ask("PUT", "/api/v1/project", {"name": "till"})[1]["name"], "till")
        # Tokens go on working, also that of all projects without a name of one.
        for token in ("admin", read):
            self.assertEqual(self.ask("GET", "/api/v1/project", token=token)[1]["name"], "till")
        self.assertEqual(self.ask("GET", "/api/v1/project?project=default")[0], 404)
        self.assertEqual(self.ask("GET", "/api/v1/project?project=till")[0], 200)
        self.assertEqual(self.ask("PUT", "/api/v1/project?project=till", {"name": "default"})[0], 200)

    def test_filters(self):
        write, read = self.make_token("read", "write"), self.make_token("read")
        new = {"name": "  Crashes <b>of</b> 4.2 ", "query": "kind:crash version:4.2", "since": "14d"}
        self.assertEqual(self.ask("POST", "/api/v1/filters", new, token=read)[0], 403)
        status, made = self.ask("POST", "/api/v1/filters", new, token=write)
        self.assertEqual((status, made["name"], made["query"], made["since"], made["by"]),
                         (201, "Crashes <b>of</b> 4.2", new["query"], "14d", "t"))
        self.assertNotIn("until", made)
        self.assertEqual(self.ask("POST", "/api/v1/filters", new)[0], 409)
        self.assertEqual(self.ask("GET", "/api/v1/filters", token=read)[1]["filters"], [made])
        one = f"/api/v1/filters/{made['id']}"
        changed = self.ask("PATCH", one, {"name": "4.2", "since": None, "sort": "users"}, token=write)[1]
        self.assertEqual((changed["name"], changed["query"], changed["sort"], "since" in changed), ("4.2", new["query"], "users", False))
        for method in ("PATCH", "DELETE"):
            self.assertEqual(self.ask(method, one, {"name": "x"} if method == "PATCH" else None, token=read)[0], 403)
        for wrong, member in (({"name": ""}, "name"), ({"name": "a\nb"}, "name"), ({"name": "a" * 101}, "name"), ({"name": 1}, "name"),
                              ({"query": '"open'}, "query"), ({"query": "a" * 2001}, "query"), ({"query": None}, "query"),
                              ({"since": "a b"}, "since"), ({"until": "<b>"}, "until"), ({"sort": "a" * 41}, "sort"), ({"sort": 1}, "sort")):
            with self.subTest(wrong=wrong):
                for method, path, body in (("PATCH", one, wrong), ("POST", "/api/v1/filters", {"name": "n", **wrong})):
                    status, answer = self.ask(method, path, body)
                    self.assertEqual((status, answer["error"]["detail"]["path"]), (400, member))
        for wrong in ({}, [], {"nam": "x"}, {"query": ""}):
            self.assertEqual(self.ask("POST", "/api/v1/filters", wrong)[0], 400, wrong)
        # Of another project it is not there.
        self.ask("POST", "/api/v1/projects", {"name": "filters"})
        self.assertEqual(self.ask("GET", "/api/v1/filters?project=filters")[1]["filters"], [])
        for path in (f"{one}?project=filters", "/api/v1/filters/x", "/api/v1/filters/0", "/api/v1/filters/-1", "/api/v1/filters/999999"):
            self.assertEqual(self.ask("DELETE", path)[0], 404, path)
            self.assertEqual(self.ask("PATCH", path, {"name": "x"})[0], 404, path)
        self.assertEqual(self.ask("DELETE", one, token=write)[0], 204)
        self.assertEqual(self.ask("GET", "/api/v1/filters")[1]["filters"], [])


if __name__ == "__main__":
    main()
