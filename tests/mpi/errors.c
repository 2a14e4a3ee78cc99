/* Calls that fail under MPI_ERRORS_RETURN, or with the argument "handler" under
 * an error handler that counts: no events, and the application is told what it
 * would be told untraced.  Prints the error classes; on 2 ranks. */
#include "tests/mpi/expect.h"

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void say(const char *call, int rc)
{
    int class = -1;

    MPI_Error_class(rc, &class);
    if (rank == 0)
        printf("%s: %d, %d handled\n", call, class, handled);
}

int main(int argc, char **argv)
{
    MPI_Comm nothing = MPI_COMM_NULL, made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL, two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Comm *volatile nowhere = NULL; /* volatile: compilers warn of these */
    MPI_File *volatile no_file = NULL;
    const char *volatile no_name = NULL;
    int *volatile no_flag = NULL;
    MPI_Errhandler handler;
    MPI_Status status;
    int out[4] = {0}, in[4], flag, counts[2] = {-1, 1}, zero = 0, attached = 4096;
    void *buffer = malloc((size_t)attached);

    MPI_Init(&argc, &argv);
    expect_begin(0);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, argc > 1 ? handler : MPI_ERRORS_RETURN);
    MPI_Buffer_attach(buffer, attached);

    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
    say("send to nobody", MPI_Send(out, 1, MPI_INT, size, 1, MPI_COMM_WORLD));
    say("send with a tag below zero", MPI_Send(out, 1, MPI_INT, 0, -5, MPI_COMM_WORLD));
    say("send of less than nothing", MPI_Send(out, -1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    say("send of no type", MPI_Send(out, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD));
    say("send on no communicator", MPI_Send(out, 1, MPI_INT, 0, 1, MPI_COMM_NULL));
    say("isend to nobody", MPI_Isend(out, 1, MPI_INT, size, 1, MPI_COMM_WORLD, &request));
    say("recv from nobody", MPI_Recv(in, 1, MPI_INT, size, 1, MPI_COMM_WORLD, &status));
    say("recv of any tag from nobody",
        MPI_Recv(in, 1, MPI_INT, size, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    say("irecv from nobody", MPI_Irecv(in, 1, MPI_INT, -7, 1, MPI_COMM_WORLD, &request));
    say("probe of nobody", MPI_Probe(size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    say("iprobe of nobody", MPI_Iprobe(size, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    say("bcast from nobody", MPI_Bcast(out, 1, MPI_INT, size, MPI_COMM_WORLD));
    say("allreduce of no operation",
        MPI_Allreduce(out, in, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
    say("alltoallv of less than nothing",
        MPI_Alltoallv(out, counts, counts, MPI_INT, in, counts, counts, MPI_INT, MPI_COMM_WORLD));
    say("barrier on no communicator", MPI_Barrier(MPI_COMM_NULL));
    say("dup of no communicator", MPI_Comm_dup(MPI_COMM_NULL, &made));
    say("split with a colour below zero", MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &made));
    say("cart of no rank in no dimension",
        MPI_Cart_create(MPI_COMM_WORLD, -1, &zero, &zero, 0, &made));
    say("free of no communicator", MPI_Comm_free(&nothing));
    say("free of the world", MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}));
    say("free of no request", MPI_Request_free(&request));
    say("waitall of fewer than none", MPI_Waitall(-1, two, MPI_STATUSES_IGNORE));

    /* a message that is too long: an error, and no event */
    expect("bsend comm=0 peer=%s tag=4 bytes=16 esize=4", to(1 - rank));
    MPI_Bsend(out, 4, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD);
    say("recv of too long a message",
        MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));

    /* what has come is complete only when a call says so */
    expect("recv_init comm=0 peer=+0(%d) tag=6 bytes=4 esize=4 req=0", rank);
    MPI_Recv_init(in, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &request);
    expect("start req=0");
    MPI_Start(&request);
    expect("send comm=0 peer=+0(%d) tag=6 bytes=4 esize=4", rank);
    MPI_Send(out, 1, MPI_INT, rank, 6, MPI_COMM_WORLD);
    say("test without a flag", MPI_Test(&request, no_flag, MPI_STATUS_IGNORE));
    say("waitany without an index", MPI_Waitany(1, &request, no_flag, MPI_STATUS_IGNORE));
    expect("wait req=0");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("request_free req=0");
    MPI_Request_free(&request);
    say("close of no file", MPI_File_close(no_file));
    say("delete of a file without a name", MPI_File_delete(no_name, MPI_INFO_NULL));
    say("idup to nowhere", MPI_Comm_idup(MPI_COMM_WORLD, nowhere, &request));

    /* and what follows is as if nothing had been */
    expect("comm_dup comm=0 newcomm=2");
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    expect("comm_free comm=2");
    MPI_Comm_free(&made);
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Errhandler_free(&handler);
    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    return 0;
}
