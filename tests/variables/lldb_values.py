"""Runs inside of lldb (command script import): opens a core file and writes what lldb shows of every variable.

The environment names a folder, VARIABLES_FOLDER, with the files core, crash, crash.dSYM, and VARIABLES_SLIDE. It writes
lldb.json: {"ms": time for all frames, "cpu_ms": of all its threads, "frames": [[{"path", "value", "summary", "unsigned", "size", "type"}]]}. Frames that lldb
makes up for tail calls are left out.
"""
import json
import os
import time

import lldb

DEPTH = 6


def walk(value, path, out, depth):
    error = lldb.SBError()
    unsigned = value.GetValueAsUnsigned(error)
    kind = value.GetType()
    out.append({"path": path, "value": value.GetValue(), "summary": value.GetSummary(),
                "unsigned": unsigned if error.Success() else None, "size": kind.GetByteSize(), "type": kind.GetName(),
                "ok": value.GetError().Success()})
    if depth == DEPTH or (depth > 0 and (kind.IsPointerType() or kind.IsReferenceType())):
        return
    for i in range(min(value.GetNumChildren(), 64)):
        child = value.GetChildAtIndex(i)
        name = child.GetName() or ""
        base = path
        if kind.IsPointerType():
            aggregate = kind.GetPointeeType().GetCanonicalType().GetTypeClass() in (
                lldb.eTypeClassStruct, lldb.eTypeClassUnion, lldb.eTypeClassClass, lldb.eTypeClassObjCInterface,
                lldb.eTypeClassObjCObject)
            base += ".*"
            name = name if aggregate else ""
        walk(child, base + ("" if not name or name.startswith("[") else ".") + name, out, depth + 1)


def main():
    folder = os.environ["VARIABLES_FOLDER"]
    debugger = lldb.debugger
    debugger.HandleCommand(f"target create --core {folder}/core {folder}/crash")
    debugger.HandleCommand(f"target symbols add {folder}/crash.dSYM/Contents/Resources/DWARF/crash")
    debugger.HandleCommand(f"target modules load --file crash --slide {os.environ['VARIABLES_SLIDE']}")
    began, cpu, frames = time.monotonic(), time.process_time(), []
    for frame in debugger.GetSelectedTarget().GetProcess().GetThreadAtIndex(0):
        if frame.IsArtificial():
            continue
        out = []
        for value in frame.GetVariables(True, True, False, True):
            walk(value, value.GetName() or "", out, 0)
        frames.append(out)
    took, took_cpu = (time.monotonic() - began) * 1000, (time.process_time() - cpu) * 1000
    with open(f"{folder}/lldb.json", "w", encoding="utf-8") as file:
        json.dump({"ms": took, "cpu_ms": took_cpu, "frames": frames}, file)


main()
