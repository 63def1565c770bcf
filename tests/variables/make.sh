#!/bin/sh
# Writes data/ again: runs the programs under tests/loader, once to print their variables and once to crash.
# usage: make.sh BUILD [SOURCE...]   (build/dev, after "cmake --build build/dev --target loaders"); needs clang-19, ld64.lld-19,
# dsymutil-19 and qemu-aarch64. The tests read what is committed and need nothing of that.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$build/variables
mkdir -p "$work/stubs/gnu" "$here/data"
touch "$work/stubs/gnu/stubs-32.h" "$work/stubs/gnu/stubs-lp64.h"
# The linker leaves the paths of objects without $work/, so that dsymutil finds them from there alone.
cd "$work"

make() { # make SOURCE ARCH LEVEL DWARF
    name=$(basename "${1%.*}")-$2-$3-dw$4
    extra=-Wno-everything ldflags=
    case $1 in
        containers.cpp) # the headers of libc++-19-dev over those of the C library of this machine
            extra="$extra -std=c++17 -fno-exceptions -fno-rtti -nostdinc++ -I /usr/lib/llvm-19/include/c++/v1
                   -I $work/stubs -I /usr/include/$(gcc -print-multiarch) -I /usr/include -D__linux__
                   -D__x86_64__ -U__nonnull -D_GNU_SOURCE -D_LIBCPP_HAS_NO_THREADS -D_LIBCPP_HAS_NO_LOCALIZATION"
            ldflags="-undefined dynamic_lookup" ;;
        *.cpp) extra="$extra -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics" ;;
        *.m) extra="$extra -fblocks -fno-exceptions -fno-objc-exceptions" ;;
    esac
    # Stacks have the environment and the paths of programs at their top, so the one is empty, and the others are short.
    case $2 in
        arm64) run="env -i $(command -v qemu-aarch64) ../tests/loader/loader-arm64" ;;
        *) run="env -i ../tests/loader/loader-x86_64" ;;
    esac
    ldflags="$ldflags -oso_prefix $work/"
    # A program may have a second unit.
    part=$here/programs/${1%.*}_part.${1##*.}
    [ -e "$part" ] || part=
    flags="-$3 -gdwarf-$4 $extra -ffile-prefix-map=$here=/src -ffile-prefix-map=$work=/src"
    sh "$here/../loader/compile.sh" "$work/$name" crash "$2" "$flags" "$ldflags" "$here/programs/$1" ${part:+"$part"}
    sh "$here/../loader/compile.sh" "$work/$name" truth "$2" "$flags -DTRUTH" "$ldflags" "$here/programs/$1" ${part:+"$part"}
    # shellcheck disable=SC2086 # words
    $run --slide 4f8000 --dump "$work/$name/report.json" "$name/crash" >/dev/null 2>&1 || true
    # shellcheck disable=SC2086
    $run --slide 4f8000 --dump "$work/$name/truth.json" "$name/truth" >"$work/$name/truth.txt" 2>/dev/null || true
    "$here/make.py" dump "$work/$name/report.json" >"$work/$name/dump"
    gzip -9nc "$work/$name/dump" >"$here/data/$name.gz"
    gzip -9nc "$work/$name/crash" >"$here/data/$name.binary.gz"
    gzip -9nc "$work/$name/crash.dSYM/Contents/Resources/DWARF/crash" >"$here/data/$name.dsym.gz"
    "$here/make.py" truth "$work/$name/truth.txt" "$work/$name/crash" >"$here/data/$name.truth"
}

# Further arguments name the programs that are made; without, it is all of them.
shift
[ $# -gt 0 ] || set -- types.c classes.cpp objects.m containers.cpp parts.cpp opaque.m calls.c escapes.cpp
for source in "$@"; do
    for arch in arm64 x86_64; do
        for level in O0 O1 Os O2; do
            make "$source" "$arch" "$level" 4
            make "$source" "$arch" "$level" 5
        done
    done
done
