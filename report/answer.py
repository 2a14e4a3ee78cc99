"""The first lines of the report: how long, where the time goes, what would help; and key facts."""

import words
from figures_replay import KINDS, by_place, faster, help_words
from figures_trace import folding
from machine import in_words, large


def sentences(d):
    out = []
    for sentence in (how_long, where, what_helps):
        try:
            out.append(sentence(d))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as why:
            out.append(f"This is not known: an input is not as expected ({type(why).__name__}: {why}).")
    return out


def how_long(d):
    info, result = d.info(), d.best()
    name = info.get("application") or "The program"
    if result:
        time = words.seconds(result.get("clock_s", result["simulated_time_s"]))
        machine, options = in_words(result)
        unrun = ", a run that nobody made," if info.get("extrapolated") else ""
        return (f"{name} on {info['np']:,} ranks{unrun} would take {time}, as simulated, on {machine}"
                + (f" (`{options}`)." if options else "."))
    for _, failed in d.replays:
        if failed.get("error"):
            return f"How long {name} would take is not known: the replay failed ({failed['error']})."
    step = {s["name"]: s["seconds"] for s in d.run().get("steps", [])}.get("application")
    traced = f" Tracing it took {words.seconds(step)} here, which says nothing of another machine." \
        if step else ""
    return f"How long {name} would take is not known: no result of a replay was given.{traced}"


def where(d):
    result = d.best("profile")
    if not result:
        return on_path(d) or busiest(d)
    profile = result["profile"]
    time = {k: sum(r[k + "_s"] for r in profile["ranks"]) for k in KINDS}
    whole = sum(time.values()) or 1
    sites = [s for s in by_place(profile["sites"]) if s["communicating_s"] + s["waiting_s"] > 0]
    text = ", ".join(f"{words.percent(time[k] / whole)} {k}" for k in KINDS)
    text = f"Over all ranks, the time goes into: {text}."
    if sites:
        top = max(sites, key=lambda s: s["communicating_s"] + s["waiting_s"])
        share = (top["communicating_s"] + top["waiting_s"]) / whole
        text += f" The call that costs most is {top['place']} ({words.percent(share)})."
    return " ".join([text, *(f"{capital(value)} {name}: {note}." for value, name, note in waiting(profile))])


def on_path(d):
    """Without a profile: what the critical path consists of."""
    result = d.best("causes")
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
        return "Where the time goes is not known: it takes a replay with `--profile`."
    top = max(phases, key=lambda p: p["mean"])
    share = words.percent(top["mean"] / whole)
    return ("Where the time goes is not known: it takes a replay with `--profile`; "
            f"{share} of the work is in {'the loop at ' if top['loop'] else ''}{words.place(top)}.")


def what_helps(d):
    result = d.best("causes")
    if not result or not result["causes"].get("helps"):
        loss = d.info("--imbalance")["measures"].get("volume", {}).get("all", {}).get("loss")
        text = "What would help is not known: it takes a replay with `--causes`."
        return text if not loss else text + (f" The rank with most work has {words.percent(loss)} more than "
                                             "the mean.")
    parts = [f"{help_words(i)} ({words.percent(i['at_most'])})" for i in result["causes"]["helps"][:2]]
    limit = "The limits: " + parts[0] + (f"; {parts[1]}, which may be the same time." if parts[1:] else ".")
    time = result["causes"]["time_s"] or 1
    gains = [f"{name}{'' if i else ' would save at most'} {words.percent(seconds / time)}{'' if i else ' of the time'}"
             for i, (name, seconds) in enumerate(faster(result)) if not i or seconds > 1e-3 * time]
    return ". ".join(filter(None, [capital(", ".join(gains)), limit]))


def capital(text):
    return text[:1].upper() + text[1:]


def facts(d):
    """Tiles: a value, its name, and a note."""
    info, plan = d.info(), d.run().get("plan", {})
    nodes = len(info.get("nodes", []))
    out = [[words.count(info["np"]), "ranks",
            f"traced on {plan['cores']:,} cores: {folding(plan)}" if "cores" in plan else
            "extrapolated: on no machine" if info.get("extrapolated") else
            f"traced on {nodes} node{'s' * (nodes != 1)}" if nodes else "the nodes are not recorded"]]
    for more in (time, energy, lambda _: of_replay(d.best("profile"), info), helped):
        try:
            out += more(d)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            pass  # the figure that lacks the same says so
    return out + [[large(int(info["volume"])), info.get("unit") or "volume", "in all bursts"],
                  [words.size(info["message_bytes"]), "in messages", f"{info['messages']:,} of them"]]


def time(d):
    result = d.best()
    return [[words.seconds(result.get("clock_s", result["simulated_time_s"])), "simulated time",
             f"of {result['np']:,} ranks"]] if result else []


def energy(d):
    result = d.best("energy")
    return [[f"{result['energy']['joules']:.4g} J", "energy",
             f"of {len(result['energy']['hosts']):,} hosts"]] if result else []


def helped(d):
    """What one can buy and saves most."""
    result = d.best("causes")
    rows = faster(result) if result else []
    return [[words.percent(rows[0][1] / (result["causes"]["time_s"] or 1)), "saved at most", f"by {rows[0][0]}"]] \
        if rows else []


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
