#!/bin/bash
# What ranks of a host share: the speed of its cores (--contention), the bandwidth of messages within
# it (--loopback with a third value), and copies within a rank (--copy-rate), each against a sum by
# hand.  Without these values, or with one rank a host, all is as before.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
replay() { "$o/ti-replay" --no-progress "$@" >"$tmp/out" 2>"$tmp/err"; }
clock_of() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$tmp/out"; }

# takes EXPRESSION TRACE OPTION...: the replay takes so many seconds, by awk.
takes() {
    replay "$tmp/$2" "${@:3}"
    awk -v is="$(clock_of)" "BEGIN { d = is - ($1); exit !(is > 0 && d <= 2e-12 && -d <= 2e-12) }" ||
        { fail "${*:2}: '$(clock_of)' s, not $1 = $(awk "BEGIN { printf \"%.12f\", ($1) }")"; cat "$tmp/err"; }
}

cat >"$tmp/node.c" <<'C'
#include <mpi.h>
#include <string.h>

#define N     125000 /* doubles of a megabyte */
#define IS(x) (strcmp(argv[1], x) == 0)
#define WORLD MPI_COMM_WORLD

static double in[N], out[N];

int main(int argc, char **argv)
{
    volatile double x = 1;
    int rank, np, counts[4] = {N / 4, N / 4, N / 4, N / 4}, places[4] = {0};

    (void)argc;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &np);
    if (IS("compute"))
        for (long i = 0; i < 500000L * (rank + 1); i++)
            x = x * 0.5 + 1;
    if (IS("exchange"))
        MPI_Sendrecv(in, N, MPI_DOUBLE, rank ^ 1, 0, out, N, MPI_DOUBLE, rank ^ 1, 0, WORLD,
                     MPI_STATUS_IGNORE);
    if (IS("alltoall"))
        MPI_Alltoall(in, N / np, MPI_DOUBLE, out, N / np, MPI_DOUBLE, WORLD);
    if (IS("alltoallv")) /* a quarter each, of ranks that are 2 */
        MPI_Alltoallv(in, counts, places, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, WORLD);
    if (IS("gather"))
        MPI_Gather(in, N / np, MPI_DOUBLE, out, N / np, MPI_DOUBLE, 0, WORLD);
    if (IS("scatter"))
        MPI_Scatter(in, N / np, MPI_DOUBLE, out, N / np, MPI_DOUBLE, 1, WORLD);
    if (IS("allgather"))
        MPI_Allgather(in, N / np, MPI_DOUBLE, out, N / np, MPI_DOUBLE, WORLD);
    if (IS("allreduce"))
        MPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_SUM, WORLD);
    MPI_Finalize();
    return 0;
}
C
"${MPICC:-mpicc}" -o "$tmp/node" "$tmp/node.c" 2>"$tmp/err" || { cat "$tmp/err"; fail mpicc; finish; }
for what in compute exchange alltoall alltoallv gather scatter allgather allreduce; do
    trace "$tmp/$what" 2 cputime "$tmp/node" $what >"$tmp/out" 2>&1 || { fail "$what"; tail -n 5 "$tmp/out"; }
done
trace "$tmp/three" 3 cputime "$tmp/node" compute >"$tmp/out" 2>&1 || { fail three; tail -n 5 "$tmp/out"; }

# ---- cores ----

# The bursts of the ranks, ascending, in nanoseconds: at 1 Gf, seconds are these / 1e9.
volumes() { "$o/ti-info" --dump "$tmp/$1" | awk '$2 == "finalize" { printf "%.9f\n", $1 / 1e9 }' | sort -g | tr '\n' ' '; }
read -r a b <<<"$(volumes compute)"
on=(--speed 1Gf --ranks-per-host 2 --cores 2)
takes "$b" compute "${on[@]}"
takes "$b" compute "${on[@]}" --contention none
takes "$b" compute "${on[@]}" --contention 1:1
takes "$a / .5 + ($b - $a)" compute "${on[@]}" --contention 1:1,2:0.5
takes "($a / .75 + ($b - $a) / 1.25) / 8" compute "${on[@]}" --contention '1:1.25,2:0.75' --speed 8Gf
takes "$b / .8" compute --speed 1Gf --contention '1:0.8,2:0.1' # a host each
for platform in hierarchical:2,2,1 'fat-tree:1;4;1;1' 'fat-tree:1;4;1;1 --latency 2us' torus:2,2 'dragonfly:1,1;1,1;2,1;2'; do
    # shellcheck disable=SC2086
    takes "$a / .5 + ($b - $a)" compute "${on[@]}" --contention 1:1,2:0.5 --topology $platform
