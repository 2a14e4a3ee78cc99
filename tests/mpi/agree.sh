#!/bin/bash
# Forty ranks tell each other what they count, up a tree: rank 0 has children, some of which
# have one.  All alike; not alike; and some that are not traced and say nothing.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ "$MPI" = openmpi ] || skip 'for the ranks that Open MPI names'
np=40
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1

# but RANKS WORDS...: with which the ranks of a pattern are started after other WORDS.
# shellcheck disable=SC2016  # for the inner shell
but() { words=(sh -c 'eval "case $OMPI_COMM_WORLD_RANK in '"$1"') '"$2"' ;; esac"; exec "$@"' x); }
# ring NAME LOG: 40 of them
ring() { trace "$scratch/$1" $np cputime "${words[@]}" "$examples/ring" 1 100 >"$scratch/$1.log" 2>&1; }
traces() { find "$scratch/$1" -name 'rank-*.ti' 2>/dev/null | wc -l; }
says() { grep -q "$2" "$scratch/$1.log" || { fail "$1: no '$2'"; cat "$scratch/$1.log"; }; }

words=()
ring alike || { fail "alike"; cat "$scratch/alike.log"; }
"$TI_BUILD/ti-info" -q --verify "$scratch/alike" || fail 'alike: --verify'
[ "$(traces alike)" = $np ] || fail "alike: $(traces alike) traces"

# Which ranks count with which counter, by ranges.
but '5|6|7|20' 'export TIARA_THREADS=sum'
ring other || { fail "other"; cat "$scratch/other.log"; }
host=$(uname -n)
says other "not counted alike: ranks 0-4,8-19,21-39 on $host: cputime, .*; ranks 5-7,20 on $host: cputime, .* of all threads; hint"
[ "$(grep -c 'tiara:' "$scratch/other.log")" = 1 ] || { fail 'other: more than a line'; cat "$scratch/other.log"; }
[ "$(traces other)" = 0 ] || fail 'other: there are traces'
but '1|2|38' 'export TIARA_COUNTER=none-$OMPI_COMM_WORLD_RANK'
ring groups || { fail "groups"; cat "$scratch/groups.log"; }
says groups "ranks 0,3-37,39 on $host: cputime, .*; rank 1 on $host: nothing (.*; rank 2 on $host: nothing (.*; rank 38 on"
but '1|2|37|38' 'export TIARA_COUNTER=none-$OMPI_COMM_WORLD_RANK'
ring more || { fail "more"; cat "$scratch/more.log"; }
says more 'rank 37 on .*; and 1 other rank; hint'

# Some say nothing: a leaf; one with another below it; rank 0.  The application is as well as
# ever.  Side by side, since it is all waiting, and not for as long as usual.
export PRELOAD=$TI_BUILD/tests/hasty/libminitrace.so
pids=()
for rank in 39 1 0; do
    but "$rank" 'unset LD_PRELOAD'
    OMPI_MCA_orte_tmpdir_base=$scratch/mpi-$rank ring "silent-$rank" & # lib.sh says why
    pids+=($!)
done
# Rank 1 comes when rank 0 went on; rank 2, which is below rank 1, does not wait for it.
words=()
OMPI_MCA_orte_tmpdir_base=$scratch/mpi-late LATE_RANK=1 LATE_S=20 \
    PRELOAD="$PRELOAD $TI_BUILD/tests/mpi/late_rank.so" ring late &
late=$!
for rank in 39 1 0; do
    wait "${pids[0]}" || { fail "silent-$rank: the application"; cat "$scratch/silent-$rank.log"; }
    pids=("${pids[@]:1}")
done
says silent-39 'rank 0: 1 of 40 ranks, rank 39 first, are not traced'
[ "$(traces silent-39)" = 39 ] || fail "silent-39: $(traces silent-39) traces"
says silent-1 'rank 0: 2 of 40 ranks, rank 1 first, are not traced'
[ "$(traces silent-1)" = 38 ] || fail "silent-1: $(traces silent-1) traces"
[ ! -e "$scratch/silent-1/rank-000002.ti" ] || fail 'silent-1: rank 2 is traced'
says silent-0 'rank 1: nothing is recorded: rank 0 is not traced; hint: hand LD_PRELOAD on'
wait $late || { fail 'late: the application'; cat "$scratch/late.log"; }
says late 'rank 0: 2 of 40 ranks, rank 1 first, are not traced, or came more than 6 s late'
for rank in 1 2; do
    says late "rank $rank: nothing is recorded: this rank, or one above it, came too late: others went on"
done
[ "$(traces late)" = 38 ] || fail "late: $(traces late) traces"
if find "$scratch" -name '.tiara-*' | grep .; then fail 'marks are left'; fi
[ "$(traces silent-0)" = 0 ] || fail 'silent-0: there are traces'
finish
