"""Texts that would do something if they became markup, a script, a template or a format, and reports of all formats with them.

mutated(path, report, shift) takes a case of tests/golden: wherever the input has a text that its report shows, the result has a hostile one instead.
"""

import base64
import io
import json
import re
import zipfile

SCRIPT = "window.pwned=1"
TEXTS = (
    f"<script>{SCRIPT}</script>", f'<img src=x onerror="{SCRIPT}">', f'"><svg onload={SCRIPT}>', f"javascript:{SCRIPT}//",
    f"{{{{constructor.constructor('{SCRIPT}')()}}}}", f"${{{SCRIPT}}}", f"</title></style></textarea><script>{SCRIPT}</script>",
    f"' onmouseover='{SCRIPT}' autofocus onfocus='{SCRIPT}", "<base href=https://evil.example/>", "<style>*{display:none}</style>",
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">', f"<iframe srcdoc='<script>top.{SCRIPT}</script>'></iframe>",
    f"[a](javascript:{SCRIPT}) ![b](https://evil.example/x.png) **c** `d`", "=HYPERLINK(\"https://evil.example\",\"x\")", "@SUM(1+1)*cmd|' /C calc'!A0",
    "\u202egnirts desrever\u2066\u200f", "\U0001f480\u200d\U0001f525" * 150, "a\u0301\u0302\u0303\u0489" * 150, "W" * 6000, "x y " * 1500, "\u06dd\ufdfd\u2028\u2029z",
    f"`;{SCRIPT};`", "__proto__", "constructor", "%s%n%x%00", "../../../../etc/passwd", f"<xmp><p title='</xmp><img src onerror={SCRIPT}>'>",
    f"<a href=data:text/html,<script>{SCRIPT}</script>>x</a>", "https://evil.example/?a=b&c=d#e", f"<math><mi xlink:href=\"javascript:{SCRIPT}\">m</mi></math>",
)
# Only what may be in JSON: text formats end a field at such a character.
IN_JSON = ("\x1b[31mred\x1b[0m\x1b]0;title\x07", "a\x00b\x01\x7f\x9f", "\t\r\n\v", "line 1\nline 2\r\n\r\nProcess: x")
# What decides how a report is read, and is not shown as it is.
KEPT = re.compile(r"^(0x)?[0-9a-fA-F -]*$|^[\d.:TZ+ -]*$|^(EXC_|SIG|KERN_|arm|x86|crash$|hang$|iOS|macOS|framezero|sentry|kscrash|bugsnag|ips|metrickit|plcrash|given|client|"
                  r"symbolicated|unsymbolicated|partial|no_symbol|missing|context|cfi)")
SHORTEST = 4


def shown(value):
    """The texts of a report."""
    if isinstance(value, dict):
        return {one for part in value.values() for one in shown(part)}
    if isinstance(value, list):
        return {one for part in value for one in shown(part)}
    return {value} if isinstance(value, str) and len(value) >= SHORTEST and not KEPT.match(value) and "\n" not in value else set()


def replaced(data, words, make):
    """`data` with make(word) for each of the words."""
    if not words:
        return data
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=lambda one: (-len(one), one))))
    return pattern.sub(lambda found: make(found.group()), data)


class Mutator:
    def __init__(self, shift, texts=TEXTS):
        self.at, self.texts = shift, texts

    def next(self, _=None):
        self.at += 1
        return self.texts[self.at % len(self.texts)]

    def in_value(self, value, words):
        if isinstance(value, dict):
            return {key: self.in_value(part, words) for key, part in value.items()}
        if isinstance(value, list):
            return [self.in_value(part, words) for part in value]
        return replaced(value, words, self.next) if isinstance(value, str) else value

    def in_json(self, data, words):
        """One value, or two after each other as in .ips."""
        value, end = json.JSONDecoder().raw_decode(data)
        rest = data[end:].strip()
        return json.dumps(self.in_value(value, words)) + ("\n" + self.in_json(rest, words) if rest else "")

    def in_text(self, data, words):
        return replaced(data, words, self.next)

    def in_xml(self, data, words):
        return replaced(data, words, lambda _: self.next().replace("&", "&amp;").replace("<", "&lt;").replace("]]>", ""))

    def in_dump(self, data, words):
        """Strings of a minidump are UTF-16 or UTF-8 of a fixed length."""
        for word in sorted(words, key=len, reverse=True):
            text = (self.next() * len(word))[:len(word)]
            for encoding in ("utf-16-le", "utf-8"):
                new = text.encode(encoding, "replace")[:len(word.encode(encoding))]
                data = data.replace(word.encode(encoding), new.ljust(len(word.encode(encoding)), b" "))
        return data

    def in_protobuf(self, data):
        """Each field that is a text of five printable characters or more; None if these are no fields."""
        out, at = b"", 0
        while at < len(data):
            key, at = varint(data, at)
            if key is None or key >> 3 == 0 or key & 7 not in (0, 1, 2, 5):
                return None
            if key & 7 == 2:
                length, at = varint(data, at)
                if length is None or at + length > len(data):
                    return None
                value, at = data[at:at + length], at + length
                is_text = len(value) > SHORTEST and all(32 <= byte < 127 for byte in value)
                value = self.next().encode() if is_text and not KEPT.match(value.decode()) else (not is_text and self.in_protobuf(value)) or value
                out += number(key) + number(len(value)) + value
                continue
            end = varint(data, at)[1] if key & 7 == 0 else at + (8 if key & 7 == 1 else 4)
            if end > len(data):
                return None
            out, at = out + number(key) + data[at:end], end
        return out


