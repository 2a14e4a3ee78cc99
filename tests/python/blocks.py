"""Execute the Python blocks of a Markdown file in order, as a notebook, and compare what each prints
with the lines that begin with "#>" in it.  Argument: FILE.md.  In expected lines "..." stands for
any text."""

import contextlib
import io
import re
import sys

names = {}
text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.S | re.M)
assert blocks, "no blocks"
for block in blocks:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, sys.argv[1], "exec"), names)  # pylint: disable=exec-used
    wanted = [line[3:] for line in block.splitlines() if line.startswith("#> ")]
    got = printed.getvalue().splitlines()
    same = len(wanted) == len(got) and all(
        re.fullmatch(".*".join(map(re.escape, w.split("..."))), g) for w, g in zip(wanted, got))
    if not same:
        sys.exit(f"{block}\nprints\n" + "\n".join(got))
