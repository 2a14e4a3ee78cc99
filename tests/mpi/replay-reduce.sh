#!/bin/bash
# ti-replay --reduce-rate: what the arithmetic of reductions adds to the simulated time, for each
# kind of reduction, and that it adds nothing to anything else.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma}
replay() { "$o/ti-replay" --no-progress "$@" >"$tmp/out" 2>"$tmp/err"; }
clock_of() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$tmp/out"; }

# One reduction of a million bytes, or of a block of it a rank.
cat >"$tmp/reduce.c" <<'C'
#include <mpi.h>
#include <string.h>

#define N      125000
#define IS(x)  (strcmp(argv[1], x) == 0)
#define HOW    MPI_DOUBLE, MPI_SUM
#define WORLD  MPI_COMM_WORLD

static double in[N], out[N];
static struct {
    double value;
    int rank;
} in_place[N / 2];

int main(int argc, char **argv)
{
    int np, counts[16];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win window;

    (void)argc;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(WORLD, &np);
    for (int i = 0; i < np; i++)
        counts[i] = N / np;
    if (IS("reduce"))
        MPI_Reduce(in, out, N, HOW, 0, WORLD);
    if (IS("allreduce"))
        MPI_Allreduce(in, out, N, HOW, WORLD);
    if (IS("in_place")) /* 12 bytes each */
        MPI_Allreduce(MPI_IN_PLACE, in_place, N / 2, MPI_DOUBLE_INT, MPI_MAXLOC, WORLD);
    if (IS("reduce_scatter"))
        MPI_Reduce_scatter(in, out, counts, HOW, WORLD);
    if (IS("reduce_scatter_block"))
        MPI_Reduce_scatter_block(in, out, N / np, HOW, WORLD);
    if (IS("scan"))
        MPI_Scan(in, out, N, HOW, WORLD);
    if (IS("exscan"))
        MPI_Exscan(in, out, N, HOW, WORLD);
    if (IS("ireduce"))
        MPI_Ireduce(in, out, N, HOW, 0, WORLD, &request);
    if (IS("iallreduce"))
        MPI_Iallreduce(in, out, N, HOW, WORLD, &request);
    if (IS("ireduce_scatter"))
        MPI_Ireduce_scatter(in, out, counts, HOW, WORLD, &request);
    if (IS("ireduce_scatter_block"))
        MPI_Ireduce_scatter_block(in, out, N / np, HOW, WORLD, &request);
    if (IS("iscan"))
        MPI_Iscan(in, out, N, HOW, WORLD, &request);
    if (IS("iexscan"))
        MPI_Iexscan(in, out, N, HOW, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (IS("alltoall"))
        MPI_Alltoall(in, N / np, MPI_DOUBLE, out, N / np, MPI_DOUBLE, WORLD);
    if (IS("accumulate")) {
        MPI_Win_create(out, sizeof out, sizeof *out, MPI_INFO_NULL, WORLD, &window);
        MPI_Win_fence(0, window);
        MPI_Accumulate(in, N, MPI_DOUBLE, 0, 0, N, HOW, window);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);
    }
    MPI_Finalize();
    return 0;
}
C
"${MPICC:-mpicc}" -o "$tmp/reduce" "$tmp/reduce.c" 2>"$tmp/err" || { cat "$tmp/err"; fail mpicc; finish; }

# adds WHAT BYTES RATE OPTION...: the replay of trace WHAT is BYTES / RATE longer with --reduce-rate.
adds() {
    local without
    without=$(replay "$tmp/$1" --no-compute "${@:4}" && clock_of)
    replay "$tmp/$1" --no-compute --reduce-rate "$3Bps" "${@:4}"
    awk -v a="$without" -v b="$(clock_of)" -v e="$(awk "BEGIN { print $2 / $3 }")" \
        'BEGIN { d = b - a - e; exit !(a > 0 && d <= 1e-6 * e + 1e-11 && -d <= 1e-6 * e + 1e-11) }' ||
        { fail "$*: '$without' s, with --reduce-rate '$(clock_of)' s"; cat "$tmp/err"; }
}

# On the way to the last result one rank combines so many bytes, by the algorithm of SimGrid's
# default: with 2 ranks, and with 4.
while read -r what two four; do
    for np in 2 4; do
        trace "$tmp/$what.$np" $np cputime "$tmp/reduce" "$what" </dev/null >"$tmp/out" 2>&1 ||
            { fail "$what"; tail -n 5 "$tmp/out"; }
    done
    adds "$what.2" "$two" 1e9
    adds "$what.4" "$four" 1e9
done <<'END'
reduce                1000000 3000000
allreduce             1000000 3000000
in_place               750000 2250000
reduce_scatter        1000000 3000000
reduce_scatter_block  1000000 3000000
scan                  1000000 3000000
exscan                      0 2000000
ireduce               1000000 3000000
iallreduce            1000000 3000000
ireduce_scatter        500000  750000
ireduce_scatter_block  500000  750000
iscan                 1000000 3000000
iexscan               1000000 3000000
alltoall                    0       0
accumulate                  0       0
END

# As long on any host; by any algorithm.
for speed in 8Gf 2.5Mf; do
    replay "$tmp/reduce.2" --speed $speed --keep "$tmp/$speed"
    adds reduce.2 1000000 123456 --platform "$tmp/$speed/platform.xml"
    adds ireduce.2 1000000 2e9 --platform "$tmp/$speed/platform.xml"
done
adds allreduce.4 2000000 1e9 --collectives tree
adds allreduce.4 750000 1e9 --collectives ompi
adds reduce_scatter.4 1250000 1e9 --collectives mpich
adds allreduce.4 750000 1e9 --collectives mvapich2
adds reduce.4 2000000 1e9 --collectives impi

replay "$tmp/reduce.2" --reduce-rate 4GBps --json || fail json
python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); assert (j["engine"], j["reduce_rate"]) == ("tiara", "4GBps"), j' \
    "$tmp/out" || fail 'json does not have the rate'

# ---- what is refused ----

refused() { # STATUS TEXT OPTION...
    replay "$tmp/reduce.2" "${@:3}"
    [ $? -eq "$1" ] || fail "status is not $1: ${*:3}"
    grep -qF -- "$2" "$tmp/err" || { fail "does not say '$2': ${*:3}"; cat "$tmp/err"; }
}
refused 2 '--reduce-rate needs --engine tiara' --engine stock --reduce-rate 1GBps
refused 2 "--reduce-rate: '4' is not a bandwidth" --reduce-rate 4
refused 2 "--reduce-rate: '0GBps' is not a bandwidth" --reduce-rate 0GBps
finish
