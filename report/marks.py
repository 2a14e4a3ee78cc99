"""The red lines: where data is partial, estimated, bounded or unproven.

ranks() and volumes() stand on the figures whose own numbers are concerned.  What holds for all
figures of a section, trace() and replays(), stands once above the section and at the top.
"""

import words


def ranks(d):
    """Ranks that a figure of the trace lacks, wholly or in part."""
    info, out = d.info(), []
    if info.get("missing"):
        one = info["missing"][0][0] == info["missing"][-1][1]
        out.append(f"Partial: of {info['np']:,} ranks, {words.ranks(info['missing'])} "
                   f"{'is' if one else 'are'} missing.")
    bad = info.get("incomplete", [])
    if bad:
        names = words.ranks(words.grouped(sorted(b["rank"] for b in bad)))
        out.append(f"Partial: the traces of {names} end early ({bad[0].get('reason')}).")
    return out


def volumes(d):
    """Doubts about the volumes of bursts."""
    info, out = d.info(), []
    if info.get("mixed"):
        out.append("Useless: ranks were counted by different counters.")
    if info.get("estimate"):
        event = {"CLOCK_THREAD_CPUTIME_ID": "CPU time"}.get(info.get("event"), info.get("event"))
        out.append(f"Estimated: volumes are {event or 'an estimate'}, not counted.")
    elif info.get("exact") is None:
        out.append("Unproven: the volumes of bursts may not be exact.")
    elif not info["exact"] and not made(info):
        out.append("Unproven: volumes are not exact, see the top." if info.get("caveats") else
                   "Unproven: the counter does not count exactly.")
    missed = info.get("uncounted", {}).get("most_pct", 0)
    if missed > 1:
        out.append(f"Bounded: {info['uncounted']['least_pct']:.0f} to {missed:.0f} % of the work may be "
                   f"in code that is not counted ({info['uncounted']['samples']:,} samples).")
    return out


def trace(d):
    """Doubts about the whole trace."""
    known = made(d.info())
    told = [text for text in d.info().get("caveats", []) if not (known and "no run had these events" in text)]
    return made(d.info(), proof(d)) + [f"Doubt: {text.rstrip('.')}." for text in told]


def made(info, numbers=""):
    """Whether the trace is of no run: it was changed, or extrapolated."""
    out, text = [], info.get("extrapolated")
    if info.get("changed"):
        how = info["changed"] if isinstance(info["changed"], str) else "; ".join(map(str, info["changed"]))
        out.append(f"Changed: no run had these events, the trace is not as it was taken: {how}.")
    if text:
        mark = "Unproven" if "unproven" in text else "Extrapolated"
        text = text.replace("proof: from the others,", "proof: made in the same way from the other runs,")
        out.append(f"{mark}: no run had these events, the trace of {info['np']:,} ranks was extrapolated {text}.{numbers}")
    return out


def proof(d):
    """What an extrapolation's proof compared, in numbers; '' if it is not known."""
    found = (d.manifest().get("extrapolated") or {}).get("proof") or {}
    if "equal_ranks" not in found:
        return ""
    return (f" Of the run with {found['np']:,} ranks, {found['equal_ranks']:,} ranks and {found['equal_events']:,} of "
            f"{found['events']:,} events came out equal; its volume is off by {words.percent(found['volume_off'])}.")


def replay(result, d=None):
    """Doubts about all that a replay says; d: of whose trace it may be."""
    same = d and result.get("extrapolated") == d.info().get("extrapolated")
    out = made(result, proof(d) if same else "")
    if result.get("error"):
        out.append(f"Failed: {result['error']}")
    if result.get("waiting"):
        out.append(f"Partial: the replay stopped; {len(result['waiting']):,} ranks had not ended.")
    out += [f"Problem: {problem(item)}" for item in result.get("problems", [])[:3]]
    if result.get("estimate") or "exact" in result and not result["exact"]:
        out += volumes(d) if d else ["Estimated: the volumes of bursts are an estimate." if result.get("estimate") else
                                     "Unproven: the volumes of bursts may not be exact."]
    if result.get("drawn_ranks"):
        out.append(f"Estimated: bursts of {count_of(result['drawn_ranks'])} are drawn from statistics; "
                   f"{result.get('expected_error_reason') or 'the error is not known'}.")
    steady = result.get("steady") or {}
    if steady.get("events_left_out"):
        out.append(f"Estimated: {steady['events_left_out']:,} events were left out as steady; the "
                   f"expected error is {steady.get('expected_error_pct', 0):.3g} % of the time.")
    if result.get("untimed"):
        untimed = result["untimed"]
        if any(untimed.values()) if isinstance(untimed, dict) else untimed:
            out.append("Partial: some calls take no time with this engine.")
    if not result.get("against") and not result.get("error"):
        out.append("Unproven: the simulated time was not compared with a real run (`--against`).")
    return out


def problem(item):
    """A problem of a replay in words."""
    if not isinstance(item, dict):
        return item
    where = ", ".join(filter(None, [f"rank {item['rank']}" if "rank" in item else "", item.get("call")]))
    text = item.get("text") or item.get("problem") or item.get("why") or item
    return f"{where}: {text}" if where else text


def replays(d):
    """Doubts about all replays, each with the results that it concerns if these are not all."""
    found = {}
    told = [(n, r) for n, r in d.replays if r.get("simulated_time_s") is not None or r.get("error")]
    for name, result in told:
        for text in replay(result, d):
            found.setdefault(text, []).append(name)
    return [text if len(names) == len(told) else f"{text} ({', '.join(names)})" for text, names in found.items()]


def comparisons(d):
    """Doubts about comparisons of simulated times."""
    out = ["Unproven: the simulated times that are compared were not compared with real runs."] if d.versus or d.scaling else []
    for name, result in d.versus:
        low, high = (result["versus"].get("differences") or {}).get("interval_s") or (1, 1)
        if low <= 0 <= high:
            out.append(f"Unproven: the difference of simulated times may be noise, its interval has 0 in it ({name}).")
    return out


def count_of(value):
    return words.ranks(value) if isinstance(value, list) else f"{value} ranks"


SECTIONS = {"The trace": trace, "The replay": replays, "Comparisons": comparisons}
