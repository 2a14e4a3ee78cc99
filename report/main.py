"""ti-report: write one HTML page with the figures of a trace and of its replays."""

import json
import os
import subprocess
import sys

from figures import FIGURES
from frames import write_frames
from inputs import HINTS, Fault, Inputs, package, quoted
from page import content, render

# (short, long, argument, help): the only list of options.
OPTIONS = [
    ("Results", None, None, None),
    ("", "replay", "FILE", "a result of ti-replay --json, best with --profile, --causes and\n--links; "
     "may be given several times"),
    ("", "study", "DIR", "the folder of a sweep, ti-replay --sweep -o DIR; may be given\nseveral times"),
    ("", "comparison", "FILE", "a result of ti-replay --versus or --scaling, or of\nti-info --compare, with --json; "
     "may be given several times"),
    ("", "timeline", "FILE", "a timeline in CSV, of ti-replay --timeline FILE.csv"),
    ("", "platform", "FILE", "a drawn platform, of ti-replay --show-platform=FILE.svg\n"
     "[default: that of the first replay, if it was generated]"),
    ("", "skew", "FILE", "a result of ti-skew --json"),
    ("", "debug-dir", "DIR", "look here first for debug information, as ti-info does\n[default: the folder of TRACE]"),
    ("Output", None, None, None),
    ("o", "output", "FILE", "the page to write [default: TRACE with .html]"),
    ("", "frames", "DIR", "write the load of the network over simulated time as pictures\nthat make a film, and no page; "
     "needs a --replay of\nti-replay --links=60 --json"),
    ("", "d3", "FILE", "d3.min.js, version 5 or later [default: Debian's, of node-d3]"),
    ("", "list", "", "list the figures and exit"),
    ("", "json", "", "print what the page shows as JSON, and write no page"),
    ("q", "quiet", "", "print errors only"),
    ("h", "help", "", "this text"),
    ("V", "version", "", "version"),
]
HEAD = """Write one HTML page with the figures of a trace and of its replays.

Usage: ti-report [OPTION]... TRACE

Examples:
  ti-report lu.tib -o lu.html
  ti-replay lu.tib --profile --causes --links --json >r.json; ti-report lu.tib --replay r.json
  ti-report lu.tib --replay fast.json --replay slow.json --study study
  ti-replay lu.tib --links=60 --json >r.json; ti-report lu.tib --replay r.json --frames film
"""
TAIL = """
The page needs no network and no other file.
Exit status: 0 fine, 2 usage, 3 an input is malformed, 4 local I/O.
More: man ti-report"""
SEVERAL = ("replay", "study", "comparison")
D3 = ["/usr/share/nodejs/d3/dist/d3.min.js", "/usr/share/javascript/d3/d3.min.js"]
LICENCE = """Copyright Mike Bostock, licence BSD-3-Clause.
Redistribution and use in source and binary forms, with or without modification, are permitted provided
that the following conditions are met: Redistributions of source code must retain the above copyright
notice, this list of conditions and the following disclaimer. Redistributions in binary form must
reproduce the above copyright notice, this list of conditions and the following disclaimer in the
documentation and/or other materials provided with the distribution. Neither the name of the author nor
the names of contributors may be used to endorse or promote products derived from this software without
specific prior written permission. THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS
"AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT
OWNER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR
CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS
OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY
OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE."""


class Usage(Exception):
    pass


def say(text):
    """Print on standard output, which may be closed or full."""
    try:
        if sys.stdout is None:
            raise OSError(9, "Bad file descriptor")
        print(text, flush=True)
    except OSError as err:
        sys.stdout = None  # nothing more is tried at the end
        raise Fault(f"cannot write standard output: {err.strerror}", 4) from err


def note(text):
    if sys.stderr is not None:
        print(text, file=sys.stderr)


def help_text():
    out = [HEAD]
    for short, name, argument, text in OPTIONS:
        if name is None:
            out.append(f"{short}:")
            continue
        left = f"  {f'-{short},' if short else '   '} --{name}{' ' + argument if argument else ''}"
        first, *rest = text.split("\n")
        if len(left) > 22:
            out += [left, " " * 24 + first]
        else:
            out.append(f"{left:24}{first}")
        out += [" " * 24 + line for line in rest]
    return "\n".join(out) + "\n" + TAIL


def option_table():
    """The table of options as the tools in C print it, for tools/gen-completion."""
    rows = [(short, name, argument, "", text.replace("\n", " "), "")
            for short, name, argument, text in OPTIONS if name]
    return "\n".join("\t".join(row) for row in [("ti-report", "", ""), *rows])


