#!/bin/sh
# Builds the programs of this folder for one arch in one way: OUT/{c,cxx,objc,swift}, each with its dSYM.
# usage: build.sh OUT arm64|x86_64 "COMPILER FLAGS" [hidden]   OUT/../ARCH-system must be there
#        build.sh OUT arm64|x86_64 system                      what stands for the system's libraries
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1 arch=$2 cflags=$3 hidden=${4:-}
case $arch in
    arm64) target=arm64-apple-ios14.0 platform="ios 14.0 14.0" ;;
    x86_64) target=x86_64-apple-macos11.0 platform="macos 11.0 11.0" ;;
esac
export ZERO_AR_DATE=1
mkdir -p "$out"
link() {
    ld64.lld-19 -arch "$arch" -platform_version $platform "$@"
}
plain="clang-19 -target $target -O1 -fno-builtin -fno-stack-protector -nostdlibinc -fno-optimize-sibling-calls"
if [ "$cflags" = system ]; then
    system=$out
    mkdir -p "$system"
    $plain -c "$here/programs/system.c" -o "$system/system.o"
    $plain -c "$here/programs/kit.c" -o "$system/kit.o"
    link -dylib -install_name /usr/lib/system/libsystem_c.dylib -o "$system/libsystem_c.dylib" "$system/system.o" \
        "$here/../loader/libSystem.tbd"
    link -dylib -install_name /System/Library/PrivateFrameworks/UIKitCore.framework/UIKitCore -o "$system/UIKitCore" \
        "$system/kit.o" "$system/libsystem_c.dylib" "$here/../loader/libSystem.tbd"
    exit
fi
cd "$here/programs"
compile() { # object source flags
    object=$1 source=$2
    shift 2
    if [ -z "$hidden" ]; then
        clang-19 -target $target -g -fno-builtin -fno-stack-protector -nostdlibinc -fblocks $cflags "$@" \
            -c "$source" -o "$object"
        return
    fi
    clang-19 -target $target -g -fno-builtin -fno-stack-protector -nostdlibinc -fblocks $cflags "$@" \
        -S -emit-llvm "$source" -o "$object.ll"
    python3 "$here/hide.py" "$object.ll" "$out/names"
    clang-19 -target $target -Wno-override-module $cflags -c "$object.ll" -o "$object"
}
rm -f "$out/names"
for program in c cxx objc swift; do
    objects=
    case $program in
        c) sources="c.c other.c Pods/Zipper/zip.c SourcePackages/checkouts/Chart/chart.c" ;;
        cxx) sources=cxx.cpp ;;
        objc) sources=objc.m ;;
        swift) sources="swift.c SourcePackages/checkouts/Chart/chart.c" ;;
    esac
    for source in $sources; do
        object=$out/$program-$(basename "$source").o
        case $source in
            *.cpp) compile "$object" "$source" -std=c++20 -fexceptions -fno-rtti -fno-threadsafe-statics -nostdinc++ -isystem sdk/usr/include/c++/v1 ;;
            *) compile "$object" "$source" ;;
        esac
        objects="$objects $object"
    done
    link $([ "${cflags#*-flto}" = "$cflags" ] || echo "-object_path_lto $out/$program.lto.o") -o "$out/$program" \
        "$out/../$arch-system/libsystem_c.dylib" "$out/../$arch-system/UIKitCore" "$here/../loader/libSystem.tbd" $objects
    rm -rf "$out/$program.dSYM"
    dsymutil-19 "$out/$program" -o "$out/$program.dSYM"
done
