"""How many problems of a rule each folder still has. The numbers only go down; this file goes when it is empty."""
KNOWN = {
    "cycles": {
        "server/cli": 2,
        "server/config": 2,
    },
    "names": {
        "base/arch": 5,
        "server/cli": 8,
        "server/resolve": 5,
        "storage": 1,
    },
    "parameters": {
        "storage": 23,
    },
    "small_files": {
        "base/arch": 1,
        "server/cli": 4,
        "server/resolve": 1,
        "symbolicator": 1,
        "symbolicator/macho": 1,
    },
    "json": {
        "server/cli": 9,
        "server/ingest/apple": 1,
        "server/ingest/common": 1,
    },
    "own_header": {
        "server/ingest/containers": 1,
        "storage": 1,
        "symbolicator/index": 1,
    },
}
