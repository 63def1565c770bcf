#!/bin/sh
# Sends the dSYMs of an Xcode build to framezero: only what the server lacks, and only when it is complete.
#
#   upload-dsyms.sh [PATH...]
#
# PATH is a .dSYM, a .dSYM.zip, an .xcarchive, a Mach-O file, or a folder that is searched; without one it is what Xcode tells a Run
# Script phase (DWARF_DSYM_FOLDER_PATH, and ARCHIVE_DSYMS_PATH of an archive). Needs sh and curl; uses dwarfdump, ditto,
# zip or unzip where they are there.
#
#   FRAMEZERO_URL        the server: https://crashes.example.com
#   FRAMEZERO_TOKEN      a token with the scope upload
#   FRAMEZERO_PROJECT    with a token of all projects: the project that is meant
#   FRAMEZERO_STRICT     1: a failure fails the build; otherwise it is a warning
#   FRAMEZERO_BINARIES   1: the app's binary too, which lets the server unwind and read variables better
#   FRAMEZERO_WAIT       seconds to wait for dSYMs that are still being written; 60
#   FRAMEZERO_RETRIES    how often a request is tried; 4
#   FRAMEZERO_DRY_RUN    1: tell what would be sent
#
# Exit: 0, or 1 if something failed and FRAMEZERO_STRICT is 1; 2 for wrong usage, then too.

set -u
LC_ALL=C
export LC_ALL

failed=0
sent=0

# Xcode shows lines that begin with these words in its list of issues.
say() { printf 'note: framezero: %s\n' "$*"; }
warn() {
    failed=1
    if [ "${FRAMEZERO_STRICT:-0}" = 1 ]; then
        printf 'error: framezero: %s\n' "$*"
    else
        printf 'warning: framezero: %s\n' "$*"
    fi
}

finish() {
    code=${1:-$failed}
    [ "${FRAMEZERO_STRICT:-0}" = 1 ] || code=0
    exit "$code"
}

have() { command -v "$1" >/dev/null 2>&1; }

# ---- what there is ---------------------------------------------------------------------------

# The UUIDs of a Mach-O file, one a line; fails if dwarfdump cannot read it (or it or unzip is not there: 127).
uuids_of() {
    if is_zip "$1"; then
        return 127
    elif have dwarfdump; then
        found=$(dwarfdump --uuid "$1" 2>/dev/null)
    elif have xcrun; then
        found=$(xcrun dwarfdump --uuid "$1" 2>/dev/null)
    else
        return 127
    fi
    found=$(printf '%s\n' "$found" | sed -n 's/^UUID: \([0-9A-Fa-f-]\{32,36\}\) .*/\1/p')
    [ -n "$found" ] && printf '%s\n' "$found"
}

is_zip() { case $1 in *.[zZ][iI][pP]) return 0 ;; *) return 1 ;; esac; }

# The Mach-O files of a dSYM or of a zip of dSYMs, or the file itself. ._ files are macOS's notes about other files.
files_of() {
    if is_zip "$1" && have unzip; then
        rm -rf "$work/unpacked"
        unzip -qq -o "$1" -d "$work/unpacked" </dev/null >/dev/null 2>&1 &&
            find "$work/unpacked" -path '*/Contents/Resources/DWARF/*' -type f ! -name '._*'
    elif [ -d "$1/Contents/Resources/DWARF" ]; then
        find "$1/Contents/Resources/DWARF" -type f ! -name '._*' ! -name '.DS_Store'
    elif [ -f "$1" ]; then
        printf '%s\n' "$1"
    fi
}

# The dSYMs in a folder, and zips of dSYMs as fastlane leaves them.
search() { find "$1" -name '*.dSYM' -prune -print -o -type f -name '*.dSYM.zip' ! -name '._*' -print; }

# All dSYMs and Mach-O files below the paths, one a line, into "$work/all".
collect() {
    for path in "$@"; do
        case $path in
        *.dSYM | *.dSYM/) printf '%s\n' "${path%/}" ;;
        *.xcarchive | *.xcarchive/) [ ! -d "$path/dSYMs" ] || search "$path/dSYMs" ;;
        *)
            if [ -d "$path" ]; then
                search "$path"
            elif [ -f "$path" ]; then
                printf '%s\n' "$path"
            fi
            ;;
        esac
    done | sort -u >"$work/all"
}

# One look: complete means that there are files, none is empty, and dwarfdump (if there) finds a UUID in each.
is_complete() {
    files_of "$1" >"$work/files"
    [ -s "$work/files" ] || return 1
    while IFS= read -r file; do
        [ -s "$file" ] || return 1
        uuids_of "$file" >/dev/null
        case $? in 0 | 127) ;; *) return 1 ;; esac
    done <"$work/files"
}

