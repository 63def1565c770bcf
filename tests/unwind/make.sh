#!/bin/sh
# Builds the programs again that replay.c unwinds, and records their runs: data/NAME.gz, NAME.dsym.gz, NAME.trace.gz.
# usage: make.sh TRACE NAME "CLANG TARGET AND FLAGS" ARCH SOURCE   (TRACE: the program of trace.c, which needs libunicorn)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
trace=$1 name=$2 flags=$3 arch=$4 source=$5
case $arch in
    arm64) target=arm64-apple-ios14.0 platform="ios 14.0 14.0" ;;
    x86_64) target=x86_64-apple-macos11.0 platform="macos 11.0 11.0" ;;
    *) echo "make.sh: unknown arch $arch" >&2; exit 2 ;;
esac
export ZERO_AR_DATE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$here/$source" .
# shellcheck disable=SC2086 # flags and platform are words
clang-19 -target $target -g $flags -fno-builtin -fno-stack-protector -fdebug-compilation-dir=/src/unwind \
    -ffile-prefix-map="$work"=/src/unwind -c "$source" -o program.o
# shellcheck disable=SC2086
ld64.lld-19 -arch "$arch" -platform_version $platform -no_fixup_chains -oso_prefix "$work/" -o program \
    "$here/../fixtures/libSystem.tbd" program.o
dsymutil-19 program -o program.dSYM
"$trace" program run.trace
mkdir -p "$here/data"
gzip -9nc program > "$here/data/$name.gz"
gzip -9nc program.dSYM/Contents/Resources/DWARF/program > "$here/data/$name.dsym.gz"
gzip -9nc run.trace > "$here/data/$name.trace.gz"
