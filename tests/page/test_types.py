#!/usr/bin/env python3
"""The JSDoc types of the page's modules hold: TypeScript reads them, in its strict mode. And a mistake would be found."""

import os
import subprocess

import page_case  # the path of the other tests
import clients
from case import CLIENTS, SOURCE, FolderCase, main

TYPESCRIPT = "typescript@7.0.2"
SETTINGS = os.path.join(page_case.HERE, "tsconfig.json")


class Types(FolderCase):
    def check(self, *arguments):
        tsc = os.path.join(clients.npm(CLIENTS, TYPESCRIPT), "node_modules", ".bin", "tsc")
        done = subprocess.run([tsc, *arguments], capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_types(self):
        code, output = self.check("-p", SETTINGS)
        self.assertEqual(code, 0, output)

    def test_mistakes_are_found(self):
        store = os.path.join(SOURCE, "server", "web", "page", "lib", "format.js")
        self.write("a.js", f'import {{ number }} from "{store}";\nexport const text = number("7");\n'.encode())
        with open(SETTINGS, encoding="utf-8") as file:
            self.write("tsconfig.json", file.read().replace("../../server/web/page/**/*.js", "a.js").encode())
        code, output = self.check("-p", self.path("tsconfig.json"))
        self.assertNotEqual(code, 0)
        self.assertIn("a.js(2,", output)


if __name__ == "__main__":
    main()
