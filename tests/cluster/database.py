"""A PostgreSQL primary with a synchronous standby, each on a machine of its own; either may be the primary.

    pair = Pair([machine, other], folder)
    pair.start()             the primary acknowledges nothing before the standby has it on disk
    pair.fail_over()         after the primary has died: the standby is promoted
    pair.rejoin()            the one that has died is copied again from the new primary, and is its synchronous standby
"""

import glob
import os
import pwd
import subprocess
import time

from framezero import is_alive

LIMIT_S = 60
PORT = 5432
# Both notice within seconds that the other one is gone or back: the defaults are a minute and more.
SETTINGS = """
listen_addresses = '*'
port = 5432
unix_socket_directories = ''
hba_file = '{folder}/hba.conf'
ident_file = '{folder}/ident.conf'
max_connections = 200
shared_buffers = 64MB
wal_level = replica
hot_standby = on
max_wal_senders = 8
wal_keep_size = 256MB
wal_sender_timeout = 3s
wal_receiver_timeout = 3s
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 250ms
tcp_user_timeout = 3000
logging_collector = off
log_connections = off
checkpoint_timeout = 5min
"""


def programs():
    """The folder of PostgreSQL's programs, or an empty text."""
    found = [folder for folder in glob.glob("/usr/lib/postgresql/*/bin") if os.path.exists(os.path.join(folder, "initdb"))]
    return sorted(found, key=lambda folder: int(folder.split("/")[4]))[-1] if found else ""


class Server:
    def __init__(self, machine, folder):
        self.machine, self.folder, self.bin = machine, os.path.join(folder, machine.name), programs()
        self.data = os.path.join(self.folder, "data")
        self.owner = pwd.getpwnam("postgres")
        os.makedirs(self.folder)
        os.chown(self.folder, self.owner.pw_uid, self.owner.pw_gid)
        for name, text in (("hba.conf", "host all all 10.77.0.0/24 trust\nhost replication all 10.77.0.0/24 trust\n"
                            "host all all 127.0.0.1/32 trust\n"), ("ident.conf", "")):
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as f:
                f.write(text)

    def as_owner(self, program, *words):
        return ["setpriv", f"--reuid={self.owner.pw_uid}", f"--regid={self.owner.pw_gid}", "--clear-groups", "--",
                os.path.join(self.bin, program), *words]

    def call(self, program, *words):
        return self.machine.run(*self.as_owner(program, *words), cwd=self.folder)

    def configure(self, standby="", primary=""):
        """standby: the name of the one that commits wait for; primary: the address of the one that is followed."""
        text = SETTINGS.format(folder=self.folder)
        if standby:
            text += f"synchronous_standby_names = '{standby}'\n"
        if primary:
            text += (f"primary_conninfo = 'host={primary} port={PORT} user=framezero application_name={self.machine.name} "
                     "connect_timeout=2 keepalives_idle=1 keepalives_interval=1 keepalives_count=2 tcp_user_timeout=3000'\n")
        with open(os.path.join(self.folder, "settings.conf"), "w", encoding="ascii") as f:
            f.write(text)

    def start(self, wait=True):
        words = ["-D", self.data, "-l", os.path.join(self.folder, "log"), "-t", str(LIMIT_S), "-w" if wait else "-W", "-o",
                 f"-c config_file={self.folder}/settings.conf", "start"]
        # Without a pipe that the server would inherit.
        done = subprocess.run([*self.machine.enter, *self.as_owner("pg_ctl", *words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=LIMIT_S + 10)
        if done.returncode:
            with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as f:
                raise RuntimeError(f"PostgreSQL on {self.machine.name} does not start:\n{f.read()[-2000:]}")

    def reload(self):
        self.call("pg_ctl", "-D", self.data, "reload")

    def restart(self):
        """As its administrator does it: an immediate stop, so that the log is read again."""
        self.call("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        self.start()

    def sql(self, statement, database="postgres", check=True):
        return self.machine.run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                                f"postgresql://framezero@127.0.0.1:{PORT}/{database}?connect_timeout=2", "-c", statement, check=check)


class Pair:
    def __init__(self, machines, folder):
        self.servers = [Server(machine, folder) for machine in machines]
        self.url = ("postgresql://framezero@" + ",".join(f"{machine.address}:{PORT}" for machine in machines) +
                    "/framezero?target_session_attrs=read-write&connect_timeout=2")

    @property
    def primary(self):
        return self.servers[0]

    @property
    def standby(self):
        return self.servers[1]

    def start(self):
        first = self.primary
        first.configure()
        first.call("initdb", "-D", first.data, "-U", "framezero", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--data-checksums")
        first.start()
        first.sql("CREATE DATABASE framezero")
        self.join()

    def join(self):
        """Copy the primary to the other machine, which follows it from then on, and make commits wait for it."""
        primary, standby = self.servers
        subprocess.run(["rm", "-rf", standby.data], check=True)
        standby.configure(primary=primary.machine.address)
        standby.call("pg_basebackup", "-D", standby.data, "-h", primary.machine.address, "-p", str(PORT), "-U", "framezero", "-X",
                     "stream", "-c", "fast", "--no-sync")
        with open(os.path.join(standby.data, "standby.signal"), "w", encoding="ascii"):
            pass
        os.chown(os.path.join(standby.data, "standby.signal"), standby.owner.pw_uid, standby.owner.pw_gid)
        standby.start()
        primary.configure(standby=standby.machine.name)
        primary.reload()
        self.wait_synchronous()

    def is_synchronous(self):
        state = self.primary.sql("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'", check=False).strip()
        return state == "sync"

    def wait_synchronous(self):
        end = time.monotonic() + LIMIT_S
        while not self.is_synchronous():
            if time.monotonic() > end:
                raise RuntimeError("the standby does not become synchronous")
            time.sleep(0.02)

    def kill(self, server):
        """kill -9 of all its processes."""
        server.machine.kill_all()
        # The next start would find a process with that number, in this namespace or another one.
        path = os.path.join(server.data, "postmaster.pid")
        if os.path.exists(path):
            os.unlink(path)

    def fail_over(self):
        """The primary is dead, and nothing on its machine brings it back before rejoin()."""
        if any(is_alive(pid) for pid in self.primary.machine.pids()):
            raise RuntimeError("the primary still runs")
        self.servers.reverse()
        # Nobody follows it yet.
        self.primary.configure()
        self.primary.sql("SELECT pg_promote(wait => false)")

    def rejoin(self):
        self.join()
