"""Figures of a trace and of its acquisition.  Each function returns what is drawn, see README.md."""

import base64
import math
import struct

import marks
import words
from figure import Empty

CELLS = 30000  # cells of a matrix that are exact; more are stored as 16-bit logarithms
SIDE = 512  # rows of a matrix: more ranks are taken together


def what_ran(d):
    info, run = d.info(), d.run()
    plan = run.get("plan", {})
    rows = [["Program", info.get("application")], ["Command", info.get("command")],
            ["Ranks", words.count(info["np"])],
            ["Cores", words.count(plan["cores"]) if "cores" in plan else None],
            ["Folding", info.get("acquired") and f"{info['acquired']} ({folding(plan)})"],
            ["Nodes", ", ".join(info.get("nodes", [])[:8])
             + (" ..." if len(info.get("nodes", [])) > 8 else "")],
            ["Processor", " ".join(filter(None, [info.get("cpu"), info.get("isa")]))],
            ["MPI library", info.get("mpi")],
            ["Counter", f"{info.get('counter')}: {info.get('event')}" if info.get("counter") else None],
            ["Acquired", span(run)],
            ["Trace", f"{info.get('kind')}, {words.count(info['events'])} events "
             f"in {words.size(info.get('bytes', 0))} of traces"],
            ["Volume", f"{words.count(info['volume'])} {info.get('unit') or ''}"],
            ["Messages", f"{words.count(info['messages'])}, {words.size(info['message_bytes'])}"],
            ["Run", info.get("run_id")]]
    return {"kind": "facts", "rows": [[k, str(v)] for k, v in rows if v],
            "marks": marks.ranks(d) + failed_run(run)}


def failed_run(run):
    state = run.get("state")
    if not state or state == "complete":
        return []
    status = run.get("exit_status")
    return [f"Partial: the run ended as '{state}'"
            + (f", exit status {status}" if status else "") + (f": {run['lost']}" if "lost" in run else "")
            + "."]


def folding(plan):
    most, least = plan.get("folding_most", plan.get("folding")), plan.get("folding_least")
    if not most:
        return "ranks per core not recorded"
    return f"{per_core(least, most)} per core"


def per_core(least, most):
    if least and abs(most - least) > 0.005:
        return f"{least:.3g} to {most:.3g} ranks"
    return "one rank" if most == 1 else f"{most:.3g} ranks"


def span(run):
    begin, end = run.get("started"), run.get("ended")
    return f"{begin} to {end}" if begin and end else begin


def plan(d):
    plan = d.run().get("plan")
    if not plan:
        raise Empty("The trace has no plan: it was not taken by ti-acquire.")
    rows = [{"label": f"{c['site']}, {c['name']}", "values": [c["ranks"]],
             "note": f"{c['nodes_used']} of {c['nodes']} nodes" + (
                 f", {per_core(c['folding_least'], c['folding_most'])} per core"
                 if "folding_most" in c else "")}
            for c in plan.get("clusters", []) if c.get("ranks")]
    if not rows:
        names = d.manifest().get("nodes") or [{"name": d.run().get("host", "this machine")}]
        cores, memory = plan.get("cores"), plan.get("memory", {})
        rows = [{"label": names[0]["name"], "values": [plan["np"]],
                 "note": f"{cores} cores, {folding(plan)}" + (
                     f"; {words.size(memory['needed_bytes'])} of {words.size(memory['available_bytes'])}"
                     " of memory" if memory.get("needed_bytes") else "")}]
    return {"kind": "bars", "format": "count", "series": ["ranks"], "rows": rows,
            "note": f"Mode {plan.get('mode')}." + (f" At most {plan['largest_np']:,} ranks would fit."
                                                  if plan.get("largest_np") else "")}


STEPS = {"start": "mpirun starts, until all ranks leave MPI_Init", "application": "the application runs",
         "fetch": "traces come from the nodes", "gather": "traces are checked and bundled",
         "ship": "Tiara is copied to nodes without it", "probe": "nodes are surveyed"}


def steps(d):
    run = d.run()
    if not run.get("steps"):
        raise Empty("The trace does not say how long the steps of its acquisition took.")
    base, rows = None, []
    for step in run["steps"]:
        at = instant(step.get("started"))
        base = at if base is None else base
        rows.append({"label": step["name"], "start": max(0, at - base) if at is not None else 0,
                     "seconds": step["seconds"], "note": STEPS.get(step["name"], "")})
    whole = sum(r["seconds"] for r in rows)
    return {"kind": "steps", "rows": rows, "marks": failed_run(run),
            "note": f"All steps together: {words.seconds(whole)}."}


