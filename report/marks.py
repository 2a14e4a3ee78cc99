"""The red lines: where data is partial, estimated, bounded or unproven."""

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
        out.append(f"Estimated: volumes are {info.get('event') or 'an estimate'}, not counted.")
    elif info.get("exact") is None:
        out.append("Unproven: the volumes of bursts may not be exact.")
    elif not info.get("exact"):
        out.append("Unproven: the counter does not count exactly.")
    out += [f"Doubt: {text}." if not text.endswith(".") else f"Doubt: {text}"
            for text in info.get("caveats", [])]
    missed = info.get("uncounted", {}).get("most_pct", 0)
    if missed > 1:
        out.append(f"Bounded: {info['uncounted']['least_pct']:.0f} to {missed:.0f} % of the work may be "
                   f"in code that is not counted ({info['uncounted']['samples']:,} samples).")
    return out + changed(info) + extrapolated(info)


def changed(info):
    if not info.get("changed"):
        return []
    text = info["changed"]
    return [f"Changed: the trace is not as it was taken: {text if isinstance(text, str) else '; '.join(map(str, text))}."]


def extrapolated(info):
    text = info.get("extrapolated")
    if not text:
        return []
    mark = "Unproven" if "unproven" in text else "Extrapolated"
    return [f"{mark}: no run had these events, the trace was extrapolated {text}."]


def durations(d):
    return [f"Doubt: {text}." for text in d.info().get("rate", {}).get("doubts", [])]


def replay(result):
    """Doubts about a simulated time."""
    out = changed(result) + extrapolated(result)
    if result.get("error"):
        out.append(f"Failed: {result['error']}")
    if result.get("waiting"):
        out.append(f"Partial: the replay stopped; {len(result['waiting']):,} ranks had not ended.")
    for item in result.get("problems", [])[:3]:
        out.append(f"Problem: {item.get('text') or item.get('problem') or item}"
                   if isinstance(item, dict) else f"Problem: {item}")
    if result.get("estimate"):
        out.append("Estimated: the volumes of bursts are an estimate.")
    elif "exact" in result and not result["exact"]:
        out.append("Unproven: the volumes of bursts may not be exact.")
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
    if not result.get("against"):
        out.append("Unproven: not compared with a real run (--against).")
    return out


def count_of(value):
    return words.ranks(value) if isinstance(value, list) else f"{value} ranks"
