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
    assert result["platform"] in page["sentences"][0]
    waiting = sum(r["waiting_s"] for r in profile["ranks"])
    time = sum(r[k] for r in profile["ranks"] for k in ("computing_s", "communicating_s", "waiting_s"))
    share = 100 * waiting / time
    text = f"{share:.0f} % waiting" if share >= 10 else f"{share:.1f} % waiting"
    assert text in page["sentences"][1], (text, page["sentences"])
    best = 100 * result["causes"]["helps"][0]["at_most"]
    assert (f"{best:.0f} %" if best >= 10 else f"{best:.1f} %") in page["sentences"][2]
    most = max(range(len(profile["ranks"])), key=lambda r: profile["ranks"][r]["waiting_s"])
    assert [f"rank {most}", "waits longest"] in [t[:2] for t in page["facts"]]
    tolerance = part(page, "Tolerance")["rows"]
    assert tolerance[0][0] == "latency" and tolerance[0][2] == "5 %"


def sweep_is_as_its_results(folder, path):
    page, study = load(path), load(os.path.join(folder, "results.json"))
    shown = part(page, "Sweep")
    assert shown["x"] == ["1us", "50us"] and len(shown["series"]) == 1
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
