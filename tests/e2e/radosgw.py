"""A throw-away Ceph: one monitor, one OSD, radosgw. About half a minute to start; Debian's ceph-mon, ceph-osd, radosgw.

It listens on 127.0.0.1, or on the address `host` of a machine whose namespaces its programs enter by the words `around`.
"""

import os
import shutil
import subprocess
import time
import unittest
import urllib.error
import urllib.request
import uuid

from framezero import free_port

ACCESS, SECRET = "CEPHACCESSKEY", "CephSecretKey0123456789"
PROGRAMS = ("ceph-mon", "ceph-osd", "radosgw", "ceph", "ceph-authtool", "monmaptool", "radosgw-admin")


class Cluster:
    def __init__(self, folder, osd_gb=8, host="127.0.0.1", around=()):
        missing = [p for p in PROGRAMS if not shutil.which(p)]
        if missing:
            raise unittest.SkipTest(f"there is no {', '.join(missing)}: install radosgw ceph-mon ceph-osd ceph-common")
        self.folder = os.path.join(os.path.abspath(folder), "ceph")
        os.makedirs(self.folder)
        self.fsid, self.mon_port, self.port = str(uuid.uuid4()), free_port(), free_port()
        self.host, self.around = host, list(around)
        self.url = f"http://{host}:{self.port}"
        self.osd_gb = osd_gb
        self.processes = {}
        self.is_made = False
        self.conf = os.path.join(self.folder, "ceph.conf")

    def blobs(self, prefix="", **more):
        query = {"endpoint": self.url, "region": "default", **more}
        return f"s3://blobs/{prefix}?" + "&".join(f"{k}={v}" for k, v in query.items())

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, *command, check=True):
        done = subprocess.run([*self.around, *command], capture_output=True, text=True, timeout=120, check=False)
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)}: {(done.stderr or done.stdout)[-800:]}")
        return done.stdout

    def ceph(self, *arguments, check=True):
        return self.run("ceph", "-c", self.conf, "--connect-timeout", "10", *arguments, check=check)

    def spawn(self, name, *command):
        log = open(self.path(name + ".log"), "ab")
        self.processes[name] = subprocess.Popen([*self.around, *command, "-c", self.conf, "-f"], stdout=log, stderr=log)
        log.close()

    def write_conf(self):
        with open(self.conf, "w", encoding="ascii") as f:
            f.write(f"""[global]
fsid = {self.fsid}
mon host = v1:{self.host}:{self.mon_port}
public addr = {self.host}
cluster addr = {self.host}
ms bind msgr2 = false
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = true
mon allow pool size one = true
mon allow pool delete = true
mon max pg per osd = 2000
mon data avail crit = 1
mon data avail warn = 1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd crush chooseleaf type = 0
osd objectstore = bluestore
bluestore block size = {self.osd_gb << 30}
bluestore fsck on mount = false
osd memory target = 939524096
run dir = {self.path('run')}
log file = {self.path('$name.log')}
admin socket = {self.path('run', '$name.asok')}
pid file =
keyring = {self.path('keyring')}
mon data = {self.path('mon')}
osd data = {self.path('osd')}
rgw data = {self.path('rgw')}
rgw frontends = beast endpoint={self.host}:{self.port}
rgw dynamic resharding = false
rgw enable usage log = false
rgw enable gc threads = true
rgw print continue = false
""")

    def make(self):
        for name in ("run", "mon", "osd", "rgw"):
            os.makedirs(self.path(name))
        self.write_conf()
        keyring, monmap = self.path("keyring"), self.path("monmap")
        self.run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self.run("ceph-authtool", keyring, "--gen-key", "-n", "client.admin", "--cap", "mon", "allow *", "--cap", "osd", "allow *")
        self.run("monmaptool", "--create", "--clobber", "--fsid", self.fsid, "--addv", "a", f"[v1:{self.host}:{self.mon_port}]", monmap)
        self.run("ceph-mon", "-c", self.conf, "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring)
        self.spawn("mon", "ceph-mon", "-i", "a")
        self.until(lambda: self.ceph("-s", check=False), "the monitor")
        osd = str(uuid.uuid4())
        self.ceph("osd", "new", osd, "0")
        self.run("ceph-osd", "-c", self.conf, "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.spawn("osd", "ceph-osd", "-i", "0")
        self.until(lambda: "1 up" in self.ceph("osd", "stat", check=False), "the OSD")

    def until(self, condition, what, deadline_s=90):
        end = time.monotonic() + deadline_s
        while not condition():
            dead = [n for n, p in self.processes.items() if p.poll() is not None]
            if dead or time.monotonic() > end:
                with open(self.path((dead or ["mon"])[0] + ".log"), encoding="utf-8", errors="replace") as f:
                    raise AssertionError(f"not within {deadline_s} s: {what}; ended: {dead}\n{f.read()[-1500:]}")
            time.sleep(0.1)

    def answers(self):
        try:
            urllib.request.urlopen(self.url, timeout=2)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def start(self):
        """Only radosgw, if the rest is there."""
        is_first, self.is_made = not self.is_made, True
        try:
            if is_first:
                self.make()
            self.spawn("radosgw", "radosgw", "-n", "client.admin")
            self.until(self.answers, "radosgw")
            if is_first:
                self.run("radosgw-admin", "-c", self.conf, "user", "create", "--uid=test", "--display-name=test",
                         f"--access-key={ACCESS}", f"--secret-key={SECRET}")
                self.make_bucket()
        except BaseException:
            self.stop()
            raise

    def make_bucket(self):
        self.run("curl", "-sSf", "-X", "PUT", "--aws-sigv4", "aws:amz:default:s3", "--user", f"{ACCESS}:{SECRET}", "-H",
                 "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD", self.url + "/blobs")

    def kill_gateway(self):
        self.processes["radosgw"].kill()
        self.processes.pop("radosgw").wait()

    def stop(self):
        for process in reversed(list(self.processes.values())):
            process.kill()
            process.wait()
        self.processes.clear()
