"""Goals beside figures, and the Markdown that shows both."""
MIB = 1 << 20

# What is asked of the engine: measure → (key that is judged, "most" or "least", bound per stage, peer).
# A stage that is not named has no goal.
EVERY = ("small", "many", "middle", "large", "given")
GOALS = {
    "build, 1 thread": ("ratio", "most", {"middle": 0.22, "large": 0.22}, "gsymutil-19"),
    "build, 2 threads": ("ratio", "most", {"middle": 0.20, "large": 0.20}, "gsymutil-19"),
    "memory, 1 thread": ("ratio", "most", dict.fromkeys(EVERY, 0.35), "gsymutil-19"),
    "memory, 2 threads": ("ratio", "most", dict.fromkeys(EVERY, 0.35), "gsymutil-19"),
    "size": ("ratio", "most", dict.fromkeys(EVERY, 1.0), "gsymutil-19"),
    "lookup, warm": ("value", "most", {"middle": 150, "large": 400}, None),
    "open and first lookup": ("value", "most", dict.fromkeys(EVERY, 2), None),
    "100,000 addresses": ("faster", "least", dict.fromkeys(EVERY, 20), "llvm-symbolizer-19"),
}


def judge(rows):
    """The rows, each with `goal` and `ok` where something is asked."""
    ret = []
    for row in rows:
        row = dict(row)
        if "limit" in row:
            row.update(goal=row["limit"], ok=row["value"] <= row["limit"])
        key, sense, bounds, peer = GOALS.get(row["measure"], (None, None, {}, None))
        bound = bounds.get(row["stage"])
        if bound is not None and row.get("peer") == peer:
            row.update(goal=bound, ok=row[key] <= bound if sense == "most" else row[key] >= bound)
        ret.append(row)
    return ret


def _value(value, unit):
    if unit == "bytes":
        return f"{value / MIB:.1f} MiB"
    if unit == "s":
        return f"{value:.3f} s"
    if unit == "names/s":
        return f"{value / 1e6:.2f} M/s"
    if unit == "ms":
        return f"{max(0.0, value):.2f} ms"  # a difference of medians; noise can turn a small one negative
    return f"{value:.0f} ns"


def _goal(row):
    if "goal" not in row:
        return "–"
    if "limit" in row:
        return f"≤ {_value(row['limit'], 'bytes')} (DWARF + 64 MiB)"
    key, sense, _, _ = GOALS[row["measure"]]
    if key == "value":
        return f"≤ {row['goal']} {row['unit']}"
    return f"≤ {row['goal']:.2f} ×" if sense == "most" else f"≥ {row['goal']} × faster"


def _ratio(row):
    if "cpu_faster" in row:
        return f"{row['faster']:.1f} × faster (CPU {row['cpu_faster']:.1f})"
    if "faster" in row:
        return f"{row['faster']:.1f} × faster"
    if "cpu_ratio" in row:
        return f"{row['ratio']:.3f} × (CPU {row['cpu_ratio']:.3f})"
    return f"{row['ratio']:.3f} ×" if "ratio" in row else "–"


def markdown(info, rows):
    before, after = info["before"], info["after"]
    out = [f"{info['date']}, {before['cores']} cores ({before['cpu']}), load {before['load']:.1f} before and "
           f"{after['load']:.1f} after, {info['rounds']} rounds, {info['seconds']} s.",
           f"Peak memory under {info['memory_floor'] / MIB:.0f} MiB cannot be distinguished from the measuring process's."]
    out += [f"Missing: {name} is not installed." for name in info["missing"]]
    out += [f"Left out on request: {name}." for name in info["left_out"]]
    out += [f"Note: {note}." for note in info["notes"]]
    out += ["", "| file | measure | framezero | peer | | ratio | goal | |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        peer = row.get("peer", "–")
        peer_value = _value(row["peer_value"], row["unit"]) if "peer_value" in row else "–"
        verdict = {True: "ok", False: "**missed**", None: ""}[row.get("ok")]
        out.append(f"| {row['file']} | {row['measure']} | {_value(row['value'], row['unit'])} | {peer} | {peer_value} "
                   f"| {_ratio(row)} | {_goal(row)} | {verdict} |")
    judged = [row["ok"] for row in rows if "ok" in row]
    out += ["", f"{sum(judged)} of {len(judged)} goals met."]
    return "\n".join(out)
