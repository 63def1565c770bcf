#!/bin/sh
# Compiles client/ for one of Apple's targets, as an app's build would, into OUT/libframezero.a.
# usage: client.sh OUT arm64|arm64e|arm64_32|x86_64|tvos "COMPILER FLAGS"
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1 arch=$2 cflags=$3
case $arch in
    arm64 | arm64e) target=$arch-apple-ios14.0 ;;
    tvos) target=arm64-apple-tvos14.0 ;;
    arm64_32) target=arm64_32-apple-watchos7.0 ;;
    x86_64) target=x86_64-apple-macos11.0 ;;
    *) echo "client.sh: unknown arch $arch" >&2; exit 2 ;;
esac
rm -rf "$out"
mkdir -p "$out"
cd "$here/../../client/src"
for source in *.c *.cpp; do
    case $source in
        *.c) language="-std=c11" ;;
        # Apple's own libraries bring these headers; with -nostdinc++ no others are found.
        *) language="-std=c++17 -fexceptions -nostdinc++ -isystem $here/include/cxx" ;;
    esac
    # shellcheck disable=SC2086 # flags are words
    clang-19 -target $target -g -Wall -Wextra -Werror -nostdlibinc $language -isystem "$here/include" $cflags \
        -c "$source" -o "$out/${source%.*}.o"
done
llvm-ar-19 rcs "$out/libframezero.a" "$out"/*.o
