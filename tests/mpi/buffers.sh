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

# with SIZE COUNTER PRELOAD PROGRAM ARGUMENT...: into $scratch/trace
with() {
    rm -rf "$scratch/trace"
    TIARA_BUFFER=$1 PRELOAD=$3 TIARA_QUIET=1 MPIRUN="$(pass TIARA_BUFFER) $(pass TIARA_QUIET)" \
        trace "$scratch/trace" $np "$2" "${@:4}" >"$scratch/out" 2>"$scratch/log"
}

# Bursts of known lengths, 3000 events a rank.
library=$TI_BUILD/libminitrace.so
counter=cputime known='-'
if exact_counter; then counter=valgrind known=; fi
for size in 4K 16M; do
    # shellcheck disable=SC2046  # words are meant
    with $size $counter "$library:$scratch/slow.so" "$built/bursts" "$scratch/truth" $(seq 10 98 9900)
    case $? in
        0) ;;
        77) skip 'bursts of known length are written for x86-64' ;;
        *) fail "$size: $(cat "$scratch/log")" ;;
    esac
    for ((rank = 0; rank < np; rank++)); do
        dump "$scratch/trace" $rank | sed -e 1d -e '$d' | cut -d' ' -f1,2 >"$scratch/found"
        paste -d' ' "$scratch/truth" "$scratch/found" | awk -v known="$known" '
            known { $2 = known }
            $1 != $4 || ($2 != "-" && $2 != $3) { print NR ": " $0; bad = 1 }
            END { exit bad || NR < 3000 }' >"$scratch/bad" ||
            fail "rank $rank with $size: $(head -n 3 "$scratch/bad")"
    done
    flush=$("$TI_BUILD/ti-info" "$scratch/trace" --rank 0 | awk '$1 == "flush_seconds" { print $2 }')
    memory=$("$TI_BUILD/ti-info" "$scratch/trace" --rank 0 | awk '$1 == "memory_bytes" { print $2 }')
    echo "$size: $(wc -l <"$scratch/found") events, $flush s for writing, $memory bytes of memory"
    case $size in
        # slow indeed: many chunks, each of several writes
        4K) awk -v s="$flush" 'BEGIN { exit !(s > 1) }' || fail "the disk was not slow" ;;
        16M) [ "$memory" -gt 16777216 ] || fail "memory of a large buffer" ;;
    esac
done

for size in 4095 17M 8KB; do
    with $size cputime "$library" "$examples/ring" || fail "TIARA_BUFFER=$size: $(cat "$scratch/log")"
    grep -q "nothing is recorded: TIARA_BUFFER '$size' is no size from 4K to 16M" "$scratch/log" ||
        fail "TIARA_BUFFER=$size: $(cat "$scratch/log")"
    [ ! -e "$scratch/trace" ] || fail "TIARA_BUFFER=$size: a trace"
done
finish
