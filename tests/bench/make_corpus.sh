#!/usr/bin/env bash
# Builds the dSYMs that bench/engine.py measures, from Debian packages only: make_corpus.sh STAGE... FOLDER
#
#   small   one Objective-C unit, arm64 iOS, DWARF 4 and 5          seconds
#   many    2,000 small Objective-C units, the shape of an app      minutes
#   middle  sqlite3 and eight C++ files of LLVM, x86_64 macOS       minutes
#   large   90 C++ files of LLVM, arm64 macOS, over 200 MB          over half an hour
#
# A stage is done when its dSYMs are there; they appear whole or not at all. What is interrupted goes on
# with the first object file that is missing. JOBS compilers run at once (default: one per core).
#
# There is no SDK: clang makes code for Apple's platforms and macros say that its headers are
# those of Linux, ld64.lld looks undefined symbols up at run time, dsymutil follows the debug map.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
llvm=${LLVM_BIN:-/usr/lib/llvm-19/bin}
jobs=${JOBS:-$(nproc)}
large_files=${LARGE_FILES:-90}
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
mkdir -p "${!#}"
out=$(cd "${!#}" && pwd)
sources=$out/sources

say() { printf 'make_corpus: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

for tool in clang ld64.lld dsymutil; do
    [ -x "$llvm/$tool" ] || die "$llvm/$tool is missing: packages clang-19, lld-19, llvm-19"
done

objc="-O2 -g -fblocks -fobjc-runtime=ios-14.0 -w -target arm64-apple-ios14.0"
as_linux="-U__APPLE__ -U__MACH__ -U__nonnull -U__nullable -U__null_unspecified
          -D__linux__=1 -D__linux=1 -D__gnu_linux__=1 -D__ELF__=1 -D_GNU_SOURCE=1 -nostdlibinc"
cxx="-std=c++17 -fno-exceptions -fno-rtti -nostdinc++ -isystem ${llvm%/bin}/include/c++/v1 -I${llvm%/bin}/include"

# link OUT PLATFORM ARCH VERSION < list of object files; the dSYM is made aside, then moved
link() {
    cat >"$1.objects"
    "$llvm/ld64.lld" -arch "$3" -platform_version "$2" "$4" "$4" -dylib -undefined dynamic_lookup -dead_strip \
        -install_name "@rpath/${1##*/}" -o "$1" -filelist "$1.objects"
    rm -rf "${1%.dylib}.part.dSYM"
    # Apps have types of their own in each unit; --no-odr keeps C++ ones so too, which is the larger file.
    "$llvm/dsymutil" --no-odr -j "$jobs" -o "${1%.dylib}.part.dSYM" "$1" 2>"$1.dsymutil.log"
    mv "${1%.dylib}.part.dSYM" "${1%.dylib}.dSYM"
}

# each COMMAND < list: run `COMMAND ITEM` for every item, telling every fiftieth
each() {
    local n=0 total items
    mapfile -t items
    total=${#items[@]}
    printf '%s\n' "${items[@]}" | xargs -P "$jobs" -I{} bash -c "$1"' "$1" && echo "$1"' _ {} |
        while read -r item; do
            n=$((n + 1))
            [ $((n % ${2:-50})) != 0 ] || say "$stage: $n of $total ($item)"
        done
}

small() {
    python3 "$here/support/make_sources.py" small "$dir"
    local v
    for v in 4 5; do
        # shellcheck disable=SC2086
        "$llvm/clang" $objc -gdwarf-$v -c "$dir/app.m" -o "$dir/app.$v.o"
        echo "$dir/app.$v.o" | link "$dir/app$v.dylib" ios arm64 14.0
    done
}

one_many() {
    local v
    for v in 4 5; do
        [ ! -s "$dir/$1.$v.o" ] || continue
        # shellcheck disable=SC2086
        "$llvm/clang" $objc -gdwarf-$v -c "$dir/$1.m" -o "$dir/$1.$v.part" && mv "$dir/$1.$v.part" "$dir/$1.$v.o"
    done
}

many() {
    local units=${UNITS:-2000} v i
    python3 "$here/support/make_sources.py" many "$dir" "$units"
    seq -f 'unit%.0f' 0 $((units - 1)) | each one_many 200
    for v in 4 5; do
        for ((i = 0; i < units; i++)); do echo "$dir/unit$i.$v.o"; done |
            link "$dir/many$v.dylib" ios arm64 14.0
    done
}

# The upstream tar balls of sqlite3 and LLVM 19 by apt-get source, with apt lists of our own: the
# machine's sources are read, asked for their sources, and left as they are.
fetch_sources() {
    local apt=$sources/apt file
    mkdir -p "$apt/parts" "$apt/lists/partial"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/${file##*/}"
    done
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
        sed -n 's/^[ \t]*deb[ \t]/deb-src /p' >"$apt/parts/lines.list"
    (
        cd "$sources"
        options=(-q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/parts"
                 -o Dir::State::lists="$apt/lists" -o APT::Sandbox::User="$(id -un)")
        say "fetching the sources of sqlite3 and llvm-toolchain-19"
        apt-get "${options[@]}" update >apt.log 2>&1 &&
            apt-get "${options[@]}" source --download-only sqlite3 llvm-toolchain-19 >>apt.log 2>&1
    ) || die "they could not be fetched: see $sources/apt.log"
}

unpack_sources() {
    [ ! -e "$sources/ready" ] || return 0
    mkdir -p "$sources"
    compgen -G "$sources/llvm-toolchain-19_*.orig.tar.?z" >/dev/null &&
        compgen -G "$sources/sqlite3_*.orig.tar.?z" >/dev/null || fetch_sources
    say "unpacking"
    mkdir -p "$sources/llvm" "$sources/sqlite" "$sources/shim/llvm/Config"
    tar -xf "$sources"/llvm-toolchain-19_*.orig.tar.?z -C "$sources/llvm" --strip-components=2 --wildcards \
        '*/llvm/lib/*.cpp' '*/llvm/lib/*.h' '*/llvm/lib/*.def' '*/llvm/lib/*.inc'
    tar -xf "$(ls "$sources"/sqlite3_*.orig.tar.?z | head -n 1)" -C "$sources/sqlite" --strip-components=1
    (cd "$sources/sqlite" && ./configure --disable-tcl && make sqlite3.c shell.c) >"$sources/sqlite.log" 2>&1 ||
        die "sqlite3's amalgamation is not made: see $sources/sqlite.log (package tcl)"
    # What LLVM's own configuration would find out; only what these files ask for.
    cat >"$sources/shim/llvm/Config/config.h" <<'EOF'
#include "llvm/Config/llvm-config.h"
#define HAVE_FCNTL_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_MMAN_H 1
#define HAVE_PTHREAD_H 1
#define ENABLE_BACKTRACES 0
#define ENABLE_CRASH_OVERRIDES 0
#define BUG_REPORT_URL ""
#define PACKAGE_NAME "LLVM"
#define PACKAGE_STRING "LLVM"
#define PACKAGE_VERSION "19"
EOF
    touch "$sources/ready"
}

one_middle() {
    local object=$dir/${1//\//_}.o common="-target x86_64-apple-macos10.15 -O2 -g -gdwarf-4 -w $as_linux"
    [ ! -s "$object" ] || return 0
    common="$common -isystem /usr/include/x86_64-linux-gnu -isystem /usr/include"
    # shellcheck disable=SC2086
    case $1 in
        *.c) "$llvm/clang" $common -I"$sources/sqlite" -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE \
                 -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_PREUPDATE_HOOK -c "$sources/sqlite/$1" -o "$object.part" ;;
        *) "$llvm/clang++" $cxx $common -I"$sources/shim" -c "$sources/llvm/lib/$1" -o "$object.part" ;;
    esac && mv "$object.part" "$object"
}

middle() {
    unpack_sources
    printf '%s\n' sqlite3.c shell.c Analysis/ValueTracking.cpp Transforms/Scalar/SROA.cpp Transforms/Scalar/LICM.cpp \
        IR/Verifier.cpp CodeGen/MachineVerifier.cpp Support/CommandLine.cpp Support/YAMLParser.cpp \
        Support/APFloat.cpp | each one_middle 1
    ls "$dir"/*.o | link "$dir/middle.dylib" macos x86_64 10.15
}

# Optimised once, made into code twice: what differs between DWARF 4 and 5 is then only that.
one_large() {
    local base=$dir/${1//\//_} v
    [ ! -s "$base.5.o" ] || return 0
    # A file that wants headers of LLVM's own build is left out; there are enough others.
    # shellcheck disable=SC2086
    "$llvm/clang++" -target arm64-apple-macos11 $cxx $as_linux -isystem /usr/aarch64-linux-gnu/include -O2 -g -w \
        -I"$sources/shim" -I"$sources/llvm/lib/CodeGen" -emit-llvm -c "$sources/llvm/lib/$1" -o "$base.bc" \
        2>"$base.log" || return 0
    for v in 4 5; do
        "$llvm/llc" -O2 -filetype=obj -dwarf-version=$v "$base.bc" -o "$base.part"
        mv "$base.part" "$base.$v.o"
    done
    rm -f "$base.bc" "$base.log"
}

large() {
    local v
    unpack_sources
    say "large: this compiles for over half an hour on two cores, and may be interrupted"
    (cd "$sources/llvm/lib" && find Analysis Bitcode CodeGen DebugInfo IR LTO Linker MC Object Passes ProfileData \
        Transforms -name '*.cpp' -size +28k -size -170k -not -path '*Coroutines*' -printf '%s %p\n') |
        sort -rn | head -n "$large_files" | cut -d' ' -f2 | each one_large 5
    for v in 4 5; do
        ls "$dir"/*."$v".o | link "$dir/large$v.dylib" macos arm64 11.0
    done
}

export -f one_many one_middle one_large
export dir llvm sources objc as_linux cxx
for stage in "${@:1:$#-1}"; do
    case $stage in small | many | middle | large) ;; *) die "no stage $stage" ;; esac
    dir=$out/$stage
    mkdir -p "$dir"
    say "$stage: into $dir"
    "$stage"
    say "$stage: done"
done
