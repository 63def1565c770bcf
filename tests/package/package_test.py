#!/usr/bin/env python3
"""The Debian package as an administrator meets it: `./dev package-test`.

Installs it in a new Debian of this machine's release, where apt brings what it depends on. First without systemd, with the
unit's command started by hand as its user. Then systemd is booted (systemd-nspawn) and runs the unit itself: the sample gets
its names, the sandbox has the locks that it has without the unit, an upgrade keeps data and a changed configuration file, a
removal keeps both, a purge takes all. Needs root.
"""
import configparser
import os
import re
import shlex
import signal
import subprocess
import sys

from root import Root, base, check_names, codename, run, say, send_sample

CONFIG, DATA, UNIT = "/etc/framezero/framezero.conf", "/var/lib/framezero", "/usr/lib/systemd/system/framezero.service"
EDITED = "upload-wait = 599\n"
# systemd-analyze security: 0 is locked in, 10 is open. What is left is the network and what children lock themselves in with.
MOST_EXPOSED = 2.3
# What lintian says of a package that is in no archive.
TOLERATED = {"bogus-mail-host"}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_contents(package):
    listed = [line.split(None, 5)[5].split(" -> ")[0] for line in run("dpkg-deb", "--contents", package).splitlines()]
    for path in ("usr/bin/framezero", "usr/bin/framezero-child", UNIT[1:], CONFIG[1:], "usr/share/man/man1/framezero.1.gz",
                 "usr/share/bash-completion/completions/framezero", "usr/share/zsh/vendor-completions/_framezero",
                 "usr/share/doc/framezero/copyright", "usr/share/doc/framezero/docs/api/openapi.json",
                 "usr/share/framezero/sample/Demo.dSYM.zip"):
        check(f"./{path}" in listed, f"{path} is not in the package: {listed}")
    check(not [path for path in listed if path.endswith((".a", ".o", ".so"))], listed)
    installed = int(run("dpkg-deb", "--field", package, "Installed-Size"))
    say(f"{os.path.basename(package)}: {os.path.getsize(package) / 1e6:.2f} MB, installed {installed / 1e3:.2f} MB")
    found = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", package], capture_output=True, text=True,
                           check=False).stdout
    tags = [line for line in found.splitlines() if line[:2] in ("E:", "W:") and line.split()[2] not in TOLERATED]
    check(not tags, "lintian:\n" + "\n".join(tags))
    say("lintian: no error, no warning" + (f" but {', '.join(sorted(TOLERATED))}" if found else ""))


def check_exposure(root):
    told = run("systemd-analyze", "security", "--no-pager", "--offline=true", f"--root={root.path}", "framezero.service")
    figure = float(re.search(r"exposure level for framezero.service: ([\d.]+)", told).group(1))
    check(figure <= MOST_EXPOSED, told)
    say(f"systemd-analyze security --offline=true framezero.service: {figure}")


def sandbox(root, port=8480):
    """What locks a child of the server has, and lacks."""
    answer = root.request("/healthz", port=port)["sandbox"]
    return answer["level"], sorted(answer["absent"])


def sandbox_without_unit(root):
    """The same of a server that runs beside the service, as its user, with nothing of the unit's."""
    words = root.entering("setpriv", "--reuid=framezero", "--regid=framezero", "--init-groups", "framezero", "serve",
                          "--listen", "127.0.0.1:8499", "--data", "/var/tmp/bare", "--workers", "1")
    root.enter("install", "-d", "-o", "framezero", "/var/tmp/bare")
    bare = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        root.wait_ready(port=8499)
        return sandbox(root, 8499)
    finally:
        # nsenter passes no signal on.
        for pid in root.pids("framezero serve --listen 127.0.0.1:8499"):
            os.kill(pid, signal.SIGTERM)
        bare.wait(60)


def admin_token(root):
    found = re.search(r'"admin_token":\s*"([^"]+)"', root.enter("cat", f"{DATA}/credentials.json"))
    return found.group(1)


def newer(package, folder):
    """The same package with the next version and another configuration file."""
    inside, path = os.path.join(folder, "newer"), os.path.join(folder, "newer.deb")
    run("dpkg-deb", "--raw-extract", package, inside)
    control = os.path.join(inside, "DEBIAN", "control")
    run("sed", "-i", "s/^Version: .*/&+1/", control)
    with open(os.path.join(inside, CONFIG[1:]), "a", encoding="utf-8") as file:
        file.write("# Of the newer version.\n")
    run("dpkg-deb", "--build", "--root-owner-group", inside, path)
    return path


