#!/bin/bash
# Calls of more bytes than an int can count: simulated as SimGrid itself does, or refused by all.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
[ -x "$TI_BUILD/ti-smpi-replay" ] || skip 'there is no ti-smpi-replay'
tmp=$scratch o=$TI_BUILD
time_of() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$tmp/out"; }

# script RANKS: the trace of the script on standard input, between MPI_Init and MPI_Finalize
script() {
    rm -rf "$tmp/t"
    { echo '* init level=0'; cat; echo '* finalize'; } | "$o/tests/mkscript" "$1" "$tmp/t" || fail mkscript
}
# passes RANKS WORDS [OPTION...]: the trace of the script can be replayed, and the check says so
passes() {
    local what=$2
    script "$1"
    shift 2
    "$o/ti-replay" --lint "$tmp/t" >"$tmp/out" 2>&1 || { fail "--lint: $what"; cat "$tmp/out"; }
    "$o/ti-replay" "$tmp/t" "$@" >"$tmp/out" 2>&1 || { fail "$what"; tail -n 5 "$tmp/out"; }
}
# refused RANKS TEXT: the check says TEXT
refused() {
    script "$1"
    "$o/ti-replay" --lint "$tmp/t" >"$tmp/out" 2>&1
    [ $? -eq 3 ] || fail "not refused: $2"
    grep -qF -- "$2" "$tmp/out" || { fail "does not say '$2'"; cat "$tmp/out"; }
}

# 4,608 elements of 1 MiB: both engines, and SimGrid without a trace
cat >"$tmp/large.c" <<'END'
#include <mpi.h>
#include <simgrid/engine.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    const int n = 603979776; /* doubles */
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *data = SMPI_SHARED_MALLOC((size_t)n * 8);
    if (rank == 0)
        MPI_Send(data, n, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(data, n, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    printf("end %.12f\n", simgrid_get_clock());
}
END
smpicc -O1 -o "$tmp/large" "$tmp/large.c" 2>"$tmp/err" || { fail smpicc; cat "$tmp/err"; }
passes 2 'a large message' --engine tiara --keep "$tmp/kept" <<'END'
0 send peer=1 tag=1 bytes=4831838208 esize=1048576
1 recv peer=-1 tag=1 bytes=4831838208 esize=1048576
END
tiara=$(time_of)
"$o/ti-replay" --engine stock "$tmp/t" >"$tmp/out" 2>&1 && stock=$(time_of)
online=$(cd "$tmp/kept" && smpirun -np 2 -platform platform.xml -hostfile hostfile -no-privatize \
    --cfg=smpi/simulate-computation:no "$tmp/large" 2>/dev/null | sed -n 's/^end //p' | sort -g | tail -n 1)
[ -n "$tiara" ] && [ "$tiara" = "$stock" ] && [ "$tiara" = "$online" ] ||
    fail "a large message: tiara '$tiara', stock '$stock', SimGrid's own '$online'"

# elements of two sizes, a room that is larger, probes, a copy of the world, neighbours
passes 2 'large messages of all kinds' <<'END'
* COMM 2 d 0,1
* comm_dup newcomm=2
0 send peer=1 tag=1 bytes=4831838212 esize=4
1 recv peer=-1 tag=1 bytes=400000000000 esize=1
0 send comm=2 peer=1 tag=1 bytes=4831838212 esize=4
1 mprobe comm=2 peer=-1 tag=1 msg=0
1 mrecv comm=2 peer=-1 tag=1 msg=0 bytes=4831838221 esize=1
* COMM 3 g 0,1
* cart_create newcomm=3 v0=2 v1=1
* neighbor_alltoall comm=3 bytes=4831838208 rbytes=4831838208
0 sendrecv peer=1 tag=1 bytes=4831838208 rpeer=1 rtag=1 rbytes=20000000007
1 sendrecv peer=-1 tag=1 bytes=4831838208 rpeer=-1 rtag=1 rbytes=4831838208
END
# collectives: elements without a datatype of SMPI's, of several sizes, vectors
passes 4 'large collectives' --bandwidth 1GBps <<'END'
* bcast root=0 bytes=4831838208 esize=1048576
* allreduce redop=1 bytes=4800000000 esize=12
* allreduce redop=1 bytes=4800000000 esize=8
0 gatherv root=0 bytes=2400000004 esize=4 resize=4 v0=600000001,600000002,5,600000004
1 gatherv root=0 bytes=2400000008 esize=4
2 gatherv root=0 bytes=20 esize=4
3 gatherv root=0 bytes=2400000016 esize=1048576
END
passes 2 'large all-to-all' --bandwidth 1GBps <<'END'
* alltoall bytes=2400000000 rbytes=2400000000
* alltoallv esize=8 resize=1000000 v0=300000000,300000000 v1=2400,2400
* alltoallw esize=1 resize=1 v0=2400000000,2400000000 v1=2400000000,2400000000
* reduce_scatter redop=1 esize=1 v0=1200000000,1200000000
END
# windows and files: their sizes are not counted in elements
passes 2 'large windows and files' <<'END'
* win_create bytes=4294967296 esize=1 win=0
* win_fence win=0 mode=0
0 put win=0 peer=1 bytes=3000000000 esize=1 rbytes=3000000000 resize=1
* win_fence win=0 mode=0
* win_free win=0
* file_open file=0 name=a mode=4
* file_set_size file=0 bytes=5000000000
0 file_write file=0 bytes=5000000000 esize=1
* file_close file=0
END

# what no datatype of SMPI can count
refused 2 'cannot count 4831838209 bytes: it counts up to 2147483647 elements of 1, 2, 4, 8 or 16 bytes' <<'END'
0 send peer=1 tag=1 bytes=4831838209 esize=1
1 recv peer=-1 tag=1 bytes=4831838209 esize=1
END
refused 2 'cannot count 35433480192 bytes' <<'END'
0 send peer=1 tag=1 bytes=35433480192 esize=8
1 recv peer=-1 tag=1 bytes=35433480192 esize=8
END
refused 2 'all blocks together' <<'END'
* reduce_scatter_block redop=1 esize=1 bytes=1200000000
END
refused 2 'takes a message of 2400000000 bytes for a small one' <<'END'
0 send peer=1 tag=1 bytes=2400000000 esize=8
1 recv peer=-1 tag=1 bytes=2400000000 esize=8
END
# advice of the other engine only where that can replay it
"$o/ti-replay" --engine stock --lint "$tmp/t" >"$tmp/out" 2>&1 && fail 'stock: a size taken for a small one'
grep -q '^hint:.*--engine tiara' "$tmp/out" && { fail 'advises an engine that refuses, too'; cat "$tmp/out"; }
grep -q '^hint: the trace is sound' "$tmp/out" || { fail 'no hint'; cat "$tmp/out"; }
finish
