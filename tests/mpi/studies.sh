#!/bin/bash
# The studies of examples/studies run, and come out as their README says.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch
TI_BUILD=$TI_BUILD examples/studies/fat-tree.sh "$tmp/tree" >"$tmp/out" 2>&1 ||
    { fail fat-tree; cat "$tmp/out"; }
TI_BUILD=$TI_BUILD examples/studies/torus.sh "$tmp/torus" >"$tmp/out" 2>&1 ||
    { fail torus; cat "$tmp/out"; }
python3 - "$tmp" <<'END_PY' || fail 'not the shape that examples/studies/README.md describes'
import csv, os, statistics, sys
tmp = sys.argv[1]
def times(study):
    assert os.path.getsize("%s/%s/plot.svg" % (tmp, study)) > 1000
    rows = list(csv.DictReader(open("%s/%s/results.csv" % (tmp, study))))
    return {tuple(list(r.values())[:2]): float(r["clock_s"]) for r in rows}

grows = {}
for program in "is", "stencil":
    t = times("tree/" + program)
    assert len(t) == 8, t
    widths, trees = (list(dict.fromkeys(k[i] for k in t)) for i in (0, 1))
    for tree in trees: # less bandwidth at the top takes longer
        row = [t[w, tree] for w in widths]
        assert row == sorted(row) and len(set(row)) == 4, (program, tree, row)
    for w in widths:   # and so do fewer switches, of `is` in any case
        assert t[w, trees[0]] <= t[w, trees[1]] * (1 if program == "stencil" else 0.95), (program, w)
    grows[program] = t[widths[-1], trees[-1]] / t[widths[0], trees[0]]
assert grows["is"] > 4 and grows["stencil"] < 2.5, grows

t = times("torus/stencil")
assert len(t) == 21, t
def chance(torus):
    return [t[torus, "random:%d" % seed] for seed in range(1, 6)]
for torus in "torus:4,8", "torus:4,4,2": # blocks fit
    assert t[torus, "block"] < t[torus, "round-robin"] < statistics.median(chance(torus)), torus
    assert t[torus, "block"] * 1.5 < min(chance(torus)), torus
torus = "torus:8,4" # the same turned: round-robin fits, blocks are no better than chance
assert t[torus, "round-robin"] * 1.5 < min(chance(torus)), t
assert t[torus, "block"] > 0.8 * statistics.median(chance(torus)), t
END_PY
finish
