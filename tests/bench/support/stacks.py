"""Stacks as the table stacks has them, for benchmarks that fill it."""


def uleb(value):
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def encoded(names):
    """As server/group/codec.c has a stack: class "crash", one image, frames with names alone."""
    texts = ["crash", "Shop", *dict.fromkeys(names)]
    place = {text: n + 1 for n, text in enumerate(texts)}
    body = b"\x01\x01" + uleb(len(texts)) + b"".join(uleb(len(t)) + t.encode() for t in texts)
    body += uleb(1) + bytes(6) + uleb(1) + uleb(2) + b"\0\1" + uleb(len(names))
    return body + b"".join(b"\0" + uleb(1) + uleb(place[n]) + b"\0\0" for n in names)


def frame(data):
    """A zstd frame that carries its length, not compressed."""
    return b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little") + (len(data) << 3 | 1).to_bytes(3, "little") + data
