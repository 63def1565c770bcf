"""Damaged reports: what a broken disk, a cut connection, an old client or an attacker makes of a good one.

    mutant = mutated(random.Random(seed), body, others)

Bytes are changed in any body; in a body of JSON (whole, or in pieces one after another, as in .ips files and envelopes)
also values, so that the code after the JSON scanner is reached; in a body of text also its words and lines.
"""

import copy
import json
import re
import struct

# Numbers at limits of types, and some texts that are not numbers.
NUMBERS = [b"0", b"-1", b"1", b"255", b"65536", b"2147483648", b"4294967295", b"9007199254740993",
           b"9223372036854775808", b"18446744073709551615", b"18446744073709551616", b"99999999999999999999999999",
           b"1e308", b"1e999", b"-0.0", b"0.5", b"NaN", b"0x", b"0xffffffffffffffff", b"0x1ffffffffffffffff", b"007"]
WORDS = [b"", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"%s%n", b"'", b'"', b"\\", b"null", b"true",
         b"{", b"}", b"[", b"]", b"<", b"]]>", b"\r\n\r\n", b"A" * 5000, b"(", b")", b"+", b" + ", b"0x0", b"Thread 0:",
         b"Binary Images:", b"<redacted>", "\u202e\U0001f4a5".encode()]
VALUES = [None, True, False, 0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63, 2**64 - 1, -(2**63), 1.5, 1e300, "", "0x", "0x10",
          "0xffffffffffffffff", "zzz", "\u0000", "A" * 5000, [], {}, [[]], [None], {"": None}, "<redacted>", "%s%n"]
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|0x[0-9A-Fa-f]+|-?[0-9]+(?:\.[0-9]+)?|[A-Za-z_]+|<[^>]*>')


def place(rng, body):
    return rng.randrange(len(body) + 1)


def piece(rng, body):
    """(start, end) of a part of any size, small ones more often."""
    start = place(rng, body)
    return start, min(len(body), start + int(2 ** rng.uniform(0, 12)))


def flip_bits(rng, body, _):
    out = bytearray(body)
    for _ in range(int(2 ** rng.uniform(0, 6))):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(rng, body, _):
    return body[: place(rng, body)] if rng.random() < 0.7 else body[place(rng, body):]


def insert_bytes(rng, body, _):
    at = place(rng, body)
    return body[:at] + rng.randbytes(rng.randrange(1, 64)) + body[at:]


def insert_word(rng, body, _):
    at = place(rng, body)
    return body[:at] + rng.choice(WORDS) + body[at:]


def delete_piece(rng, body, _):
    start, end = piece(rng, body)
    return body[:start] + body[end:]


def repeat_piece(rng, body, _):
    start, end = piece(rng, body)
    times = min(int(2 ** rng.uniform(0, 11)), 200000 // max(end - start, 1) + 1)
    return body[:end] + body[start:end] * times + body[end:]


def splice(rng, body, others):
    other = rng.choice(others)
    return body[: place(rng, body)] + other[place(rng, other):][:200000]


def write_integer(rng, body, _):
    """A count, size or offset of a binary format."""
    out = bytearray(body)
    for _ in range(rng.randrange(1, 4)):
        width, form = rng.choice([(1, "B"), (2, "<H"), (4, "<I"), (4, ">I"), (8, "<Q")])
        if len(out) < width:
            break
        value = rng.choice([0, 1, 127, 128, 2 ** (8 * width) - 1, 2 ** (8 * width - 1), len(out), len(out) - 1])
        # Headers are at the start, and a directory's entries at even offsets.
        at = rng.randrange(min(len(out), rng.choice([64, 1024, len(out)])) - width + 1) if len(out) > width else 0
        struct.pack_into(form, out, at - at % width, value % 2 ** (8 * width))
    return bytes(out)


def blow_number(rng, body, _):
    found = list(re.finditer(rb"0x[0-9A-Fa-f]+|-?[0-9]+", body[:400000]))
    if not found:
        return flip_bits(rng, body, _)
    number = rng.choice(found)
    return body[: number.start()] + rng.choice(NUMBERS) + body[number.end():]


def swap_tokens(rng, body, _):
    found = [m.span() for m in TOKEN.finditer(body[:400000])]
    if len(found) < 2:
        return flip_bits(rng, body, _)
    (a, b), (c, d) = sorted(rng.sample(found, 2))
    return body[:a] + body[c:d] + body[b:c] + body[a:b] + body[d:]


def change_lines(rng, body, _):
    lines = body.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 1:
        del lines[a]
    elif kind == 2:
        lines[a:a] = [lines[b]] * int(2 ** rng.uniform(0, 12)) if len(lines[b]) < 200 else [lines[b]]
    else:
        del lines[min(a, b):max(a, b)]
    return b"\n".join(lines)


def nest(rng, body, _):
    at, depth = place(rng, body), int(2 ** rng.uniform(3, 14))
    start, end = rng.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"((", b"))"), (b"\x0a\x7f", b"")])
    return body[:at] + start * depth + (b"1" + end * depth if rng.random() < 0.5 else b"") + body[at:]


