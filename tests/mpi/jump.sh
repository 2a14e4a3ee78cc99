#!/bin/bash
# MPI calls that are left from inside, by longjmp() or an exception out of an
# error handler: the rest is traced, or the trace says that it is not.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
program=$TI_BUILD/tests/mpi/jump
dir=$scratch/trace

check 1 jump handler
check 2 jump handler

trace "$dir" 2 cputime "$program" handler >"$scratch/out" 2>&1
"$TI_BUILD/ti-info" "$dir" --rank 0 >"$scratch/info"
grep -q '^abandoned_calls *108$' "$scratch/info" || fail "abandoned calls: $(cat "$scratch/info")"

rm -rf "$dir"
trace "$dir" 2 cputime "$program" nested >"$scratch/out" 2>&1 || fail 'nested: status'
grep -q '^tiara: rank 0: recording stopped: an MPI call was left by longjmp' "$scratch/out" ||
    fail "nested: $(cat "$scratch/out")"
dump "$dir" 1 >"$scratch/events" 2>"$scratch/end"
grep -q 'stopped recording: an MPI call was left' "$scratch/end" ||
    fail "nested: ends by $(cat "$scratch/end")"

rm -rf "$dir" "$scratch/rank-0"
TIARA_EXPECT=$scratch MPIRUN='-x TIARA_EXPECT' \
    trace "$dir" 1 cputime "$program" unwritten >"$scratch/out" 2>&1 || fail 'unwritten: status'
if dump "$dir" 0 --no-volumes >"$scratch/events" 2>"$scratch/end"; then
    same "$scratch/rank-0" "$scratch/events" 'unwritten: events'
else
    grep -q 'stopped recording: an MPI call was left' "$scratch/end" ||
        fail "unwritten: ends by $(cat "$scratch/end")"
fi

rm -rf "$dir"
trace "$dir" 1 cputime "$program" abort >"$scratch/out" 2>&1
[ $? = 9 ] || fail 'abort: status'
dump "$dir" 0 2>"$scratch/end" | tail -n 1 | grep -q ' abort comm=0 level=9$' ||
    fail "abort: no event; $(cat "$scratch/end")"

# An exception through MPI's frames and ours.
cat >"$scratch/throw.cc" <<'C'
#include <cstdio>
#include <mpi.h>

static void handle(MPI_Comm *, int *code, ...) { throw *code; }

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int caught = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 10; i++) {
        try {
            MPI_Send(&i, 1, MPI_INT, -7, 1, MPI_COMM_WORLD);
        } catch (int) {
            caught++;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    std::printf("%d\n", caught);
}
C
if ${MPICXX:-mpicxx} -O1 -o "$scratch/throw" "$scratch/throw.cc" 2>"$scratch/err" &&
    [ "$(mpirun -np 1 "$scratch/throw" 2>&1)" = 10 ]; then
    rm -rf "$dir"
    trace "$dir" 2 cputime "$scratch/throw" >"$scratch/out" 2>&1 || fail 'exception: status'
    [ "$(sort -u "$scratch/out")" = 10 ] || fail "exception: $(cat "$scratch/out")"
    dump "$dir" 0 --no-volumes >"$scratch/events" 2>"$scratch/end"
    [ ! -s "$scratch/end" ] || fail "exception: $(cat "$scratch/end")"
    [ "$(grep -c '^barrier' "$scratch/events")" = 10 ] || fail 'exception: events'
else
    echo 'not tried: an exception, which this MPI does not let through, or C++ is missing'
fi
finish
