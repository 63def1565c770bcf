#!/bin/sh
# usage: collect.sh PROGRAMS FOLDER
#
# Copies the programs of the folder PROGRAMS, and of this system what they need to run, into FOLDER, which becomes the root of
# the image: libraries, certificates, the names of users, and busybox for a look inside and for the health check.
set -eu
programs=$1 root=$2

mkdir -p "$root/usr/local/bin" "$root/bin" "$root/etc/ssl/certs" "$root/tmp" "$root/data" "$root/usr/share/framezero"
chmod 1777 "$root/tmp"
for name in framezero framezero-child; do
    strip -o "$root/usr/local/bin/$name" "$programs/$name"
done
cp /bin/busybox "$root/bin/busybox"
# What an operator looks with; no installer, no editor of users.
for name in sh cat cp date df du env find grep head id kill less ls mkdir mv nslookup ps pwd rm sed sleep sort stat tail tar \
    top touch tr uname uptime vi wc wget; do
    ln -s busybox "$root/bin/$name"
done

# Each library under the path that the loader looks for, as one file.
for name in framezero framezero-child; do
    ldd "$root/usr/local/bin/$name"
done | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[ \t]*\(\/[^ ]*\) .*/\1/p' | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done

cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'root:x:0:0:root:/:/bin/sh
framezero:x:10001:10001:framezero:/data:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/false' >"$root/etc/passwd"
echo 'root:x:0:
framezero:x:10001:
nogroup:x:65534:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
# Made for the user 10001: a new volume gets the owner of this folder.
chown 10001:10001 "$root/data"
chmod 0700 "$root/data"
