#!/bin/bash
# A request, a message or a communicator that no traced call made stops the trace:
# it is said where and why, and the application goes on as if nothing had happened.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
program=$TI_BUILD/tests/mpi/stranger

# stops CALL WHAT: at CALL, because of WHAT.
stops() {
    local dir=$scratch/$1 why rank
    mkdir "$dir"
    TIARA_EXPECT=$dir MPIRUN='-x TIARA_EXPECT' \
        trace "$dir/trace" 2 cputime "$program" "$1" >"$dir/out" 2>&1 ||
        fail "$1: status $?"
    why="$1, after event $(wc -l <"$dir/rank-0"): a $2 that no traced call made"
    echo "tiara: rank 0: recording stopped: $why; the application goes on," \
        'its trace is incomplete' >"$dir/expected"
    same "$dir/expected" "$dir/out" "$1: what is said"
    for rank in 0 1; do
        dump "$dir/trace" $rank --no-volumes >"$dir/found" 2>"$dir/end"
        same "$dir/rank-$rank" "$dir/found" "$1: events of rank $rank"
        grep -qF "stopped recording: $why" "$dir/end" ||
            fail "$1: the trace of rank $rank ends by: $(cat "$dir/end")"
    done
}

for call in Wait Waitall Waitany Waitsome Test Testall Start Startall Request_free Cancel; do
    stops MPI_$call request
done
for call in Mrecv Imrecv; do
    stops MPI_$call message
done
for call in Barrier Comm_dup Irecv; do
    stops MPI_$call communicator
done
finish
