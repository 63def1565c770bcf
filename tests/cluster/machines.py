"""Machines of a cluster on one machine: each has network, process and mount namespaces of its own, and a cable to one bridge.

Nothing of it is on the host. alone() runs this program again below a process namespace and a network of its own, so the end of
that one program, by any signal, ends all of it: the kernel kills what is in the namespace and takes the interfaces away.

    sys.exit(machines.alone(sys.argv))   in the outer program; 77 where namespaces cannot be had
    network = machines.Network()
    machine = machines.Machine(network, "node1", 11)
    process = machine.spawn(["framezero", "serve"], stdout=log)
    network.cut(machine, other)          both ways, without a word to either: packets are dropped
    network.heal(machine)
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time

from framezero import is_alive, send

NET = "10.77.0."
INSIDE = "FZ_CLUSTER_FOLDER"
PROGRAMS = ("ip", "nft", "unshare", "nsenter", "setpriv", "haproxy")
NAMESPACES = ["unshare", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
TABLE = "inet framezero_cut"


def missing():
    """Why there can be no machines here, or an empty text."""
    lacking = [program for program in PROGRAMS if not shutil.which(program)]
    if lacking:
        return f"there is no {', '.join(lacking)}: install iproute2 nftables haproxy util-linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    # What the machines do, once, and at once gone again.
    tried = subprocess.run([*NAMESPACES, "sh", "-c", "ip link add br0 type bridge && ip link add v0 type veth peer name v1 && "
                            "nft add table inet x"], capture_output=True, text=True, check=False, timeout=30)
    return f"no namespaces, bridge, veth or nft here: {tried.stderr.strip()}" if tried.returncode else ""


def alone(argv):
    """Run argv again in namespaces of its own, with an empty folder that is removed afterwards; its exit code."""
    why_not = missing()
    if why_not:
        print(f"skipped: {why_not}")
        return 77
    folder = tempfile.mkdtemp(prefix="framezero-cluster-")
    os.chmod(folder, 0o755)  # PostgreSQL has another user
    process = None

    def stop(number, _):
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    code = 1
    try:
        # pylint: disable-next=consider-using-with
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *NAMESPACES, *argv], env={**os.environ, INSIDE: folder})
        code = process.wait()
    except KeyboardInterrupt:
        code = 130
    finally:
        # A second Ctrl-C would leave the rest here.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if process and process.poll() is None:
            # Ctrl-C went to it as well.
            try:
                process.wait(0.5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if code in (0, 130) or code > 128:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"the data and logs of all machines are in {folder}")
    return code


def run(*words, check=True, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **more)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {(done.stderr or done.stdout)[-800:]}")
    return done.stdout


class Network:
    """The bridge, which is in the network namespace of this program: it reaches all machines as NET + "1"."""

    def __init__(self):
        self.address = NET + "1"
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "addr", "add", self.address + "/24", "dev", "br0")
        run("ip", "link", "set", "br0", "up")

    @staticmethod
    def cut(machine, *others):
        """Drop what goes between the machine and the others; without others, all that is not its own loopback."""
        at = [f"ip {way} {other.address}" for other in others for way in ("saddr", "daddr")] if others else ['iifname "eth0"',
                                                                                                      'oifname "eth0"']
        rules = "".join(f"add rule {TABLE} {chain} {match} drop\n" for match in at for chain in ("came", "goes")
                        if others or match.startswith("i") == (chain == "came"))
        text = f"add table {TABLE}\n"
        for chain, hook in (("came", "input"), ("goes", "output")):
            text += f"add chain {TABLE} {chain} {{ type filter hook {hook} priority 0; }}\n"
        run(*machine.enter, "nft", "-f", "-", input=text + rules)

    @staticmethod
    def heal(machine):
        run(*machine.enter, "nft", "delete", "table", *TABLE.split())


class Machine:
    """Its first process only waits and collects what has died."""

    def __init__(self, network, name, number):
        self.network, self.name, self.address = network, name, NET + str(number)
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([*NAMESPACES, "sh", "-c", "sleep 1000000 & wait"], stdin=subprocess.DEVNULL)
        self.first = self.wait_first()
        self.enter = ["nsenter", "--target", str(self.first), "--net", "--pid", "--mount", "--"]
        cable = f"v{number}"
        run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(self.first))
        run("ip", "link", "set", cable, "master", "br0", "up")
        for words in (["link", "set", "lo", "up"], ["addr", "add", self.address + "/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            run(*self.enter, "ip", *words)

    def wait_first(self):
        """The pid of sh, here, once it has its own /proc."""
        end = time.monotonic() + 20
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        while time.monotonic() < end:
            with open(children, encoding="ascii") as f:
                pids = f.read().split()
            if pids:
                with open(f"/proc/{pids[0]}/cmdline", "rb") as f:
                    if f.read().startswith(b"sh\0"):
                        return int(pids[0])
            time.sleep(0.005)
        raise RuntimeError(f"{self.name}: its namespaces were not made within 20 s")

    def spawn(self, words, **more):
        return subprocess.Popen([*self.enter, *words], stdin=subprocess.DEVNULL, **more)

    def run(self, *words, **more):
        return run(*self.enter, *words, **more)

    def pids(self):
        """The processes of the machine besides the first and what it started, as numbers of this program's namespace."""
        own, found = os.readlink(f"/proc/{self.first}/ns/net"), []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in (self.first, self.process.pid):
                continue
            try:
                if os.readlink(f"/proc/{entry}/ns/net") != own or not is_alive(int(entry)):
                    continue
                with open(f"/proc/{entry}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
                if words[:2] != [b"sleep", b"1000000"] and words[0] != b"nsenter":
                    found.append(int(entry))
            except OSError:
                continue
        return found

    def signal_all(self, number):
        for pid in self.pids():
            send(pid, number)

    def kill_all(self, limit_s=20):
        """kill -9 of everything at once, as if the power had gone: all are stopped first, so that none reacts."""
        stopped = set()
        while True:
            new = set(self.pids()) - stopped
            if not new:
                break
            for pid in new:
                send(pid, signal.SIGSTOP)
            stopped |= new
        for pid in stopped:
            send(pid, signal.SIGKILL)
        end = time.monotonic() + limit_s
        while any(is_alive(pid) for pid in stopped):
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name}: processes outlive kill -9 by {limit_s} s")
            time.sleep(0.002)
