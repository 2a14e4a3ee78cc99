"""Figures of replays, sweeps and timelines.  Each function returns what is drawn, see README.md."""

import heapq
import re

import marks
import words
from figure import Empty
from figures_trace import matrix, SIDE

KINDS = ["computing", "communicating", "waiting"]
GIVE = "No result of a replay was given (--replay FILE)"


def simulated(d):
    done = [(n, r) for n, r in d.replays if r.get("simulated_time_s") is not None]
    if not done:
        raise Empty(GIVE + ", or none succeeded.")
    rows = []
    for name, result in done:
        runs = result.get("runs") if isinstance(result.get("runs"), dict) else {}
        low, high = (runs.get("interval_s") or [None, None])[:2]
        rows.append({"label": result.get("platform") or name, "low": low, "high": high,
                     "values": [result.get("clock_s", result["simulated_time_s"])],
                     "note": ", ".join(filter(None, [name, result.get("placement") and
                                       f"placement {result['placement']}", result.get("engine") and
                                       f"engine {result['engine']}"]))})
    marked = [f"{n}: {m}" if len(d.replays) > 1 else m for n, r in d.replays for m in marks.replay(r)]
    return {"kind": "bars", "format": "s", "series": ["simulated time"], "rows": rows, "marks": marked}


def profile(result):
    found = result.get("profile")
    if not found:
        raise Empty("The result has no profile: run ti-replay with --profile.")
    return found


def time_by_rank(_, result):
    rows = profile(result)["ranks"]
    return {"kind": "ranks", "stacked": True, "x": list(range(len(rows))), "np": len(rows),
            "series": [{"name": k, "format": "s", "values": [rounded(r[k + "_s"]) for r in rows]}
                       for k in KINDS], "marks": marks.replay(result)}


def rounded(value, digits=6):
    return float(f"{value:.{digits}g}")


def time_by_call(_, result):
    sites = profile(result)["sites"]
    whole = sum(s[k + "_s"] for s in sites for k in KINDS) or 1
    order = sorted(sites, key=lambda s: -sum(s[k + "_s"] for k in KINDS))[:15]
    return {"kind": "bars", "format": "s", "series": KINDS, "stacked": True, "marks": marks.replay(result),
            "rows": [{"label": words.place(s), "values": [rounded(s[k + "_s"]) for k in KINDS],
                      "note": f"{s['calls']:,} calls, "
                      f"{words.percent(sum(s[k + '_s'] for k in KINDS) / whole)} of all time"}
                     for s in order]}


