"""The programs of Tiara, by their `--json`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiara._ffi import library_path
from tiara.errors import ToolError

if TYPE_CHECKING:
    import pandas


def _find(tool: str) -> str:
    folders = [os.environ.get("TIARA_BIN", "")]
    library = Path(library_path).resolve()
    if library.exists():
        folders += [str(library.parent), str(library.parent.parent / "bin"),
                    str(library.parent.parent.parent / "bin")]
    for folder in filter(None, folders):
        if os.access(os.path.join(folder, tool), os.X_OK):
            return os.path.join(folder, tool)
    found = shutil.which(tool)
    if not found:
        raise ToolError(f"'{tool}' was not found",
                        "the environment variable TIARA_BIN names its folder")
    return found


def _arguments(options: dict[str, Any]) -> list[str]:
    """Options of a command line: topology="torus:4,4" is --topology torus:4,4; True is an option
    without a value, None and False are left out; a list repeats the option."""
    out = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                out.append(option)
            elif one is not None and one is not False:
                out.append(f"{option}={one}")
    return out


def run_tool(tool: str, *operands: str, **options: Any) -> Any:
    """Run a tool with --json and return what it prints, parsed.

    Keyword arguments are options: topology="torus:4,4" is --topology=torus:4,4.  ToolError has the
    sentence and the hint of a tool that fails.  A result that is partial (exit status 1) is a
    result.
    """
    command = [_find(tool), "--json", *_arguments(options), *map(str, operands)]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        lines = done.stderr.strip().splitlines()
        hints = [line[6:] for line in lines if line.startswith("hint: ")]
        texts = [line for line in lines if not line.startswith("hint: ")]
        raise ToolError(texts[-1] if texts else f"'{tool}' ended with status {done.returncode}",
                        hints[-1] if hints else "", done.returncode)
    return json.loads(done.stdout)


def info(path: str, **options: Any) -> Any:
    """What ti-info(1) says of a trace: the summary, or with an option (traffic=True, phases=True,
    imbalance=True, verify=True, compare="other.tib", ...) what that prints."""
    return run_tool("ti-info", path, **options)


def replay(path: str, *more: str, **options: Any) -> Any:
    """Replay a trace on a platform: tiara.replay("lu.tib", topology="torus:4,4", speed="2Gf").
    Options and result are those of ti-replay(1); result["clock_s"] is the answer, in seconds.
    Several traces are jobs side by side; with scaling=True they are runs of several sizes, and with
    versus="other.tib" two are compared: the result has a member of that name."""
    return run_tool("ti-replay", path, *more, **options)


def sweep(path: str, frame: bool = False, **options: Any) -> Any:
    """Replay a trace at several points: tiara.sweep("lu.tib", sweep=["latency=1us|10us"], ...).
    Options and result are those of ti-replay(1).  frame: the points as a pandas frame instead."""
    result = run_tool("ti-replay", path, **options)
    return points_frame(result) if frame else result


def points_frame(result: dict[str, Any]) -> pandas.DataFrame:
    """The points of a sweep as a pandas frame: a row for each, with its options and results."""
    import pandas

    return pandas.json_normalize(result["points"])
