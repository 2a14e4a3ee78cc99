"""The functions of libtiara: its header is read as it is."""

import os
import re
from pathlib import Path
from typing import Any

from cffi import FFI

from tiara.errors import Error, of_status

SONAME = "libtiara.so.1"


def declarations(header: str) -> str:
    """The declarations of tiara.h without comments and the preprocessor's lines."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for name, value in re.findall(r"^#define (TIARA_\w+)\s+(\d+)u?\s*$", text, flags=re.M):
        text = re.sub(rf"\b{name}\b(?!\s+{value})", value, text)
    text = re.sub(r"^#.*?(?<!\\)\n", "", text, flags=re.S | re.M)
    return text.replace('extern "C" {', "").rstrip().removesuffix("}")


def _header() -> str:
    """The header, which the package holds when it is installed."""
    here = Path(__file__).resolve().parent
    inside = here / "tiara.h"
    header = inside if inside.exists() else here.parents[1] / "lib/api/tiara.h"
    return header.read_text(encoding="utf-8")


def _candidates() -> list[str]:
    named = os.environ.get("TIARA_LIBRARY")
    if named:
        return [named]
    here = Path(__file__).resolve().parent
    beside = [str(up / "lib" / SONAME) for up in here.parents]
    beside += [str(up / SONAME) for up in here.parents]
    return [path for path in beside if os.path.exists(path)] + [SONAME]


def _load() -> tuple[Any, str]:
    why = ""
    for path in _candidates():
        try:
            return ffi.dlopen(path), path
        except OSError as error:
            why = str(error)
    raise Error(f"cannot load {SONAME}: {why}", "the environment variable TIARA_LIBRARY names it")


ffi = FFI()
ffi.cdef(declarations(_header()))
lib, library_path = _load()


def text_of(chars: Any) -> str:
    """A string of the library: "" for NULL.  Traces may hold any bytes."""
    return bytes(ffi.string(chars)).decode("utf-8", "replace") if chars else ""


class Failure:
    """Room for an error of the library."""

    def __init__(self) -> None:
        self.pointer = ffi.new("struct tiara_error *")

    def exception(self) -> Error:
        """The exception for what the library wrote there."""
        return of_status(int(self.pointer.status), text_of(self.pointer.text),
                         text_of(self.pointer.hint))

    def check(self, status: int) -> None:
        """Raise unless the status is TIARA_OK."""
        if status:
            raise self.exception()
