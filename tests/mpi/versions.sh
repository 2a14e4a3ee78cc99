#!/bin/bash
# Two builds of a program, by real call sites with debug information: ti-info --compare finds the
# call sites of the old version in the new one, where lines moved, a call was added, a function was
# renamed, a loop was split; and says so where the source lines of one build are not known.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ "$MPI" = openmpi ] || skip 'one MPI library is enough'
command -v mpicc >/dev/null && command -v python3 >/dev/null || skip 'there is no mpicc or python3'
o=$TI_BUILD
"$o/ti-info" --help | grep -q 'without libdw' && skip 'ti-info was built without libdw'
export TIARA_QUIET=1
MPIRUN=$(pass TIARA_QUIET)
cd "$scratch" || exit 1

cat >app.c <<'END'
#include <mpi.h>

static double sum;

static __attribute__((noinline)) void exchange(int rank, int np)
{
    char out[64] = {0}, in[64];

    MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % np, 1, in, 64, MPI_CHAR, (rank + np - 1) % np, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#ifdef NEW

    /* two more lines, and a call */
    MPI_Bcast(in, 16, MPI_CHAR, 0, MPI_COMM_WORLD);
#endif
    MPI_Barrier(MPI_COMM_WORLD);
}

#ifdef NEW
#define norm residual
#endif
static __attribute__((noinline)) void norm(void)
{
    double mine = sum;

    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, np;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
#ifdef NEW
    for (int i = 0; i < 12; i++)
        exchange(rank, np);
    for (int i = 0; i < 12; i++)
        norm();
#else
    for (int i = 0; i < 10; i++) {
        exchange(rank, np);
        norm();
    }
#endif
    MPI_Finalize();
    return 0;
}
END
mkdir old new
mpicc -g -O1 -o old/app app.c && mpicc -g -O1 -DNEW -o new/app app.c || fail mpicc
for version in old new; do
    trace "$scratch/$version.run" 3 cputime $version/app >log 2>&1 || { fail "$version"; cat log; }
done

compare() { # STATUS ARGUMENT...
    "$o/ti-info" --compare old.run --no-volumes "${@:2}" new.run >out 2>err
    [ $? -eq "$1" ] || { fail "status of --compare ${*:2}"; cat out err; }
}
compare 1 --json
python3 - <<'END' || { fail 'call sites'; cat out; }
import json
c = json.load(open("out"))["changes"]
site = {s["operation"]: s["sites"] for s in c["sites"]}
lines = {op: [s and (s["function"], s["line"]) for s in both] for op, both in site.items()}
assert lines["sendrecv"] == [("exchange", 9), ("exchange", 9)], lines
assert lines["bcast"][1] is None and lines["bcast"][0][0] == "exchange", lines
assert [f for f, _ in lines["barrier"]] == ["exchange"] * 2, lines
assert lines["allreduce"] == [("residual", 26), ("norm", 26)], lines
assert lines["reduce"][0][0] == "residual" and lines["reduce"][1][0] == "norm", lines
assert set(lines) == {"sendrecv", "bcast", "barrier", "allreduce", "reduce"}, lines
change = {s["operation"]: (s["calls"]["change"], s["messages"]["change"], s["bytes"]["change"]) for s in c["sites"]}
assert change["sendrecv"] == (6, 6, 6 * 64) and change["bcast"][0] == 36 and change["barrier"] == (6, 0, 0), change
assert change["allreduce"] == (6, 0, 48), change
# the old loop has the calls of both new ones: one row, and it is the only one
assert len(c["loops"]) == 1 and None not in c["loops"][0]["loops"], c["loops"]
assert c["loops"][0]["calls"]["change"] == c["all"]["calls"]["change"] == 36 + 4 * 6, c["loops"]
END
compare 1
grep -q 'bcast at exchange app.c:[0-9]* (only in new.run)' out || { fail 'what is new'; cat out; }
grep -q 'allreduce at residual app.c:26 (norm app.c:26 in old.run)' out || { fail 'what was renamed'; cat out; }

# without the old program: by the order of addresses in the program
mv old/app old/gone
compare 1 --json
python3 - <<'END' || { fail 'by addresses'; cat out; }
import json
c = json.load(open("out"))["changes"]
assert {s["operation"] for s in c["sites"] if None in s["sites"]} == {"bcast"}, c["sites"]
END
compare 1 --debug-dir nowhere
[ -s out ] || fail 'nothing is printed'
finish
