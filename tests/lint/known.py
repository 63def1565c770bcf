"""How many problems of a rule each folder still has. The numbers only go down; this file goes when it is empty."""
KNOWN = {
    "parameters": {
        "storage": 4,
    },
    "small_files": {
        "server/resolve": 1,
        "server/worker": 1,
    },
    "json": {
        "server/ingest/apple": 1,
        "server/ingest/common": 1,
    },
    "words": {
        "server/api": 6,
        "server/child": 3,
        "server/ingest": 1,
        "server/ingest/apple": 1,
        "server/ingest/common": 1,
        "server/ingest/containers": 7,
        "server/ingest/minidump": 2,
        "server/ingest/sentry": 5,
        "server/protocol": 2,
        "server/report": 7,
        "server/report/annotate": 1,
        "server/resolve": 5,
        "server/worker": 4,
        "storage": 9,
        "storage/blob": 1,
        "storage/sql": 2,
        "symbolicator": 2,
        "symbolicator/demangle/rust": 4,
        "symbolicator/demangle/swift": 1,
        "symbolicator/dwarf": 4,
        "symbolicator/index": 9,
        "symbolicator/inspect": 1,
        "symbolicator/macho": 8,
    },
}
