#!/usr/bin/env python3
"""What framezero-child is linked with: the program that parses foreign bytes has no way to a database or a network.

usage: check_child.py CHILD FRAMEZERO

Reads the dynamic sections and the symbols of both programs. FRAMEZERO is there so that the check cannot pass by looking
for the wrong names: everything that the child must not have, the server must have.
"""
import re
import subprocess
import sys

# What the trusted side links: a library's soname, and the prefix of its functions.
LIBRARIES = {"libsqlite3": "sqlite3_", "libpq": "PQ", "libcurl": "curl_", "libmicrohttpd": "MHD_", "libcrypto": "EVP_"}
# Functions of our own that only the trusted side has, one for each of its modules.
OWN = ("store_open", "sql_begin", "blob_open", "http_start", "api_create", "worker_run", "clients_all",
       "child_process_start")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(program):
    return re.findall(r"\(NEEDED\).*\[(.*?)\]", output("readelf", "-dW", program))


def symbols(program):
    """Names of all functions that the program has or wants."""
    lines = output("readelf", "-sW", program).splitlines()
    return {line.split()[7].partition("@")[0] for line in lines if len(line.split()) > 7}


def problems(child, framezero):
    found = []
    has, server_has = symbols(child), symbols(framezero)
    libraries, server_libraries = needed(child), needed(framezero)
    for library, prefix in LIBRARIES.items():
        # Not by prefix of the whole name: libpq and libpq.so.5 are meant, libpqx is not.
        named = [name for name in libraries if name.split(".so")[0] == library]
        called = sorted(name for name in has if re.match(prefix + "[A-Za-z_]", name))
        found += [f"{child} is linked with {name}" for name in named]
        found += [f"{child} has {name} of {library}" for name in called]
        if not any(name.split(".so")[0] == library for name in server_libraries):
            found.append(f"{framezero} is not linked with {library}: what does this check look for?")
    for name in OWN:
        if name in has:
            found.append(f"{child} has {name}(), which belongs to the trusted side")
        if name not in server_has:
            found.append(f"{framezero} has no {name}(): name another function of that module here")
    return found


def main():
    found = problems(*sys.argv[1:3])
    print("\n".join(found) or f"{sys.argv[1]}: ok, linked with {' '.join(needed(sys.argv[1]))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
