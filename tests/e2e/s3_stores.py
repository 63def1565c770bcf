"""Object stores for tests: the strict small one, npm's s3rver, Ceph's radosgw. STORES["small"](folder, clients) starts one.

Each has url, blobs(prefix) for --blobs, environment() for its keys, kill() and start() again on the same port with the same
objects, and end(). unittest.SkipTest says why one cannot be had here.
"""

import os
import subprocess
import unittest

import clients as npm_clients
import radosgw
import s3_server
from framezero import free_port

# A fork that is kept; 5.0.0 needs a newer node than Debian has.
S3RVER = "@20minutes/s3rver@4.0.4"
START = """
const S3rver = require(process.argv[1]);
const [port, directory, access, secret] = process.argv.slice(2);
new S3rver({address: '127.0.0.1', port: +port, silent: true, directory, configureBuckets: [{name: 'blobs'}]})
  .run().then(() => console.log('up'));
"""


class Small:
    def __init__(self, *_):
        self.server = s3_server.Server(free_port()).start()
        self.url, self.store = self.server.url, self.server.store

    def blobs(self, prefix="", **more):
        return self.server.blobs(prefix, **more)

    def environment(self):
        return {"AWS_ACCESS_KEY_ID": s3_server.ACCESS, "AWS_SECRET_ACCESS_KEY": s3_server.SECRET, "FZ_S3_CONTROL": self.url}

    def kill(self):
        self.server.kill()

    def start(self):
        self.server = s3_server.Server(self.server.port, self.store).start()

    end = kill


class S3rver:
    def __init__(self, folder, clients):
        home = npm_clients.npm(clients, S3RVER)
        self.command = ["node", "-e", START, os.path.join(home, "node_modules", "@20minutes", "s3rver"), str(free_port()), folder]
        self.url = f"http://127.0.0.1:{self.command[4]}"
        self.process = None
        self.start()

    def blobs(self, prefix="", **more):
        query = {"endpoint": self.url, **more}
        return f"s3://blobs/{prefix}?" + "&".join(f"{k}={v}" for k, v in query.items())

    def environment(self):
        return {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER", "FZ_S3_CONTROL": ""}

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if b"up" not in self.process.stdout.readline():
            self.kill()
            raise unittest.SkipTest("s3rver does not start with this node")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    end = kill


class Radosgw(radosgw.Cluster):
    def __init__(self, folder, _):
        super().__init__(folder)
        self.start()

    def kill(self):
        self.kill_gateway()

    def end(self):
        self.stop()

    def environment(self):
        return {"AWS_ACCESS_KEY_ID": radosgw.ACCESS, "AWS_SECRET_ACCESS_KEY": radosgw.SECRET, "FZ_S3_CONTROL": ""}


STORES = {"small": Small, "s3rver": S3rver, "radosgw": Radosgw}
