#!/bin/sh
# framezero.sh ARGUMENTS: the program that end-to-end tests start instead of framezero: it runs under valgrind, with its
# workers and their children. $PROGRAM and $VALGRIND_LOGS (a folder) are set by e2e_under_valgrind.py.
exec valgrind --quiet --trace-children=yes --track-origins=yes --num-callers=25 --log-file="$VALGRIND_LOGS/%p.log" \
    --suppressions="$(dirname "$0")/suppressions" "$PROGRAM" "$@"