done
printf '[cluster a]\nnodes = n-[0-1]\ncores = 2\nmemory = 1G\nspeed = 2G\nsite = here\n' >"$tmp/sites.conf"
takes "($a / .5 + ($b - $a)) / 2" compute --sites "$tmp/sites.conf" --ranks-per-host 2 --contention 1:1,2:0.5
read -r a b c <<<"$(volumes three)"
takes "$a / .4 + ($b - $a) / .7 + ($c - $b)" three "${on[@]}" --ranks-per-host 3 --cores 3 --contention 1:1,3:0.4
takes "$a / .5 + ($b - $a) / .5 + ($c - $b)" three "${on[@]}" --ranks-per-host 3 --cores 3 --contention 1:1,2:0.5
# two ranks on one host, one on the other
takes "($c > $a / .5 + ($b - $a) ? $c : $a / .5 + ($b - $a))" three "${on[@]}" --contention 1:1,2:0.5

# ---- messages ----

on=(--no-compute --ranks-per-host 2 --cores 2)
for key in os ois or; do on+=(--cfg "smpi/$key:0:0:0"); done
for key in bw-factor lat-factor; do on+=(--cfg "smpi/$key:0:1"); done
# a message of a megabyte and SMPI's 16 bytes, on the way for a microsecond
for platform in cluster hierarchical:2,2,1 'fat-tree:1;4;1;1'; do
    takes '1e-6 + 1.000016e-3' exchange "${on[@]}" --topology "$platform" --loopback 1GBps,1us
    takes '1e-6 + 1.000016e-3' exchange "${on[@]}" --topology "$platform" --loopback 1GBps,1us,2GBps
    takes '1e-6 + 2.000032e-3' exchange "${on[@]}" --topology "$platform" --loopback 1GBps,1us,1GBps
    takes '1e-6 + 2.000032e-3' exchange "${on[@]}" --topology "$platform" --loopback 1GBps,1us,1GBps --cfg network/crosstraffic:0
    takes '1e-6 + 2.000032e-3 / 1.5' exchange "${on[@]}" --topology "$platform" --loopback 1GBps,1us,1.5GBps
done
takes '1e-6 + 2.000032e-3' exchange "${on[@]}" --sites "$tmp/sites.conf" --loopback 1GBps,1us,1GBps
# between two hosts there is no such limit, and nothing else changes
for platform in cluster hierarchical:2,1,1 'fat-tree:1;2;1;1'; do
    replay "$tmp/exchange" --topology "$platform" --no-compute
    takes "$(clock_of)" exchange --topology "$platform" --no-compute --loopback 1GBps,1us,1kBps
done

# ---- copies ----

while read -r what bytes; do
    replay "$tmp/$what" "${on[@]}"
    takes "$(clock_of) + $bytes / 1e9" "$what" "${on[@]}" --copy-rate 1GBps
done <<'END'
alltoall   500000
alltoallv  250000
allgather  500000
gather     500000
scatter    500000
allreduce       0
exchange        0
END

# ---- a calibration has them all ----

