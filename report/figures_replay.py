"""Figures of replays, sweeps and timelines.  Each function returns what is drawn, see README.md."""

import heapq

import marks
import words
from figure import Empty
from figures_trace import matrix, SIDE
from machine import in_words, machine_of, quantity

KINDS = ["computing", "communicating", "waiting"]
GIVE = "No result of a replay was given (`--replay FILE`)"


def simulated(d):
    done = [(n, r) for n, r in d.replays if r.get("simulated_time_s") is not None]
    if not done:
        raise Empty(GIVE + ", or none succeeded.")
    rows = []
    for name, result in done:
        runs = result.get("runs") if isinstance(result.get("runs"), dict) else {}
        low, high = (runs.get("interval_s") or [None, None])[:2]
        machine, options = in_words(result)
        rows.append({"label": machine, "low": low, "high": high,
                     "values": [result.get("clock_s", result["simulated_time_s"])],
                     "note": ", ".join(filter(None, [options and f"`{options}`", name, result.get("placement") and
                                       f"placement {result['placement']}", result.get("engine") and
                                       f"engine {result['engine']}"]))})
    return {"kind": "bars", "format": "s", "series": ["simulated time"], "rows": rows, "marks": marks.replays(d)}


def profile(result):
    found = result.get("profile")
    if not found:
        raise Empty("The result has no profile: run `ti-replay` with `--profile`.")
    return found


def time_by_rank(_, result):
    rows = profile(result)["ranks"]
    return {"kind": "ranks", "stacked": True, "x": list(range(len(rows))), "np": len(rows),
            "series": [{"name": k, "format": "s", "values": [rounded(r[k + "_s"]) for r in rows]}
                       for k in KINDS]}


def rounded(value, digits=6):
    return float(f"{value:.{digits}g}")


def by_place(sites):
    """The call sites of a profile; those of one call on one source line are one."""
    found = {}
    for site in sites:
        one = found.setdefault(words.place(site), {"place": words.place(site), "sites": 0, "calls": 0, **dict.fromkeys(
            [k + "_s" for k in KINDS], 0)})
        one["sites"] += 1
        for key in ("calls", *(k + "_s" for k in KINDS)):
            one[key] += site[key]
    return list(found.values())


def time_by_call(_, result):
    sites = by_place(profile(result)["sites"])
    spent = lambda s: sum(s[k + "_s"] for k in KINDS)  # noqa: E731
    whole = sum(map(spent, sites))
    order = sorted((s for s in sites if spent(s)), key=lambda s: -spent(s))
    if not order:
        raise Empty("No call takes time.")
    rest = sum(map(spent, order[CALLS:]))
    return {"kind": "bars", "format": "s", "series": KINDS, "whole": rounded(whole),
            "whole_name": "the time of all ranks together",
            "rows": [{"label": s["place"], "values": [rounded(s[k + "_s"]) for k in KINDS],
                      "note": f"{words.percent(spent(s) / whole)} of all time; {s['calls']:,} calls"
                      + (f" at {s['sites']} places of this line" if s["sites"] > 1 else "")}
                     for s in order[:CALLS]],
            "note": words.more(len(order) - CALLS, "call", words.percent(rest / whole) + " of all time")}


CALLS = 12  # rows of figures by call


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
    return matrix(cells, np, group, "rank that waits", "rank that it waits for", "s")


def why_wait(_, result):
    rows = profile(result).get("waits") or []
    if not rows:
        raise Empty("No rank waits for another.")
    kinds = {}
    for row in rows:
        key = (words.place(row), row.get("doing"), row.get("doing_operation") or "")
        kinds.setdefault(key, []).append(row)
    time = lambda found: sum(r["seconds"] for r in found)  # noqa: E731
    order = sorted(kinds.items(), key=lambda k: -time(k[1]))
    whole, rest = time(rows), sum(time(found) for _, found in order[WAITS:])
    out = []
    for (where, doing, call), found in order[:WAITS]:
        waiting = {r["rank"] for r in found if r.get("rank") is not None}
        others = {r["for"] for r in found if r.get("for") is not None}
        out.append({"label": f"{where}, while the other is {doing}" + (
                        f" before {call}" if doing == "computing" and call else f" in {call}" if call else ""),
                    "values": [rounded(time(found))],
                    "note": f"{words.percent(time(found) / whole)} of all waiting; {amount(waiting)} wait for "
                    f"{amount(others)}"})
    return {"kind": "bars", "format": "s", "series": ["waiting"], "rows": out, "whole": rounded(whole),
            "whole_name": "all waiting together",
            "note": words.more(len(order) - WAITS, "kind", words.percent(rest / whole) + " of all waiting")}


