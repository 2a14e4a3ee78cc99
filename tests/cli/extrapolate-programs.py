"""Traces of small programs as scripts of mkscript, for extrapolate-programs.sh.

    python3 extrapolate-programs.py PROGRAM NP AXES

Each rank exchanges messages with itself, whose bytes are a function of its place in a grid of AXES
axes that is as square as can be, with the fewest parts along the first one.
"""

import itertools
import sys


def dims(np, axes):
    """The parts of each axis."""
    parts = range(1, np + 1)
    ways = [p for p in itertools.combinations_with_replacement(parts, axes - 1)
            if np % product(p) == 0]
    return min((sorted(p + (np // product(p),)) for p in ways), key=sum)


def product(numbers):
    result = 1
    for n in numbers:
        result *= n
    return result


def block(n, p, x):
    return n // p + (x < n % p)


PROGRAMS = {
    # one line through two numbers of parts
    "line": lambda np, p, x: 3 * -(-33 // p[0]),
    # cells of 1 byte or of 4 between cells at the sides
    "pad": lambda np, p, x: 16 + block(240, p[1], x[1]),
    # a number of one grid that another one gives as well
    "axes": lambda np, p, x: 3 * p[2],
    "log-or-part": lambda np, p, x: 3 * p[0],
    # logarithms that are rounded
    "floor": lambda np, p, x: 8 * (np.bit_length() - 1),
    "ceil": lambda np, p, x: 8 * (np - 1).bit_length(),
    # cells that are dealt in other ways, and such that have no rest in the inputs
    "last": lambda np, p, x: 8 * block(100, p[0], p[0] - 1 - x[0]),
    "even": lambda np, p, x: 8 * (100 * (x[0] + 1) // p[0] - 100 * x[0] // p[0]),
    "rest": lambda np, p, x: 8 * block(240, p[0], x[0]),
    # numbers near 2^63
    "large": lambda np, p, x: 2**63 - 1 - x[0],
    "larger": lambda np, p, x: 2**62 + 2**40 * np,
    # calls that depend on the place
    "places": lambda np, p, x: 8 * block(100, p[1], x[1]),
}


def main():
    name, np, axes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    p = dims(np, axes)
    for rank in range(np):
        x, rest = [], rank
        for parts in p:
            x.append(rest % parts)
            rest //= parts
        size = PROGRAMS[name](np, p, x)
        print(f"{rank} init")
        print(f"{rank} sendrecv v=100 site=app+0x10 comm=0 peer=0 tag=1 bytes={size} esize=1 "
              f"rpeer=0 rtag=1 rbytes={size} resize=1")
        for axis in range(axes if name == "places" else 0):
            for side in (0, p[axis] - 1):
                if x[axis] != side:
                    print(f"{rank} sendrecv v=50 site=app+0x{2 + axis}{min(side, 1)} comm=0 peer=0 "
                          "tag=2 bytes=8 esize=1 rpeer=0 rtag=2 rbytes=8 resize=1")
        print(f"{rank} finalize")


main()
