#!/usr/bin/env python3
"""The container image without a container engine: `./dev image-test`.

The steps of docker/Dockerfile run in a new Debian in a folder. The result is held to its size, contains no compiler, and runs as
an engine would run it: as its user, without new rights, with a read-only root and a volume. The health check works in both
directions, the sample gets its names, SIGTERM ends it in order, and a second start finds its data. Needs root.

With --rootfs FOLDER, the files of an image that an engine has built (`buildah mount`) are tried in place of building them.
"""
import argparse
import os
import re
import subprocess
import sys

from dockerfile import build
from root import check_names, run, say, send_sample

MAX_BYTES = 80 * 1000 * 1000
COMPILERS = re.compile(r"/(g?cc|[gc]\+\+|clang[-\d]*|ld|as|make|cmake|ninja|cc1|apt|dpkg|perl|python[\d.]*)$")


def check_files(image):
    path = image.root.path
    size = sum(os.lstat(os.path.join(folder, name)).st_size
               for folder, _, names in os.walk(path) for name in names)
    packed = int(run("sh", "-c", f"tar -C {path} -c . | gzip -6 | wc -c"))
    say(f"size: {size / 1e6:.1f} MB, compressed {packed / 1e6:.1f} MB")
    assert size < MAX_BYTES, size
    found = run("find", path, "-type", "f", "-o", "-type", "l").splitlines()
    compilers = [name for name in found if COMPILERS.search(name)]
    assert not compilers, compilers
    for program in ("framezero", "framezero-child"):
        assert path + "/usr/local/bin/" + program in found
        told = run("readelf", "--sections", "--wide", f"{path}/usr/local/bin/{program}")
        assert ".symtab" not in told, f"{program} is not stripped"
    set_user_id = run("find", path, "-perm", "/6000")
    assert not set_user_id, set_user_id
    user, group = image.user.split(":")
    assert int(user) > 0 and int(group) > 0, image.user


def start(image, volume):
    for name in ("proc", "dev"):
        os.makedirs(image.root.inside(name), exist_ok=True)
    setup = (f"mount --rbind /dev $0/dev; mount --bind {volume} $0{image.volumes[0]}; mount -o remount,bind,ro $0; "
             f"cd $0{image.folder}; ")
    image.root.start(image.root.command(*image.words(), environment=image.environment, setup=setup,
                                        chroot=f"setpriv --no-new-privs chroot --userspec={image.user}"),
                     volume + ".log", lambda pid: True)
    image.root.wait_ready()


def health(image):
    words = image.root.entering("sh", "-c", image.health, environment=image.environment)
    return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode


def check_running(image):
    root = image.root
    volume = root.path + ".volume"
    run("cp", "-a", root.inside(image.volumes[0]), volume)  # a new volume gets what the image has there
    try:
        start(image, volume)
        token = re.search(r'"admin_token":\s*"([^"]+)"',
                          root.enter("cat", "/data/credentials.json", environment=image.environment))[1]
        report = send_sample(root, token)
        assert health(image) == 0
        sandbox = root.request("/healthz")["sandbox"]
        say(f"runs as {image.user} with a read-only root; the sample has its names; sandbox {sandbox['level']}")
        with open(f"/proc/{root.pid}/status", encoding="ascii") as file:
            status = file.read()
        assert re.search(rf"^Uid:\s+{image.user.split(':')[0]}\s", status, re.M), status
        assert re.search(r"^CapEff:\s+0+$", status, re.M), status
        assert root.end() == 0, "SIGTERM does not end it in order"
        start(image, volume)
        check_names(root, token, report)
        image.environment["FRAMEZERO_LISTEN"] = "0.0.0.0:1"
        assert health(image) != 0, "the health check does not see that nobody answers"
        say("ends with code 0; its data is there after the next start; the health check works in both directions")
        assert root.end() == 0
    finally:
        root.end()
        run("rm", "-rf", volume, volume + ".log")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rootfs", help="the files of an image, which is not built then")
    image = build(parser.parse_args().rootfs)
    with image.root:
        check_files(image)
        check_running(image)
    print("image-test: passed")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("image-test: needs root")
    main()
