"""Figures of comparisons: ti-replay --versus and --scaling, ti-info --compare.  Each function returns
what is drawn, see README.md."""

import words
from figure import Empty
from machine import in_words

ROWS = 12  # bars
LEAST = 1e-3  # shorter bars are left out: a share of the longest one


def signed(seconds):
    """A difference in words: '+3.6 ms'."""
    return ("+" if seconds > 0 else "-" if seconds < 0 else "") + words.seconds(abs(seconds))


def share(part):
    """A share with its sign: '-34 %'."""
    return ("-" if part < 0 else "") + words.percent(abs(part))


def labelled(part, traces):
    """The name of a loop or call site: that of the first trace that has it, and which have it not."""
    has = [words.place({**part, **s}) if s else None for s in part["sites"]] if "sites" in part else part["loops"]
    lacks = [trace for trace, name in zip(traces, has) if not name]
    return next((n for n in has if n), "?") + (f" (not in {', '.join(lacks)})" if lacks else "")


def calls_of(found, traces, size):
    """Calls and what ranks wait at their end, as (label, part): the largest first.  They add up."""
    parts = [(labelled(s, traces), s) for s in found["sites"]] + [(ENDED, found["ended"])]
    return sorted((p for p in parts if size(p[1])), key=lambda p: -abs(size(p[1])))


def loops_of(found, traces, size):
    """The same for loops, each followed by those in it, which are marked; the others add up."""
    inner = {}
    for part in found["loops"]:
        inner.setdefault(part["in"], []).append((labelled(part, traces), part))
    inner.setdefault(None, []).extend([("outside of loops", found["outside"]), (ENDED, found["ended"])])

    def below(number, depth):
        for label, part in sorted(inner.pop(number, []), key=lambda p: -abs(size(p[1]))):
            if size(part):
                yield "\u21b3 " * depth + label, part
                if part.get("number") is not None and depth < DEPTH:
                    yield from below(part["number"], depth + 1)

    return list(below(None, 0))


ENDED = "from the end of a rank to that of the last"
DEPTH = 64  # of loops, as in traces


def bars_of(parts, size, series, text, note):
    """Bars of parts, to the left or to the right; the note says how large the others are."""
    least = LEAST * max((abs(size(p)) for _, p in parts), default=0)
    parts = [p for p in parts if abs(size(p[1])) >= least]
    rest = max((abs(size(p)) for _, p in parts[ROWS:]), default=0)
    return {"kind": "bars", "format": "s", "series": [series],
            "rows": [{"label": label, "values": [size(part)], "note": text(part)} for label, part in parts[:ROWS]],
            "note": note + (f" {len(parts) - ROWS:,} more are not shown, of up to {words.seconds(rest)} each."
                            if len(parts) > ROWS else "")}


# --- two versions ---

def versus(result, parts_of):
    found = result["versus"]
    traces, (now, before), pct = found["traces"], found["time_s"], found["difference_pct"]
    parts = parts_of(found, traces, lambda p: p["difference_s"])
    if not parts:
        raise Empty(f"{traces[0]} and {traces[1]} take the same time everywhere.")
    machine = in_words({**result, "platform": found["platforms"][0]})[0]
    return bars_of(
        parts, lambda p: p["difference_s"], "difference",
        lambda p: f"{words.seconds(p['time_s'][0])}, against {words.seconds(p['time_s'][1])}"
        + (f"; {share(p['share'])} of the difference" if p["share"] is not None else ""),
        f"{traces[0]} takes {words.seconds(now, 4)}, and {traces[1]} {words.seconds(before, 4)}: "
        f"{signed(found['difference_s'])}" + (f" ({pct:+.1f} %)" if pct is not None else "") + f" on {machine}. "
        f"Positive is longer in {traces[0]}.")


def versus_loops(_, result):
    if not result["versus"]["loops"]:
        raise Empty("No loop takes another time, or a trace has rank files, of which loops are not known.")
    return versus(result, loops_of)


def versus_calls(_, result):
    return versus(result, calls_of)


# --- several sizes ---

def scaling(_, result):
    found = result["scaling"]
    np, time = found["np"], found["time_s"]
    runs = found.get("runs") or [None] * len(np)
    rows = []
    for i, n in enumerate(np):
        low, high = (runs[i] or {}).get("interval_s") or (None, None)
        rows.append([f"{n:,}", words.seconds(time[i], 4)
                     + (f" ({words.seconds(low, 4)} to {words.seconds(high, 4)})" if low is not None else ""),
                     f"{found['speedup'][i]:.2f}", f"{n / np[0]:.2f}", words.percent(found["efficiency"][i]),
                     signed(found["lost_s"][i]) if i else "", found["traces"][i]])
    return {"kind": "table", "columns": ["ranks", "time", "speedup", "ideal", "efficiency", "lost", "trace"],
            "rows": rows,
            "note": f"{found['kind'].capitalize()} scaling: the time of {np[0]:,} ranks would ideally "
            + ("remain." if found["kind"] == "weak" else "fall as ranks are added.")}


def losses(_, result):
    found = result["scaling"]
    np = found["np"]
    parts = (loops_of if found["loops"] else calls_of)(found, found["traces"], lambda p: p["lost_s"][-1])
    if not parts:
        raise Empty("No time is lost.")
    return bars_of(
        parts, lambda p: p["lost_s"][-1], "time lost",
        lambda p: ", ".join(f"{words.percent(e)} with {n:,} ranks" for n, e in zip(np, p["efficiency"])
                            if e is not None and n > np[0]) + " of the ideal speed",
        f"With {np[-1]:,} ranks, {signed(found['lost_s'][-1])} a rank is lost in all. Negative is faster than ideal.")


# --- what two traces do ---

QUANTITIES = ["volume", "messages", "bytes", "calls"]


def changed(part):
    """The four changes with their signs, and the values behind the first of them that is one."""
    return [f"{part[q]['change']:+,}" if part[q]["change"] else "0" for q in QUANTITIES]


def quantities(_, result):
    changes, (now, before) = result["changes"], result["paths"]
    if not changes["all"]:
        raise Empty(f"{now} and {before} are equal.")
    rows = [["all"] + [f"{c['change']:+,} ({100 * c['share']:+.1f} %)" if c["change"] else "0"
                       for c in (changes["all"][q] for q in QUANTITIES)] + [""]]
    loops = changes["loops"]
    for part in loops[:ROWS]:
        name = "outside of loops" if part.get("number") is None else labelled(part, [now, before])
        rows.append([name, *changed(part), f"{100 * part['share']:+.1f} % of {part['largest']}"])
    all_of = changes["all"]["volume"]["values"]
    return {"kind": "table", "columns": ["loop", *QUANTITIES, "largest change"], "rows": rows,
            "note": " ".join(filter(None, [
                f"+ is more in {now} than in {before}; shares are of all in {before}, which has a volume of {all_of[1]:,}.",
                words.more(len(loops) - ROWS, "loop", "smaller changes")])),
            "marks": [] if loops else ["Partial: no loops are known, since a trace has rank files."]}