def waits(_, result):
    rows = profile(result).get("waits") or []
    np = len(profile(result)["ranks"])
    if not rows:
        raise Empty("No rank waits for another.")
    known = [r for r in rows if r.get("rank") is not None and r.get("for") is not None]
    if not known:
        raise Empty("There are too many kinds of waiting to name ranks: more than a million.")
    group, cells = -(-np // SIDE), {}
    for row in known:
        cell = cells.setdefault((row["rank"] // group, row["for"] // group), [0, 0])
        cell[0] += row["seconds"]
    for cell in cells.values():
        cell[0] = rounded(cell[0])
    return matrix(cells, np, group, "rank that waits", "rank that it waits for", "s") | {
        "marks": marks.replay(result)}


def why_wait(_, result):
    rows = profile(result).get("waits") or []
    if not rows:
        raise Empty("No rank waits for another.")
    kinds = {}
    for row in rows:
        key = (words.place(row), row.get("doing"), row.get("doing_operation") or "")
        kinds.setdefault(key, []).append(row)
    order = sorted(kinds.items(), key=lambda k: -sum(r["seconds"] for r in k[1]))[:10]
    out = []
    for (where, doing, call), found in order:
        waiting = {r["rank"] for r in found if r.get("rank") is not None}
        others = {r["for"] for r in found if r.get("for") is not None}
        out.append({"label": where, "values": [rounded(sum(r["seconds"] for r in found))],
                    "note": f"{amount(waiting)} wait for {amount(others)}, {'which' if len(others) != 1 else 'that'} "
                    f"{'are' if len(others) != 1 else 'is'} {doing}" + (f" (next: {call})" if doing == "computing" and call
                                                                      else f" in {call}" if call else "")})
    return {"kind": "bars", "format": "s", "series": ["waiting"], "rows": out, "marks": marks.replay(result)}


def amount(some):
    return words.ranks(words.grouped(sorted(some)), 2) if some else "ranks"


PARTS = [("computing_s", "computing"), ("latency_s", "latency"), ("bandwidth_s", "bandwidth"),
         ("contention_s", "contention"), ("overhead_s", "MPI overhead"),
         ("start_s", "before the job starts")]


def causes(result):
    found = result.get("causes")
    if not found:
        raise Empty("The result has no causes: run ti-replay with --causes.")
    return found


def critical(_, result):
    path = causes(result)["path"]
    whole = causes(result)["time_s"] or 1
    rows = [{"label": name, "values": [rounded(path[key])], "note": words.percent(path[key] / whole)}
            for key, name in PARTS if path.get(key)]
    share = path.get("collective_s", 0) / whole
    return {"kind": "bars", "format": "s", "series": ["on the critical path"], "rows": rows,
            "note": f"The path ends on rank {causes(result)['last_rank']}.",
            "marks": marks.replay(result) + ([f"Estimated: latency and bandwidth of collectives, "
                                              f"{words.percent(share)} of the time."] if share else [])}


def helps(_, result):
    items = causes(result)["helps"]
    if not items:
        raise Empty("Nothing would make the program faster.")
    return {"kind": "bars", "format": "pct", "series": ["gain at most"],
            "rows": [{"label": help_words(h), "values": [rounded(100 * h["at_most"])],
                      "note": f"{words.seconds(h['at_most_s'])} of "
                      f"{words.seconds(causes(result)['time_s'])}"
                      + (f", {words.ranks(h['ranks'], 2)}" if h.get("ranks") else "")} for h in items],
            "marks": ["Bounded: each gain is the most that there can be; another path may become critical."]
            + marks.replay(result)}


WHOLE = {"no computing": "infinitely fast processors", "balance": "the same work on each rank",
         "no latency": "a network without latency", "no bandwidth": "a network of infinite bandwidth",
         "no contention": "no contention on links", "no overhead": "no overhead of MPI"}


def help_words(item):
    """A proposal in words, as ti-replay prints it."""
    if item.get("operation"):
        kind = "no work before" if item["what"] == "no computing" else item["what"] + " in"
        return f"{kind} {words.place(item)}"
    return WHOLE.get(item["what"], item["what"])


def link_table(result):
    found = result.get("links")
    if not found:
        raise Empty("The result has no links: run ti-replay with --links.")
    return found


def links(_, result):
    order = sorted(link_table(result), key=lambda l: -l["use"])
    busy = [l for l in order if l["use"] > 0][:15]
    if not busy:
        raise Empty("No link carries a message.")
    return {"kind": "bars", "format": "pct", "series": ["use"], "marks": marks.replay(result),
            "rows": [{"label": l["link"], "values": [rounded(100 * l["use"])],
                      "note": f"{words.size(l['bytes'])} in {l['messages']:,} messages"
                      + ("" if l["shared"] else ", not shared")} for l in busy],
            "note": f"{len(order):,} links; the busiest {len(busy)} are shown."}


def against(_, result):
    found = result.get("against")
    if not found:
        raise Empty("No real time to compare with: run ti-replay with --against.")
    rows = [{"label": "real", "values": [found["real_s"]], "low": (found.get("least") or {}).get("real_s"),
             "high": None, "note": f"median of {len(found['runs'])} runs"},
            {"label": "simulated", "values": [found["simulated_s"]], "note": f"{found['error_pct']:+.1f} %"}]
    return {"kind": "bars", "format": "s", "series": ["time"], "rows": rows,
            "marks": [] if found.get("spread_s") is not None else
            ["Unproven: one real run only; its spread is not known."]}


def tolerance(d):
    rows = [(n, t, s) for n, r in d.replays for t in r.get("tolerance", []) for s in t["slower"]]
    if not rows:
        raise Empty("No result has a tolerance: run ti-replay with --tolerance.")
    return {"kind": "table", "columns": ["option", "value", "slower by", "bears", "change", "note"],
            "rows": [[t["option"], brief(t["value"]), f"{s['slower_pct']:g} %", brief(s.get("value") or "not found"),
                      f"{s['change_pct']:+.3g} %" if s.get("value") else "", s.get("reason")
                      or ("a jump" if s.get("jump") else "")] for _, t, s in rows],
            "marks": [f"Unproven: {t['option']} for {s['slower_pct']:g} %: {s['reason']}." for _, t, s in rows
                      if s.get("reason")]}


QUANTITY = re.compile(r"^([0-9.]+(?:e[-+]?[0-9]+)?)([a-zA-Z]*)$")


def brief(value):
    """A quantity with four digits: 1.013e-06s as 1.013 µs."""
    found = QUANTITY.match(value)
    if not found:
        return value
    number, unit = float(found[1]), found[2]
    return words.seconds(number, 4) if unit == "s" else f"{number:.4g} {unit}".strip()


def sweep(_, study):
    axes = [a for a in study["sweep"] if len(a["values"]) > 1] or study["sweep"]
    x, rest = axes[0], axes[1:]
    series, failed = {}, 0
    for point in study["points"]:
        time = (point.get("result") or {}).get("clock_s")
        if point.get("status") or time is None:
            failed += 1
            continue
        name = ", ".join(f"{a['option']} {value_of(a, point)}" for a in rest)
        series.setdefault(name, {}).setdefault(value_of(x, point), []).append(time)
    if not series:
        raise Empty("No point of the sweep succeeded.")
    labels = list(dict.fromkeys(base(x["option"], v) for v in x["values"]))
    out = []
    for name, found in series.items():
        cells = [sorted(found.get(v, [])) for v in labels]
        out.append({"name": name or "simulated time",
                    "values": [c[len(c) // 2] if c else None for c in cells],
                    "low": [c[0] if c else None for c in cells],
                    "high": [c[-1] if c else None for c in cells]})
    marked = [f"Partial: {failed} of {len(study['points'])} points failed."] if failed else []
    return {"kind": "curves", "x": labels, "xlabel": x["option"], "series": out[:24],
            "format": "s", "marks": marked + marks.replay({**study.get("common", {}), "against": True})
            + ["Unproven: not compared with a real run (--against)."],
            "note": f"{len(out) - 24} further curves are not shown." if len(out) > 24 else ""}


def value_of(axis, point):
    return base(axis["option"], point["settings"].get(axis["option"], "?"))


def base(option, value):
    """A value without its seed: random placements that differ in the seed only are one value."""
    return "random" if option == "placement" and value.startswith("random:") else \
        "any seed" if option == "seed" else value


# --- the timeline ---

PIECES = 60000  # pieces of a timeline in the page
ROWS = 256  # ranks of a timeline; of more ranks, this many, evenly spread
STATES = {"compute": 0, "computing": 0, "burst": 0}


def timeline(d):
    if not d.timeline:
        raise Empty("No timeline was given (--timeline FILE.csv, of ti-replay --timeline).")
    np = d.info()["np"]
    return build_timeline(d.events(-(-np // ROWS)), np)


def build_timeline(rows, np=0):
    """Pieces of each rank: computing, communicating, waiting.  Short neighbours are one piece, whose
    kind is the one with most time, until few enough are left."""
    ranks, names, end = {}, ["computing"], 0.0
    joined = False
    for rank, start, stop, state, waiting in rows:
        if stop < start:
            raise Empty(f"The timeline is damaged: rank {rank} goes backwards.")
        pieces, end = ranks.setdefault(rank, []), max(end, stop)
        if len(pieces) > 8 * PIECES // ROWS:  # memory stays bounded, whatever the length
            pieces[:] = thin(pieces, 4 * PIECES // ROWS)
            joined = True
        if state in ("computing", "compute", "burst"):
            add(pieces, start, stop, 0, 0)
            continue
        if state not in names:
            names.append(state)
        call = names.index(state)
        wait = min(max(waiting, 0), stop - start)
        if wait > 0:
            add(pieces, start, start + wait, 2, call)
        add(pieces, start + wait, stop, 1, call)
    if not ranks or not end:
        raise Empty("The timeline has no events.")
    order = sorted(ranks)
    step = -(-len(order) // ROWS)
    order, left = order[::step], max(len(order), np)
    most = max(PIECES // len(order), 50)
    whole = sum(len(ranks[r]) for r in order)
    out = [pack(thin(ranks[r], most), end) for r in order]
    note = []
    if len(order) < left:
        note.append(f"{len(order)} of {left:,} ranks are shown.")
    kept = sum(len(o) // 3 for o in out)
    if joined or kept < whole:
        note.append("Short neighbours are drawn as one piece, of the kind that takes most of its time.")
    return {"kind": "timeline", "ranks": order, "end": end, "names": names, "pieces": out,
            "note": " ".join(note)}


def add(pieces, start, stop, kind, call):
    if stop > start:
        pieces.append((start, stop, kind, call))


def thin(pieces, most):
    """At most `most` pieces: all that are longer than a width; the others in cells of that width."""
    if len(pieces) <= most:
        return pieces
    long = set(heapq.nlargest(most // 2, range(len(pieces)), key=lambda i: pieces[i][1] - pieces[i][0]))
    out, begin, end = [], pieces[0][0], pieces[-1][1]
    width, cell = (end - begin) / (most // 4), []

    def close():
        if cell:
            time = {}
            for start, stop, kind, call in cell:
                time[kind, call] = time.get((kind, call), 0) + stop - start
            kind, call = max(time, key=time.get)
            out.append((cell[0][0], cell[-1][1], kind, call))
            cell.clear()

    for i, piece in enumerate(pieces):
        if i in long:
            close()
            out.append(piece)
        else:
            if cell and (piece[1] - cell[0][0] > width or piece[0] > cell[-1][1]):
                close()
            cell.append(piece)
    close()
    return out


TICKS = 1 << 24


def pack(pieces, end):
    """Numbers of a rank: gap before, length, kind + 4 * call; times in 2^-24 of the whole."""
    out, last = [], 0
    for start, stop, kind, call in pieces:
        a, b = round(start / end * TICKS), round(stop / end * TICKS)
        if b > a:
            out += [a - last, b - a, kind + 4 * call]
            last = b
    return out
