/* MPI_Pcontrol(0) to MPI_Pcontrol(1): what happens between is in the trace only
 * where what comes later needs it: communicators, and the completion of requests
 * that are in it.  On 2 ranks. */
#include "tests/mpi/expect.h"

static int out, in[8], peer;
static MPI_Request r[8];

static void isend(int i, int tag)
{
    MPI_Isend(&out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &r[i]);
}

static void irecv(int i, int tag)
{
    MPI_Irecv(&in[i], 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &r[i]);
}

static void expect_message(const char *op, int tag, int number)
{
    expect("%s comm=0 peer=%s tag=%d bytes=4 esize=4 req=%d", op, to(peer), tag, number);
}

static void stop(void)
{
    expect("pcontrol level=0");
    MPI_Pcontrol(0);
}

static void resume(void)
{
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
}

/* Everything in the region is whole and is left out. */
static void nothing(void)
{
    stop();
    MPI_Pcontrol(0); /* already */
    MPI_Barrier(MPI_COMM_WORLD);
    isend(0, 1);
    irecv(1, 1);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, peer, 2, in, 1, MPI_INT, peer, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    resume();
    expect("pcontrol level=1"); /* and again, to no effect */
    MPI_Pcontrol(1);
    expect("pcontrol level=2");
    MPI_Pcontrol(2);
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Requests made before it and completed in it, one of them after it. */
static void begun_before(void)
{
    irecv(0, 1);
    expect_message("irecv", 1, 0);
    irecv(1, 2);
    expect_message("irecv", 2, 1);
    isend(2, 1);
    expect_message("isend", 1, 2);
    isend(3, 2);
    expect_message("isend", 2, 3);
    stop();
    expect("wait req=2");
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    expect("wait req=0");
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    resume();
    expect("waitall all=1");
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

/* Requests made in it and completed after it: not in the trace, and not taken
 * for those that are, even where the library gives them one handle. */
static void begun_inside(void)
{
    irecv(0, 1);
    expect_message("irecv", 1, 0);
    isend(1, 1);
    expect_message("isend", 1, 1);
    stop();
    irecv(2, 2);
    isend(3, 2);
    MPI_Wait(&r[3], MPI_STATUS_IGNORE);
    isend(3, 3);
    irecv(4, 3);
    resume();
    irecv(5, 4);
    expect_message("irecv", 4, 2);
    isend(6, 4);
    expect_message("isend", 4, 3);
    MPI_Waitall(3, r + 2, MPI_STATUSES_IGNORE);
    expect("wait req=3");
    MPI_Wait(&r[6], MPI_STATUS_IGNORE);
    expect("waitall requests=[1,2]");
    MPI_Waitall(5, r + 1, MPI_STATUSES_IGNORE);
    expect("wait req=0");
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

/* Places of requests that are used again in the region. */
static void places(void)
{
    MPI_Request kept;

    isend(0, 1);
    expect_message("isend", 1, 0);
    kept = r[0];
    stop();
    for (int i = 0; i < 3; i++) {
        isend(0, 2);
        irecv(1, i ? 2 : 1);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    irecv(1, 2);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    resume();
    expect("wait req=0");
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
}

static void communicators(void)
{
    MPI_Comm comm, other;

    stop();
    expect("comm_dup comm=0 newcomm=2");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    resume();
    expect("barrier comm=2");
    MPI_Barrier(comm);
    stop();
    expect("comm_split comm=2 color=0 key=%d newcomm=3", -rank);
    MPI_Comm_split(comm, 0, -rank, &other);
    expect("comm_free comm=2");
    MPI_Comm_free(&comm);
    resume();
    expect("bcast comm=3 bytes=4 esize=4 root=0");
    MPI_Bcast(&out, 1, MPI_INT, 0, other);
    expect("send comm=3 peer=%s tag=1 bytes=4 esize=4", at(peer < rank ? 1 : -1, peer));
    MPI_Send(&out, 1, MPI_INT, 1 - peer, 1, other);
    expect("recv comm=3 peer=%s tag=1 bytes=4 esize=4", at(peer < rank ? 1 : -1, peer));
    MPI_Recv(in, 1, MPI_INT, 1 - peer, 1, other, MPI_STATUS_IGNORE);
    expect("comm_free comm=3");
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    peer = 1 - rank;
    nothing();
    begun_before();
    begun_inside();
    places();
    communicators();
    stop(); /* the end is in the trace all the same */
    MPI_Barrier(MPI_COMM_WORLD);
    expect_end();
    MPI_Finalize();
    return 0;
}
