#!/usr/bin/env python3
"""`framezero symbolicate` of many files: folders, archives, compressed files, standard input, an output folder."""

import gzip
import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile

from case import BINARY, SAMPLE, FolderCase, main

UUID = "4c4c445b-5555-3144-a129-88beb9d5eb60"


def native(address=0x1010, name="Shop", uuid=UUID, **more):
    return json.dumps({"framezero": 1, "addresses": [hex(address)],
                       "images": [{"uuid": uuid, "name": name, "address": "0x1000", **more}]}).encode()


class Files(FolderCase):
    def setUp(self):
        super().setUp()
        self.out = self.path("out")

    def read(self, name):
        with open(self.path(*name.split("/")), "rb") as f:
            return f.read()

    def run_on(self, *args, code=0, stdin=b"", **how):
        done = subprocess.run([BINARY, "symbolicate", *args], input=stdin, capture_output=True, timeout=120, **how)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()

    def addresses(self, text):
        return [json.loads(line)["threads"][0]["frames"][0]["address"] for line in text.splitlines()]

    def written(self):
        return sorted(os.listdir(self.out))

    def test_several_files(self):
        names = [self.write(f"{i}.json", native(0x1000 + i)) for i in range(1, 4)]
        out, err = self.run_on("--json", *names)
        self.assertEqual(self.addresses(out), ["0x1001", "0x1002", "0x1003"])
        self.assertEqual(err.count("missing symbols for 1 of 1 image: Shop " + UUID), 1)
        self.assertIn("3 of 3 reports symbolicated\n", err)
        out, _ = self.run_on(*names)
        self.assertEqual(out.count("Binary Images:"), 3)

    def test_one_is_broken(self):
        good, bad = self.write("a.json", native(0x1001)), self.write("b.json", b'{"framezero":1,"threads":[')
        other = self.write("c.json", native(0x1003))
        out, err = self.run_on("--json", good, bad, self.path("none.ips"), other, code=1)
        self.assertEqual(self.addresses(out), ["0x1001", "0x1003"])
        self.assertIn(f"framezero symbolicate: {bad}: ", err)
        self.assertIn("none.ips: No such file or directory", err)
        self.assertIn("2 of 4 reports symbolicated", err)

    def test_compressed(self):
        plain = native(0x1042)
        gz = self.write("a.crash.gz", gzip.compress(plain))
        self.assertEqual(self.addresses(self.run_on("--json", gz)[0]), ["0x1042"])
        self.assertEqual(self.addresses(self.run_on("--json", "-", stdin=gzip.compress(plain))[0]), ["0x1042"])
        xz, zstd = shutil.which("xz"), shutil.which("zstd")
        for tool in filter(None, (xz, zstd)):
            packed = subprocess.run([tool, "-c"], input=plain, capture_output=True, check=True).stdout
            self.assertEqual(self.addresses(self.run_on("--json", self.write("a.packed", packed))[0]), ["0x1042"])
        cut = self.write("cut.gz", gzip.compress(os.urandom(4096) + plain)[:-1000])
        self.assertIn("cut.gz: ", self.run_on(cut, code=1)[1])

    def test_archives(self):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("logs/one.json", native(0x1001))
            z.writestr("logs/readme.txt", "about these files")
            z.writestr("__MACOSX/logs/._one.json", b"\0\5\x16\7")
            z.writestr("logs/two.json.gz", gzip.compress(native(0x1002)))
            z.writestr("logs/broken.ips", "no report at all")
        packed = self.write("logs.zip", data.getvalue())
        out, err = self.run_on("--json", packed, code=1)
        self.assertEqual(sorted(self.addresses(out)), ["0x1001", "0x1002"])
        self.assertIn("logs.zip:logs/broken.ips: ", err)
        self.assertNotIn("readme", err)
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as t:
            info = tarfile.TarInfo("x.json")
            info.size = len(native())
            t.addfile(info, io.BytesIO(native()))
        self.assertEqual(self.addresses(self.run_on("--json", "-", stdin=tar.getvalue())[0]), ["0x1010"])
        self.run_on(packed, "-o", self.out, code=1)
        self.assertEqual(self.written(), ["one.crash", "two.crash"])
        with zipfile.ZipFile(self.path("nothing.zip"), "w") as z:
            z.writestr("readme.txt", "no report")
        self.assertIn("nothing.zip: it contains no crash report", self.run_on(self.path("nothing.zip"), code=1)[1])

    def test_folder(self):
        self.write("in/b/two.json", native(0x1002))
        self.write("in/a.json", native(0x1001))
        self.write("in/notes.txt", b"some notes")
        self.write("in/.hidden.json", native(0x1009))
        self.write("in/Shop.app.dSYM/Contents/Info.plist", b"<plist/>")
        out, err = self.run_on("--json", self.path("in"))
        self.assertEqual(self.addresses(out), ["0x1001", "0x1002"])
        self.assertNotIn("notes", err)
        os.mkdir(self.path("empty"))
        self.assertIn("empty: no files in this folder", self.run_on(self.path("empty"), code=1)[1])
        self.write("other/notes.txt", b"some notes")
        self.assertIn("no crash report was found", self.run_on(self.path("other"), code=1)[1])

    def test_output_folder(self):
        self.write("in/Shop 1.ips.gz", gzip.compress(native(0x1001)))
        self.write("in/x/same.json", native(0x1002))
        self.write("in/y/same.json", native(0x1003))
        self.write("in/several.json", b"[" + native(0x1004) + b"," + native(0x1005) + b"]")
        _, err = self.run_on("--json", self.path("in"), "-o", self.path("out"))
        self.assertEqual(self.written(), ["Shop 1.json", "same-2.json", "same.json", "several-2.json", "several.json"])
        found = {name: self.addresses(self.read("out/" + name).decode()) for name in self.written()}
        self.assertEqual(found, {"Shop 1.json": ["0x1001"], "same.json": ["0x1002"], "same-2.json": ["0x1003"],
                                 "several.json": ["0x1004"], "several-2.json": ["0x1005"]})
        self.assertIn("5 of 5 reports symbolicated into " + self.out, err)
        # A second run replaces the files and adds no others.
        self.run_on("--json", self.path("in"), "--output=" + self.out)
        self.assertEqual(len(self.written()), 5)
        for form, extension in (("--ips", "ips"), ("--crash", "crash")):
            target = self.path("out-" + extension)
            self.run_on(form, self.path("in", "several.json"), "-o", target)
            self.assertEqual(sorted(os.listdir(target)), [f"several-2.{extension}", f"several.{extension}"])
        self.run_on("-", "-o", self.path("deep", "er"), stdin=native())
        self.assertEqual(os.listdir(self.path("deep", "er")), ["stdin.crash"])

    def test_input_is_never_overwritten(self):
        before = {name: native(0x1000 + i) for i, name in enumerate(("a.crash", "a.symbolicated.crash", "b.crash"), 1)}
        for name, data in before.items():
            self.write("both/" + name, data)
        os.link(self.path("both", "b.crash"), self.path("linked.json"))
        self.run_on(self.path("both", "a.crash"), self.path("both", "a.symbolicated.crash"), self.path("linked.json"),
                    self.path("both", "b.crash"), "-o", self.path("both"))
        for name, data in before.items():
            self.assertEqual(self.read("both/" + name), data, name)
        self.assertEqual(len(os.listdir(self.path("both"))), 7)

    def test_output_is_wrong(self):
        report, taken = self.write("a.json", native()), self.write("taken", b"")
        self.assertIn(f"--output: '{taken}' is a file; a folder is expected", self.run_on(report, "-o", taken, code=1)[1])
        if os.getuid() != 0:
            os.mkdir(self.out)
            os.chmod(self.out, stat.S_IRUSR | stat.S_IXUSR)
            self.assertIn("Permission denied", self.run_on(report, "-o", self.out, code=1)[1])
        _, err = self.run_on(report, "-o", "/proc/none", code=1)
        self.assertIn("--output: ", err)

    def test_missing_images(self):
        reports = []
        for i in range(9):
            uuid = f"{i:08x}-0000-4000-8000-000000000000"
            system = {"path": f"/usr/lib/lib{i}.dylib"} if i < 4 else {"arch": "arm64"}
            reports += [self.write(f"{i}{k}.json", native(0x1010, f"Image{i}", uuid, **system)) for k in range(i + 1)]
        _, err = self.run_on("--json", *reports)
        (line,) = [line for line in err.splitlines() if "missing" in line]
        # The app's images before those of the system, the most frequent first.
        self.assertEqual(line, "framezero symbolicate: missing symbols for 9 of 9 images: " + ", ".join(
            f"Image{i} {i:08x}-0000-4000-8000-000000000000 (arm64)" for i in (8, 7, 6, 5, 4))
            + " and 4 more; pass --dsym PATH, or upload them to a server")
        self.assertIn("45 of 45 reports symbolicated", err)
        out, err = self.run_on(os.path.join(SAMPLE, "report.json"), "--dsym", os.path.join(SAMPLE, "Demo.dSYM.zip"))
        self.assertIn("shop::cart::total", out)
        self.assertNotIn("Demo", err)

    def test_standard_output(self):
        report = self.write("a.json", native())
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BINARY, "symbolicate", report], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.decode().count("cannot write to standard output: No space left on device"), 1)


if __name__ == "__main__":
    main()
