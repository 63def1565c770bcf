#!/bin/sh
# with_pgbouncer.sh CMD [ARG...]: under with_postgresql.sh, run CMD beside PgBouncer in transaction mode.
#
# CMD finds in FRAMEZERO_TEST_PGBOUNCER what follows the database in a URL: postgresql://framezero@/DATABASE?THIS. Any database of
# the cluster may be named. Each transaction gets another server connection than the one before. Exit: CMD's, or 77 where PgBouncer is
# not installed.
set -u

program=$(command -v pgbouncer || command -v /usr/sbin/pgbouncer)
if [ -z "$program" ] || [ -z "${FRAMEZERO_TEST_POSTGRESQL:-}" ]; then
    echo "PgBouncer or PostgreSQL is not there: skipped"
    exit 77
fi
cluster=${FRAMEZERO_TEST_POSTGRESQL#*host=}
base=$(mktemp -d /tmp/fzpgb.XXXXXX) || exit 1
chmod 755 "$base"
pooler=
child=

clean_up() {
    trap - EXIT INT TERM HUP
    [ -n "$child" ] && kill "$child" 2>/dev/null
    [ -n "$pooler" ] && kill "$pooler" 2>/dev/null && wait "$pooler" 2>/dev/null
    rm -rf "$base"
}
trap clean_up EXIT
trap 'clean_up; exit 130' INT TERM HUP

cat >"$base/pgbouncer.ini" <<END
[databases]
* = host=$cluster user=framezero
[pgbouncer]
pool_mode = transaction
server_round_robin = 1
min_pool_size = 3
default_pool_size = 6
unix_socket_dir = $base
listen_port = 6432
auth_type = any
max_client_conn = 200
server_idle_timeout = 2
END

# It refuses to run as root.
owner=
if [ "$(id -u)" = 0 ]; then
    owner=postgres
    id -u postgres >/dev/null 2>&1 || owner=nobody
    chown -R "$owner" "$base"
fi
"$program" -q ${owner:+-u "$owner"} "$base/pgbouncer.ini" >"$base/log" 2>&1 &
pooler=$!
n=0
while [ ! -S "$base/.s.PGSQL.6432" ]; do
    n=$((n + 1))
    if [ $n -gt 100 ] || ! kill -0 "$pooler" 2>/dev/null; then
        cat "$base/log" >&2
        exit 1
    fi
    sleep 0.1
done

FRAMEZERO_TEST_PGBOUNCER="host=$base&port=6432"
export FRAMEZERO_TEST_PGBOUNCER
"$@" &
child=$!
wait "$child"
status=$?
child=
[ "$status" -eq 0 ] || cat "$base/log" >&2
exit "$status"
