#!/usr/bin/env python3
"""Open pages of ti-report in headless Chromium, use them as people do, and take pictures.

Usage: look.py FOLDER PAGE...     a page, or a drawing (.svg)

The pictures go to FOLDER.  Prints a line for each page.  Exit status: 0 all is well, 1 a page is at
fault (each fault is printed), 2 usage.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

# The middle of a figure's canvas, scrolled into view; the figures that have one.
CANVASES = """[...document.querySelectorAll("figure")].filter(f => f.querySelector("canvas"))
    .map(f => f.querySelector("h3").textContent)"""
SHOW = """(title => {{ const f = [...document.querySelectorAll("figure")].find(
    f => f.querySelector("h3").textContent === title), c = f.querySelector("canvas");
    document.documentElement.style.scrollBehavior = "auto"; c.scrollIntoView({{block: "center"}}); c.focus();
    window.seen = c; const r = c.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})({title!r})"""
INK = """(() => { const d = seen.getContext("2d").getImageData(0, 0, seen.width, seen.height).data, s = new Map();
    for (let i = 0; i < d.length; i += 4) { const k = (d[i] << 16) | (d[i + 1] << 8) | d[i + 2]; s.set(k, (s.get(k) || 0) + 1); }
    return JSON.stringify([...s].sort((a, b) => b[1] - a[1]).slice(0, 40)); })()"""
TIP = """(() => { const t = document.querySelector(".tip"); return t && t.style.display !== "none" ? t.innerText : ""; })()"""
MOST = 3_000_000  # bytes of a page
SCALE = "d3.zoomTransform(seen).k"


# What readers of a picture cannot see: bars without a scale, figures without data that take room, rows that
# scroll, lines of options that break after a hyphen.
BARS = """[...document.querySelectorAll(".bars")].filter(b => b.querySelector(".track") && !b.querySelector(".scale"))
    .map(b => b.closest("figure").querySelector("h3").textContent).join(", ")"""
EMPTY = """[...document.querySelectorAll(".is-empty")].filter(f => f.tagName === "FIGURE" && f.getBoundingClientRect().height > (innerWidth < 600 ? 90 : 45) && !f.textContent.includes("cannot be drawn"))
    .map(f => f.textContent).join("; ")"""
HIDDEN = """[...document.querySelectorAll(".nest")].filter(n => n.scrollHeight > n.clientHeight + 1).length"""
# The fold with most rows: its lines, and how many rows there are once it is opened.
FOLD = """(() => { const f = [...document.querySelectorAll(".fold")], nest = document.querySelector(".nest");
    if (!f.length) return null; const b = f[0], before = nest.children.length, said = parseInt(b.textContent.slice(2));
    b.click(); return [said, nest.children.length - before + 1]; })()"""
FIRST = """(() => { const b = document.querySelector(".tiles").getBoundingClientRect(); return b.bottom; })()"""


def see(browser, width, fault):
    """What a picture of the page must show without a click."""
    for script, text in ((BARS, "bars without a scale: "), (EMPTY, "figures without data take room: ")):
        if found := browser.run(script):
            fault(text + found)
    if browser.run(HIDDEN):
        fault("phases are cut off")
    if width > 1000 and browser.run(FIRST) > 900:
        fault("the key facts are not on the first screen")
    if (fold := browser.run(FOLD)) and (fold[0] != fold[1] or fold[0] < 2):
        fault(f"a line says that it stands for {fold[0]} rows, and there are {fold[1]}")


def use(browser, title, fault):
    """Zoom, point at and walk through one figure on a canvas."""
    x, y, width, height = browser.run(SHOW.format(title=title))
    before = browser.run(INK)
    if len(before) < 60:  # at least background, ink and text
        fault(f"'{title}' is blank")
    seen = ""
    for share in (0.2, 0.35, 0.5, 0.65, 0.8):
        browser.pointer(x + 64 + share * (width - 74), y + share * (height - 50))
        seen = seen or browser.run(TIP)
    if not seen:
        fault(f"'{title}' has no tooltip")
    browser.key("Escape")
    browser.key("ArrowRight")
    first = browser.run(TIP)
    browser.key("ArrowRight")
    second = browser.run(TIP)
    if not first or not second:
        fault(f"'{title}' has no tooltip for the keyboard")
    if first == second:
        fault(f"'{title}' does not move with the arrow keys")
    for key in ("+", "+"):
        browser.key(key)
    if browser.run(SCALE) <= 1 or browser.run(INK) == before:
        fault(f"'{title}' does not zoom with +")
    browser.key("0")
    if browser.run(SCALE) != 1:
        fault(f"'{title}' does not show all with 0")
    browser.wheel(x + width / 2, y + height / 2, -240)
    browser.run("new Promise(done => setTimeout(() => requestAnimationFrame(done), 200))")
    if browser.run(SCALE) <= 1:
        fault(f"'{title}' does not zoom with the wheel")
    browser.key("0")


def pictures(browser, path, width, height, step):
    for number, top in enumerate(range(0, height, step)):
        browser.picture(f"{path}-{number}.png", (0, top, width, min(step, height - top)))


def look(browser, page, folder):
    faults, name = [], os.path.splitext(os.path.basename(page))[0]
    backgrounds = set()
    for width in (1400, 400):
        for dark in (False, True):
            kind = f"{width}-{'dark' if dark else 'light'}"
            loaded = browser.open(page, width, 900, dark)
            if not dark and width == 1400:
                seconds = loaded
            faults += [f"{kind}: {c}" for c in browser.complaints()]
            if browser.run("document.documentElement.scrollWidth") > width:
                faults.append(f"{kind}: it is wider than the screen")
            backgrounds.add(browser.run("getComputedStyle(document.body).backgroundColor"))
            drawn = browser.run("document.querySelectorAll('figure').length")
            wanted = browser.run("JSON.parse(document.getElementById('data').textContent).figures.length")
            if drawn != wanted or not wanted:
                faults.append(f"{kind}: {drawn} of {wanted} figures")
            if browser.run("typeof window.hacked !== 'undefined'"):
                faults.append(f"{kind}: a text of the inputs was executed")
            broken = browser.run("""[...document.querySelectorAll(".empty")].map(e => e.textContent)
                .filter(t => t.startsWith("It cannot be drawn")).join("; ")""")
            if broken and not name.startswith("evil"):
                faults.append(f"{kind}: {broken}")
            height = browser.run("document.documentElement.scrollHeight")
            pictures(browser, os.path.join(folder, f"{name}-{kind}"), width, height, 1700 if width > 600 else 2200)
            see(browser, width, lambda text, kind=kind: faults.append(f"{kind}: {text}"))
            if width == 1400:
                for title in browser.run(CANVASES):
                    use(browser, title, lambda text, kind=kind: faults.append(f"{kind}: {text}"))
                browser.run("""document.querySelectorAll("figure details").forEach(d => { d.open = true; })""")
                browser.run("new Promise(done => setTimeout(done, 100))")
                empty = browser.run("""[...document.querySelectorAll("figure details")]
                    .filter(d => !d.querySelector("code").textContent).length""")
                if empty:
                    faults.append(f"{kind}: {empty} figures do not name their command")
                faults += [f"{kind}: in use: {c}" for c in browser.complaints()]
    if os.path.getsize(page) > MOST:
        faults.append(f"it is larger than {MOST:,} bytes")
    if len(backgrounds) != 2:
        faults.append("light and dark look the same")
    print(f"{page}: {os.path.getsize(page):,} bytes, first picture after {seconds:.2f} s, "
          f"{len(faults)} faults")
    for fault in faults:
        print(f"{page}: {fault}")
    return faults


def look_at_drawing(browser, path, folder):
    """A picture of ti-report --frames: all of it is within its sheet."""
    faults = []
    browser.open(path, 1400, 900)
    faults += browser.complaints()
    outside = browser.run("""(() => { const sheet = document.documentElement.getBoundingClientRect();
        return [...document.querySelectorAll("text, path, rect")].map(e => [e.getBoundingClientRect(), e])
            .filter(([r]) => r.right > sheet.right + 1 || r.bottom > sheet.bottom + 1 || r.left < -1 || r.top < -1)
            .map(([, e]) => e.outerHTML.slice(0, 80)).join("; "); })()""")
    if outside:
        faults.append(f"outside of the sheet: {outside}")
    browser.picture(os.path.join(folder, os.path.basename(os.path.dirname(path)) + "-"
                                 + os.path.basename(path) + ".png"))
    print(f"{path}: {len(faults)} faults")
    for fault in faults:
        print(f"{path}: {fault}")
    return faults


def main(arguments):
    if len(arguments) < 2:
        print("Usage: look.py FOLDER PAGE...", file=sys.stderr)
        return 2
    folder, *pages = arguments
    os.makedirs(folder, exist_ok=True)
    browser = Browser()
    try:
        faults = [f for page in pages for f in
                  (look_at_drawing if page.endswith(".svg") else look)(browser, page, folder)]
    finally:
        browser.close()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