def try_without_systemd(root):
    """The command of the unit, by hand."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(root.inside(UNIT))
    service = unit["Service"]
    user = service["User"]
    command = ["setpriv", f"--reuid={user}", f"--regid={service['Group']}", "--init-groups", "--no-new-privs",
               *shlex.split(service["ExecStart"])]
    root.start(root.command(*command), root.path + ".log", lambda pid: True)
    root.wait_ready()
    report = send_sample(root, admin_token(root))
    owners = set(root.enter("stat", "-c", "%U %a", f"{DATA}/framezero.db", f"{DATA}/credentials.json").split("\n")[:2])
    check(owners <= {f"{user} 600", f"{user} 640"}, owners)
    # What root calls beside it leaves the files to their owner.
    root.enter("framezero", "project", "list", "--config", CONFIG)
    check(not root.enter("find", DATA, "!", "-user", user), "files of others in the data folder")
    root.end()
    return report


def main(package):
    check_contents(package)
    with Root(base(codename(), "systemd", "minbase", ("systemd", "systemd-sysv", "dbus"))) as root:
        run("cp", package, root.inside("/tmp/framezero.deb"))
        root.run("apt-get", "update")
        said = root.run("apt-get", "install", "-y", "--no-install-recommends", "/tmp/framezero.deb")
        check("credentials.json" in said, said)
        check(root.run("stat", "-c", "%U %G %a", CONFIG).strip() == "root framezero 640", "owner of the configuration file")
        say("installed; apt brought what it depends on")
        check_exposure(root)
        report = try_without_systemd(root)
        say("without systemd: the sample has its names")

        root.boot()
        root.wait_ready()
        say("systemd booted, and the service is up")
        token = admin_token(root)
        check_names(root, token, report)
        locks, without = sandbox(root), sandbox_without_unit(root)
        check(locks == without, f"the unit takes locks away: {locks}, without it {without}")
        journal = root.enter("journalctl", "--unit=framezero", "--no-pager")
        check("msg=" in journal, journal)
        check(token not in journal, "a token is in the journal")
        again = send_sample(root, token)
        say(f"systemd: the sample has its names; sandbox: {locks}, without the unit the same; no token is in the journal")

        root.enter("sh", "-c", f"printf '{EDITED}' >> {CONFIG}")
        run("cp", newer(package, root.path), root.inside("/opt/newer.deb"))
        pid = root.enter("systemctl", "show", "--property=MainPID", "framezero")
        root.enter("dpkg", "--force-confold", "--install", "/opt/newer.deb")
        root.wait_ready()
        check(root.enter("systemctl", "show", "--property=MainPID", "framezero") != pid, "the old program is still running")
        check(EDITED in root.enter("cat", CONFIG), "the change of the configuration file is lost")
        check(root.enter("stat", "-c", "%U %G %a", CONFIG).strip() == "root framezero 640", "owner after the upgrade")
        check_names(root, token, again)
        say("upgraded: data and the changed configuration file are kept")

        root.enter("dpkg", "--remove", "framezero")
        check(root.enter("systemctl", "is-active", "framezero", check=False).strip() != "active", "it still runs")
        root.enter("test", "-e", f"{DATA}/framezero.db", "-a", "-e", CONFIG)
        root.enter("dpkg", "--install", "/opt/newer.deb")
        root.wait_ready()
        check_names(root, token, again)
        say("removed and installed again: data and configuration are kept")

        root.enter("dpkg", "--purge", "framezero")
        left = root.enter("find", "/etc", "/var/lib/framezero", "/usr", "-name", "*framezero*", check=False)
        left = "\n".join(line for line in left.splitlines() if "dpkg" not in line)
        check(not left, f"left after a purge: {left}")
        check("framezero" not in root.enter("cat", "/etc/passwd"), "the user is left")
        check(not root.pids("framezero"), "it still runs")
        say("purged: nothing is left")
    print("package-test: passed")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("package-test: needs root")
    main(os.path.abspath(sys.argv[1]))
