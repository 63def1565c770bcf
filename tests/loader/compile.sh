#!/bin/sh
# Builds one Mach-O program and its dSYM for the loader: clang, ld64.lld and dsymutil, all of LLVM 19, no SDK.
# usage: compile.sh OUT PROGRAM arm64|x86_64 "COMPILER FLAGS" "LINKER FLAGS" SOURCE|OBJECT...
#
# The result is OUT/PROGRAM and OUT/PROGRAM.dSYM. Sources see Apple-named headers of include/ and no others.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1 program=$2 arch=$3 cflags=$4 ldflags=$5
shift 5
case $arch in
    arm64) target=arm64-apple-ios14.0 platform="ios 14.0 14.0" ;;
    x86_64) target=x86_64-apple-macos11.0 platform="macos 11.0 11.0" ;;
    *) echo "compile.sh: unknown arch $arch" >&2; exit 2 ;;
esac
export ZERO_AR_DATE=1
mkdir -p "$out"
objects=
n=0
for source in "$@"; do
    case $source in
        *.o | *.a | *.dylib) objects="$objects $source"; continue ;;
    esac
    n=$((n + 1))
    object=$out/$program.$n.o
    # shellcheck disable=SC2086 # flags are words
    clang-19 -target $target -g -fno-builtin -fno-stack-protector -nostdlibinc -isystem "$here/include" $cflags \
        -c "$source" -o "$object"
    objects="$objects $object"
done
# shellcheck disable=SC2086
ld64.lld-19 -arch "$arch" -platform_version $platform $ldflags -o "$out/$program" "$here/libSystem.tbd" $objects
rm -rf "$out/$program.dSYM"
dsymutil-19 "$out/$program" -o "$out/$program.dSYM"
