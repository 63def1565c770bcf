#!/bin/sh
# with_postgresql.sh CMD [ARG...]: run CMD beside a throw-away PostgreSQL cluster.
#
# CMD finds it in FRAMEZERO_TEST_POSTGRESQL (a URL with a unix socket; nothing listens on the
# network). The cluster lives in a temporary folder and is gone afterwards, even if this script is
# killed: a watcher in a session of its own sees to that. Exit: CMD's, or 77 where PostgreSQL is not
# installed (CTest shows that as skipped).
#
# With FRAMEZERO_TEST_SHIM, the path of the clock_shim library, the clock of the cluster moves as the file
# CLOCK_SHIM_FILE says, which CMD finds in its environment and gives to its servers, too.
set -u

bin=
for dir in "${FRAMEZERO_POSTGRESQL_BIN:-}" /usr/lib/postgresql/*/bin /usr/local/pgsql/bin; do
    [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && bin=$dir
done
if [ -z "$bin" ]; then
    echo "PostgreSQL is not installed (no initdb in /usr/lib/postgresql/*/bin): skipped"
    exit 77
fi

# PostgreSQL refuses to run as root.
as() { "$@"; }
owner=
if [ "$(id -u)" = 0 ]; then
    owner=postgres
    id -u postgres >/dev/null 2>&1 || owner=nobody
    as() { setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups -- "$@"; }
fi

# In memory if there is room: every database is some 800 files, and a file system on a disk takes longer to make them than the
# tests take to use them. Short: the path of a unix socket has at most 107 bytes.
in=/tmp
[ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 ] 2>/dev/null &&
    [ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -gt 6000000 ] && in=/dev/shm
base=$(mktemp -d "$in/fzpg.XXXXXX") || exit 1
[ -n "$owner" ] && chown "$owner" "$base"
watcher=
child=

clean_up() {
    trap - EXIT INT TERM HUP
    [ -n "$child" ] && kill "$child" 2>/dev/null
    [ -n "$watcher" ] && kill "$watcher" 2>/dev/null
    as "$bin/pg_ctl" -D "$base/data" -m immediate -w stop >/dev/null 2>&1
    rm -rf "$base"
}
trap clean_up EXIT
trap 'clean_up; exit 130' INT TERM HUP

if ! (cd "$base" && as "$bin/initdb" -D "$base/data" -U framezero -A trust -E UTF8 --locale=C \
        --no-sync >"$base.log" 2>&1); then
    cat "$base.log" >&2
    rm -f "$base.log"
    exit 1
fi
rm -f "$base.log"

# The watcher's own process group is not this one's, so it outlives a kill of the whole group.
setsid sh -c '
    while kill -0 "$1" 2>/dev/null; do sleep 1; done
    [ -f "$2/data/postmaster.pid" ] && kill -QUIT "$(head -n 1 "$2/data/postmaster.pid")"
    sleep 1
    rm -rf "$2"' watcher $$ "$base" </dev/null >/dev/null 2>&1 &
watcher=$!

preload=
if [ -n "${FRAMEZERO_TEST_SHIM:-}" ]; then
    # Where the cluster's user can read it, which may not be so for the folder of the build.
    cp "$FRAMEZERO_TEST_SHIM" "$base/shim.so" && chmod 755 "$base/shim.so" || exit 1
    preload=$base/shim.so
    CLOCK_SHIM_FILE=$base/offset
    head -c 8 /dev/zero >"$CLOCK_SHIM_FILE" && chmod 644 "$CLOCK_SHIM_FILE" || exit 1
    export CLOCK_SHIM_FILE
fi

if ! LD_PRELOAD=$preload as "$bin/pg_ctl" -D "$base/data" -w -t 60 -l "$base/data/log" -o "-k $base -c listen_addresses='' \
        -c fsync=off -c full_page_writes=off -c max_connections=64 -c shared_buffers=32MB -c max_wal_size=128MB" start \
        >/dev/null </dev/null; then
    cat "$base/data/log" >&2
    exit 1
fi

FRAMEZERO_TEST_POSTGRESQL="postgresql://framezero@/postgres?host=$base"
export FRAMEZERO_TEST_POSTGRESQL
# In the background and waited for, so that a signal is acted on at once.
"$@" &
child=$!
wait "$child"
status=$?
child=
exit "$status"
