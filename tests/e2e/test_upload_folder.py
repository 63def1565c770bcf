#!/usr/bin/env python3
"""`framezero upload` and `inspect` of folders as build tools leave them: zipped dSYMs, BCSymbolMaps, copies."""

import json
import os
import shutil
import struct
import subprocess

import symbol_files as files
from case import BINARY, SAMPLE, FolderCase, ServerCase, main
from terminal import open_terminal

NAME = b"_ZNK4shop4cart5totalEv"


def as_binary(macho):
    """The linked program of the dSYM, as a server sees it: no DWARF, the same UUID."""
    return macho[:12] + struct.pack("<I", 2) + macho[16:].replace(b"__DWARF\0", b"__OTHER\0")


class Folder(FolderCase, ServerCase):
    def setUp(self):
        super().setUp()
        for symbol in self.stored():
            self.server.request("DELETE", f"/api/v1/symbols/{symbol['uuid']}")

    def stored(self):
        return self.server.request("GET", "/api/v1/symbols?limit=500")[1]["symbols"]

    def write_zip(self, name, *machos):
        """A zip of dSYM bundles, as `zip -r` makes it."""
        top = self.path("zipped")
        for i, macho in enumerate(machos):
            files.make_dsym(os.path.join(top, "dSYMs"), f"Demo{i}.app", macho)
        data = files.zip_folder(os.path.join(top, "dSYMs"))
        shutil.rmtree(top)
        self.write(name, data)

    def run_command(self, *args, code=0, **how):
        done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120, **how)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def upload(self, *paths, code=0, options=()):
        return self.run_command("upload", *options, *paths, "--data", self.server.data, code=code)

    def test_zipped_dsyms_in_a_folder(self):
        macho = files.sample_macho()
        self.write_zip("out/Shop.app.dSYM.zip", macho)
        self.write_zip("out/deep/appDsyms.ZIP", files.as_x86_64(macho))
        self.write_zip("out/other.zip", files.sample_macho())
        self.write("out/broken.dSYM.zip", b"PK\3\4 but no more")
        done = self.upload(self.path("out"), code=1)
        self.assertIn("2 found, 2 sent", done.stdout)
        self.assertIn("broken.dSYM.zip", done.stderr)
        self.assertEqual({s["arch"] for s in self.stored()}, {"arm64", "x86_64"})
        os.remove(self.path("out", "broken.dSYM.zip"))
        self.assertIn("2 found, 0 sent, 2 known before, 0 failed", self.upload(self.path("out")).stdout)
        slices = json.loads(self.run_command("inspect", "--json", self.path("out")).stdout)["slices"]
        self.assertEqual({s["arch"] for s in slices}, {"arm64", "x86_64"})
        self.assertIn("Shop.app.dSYM.zip:dSYMs/", self.run_command("inspect", self.path("out")).stdout)

    def test_symbols_of_a_report_from_a_zip_in_a_folder(self):
        shutil.copy(os.path.join(SAMPLE, "Demo.dSYM.zip"), self.folder)
        done = self.run_command("symbolicate", os.path.join(SAMPLE, "report.json"), "--dsym", self.folder)
        self.assertIn("shop::cart::total", done.stdout)
        self.assertNotIn("Demo", done.stderr)

    def test_the_same_dsym_twice(self):
        files.make_dsym(self.folder, "Demo.app", files.sample_macho())
        self.write_zip("Demo.app.dSYM.zip", files.sample_macho())
        self.assertIn("1 found, 1 sent", self.upload(self.folder).stdout)

    def test_nothing_untrue_about_the_binary(self):
        macho = files.sample_macho()
        self.write("Shop.app/Shop", as_binary(macho))
        alone = self.upload(self.path("Shop.app"))
        self.assertIn("upload its dSYM too", alone.stderr)
        self.assertIn("upload its dSYM too", self.run_command("inspect", self.path("Shop.app")).stdout)
        self.server.request("DELETE", f"/api/v1/symbols/{files.uuid_of(macho)}")
        files.make_dsym(self.folder, "Demo.app", macho)
        together = self.upload(self.folder)
        self.assertIn("2 found, 2 sent", together.stdout)
        self.assertNotIn("upload its dSYM", together.stderr)
        self.assertNotIn("upload its dSYM", self.run_command("inspect", self.folder).stdout)
        # The dSYM is there from before.
        again = self.upload(self.path("Shop.app"), options=["--force"])
        self.assertNotIn("upload its dSYM", again.stderr)

    def test_hidden_names_with_their_map(self):
        macho, names = files.with_hidden_name(files.sample_macho(), NAME)
        bundle = files.make_dsym(self.path("a"), "Demo.app", macho)
        alone = self.upload(self.path("a"))
        self.assertIn("hidden by a bitcode build", alone.stderr)
        # The map beside it, in the same folder or as another argument: found, and sent for what is known already.
        name = files.dashed(files.uuid_of(macho)).upper() + ".bcsymbolmap"
        self.write(f"b/BCSymbolMaps/{name}", names)
        later = self.upload(self.path("a"), self.path("b"))
        self.assertNotIn("hidden", later.stderr)
        self.assertIn("the BCSymbolMap of ", later.stderr)
        self.assertEqual({s["kind"] for s in self.stored()}, {"dsym", "bcsymbolmap"})
        self.assertNotIn("the BCSymbolMap of ", self.upload(self.path("a"), self.path("b")).stderr)
        for symbol in self.stored():
            self.server.request("DELETE", f"/api/v1/symbols/{symbol['uuid']}")
        self.assertNotIn("hidden", self.upload(self.folder).stderr)
        for options in ([], ["--verify"]):
            self.assertNotIn("hidden", self.run_command("inspect", *options, self.folder).stdout)
        self.assertIn("hidden", self.run_command("inspect", os.path.dirname(bundle)).stdout)

    def test_sizes(self):
        done = self.upload(os.path.join(SAMPLE, "Demo.dSYM.zip"))
        size = f"{len(files.sample_macho()) / 1000:.1f} KB"
        self.assertIn(f"1 found, 1 sent ({size}), 0 known before, 0 failed; 0 reports unblocked", done.stdout)
        self.assertIn(f", {size}\n", done.stderr)
        self.assertNotIn("0.0 MB", done.stdout + done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertNotIn("\033", done.stderr)

    def test_progress_on_a_terminal(self):
        ours, theirs = open_terminal()
        try:
            subprocess.run([BINARY, "upload", os.path.join(SAMPLE, "Demo.dSYM.zip"), "--data", self.server.data],
                           stdout=subprocess.DEVNULL, stderr=theirs, check=True, timeout=120)
            shown = os.read(ours, 65536).decode()
        finally:
            os.close(theirs)
            os.close(ours)
        self.assertIn("100 %", shown)
        self.assertTrue(shown.endswith("\r       \r"), repr(shown))

    def test_one_path_of_several_is_wrong(self):
        self.write("Demo", files.sample_macho())
        done = self.upload("/nonexistent/A.dSYM", self.path("Demo"), code=1)
        self.assertIn("/nonexistent/A.dSYM: No such file or directory", done.stderr)
        self.assertIn("1 found, 1 sent", done.stdout)


if __name__ == "__main__":
    main()
