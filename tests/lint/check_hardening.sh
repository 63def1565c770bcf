#!/bin/sh
# Does a program carry the hardening that cmake/FzOptions.cmake asks for, and that ./dev gives to the libdwarf that it builds?
# usage: check_hardening.sh PROGRAM [compile_commands.json]
# --self-test CC: a program built without each of them must be refused.
#
# What leaves no trace in the code that every program has is read from the options of gcc, which its debug information has
# for each unit; a distribution's static libraries have none.
set -eu
export LC_ALL=C
case $(uname -m) in
    x86_64) more="stack-clash-protection trivial-auto-var-init=zero cf-protection=full" ;;
    *) more="stack-clash-protection trivial-auto-var-init=zero" ;;
esac

check() { # check PROGRAM [COMMANDS]
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
    options=$(readelf --debug-dump=info --dwarf-depth=1 "$1" 2>/dev/null | grep 'DW_AT_producer.*GNU C' || true)
    for option in stack-protector-strong $more; do
        n_without=$(echo "$options" | grep -c -v -e "-f$option" || true)
        [ -z "$options" ] || [ "$n_without" = 0 ] || lacks "$1" "$n_without units without -f$option"
    done
    # The level of FORTIFY leaves no trace in a program.
    [ -z "${2:-}" ] || ! grep -E ' -o (base|server|storage|symbolicator)/' "$2" | grep -v -q -e -D_FORTIFY_SOURCE=3 || lacks "$2" "FORTIFY of a level below 3"
    return $status
}

self_test() { # self_test CC
    compiler=$1
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
    first="-O2 -g -fPIE -pie -fstack-protector-strong -Wl,-z,relro,-z,now,-z,noexecstack"
    fortify="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE"
    "$1" --version | grep -q -i gcc || more= # clang's debug information has no options
    good="$first$(printf ' -f%s' ${more:-PIE}) $fortify=3"
    # shellcheck disable=SC2086
    { "$1" $good "$folder/a.c" -o "$folder/good" && check "$folder/good"; } || { echo "a hardened program is refused"; exit 1; }
    # shellcheck disable=SC2086
    refused() { # refused OPTIONS...
        "$compiler" "$folder/a.c" -o "$folder/bad" "$@"
        if check "$folder/bad"; then echo "not noticed: $*"; exit 1; fi
    }
    for without in "-no-pie -fno-PIE" "-Wl,-z,norelro" "-Wl,-z,lazy" "-Wl,-z,execstack" "-fno-stack-protector" \
        "-U_FORTIFY_SOURCE"; do
        refused $good $without
    done
    for option in $more; do
        refused $(echo "$good" | sed "s/ -f$option//")
    done
    for level in 3 2; do
        echo "\"command\": \"cc -D_FORTIFY_SOURCE=$level -o base/a.o\"" >"$folder/commands"
        "$1" $good "$folder/a.c" -o "$folder/good"
        if check "$folder/good" "$folder/commands"; then found=3; else found=2; fi
        [ "$found" = "$level" ] || { echo "FORTIFY $level is taken for $found"; exit 1; }
    done
}

case $1 in
    --self-test) self_test "$2" ;;
    *) check "$@" && echo "ok" ;;
esac
