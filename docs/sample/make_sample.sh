#!/usr/bin/env bash
# Makes the sample again: a small iOS program (src/) that crashes, its dSYM as a build machine would upload it, the
# report that an app's crash reporter would send (addresses only), and the names that belong to them.
# usage: make_sample.sh [FOLDER [LOADER]]   writes Demo.dSYM.zip, report.json, expected.txt there (default: beside this
#                                           script), and with build/dev/tests/loader/loader-arm64 as LOADER crash.json and Demo.zip
#
# Needs clang-19, lld-19 and llvm-19 of Debian, and zip. For report.json nothing is run: the addresses are read off the linked
# program. For crash.json the program runs under LOADER and qemu-aarch64 until it crashes.
# The crash is at the load in price_of(), the other frames return behind the call of the next inner function.
set -euo pipefail
export LC_ALL=C TZ=UTC ZERO_AR_DATE=1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(cd "${1:-$here}" && pwd)
loader=${2:+$(realpath "$2")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
for source in main cart; do
    clang-19 -target arm64-apple-ios14.0 -std=c++17 -g -O2 -fno-exceptions -fno-rtti \
        -fdebug-compilation-dir=/src/Demo -ffile-prefix-map="$here/src"=/src/Demo -c "$here/src/$source.cpp" -o $source.o
done
ld64.lld-19 -arch arm64 -platform_version ios 14.0 14.0 -oso_prefix "$work/" -o Demo "$here/libSystem.tbd" main.o cart.o
dsymutil-19 Demo -o Demo.dSYM
rm -f "$out/Demo.dSYM.zip"
# One time for all entries, in one order: the same sources give the same zip.
find Demo.dSYM -exec touch -d 2026-01-01T00:00:00Z {} +
find Demo.dSYM -type f | sort | zip -q -X -9 "$out/Demo.dSYM.zip" -@

symbolizer() { llvm-symbolizer-19 --obj=Demo.dSYM/Contents/Resources/DWARF/Demo "$@"; }
code() { llvm-objdump-19 -d --no-show-raw-insn --no-leading-headers Demo; }

# The crash: the first load, within cart::total(), that belongs to the line "crashes here".
line=$(grep -n 'crashes here' "$here/src/cart.h" | cut -d: -f1)
crash=
for address in $(code | awk '/<__ZNK4shop4cart5totalEv>:/ { on = 1; next } /^$/ { on = 0 }
                        on && $2 ~ /^ldr/ { print "0x" substr($1, 1, length($1) - 1) }'); do
    if symbolizer "$address" | sed -n 2p | grep -q "cart.h:$line:"; then crash=$address; break; fi
done
# return_of CALLER CALLEE: the address behind the call
return_of() {
    code | awk -v caller="<$1>:" -v callee="<$2>" '$2 == caller { on = 1; next } /^$/ { on = 0 }
        on && found { print "0x" substr($1, 1, length($1) - 1); exit } on && $2 == "bl" && $4 == callee { found = 1 }'
}
frames=("$crash" "$(return_of __ZL8checkouti __ZNK4shop4cart5totalEv)" "$(return_of _main __ZL8checkouti)")
for frame in "${frames[@]}"; do [ -n "$frame" ] || { echo "make_sample.sh: a frame was not found" >&2; exit 1; }; done

# Where the system put the program this time.
base=$((0x100000000)) load=$((0x104a3c000))
size=$(llvm-size-19 -m Demo | awk '/^Segment __TEXT:/ { print $3 }')
uuid=$(llvm-dwarfdump-19 --uuid Demo | awk '{ print tolower($2) }')
slid() { printf '0x%x' $(($1 - base + load)); }

cat >"$out/report.json" <<EOF
{
  "framezero": 1,
  "timestamp": "2026-01-15T09:30:12.345Z",
  "app": {"id": "com.example.demo", "name": "Demo", "version": "1.0", "build": "42"},
  "os": {"name": "iOS", "version": "18.1", "build": "22B83"},
  "device": {"model": "iPhone15,2"},
  "arch": "arm64",
  "crash": {"thread": 0, "signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS", "code": "KERN_INVALID_ADDRESS", "address": "0x8"},
  "threads": [
    {"index": 0, "name": "main", "crashed": true,
     "frames": ["$(slid "${frames[0]}")", "$(slid "${frames[1]}")", "$(slid "${frames[2]}")"]}
  ],
  "images": [
    {"uuid": "$uuid", "name": "Demo", "path": "/private/var/containers/Bundle/Application/Demo.app/Demo",
     "arch": "arm64", "address": "$(slid $base)", "size": $size}
  ]
}
EOF

# What llvm-symbolizer says: frame, function, file:line:column, innermost first. Return addresses are looked up one
# byte before.
for i in "${!frames[@]}"; do
    lookup=${frames[$i]}
    [ "$i" = 0 ] || lookup=$(printf '0x%x' $((lookup - 1)))
    symbolizer "$lookup" | awk -v i="$i" 'NF { if (name == "") name = $0; else { print i "\t" name "\t" $0; name = "" } }'
done >"$out/expected.txt"

# The same crash with registers, stack and breadcrumbs, as a capture library sends it; the program and its dSYM in one zip.
[ -n "$loader" ] || exit 0
env -i "$(command -v qemu-aarch64)" "$loader" --slide $(printf '%x' $((load - base))) --dump dump.json Demo || true
python3 "$here/make_crash.py" dump.json "$out/report.json" >"$out/crash.json"
rm -f "$out/Demo.zip"
touch -d 2026-01-01T00:00:00Z Demo
(echo Demo; find Demo.dSYM -type f | sort) | zip -q -X -9 "$out/Demo.zip" -@
