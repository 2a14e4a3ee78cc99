/* Things that the trace cannot know: made behind its back, as by a library that
 * calls PMPI itself, and then given to a traced call, which the argument names.
 * Recording stops there; whatever comes after is as it would be without it.  What
 * is expected ends at that call.  On 2 ranks. */
#include "tests/mpi/expect.h"

#include <string.h>

static int other, out, in[2], flag, n, index_, indices[2];
static MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
static MPI_Message message;
static MPI_Comm comm;
static const char *call;

static int is(const char *name)
{
    return strcmp(call, name) == 0;
}

/* r[0] is known, r[1] is not. */
static void receive(void)
{
    expect("irecv comm=0 peer=%s tag=1 bytes=4 esize=4 req=0", to(other));
    MPI_Irecv(&in[0], 1, MPI_INT, other, 1, MPI_COMM_WORLD, &r[0]);
    PMPI_Irecv(&in[1], 1, MPI_INT, other, 2, MPI_COMM_WORLD, &r[1]);
    for (int tag = 1; tag <= 2; tag++) {
        expect("send comm=0 peer=%s tag=%d bytes=4 esize=4", to(other), tag);
        MPI_Send(&out, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
    }
}

static void complete(void)
{
    receive();
    if (is("MPI_Wait"))
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    else if (is("MPI_Waitall"))
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    else if (is("MPI_Waitany"))
        MPI_Waitany(1, &r[1], &index_, MPI_STATUS_IGNORE);
    else if (is("MPI_Waitsome"))
        MPI_Waitsome(1, &r[1], &n, indices, MPI_STATUSES_IGNORE);
    else if (is("MPI_Test"))
        do
            MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
        while (!flag);
    else
        do
            MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
        while (!flag);
    MUST(r[1] == MPI_REQUEST_NULL && in[1] == 100 + other);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MUST(r[0] == MPI_REQUEST_NULL && in[0] == 100 + other);
}

static void persistent(void)
{
    PMPI_Recv_init(in, 1, MPI_INT, other, 3, MPI_COMM_WORLD, r);
    if (is("MPI_Request_free")) {
        MPI_Request_free(r);
        MUST(r[0] == MPI_REQUEST_NULL);
        return;
    }
    if (is("MPI_Startall"))
        MPI_Startall(1, r);
    else
        MPI_Start(r);
    MPI_Send(&out, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
    MPI_Wait(r, MPI_STATUS_IGNORE);
    MUST(in[0] == 100 + other);
    MPI_Request_free(r);
}

static void cancel(void)
{
    MPI_Status status;

    PMPI_Irecv(in, 1, MPI_INT, other, 4, MPI_COMM_WORLD, r);
    MPI_Cancel(r);
    MPI_Wait(r, &status);
    MPI_Test_cancelled(&status, &flag);
    MUST(flag);
}

static void matched(void)
{
    expect("isend comm=0 peer=%s tag=5 bytes=4 esize=4 req=0", to(other));
    MPI_Isend(&out, 1, MPI_INT, other, 5, MPI_COMM_WORLD, r);
    PMPI_Mprobe(other, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    if (is("MPI_Mrecv")) {
        MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
        MPI_Imrecv(in, 1, MPI_INT, &message, &r[1]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    }
    MUST(message == MPI_MESSAGE_NULL && in[0] == 100 + other);
    MPI_Wait(r, MPI_STATUS_IGNORE);
}

static void communicator(void)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (is("MPI_Barrier")) {
        MPI_Barrier(comm);
    } else if (is("MPI_Comm_dup")) {
        MPI_Comm again;

        MPI_Comm_dup(comm, &again);
        MPI_Comm_free(&again);
    } else {
        MPI_Irecv(in, 1, MPI_INT, other, 6, comm, r);
        MPI_Send(&out, 1, MPI_INT, other, 6, comm);
        MPI_Wait(r, MPI_STATUS_IGNORE);
        MUST(in[0] == 100 + other);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int sum;

    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(size == 2 && argc == 2);
    call = argv[1];
    other = 1 - rank;
    out = 100 + rank;
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
    if (is("MPI_Start") || is("MPI_Startall") || is("MPI_Request_free"))
        persistent();
    else if (is("MPI_Cancel"))
        cancel();
    else if (is("MPI_Mrecv") || is("MPI_Imrecv"))
        matched();
    else if (is("MPI_Barrier") || is("MPI_Comm_dup") || is("MPI_Irecv"))
        communicator();
    else
        complete();
    for (int i = 0; i < 1000; i++) {
        MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MUST(sum == 201);
    }
    if (expect_file)
        fclose(expect_file);
    MPI_Finalize();
    return 0;
}