WAITS = 8  # rows of the kinds of waiting


def amount(some):
    return words.ranks(words.grouped(sorted(some)), 2) if some else "ranks"


PARTS = [("computing_s", "computing"), ("latency_s", "latency"), ("bandwidth_s", "bandwidth"),
         ("contention_s", "contention"), ("overhead_s", "MPI overhead"),
         ("start_s", "before the job starts")]


def causes(result):
    found = result.get("causes")
    if not found:
        raise Empty("The result has no causes: run `ti-replay` with `--causes`.")
    return found


def critical(_, result):
    path = causes(result)["path"]
    whole = causes(result)["time_s"] or 1
    rows = [{"label": name, "values": [rounded(path[key])], "note": words.percent(path[key] / whole)}
            for key, name in PARTS if path.get(key)]
    share = path.get("collective_s", 0) / whole
    return {"kind": "bars", "format": "s", "series": ["on the critical path"], "rows": rows,
            "whole": rounded(whole), "whole_name": "the simulated time",
            "note": f"The path ends on rank {causes(result)['last_rank']}.",
            "marks": ([f"Estimated: latency and bandwidth of collectives, "
                                              f"{words.percent(share)} of the time."] if share else [])}


def helps(_, result):
    items = causes(result)["helps"]
    if not items:
        raise Empty("Nothing would make the program faster.")
    labels = words.distinct([(help_words(h), h) for h in items])
    return {"kind": "bars", "format": "pct", "series": ["gain at most"], "whole": 100, "whole_name": "the simulated time",
            "rows": [{"label": label, "values": [rounded(100 * h["at_most"])],
                      "note": f"{words.seconds(h['at_most_s'])} of "
                      f"{words.seconds(causes(result)['time_s'])}"
                      + (f", {words.ranks(h['ranks'], 2)}" if h.get("ranks") else "")}
                     for label, h in zip(labels, items)], "marks": [AT_MOST]}


AT_MOST = "Bounded: each gain is the most that there can be; another path may become critical."


FASTER = [("latency", "latency_s", 1, "half the latency"), ("speed", "speed_s", -1, "processors twice as fast"),
          ("bandwidth", "bandwidth_s", -1, "twice the bandwidth")]


def faster(result):
    """What half the latency, twice the speed and twice the bandwidth save at most: (words, seconds).
    The path changes by so many seconds if all of the value is gone; half of it takes half of them."""
    found = causes(result).get("sensitivities") or {}
    return sorted(((name, sign * found[key] / 2) for _, key, sign, name in FASTER if found.get(key)),
                  key=lambda row: -row[1])


def upgrades(_, result):
    time, rows = causes(result)["time_s"] or 1, faster(result)
    if not rows:
        raise Empty("The result does not say what its time depends on (`sensitivities`).")
    return {"kind": "bars", "format": "pct", "series": ["gain at most"], "whole": 100, "whole_name": "the simulated time",
            "rows": [{"label": name, "values": [rounded(100 * seconds / time)],
                      "note": f"{words.seconds(time)} would become {words.seconds(time - seconds)} at best"}
                     for name, seconds in rows], "marks": [AT_MOST]}