def varint(data, at):
    value, shift = 0, 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 127) << shift
        at += 1
        if not data[at - 1] & 128:
            return value, at
        shift += 7
    return None, at


def number(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def in_envelope(data, words, mutator):
    """Items with their new lengths; what is not JSON stays, but the names of attachments are texts."""
    head, _, rest = data.partition(b"\n")
    out = [json.dumps(mutator.in_value(json.loads(head), words)).encode()]
    while rest.strip():
        line, _, rest = rest.lstrip(b"\n").partition(b"\n")
        item = json.loads(line)
        length = item.get("length", rest.find(b"\n") if b"\n" in rest else len(rest))
        body, rest = rest[:length], rest[length:]
        if item["type"] == "attachment":
            item["filename"] = mutator.next()
        elif body.startswith(b"{"):
            body = json.dumps(mutator.in_value(json.loads(body), words)).encode()
        out += [json.dumps({**item, "length": len(body)}).encode(), body]
    return b"\n".join(out) + b"\n"


def session(number, text):
    """A run whose version, user and environment are the text."""
    return b"{}\n" + json.dumps({"type": "session"}).encode() + b"\n" + json.dumps({
        "sid": f"{number:032x}", "did": text, "init": True, "status": "crashed",
        "attrs": {"release": f"app@{text[:100]}+{text[:50]}", "environment": text[:60]}}).encode() + b"\n"


# Of the sample's program: names of a function, variables and a field become elements. A name is as long as the one that it replaces.
IN_DWARF = ((b"price_of", b"<iframe>"), (b"\0items_\0", b"\0<math>\0"), (b"\0n_wanted\0", b"\0<object>\0"), (b"\0catalogue\0", b"\0<script>x\0"),
            (b"\0price_cents\0", b"\0<base id=x>\0"))
SHOWN_OF_DWARF = tuple(name.strip(b"\0").decode() for _, name in IN_DWARF)
HEAP = 0x600000000000


def program(data):
    """The sample's program and dSYM with hostile names in its DWARF."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as made:
        for name in source.namelist():
            content = source.read(name)
            for was, now in IN_DWARF if "/DWARF/" in name else ():
                assert was in content, was
                content = content.replace(was, now)
            made.writestr(name, content)
    return out.getvalue()


def values(data, text):
    """The sample's crash, in which the first item's name is the text: its memory points to it."""
    report = json.loads(data)
    items = bytearray(base64.b64decode(report["memory"][0]["bytes"]))
    items[:8] = HEAP.to_bytes(8, "little")
    report["memory"][0]["bytes"] = base64.b64encode(items).decode()
    report["memory"].append({"address": hex(HEAP), "bytes": base64.b64encode(text.encode() + b"\0").decode()})
    return json.dumps(report).encode()


def mutated(path, report, shift):
    """The bytes of a case, with hostile texts from the number `shift` on."""
    data, words, name = path.read_bytes(), shown(report), path.name
    if name.endswith((".json", ".ips")):
        return Mutator(shift, TEXTS + IN_JSON).in_json(data.decode(), words).encode()
    if name.endswith(".envelope"):
        return in_envelope(data, words, Mutator(shift))
    if name.endswith(".xml"):
        return Mutator(shift).in_xml(data.decode(), words).encode()
    if name.endswith(".dmp"):
        return Mutator(shift).in_dump(data, words)
    if name.endswith(".plcrash"):
        return data[:8] + Mutator(shift).in_protobuf(data[8:])
    return Mutator(shift).in_text(data.decode(), words).encode()
