#!/bin/bash
# The replayer in simulations: every program of this folder, the same times as stock replay and as
# SimGrid's own run of the program, bare smpirun, wildcards, deadlocks.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma}

# record NAME NP PROGRAM ARGUMENT...
record() {
    local name=$1
    shift
    trace "$tmp/$name" "$1" cputime "${@:2}" </dev/null >"$tmp/out" 2>&1 || { fail "$*"; tail -n 5 "$tmp/out"; }
}
replay() { "$o/ti-replay" --no-progress "$@" >"$tmp/out" 2>"$tmp/err"; }
time_of() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$tmp/out"; }

# ---- what can be recorded can be replayed, or is refused for a reason of the table ----

# replays NAME: within a simulation, to the end.
replays() {
    replay "$tmp/$1" || { fail "$1: status $?"; tail -n 6 "$tmp/err"; return; }
    awk -v t="$(time_of)" 'BEGIN { exit !(t > 0) }' || fail "$1: no time: $(cat "$tmp/out")"
    "$o/ti-info" "$tmp/$1" --dump 2>/dev/null | awk '{ print $2 }' | sort -u >>"$tmp/met"
}
mkdir "$tmp/files" "$tmp/windows"
while read -r np program arguments; do
    # shellcheck disable=SC2086  # words are meant
    record "$program" "$np" "$built/$program" $arguments
    replays "$program"
done <<END2
5 p2p
4 requests
5 collectives
5 icollectives
5 neighbors
5 creations
4 comms
3 persistent
3 completions
3 matched
5 interp2p
3 datatypes
4 anybody
3 bottom
2 polling
3 sequence
1 outstanding 50
2 cancel
4 io all $tmp/files
4 rma all $tmp/windows
2 late_idup
END2
for example in ring:4 lu:8:S:5 stencil:6:48:10 is:8 cg:8 multigrid:5:8:2 amr:5:8:20 master_worker:5 hybrid:2; do
    IFS=: read -r name np a b <<<"$example"
    # shellcheck disable=SC2086  # words are meant
    record "$name" "$np" "$examples/$name" $a $b
    replays "$name"
done
# Calls that only MPI-4 has.
if [ -x "$o/tests/mpich/mpi4" ]; then
    for run in mpi4:4 comms:4 persistent:3; do
        name=mpich.${run%:*}
        mpirun.mpich -np "${run#*:}" -genv TIARA_TRACE_DIR "$tmp/$name" -genv TIARA_COUNTER cputime \
            -genv TIARA_QUIET 1 -genv LD_PRELOAD "$o/libminitrace.so" "$o/tests/mpich/${run%:*}" \
            >"$tmp/out" 2>&1 || { fail "$name"; tail -n 5 "$tmp/out"; }
        replays "$name"
    done
    # Each operation was replayed here, but for what is refused.  Of persistent collectives, and of
    # what the MPI libraries here lack, the trace has some that go the same way.
    "$o/tests/vocabulary" | sed -n 's/^replayed \([a-z_]*\): [OL].*/\1/p' |
        grep -vxE 'comm_idup_with_info|[a-z_]*(barrier|gatherv?|all[vw]?|scatterv?|block|reduce|e?x?scan)_init' |
        sort >"$tmp/rows"
    sort -u "$tmp/met" | comm -13 - "$tmp/rows" >"$tmp/untried"
    [ -s "$tmp/untried" ] && fail "in no trace that was replayed: $(tr '\n' ' ' <"$tmp/untried")"
fi
record intercoll 3 "$built/intercoll"
replay "$tmp/intercoll" && fail 'collectives between two groups are replayed'
grep -q 'rank 0, event [0-9]*, .*: SimGrid has no collectives between two groups' "$tmp/err" ||
    { fail 'intercoll: another reason'; cat "$tmp/err"; }

# ---- as stock replay has it, to the last digit ----

for name in ring lu is master_worker; do
    for topology in cluster fat-tree:'2;4,4;1,2;1,2' torus:2,2,2; do
        replay "$tmp/$name" --engine stock --topology "$topology" && stock=$(time_of)
        replay "$tmp/$name" --engine tiara --topology "$topology" && tiara=$(time_of)
        [ -n "$stock" ] && [ "$stock" = "$tiara" ] ||
            fail "$name on $topology: stock '$stock', tiara '$tiara'"
    done