WHOLE = {"no computing": "infinitely fast processors", "balance": "the same work on each rank",
         "no latency": "a network without latency",
         "unlimited bandwidth": "a network of unlimited bandwidth, so without contention",
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
        raise Empty("The result has no links: run `ti-replay` with `--links`.")
    return found


def links(_, result):
    table, made = link_table(result), machine_of(result)
    told = {l["link"]: made and made.link(l["link"]) for l in table}
    alike = {}  # links of one kind with the same load are one row
    for link in sorted(table, key=lambda l: -l["use"]):
        if link["use"] > 0:
            kind = told[link["link"]] and told[link["link"]][1]
            alike.setdefault((kind, f"{link['use']:.3g}") if kind else link["link"], []).append(link)
    if not alike:
        raise Empty("No link carries a message.")
    rows = []
    for found in list(alike.values())[:LINKS]:
        one, name = found[0], told[found[0]["link"]]
        label = name[0] if name else one["link"]
        rest = f"{len(found) - 1} more from {name[1]} are like it; " if len(found) > 1 else ""
        rows.append({"label": label, "values": [rounded(100 * one["use"])],
                     "note": f"{rest}{words.size(one['bytes'])} in {one['messages']:,} messages"
                     + ("" if one["shared"] else ", not shared") + (f"; `{one['link']}`" if name else "")})
    left = len(table) - sum(map(len, list(alike.values())[:LINKS]))
    kinds = by_kind(table, told)
    return {"kind": "bars", "format": "pct", "series": ["use"], "rows": rows,
            "note": f"{len(table):,} links" + (f": {'; '.join(kinds)}." if kinds else ".")
            + (f" {left:,} of them are less busy than those above." if left else "")}


LINKS = 10  # rows of links


def by_kind(table, told):
    """The mean use of each kind of links."""
    kinds = {}
    for link in table:
        if told[link["link"]]:
            kinds.setdefault(told[link["link"]][1], []).append(link["use"])
    return [f"{len(uses):,} from {kind}, in use for {words.percent(sum(uses) / len(uses))} on average"
            for kind, uses in kinds.items()]


def against(_, result):
    found = result.get("against")
    if not found:
        raise Empty("No real time to compare with: run `ti-replay` with `--against`.")
    rows = [{"label": "real", "values": [found["real_s"]], "low": (found.get("least") or {}).get("real_s"),
             "high": None, "note": f"median of {len(found['runs'])} runs"},
            {"label": "simulated", "values": [found["simulated_s"]], "note": f"{found['error_pct']:+.1f} %"}]
    return {"kind": "bars", "format": "s", "series": ["time"], "rows": rows,
            "marks": [] if found.get("spread_s") is not None else
            ["Unproven: one real run only; its spread is not known."]}


def tolerance(d):
    rows = [(n, t, s) for n, r in d.replays for t in r.get("tolerance", []) for s in t["slower"]]
    if not rows:
        raise Empty("No result has a tolerance: run `ti-replay` with `--tolerance`.")
    return {"kind": "table", "columns": ["option", "value", "slower by", "bears", "change", "note"],
            "rows": [[t["option"], quantity(t["value"]), f"{s['slower_pct']:g} %", quantity(s.get("value") or "not found"),
                      f"{s['change_pct']:+.3g} %" if s.get("value") else "", s.get("reason")
                      or ("a jump" if s.get("jump") else "")] for _, t, s in rows],
            "marks": [f"Unproven: {t['option']} for {s['slower_pct']:g} %: {s['reason']}." for _, t, s in rows
                      if s.get("reason")]}


def sweep(_, study):
    axes = [a for a in study["sweep"] if len(a["values"]) > 1] or study["sweep"]
    x, rest = axes[0], axes[1:]
    series, failed = {}, 0
    for point in study["points"]:
        time = (point.get("result") or {}).get("clock_s")
        if point.get("status") or time is None:
            failed += 1
            continue
        name = ", ".join(f"{a['option']} {quantity(value_of(a, point))}" for a in rest)
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
    return {"kind": "curves", "x": labels, "names": [quantity(v) for v in labels], "xlabel": x["option"], "series": out[:24],
            "format": "s", "marks": marked + marks.replay({**study.get("common", {}), "against": True})
            + ["Unproven: not compared with a real run (`--against`)."],
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
        raise Empty("No timeline was given (`--timeline FILE.csv`, of `ti-replay --timeline`).")
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
