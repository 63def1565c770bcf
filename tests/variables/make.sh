#!/bin/sh
# Writes data/ again: runs the programs under tests/loader, once to print their variables and once to crash.
# usage: make.sh BUILD   (build/dev, after "cmake --build build/dev --target loaders"); needs clang-19, ld64.lld-19,
# dsymutil-19 and qemu-aarch64. The tests read what is committed and need nothing of that.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$build/variables
mkdir -p "$work/stubs/gnu" "$here/data"
touch "$work/stubs/gnu/stubs-32.h" "$work/stubs/gnu/stubs-lp64.h"

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
    # Stacks have the environment at their top, so it is empty.
    case $2 in
        arm64) run="env -i $(command -v qemu-aarch64) $build/tests/loader/loader-arm64" ;;
        *) run="env -i $build/tests/loader/loader-x86_64" ;;
    esac
    ldflags="$ldflags -oso_prefix $work/"
    flags="-$3 -gdwarf-$4 $extra -ffile-prefix-map=$here=/src"
    sh "$here/../loader/compile.sh" "$work/$name" crash "$2" "$flags" "$ldflags" "$here/programs/$1"
    sh "$here/../loader/compile.sh" "$work/$name" truth "$2" "$flags -DTRUTH" "$ldflags" "$here/programs/$1"
    # shellcheck disable=SC2086 # words
    $run --slide 4f8000 --dump "$work/$name/report.json" "$work/$name/crash" >/dev/null 2>&1 || true
    # shellcheck disable=SC2086
    $run --slide 4f8000 --dump "$work/$name/truth.json" "$work/$name/truth" >"$work/$name/truth.txt" 2>/dev/null || true
    "$here/make.py" dump "$work/$name/report.json" >"$work/$name/dump"
    gzip -9nc "$work/$name/dump" >"$here/data/$name.gz"
    gzip -9nc "$work/$name/crash" >"$here/data/$name.binary.gz"
    gzip -9nc "$work/$name/crash.dSYM/Contents/Resources/DWARF/crash" >"$here/data/$name.dsym.gz"
    "$here/make.py" truth "$work/$name/truth.txt" "$work/$name/crash" >"$here/data/$name.truth"
}

for arch in arm64 x86_64; do
    make types.c $arch O0 4
    make types.c $arch O0 5
    make types.c $arch O1 4
    make types.c $arch O2 5
    make types.c $arch Os 4
    make classes.cpp $arch O0 4
    make classes.cpp $arch O2 5
    make objects.m $arch O0 4
    make objects.m $arch O2 4
    make containers.cpp $arch O0 4
done
