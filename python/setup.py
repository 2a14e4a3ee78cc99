"""Puts the header of the library, which is above this folder, into the package."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

TOP = Path(__file__).resolve().parent.parent


class BuildWithHeader(build_py):
    """The package, with tiara.h in it."""

    def run(self) -> None:
        super().run()
        shutil.copy(TOP / "lib/api/tiara.h", Path(self.build_lib) / "tiara")


version = re.search(r"^VERSION +:= (\S+)", (TOP / "Makefile").read_text(encoding="utf-8"), re.M)
assert version
setup(version=version[1], cmdclass={"build_py": BuildWithHeader})