done
replay "$tmp/lu" --no-compute && none=$(time_of)
replay "$tmp/lu" --engine stock --no-compute && stock=$(time_of)
[ "$none" = "$stock" ] || fail "lu without computation: stock '$stock', tiara '$none'"
awk -v a="$none" -v b="$(replay "$tmp/lu" && time_of)" 'BEGIN { exit !(a < b) }' ||
    fail '--no-compute is not faster'

# ---- as SimGrid itself has it, which runs the program and knows of no trace ----

for program in ring:4 lu:8:S:5 stencil:6:48:10 is:8 cg:8 amr:5:8:20; do
    IFS=: read -r name np a b <<<"$program"
    smpicc -std=c11 -D_GNU_SOURCE -I. -O1 -o "$tmp/$name.smpi" "examples/$name.c" examples/example.c \
        examples/burst.c -lm 2>"$tmp/err" || { fail "smpicc $name"; cat "$tmp/err"; continue; }
    for topology in cluster fat-tree:'2;4,4;1,2;1,2' torus:2,2,2; do
        rm -rf "$tmp/kept"
        replay "$tmp/$name" --no-compute --topology "$topology" --keep "$tmp/kept"
        found=$(time_of)
        # shellcheck disable=SC2086  # words are meant
        expected=$(cd "$tmp/kept" && smpirun -np "$np" -platform platform.xml -hostfile hostfile \
            --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=smpi/display-timing:yes \
            "$tmp/$name.smpi" $a $b 2>&1 | sed -n 's/.*Simulated time: \([0-9.e+-]*\) seconds.*/\1/p')
        awk -v f="$found" -v e="$expected" 'BEGIN { exit !(e > 0 && sprintf("%.6g", f) == sprintf("%.6g", e)) }' ||
            fail "$name on $topology: SimGrid runs it in '$expected', the replay takes '$found'"
    done
done

# ---- by hand, with global variables of their own for each rank and without ----

replay "$tmp/lu" --keep "$tmp/lu.kept" && said=$(sed -n '1p' "$tmp/out")
for privatize in '' -no-privatize; do
    # shellcheck disable=SC2086  # a word or none
    (cd "$tmp/lu.kept" && smpirun -np 8 -platform platform.xml -hostfile hostfile $privatize \
        --cfg=smpi/simulate-computation:no "$o/ti-smpi-replay" "$tmp/lu") >"$tmp/out" 2>&1
    grep -qxF "$said" "$tmp/out" || { fail "smpirun $privatize: not '$said'"; tail -n 4 "$tmp/out"; }
done
by_hand() { # NP TRACE OPTION...: what smpirun says, its status in $rc
    (cd "$tmp/lu.kept" && smpirun -np "$1" -platform platform.xml -hostfile hostfile -no-privatize \
        --cfg=smpi/simulate-computation:no "$o/ti-smpi-replay" "${@:3}" "$2") >"$tmp/out" 2>&1
    rc=$?
}
says() {
    [ $rc -eq "$1" ] || fail "status $rc, not $1: $2"
    [ "$(grep -cE -- "$2" "$tmp/out")" -eq 1 ] || { fail "does not say once: $2"; tail -n 5 "$tmp/out"; }
}
by_hand 4 "$tmp/lu"
says 3 'trace of 8 ranks, it cannot be replayed by 4'
by_hand 3 "$tmp/intercoll"
says 3 'cannot be replayed$'
cp -r "$tmp/lu" "$tmp/lu.cut"
truncate -s -40 "$tmp/lu.cut/rank-000003.ti"
by_hand 8 "$tmp/lu.cut"
says 3 'rank 3: its trace is not complete'
by_hand 8 "$tmp/lu.cut" --no-check # met while it replays
says 3 'rank 3: its trace was cut off'
by_hand 4 "$tmp/nothing"
says 4 'No such file'
by_hand 4 "$tmp/ring" --no-such
says 2 "option '--no-such'"

# ---- wildcards ----

for how in matched any; do
    replay "$tmp/master_worker" --wildcards $how || { fail "--wildcards $how"; cat "$tmp/err"; }
done

# ---- a deadlock that only the platform's eager limit makes ----