cat >"$tmp/c.conf" <<'END'
[host]
program = node
speed = 1G
[network]
within = node
bandwidth = 1e9
latency = 1e-6
END
cp "$tmp/c.conf" "$tmp/old.conf"
printf 'shared = 2:1e9;4:2e9\ncopy = 2e9\n' >>"$tmp/c.conf"
sed -i 's/^speed = .*/&\nspeeds = 1:2e9;2:1e9/' "$tmp/c.conf"
takes '1e-6 + 2.000032e-3' exchange "${on[@]}" --calibration "$tmp/c.conf"
takes '1e-6 + 1.000016e-3' exchange "${on[@]}" --calibration "$tmp/old.conf"
takes '1e-6 + 1.000016e-3' exchange "${on[@]}" --calibration "$tmp/c.conf" --loopback 1GBps,1us
replay "$tmp/alltoall" "${on[@]}" --calibration "$tmp/old.conf"
takes "$(clock_of) + .500016e-3 + .25e-3" alltoall "${on[@]}" --calibration "$tmp/c.conf"
# SimGrid's own replay has no copies and no contention, and takes the rest; so does a given platform
takes '1e-6 + 2.000032e-3' exchange "${on[@]}" --calibration "$tmp/c.conf" --engine stock
replay "$tmp/exchange" "${on[@]}" --calibration "$tmp/c.conf" --keep "$tmp/kept" &&
    replay "$tmp/compute" --platform "$tmp/kept/platform.xml" --ranks-per-host 2 --json --calibration "$tmp/c.conf" ||
    { fail 'a calibration and a platform'; cat "$tmp/err"; }
grep -q contention "$tmp/out" && fail 'tells of a contention that a given platform does not have'
# its speeds are for volumes in instructions, and these are in nanoseconds
read -r a b <<<"$(volumes compute)"
takes "$b" compute --calibration "$tmp/c.conf" --ranks-per-host 2 --cores 2
replay "$tmp/alltoall" "${on[@]}" --json --calibration "$tmp/c.conf"
python3 - "$tmp/out" <<'P' || { fail 'json has not what was used'; cat "$tmp/out" "$tmp/err"; }
import json, sys
j = json.load(open(sys.argv[1]))
assert j["copy_rate"] == "2e+09Bps", j
assert j["loopback"] == {"bandwidth_bytes_per_s": 1e9, "latency_s": 1e-6,
                         "shared_bytes_per_s": 1e9}, j
P
# text names them, where ranks share a host
summary() { # OPTION...
    replay "$tmp/exchange" --ranks-per-host 2 "$@" || fail "$*: $(cat "$tmp/err")"
    grep -E '^(contention|loopback|copies):' "$tmp/out" >"$tmp/lines"
    cmp -s "$tmp/lines" - || { fail "other lines: $*"; cat "$tmp/out"; }
}
summary --calibration "$tmp/c.conf" <<'END'
loopback:       1 GB/s, 1 us; 1 GB/s for all messages of a host
copies:         2 GB/s within a rank
END
summary --calibration "$tmp/c.conf" --contention 1:1,2:0.75 --loopback 2GBps,3us --copy-rate 4GBps <<'END'
contention:     2 ranks of a host that compute have 75 % of the speed each
loopback:       2 GB/s, 3 us
copies:         4 GB/s within a rank
END
summary --calibration "$tmp/c.conf" --engine stock <<'END'
loopback:       1 GB/s, 1 us; 1 GB/s for all messages of a host
END
summary --calibration "$tmp/c.conf" --ranks-per-host 1 <<'END'
copies:         2 GB/s within a rank
END
summary </dev/null

# ---- what is refused ----

refused() { # STATUS TEXT OPTION...
    replay "$tmp/compute" "${@:3}"
    [ $? -eq "$1" ] || fail "status is not $1: ${*:3}"
    grep -qF -- "$2" "$tmp/err" || { fail "${*:3} does not say '$2'"; cat "$tmp/err"; }
}
refused 2 "'1:1;2:0' is not RANKS:SHARE" --contention '1:1;2:0'
refused 2 'ascending order' --contention 2:1,1:1
refused 2 "'fast' is not RANKS:SHARE" --contention fast
refused 2 '--contention has no effect with --no-compute' --contention 1:1 --no-compute
refused 2 '--contention needs --engine tiara' --contention 1:1 --engine stock
refused 2 '--copy-rate needs --engine tiara' --copy-rate 1GBps --engine stock
refused 2 "--copy-rate: '4' is not a bandwidth" --copy-rate 4
refused 2 "is not a bandwidth" --loopback 1GBps,1us,4
refused 2 "is not BANDWIDTH,LATENCY[,BANDWIDTH]" --loopback 1GBps
refused 2 "SimGrid's torus has no link for all messages within a host" --topology torus:2,2 --loopback 1GBps,1us,1GBps
finish
