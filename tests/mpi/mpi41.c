/* Calls that MPI-4.1 added: buffers of communicators and their flushes, queries of statuses of several
 * requests, getters and setters of statuses, questions about the hardware. */
#include "tests/mpi/expect.h"

#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41

#define W MPI_COMM_WORLD

static int next, prev;

/* Neither the calls nor the requests that they make leave events. */
static void buffers(void)
{
    char room[1000 + MPI_BSEND_OVERHEAD], *got;
    MPI_Request r[3];
    int sent = 7, came = 0, bytes = 0;

    MPI_Comm_attach_buffer(W, room, sizeof room);
    expect("bsend comm=0 peer=%s tag=1 bytes=4 esize=4", to(next));
    MPI_Bsend(&sent, 1, MPI_INT, next, 1, W);
    expect("irecv comm=0 peer=%s tag=1 bytes=4 esize=4 req=0", to(prev));
    MPI_Irecv(&came, 1, MPI_INT, prev, 1, W, &r[0]);
    MPI_Comm_iflush_buffer(W, &r[1]);
    expect("wait req=0");
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MUST(came == 7);
    MPI_Comm_iflush_buffer(W, &r[0]);
    expect("isend comm=0 peer=%s tag=2 bytes=4 esize=4 req=0", to(next));
    MPI_Isend(&sent, 1, MPI_INT, next, 2, W, &r[1]);
    expect("irecv comm=0 peer=%s tag=2 bytes=4 esize=4 req=1", to(prev));
    MPI_Irecv(&came, 1, MPI_INT, prev, 2, W, &r[2]);
    expect("waitall all=1");
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MPI_Comm_flush_buffer(W);
    MPI_Buffer_flush();
    MPI_Comm_detach_buffer(W, &got, &bytes);
    MUST(got == room && bytes == (int)sizeof room);
}

static void statuses(void)
{
    int sent = 8, came = 0, flag = 0, index = -1, outcount = 0, indices[2], source = -1, tag = -1;
    MPI_Status s, both[2];
    MPI_Request r[2];

    expect("irecv comm=0 peer=%s tag=3 bytes=4 esize=4 req=0", to(prev));
    MPI_Irecv(&came, 1, MPI_INT, prev, 3, W, &r[0]);
    expect("isend comm=0 peer=%s tag=3 bytes=4 esize=4 req=1", to(next));
    MPI_Isend(&sent, 1, MPI_INT, next, 3, W, &r[1]);
    while (!flag)
        MPI_Request_get_status_all(2, r, &flag, both);
    flag = 0;
    MPI_Request_get_status_any(2, r, &index, &flag, &s);
    MUST(flag && index >= 0);
    MPI_Request_get_status_some(2, r, &outcount, indices, both);
    MUST(outcount == 2);
    MPI_Request_get_status_any(1, r, &index, &flag, &s);
    MPI_Status_get_source(&s, &source);
    MPI_Status_get_tag(&s, &tag);
    MUST(source == prev && tag == 3);
    MPI_Status_set_source(&s, 0);
    MPI_Status_set_tag(&s, 5);
    MPI_Status_set_error(&s, MPI_SUCCESS);
    MUST(s.MPI_SOURCE == 0 && s.MPI_TAG == 5);
    expect("waitall all=1");
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MUST(came == 8);
}

static void hardware(void)
{
    MPI_Info info;

    MPI_Get_hw_resource_info(&info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    buffers();
    statuses();
    hardware();
    expect_end();
    MPI_Finalize();
    return 0;
}

#else

int main(void)
{
    return 77;
}

#endif