def instant(text):
    from datetime import datetime
    try:
        return datetime.fromisoformat((text or "").replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def gather(d):
    tree = d.manifest().get("gathering") or d.info().get("gathering")
    if not tree:
        raise Empty("No trace came from another node: all ranks ran where the bundle was made.")
    links = tree.get("links", [])
    if not links:
        raise Empty("The bundle does not say through which nodes traces came.")
    marked = []
    if tree.get("adopted") or tree.get("relays_lost"):
        marked.append(f"Not as planned: {tree.get('relays_lost', 0)} relays failed, "
                      f"{tree.get('adopted', 0)} nodes were reached by another way.")
    return {"kind": "tree", "root": d.run().get("host") or "here",
            "nodes": [{"name": name, "parent": parent, "bytes": size, "seconds": seconds}
                      for name, parent, size, seconds in links], "marks": marked,
            "note": f"Arity {tree.get('arity')}; the fetch took {words.seconds(tree.get('seconds'))}, "
            f"predicted {words.seconds((tree.get('predicted') or {}).get('total_seconds'))}."}


def extrapolation(d):
    info = d.info()
    if not info.get("extrapolated"):
        raise Empty("The trace is of a run: no rank was extrapolated.")
    about = d.manifest().get("extrapolated") or {}
    proof, grid = about.get("proof") or {}, (about.get("grids") or [[]])[-1]
    rows = [["Made", f"{info['np']:,} ranks" + (f", in a grid of {' x '.join(map(str, grid))}" if grid else "")]]
    rows += [[f"From {i['np']:,} ranks", f"{i['path']}, run {i['run_id']}"] for i in about.get("inputs", [])]
    rows.append(["Proof", info["extrapolated"].split("; ", 1)[-1].replace("proof: from the others", "from the other runs")])
    if "equal_ranks" in proof:
        rows += [["Compared", f"the run with {proof['np']:,} ranks, and the same made from the others"],
                 ["Equal ranks", f"{proof['equal_ranks']:,} of {proof['np']:,}"],
                 ["Equal events", f"{proof['equal_events']:,} of {proof['events']:,}"],
                 ["Volume off by", f"{words.percent(proof['volume_off'])}; that of a call site by "
                  f"{words.percent(proof['worst_site_off'])} at most"]]
    return {"kind": "facts", "rows": rows, "marks": marks.made(info, marks.proof(d))}


def skew(d):
    if not d.skew:
        raise Empty("No result of ti-skew was given (`--skew FILE`).")
    rows = []
    for np in d.skew["np"]:
        for name, key in (("instructions of the whole run", "whole_skew_pct"),
                          ("volumes of bursts", "burst_skew_pct"), ("time", "overhead_pct")):
            value = np.get(key)
            if value and value.get("median") is not None:
                rows.append({"label": f"{np['np']} ranks: {name}", "values": [value["median"]],
                             "low": value.get("least"), "high": value.get("most")})
    if not rows:
        raise Empty("The result of ti-skew has no skew and no overhead.")
    return {"kind": "bars", "format": "pct", "series": ["more than without tracing"], "rows": rows,
            "marks": ["Estimated: the counter only estimates volumes."]
            if d.skew.get("counter", {}).get("estimate") else []}


def by_rank(d):
    got = [r for r in d.ranks() if r.get("volume") is not None]
    if not got:
        raise Empty("No rank has a trace that can be read.")
    np, unit = d.info()["np"], d.info().get("unit") or "units"
    marked = marks.ranks(d) + marks.volumes(d)
    if len(got) < len(d.ranks()):
        marked.append(f"Partial: {len(d.ranks()) - len(got)} ranks are damaged and not shown.")
    note = ""
    if np > len(d.ranks()) + 0 and np > 1024:
        note = f"{len(got):,} of {np:,} ranks are shown, evenly spread."
    return {"kind": "ranks", "x": [r["rank"] for r in got], "np": np, "note": note, "marks": marked,
            "series": [{"name": f"volume, {unit}", "format": "count", "values": [r["volume"] for r in got]},
                       {"name": "events", "format": "count", "values": [r["events"] for r in got]},
                       {"name": "bytes sent in messages", "format": "bytes",
                        "values": [r.get("message_bytes", 0) for r in got]}]}


TEXT_ACTION = 15  # bytes of an action as text, as the papers on time-independent traces have measured


def stored(d):
    info, totals = d.info(), d.manifest().get("totals", {})
    if not info["events"]:
        raise Empty("The trace has no events.")
    parts = {k: v for k, v in d.parts().items() if v}
    kind = info.get("kind")
    rows = [("as text (estimate)", 2 * info["events"] * TEXT_ACTION),
            ("a file for each rank", totals.get("bytes")),
            (f"this {kind}", sum(parts.values()) or info["bytes"]),
            *((f"its {name}", size) for name, size in sorted(parts.items(), key=lambda p: -p[1]))]
    return {"kind": "bars", "format": "bytes", "scale": "log", "series": ["stored"],
            "rows": [{"label": label, "values": [size], "note": per_event(size, info["events"])}
                     for label, size in rows if size],
            "note": f"{words.count(info['events'])} events; an event is two actions, a burst and a call.",
            "marks": ["Estimated: the size as text is 15 bytes an action, as in the papers, not measured."]}


def per_event(size, events):
    return f"{size / events:.3g} bytes an event, {size / events / 2:.3g} an action" \
        if size > events / 1000 else "hardly anything an event"


def operations(d):
    ops = d.info()["operations"]
    if not ops:
        raise Empty("The trace has no events.")
    try:
        cost, second = costs(d)
    except (KeyError, TypeError, ValueError):  # a replay that is not as expected must not cost this figure
        cost, second = {}, None
    order = sorted(ops, key=lambda o: (-sum(cost.get(o, [0])), -ops[o]["events"], o))
    rows = [{"label": o, "values": [ops[o]["events"]], "note": words.size(ops[o]["bytes"])
             + " sent" if ops[o]["bytes"] else "", **({"second": cost.get(o) or [0]} if second else {})} for o in order]
    return {"kind": "bars", "format": "count", "series": ["calls"], "scale": "log", "rows": rows,
            **({"second": second} if second else {"note": "What the calls cost is not known: it takes a replay "
                                                  "with `--profile`, or a trace with `--times`."}),
            "marks": marks.ranks(d) + ([f"Partial: calls that are not traced: {', '.join(sorted(d.info()['untraced']))}."]
                                       if d.info().get("untraced") else [])}


def costs(d):
    """The seconds that ranks spend in each operation, and how they are drawn; ({}, None) if nothing tells."""
    result = d.best("profile")
    if result:
        profile = result["profile"]
        kinds = ["communicating", "waiting"]
        whole = sum(r[k + "_s"] for r in profile["ranks"] for k in ["computing", *kinds])
        return ({o["operation"]: [float(f"{o[k + '_s']:.6g}") for k in kinds] for o in profile["operations"]},
                {"format": "s", "series": kinds, "whole": whole, "name": "simulated time in them",
                 "whole_name": "the time of all ranks together"})
    info = d.info("--imbalance")
    calls, bursts = info["measures"].get("call_ns"), info["measures"].get("burst_ns")
    if not calls or not bursts:  # the trace has no durations
        return {}, None
    out, ranks = {}, d.info()["ranks"]
    for place in calls["positions"]:
        out[place["call"]] = [out.get(place["call"], [0])[0] + 1e-9 * ranks * place["mean"]]
    return out, {"format": "s", "series": ["measured time"], "name": "measured time in them",
                 "whole": 1e-9 * ranks * (calls["all"]["mean"] + bursts["all"]["mean"]),
                 "whole_name": "the time of all ranks together, as traced"}


def traffic(d):
    t = d.read("traffic")
    if not len(t.source):
        raise Empty("No rank sends a message to another.")
    group, cells = -(-t.ranks // SIDE), {}
    for source, target, *values in zip(*(column.tolist() for column in (
            t.source, t.target, t.bytes, t.one_sided_bytes, t.messages, t.one_sided))):
        cell = cells.setdefault((source // group, target // group), [0, 0])
        cell[0] += values[0] + values[1]
        cell[1] += values[2] + values[3]
    unsound = t.coverage.unsound
    return matrix(cells, t.ranks, group, "sender", "receiver", "bytes", "messages") | {
        "marks": marks.ranks(d) + ([f"Partial: {unsound:,} events make no sense; traffic may be missing."]
                                   if unsound else [])}


def matrix(cells, np, group, rows, columns, fmt, counts=None):
    """A sparse matrix: sorted cell numbers, and values; dense ones as 16-bit logarithms."""
    side = -(-np // group)
    order = sorted(cells)
    out = {"kind": "matrix", "n": side, "np": np, "group": group, "rows": rows, "columns": columns,
           "format": fmt}
    note = f"{group} ranks share a row." if group > 1 else ""
    if len(order) <= CELLS:
        last, index = 0, []
        for row, col in order:
            index.append(row * side + col - last)
            last = row * side + col
        out |= {"index": index, "values": [cells[k][0] for k in order]}
        if counts:
            out |= {"counts": [cells[k][1] for k in order], "counted": counts}
    else:
        most = max(v[0] for v in cells.values()) or 1
        dense = [0] * (side * side)
        for (row, col), value in cells.items():
            dense[row * side + col] = 1 + round(65534 * math.log1p(value[0]) / math.log1p(most)) \
                if value[0] else 0
        out |= {"dense": base64.b64encode(struct.pack(f"<{len(dense)}H", *dense)).decode(), "most": most}
        note += " Values are rounded to 0.1 %."
    return out | {"note": note.strip()}


def sizes(d):
    h = d.read("histogram")
    series = [classes(h, "messages", h.messages, h.message_bytes),
              classes(h, "collectives, a rank's share", h.collectives, h.collective_bytes),
              classes(h, "one-sided", h.one_sided, h.one_sided_bytes)]
    series = [s for s in series if s]
    if not series:
        raise Empty("No rank sends anything.")
    return {"kind": "columns", "unit": "bytes", "series": series, "marks": marks.ranks(d)}


def bursts(d):
    h = d.read("histogram")
    one = classes(h, "bursts", h.bursts, h.volumes)
    if not one:
        raise Empty("The trace has no bursts.")
    return {"kind": "columns", "unit": "count", "series": [one], "xlabel": h.unit,
            "marks": marks.ranks(d) + marks.volumes(d)}


def classes(h, name, count, total):
    """The classes of a histogram from the first to the last that has values; None if none has."""
    used = count.nonzero()[0].tolist()
    if not used:
        return None
    part = slice(used[0], used[-1] + 1)
    return {"name": name, "from": h.first[part].tolist(), "number": count[part].tolist(),
            "sum": total[part].tolist()}


def phases(d):
    info = d.info("--phases")
    shapes = sorted(info["shapes"], key=lambda s: -number(s["volume"]))
    if not shapes:
        raise Empty("No rank can be shown as loops: its calls do not repeat.")
    whole = sum(number(s["volume"]) for s in shapes) or 1
    out, rest = [], sum(number(s["volume"]) for s in shapes[GROUPS:])
    for shape in shapes[:GROUPS]:
        rows = flatten(shape)
        out.append({"label": f"{words.ranks(shape['ranks'], 2)}: {words.percent(number(shape['volume']) / whole)}",
                    "volume": shape["volume"], "rows": rows, "folds": folds(rows)})
    left, note = len(shapes) - GROUPS, ""
    if left > 0:
        note = (f"{left} further group{'s' * (left > 1)} of ranks hold{'s' * (left == 1)} {words.percent(rest / whole)} "
                "of the volume.")
    lacking = not any(r[6] and ":" in r[6] for s in out for r in s["rows"])
    marked = marks.ranks(d) + marks.volumes(d)
    if lacking:
        marked.append("Partial: no source line is known; compile with `-g`, or give `--debug-dir`.")
    return {"kind": "nest", "unit": info.get("volume_unit"), "shapes": out, "note": note, "marks": marked}


GROUPS = 6  # groups of ranks that are shown
LINES = 250  # rows of a nest of loops; the rest is summed up in one row
SEEN = 20  # rows that are seen at first: those with the largest shares
LEAST = 0.002  # of the volume: a smaller share is folded in any case


def flatten(shape):
    """Rows of a nest: depth, loop or call, text, share, volume, events, source line."""
    whole, rows = number(shape["volume"]) or 1, []

    def walk(body, depth):
        for item in body:
            volume = number(item["volume"])
            if "body" in item:
                trips = item["trips"]
                text = trips["minimum"] if trips["minimum"] == trips["maximum"] else \
                    f"{trips['minimum']:,} to {trips['maximum']:,}"
                text = f"loop {text:,} times" if isinstance(text, int) else f"loop {text} times"
                rows.append([depth, 1, text, volume / whole, item["volume"], item["events"],
                             item.get("loop") or ""])
                walk(item["body"], depth + 1)
            else:
                rows.append([depth, 0, call_text(item), volume / whole, item["volume"], item["events"],
                             words.place({**item, "call": ""})])

    walk(shape["body"], 0)
    if len(rows) > LINES:
        hidden = all_but(rows, LINES)
        share = sum(own_shares(rows, hidden))
        rows = [r for i, r in enumerate(rows) if i not in hidden]
        rows.append([0, 0, f"... and {len(hidden):,} more, which hold {words.percent(share)}", None, None, None, ""])
    return rows


def all_but(rows, most):
    """The numbers of all rows but those with the largest shares.  A loop has at least the share of each
    row in it and comes before it, so a row is never kept without its loop."""
    order = sorted(range(len(rows)), key=lambda i: -(1 if rows[i][3] is None else rows[i][3]))
    return set(order[most:])


def own_shares(rows, hidden):
    """The share of each hidden row; 0 for those within a hidden loop, whose share has theirs."""
    out, loops = [], []  # the rows around the present one: (depth, hidden)
    for i, row in enumerate(rows):
        while loops and loops[-1][0] >= row[0]:
            loops.pop()
        out.append(row[3] or 0 if i in hidden and not (loops and loops[-1][1]) else 0)
        loops.append((row[0], i in hidden))
    return out


def folds(rows):
    """Which rows are folded at first: [first row, number, share]."""
    if len(rows) <= SEEN + 4:
        return []
    hidden, out = all_but(rows, SEEN), []
    hidden |= {i for i, row in enumerate(rows) if row[3] is not None and row[3] < LEAST}
    for i, share in enumerate(own_shares(rows, hidden)):
        if i not in hidden:
            continue
        if out and out[-1][0] + out[-1][1] == i:
            out[-1][1] += 1
            out[-1][2] += share
        else:
            out.append([i, 1, share])
    return [fold for fold in out if fold[1] > 1]  # a row takes no more room than what stands for it


def number(value):
    return int(value)  # volumes above 2^63 - 1 are strings of digits


def call_text(item):
    bits = []
    for key in ("peer", "bytes", "root"):
        value = item.get("fields", {}).get(key)
        if isinstance(value, dict) and value.get("minimum") is not None:
            low, high = value["minimum"], value["maximum"]
            sign = "+" if key == "peer" and isinstance(low, int) and low > 0 else ""
            bits.append(f"{key}={sign}{low}" if low == high else f"{key}={low}..{high}")
    return " ".join([item["call"], *bits])


def imbalance(d):
    info = d.info("--imbalance")
    measure = info["measures"].get("volume")
    if not measure or not measure["phases"]:
        raise Empty("No work is recorded that could differ between ranks.")
    found = [p for p in measure["phases"] if p["loss"] > 0]
    labels = words.distinct([(("loop at " if p["loop"] else "") + words.place(p), p) for p in found])
    rows = [{"label": label, "values": [100 * p["loss"]],
             "note": f"rank {p['maximum_rank']} has most: {p['max_to_mean']:.2f} times the mean"}
            for label, p in zip(labels[:15], found)]
    if not rows:
        raise Empty("All ranks have the same volume in each phase.")
    return {"kind": "bars", "format": "pct", "series": ["excess"], "rows": rows, "whole": 100,
            "whole_name": "the work of a rank, on average",
            "note": words.more(len(found) - 15, "phase", "less each")
            + f" Over the whole run, the rank with most work has {words.percent(measure['all']['loss'])} "
            "more than the mean.", "marks": marks.ranks(d) + marks.volumes(d)}


def soundness(d):
    info = d.info("--verify")
    kept, left = info.get("conserved") or {}, info.get("unchecked") or {}
    rows = [["Messages sent and received", words.count(kept.get("messages", 0))],
            ["Bytes sent and received", words.size(kept.get("bytes", 0))],
            ["Collectives that all their ranks called", words.count(kept.get("collectives", 0))],
            ["Leaked requests and messages", words.count(info.get("leaked_count", 0))],
            ["Verdict", "sound" if info.get("verified") else "not sound, or not whole"]]
    marked = [f"Unproven: {left.get('messages', 0):,} messages and {left.get('collectives', 0):,} "
              "collectives could not be checked."] if any(left.values()) else []
    marked += [f"Not sound: {p if isinstance(p, str) else p.get('text') or p.get('problem') or p}"
               for p in info.get("problems", [])[:5]]
    if not info.get("verified") and not marked:
        marked.append("Partial: the trace is not whole.")
    return {"kind": "facts", "rows": rows, "marks": marks.ranks(d) + marked}
