"""A drawn platform (SVG of ti-replay --show-platform) as a list of shapes.

The page makes these shapes anew.  So nothing of a foreign file reaches the page but what stands in
the lists below: no script, no style, no reference.
"""

import re
import xml.etree.ElementTree as ET

from figure import Empty
from machine import in_words, machine_of

SHAPES = {"g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "title"}
KEPT = {"d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "points",
        "fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "fill-opacity", "opacity",
        "font-size", "font-weight", "text-anchor", "transform"}
MOST = 400000  # characters


def drawing(d):
    """The box of the drawn platform, and its shapes."""
    text = d.drawing()
    if not text:
        raise Empty("No picture (`--platform FILE.svg`), and no replay on a generated platform.")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Empty("The picture of the platform has a DOCTYPE, which ti-replay does not write.")
    if len(text) > MOST:
        raise Empty(f"The picture of the platform is too large for the page: {len(text):,} characters.")
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, RecursionError) as err:
        raise Empty(f"The picture of the platform is not SVG: {err}.") from err
    if local(root.tag) != "svg":
        raise Empty("The picture of the platform is not SVG.")
    try:
        box = [float(v) for v in root.get("viewBox", "0 0 100 100").split()]
    except ValueError as err:
        raise Empty("The picture of the platform has no sound viewBox.") from err
    shapes = [shape(c) for c in root if local(c.tag) in SHAPES and not background(c)]
    return (box + [100] * 4)[:4], shapes


def platform(d):
    box, shapes = drawing(d)
    out = {"kind": "drawing", "box": box, "shapes": shapes, **loaded(d, shapes)}
    drawn = [in_words(r) for _, r in d.replays if machine_of(r)] if not d.picture else []
    if drawn:
        out["note"] = " ".join(filter(None, [f"{drawn[0][0]}: `{drawn[0][1]}`.", out.get("note")]))
    return out


# --- the load of links ---

def lines_of(shapes):
    """The lines between two nodes, each with their names; and the names of all nodes."""
    centres, lines = {}, []
    for name, a, _, inner in shapes[-1][3] if shapes else []:
        if name == "rect" and inner and inner[0][0] == "title":
            x, y, w, h = (number(a.get(k)) for k in ("x", "y", "width", "height"))
            centres[round(x + w / 2, 1), round(y + h / 2, 1)] = inner[0][2]
    for group in shapes:
        lines += [(s, tuple(sorted(ends))) for s in group[3] if s[0] == "path"
                  and None not in (ends := [centres.get(p) for p in end_points(s[1].get("d", ""))])
                  and len(ends) == 2]
    return lines, list(centres.values())


def loaded(d, shapes):
    """Colour the lines between two nodes by the use of their links, where a replay has it."""
    result = next((r for _, r in d.replays if r.get("links")), None)
    if not result:
        return {"note": "Links have no load: it takes a replay with `--links`."}
    lines, names = lines_of(shapes)
    use = loads(machine_of(result), result["links"], names)
    most, found = max(use.values(), default=0), 0
    for line, ends in lines:
        found += ends in use and most > 0
        line[1]["load"] = use.get(ends, 0) / most if most else 0
        line[3].append(["title", {}, f"{ends[0]} to {ends[1]}: in use {100 * use.get(ends, 0):.3g} % of the time", []])
    if not found:
        for line, _ in lines:
            del line[1]["load"], line[3][-1]
        return {"note": "The lines of this network cannot be told apart, so that their load is not in it."}
    for key in shapes[-1][3]:  # the drawing's own colours are no longer those of its lines
        if key[0] == "path" and "load" not in key[1]:
            key[1]["stroke"] = "#9aa4b0"
    return {"load": 100 * most}


def loads(machine, links, names):
    """The use of links by the two nodes that they join, the greater of both directions."""
    switches = [n for n in names if n.startswith("switch")]
    out = {}
    for link in links if machine else []:
        ends = machine.ends(link["link"])
        if ends:  # the picture of a cluster has one switch, which may have any name
            key = tuple(sorted(switches[0] if end == "switch" and switches else end for end in ends[:2]))
            out[key] = max(out.get(key, 0), link["use"])
    return out


def number(text):
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def end_points(path):
    """Where a line begins and ends, rounded as it is written."""
    numbers = [number(n) for n in re.findall(r"-?[0-9.]+", path)]
    return [(round(numbers[0], 1), round(numbers[1], 1)), (round(numbers[-2], 1), round(numbers[-1], 1))] \
        if len(numbers) >= 4 else []


def background(element):
    """The white sheet below the picture: the page has its own."""
    return local(element.tag) == "rect" and element.get("width") == "100%"


def shape(element):
    """[name, attributes, text, shapes in it]"""
    return [local(element.tag), {k: v for k, v in element.attrib.items() if k in KEPT and "url(" not in v},
            (element.text or "").strip(), [shape(c) for c in element if local(c.tag) in SHAPES]]


def local(tag):
    return tag.rsplit("}", 1)[-1] if isinstance(tag, str) else ""
