#!/bin/sh
# under_valgrind.sh PROGRAM ARGUMENTS: run a test program under valgrind; exit 99 if it found an error.
exec valgrind --quiet --error-exitcode=99 --trace-children=no --track-origins=yes --num-callers=25 \
    --suppressions="$(dirname "$0")/suppressions" "$@"
