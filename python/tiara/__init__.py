"""Tiara: read time-independent MPI traces, and replay them.

A trace has, for each rank of an MPI program, its MPI calls with their parameters, and the volume of
each compute burst between two calls.  It has no times.

    import tiara

    with tiara.open("lu.tib") as t:
        events = t.rank(3).events()          # a NumPy structured array
        print(events["volume"].sum())
        traffic = t.traffic()                # arrays: from, to, messages, bytes
        for loop in t.phases():
            print(loop)
    result = tiara.replay("lu.tib", topology="torus:4,4", speed="2Gf")

Reading needs the library libtiara.so.1 (libtiara(3)), which is looked for beside the installed
tools, and where the linker looks; the environment variable TIARA_LIBRARY names another one.
replay(), sweep() and info() call the programs ti-replay and ti-info, which are looked for in the
folder that the environment variable TIARA_BIN names, beside the library, and in PATH.
"""

from tiara.errors import DamagedError, Error, IOError, PartialError, ToolError, UsageError
from tiara.tools import info, replay, run_tool, sweep
from tiara.trace import (
    ANY, NONE, NULL, SELF, Comm, Coverage, Group, Histogram, Node, Part, Phase, Problem, Rank,
    Shape, Trace, Traffic, Verdict, fields, open, operations, version)

__all__ = [
    "ANY", "NONE", "NULL", "SELF", "Comm", "Coverage", "DamagedError", "Error", "Group",
    "Histogram", "IOError", "Node", "Part", "PartialError", "Phase", "Problem", "Rank", "Shape",
    "ToolError", "Trace", "Traffic", "UsageError", "Verdict", "fields", "info", "open",
    "operations", "replay", "run_tool", "sweep", "version"]

__version__ = version()
