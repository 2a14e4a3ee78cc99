#!/bin/bash
# Whatever rank is late to what the library does in MPI_Init, or is not traced: the messages
# of the library never reach the application, which receives from anybody with any tag; and
# what it receives is as ever.
# tests/run: waits
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ "$MPI" = openmpi ] || skip 'for the ranks that Open MPI names'
export PRELOAD="$TI_BUILD/tests/hasty/libminitrace.so $TI_BUILD/tests/mpi/late_rank.so"
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 LATE_S=7

# start NAME WORDS...: three ranks, started after WORDS, in the background
pids=() names=()
start() {
    local name=$1
    shift
    # lib.sh says why
    OMPI_MCA_orte_tmpdir_base=$scratch/mpi-$name trace "$scratch/$name" 3 cputime "$@" "$built/anybody" >"$scratch/$name.out" 2>"$scratch/$name.err" &
    pids+=($!) names+=("$name")
}
# shellcheck disable=SC2016  # for the inner shell
untraced=(sh -c '[ "$OMPI_COMM_WORLD_RANK" != "$0" ] || unset LD_PRELOAD; exec "$@"')

for rank in 0 1 2; do
    LATE_RANK=$rank start "late-$rank"
    LATE_RANK=$rank LATE_AT=gethostname start "later-$rank"
    start "untraced-$rank" "${untraced[@]}" $rank
done
# A launcher's promise that all are traced, of ranks on several nodes.
OMPI_MCA_x='' LATE_RANK=2 TIARA_RUN_ID=00112233445566778899aabbccddeeff MPIRUN='-x TIARA_RUN_ID' \
    start promised env OMPI_COMM_WORLD_LOCAL_SIZE=1
for i in "${!pids[@]}"; do
    name=${names[i]}
    wait "${pids[i]}" || { fail "$name: the application"; cat "$scratch/$name.err"; }
    [ ! -s "$scratch/$name.out" ] || { fail "$name: the application saw"; cat "$scratch/$name.out"; }
done

traces() { find "$scratch/$1" -name 'rank-*.ti' 2>/dev/null | sed 's/.*rank-0*\([0-9]\).*/\1/' | sort | tr -d '\n'; }
says() { grep -q "$2" "$scratch/$1.err" || { fail "$1: no '$2'"; cat "$scratch/$1.err"; }; }
is() { [ "$(traces "$1")" = "$2" ] || fail "$1: traces of ranks $(traces "$1"), not $2"; }
is late-0 012
is late-1 02
is late-2 01
is later-0 012
is later-1 02
is later-2 01
is promised 01
is untraced-0 ''
is untraced-1 02
is untraced-2 01
says late-1 'rank 0: 1 of 3 ranks, rank 1 first, are not traced'
# A late rank sees that the others went on, and does not wait for them.
late='nothing is recorded: this rank, or one above it, came too late: others went on without it'
for name in late later; do
    for rank in 1 2; do says $name-$rank "rank $rank: $late"; done
done
says promised "rank 2: $late"
says untraced-2 'rank 0: 1 of 3 ranks, rank 2 first, are not traced'
says untraced-0 'rank 1: nothing is recorded: rank 0 is not traced'
if find "$scratch" -name '.tiara-*' | grep .; then fail 'marks are left'; fi
[ ! -e "$scratch/untraced-0" ] || fail 'untraced-0: an empty directory is left'
finish
