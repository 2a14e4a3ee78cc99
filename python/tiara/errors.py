"""Errors: each has the sentence of the library or the tool, and a hint."""


class Error(Exception):
    """What failed, and why.

    text: a sentence.  hint: what to do about it, or "".  status: the status of tiara.h, which is
    also the exit status of the tools.
    """

    status = 0

    def __init__(self, text: str, hint: str = "", status: int | None = None) -> None:
        super().__init__(text + ("" if not hint else f"\nhint: {hint}"))
        self.text = text
        self.hint = hint
        if status is not None:
            self.status = status


class PartialError(Error):
    """Something is missing: a trace was cut off, or is of some ranks only."""

    status = 1


class UsageError(Error, ValueError):
    """An argument makes no sense."""

    status = 2


class DamagedError(Error):
    """An input is malformed, or cannot be used."""

    status = 3


class IOError(Error, OSError):  # pylint: disable=redefined-builtin
    """A file cannot be read, or memory is short."""

    status = 4


class ToolError(Error):
    """A program of Tiara failed, or is not installed."""


def of_status(status: int, text: str, hint: str) -> Error:
    """The exception for a status of the library."""
    for kind in (PartialError, UsageError, DamagedError, IOError):
        if kind.status == status:
            return kind(text, hint)
    return Error(text, hint, status)
