"""The first lines of the report: how long, where the time goes, what would help; and key facts."""

import words
from figures_replay import KINDS, help_words
from figures_trace import folding


def best(d, part=None):
    """The first replay that succeeded and has a part."""
    for _, result in d.replays:
        if result.get("simulated_time_s") is not None and (part is None or result.get(part)):
            return result
    return None


def sentences(d):
    out = []
    for sentence in (how_long, where, what_helps):
        try:
            out.append(sentence(d))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as why:
            out.append(f"This is not known: an input is not as expected ({type(why).__name__}: {why}).")
    return out


def how_long(d):
    info, result = d.info(), best(d)
    name = info.get("application") or "The program"
    if result:
        time = words.seconds(result.get("clock_s", result["simulated_time_s"]))
        return (f"{name} on {info['np']:,} ranks would take {time}, as simulated, on "
                f"{result.get('platform', 'the platform')}.")
    for _, failed in d.replays:
        if failed.get("error"):
            return f"How long {name} would take is not known: the replay failed ({failed['error']})."
    step = {s["name"]: s["seconds"] for s in d.run().get("steps", [])}.get("application")
    traced = f" Tracing it took {words.seconds(step)} here, which says nothing of another machine." \
        if step else ""
    return f"How long {name} would take is not known: no result of a replay was given.{traced}"


def where(d):
    result = best(d, "profile")
    if not result:
        return on_path(d) or busiest(d)
    profile = result["profile"]
    time = {k: sum(r[k + "_s"] for r in profile["ranks"]) for k in KINDS}
    whole = sum(time.values()) or 1
    sites = [s for s in profile["sites"] if s["communicating_s"] + s["waiting_s"] > 0]
    text = ", ".join(f"{words.percent(time[k] / whole)} {k}" for k in KINDS)
    text = f"Over all ranks, the time goes into: {text}."
    if sites:
        top = max(sites, key=lambda s: s["communicating_s"] + s["waiting_s"])
        share = (top["communicating_s"] + top["waiting_s"]) / whole
        text += f" The call that costs most is {words.place(top)} ({words.percent(share)})."
    return text


def on_path(d):
    """Without a profile: what the critical path consists of."""
    result = best(d, "causes")
    if not result or not result["causes"].get("path"):
        return None
    path = {k.removesuffix("_s"): v for k, v in result["causes"]["path"].items()}
    whole = sum(path.values()) or 1
    parts = sorted(((v / whole, k) for k, v in path.items() if v >= 0.01 * whole), reverse=True)
    return ("On the critical path, which decides the time: "
            + ", ".join(f"{words.percent(share)} {'collectives' if kind == 'collective' else kind}" for share, kind in parts) + ".")


def busiest(d):
    """Without a profile: where the work is."""
    phases = d.info("--imbalance")["measures"].get("volume", {}).get("phases", [])
    whole = d.info("--imbalance")["measures"].get("volume", {}).get("all", {}).get("mean")
    if not phases or not whole:
        return "Where the time goes is not known: it takes a replay with --profile."
    top = max(phases, key=lambda p: p["mean"])
    share = words.percent(top["mean"] / whole)
    return ("Where the time goes is not known: it takes a replay with --profile; "
            f"{share} of the work is in {'the loop at ' if top['loop'] else ''}{words.place(top)}.")


def what_helps(d):
    result = best(d, "causes")
    if not result or not result["causes"].get("helps"):
        loss = d.info("--imbalance")["measures"].get("volume", {}).get("all", {}).get("loss")
        text = "What would help is not known: it takes a replay with --causes."
        return text if not loss else text + (f" The rank with most work has {words.percent(loss)} more than "
                                             "the mean.")
    items = result["causes"]["helps"][:2]
    parts = [f"{help_words(i)} (at most {words.percent(i['at_most'])} less time)" for i in items]
    return (f"{parts[0][0].upper()}{parts[0][1:]}; then {parts[1]}: the two may be the same time."
            if parts[1:] else f"{parts[0][0].upper()}{parts[0][1:]}.")


def facts(d):
    """Tiles: a value, its name, and a note."""
    info, plan = d.info(), d.run().get("plan", {})
    out = [[words.count(info["np"]), "ranks",
            f"on {plan['cores']:,} cores: {folding(plan)}" if "cores" in plan else
            f"on {len(info.get('nodes', []))} nodes"],
           [short(info["volume"]), info.get("unit") or "volume", "in all bursts"],
           [words.size(info["message_bytes"]), "in messages", f"{info['messages']:,} of them"]]
    try:
        return out + of_replay(best(d, "profile"), info)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return out


def of_replay(result, info):
    out = []
    if not result:
        ops = info["operations"]
        if ops:
            name = max(ops, key=lambda o: ops[o]["events"])
            out.append([name, "most frequent call", f"{ops[name]['events']:,} times"])
        return out
    profile = result["profile"]
    calls = [(o["communicating_s"] + o["waiting_s"], o["operation"]) for o in profile["operations"]]
    whole = sum(r[k + "_s"] for r in profile["ranks"] for k in KINDS) or 1
    if calls and max(calls)[0] > 0:
        out.append([max(calls)[1], "costliest operation", f"{words.percent(max(calls)[0] / whole)} of all time"])
    return out + waiting(profile)


def waiting(profile):
    ranks = profile["ranks"]
    rank = max(range(len(ranks)), key=lambda r: ranks[r]["waiting_s"])
    if not ranks[rank]["waiting_s"]:
        return []
    whole = sum(ranks[rank][k + "_s"] for k in KINDS)
    partners = {}
    for row in profile.get("waits") or []:
        if row.get("rank") == rank and row.get("for") is not None:
            partners[row["for"]] = partners.get(row["for"], 0) + row["seconds"]
    note = f"{words.percent(ranks[rank]['waiting_s'] / whole)} of its time"
    if partners:
        note += f", mostly for rank {max(partners, key=partners.get)}"
    return [[f"rank {rank}", "waits longest", note]]


def short(value):
    value = int(value)
    for power, name in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10 ** power:
            return f"{value / 10 ** power:.3g} {name}"
    return str(value)
