#!/bin/sh
# Does a program carry the hardening that cmake/FzOptions.cmake asks for? usage: check_hardening.sh PROGRAM
# --self-test CC: a program built without each of them must be refused.
set -eu
export LC_ALL=C

check() { # check PROGRAM
    status=0
    lacks() { echo "$1: $2"; status=1; }
    dynamic=$(readelf -dW "$1")
    headers=$(readelf -lW "$1")
    symbols=$(readelf -sW "$1")
    echo "$dynamic" | grep -q 'FLAGS_1.*PIE' || lacks "$1" "not position-independent"
    echo "$headers" | grep -q GNU_RELRO || lacks "$1" "no RELRO"
    echo "$dynamic" | grep -q 'FLAGS.*NOW' || lacks "$1" "relocations not resolved at start"
    echo "$headers" | grep 'GNU_STACK' | grep -q 'RW ' || lacks "$1" "the stack is executable"
    echo "$symbols" | grep -q __stack_chk_fail || lacks "$1" "no stack protector"
    echo "$symbols" | grep -qE '__[a-z]+_chk\b' || lacks "$1" "no FORTIFY"
    return $status
}

self_test() { # self_test CC
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cat >"$folder/a.c" <<'EOF'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char text[16];
    memcpy(text, argv[0], (size_t)argc);
    return printf("%s", text);
}
EOF
    good="-O2 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now,-z,noexecstack"
    # shellcheck disable=SC2086
    { "$1" $good "$folder/a.c" -o "$folder/good" && check "$folder/good"; } || { echo "a hardened program is refused"; exit 1; }
    for without in "-no-pie -fno-PIE" "-Wl,-z,norelro" "-Wl,-z,lazy" "-Wl,-z,execstack" "-fno-stack-protector" \
        "-U_FORTIFY_SOURCE"; do
        # shellcheck disable=SC2086
        "$1" $good $without "$folder/a.c" -o "$folder/bad"
        if check "$folder/bad"; then echo "not noticed: $without"; exit 1; fi
    done
}

case $1 in
    --self-test) self_test "$2" ;;
    *) check "$1" && echo "ok" ;;
esac
