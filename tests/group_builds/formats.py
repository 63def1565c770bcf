"""One crash in the formats of several clients, as far as each of them says something of it.

Addresses are those of the chain that was unwound; names are only those that a client finds on the device, of the system.
"""
import json
import pathlib
import sys

import labels

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
from make_plcrash import blob, num  # noqa: E402

# MetricKit nests a frame in the one before it.
sys.setrecursionlimit(10000)
APP = "Shop"
MACH = {"SIGSEGV": ("EXC_BAD_ACCESS", 1, "KERN_INVALID_ADDRESS"), "SIGBUS": ("EXC_BAD_ACCESS", 1, "KERN_INVALID_ADDRESS"),
        "SIGILL": ("EXC_BAD_INSTRUCTION", 2, "EXC_I386_INVOP"), "SIGTRAP": ("EXC_BREAKPOINT", 6, "EXC_ARM_BREAKPOINT"),
        "SIGABRT": ("EXC_CRASH", 10, None), "SIGFPE": ("EXC_ARITHMETIC", 3, "EXC_I386_DIV")}
NUMBERS = {"SIGSEGV": 11, "SIGBUS": 10, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGFPE": 8}
LIMITS = {"kscrash": 150, "sentry": 100, "plcrash": 512, "ips": 511, "crash": 511, "metrickit": 512, "bugsnag": 200}


class Frame:
    def __init__(self, address, image, name):
        self.address, self.image, self.name = address, image, name
        self.offset = address - image["base"] if image else 0


class Crash:
    """What happened, without a format."""

    def __init__(self, program, way, report, chain, build):
        self.program, self.way, self.report, self.build = program, way, report, build
        self.arch = report["arch"]
        self.images = [{"name": i["name"], "path": i["path"], "base": int(i["address"], 16), "size": i["size"],
                        "uuid": i["uuid"], "is_app": i["name"] == APP} for i in report["images"]]
        thread = next(t for t in chain["threads"] if t.get("crashed"))
        self.frames = [self.frame(f) for f in thread["frames"]]
        self.signal = report["crash"]["signal"]
        self.address = int(report["crash"]["address"], 16)
        top = next((f.name for f in self.frames), None)
        if top == "__pthread_kill":
            self.signal = "SIGABRT"
        self.exception = labels.EXCEPTIONS.get((program, way))
        self.message = labels.MESSAGES.get((program, way))
        if self.message and not any("assertionFailure" in (f.name or "") for f in self.frames[:1]):
            self.message = None # the optimised build says nothing
        self.is_hang = (program, way) in labels.HANGS
        throwing = [i for i, f in enumerate(self.frames) if f.name in ("objc_exception_throw", "__cxa_throw")]
        self.thrown = self.frames[throwing[-1]:] if self.exception and throwing else None

    def frame(self, found):
        address = int(found["address"], 16)
        image = next((i for i in self.images if i["base"] <= address < i["base"] + i["size"]), None)
        name = None
        if image and not image["is_app"] and found.get("symbols"):
            symbol = found["symbols"][-1]
            mangled = symbol.get("mangled") or ""
            name = mangled if mangled.lstrip("_").startswith(("Z", "$s")) else symbol["function"]
        return Frame(address, image, name)

    def cut(self, kind, frames=None):
        return (frames or self.frames)[:LIMITS.get(kind, 100000)]

    @property
    def runtime_name(self):
        """Of the exception; a C++ type is mangled."""
        kind, name, _ = self.exception
        return name if kind == "objc" else "N%sE" % "".join(f"{len(part)}{part}" for part in name.split("::"))

    @property
    def objc(self):
        return self.exception if self.exception and self.exception[0] == "objc" else None


def full(crash, _):
    """The loader's own report: registers and stack, no frames."""
    return native_of(crash, crash.report["threads"], crash.report.get("memory"))


def native_of(crash, threads, memory=None):
    what = {"thread": 0, "signal": crash.signal}
    if crash.signal in ("SIGSEGV", "SIGBUS"):
        what["address"] = hex(crash.address)
        what["mach"] = "EXC_BAD_ACCESS"
    if crash.exception:
        what["exception"] = crash.exception[1]
        if crash.exception[2]:
            what["reason"] = crash.exception[2]
    if crash.message:
        what["reason"] = "Shop/Shop.swift:12: Fatal error: " + crash.message
    report = {k: v for k, v in crash.report.items() if k not in ("key", "threads", "memory", "crash")}
    if crash.is_hang:
        report["kind"] = "hang"
        what = {"thread": 0}
    return json.dumps({**report, "crash": what, "threads": threads, **({"memory": memory} if memory else {})})


def native(crash, _):
    """Addresses alone."""
    frames = crash.thrown if crash.objc else crash.frames
    rows = [hex(f.address) for f in frames]
    if crash.objc:
        rows[0] = {"address": rows[0], "adjusted": False}
    return native_of(crash, [{"index": 0, "crashed": True, "frames": rows}])


def kscrash(crash, _):
    frames = crash.cut("kscrash", crash.thrown)
    mach, number, code = MACH[crash.signal]
    error = {"signal": {"signal": NUMBERS[crash.signal], "name": crash.signal, "code": 0},
             "mach": {"exception": number, "exception_name": mach, "code": 1, **({"code_name": code} if code else {})},
             "address": crash.address, "type": "mach"}
    if crash.exception:
        kind, name, reason = crash.exception[0], crash.runtime_name, crash.exception[2]
        error["type"] = "nsexception" if kind == "objc" else "cpp_exception"
        error[error["type"]] = {"name": name}
        if reason:
            error["reason"] = reason
    if crash.signal == "SIGABRT" and not crash.exception:
        error["type"] = "signal"
        del error["mach"]
    if crash.is_hang:
        error = {"type": "deadlock"}
    contents = []
    for f in frames:
        row = {"instruction_addr": f.address}
        if f.image:
            row.update(object_name=f.image["name"], object_addr=f.image["base"])
        if f.name:
            row.update(symbol_name=f.name, symbol_addr=f.address - 4)
        contents.append(row)
    cpu = 16777228 if crash.arch == "arm64" else 16777223
    return json.dumps({
        "report": {"version": "3.6.0", "id": "0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11", "process_name": APP, "type": "standard"},
        "binary_images": [{"image_addr": i["base"], "image_size": i["size"], "name": i["path"], "uuid": i["uuid"].upper(),
                           "cpu_type": cpu, "cpu_subtype": 0} for i in crash.images],
        "system": {"system_name": "iOS", "system_version": "17.2", "CFBundleExecutablePath": crash.images[0]["path"],
                   "CFBundleExecutable": APP, "CFBundleIdentifier": "com.acme.shop", "process_name": APP},
        "crash": {"error": error, "threads": [{"index": 0, "crashed": True, "backtrace": {"contents": contents, "skipped": 0}}]}})


def sentry(crash, _):
    frames = []
    for f in reversed(crash.cut("sentry", crash.thrown)):
        row = {"instruction_addr": hex(f.address)}
        if f.image:
            row.update(image_addr=hex(f.image["base"]), package=f.image["path"], in_app=f.image["is_app"])
        if f.name:
            row["function"] = f.name
        frames.append(row)
    mach, number, _ = MACH[crash.signal]
    mechanism = {"type": "mach", "handled": False,
                 "meta": {"mach_exception": {"name": mach, "exception": number, "code": 1, "subcode": crash.address},
                          "signal": {"number": NUMBERS[crash.signal], "name": crash.signal, "code": 0}}}
    what = {"type": mach, "value": "Exception 1, Code 1", "thread_id": 0}
    if crash.signal == "SIGABRT":
        what = {"type": "SIGABRT", "value": "", "thread_id": 0}
        mechanism = {"type": "signal", "handled": False, "meta": {"signal": {"number": 6, "name": "SIGABRT"}}}
    if crash.signal in ("SIGSEGV", "SIGBUS"):
        mechanism["data"] = {"relevant_address": hex(crash.address)}
    if crash.message:
        mechanism["data"] = {"crash_info_messages": ["Shop/Shop.swift:12: Fatal error: " + crash.message]}
    if crash.exception:
        kind, name, reason = crash.exception[0], crash.runtime_name, crash.exception[2]
        what = {"type": name, "value": reason or "", "thread_id": 0}
        mechanism = {"type": "nsexception" if kind == "objc" else "cpp_exception", "handled": False}
    if crash.is_hang:
        what = {"type": "App Hanging", "value": "App hanging for at least 2000 ms.", "thread_id": 0}
        mechanism = {"type": "AppHang"}
    return json.dumps({
        "event_id": "d3b07384d113edec49eaa6238ad5ff00", "timestamp": 1767225600.125, "platform": "cocoa", "level": "fatal",
        "release": "com.acme.shop@1.2+34", "sdk": {"name": "sentry.cocoa", "version": "8.40.1"},
        "contexts": {"os": {"name": "iOS", "version": "17.2"}, "app": {"app_identifier": "com.acme.shop", "app_name": APP}},
        "exception": {"values": [{**what, "mechanism": mechanism, "stacktrace": {"frames": frames}}]},
        "threads": {"values": [{"id": 0, "crashed": True, "current": True, "stacktrace": {"frames": frames}}]},
        "debug_meta": {"images": [{"type": "macho", "debug_id": dashed(i["uuid"]), "code_file": i["path"],
                                   "image_addr": hex(i["base"]), "image_size": i["size"]} for i in crash.images]}})


def dashed(uuid):
    uuid = uuid.replace("-", "").upper()
    return "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))


def plcrash(crash, _):
    if crash.is_hang:
        return None
    cpu = 0x100000C if crash.arch == "arm64" else 0x1000007
    processor = num(1, 1) + num(2, cpu) + num(3, 0)

    def frames(field, of):
        return b"".join(blob(field, num(3, f.address)) for f in crash.cut("plcrash", of))
    images = b"".join(blob(4, num(2, i["size"]) + num(1, i["base"]) + blob(3, i["path"])
                           + blob(4, bytes.fromhex(i["uuid"].replace("-", ""))) + blob(5, processor)) for i in crash.images)
    body = blob(9, num(1, 0) + blob(2, bytes(range(16)))) + blob(1, num(1, 1) + blob(2, "17.2") + num(3, 6) + num(4, 1767225600))
    body += blob(8, blob(1, "iPhone15,2") + blob(2, processor)) + blob(2, blob(1, "com.acme.shop") + blob(2, "34"))
    body += blob(7, blob(1, APP) + num(2, 42) + blob(3, crash.images[0]["path"]) + blob(4, "launchd") + num(5, 1) + num(6, 1))
    if crash.objc:
        body += blob(5, blob(1, crash.objc[1]) + blob(2, crash.objc[2]) + frames(3, crash.thrown))
    body += blob(3, num(1, 0) + frames(2, crash.frames) + num(3, 1)) + images
    body += blob(6, blob(1, crash.signal) + blob(2, "SEGV_ACCERR") + num(3, crash.address))
    return b"plcrash\x01" + body


def ips_frames(crash, frames):
    rows = []
    for f in crash.cut("ips", frames):
        row = {"imageOffset": f.offset if f.image else f.address,
               "imageIndex": crash.images.index(f.image) if f.image else len(crash.images)}
        if f.name:
            row.update(symbol=f.name, symbolLocation=4)
        rows.append(row)
    return rows


def ips(crash, _):
    if crash.is_hang:
        return None
    mach, _, code = MACH[crash.signal]
    body = {"procName": APP, "procPath": crash.images[0]["path"], "cpuType": "ARM-64" if crash.arch == "arm64" else "X86-64",
            "osVersion": {"train": "iPhone OS 17.2", "build": "21C62", "isEmbedded": True}, "bug_type": "309",
            "bundleInfo": {"CFBundleIdentifier": "com.acme.shop"}, "faultingThread": 0,
            "exception": {"type": mach, "signal": crash.signal,
                          **({"subtype": f"KERN_INVALID_ADDRESS at {crash.address:#018x}"} if mach == "EXC_BAD_ACCESS" else {})},
            "termination": {"namespace": "SIGNAL", "code": NUMBERS[crash.signal], "indicator": "x"},
            "threads": [{"triggered": True, "id": 1, "frames": ips_frames(crash, None)}],
            "usedImages": [{"source": "P", "arch": crash.arch, "base": i["base"], "size": i["size"], "uuid": i["uuid"],
                            "path": i["path"], "name": i["name"]} for i in crash.images]
            + [{"source": "A", "base": 0, "size": 0, "uuid": "00000000-0000-0000-0000-000000000000"}]}
    if crash.objc:
        body["lastExceptionBacktrace"] = ips_frames(crash, crash.thrown)
        body["asi"] = {"CoreFoundation": [f"*** Terminating app due to uncaught exception '{crash.objc[1]}', "
                                          f"reason: '{crash.objc[2]}'"], "libsystem_c.dylib": ["abort() called"]}
    elif crash.exception:
        body["asi"] = {"libc++abi.dylib": [f"terminating due to uncaught exception of type {crash.exception[1]}"],
                       "libsystem_c.dylib": ["abort() called"]}
    elif crash.message:
        body["asi"] = {"libswiftCore.dylib": ["Shop/Shop.swift:12: Fatal error: " + crash.message + "\n"]}
    elif crash.signal == "SIGABRT":
        body["asi"] = {"libsystem_c.dylib": ["abort() called"]}
    header = {"app_name": APP, "bug_type": "309", "os_version": "iPhone OS 17.2 (21C62)", "name": APP,
              "slice_uuid": crash.images[0]["uuid"], "incident_id": "0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11"}
    return json.dumps(header) + "\n" + json.dumps(body) + "\n"


def crash_lines(crash, frames):
    return "".join(f"{n:<4}{f.image['name'] if f.image else '???':<30}\t{f.address:#018x} "
                   + (f"{f.name} + 4\n" if f.name else f"{f.image['base'] if f.image else 0:#x} + {f.offset if f.image else f.address}\n")
                   for n, f in enumerate(crash.cut("crash", frames)))


def crash_text(crash, _):
    """As iOS writes it: nothing of what was thrown but where."""
    if crash.is_hang:
        return None
    mach, _, _ = MACH[crash.signal]
    images = "".join(f"{i['base']:#x} - {i['base'] + i['size'] - 1:#x} {i['name']} {crash.arch}  "
                     f"<{i['uuid'].replace('-', '')}> {i['path']}\n" for i in crash.images)
    last = f"\nLast Exception Backtrace:\n{crash_lines(crash, crash.thrown)}" if crash.objc else ""
    subtype = f"Exception Subtype: KERN_INVALID_ADDRESS at {crash.address:#018x}\n" if mach == "EXC_BAD_ACCESS" else ""
    return f"""Incident Identifier: 0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11
Hardware Model:      iPhone15,2
Process:             {APP} [4242]
Path:                {crash.images[0]['path']}
Identifier:          com.acme.shop
Version:             1.2 (34)
Code Type:           {'ARM-64' if crash.arch == 'arm64' else 'X86-64'} (Native)

Date/Time:           2026-01-01 00:00:00.1250 +0000
OS Version:          iPhone OS 17.2 (21C62)
Report Version:      104

Exception Type:  {mach} ({crash.signal})
{subtype}Termination Reason: SIGNAL {NUMBERS[crash.signal]}
Triggered by Thread:  0
{last}
Thread 0 Crashed:
{crash_lines(crash, None)}
Binary Images:
{images}
EOF
"""


def metrickit(crash, _):
    node = None
    for f in reversed(crash.cut("metrickit")):
        image = f.image or {"uuid": "00000000-0000-0000-0000-000000000000", "name": "???"}
        here = {"binaryUUID": dashed(image["uuid"]), "offsetIntoBinaryTextSegment": f.offset if f.image else f.address,
                "sampleCount": 1, "binaryName": image["name"], "address": f.address}
        if node:
            here["subFrames"] = [node]
        node = here
    tree = {"callStackPerThread": True, "callStacks": [{"threadAttributed": True, "callStackRootFrames": [node]}]}
    meta = {"appBuildVersion": "34", "appVersion": "1.2", "osVersion": "iPhone OS 17.2 (21C62)", "deviceType": "iPhone15,2",
            "platformArchitecture": crash.arch, "bundleIdentifier": "com.acme.shop"}
    if crash.is_hang:
        meta["hangDuration"] = "3 sec"
    else:
        meta.update(exceptionType=MACH[crash.signal][1], exceptionCode=1, signal=NUMBERS[crash.signal],
                    terminationReason=f"Namespace SIGNAL, Code {NUMBERS[crash.signal]}")
    if crash.objc:
        meta["objectiveCexceptionReason"] = {"composedMessage": crash.objc[2], "formatString": crash.objc[2], "arguments": [],
                                   "exceptionType": crash.objc[1], "className": "NSException", "exceptionName": crash.objc[1]}
    key = "hangDiagnostics" if crash.is_hang else "crashDiagnostics"
    return json.dumps({"timeStampBegin": "2026-01-01 00:00:00 +0000", "timeStampEnd": "2026-01-02 00:00:00 +0000",
                       key: [{"version": "1.0.0", "callStackTree": tree, "diagnosticMetaData": meta}]})


def bugsnag(crash, _):
    rows = []
    for n, f in enumerate(crash.cut("bugsnag", crash.thrown)):
        row = {"frameAddress": hex(f.address)}
        if f.image:
            row.update(machoUUID=dashed(f.image["uuid"]), machoFile=f.image["path"], machoLoadAddress=hex(f.image["base"]))
        if f.name:
            row.update(method=f.name, symbolAddress=hex(f.address - 4))
        if n == 0 and not crash.thrown:
            row["isPC"] = True
        rows.append(row)
    name, reason = MACH[crash.signal][0], "Attempted to dereference"
    if crash.signal == "SIGABRT":
        name, reason = "SIGABRT", "Abort program"
    if crash.exception:
        name, reason = crash.exception[1:]
    if crash.message:
        name, reason = "Fatal error", crash.message
    if crash.is_hang:
        name, reason = "App Hang", "The app's main thread failed to respond"
    return json.dumps({"notifier": {"name": "iOS Bugsnag Notifier"}, "events": [{
        "exceptions": [{"errorClass": name, "message": reason or "", "type": "cocoa", "stacktrace": rows}],
        "threads": [], "app": {"id": "com.acme.shop", "name": APP, "binaryArch": crash.arch, "type": "iOS"},
        "device": {"osName": "iOS", "osVersion": "17.2"}, "unhandled": True, "severity": "error"}]})


FORMATS = {"full": full, "native": native, "kscrash": kscrash, "sentry": sentry, "plcrash": plcrash, "ips": ips,
           "crash": crash_text, "metrickit": metrickit, "bugsnag": bugsnag}