# Sizes and times of a complete item's files; nothing for one that is not complete.
look_at() {
    is_complete "$1" || return 0
    while IFS= read -r file; do ls -ln "$file"; done <"$work/files"
}

# Settled is what was complete, and is the same a second later: dsymutil and copy phases may run beside this one. Sorts
# "$work/all" into "$work/ready" and "$work/unsettled".
sort_out() {
    : >"$work/ready"
    : >"$work/unsettled"
    i=0
    while IFS= read -r item <&3; do
        i=$((i + 1))
        look_at "$item" >"$work/look.$i"
    done 3<"$work/all"
    : >"$work/marker"
    sleep 1
    i=0
    while IFS= read -r item <&3; do
        i=$((i + 1))
        look_at "$item" >"$work/look"
        if [ -s "$work/look" ] && cmp -s "$work/look" "$work/look.$i" &&
            [ -z "$(find "$item" -type f -newer "$work/marker")" ]; then
            printf '%s\n' "$item" >>"$work/ready"
        else
            printf '%s\n' "$item" >>"$work/unsettled"
        fi
    done 3<"$work/all"
}

# Wait until what Xcode promised is there and all that was found has settled.
wait_for_all() {
    left=${FRAMEZERO_WAIT:-60}
    while :; do
        collect "$@"
        [ -z "$promised" ] || printf '%s\n' "$promised" >>"$work/all"
        sort -u "$work/all" -o "$work/all"
        sort_out
        if [ ! -s "$work/unsettled" ] || [ "$left" -le 0 ]; then
            break
        fi
        left=$((left - 2))
        sleep 1
    done
    while IFS= read -r item; do
        if [ -e "$item" ]; then
            warn "$item is not complete after ${FRAMEZERO_WAIT:-60} s, left out"
        else
            warn "$item was not made within ${FRAMEZERO_WAIT:-60} s"
        fi
    done <"$work/unsettled"
}

# ---- the server ------------------------------------------------------------------------------

# request PATH ARGUMENTS...: the body into "$work/answer", the status into $status; tried again while that may help. The
# token goes through a pipe, so that no list of processes shows it.
request() {
    path=$1
    shift
    [ -z "${FRAMEZERO_PROJECT:-}" ] || path="$path?project=$FRAMEZERO_PROJECT"
    try=1
    pause=2
    while :; do
        : >"$work/answer"
        status=$(printf 'header = "Authorization: Bearer %s"\n' "$FRAMEZERO_TOKEN" |
            curl -K - -sS -X POST -H 'Expect:' -o "$work/answer" -w '%{http_code}' --connect-timeout 20 "$@" \
                "${FRAMEZERO_URL%/}$path" 2>"$work/curl")
        case $status in
        2??) return 0 ;;
        000 | 408 | 429 | 5??) [ "$try" -lt "${FRAMEZERO_RETRIES:-4}" ] || return 1 ;;
        *) return 1 ;;
        esac
        try=$((try + 1))
        sleep "$pause"
        pause=$((pause * 2))
    done
}

# Why the last request failed, in the server's words or curl's.
reason() {
    text=$(sed -n 's/.*"message": *"\([^"]*\)".*/\1/p' "$work/answer" 2>/dev/null | head -n 1)
    [ -n "$text" ] || text=$(head -n 1 "$work/curl")
    printf '%s (HTTP status %s)' "${text:-no answer}" "$status"
}

# Which of the UUIDs in "$work/uuids" the server lacks, into "$work/answer".
ask_missing() {
    {
        printf '{"kind":"%s","uuids":[' "$1"
        sed 's/.*/"&"/' "$work/uuids" | paste -s -d , -
        printf ']}'
    } >"$work/question"
    request /api/v1/symbols/known -H 'Content-Type: application/json' --data-binary "@$work/question"
}

# 0: the server has all of the file's UUIDs; 1: it lacks one, or they are not known here (no dwarfdump); 2: it did not
# answer.
is_known() {
    : >"$work/uuids"
    files_of "$1" >"$work/files"
    while IFS= read -r file; do
        uuids_of "$file" >>"$work/uuids" || return 1
    done <"$work/files"
    [ -s "$work/uuids" ] || return 1
    ask_missing "$2" || return 2
    while IFS= read -r uuid; do
        if grep -q "\"$uuid\"" "$work/answer"; then
            return 1
        fi
    done <"$work/uuids"
}

# No answer, no right, no such project: the next file would fare no better.
is_hopeless() {
    case $status in 000 | 401 | 403 | 404) return 0 ;; *) return 1 ;; esac
}

