#!/bin/bash
# How much of a trace is kept in memory before it is written, and how slow the disk is,
# change nothing in it, not one instruction of a burst; and sizes that cannot be.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
np=2

# A disk on which each write takes 100 ms.
cat >"$scratch/slow.c" <<'C'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at);
ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at)
{
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    return syscall(SYS_pwrite64, fd, data, bytes, at);
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
    __attribute__((alias("pwrite64")));
C
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o "$scratch/slow.so" "$scratch/slow.c" || skip 'cannot compile'

# with SIZE COUNTER PRELOAD: lu, into $scratch/trace
with() {
    rm -rf "$scratch/trace"
    TIARA_BUFFER=$1 PRELOAD=$3 TIARA_QUIET=1 MPIRUN="$(pass TIARA_BUFFER) $(pass TIARA_QUIET)" \
        trace "$scratch/trace" $np "$2" "$examples/lu" S 150 >"$scratch/out" 2>"$scratch/log"
}

library=$TI_BUILD/libminitrace.so
counter=cputime volumes=--no-volumes
if exact_counter; then counter=valgrind volumes=; fi
for size in 24K 4K 16M; do
    preload=$library
    [ $size = 24K ] || preload=$library:$scratch/slow.so
    with $size $counter "$preload" || fail "$size: $(cat "$scratch/log")"
    for ((rank = 0; rank < np; rank++)); do
        # shellcheck disable=SC2086  # a word or none is meant
        dump "$scratch/trace" $rank $volumes >"$scratch/$size-$rank"
        same "$scratch/24K-$rank" "$scratch/$size-$rank" "rank $rank with $size"
    done
    flush=$("$TI_BUILD/ti-info" "$scratch/trace" --rank 0 | awk '$1 == "flush_seconds" { print $2 }')
    memory=$("$TI_BUILD/ti-info" "$scratch/trace" --rank 0 | awk '$1 == "memory_bytes" { print $2 }')
    echo "$size: $(wc -l <"$scratch/$size-0") events, $flush s for writing, $memory bytes of memory"
    case $size in
        # slow indeed: many chunks, each of several writes
        4K) awk -v s="$flush" 'BEGIN { exit !(s > 1) }' || fail "the disk was not slow" ;;
        16M) [ "$memory" -gt 16777216 ] || fail "memory of a large buffer" ;;
    esac
done

for size in 4095 17M 8KB; do
    with $size cputime "$library" || fail "TIARA_BUFFER=$size: $(cat "$scratch/log")"
    grep -q "nothing is recorded: TIARA_BUFFER '$size' is no size from 4K to 16M" "$scratch/log" ||
        fail "TIARA_BUFFER=$size: $(cat "$scratch/log")"
    [ ! -e "$scratch/trace" ] || fail "TIARA_BUFFER=$size: a trace"
done
finish
