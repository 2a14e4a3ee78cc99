/* Calls that MPI-4 added: persistent collectives, partitioned messages, non-blocking
 * send-receives, large counts. */
#include "tests/mpi/expect.h"

#if MPI_VERSION >= 4

#define W MPI_COMM_WORLD

static int next, prev;

/* Each started twice; its number stays its own until it is freed. */
static void persistent_collectives(void)
{
    int data = 0, sum = 0, one = 1, *all = malloc((size_t)size * sizeof *all);
    MPI_Request r[3];

    expect("bcast_init comm=0 bytes=4 esize=4 root=0 req=0");
    MPI_Bcast_init(&data, 1, MPI_INT, 0, W, MPI_INFO_NULL, &r[0]);
    expect("allreduce_init comm=0 bytes=4 esize=4 redop=sum req=1");
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r[1]);
    expect("allgather_init comm=0 bytes=4 esize=4 rbytes=4 resize=4 req=2");
    MPI_Allgather_init(&rank, 1, MPI_INT, all, 1, MPI_INT, W, MPI_INFO_NULL, &r[2]);
    for (int turn = 1; turn <= 2; turn++) {
        if (rank == 0)
            data = turn;
        expect("start req=0");
        MPI_Start(&r[0]);
        expect("wait req=0");
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MUST(data == turn);
        expect("startall requests=[1,2]");
        MPI_Startall(2, &r[1]);
        expect("waitall all=1");
        MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
        MUST(sum == size && all[size - 1] == size - 1);
    }
    for (int i = 0; i < 3; i++) {
        expect("request_free req=%d", i);
        MPI_Request_free(&r[i]);
    }
    free(all);
}

/* One that was made while MPI_Pcontrol(0) held may be started later. */
static void made_unseen(void)
{
    int sum = 0, one = 1;
    MPI_Request r;

    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    expect("allreduce_init comm=0 bytes=4 esize=4 redop=sum req=0");
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    sum = 0;
    expect("start req=0");
    MPI_Start(&r);
    expect("wait req=0");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MUST(sum == size);
    expect("request_free req=0");
    MPI_Request_free(&r);
}

static void send_receive(void)
{
    int in = -1, data = rank;
    MPI_Request r;

    expect("isendrecv comm=0 peer=%s tag=1 bytes=4 esize=4 rpeer=%s rtag=1 rbytes=4 resize=4 req=0",
           to(next), to(prev));
    MPI_Isendrecv(&rank, 1, MPI_INT, next, 1, &in, 1, MPI_INT, prev, 1, W, &r);
    expect("wait req=0");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MUST(in == prev);
    expect("isendrecv_replace comm=0 peer=%s tag=3 bytes=4 esize=4 rpeer=%s rtag=3 rbytes=4 "
           "resize=4 req=0",
           to(next), to(prev));
    MPI_Isendrecv_replace(&data, 1, MPI_INT, next, 3, prev, 3, W, &r);
    expect("wait req=0");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MUST(data == prev);
}

/* Four partitions of two, made ready one by one, as a range and as a list. */
static void partitioned(void)
{
    int out[8], in[8] = {0}, list[] = {3}, there = 0;
    MPI_Request r[2];

    for (int i = 0; i < 8; i++)
        out[i] = 10 * rank + i;
    expect("psend_init comm=0 peer=%s tag=4 bytes=32 esize=4 req=0 part=4", to(next));
    MPI_Psend_init(out, 4, 2, MPI_INT, next, 4, W, MPI_INFO_NULL, &r[0]);
    expect("precv_init comm=0 peer=%s tag=4 bytes=32 esize=4 req=1 part=4", to(prev));
    MPI_Precv_init(in, 4, 2, MPI_INT, prev, 4, W, MPI_INFO_NULL, &r[1]);
    expect("startall requests=[0,1]");
    MPI_Startall(2, r);
    expect("pready req=0 part=2");
    MPI_Pready(2, r[0]);
    expect("pready_range req=0 range=[0,1]");
    MPI_Pready_range(0, 1, r[0]);
    expect("pready_list req=0 partitions=[3]");
    MPI_Pready_list(1, list, r[0]);
    expect("parrived req=1 part=1");
    while (!there)
        MPI_Parrived(r[1], 1, &there);
    expect("waitall all=1");
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; i++)
        MUST(in[i] == 10 * prev + i);
    for (int i = 0; i < 2; i++) {
        expect("request_free req=%d", i);
        MPI_Request_free(&r[i]);
    }
}

static void large_counts(void)
{
    MPI_Count *counts = malloc((size_t)size * sizeof *counts), elements;
    MPI_Aint *displs = malloc((size_t)size * sizeof *displs);
    int *all = malloc((size_t)size * sizeof *all), data = 0;
    MPI_Datatype pair;
    MPI_Status status;
    MPI_Request r;

    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i;
    }
    expect("irecv comm=0 peer=%s tag=5 bytes=4 esize=4 req=0", to(prev));
    MPI_Irecv_c(&data, 1, MPI_INT, prev, 5, W, &r);
    expect("send comm=0 peer=%s tag=5 bytes=4 esize=4", to(next));
    MPI_Send_c(&rank, 1, MPI_INT, next, 5, W);
    expect("wait req=0");
    MPI_Wait(&r, &status);
    MPI_Get_count_c(&status, MPI_INT, &elements);
    MUST(data == prev && elements == 1);
    MPI_Type_contiguous_c((MPI_Count)1 << 32, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    expect("send comm=0 peer=null tag=5 bytes=51539607552 esize=17179869184");
    MPI_Send_c(&rank, 3, pair, MPI_PROC_NULL, 5, W);
    MPI_Type_free(&pair);
    if (expect_file) {
        fprintf(expect_file, "allgatherv comm=0 bytes=4 esize=4 resize=4 recvcounts=[");
        for (int i = 0; i < size; i++)
            fprintf(expect_file, i ? ",1" : "1");
        fprintf(expect_file, "]\n");
    }
    MPI_Allgatherv_c(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, W);
    for (int i = 0; i < size; i++)
        MUST(all[i] == i);
    free(counts);
    free(displs);
    free(all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    persistent_collectives();
    made_unseen();
    send_receive();
    partitioned();
    large_counts();
    expect_end();
    MPI_Finalize();
    return 0;
}
#else
int main(void)
{
    return 77; /* this MPI has none of it */
}
#endif