def container(rng, value):
    """An object or list somewhere in a value, and a key or index in it; (None, None) if there is no such value."""
    found = None, None
    while isinstance(value, (dict, list)) and value:
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        found = value, key
        if rng.random() < 0.2:
            break
        value = value[key]
    return found


def nested(rng):
    value = copy.deepcopy(rng.choice(VALUES))
    for _ in range(rng.choice([10, 100, 126, 200])):
        value = [value] if rng.random() < 0.5 else {"frames": value}
    return value


def change_value(rng, root):
    """One value of a parsed JSON text becomes another, goes, is repeated, or changes its place."""
    at, key = container(rng, root)
    if at is None:
        return
    kind = rng.randrange(7)
    if kind <= 1:
        at[key] = copy.deepcopy(rng.choice(VALUES))
    elif kind == 2:
        del at[key]
    elif kind == 3:
        at[key] = nested(rng)
    elif kind == 4 and isinstance(at, list):
        size = len(json.dumps(at[key]))
        at[key:key] = [at[key]] * min(int(2 ** rng.uniform(1, 13)), 200000 // size + 1)
    elif kind == 5:
        text = json.dumps(container(rng, root)[0])
        at[key] = json.loads(text) if len(text) < 100000 else None
    elif isinstance(at, dict):
        at[rng.choice(["", key + "s", "frames", "threads", "images", "id"])] = at.pop(key)


def json_pieces(body):
    """[piece]: parsed values and the bytes between them; [] if it is not made of JSON."""
    try:
        return [json.loads(body)]
    except (ValueError, RecursionError):
        pass
    head, line, rest = body.partition(b"\n")
    try:
        return [json.loads(head), line, json.loads(rest)]
    except (ValueError, RecursionError):
        pass
    pieces, n_parsed = [], 0
    for part in re.split(rb"(\n)", body):
        try:
            pieces.append(json.loads(part) if part[:1] in (b"{", b"[") else part)
            n_parsed += pieces[-1] is not part
        except (ValueError, RecursionError):
            pieces.append(part)
    return pieces if n_parsed else []


def change_json(rng, body, _):
    pieces = json_pieces(body)
    places = [i for i, p in enumerate(pieces) if isinstance(p, (dict, list))]
    if not places:
        return blow_number(rng, body, _)
    for _ in range(int(2 ** rng.uniform(0, 3))):
        change_value(rng, pieces[rng.choice(places)])
    return b"".join(p if isinstance(p, bytes) else json.dumps(p).encode() for p in pieces)


BYTES = [flip_bits, cut, insert_bytes, delete_piece, repeat_piece, splice, nest]
TEXT = [insert_word, blow_number, swap_tokens, change_lines]


def mutated(rng, body, others):
    """Another body, not more than a report may have."""
    is_text = b"\x00" not in body[:1000] and body[:6] != b"plcrash"
    is_json = body.lstrip()[:1] in (b"{", b"[")
    # Random damage mostly leaves invalid JSON: half of the mutants keep a valid form.
    if is_json and rng.random() < 0.5:
        return change_json(rng, body, others)[: 4 << 20]
    ways = BYTES + TEXT if is_text else BYTES + [write_integer] * 4
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        body = rng.choice(ways)(rng, body, others)
    return body[: 4 << 20]
