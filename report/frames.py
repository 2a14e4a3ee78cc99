"""The load of the network over simulated time, as pictures that make a film (--frames)."""

import math
import os
import re
from xml.sax.saxutils import escape

import marks
import words
from figure import Empty
from inputs import Fault
from machine import in_words, machine_of
from picture import drawing, lines_of, loads

COLOURS = ["#ffeda0", "#fed976", "#feb24c", "#fd8d3c", "#fc4e2a", "#e31a1c", "#bd0026", "#800026"]
IDLE, INK, PAPER = "#c3cad2", "#1f2933", "#ffffff"
HEAD, FOOT, LEAST = 52, 44, 560  # heights of what stands above and below, least width of a picture
CELL = 12  # width and height of a link that has no line
HINT = "\nhint: ti-replay TRACE ... --links=60 --json >FILE makes one"


def result_of(d):
    """The first replay with links in slices of time."""
    for name, result in d.replays:
        if result.get("link_slice_s") and result.get("links"):
            return name, result
    raise Fault("--frames needs a result with the load of links over time (`--replay FILE`)" + HINT)


def uses(result):
    """For each slice of time, the use of each link: a list of {link: share of its bandwidth}."""
    width, end = result["link_slice_s"], result["clock_s"]
    n = len(result["links"][0]["slices"])
    seconds = [min(width, end - i * width) for i in range(n)]
    return [{link["link"]: link["slices"][i] / (link["bandwidth"] * seconds[i])
             for link in result["links"]} for i in range(n)]


def colour(share):
    if share <= 0:
        return IDLE
    at = min(share, 1) * (len(COLOURS) - 1)
    low = min(int(at), len(COLOURS) - 2)
    parts = [[int(COLOURS[low + k][i:i + 2], 16) for i in (1, 3, 5)] for k in (0, 1)]
    return "#" + "".join(f"{round(a + (b - a) * (at - low)):02x}" for a, b in zip(*parts))


def svg(name, attributes, text="", inner=()):
    """An element as text."""
    head = " ".join([name, *(f'{k}="{escape(str(v), {chr(34): "&quot;"})}"' for k, v in attributes.items())])
    return f"<{head}>{escape(text)}{''.join(inner)}</{name}>"


def label(x, y, text, anchor="start", size=13, fill=INK):
    return svg("text", {"x": x, "y": y, "text-anchor": anchor, "font-size": size, "fill": fill}, text)


# --- the two ways to draw a network ---


def as_platform(d, machine, links):
    """The drawn platform: (box, function of {link: use} that draws it); Empty if links have no lines."""
    box, shapes = drawing(d)
    lines, names = lines_of(shapes)
    if not any(ends in loads(machine, [{"link": n, "use": 1} for n in links], names) for _, ends in lines):
        raise Empty("its lines cannot be told apart")
    ends_of = {id(line): ends for line, ends in lines}

    def element(shape, use, most):
        name, attributes, text, inner = shape
        kept = dict(attributes)
        if id(shape) in ends_of:
            share = use.get(ends_of[id(shape)], 0) / most
            kept |= {"stroke": colour(share), "stroke-opacity": 1, "stroke-width": round(1.5 + 2.5 * share, 2)}
        elif name == "path":  # of the legend: its colours are not those of the lines here
            kept["stroke"] = IDLE
        return svg(name, kept, text, [element(s, use, most) for s in inner])

    def draw(now, most):
        use = loads(machine, [{"link": n, "use": u} for n, u in now.items()], names)
        return [element(s, use, most) for s in shapes]

    return box, draw


def natural(name):
    """Orders names by the numbers in them: link_2 before link_10."""
    return [int(part) if part.isdigit() else part for part in re.split("([0-9]+)", name)]