upload() {
    name=$(basename "$1")
    if request /api/v1/symbols -H 'Content-Type: application/octet-stream' \
        -H "Content-Disposition: attachment; filename=\"$(printf %s "$name" | tr -c 'A-Za-z0-9._+ -' _)\"" \
        -T "$2"; then
        sent=$((sent + 1))
        say "sent $name$([ "$status" != 202 ] || printf ', which the server reads later')"
        # What is wrong with a file does not keep it from being used.
        grep -o '"text": *"[^"]*"' "$work/answer" 2>/dev/null | sed 's/^"text": *"\(.*\)"$/\1/' |
            while IFS= read -r problem; do
                printf 'warning: framezero: %s: %s\n' "$name" "$problem"
            done
    else
        warn "$name could not be sent: $(reason)"
    fi
}

# A dSYM as zip where that can be made, else each of its files.
send() {
    if [ "${FRAMEZERO_DRY_RUN:-0}" = 1 ]; then
        say "would send $1"
        return
    fi
    rm -f "$work/dsym.zip"
    if is_zip "$1"; then
        upload "$1" "$1"
    elif [ -d "$1" ] && have ditto && ditto -c -k --keepParent "$1" "$work/dsym.zip" 2>/dev/null; then
        upload "$1" "$work/dsym.zip"
    elif [ -d "$1" ] && have zip &&
        (cd "$(dirname "$1")" && zip -qr "$work/dsym.zip" "$(basename "$1")") >/dev/null 2>&1; then
        upload "$1" "$work/dsym.zip"
    else
        files_of "$1" >"$work/parts"
        while IFS= read -r file <&3; do
            upload "$file" "$file"
        done 3<"$work/parts"
    fi
}

# ---- all of it -------------------------------------------------------------------------------

for argument in "$@"; do
    case $argument in
    -h | --help)
        sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    -*)
        printf 'error: framezero: unknown option %s; see --help\n' "$argument"
        finish 2
        ;;
    esac
done

if [ -z "${FRAMEZERO_URL:-}" ] || [ -z "${FRAMEZERO_TOKEN:-}" ]; then
    warn 'FRAMEZERO_URL and FRAMEZERO_TOKEN must be set; no dSYM was sent'
    finish 2
fi
have curl || {
    warn 'there is no curl; no dSYM was sent'
    finish
}

promised=
if [ $# -eq 0 ]; then
    if [ "${DEBUG_INFORMATION_FORMAT:-dwarf-with-dsym}" = dwarf ]; then
        say 'this configuration makes no dSYM (DEBUG_INFORMATION_FORMAT is dwarf)'
        exit 0
    fi
    [ -z "${ARCHIVE_DSYMS_PATH:-}" ] || set -- "$@" "$ARCHIVE_DSYMS_PATH"
    if [ -n "${DWARF_DSYM_FOLDER_PATH:-}" ]; then
        set -- "$@" "$DWARF_DSYM_FOLDER_PATH"
        [ -z "${DWARF_DSYM_FILE_NAME:-}" ] || promised=$DWARF_DSYM_FOLDER_PATH/$DWARF_DSYM_FILE_NAME
    fi
    if [ $# -eq 0 ]; then
        warn 'no path was given, and DWARF_DSYM_FOLDER_PATH is not set'
        finish 2
    fi
fi
for path in "$@"; do
    [ -e "$path" ] || [ -n "$promised" ] || warn "$path is not there"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/framezero.XXXXXX") || {
    warn 'no temporary folder could be made'
    finish
}
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

wait_for_all "$@"
if [ "${FRAMEZERO_BINARIES:-0}" = 1 ] && [ -f "${TARGET_BUILD_DIR:-}/${EXECUTABLE_PATH:-}" ]; then
    printf '%s\n' "$TARGET_BUILD_DIR/$EXECUTABLE_PATH" >>"$work/ready"
fi
n=0
status=
while IFS= read -r item <&4; do
    n=$((n + 1))
    kind=dsym
    [ -d "$item" ] || is_zip "$item" || kind=binary
    is_known "$item" "$kind"
    case $? in
    0) say "$(basename "$item") is there already" ;;
    2) warn "$(basename "$item") was not sent: $(reason)" ;;
    *) send "$item" ;;
    esac
    if is_hopeless; then
        break
    fi
done 4<"$work/ready"
[ "$n" -gt 0 ] || [ "$failed" = 1 ] || say 'no dSYM was found'
[ "$sent" -eq 0 ] || say "$sent sent to ${FRAMEZERO_URL%/}"
finish
