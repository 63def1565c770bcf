"""Third-party clients for tests: fetched once from npm or Debian into a folder; nothing is installed. A browser is the machine's.

npm(folder, "@sentry/node@10") and debian(folder, ["ruby3.1", ...]) return the folder of the package, or raise
unittest.SkipTest with the reason: no npm, no network, no such package.
"""

import fcntl
import os
import shutil
import subprocess
import unittest

TIMEOUT_S = 300
# Without a registry the tests are skipped; this must happen before their own timeout.
QUICKLY = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"]

PLAYWRIGHT, AXE = "playwright-core@1.65.1", "axe-core@4.14.1"


def fetch(folder, name, make):
    """folder/name, made by make(path) if it is not there; one process at a time; a partial result is removed."""
    path = os.path.join(os.path.abspath(folder), name)
    os.makedirs(folder, exist_ok=True)
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(path):
            return path
        new = path + ".new"
        shutil.rmtree(new, ignore_errors=True)
        os.makedirs(new)
        make(new)
        os.rename(new, path)
    return path


def run(command, cwd):
    if not shutil.which(command[0]):
        raise unittest.SkipTest(f"there is no {command[0]}")
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"{' '.join(command)}: no answer in {TIMEOUT_S} s") from None
    if done.returncode != 0:
        raise unittest.SkipTest(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-300:]}")


def npm(folder, package):
    def make(path):
        run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *QUICKLY, "--prefix", path, package], path)

    return fetch(folder, "npm-" + package.strip("@").replace("/", "-"), make)


def debian(folder, name, packages):
    def make(path):
        run(["apt-get", "download", *packages], path)
        for file in sorted(os.listdir(path)):
            if file.endswith(".deb"):
                run(["dpkg", "-x", file, "."], path)

    return fetch(folder, "debian-" + name, make)


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def find_browser(names=("chromium-headless-shell", *BROWSERS)):
    """For tests the one without windows first: the same engine for a third less processor time."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise unittest.SkipTest(f"there is no browser: none of {', '.join(names)}")
