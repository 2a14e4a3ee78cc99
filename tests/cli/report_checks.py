"""What report.sh checks: report_checks.py FUNCTION ARGUMENT..."""
import base64
import csv
import hashlib
import html.parser
import json
import math
import os
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import jsonfile  # noqa: E402


SVG = "{http://www.w3.org/2000/svg}"


def tool(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def figure(page, title):
    return next(f for f in page["figures"] if f["title"] == title)


def part(page, title):
    parts = figure(page, title)["parts"]
    assert "empty" not in parts[0], parts[0]
    return parts[0]


def cells(matrix):
    """{(row, column): value} of a sparse matrix."""
    out, at = {}, 0
    for gap, value in zip(matrix["index"], matrix["values"]):
        at += gap
        out[divmod(at, matrix["n"])] = value
    return out


def close(a, b, relative=1e-5):
    assert math.isclose(a, b, rel_tol=relative, abs_tol=1e-12), (a, b)


def trace_is_as_ti_info_says(trace, path):
    page, info = load(path), tool("ti-info", "-q", "--json", trace)
    ranks = part(page, "What each rank does")
    assert ranks["x"] == list(range(info["np"])) and info["np"] == 4
    volume, events, sent = (s["values"] for s in ranks["series"])
    for rank in ranks["x"]:
        one = tool("ti-info", "-q", "--json", "--rank", str(rank), trace)
        assert (one["volume"], one["events"], one["message_bytes"]) == (
            volume[rank], events[rank], sent[rank])
    assert sum(volume) == info["volume"] and sum(events) == info["events"]
    facts = dict(part(page, "What ran, and where")["rows"])
    assert facts["Ranks"] == "4" and facts["Program"] == "lu" and facts["Run"] == info["run_id"]
    assert f"{info['events']:,} events" in facts["Trace"]
    traffic = tool("ti-info", "-q", "--traffic", "--json", trace)
    matrix = part(page, "Who sends to whom")
    assert cells(matrix) == {(p[0], p[1]): p[3] for p in traffic["pairs"]}
    assert matrix["counts"] == [p[2] for p in sorted(traffic["pairs"])]
    calls = {r["label"]: r["values"][0] for r in part(page, "Operations")["rows"]}
    assert calls == {k: v["events"] for k, v in info["operations"].items()}
    sizes = tool("ti-info", "-q", "--histogram", "--json", trace)
    shown = part(page, "Message sizes")["series"][0]
    assert sum(shown["number"]) == sizes["messages"]["number"] > 0
    assert sum(shown["sum"]) == sizes["messages"]["bytes"]
    assert sum(part(page, "Lengths of bursts")["series"][0]["sum"]) == info["volume"]
    phases = tool("ti-info", "-q", "--phases", "--json", trace)
    for one in part(page, "Phases")["shapes"]:
        top = sum(int(r[4]) for r in one["rows"] if r[0] == 0)
        assert top == int(one["volume"]) and one["volume"] in [s["volume"] for s in phases["shapes"]]
    losses = tool("ti-info", "-q", "--imbalance", "--json", trace)["measures"]["volume"]["phases"]
    assert [r["values"][0] for r in part(page, "Imbalance")["rows"]] == [
        100 * p["loss"] for p in losses[:15] if p["loss"] > 0]
    rows = {r["label"]: r["values"][0] for r in part(page, "Size of the trace")["rows"]}
    assert rows["as text (estimate)"] == 30 * info["events"]  # 15 bytes an action, as the papers have it
    assert rows["this bundle"] == os.path.getsize(trace) == sum(v for k, v in rows.items() if k.startswith("its "))
    with zipfile.ZipFile(trace) as bundle:
        assert rows["its MANIFEST.json"] == bundle.getinfo("MANIFEST.json").compress_size
    assert rows["its traces"] == info["bytes"]
    steps = jsonfile.read(trace)["acquisition"]["steps"]
    assert [(r["label"], r["seconds"]) for r in part(page, "Steps of the acquisition")["rows"]] == [
        (s["name"], s["seconds"]) for s in steps]
    assert part(page, "The plan")["rows"][0]["values"] == [4]
    assert dict(part(page, "Is the trace sound?")["rows"])["Verdict"] == "sound"


def replay_is_as_ti_replay_says(result_path, path):
    page, result = load(path), load(result_path)
    profile = result["profile"]
    assert part(page, "Simulated time")["rows"][0]["values"] == [result["clock_s"]]
    for series in part(page, "Time by rank")["series"]:
        for value, rank in zip(series["values"], profile["ranks"]):
            close(value, rank[series["name"] + "_s"])
    waits = {}
    for row in profile["waits"]:
        key = row["rank"], row["for"]
        waits[key] = waits.get(key, 0) + row["seconds"]
    shown = cells(part(page, "Who waits for whom"))
    assert shown.keys() == waits.keys() and waits
    for key, seconds in waits.items():
        close(shown[key], seconds)
    whole = sum(r["values"][0] for r in part(page, "The critical path")["rows"])
    close(whole, result["causes"]["time_s"])
    gains = [r["values"][0] for r in part(page, "What would help")["rows"]]
    for gain, item in zip(gains, result["causes"]["helps"], strict=True):
        close(gain, 100 * item["at_most"])
    busiest = max(link["use"] for link in result["links"])
    close(part(page, "Busiest links")["rows"][0]["values"][0], 100 * busiest)
    # The first lines: time, where it goes, and the first thing that would help.
    topology, values = result["platform"].split(" of ", 1)
    for text in (f"--topology '{topology}'", *values.split(", ")[1:], "4 hosts in a fat tree of 2 levels"):
        assert text in page["sentences"][0], (text, page["sentences"][0])
    waiting = sum(r["waiting_s"] for r in profile["ranks"])
    time = sum(r[k] for r in profile["ranks"] for k in ("computing_s", "communicating_s", "waiting_s"))
    share = 100 * waiting / time
    text = f"{share:.0f} % waiting" if share >= 10 else f"{share:.1f} % waiting"
    assert text in page["sentences"][1], (text, page["sentences"])
    best = 100 * result["causes"]["helps"][0]["at_most"]
    assert (f"{best:.0f} %" if best >= 10 else f"{best:.1f} %") in page["sentences"][2]
    most = max(range(len(profile["ranks"])), key=lambda r: profile["ranks"][r]["waiting_s"])
    assert [f"rank {most}", "waits longest"] in [t[:2] for t in page["facts"]]
    assert [f"{result['energy']['joules']:.4g} J", "energy", "of 4 hosts"] in page["facts"]
    tolerance = part(page, "Tolerance")["rows"]
    assert tolerance[0][1] == "50 µs", tolerance
    assert tolerance[0][0] == "latency" and tolerance[0][2] == "5 %"


def calls_are_named_once(result_path, path):
    """Time by call has one row for all calls of a source line, and their sum; no row has another's label."""
    page, sites = load(path), load(result_path)["profile"]["sites"]
    expected = {}
    for site in sites:
        where = f"{site['function']}, {os.path.basename(site['file'])}:{site['line']}" if site["file"] else ""
        key = f"{site['operation']} in {where}" if where else site["operation"]
        expected.setdefault(key, []).append([site[k + "_s"] for k in ("computing", "communicating", "waiting")])
    rows = part(page, "Time by call")["rows"]
    assert len(expected) < len(sites) and len({r["label"] for r in rows}) == len(rows) >= 5
    for row in rows:
        for value, parts in zip(row["values"], zip(*expected[row["label"]])):
            close(value, sum(parts))
    close(part(page, "Time by call")["whole"], sum(sum(map(sum, v)) for v in expected.values()))
    for title in ("Why ranks wait", "What would help", "Imbalance", "Busiest links"):
        labels = [r["label"] for r in part(page, title)["rows"]]
        assert len(set(labels)) == len(labels), (title, labels)


def comparisons_are_as_the_tools_say(versus_path, scaling_path, changes_path, path):
    page, versus, scaling = load(path), load(versus_path)["versus"], load(scaling_path)["scaling"]
    for title, parts in (("Where the simulated time differs", versus["loops"]),
                         ("Which calls take longer or less long", versus["sites"])):
        drawn = part(page, title)
        shown = [r["values"][0] for r in drawn["rows"]]
        largest = max(abs(p["difference_s"]) for p in parts)
        close(max(map(abs, shown)), max(largest, abs(versus["outside"]["difference_s"]) if "loops" in parts[0] else 0))
        assert all(any(p["difference_s"] == v for p in [*parts, versus["outside"], versus["ended"]]) for v in shown)
        assert f"({versus['difference_pct']:+.1f} %)" in drawn["note"] and versus["difference_s"] < 0, drawn["note"]
    loops = part(page, "Where the simulated time differs")["rows"]
    # outermost loops, and what is in none, add up to the difference, but for what is too small to show
    outer = sum(r["values"][0] for r in loops if not r["label"].startswith("\u21b3"))
    assert abs(outer - versus["mean_difference_s"]) <= 3e-3 * abs(versus["mean_difference_s"])
    assert any(r["label"].startswith("\u21b3 ") for r in loops)
    assert loops[0]["label"] == versus["loops"][0]["loops"][0]

    table = part(page, "Scaling")["rows"]
    assert [int(r[0]) for r in table] == scaling["np"] == [2, 4]
    assert [r[2] for r in table] == [f"{s:.2f}" for s in scaling["speedup"]] and table[1][6] == "longer.4.tib"
    lost = [r["values"][0] for r in part(page, "Where scaling loses time")["rows"]]
    assert lost[0] in [p["lost_s"][-1] for p in [*scaling["loops"], scaling["outside"]]]

    changes, rows = load(changes_path)["changes"], part(page, "What differs in the trace")["rows"]
    assert rows[0][0] == "all" and rows[1][0] == changes["loops"][0]["loops"][0]
    for row, of in ((rows[0], changes["all"]), (rows[1], changes["loops"][0])):
        for text, name in zip(row[1:5], ("volume", "messages", "bytes", "calls")):
            assert int(text.split(" (")[0].replace(",", "")) == of[name]["change"], (row, of)
    assert rows[0][1].startswith("-") and rows[1][5].startswith("-"), rows  # less than in the longer one
    says_on_top(path, "were not compared with real runs")


def says_on_top(path, text):
    assert any(text in line for line in load(path)["top"]), load(path)["top"]


def faster_parts_are_bounds(result_path, half_path, path):
    """Half the latency saves at most what the page says: a replay with half of it is not faster."""
    page, result, half = load(path), load(result_path), load(half_path)
    gains = {r["label"]: r["values"][0] for r in part(page, "What faster parts would bring")["rows"]}
    change = result["causes"]["sensitivities"]
    close(gains["half the latency"], 50 * change["latency_s"] / result["causes"]["time_s"])
    close(gains["processors twice as fast"], -50 * change["speed_s"] / result["causes"]["time_s"])
    least = (1 - gains["half the latency"] / 100) * result["clock_s"]
    assert least * (1 - 1e-4) <= half["clock_s"] < result["clock_s"], (least, half["clock_s"])
    best = max(gains, key=gains.get)
    assert best in page["sentences"][2].lower() and ["saved at most", f"by {best}"] in [f[1:] for f in page["facts"]]


def operations_have_costs(result_path, path):
    shown = part(load(path), "Operations")
    costs = {o["operation"]: (o["communicating_s"], o["waiting_s"]) for o in load(result_path)["profile"]["operations"]}
    assert shown["second"]["series"] == ["communicating", "waiting"] and {r["label"] for r in shown["rows"]} == set(costs)
    for row in shown["rows"]:
        for value, seconds in zip(row["second"], costs[row["label"]]):
            close(value, seconds)
    order = [sum(r["second"]) for r in shown["rows"]]
    assert order == sorted(order, reverse=True) and order[0] > 0


def operations_have_durations(trace, path):
    """Without a replay, the measured durations of a trace that has them."""
    shown = part(load(path), "Operations")
    measures = tool("ti-info", "-q", "--json", "--imbalance", trace)["measures"]
    ranks = tool("ti-info", "-q", "--json", trace)["ranks"]
    close(sum(sum(r["second"]) for r in shown["rows"]), 1e-9 * ranks * measures["call_ns"]["all"]["mean"])
    assert shown["second"]["whole"] > sum(sum(r["second"]) for r in shown["rows"]) > 0


def marks_are_said_once(path):
    """What holds for a whole replay is at the top and above its section, and on no other figure."""
    page = load(path)
    said = page["doubts"]["The replay"]
    assert any(m.startswith("Unproven: the simulated time") for m in said) and set(said) <= set(page["top"])
    for f in page["figures"]:
        for p in f["parts"]:
            if f["section"] == "The replay" and f["title"] != "Simulated time":
                assert not set(p.get("marks", [])) & set(said), f["title"]
    assert next(v for k, v in page["top"].items() if "simulated time" in k) == ["the replay"]
    assert ["the replay", "volumes"] in page["top"].values()  # lu was counted by CPU time, which is an estimate


def links_are_in_words(path):
    """Names of SimGrid stand behind: 'link_from_2_6_2_UP' is host 2 to switch 1 of level 1."""
    switches = {7: "switch 0 of level 1", 6: "switch 1 of level 1", 5: "switch 0 of level 2", 4: "switch 1 of level 2"}
    rows = part(load(path), "Busiest links")["rows"]
    for row in rows:
        name = re.search(r"`link_from_(\d+)_(\d+)_\d+_(UP|DOWN)`", row["note"])
        child, parent = (switches.get(int(n), f"host {n}") for n in name.groups()[:2])
        assert row["label"] == (f"{child} to {parent}" if name[3] == "UP" else f"{parent} to {child}"), row
    assert len(rows) > 2


def machines_in_words(folder):
    """Machines of all kinds, and names of links as SimGrid gives them."""
    sys.path.insert(0, folder)
    import machine
    def made(text):
        return machine.machine_of({"platform": text})
    for platform, words, options in (
            ("fat-tree:2;8,8;1,8;1,1 of 64 hosts, 8Gf, 10Gbps, 1us",
             "64 hosts in a fat tree of 2 levels, with cores of 8 billion flops a second and links of 1.25 GB/s and 1 µs",
             "--topology 'fat-tree:2;8,8;1,8;1,1' --speed 8Gf --bandwidth 10Gbps --latency 1us"),
            ("cluster of 4 hosts, 2.5e12f, 125MBps, 50us",
             "4 hosts behind one switch, with cores of 2.5 trillion flops a second and links of 125 MB/s and 50 µs",
             "--topology cluster --hosts 4 --speed 2.5e12f --bandwidth 125MBps --latency 50us"),
            ("fat-tree:2;2,2;1,1;1,1 of 4 hosts, 1Gf, 1GBps, 1us, 20ns",
             "4 hosts in a fat tree of 2 levels, with cores of 1 billion flops a second and links of 1 GB/s and 1 µs at "
             "level 1, 1 GB/s and 20 ns at level 2",
             "--topology 'fat-tree:2;2,2;1,1;1,1' --speed 1Gf --bandwidth 1GBps --latency 1us,20ns"),
            ("net.xml", "net.xml", ""), ("torus:x of 4 hosts, 1Gf, 1GBps, 1us", "torus:x of 4 hosts, 1Gf, 1GBps, 1us", "")):
        found = machine.in_words({"platform": platform, "unit": "flops"})
        assert found == (words, options), found
    assert "8 times as fast as the machine that traced" in machine.in_words(
        {"platform": "torus:2,2 of 4 hosts, 8Gf, 1GBps, 1us", "unit": "nanoseconds"})[0]
    for platform, links in (
            # 12 switches above 8 hosts: 7 is a switch of the third level where a switch leads to it
            ("fat-tree:3;2,2,2;1,2,2;1,1,2 of 8 hosts, 1Gf, 1GBps, 1us", {
                "link_from_7_12_7_DOWN": "switch 3 of level 1 to host 7",
                "link_from_11_7_17_UP": "switch 0 of level 2 to switch 0 of level 3"}),
            ("fat-tree:3;2,2,2;1,2,1;1,1,1 of 8 hosts, 1Gf, 1GBps, 1us, 2us, 3us", {
                "l7_UP": "host 7 to switch 3 of level 1", "l11_DOWN": "switch 1 of level 2 to switch 1 of level 1",
                "l14_UP": "switch 3 of level 1 to switch 2 of level 2",
                "l18_UP": "switch 2 of level 2 to switch 0 of level 3"}),
            ("dragonfly:2,1;2,1;2,1;1 of 8 hosts, 1Gf, 1GBps, 1us", {
                "local_link_from_router_4_to_node_0_4_UP": "host 4 to router 4",
                "blue_link_between_group_0_and_1_routers_1_and_4_16_DOWN": "group 1 to group 0"}),
            ("hierarchical:2,2,2 of 8 hosts, 1Gf, 1GBps, 1us", {
                "4:5_DOWN": "host 5 to host 4", "remote-0:1_UP": "supergroup 0 to supergroup 1"}),
            ("torus:4,2 of 8 hosts, 1Gf, 1GBps, 1us", {"nodes_link_from_3_to_0_UP": "host 3 to host 0"}),
            ("cluster of 8 hosts, 1Gf, 1GBps, 1us", {"nodes_link_3_DOWN": "the switch to host 3"})):
        for name, words in links.items():
            assert made(platform).link(name)[0] == words, (name, made(platform).link(name))
        assert made(platform).link("nodes_link_6_loopback") is None


def phases_say_what_they_hide(folder):
    """Rows that are folded, left out or in further groups of ranks: how many, and their share."""
    sys.path.insert(0, folder)
    import figures_trace as f

    def call(volume):
        return {"call": "recv", "volume": volume, "events": 1, "fields": {}, "site": "x", "function": None, "file": None}

    small = {"trips": {"minimum": 2, "maximum": 2}, "volume": 30, "events": 60, "body": [call(1) for _ in range(30)]}
    large = {"trips": {"minimum": 9, "maximum": 9}, "volume": 900, "events": 9, "body": [call(100) for _ in range(9)]}
    rows = f.flatten({"volume": 1000, "body": [large, small, *[call(2) for _ in range(35)]]})
    folds = f.folds(rows)
    # The first 20 by share are seen; a fold within a loop that is seen has the share of its rows there.
    assert [fold[:2] for fold in folds] == [[11, 30], [50, 26]] and not f.folds(rows[:10]), folds
    close(folds[0][2], 0.03)
    close(folds[1][2], 0.052)
    # more rows than there are in a page
    rows = f.flatten({"volume": 4000, "body": [large, call(2800), *[call(1) for _ in range(300)]]})
    assert len(rows) == f.LINES + 1 and rows[-1][2] == "... and 61 more, which hold 1.5 %", rows[-1]

    class Trace:
        def info(self, *_):
            shapes = [{"ranks": [[i, i]], "volume": 100 - 10 * i, "events": 1, "body": [call(100 - 10 * i)]} for i in range(8)]
            return {"np": 8, "volume_unit": "instructions", "shapes": shapes, "exact": True}

    shown = f.phases(Trace())
    assert len(shown["shapes"]) == 6 and shown["note"] == "2 further groups of ranks hold 13 % of the volume.", shown["note"]
    assert [s["label"] for s in shown["shapes"]][:2] == ["rank 0: 19 %", "rank 1: 17 %"]


def extrapolation_is_on_top(path, status):
    """The page of a trace that nobody ran: title, first line and a figure say so, with the proof."""
    page = load(path)
    assert page["title"].endswith("32 ranks (extrapolated)") and "a run that nobody made" in page["sentences"][0]
    line, places = next(iter(page["top"].items()))
    assert line.startswith(f"{status}: no run had these events") and places == ["the trace", "the replay"], (line, places)
    facts = dict(part(page, "How it was extrapolated")["rows"])
    assert facts["From 8 ranks"].startswith("e8, run "), facts
    if status == "Extrapolated":
        assert "Of the run with 16 ranks, 16 ranks and 112 of 112 events came out equal; its volume is off by 0 %." in line, line
        assert (facts["Equal ranks"], facts["Equal events"]) == ("16 of 16", "112 of 112"), facts
    else:
        assert "a proof takes three traces or more" in line and "Equal ranks" not in facts, (line, facts)
    assert not any("counter does not count exactly" in m for m in page["marks"])  # it does


def sweep_is_as_its_results(folder, path):
    page, study = load(path), load(os.path.join(folder, "results.json"))
    shown = part(page, "Sweep")
    assert shown["x"] == ["1us", "50us"] and shown["names"] == ["1 µs", "50 µs"] and len(shown["series"]) == 1
    for i, latency in enumerate(shown["x"]):
        times = sorted(p["result"]["clock_s"] for p in study["points"] if p["settings"]["latency"] == latency)
        assert len(times) == 3  # placements that differ in the seed only: one point with a band
        series = shown["series"][0]
        assert [series[k][i] for k in ("low", "values", "high")] == times


def timeline_has_the_times_of_its_file(table, path):
    shown = part(load(path), "Timeline")
    end, time, expected = shown["end"], {}, {}
    for rank, flat in zip(shown["ranks"], shown["pieces"]):
        for length, kind in zip(flat[1::3], flat[2::3]):
            key = rank, kind & 3
            time[key] = time.get(key, 0) + length / (1 << 24) * end
    with open(table, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rank, waiting = int(row["rank"]), float(row["waiting_s"])
            whole = float(row["end_s"]) - float(row["start_s"])
            parts = [(0, whole)] if row["state"] == "computing" else [(1, whole - waiting), (2, waiting)]
            for kind, seconds in parts:
                expected[rank, kind] = expected.get((rank, kind), 0) + seconds
    for key, seconds in expected.items():
        assert abs(time.get(key, 0) - seconds) <= 0.01 * end, (key, time.get(key), seconds)
    assert sorted({k[0] for k in time}) == [0, 1, 2, 3]


def links_have_their_load(result_path, path):
    """The use that the title of a line gives is that of a link; both ends of a fat tree's host."""
    result, shown = load(result_path), part(load(path), "The platform")
    use = {}
    for link in result["links"]:
        name = re.match(r"link_from_(\d+)_(\d+)_", link["link"])
        key = name[1], name[2]
        use[key] = max(use.get(key, 0), link["use"])
    titles = [s[3][0][2] for g in shown["shapes"] for s in g[3] if s[0] == "path" and s[3]]
    assert len(titles) == len(use) == 8
    for host in range(4):  # hosts 0 and 1 are below switch 0, which SimGrid calls 7
        title = next(t for t in titles if t.startswith(f"node-{host} to switch-1-{host // 2}:"))
        shown_use = float(re.search(r"in use ([0-9.e-]+) %", title)[1])
        close(shown_use, 100 * use[str(host), str(7 - host // 2)], 1e-2)


def pictures(folder, wanted):
    """The roots of all pictures, in order, which have one size."""
    names = sorted(n for n in os.listdir(folder) if n != "README")
    assert names == [f"frame-{i + 1:04d}.svg" for i in range(wanted)], names
    roots = [ET.parse(os.path.join(folder, n)).getroot() for n in names]
    assert len({(r.get("width"), r.get("height"), r.get("viewBox")) for r in roots}) == 1
    times = [next(t.text for t in r.iter(SVG + "text") if " of " in t.text) for r in roots]
    assert len(set(times)) == wanted and times[0].startswith("0.0"), times
    with open(os.path.join(folder, "README"), encoding="utf-8") as file:
        text = file.read()
    assert f"{wanted} pictures" in text and "Estimated" in text and "frame-%04d.svg" in text
    return roots


def slice_uses(result):
    """The use of each link in each slice, and the greatest."""
    width, clock = result["link_slice_s"], result["clock_s"]
    n = len(result["links"][0]["slices"])
    out = [{link["link"]: link["slices"][i] / link["bandwidth"] / min(width, clock - i * width)
            for link in result["links"]} for i in range(n)]
    return out, max(max(o.values()) for o in out)


def rgb(colour):
    return [int(colour[i:i + 2], 16) for i in (1, 3, 5)]


def as_colour(colour, share):
    """Whether a colour is the one of idle links, or is not, as the share says."""
    return colour == "#c3cad2" if share == 0 else colour != "#c3cad2"


def frames_have_the_load_of_links(result_path, folder):
    result = load(result_path)
    slices, most = slice_uses(result)
    roots = pictures(folder, len(slices))
    for use, root in zip(slices, roots):
        shown = [(float(p.get("stroke-width")), p.get("stroke")) for p in root.iter(SVG + "path")
                 if p.get("stroke-opacity") == "1"]  # not of the legend
        lines = {}
        for name, value in use.items():
            found = re.match(r"link_from_(\d+)_(\d+)_", name)
            if found:
                lines[found.groups()] = max(lines.get(found.groups(), 0), value)
        expected = sorted(1.5 + 2.5 * v / most for v in lines.values())
        assert len(shown) == len(expected) == 8, (shown, expected)
        for (width, colour), wanted in zip(sorted(shown), expected):
            close(width, wanted, 1e-2)
            assert as_colour(colour, wanted - 1.5), (colour, wanted)
    assert any(sum(u.values()) for u in slices)


def cells_have_the_load_of_links(result_path, folder):
    result = load(result_path)
    slices, most = slice_uses(result)
    for use, root in zip(slices, pictures(folder, len(slices))):
        cells = {r.find(SVG + "title").text: r.get("fill") for r in root.iter(SVG + "rect")
                 if r.find(SVG + "title") is not None}
        assert cells.keys() == use.keys()
        for name, fill in cells.items():
            assert as_colour(fill, use[name]), (name, fill, use[name])
        order = sorted(use, key=use.get)  # busier is darker
        light = [sum(rgb(cells[n])) for n in order if use[n]]
        assert light == sorted(light, reverse=True), light


def only_drawing(folder):
    for name in os.listdir(folder):
        if name == "README":
            continue
        for element in ET.parse(os.path.join(folder, name)).iter():
            assert element.tag.removeprefix(SVG) in ("svg", "g", "path", "rect", "text", "title"), element.tag
            assert not any(k.startswith("on") or "href" in k for k in element.attrib), element.attrib
            assert "url(" not in str(element.attrib)


def every_figure_draws_or_says_why(path):
    figures = load(path)["figures"]
    assert len({f["title"] for f in figures}) == len(figures) >= 25
    for f in figures:
        assert f["caption"].endswith(".") and f["command"]
        for p in f["parts"]:
            assert p.get("kind") or len(p["empty"]) > 20, f["title"]


class Reader(html.parser.HTMLParser):
    """Elements and attributes of a page, and the texts of its scripts."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.scripts, self.inside = [], [], False
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data

    def policy(self):
        return next(a["content"] for t, a in self.elements if a.get("http-equiv") == "Content-Security-Policy")


def page_has_its_data(page_path, data_path):
    page = Reader(page_path)
    assert json.loads(page.scripts[0]) == load(data_path)
    for script in page.scripts[1:]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.policy()
    assert "default-src 'none'" in page.policy()
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "base") and "src" not in attributes, tag
    assert os.path.getsize(page_path) < 3_000_000


def nothing_becomes_code(good_path, evil_path):
    """The page of hostile texts has the same elements and scripts as that of ordinary ones."""
    good, evil = Reader(good_path), Reader(evil_path)
    assert [t for t, _ in good.elements] == [t for t, _ in evil.elements]
    assert good.scripts[1:] == evil.scripts[1:]
    assert "hacked" in evil.scripts[0]  # the texts are there, as data
    with open(evil_path, encoding="utf-8") as file:
        assert "<script>hacked" not in file.read()
    assert not re.search("[<>&]", evil.scripts[0])


def shapes_only(path):
    text = json.dumps(part(load(path), "The platform"))
    for word in ("script\", ", "onload", "onclick", "javascript", "url(", "style", "foreignObject", "href"):
        assert word not in text, word


def says_in_red(path, title, text):
    marks = [m for p in figure(load(path), title)["parts"] for m in p.get("marks", [])]
    assert any(text in m for m in marks), (title, marks)
    assert any(text in m for m in load(path)["marks"])


def is_empty(path, title, text):
    why = figure(load(path), title)["parts"][0].get("empty", "")
    assert text in why, why


def sentence(path, number, text):
    assert text in load(path)["sentences"][int(number)], load(path)["sentences"]


def matrix_is_aggregated(traffic_path, path):
    traffic, matrix = load(traffic_path), part(load(path), "Who sends to whom")
    assert matrix["np"] == 600 and matrix["group"] == 2 and matrix["n"] == 300
    expected = {}
    for p in traffic["pairs"]:
        key = p[0] // 2, p[1] // 2
        expected[key] = expected.get(key, 0) + p[3] + p[9]
    assert cells(matrix) == expected
    assert "2 ranks share a row" in matrix["note"]


def dense_matrix(folder):
    sys.path.insert(0, folder)
    import figures_trace
    values = {(r, c): [1 + 977 * r + c, 1] for r in range(300) for c in range(300)}
    out = figures_trace.matrix(values, 300, 1, "a", "b", "bytes", "messages")
    assert "index" not in out
    dense = struct.unpack("<90000H", base64.b64decode(out["dense"]))
    for (r, c), (value, _) in values.items():
        shown = math.expm1((dense[r * 300 + c] - 1) * math.log1p(out["most"]) / 65534)
        close(shown, value, 1e-3)


def timeline_is_thinned(folder):
    sys.path.insert(0, folder)
    import figures_replay as f
    rows = []
    for i in range(100000):  # calls of 1 s after bursts of 3 s; and two long ones
        rows += [(r, 4 * i, 4 * i + 3, "computing", 0) for r in (0, 1)]
        rows += [(r, 4 * i + 3, 4 * i + 4, "recv", 0.25) for r in (0, 1)]
    rows.insert(len(rows), (0, 400000, 500000, "wait", 100000))
    out = f.build_timeline(iter(rows))
    assert sum(len(p) for p in out["pieces"]) // 3 <= f.PIECES
    flat = out["pieces"][0]
    assert flat[-1] & 3 == 2 and out["names"][flat[-1] >> 2] == "wait"
    close(flat[-2] / f.TICKS, 0.2, 1e-3)
    assert "Short neighbours" in out["note"]


if __name__ == "__main__":
    jsonfile.run_function(globals())
