"""Debian in a folder: made once per release by mmdebstrap, entered by chroot in namespaces of its own, or booted.

Needs root. The mirror is that of this machine (`./dev sources`). The network namespace of what is started is its own, so that
ports of this machine are neither used nor met; only apt is run with the machine's network.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
WORK = os.path.join(SOURCE, "build", "package")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
               "LC_ALL": "C.UTF-8", "HOME": "/"}


def say(text):
    print(f"-- {text}", flush=True)


def run(*command, **how):
    """Run it and return its output; a failure shows that and ends the test."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=how.pop("timeout", 900), check=False, **how)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


def until(condition, what, deadline_s=60):
    end = time.monotonic() + deadline_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        time.sleep(0.05)


def codename():
    with open("/etc/os-release", encoding="utf-8") as file:
        return dict(line.strip().split("=", 1) for line in file if "=" in line)["VERSION_CODENAME"]


def mirrors():
    sources = run(os.path.join(SOURCE, "dev"), "sources")
    return [line.split()[1] for line in sources.splitlines() if line.startswith("URIs:")]


def base(release, name, variant, include=()):
    """The path of a tar archive of that release, which is made if it is not there."""
    path = os.path.join(WORK, "bases", f"{release}-{name}.tar")
    if not os.path.exists(path):
        say(f"making Debian {release} ({variant}{', ' if include else ''}{', '.join(include)})")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tempfile.NamedTemporaryFile("w", suffix=".list", dir=WORK) as sources:
            sources.writelines(f"deb {uri} {release} main\n" for uri in mirrors())
            sources.flush()
            options = [f"--include={','.join(include)}"] if include else []
            run("mmdebstrap", "--dpkgopt=force-unsafe-io", f"--variant={variant}", *options, release, path + ".tmp.tar", sources.name)
        os.rename(path + ".tmp.tar", path)
    return path


class Root:
    """A folder with a system in it. Ends what runs in it, and removes it, at the end of `with`."""

    def __init__(self, archive=None):
        os.makedirs(WORK, exist_ok=True)
        self.path = tempfile.mkdtemp(prefix="root-", dir=WORK)
        os.chmod(self.path, 0o755)
        self.running, self.pid = None, None
        if archive:
            run("tar", "-C", self.path, "-xpf", archive)
            shutil.copy("/etc/resolv.conf", self.inside("/etc/resolv.conf"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        run("rm", "-rf", "--one-file-system", self.path, self.path + ".log")

    def inside(self, path):
        return os.path.join(self.path, path.lstrip("/"))

    def command(self, *command, network=False, environment=None, setup="", chroot="chroot"):
        """What starts `command` in the folder, in namespaces of its own. `setup`: shell, run before, $0 is the folder."""
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child"] + ([] if network else ["--net"])
        script = "mount --bind $0 $0; mount -t proc proc $0/proc; "
        script += "" if network else "ip link set lo up; "
        words += ["sh", "-ec", f'{script}{setup}cd $0; exec {chroot} "$0" "$@"', self.path, "env", "-i"]
        return words + [f"{name}={value}" for name, value in (environment or ENVIRONMENT).items()] + list(command)

    def run(self, *command, **how):
        return run(*self.command(*command, network=True), **how)

    def start(self, command, log, leader):
        """Start it. leader(): is the process of that id, a child of the command, the first one inside?"""
        with open(log, "wb") as output:
            self.running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.log = log

        def first():
            if self.running.poll() is not None:
                with open(log, encoding="utf-8", errors="replace") as file:
                    raise AssertionError(f"ended with {self.running.returncode}:\n{file.read()[-4000:]}")
            with open(f"/proc/{self.running.pid}/task/{self.running.pid}/children", encoding="ascii") as file:
                return next((pid for pid in file.read().split() if leader(pid)), None)

        self.pid = until(first, "a first process inside", 30)

    def boot(self):
        """systemd, as in a machine of its own."""
        self.start(["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--boot",
                    "--system-call-filter=@known",  # its own list has no landlock
                    f"--machine={os.path.basename(self.path)}", f"--directory={self.path}", "--console=read-only"],
                   self.path + ".log", lambda pid: name_of(pid) == "systemd")
        until(lambda: self.enter("systemctl", "is-system-running", check=False).strip() in ("running", "degraded"), "booted", 90)

    def entering(self, *command, environment=None):
        """What starts `command` beside what runs inside."""
        return ["nsenter", "--target", self.pid, "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd",
                "env", "-i", *[f"{name}={value}" for name, value in (environment or ENVIRONMENT).items()], *command]

    def enter(self, *command, check=True, environment=None):
        """Run it, and return its output."""
        words = self.entering(*command, environment=environment)
        if check:
            return run(*words)
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False).stdout

    def pids(self, words):
        """The processes inside, as numbered here, whose command line contains `words`."""
        space, found = os.readlink(f"/proc/{self.pid}/ns/pid"), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if words in file.read().replace(b"\0", b" ").decode(errors="replace") and os.readlink(f"/proc/{pid}/ns/pid") == space:
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def request(self, path, *options, port=8480):
        """Ask the server inside with this machine's curl; returns the JSON of its answer, or its text."""
        done = subprocess.run(["nsenter", "--net", "--target", self.pid, "curl", "-sS", "--max-time", "30", *options,
                               f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return done.stdout or done.stderr

    def wait_ready(self, port=8480):
        until(lambda: isinstance(self.request("/readyz", "--fail", port=port), dict), "ready")

    def end(self):
        """SIGTERM, or what halts a booted system; returns the exit code."""
        code = None
        if self.running:
            if self.running.poll() is None:
                is_boot = self.pid and name_of(self.pid) == "systemd"
                os.kill(int(self.pid or self.running.pid), signal.SIGRTMIN + 4 if is_boot else signal.SIGTERM)
                try:
                    code = self.running.wait(60)
                except subprocess.TimeoutExpired:
                    self.running.kill()
                    self.running.wait()
                    raise AssertionError("it did not end") from None
            else:
                code = self.running.returncode
        self.running = self.pid = None
        return code


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def send_sample(root, token, port=8480):
    """Upload the sample's dSYM, send its crash; returns the report, which must have its names."""
    sample, bearer = os.path.join(SOURCE, "docs", "sample"), ["-H", f"Authorization: Bearer {token}"]
    upload = root.request("/api/v1/symbols", *bearer, "--data-binary", f"@{sample}/Demo.dSYM.zip", port=port)
    assert isinstance(upload, dict) and "error" not in upload, upload
    report = root.request("/api/v1/reports?wait=20", *bearer, "--data-binary", f"@{sample}/report.json", port=port)
    assert isinstance(report, dict) and "error" not in report, report
    check_names(root, token, report["id"], port)
    return report["id"]


def check_names(root, token, report_id, port=8480):
    text = root.request(f"/api/v1/reports/{report_id}?format=crash", "-H", f"Authorization: Bearer {token}", port=port)
    with open(os.path.join(SOURCE, "docs", "sample", "expected.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            name, place = line.split("\t")[1:]
            for word in (name, os.path.basename(place).rsplit(":", 1)[0]):
                assert word in text, (word, text)
