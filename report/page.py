"""The page: one HTML file with data, drawing code and library inside.

All that comes from inputs is JSON in one element, with <, > and & escaped; the code of the page
writes it as text only.  The policy in the head lets nothing run but the two scripts, known by their
hashes, and nothing be fetched.
"""

import base64
import hashlib
import html
import json
import os

import answer
import marks
import words
from figure import Empty
from figures import FIGURES
from inputs import Fault, quoted

FOLDER = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = ["base.js", "charts.js", "canvas.js", "page.js"]

NONE_GIVEN = {
    "replays": "No result of a replay was given (`--replay FILE`).",
    "studies": "No sweep was given (`--study DIR`).",
    "versus": "No result of `ti-replay --versus` was given (`--comparison FILE`).",
    "scaling": "No result of `ti-replay --scaling` was given (`--comparison FILE`).",
    "changes": "No result of `ti-info --compare` was given (`--comparison FILE`)."}


def drawn(figure, d):
    """What a figure draws: a list of {name, ...}; or {empty: why}."""
    given = [(name, (d, item)) for name, item in getattr(d, figure.each)] if figure.each else [("", (d,))]
    if not given:
        return [{"empty": NONE_GIVEN[figure.each]}]
    out = []
    for name, arguments in given:
        try:
            out.append({"name": name, **figure.function(*arguments)})
        except Empty as why:
            out.append({"name": name, "empty": str(why)})
        except Fault as why:
            out.append({"name": name, "empty": f"It cannot be drawn: {why}."})
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as why:
            d.warnings.append(f"'{figure.title}' cannot be drawn: {type(why).__name__} {why}")
            out.append({"name": name, "empty": "It cannot be drawn: an input is not as expected "
                        f"({type(why).__name__}: {why})."})
    return out


def doubts(d):
    """What holds for all figures of a section: {section: red lines}."""
    out = {}
    for section, function in marks.SECTIONS.items():
        try:
            found = function(d)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as why:
            found = [f"Unproven: an input is not as expected ({type(why).__name__}: {why})."]
        if found:
            out[section] = found
    return out


def top(d, held):
    """The red lines at the top of the page, and where each of them holds: {line: places}."""
    out = {}
    for section, lines in held.items():
        for line in lines:
            out.setdefault(line, []).append(section.lower())
    for line in marks.ranks(d):
        out.setdefault(line, []).append("the trace")
    for line in marks.volumes(d):
        out.setdefault(line, []).append("volumes")
    return out


def content(d, version):
    """All that the page shows, as one object; the tests compare it with what the tools print."""
    figures = []
    for figure in FIGURES:
        parts = drawn(figure, d)
        if len(parts) > 1:  # figures of several results: those that have something
            parts = [p for p in parts if "empty" not in p] or parts[:1]
        figures.append({"section": figure.section, "title": figure.title, "caption": figure.caption,
                        "command": figure.command.replace("{trace}", quoted(d.path)), "parts": parts})
    some = {f["section"] for f in figures if any("empty" not in p for p in f["parts"])}
    figures.sort(key=lambda f: f["section"] not in some)  # sections without any data come last
    info, held = d.info(), doubts(d)
    above = top(d, held)
    lines = [*above, *(m for f in figures for p in f["parts"] for m in p.get("marks", []))]
    made = " (extrapolated)" if info.get("extrapolated") else ""
    return {"title": f"{info.get('application') or d.path}, {info['np']:,} ranks{made}", "trace": d.path,
            "version": version, "sentences": answer.sentences(d), "facts": answer.facts(d),
            "doubts": held, "top": above, "marks": list(dict.fromkeys(lines)), "figures": figures, "run": info.get("run_id"),
            "size": words.size(info.get("bytes", 0))}


def asset(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def digest(script):
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def render(data, library, licence):
    """The page as text.  Equal data gives an equal page."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    script = "\n".join(asset(name) for name in SCRIPTS)
    for name, code in (("library", library), ("page", script)):
        if "</script" in code.lower() or "<!--" in code:
            raise Fault(f"the {name}'s script cannot stand in a page: it has '</script' or '<!--'")
    policy = ("default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
              f"form-action 'none'; script-src '{digest(library)}' '{digest(script)}'")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="ti-report {html.escape(data['version'])}">
<title>{html.escape(data['title'])}</title>
<style>
{asset('page.css')}</style>
</head>
<body>
<noscript>This page draws its figures with JavaScript, which is switched off.</noscript>
<div id="page"></div>
<script type="application/json" id="data">{text}</script>
<!-- d3: {html.escape(licence)} -->
<script>{library}</script>
<script>{script}</script>
</body>
</html>
"""