def as_cells(links):
    """A cell for each link, for networks that are not drawn link by link."""
    columns = max(8, math.ceil(math.sqrt(2 * len(links))))
    place = {n: (i % columns * CELL, i // columns * CELL) for i, n in enumerate(links)}

    def draw(now, most):
        return [svg("rect", {"x": x, "y": y, "width": CELL - 2, "height": CELL - 2,
                             "fill": colour(now[n] / most)}, "", [svg("title", {}, n)])
                for n, (x, y) in place.items()]

    return [0, 0, columns * CELL, -(-len(links) // columns) * CELL], draw


# --- a picture ---


def frame(box, inner, title, clock, share, most, note):
    """One picture: the program and the time above, the scale below."""
    width, height = (2 * math.ceil(v / 2) for v in (max(box[2] + 20, LEAST), box[3] + HEAD + FOOT))
    y = height - FOOT
    bar = [svg("rect", {"x": 96 + 3 * i, "y": y + 10, "width": 3, "height": 10, "fill": colour((i + 1) / 60)})
           for i in range(60)]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" \
font-family="sans-serif" fill="none">
<rect width="{width}" height="{height}" fill="{PAPER}"/>
{label(10, 24, title)}
{label(width - 10, 24, clock, "end")}
<rect x="10" y="34" width="{width - 20}" height="4" fill="{IDLE}"/>
<rect x="10" y="34" width="{(width - 20) * share:.1f}" height="4" fill="{INK}"/>
<svg x="{(width - box[2]) / 2}" y="{HEAD}" width="{box[2]}" height="{box[3]}" viewBox="{' '.join(map(str, box))}">
{chr(10).join(inner)}
</svg>
{label(10, y + 19, "use of links: 0", size=11)}
{''.join(bar)}
{label(282, y + 19, words.percent(most), size=11)}
{label(10, y + 36, note, size=10, fill="#5b6670")}
</svg>
"""


def clocks(width, end, n):
    """The time of each slice, all in one unit."""
    unit, factor = next((u for u in (("s", 1), ("ms", 1e3), ("µs", 1e6)) if end * u[1] >= 1), ("ns", 1e9))
    digits = max(0, 1 - math.floor(math.log10(width * factor)))
    return [f"{i * width * factor:.{digits}f} to {min((i + 1) * width, end) * factor:.{digits}f} "
            f"of {end * factor:.{digits}f} {unit}" for i in range(n)]


README = """{title}: the load of its network over simulated time.

{n} pictures of {width} each, by ti-report --frames; replayed on {platform} ({name}).
All have the same size and colours: {most} of a link's bandwidth is the darkest.
{drawn}
{marks}
A film of them, 10 pictures a second, by ffmpeg or by ImageMagick:

  ffmpeg -framerate 10 -i frame-%04d.svg -pix_fmt yuv420p network.mp4
  convert -delay 10 frame-*.svg network.gif
"""


def write_frames(d, folder):
    """Write the pictures and a README; returns the number of pictures."""
    name, result = result_of(d)
    try:
        slices = uses(result)
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError) as why:
        raise Fault(f"'{name}' is not as expected: {type(why).__name__} {why}{HINT}") from why
    links, n, end = sorted(slices[0], key=natural), len(slices), result["clock_s"]
    most = max((max(s.values()) for s in slices), default=0) or 1
    drawn = "A line has the colour of the busier direction of its link."
    try:
        box, draw = as_platform(d, machine_of(result), links)
    except Empty:
        box, draw = as_cells(links)
        drawn = "Each cell is a link, in the order of their names: the network is not drawn link by link."
    title = f"{d.info().get('application') or os.path.basename(d.path)}, {d.info()['np']:,} ranks"
    files = {f"frame-{i + 1:04d}.svg": frame(
        box, draw(slices[i], most), title, clock, min((i + 1) * result["link_slice_s"] / end, 1), most,
        "estimated: messages count from the picture in which they begin") for i, clock in
        enumerate(clocks(result["link_slice_s"], end, n))}
    files["README"] = README.format(
        title=title, n=n, width=words.seconds(result["link_slice_s"]), name=name, drawn=drawn,
        platform=" or ".join(filter(None, in_words(result))), most=words.percent(most),
        marks="".join(f"{m}\n" for m in ["Estimated: messages count from the picture in which they begin.",
                                         *marks.replay(result, d)]).replace("`", ""))
    save(folder, files)
    return n


def save(folder, files):
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise Fault(f"'{folder}' is not empty", 4)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
    except OSError as err:
        raise Fault(f"cannot write '{folder}': {err.strerror}", 4) from err
