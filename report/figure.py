"""A figure of the report, and why one can be empty."""

from typing import Callable, NamedTuple


class Empty(Exception):
    """The figure has no data: the sentence says why."""


class Figure(NamedTuple):
    section: str
    title: str
    function: Callable  # of Inputs, or with `each` of Inputs and one result; returns what is drawn
    caption: str
    command: str  # with {trace} for the trace
    each: str = ""  # a list of Inputs, such as "replays": drawn once for each of these
