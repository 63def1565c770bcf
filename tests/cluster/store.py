"""The object store of a cluster, on a machine of its own: the small strict one, or Ceph's radosgw.

Each has blobs(prefix), environment(), kill() and start() again with the same objects, stop(), and read(key): the bytes of an object.
"""

import ctypes
import os
import subprocess
import tempfile
from contextlib import contextmanager

import radosgw
import s3_server

CLONE_NEWNET = 0x40000000


@contextmanager
def network_of(machine):
    """Sockets that are made meanwhile are of the machine's network."""
    libc = ctypes.CDLL(None, use_errno=True)
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/proc/{machine.first}/ns/net", os.O_RDONLY)
    try:
        if libc.setns(other, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        yield
    finally:
        if libc.setns(own, CLONE_NEWNET):
            os._exit(1)  # further sockets would be of the wrong network
        os.close(own)
        os.close(other)


class Reader:
    """What its user would read with curl, whichever server it is."""

    def read(self, key):
        done = subprocess.run(["curl", "-sS", "-f", "--max-time", "20", "--aws-sigv4", f"aws:amz:{self.region}:s3", "--user",
                               f"{self.access}:{self.secret}", "-H", f"X-Amz-Content-Sha256: {EMPTY}", f"{self.url}/blobs/{key}"],
                              capture_output=True, check=False, timeout=30)
        return done.stdout if done.returncode == 0 else None

    def environment(self):
        return {"AWS_ACCESS_KEY_ID": self.access, "AWS_SECRET_ACCESS_KEY": self.secret}


EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # the hash of no bytes


class Small(Reader):
    """It runs in this program, so that it has its objects when it comes back; only its socket is the machine's."""
    access, secret, region = s3_server.ACCESS, s3_server.SECRET, s3_server.REGION

    def __init__(self, machine, _):
        self.machine, self.server = machine, None

    def start(self):
        with network_of(self.machine):
            self.server = s3_server.Server(self.server.port if self.server else 0, self.server and self.server.store,
                                           host=self.machine.address)
        self.server.start()
        self.url = self.server.url

    def blobs(self, prefix):
        return self.server.blobs(prefix)

    def kill(self):
        self.server.kill()

    stop = kill


class Radosgw(Reader, radosgw.Cluster):
    """All of Ceph is on the machine; its gateway is what dies."""
    access, secret, region = radosgw.ACCESS, radosgw.SECRET, "default"

    def __init__(self, machine, folder):
        radosgw.Cluster.__init__(self, folder, host=machine.address, around=["nsenter", "--target", str(machine.first), "--net", "--"])
        self.machine = machine

    def kill(self):
        self.kill_gateway()


STORES = {"small": Small, "radosgw": Radosgw}


def make(name, machine):
    return STORES[name](machine, tempfile.mkdtemp(prefix="framezero-cluster-s3-", dir=os.environ["FZ_CLUSTER_FOLDER"]))
