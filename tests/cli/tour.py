"""Execute the command blocks of a Markdown file, in order, in one shell, and compare what they
print with what the file says they print.

    tour.py FILE.md FOLDER      FOLDER: where the first command is executed

A block is a run of lines that are indented by four blanks.  In it "$ " begins a command, which
goes on behind a backslash or up to the end of a here-document; what stands behind it, up to the
next command, is what it prints, on both outputs.  Blocks without "$ " are no commands.  A block
behind a line "<!-- not executed: WHY -->" is not executed.

"..." stands for any text, and as a line for any lines.  What varies from run to run or from
machine to machine is compared by its shape: times, sizes, run ids, and the lines in VARYING.
Numbers from a million on, and simulated times, may differ by 0.01 %: what glibc chooses for a
processor executes a few instructions more or less.  The documents have the volumes of gcc 12;
those of another compiler may differ by 10 %.
"""
import re
import subprocess
import sys

# Lines that are not the same everywhere: only their beginning is compared.
VARYING = ["  mode ", "  memory ", "  command ", "cpu ", "mpi ", "nodes ", "acquired ", "whole run ",
           "bytes ", "stored ", "wall time: ", "calibration "]
NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?"
TOKENS = re.compile(
    r"(?P<dots>\.\.\.)|(?P<id>\b[0-9a-f]{32}\b)|(?P<simulated>\b[0-9]+\.[0-9]{6,}(?= s\b))"
    r"|(?P<unit>" + NUMBER + r" ?(?:[KMGT]iB|B|s|ms|GiB/s|MiB/s|KiB/s)\b)"
    r"|(?P<large>\b[0-9]{1,3}(?:,[0-9]{3}){2,}\b)|(?P<blank>\s+)")


def compiler():
    """The first number of gcc's version, or "" if there is no gcc."""
    try:
        return subprocess.run(["gcc", "-dumpversion"], stdout=subprocess.PIPE, text=True).stdout.split(".")[0].strip()
    except OSError:
        return ""


TOLERANCE = 1e-4 if compiler() == "12" else 0.1


def pattern(line):
    """A regular expression for the line, and the numbers that its groups are compared with."""
    for start in VARYING:
        if line.startswith(start):
            return r"\s+".join(map(re.escape, start.split(" "))) + ".*", []
    out, exact, at = "", [], 0
    for token in TOKENS.finditer(line):
        out += re.escape(line[at:token.start()])
        at = token.end()
        if token["dots"]:
            out += ".*"
        elif token["id"]:
            out += "[0-9a-f]{32}"
        elif token["unit"]:
            out += NUMBER + r" ?(?:[KMGT]iB|B|s|ms|GiB/s|MiB/s|KiB/s)"
        elif token["large"] or token["simulated"]:
            out += "([0-9,.]+)"
            exact.append(float(token[0].replace(",", "")))
        else:
            out += r"\s+"
    return out + re.escape(line[at:]), exact


def same(expected, found):
    text, exact = pattern(expected)
    match = re.fullmatch(text, found.rstrip())
    if not match:
        return False
    numbers = [float(group.replace(",", "")) for group in match.groups()]
    return all(abs(a - b) <= TOLERANCE * a for a, b in zip(exact, numbers))


def compare(expected, found):
    """None, or the line of `expected` that is not found."""
    def at(i, k):
        while i < len(expected):
            if expected[i].strip() == "...":
                return None if i + 1 == len(expected) else min_of(i + 1, k)
            if k == len(found) or not same(expected[i], found[k]):
                return i
            i, k = i + 1, k + 1
        return None if k == len(found) else len(expected)

    def min_of(i, k):
        furthest = i
        for start in range(k, len(found) + 1):
            bad = at(i, start)
            if bad is None:
                return None
            furthest = max(furthest, bad)
        return furthest
    return at(0, 0)


def commands(lines):
    """[line number, command, what it prints] of each, in order."""
    found, skip, last, ends = [], False, None, None
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n")
        if line.startswith("<!-- not executed: "):
            skip = True
        elif not line.startswith("    ") and line:
            skip, last, ends = False, None, None
        elif not line and last is not None and not ends:
            last[2].append("")
        elif ends is not None:
            last[1] += "\n" + line[4:]
            if line[4:] == ends:
                ends = None
        elif skip or not line:
            continue
        elif line.startswith("    $ "):
            last = [number, line[6:], []]
            found.append(last)
            here = re.search(r"<<'?(\w+)'?", line)
            ends = here.group(1) if here else None
        elif last is not None and last[1].endswith("\\"):
            last[1] += "\n" + line[4:]
        elif last is not None:
            last[2].append(line[4:])
    return found


def main():
    path, folder = sys.argv[1:]
    with open(path) as f:
        todo = commands(f.readlines())
    script = "".join("echo '@@ %d'\n%s\necho \"@@ %d $?\"\n" % (n, command, n)
                     for n, command, _ in todo)
    shell = subprocess.run(["bash", "-c", script], cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    bad = 0
    for number, command, expected in todo:
        part = re.search(r"^@@ %d\n(.*?)^@@ %d (\d+)$" % (number, number), shell.stdout,
                         re.DOTALL | re.MULTILINE)
        found = part.group(1).splitlines() if part else []
        while expected and not expected[-1].strip():
            expected.pop()
        while found and not found[-1].strip():
            found.pop()
        wrong = compare(expected, found) if expected else None
        if part and part.group(2) == "0" and wrong is None:
            continue
        bad += 1
        print("FAILED: %s:%d: %s" % (path, number, command))
        if not part:
            print("it was not executed to its end")
        elif part.group(2) != "0":
            print("status %s" % part.group(2))
        if wrong is not None:
            print("expected: %s" % (expected[wrong] if wrong < len(expected) else "no more"))
        print("\n".join("> " + line for line in found))
    print("%d commands, %d of them with what they print" %
          (len(todo), sum(1 for _, _, expected in todo if expected)))
    sys.exit(1 if bad or not todo else 0)


main()