def version_text(tools, version):
    """Version, commit and libraries: those of the ti-info that it runs."""
    try:
        done = subprocess.run([os.path.join(tools, "ti-info"), "--version"], capture_output=True,
                              text=True, check=True)
        return done.stdout.rstrip("\n").replace("ti-info", "ti-report", 1)
    except (OSError, subprocess.CalledProcessError):
        return f"ti-report (Tiara) {version}, commit unknown"


def parse_line(arguments):
    """Options as {name: value}, and the operands."""
    names = {name: argument for _, name, argument, _ in OPTIONS if name}
    shorts = {short: name for short, name, *_ in OPTIONS if name and short}
    values, operands, rest = {}, [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if word == "-" or not word.startswith("-"):
            operands.append(word)
            continue
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
        else:
            name, value = shorts.get(word[1]), word[2:]
            equals = value
        if name not in names:
            raise Usage(f"unknown option '{word}'")
        if not names[name]:
            if equals:
                raise Usage(f"option '--{name}' takes no value")
            value = True
        elif not equals:
            if not rest:
                raise Usage(f"option '--{name}' needs a value")
            value = rest.pop(0)
        if name in SEVERAL:
            values.setdefault(name, []).append(value)
        elif name in values and value is not True:
            raise Usage(f"option '--{name}' is given twice")
        else:
            values[name] = value
    return values, operands


def library(path):
    for candidate in [path] if path else D3:
        if os.path.exists(candidate) or path:
            try:
                with open(candidate, encoding="utf-8") as file:
                    text = file.read()
            except (OSError, UnicodeDecodeError) as err:
                raise Fault(f"cannot read '{candidate}': {getattr(err, 'strerror', None) or err}", 4) from err
            if "d3" not in text[:200]:
                raise Fault(f"'{candidate}' is not d3")
            return text
    raise Fault(f"cannot find d3.min.js, which draws the figures; looked for {' and '.join(D3)}\n"
                "hint: install Debian's package node-d3, or name the file with --d3", 4)


def gathered(values, trace, tools):
    package()
    d = Inputs(trace, tools)
    d.debug_dir, d.timeline, d.picture = (values.get(k) for k in ("debug-dir", "timeline", "platform"))
    if not os.path.exists(trace):
        raise Fault(f"cannot open '{trace}': No such file or directory")
    for option, path in (("timeline", d.timeline), ("platform", d.picture)):
        if path and not os.access(path, os.R_OK):
            why = "Permission denied" if os.path.exists(path) else "No such file or directory"
            raise Fault(f"cannot read '{path}': {why}{HINTS[option]}")
    for path in values.get("replay", []):
        d.add_replay(path)
    for folder in values.get("study", []):
        d.add_study(folder)
    for path in values.get("comparison", []):
        d.add_comparison(path)
    if "skew" in values:
        d.set_skew(values["skew"])
    return d


def write(path, text):
    """Write the page; an existing one is replaced only by a whole one."""
    part = path + ".part"
    try:
        with open(part, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(part, path)
    except OSError as err:
        raise Fault(f"cannot write '{path}': {err.strerror}", 4) from err


def work(arguments, tools, version):
    if arguments == ["--option-table"]:
        say(option_table())
        return
    values, operands = parse_line(arguments)
    if "help" in values:
        say(help_text())
        return
    if "version" in values:
        say(version_text(tools, version))
        return
    if "list" in values:
        say("\n".join(f"{f.section}: {f.title}. {f.caption}" for f in FIGURES))
        return
    if len(operands) != 1:
        raise Usage("one TRACE is needed" if not operands else f"one TRACE is needed, not {len(operands)}")
    code = None if "json" in values or "frames" in values else library(values.get("d3"))
    d = gathered(values, operands[0], tools)
    if "frames" in values:
        n = write_frames(d, values["frames"])
        if "quiet" not in values:
            note(f"ti-report: wrote {quoted(values['frames'])}: {n} pictures; its README says how to make a film")
        return
    data = content(d, version)
    for text in d.warnings:
        note(f"ti-report: warning: {text}")
    if "json" in values:
        say(json.dumps(data, indent=1))
        return
    name = values.get("output") or os.path.splitext(operands[0].rstrip("/"))[0] + ".html"
    page = render(data, code, LICENCE)
    write(name, page)
    if "quiet" not in values:
        empty = sum(all("empty" in p for p in f["parts"]) for f in data["figures"])
        note(f"ti-report: wrote {quoted(name)}: {len(data['figures']) - empty} figures, {empty} without "
             f"data, {os.path.getsize(name):,} bytes")


def main(arguments, tools, version):
    try:
        work(arguments, tools, version)
    except Usage as err:
        note(f"ti-report: {err}\ntry 'ti-report --help'")
        return 2
    except Fault as err:
        note(f"ti-report: {err}")
        return err.status
    except KeyboardInterrupt:
        return 130
    return 0
