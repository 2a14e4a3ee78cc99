#!/bin/bash
# Other tools of MPI's profiling interface: in the program, preloaded before us, and
# preloaded behind us.  Each counts what it counts without us, and the trace is what
# it is without them.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

if [ "$MPI" = mpich ]; then
    mpicc=${MPICC_MPICH:-mpicc.mpich}
else
    mpicc=${MPICC:-mpicc}
fi
tool=$scratch/libprofiler.so
"$mpicc" -O2 -shared -fPIC -o "$tool" tests/mpi/loaded/profiler.c &&
    "$mpicc" -O2 -I. -D_GNU_SOURCE -o "$scratch/profiled" examples/ring.c examples/burst.c \
        examples/example.c tests/mpi/loaded/profiler.c -lm &&
    "$mpicc" -O2 -no-pie -fno-pie -I. -D_GNU_SOURCE -o "$scratch/fixed" examples/ring.c \
        examples/burst.c examples/example.c -lm
[ -x "$scratch/fixed" ] || skip 'cannot compile'

# run PRELOAD PROGRAM TITLE: traced if PRELOAD has us in it.
run() {
    rm -rf "$scratch/trace" "$scratch"/profile-*
    PROFILE=$scratch/profile PRELOAD=$1 MPIRUN="$(pass PROFILE)" \
        trace "$scratch/trace" 3 cputime "$2" 3 1000 100000 >"$scratch/log" 2>&1 ||
        fail "$3: $(cat "$scratch/log")"
    cat "$scratch"/profile-* >"$scratch/profile" 2>/dev/null
    if grep '^tiara:' "$scratch/log" | grep -v ' rank 0: recorded'; then fail "$3: we complain"; fi
}

# looks PRELOAD PROGRAM TITLE: profile and trace are as expected.
looks() {
    run "$@"
    same "$scratch/untraced" "$scratch/profile" "$3: what the tool counts"
    for rank in 0 1 2; do
        dump "$scratch/trace" $rank --no-volumes >"$scratch/found"
        same "$scratch/expected-$rank" "$scratch/found" "$3: events of rank $rank"
    done
}

us=$TI_BUILD/libminitrace.so
for ring in ring ring_mpifh ring_f08; do
    [ -x "$examples/$ring" ] || continue
    trace "$scratch/plain" 3 cputime "$examples/$ring" 3 1000 100000 >"$scratch/log" 2>&1 ||
        fail "$ring: $(cat "$scratch/log")"
    for rank in 0 1 2; do
        dump "$scratch/plain" $rank --no-volumes >"$scratch/expected-$rank"
    done
    rm -rf "$scratch/plain"
    run "$tool" "$examples/$ring" "$ring with the tool alone"
    [ -s "$scratch/profile" ] || [ $ring != ring ] || fail 'the tool does not work by itself'
    cp "$scratch/profile" "$scratch/untraced"
    looks "$tool:$us" "$examples/$ring" "$ring, the tool before us"
    looks "$us:$tool" "$examples/$ring" "$ring, the tool behind us"
    if [ $ring = ring ]; then
        looks "$us" "$scratch/profiled" "$ring, the tool in the program"
        grep -q '^sends 3 of at most 3, recvs 3,' "$scratch/profile" || fail 'what the tool counts'
        looks "$tool:$us" "$scratch/fixed" "$ring at a fixed address, the tool before us"
        looks "$us:$tool" "$scratch/fixed" "$ring at a fixed address, the tool behind us"
    fi
done

if [ "$MPI" != mpich ] && [ -e "$TI_BUILD/libminitrace-mpich.so" ]; then
    MPI=mpich bash "$0" || fail 'the same with MPICH'
fi
finish
