#!/bin/bash
# How often the application asked in vain is not in the trace, nor are the
# instructions it took to ask.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} # see rma.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'

for ms in 0 1 90; do
    trace "$scratch/$ms" 2 valgrind "$TI_BUILD/tests/mpi/polling" $ms $((ms / 30)) >"$scratch/log" 2>&1 ||
        fail "polling $ms: $(cat "$scratch/log")"
    dump "$scratch/$ms" 1 >"$scratch/events-$ms"
    [ $ms = 0 ] || same "$scratch/events-0" "$scratch/events-$ms" "0 and $ms ms of polls"
    # rank 0 sleeps itself: its events are the same, its volumes are not asked for
    dump "$scratch/$ms" 0 --no-volumes >"$scratch/other-$ms"
    [ $ms = 0 ] || same "$scratch/other-0" "$scratch/other-$ms" "rank 0 with 0 and $ms ms"
done
cut -d' ' -f2 "$scratch/events-0" | tr '\n' ' ' >"$scratch/found"
{
    echo -n 'init win_create iprobe recv send irecv test send irecv testall send' \
        'irecv testany send irecv testsome send irecv test send' \
        'recv_init irecv test request_free send improbe mrecv send '
    echo -n 'recv_init irecv testall send irecv testany send irecv testsome send' \
        'start test request_free send '
    echo -n 'probe iprobe iprobe iprobe recv iprobe recv iprobe recv send' \
        'probe iprobe recv recv recv send '
    echo -n 'win_post win_test win_free finalize '
} >"$scratch/expected"
same "$scratch/expected" "$scratch/found" 'operations of rank 1'
finish