cat >"$tmp/both.c" <<'END2'
#include <mpi.h>
int main(int argc, char **argv)
{
    static char data[1000];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(data, sizeof data, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD);
    MPI_Recv(data, sizeof data, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
END2
"${MPICC:-mpicc}" -o "$tmp/both" "$tmp/both.c" && record both.d 2 "$tmp/both"
replay "$tmp/both.d" || fail 'two small sends'
replay "$tmp/both.d" --cfg smpi/send-is-detached-thresh:100
[ $? -eq 3 ] || fail 'a deadlock is no error'
for rank in 0 1; do
    grep -q "rank $rank is at event 1, send(comm 0, peer [-+]*1, tag 7, bytes 1000" "$tmp/err" ||
        { fail "does not say where rank $rank waits"; cat "$tmp/err"; }
done

# ---- probes, in which SimGrid sees no deadlock ----

# blocked NAME RANKS: the replay of the script on standard input ends with a deadlock
blocked() {
    rm -rf "$tmp/blocked"
    { echo '* init level=0'; cat; echo '* finalize'; } | "$TI_BUILD/tests/mkscript" "$2" "$tmp/blocked" || fail mkscript
    replay "$tmp/blocked"
    [ $? -eq 3 ] || fail "$1: no error"
    grep -q 'the replay ran into a deadlock' "$tmp/err" || { fail "$1: no deadlock"; cat "$tmp/err"; }
    grep -q 'rank 1 is at event 1, i*probe(' "$tmp/err" || { fail "$1: does not say where ranks wait"; cat "$tmp/err"; }
}
blocked 'a probe and a receive' 2 <<'END2'
1 probe peer=-1 tag=3
1 send peer=-1 tag=3 bytes=8 esize=8
0 recv peer=1 tag=3 bytes=8 esize=8
0 send peer=1 tag=3 bytes=8 esize=8
1 recv peer=-1 tag=3 bytes=8 esize=8
END2
blocked 'only probes, and a rank that ended' 3 <<'END2'
0 probe peer=1 tag=3
1 iprobe peer=-1 tag=4
0 send peer=1 tag=4 bytes=8 esize=8
1 send peer=-1 tag=3 bytes=8 esize=8
0 recv peer=1 tag=3 bytes=8 esize=8
1 recv peer=-1 tag=4 bytes=8 esize=8
END2
# a burst of six years is waited for
rm -rf "$tmp/blocked"
"$TI_BUILD/tests/mkscript" 2 "$tmp/blocked" <<'END2' || fail mkscript
* init level=0
1 probe peer=-1 tag=3
0 send peer=1 tag=3 bytes=8 esize=8 v=200000000
1 recv peer=-1 tag=3 bytes=8 esize=8
* finalize
END2
replay "$tmp/blocked" --speed 1f || { fail 'a burst beside a probe'; cat "$tmp/err"; }

# ---- windows, over which SMPI crashes ----

rm -rf "$tmp/windows"
"$TI_BUILD/tests/mkscript" 2 "$tmp/windows" <<'END2' || fail mkscript
* init level=0
* win_create bytes=8 esize=8 win=0
* pcontrol level=0
* pcontrol level=1
0 win_complete win=0
1 win_wait win=0
1 win_lock win=0 peer=0 mode=32
0 win_unlock win=0 peer=1
0 win_unlock_all win=0
1 win_unlock win=0 peer=0
* win_free win=0
* finalize
END2
replay "$tmp/windows" || { fail 'hidden begins of epochs'; cat "$tmp/err"; }
rm -rf "$tmp/windows"
"$TI_BUILD/tests/mkscript" 2 "$tmp/windows" <<'END2' || fail mkscript
* init level=0
* win_create bytes=8 esize=8 win=0
* win_fence win=0 mode=0
0 put win=0 peer=1 bytes=16 esize=8 rbytes=16 resize=8
* win_fence win=0 mode=0
* win_free win=0
* finalize
END2
replay "$tmp/windows"
[ $? -eq 4 ] || fail 'a put beyond the window: no error'
grep -q 'rank 0, event 3 (put): .*MPI_ERR_RMA_RANGE' "$tmp/err" || { fail 'a put beyond the window'; cat "$tmp/err"; }
finish
