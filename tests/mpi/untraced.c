/* Calls that this release does not trace: named, each time.  On 2 ranks. */
#include "tests/mpi/expect.h"

static int out[4], in[4], peer;

static void named(const char *name)
{
    expect("untraced call=MPI_%s", name);
}

/* Their requests are none of ours. */
static void requests(void)
{
    MPI_Request r[3];
    int flag;

    expect("isend comm=0 peer=%s tag=1 bytes=4 esize=4 req=0", to(peer));
    MPI_Isend(out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[1]);
    expect("wait req=0");
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    expect("recv comm=0 peer=%s tag=1 bytes=4 esize=4", to(peer));
    MPI_Recv(in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    named("Recv_init");
    MPI_Recv_init(in, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &r[0]);
    named("Send_init");
    MPI_Send_init(out, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 2; i++) {
        named("Startall");
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        named("Start");
        MPI_Start(&r[0]);
        named("Start");
        MPI_Start(&r[1]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        do
            MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
        while (!flag);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void matched_probe(void)
{
    MPI_Message message;
    int flag;

    MPI_Improbe(peer, 9, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE); /* no: no event */
    MUST(!flag);
    expect("send comm=0 peer=%s tag=3 bytes=4 esize=4", to(peer));
    MPI_Send(out, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
    named("Mprobe");
    MPI_Mprobe(peer, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    named("Mrecv");
    MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* A receive that was cancelled matched nothing. */
static void cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag;

    expect("irecv comm=0 peer=any tag=any bytes=4 esize=4 req=0");
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    named("Cancel");
    MPI_Cancel(&request);
    expect("wait req=0");
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    MUST(flag);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    peer = 1 - rank;
    requests();
    matched_probe();
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
    cancelled();
    expect_end();
    MPI_Finalize();
    return 0;
}
