/* Cancelled requests, in a ring as in p2p.c: their completion says that nothing
 * matched, if they really were cancelled. */
#include "tests/mpi/expect.h"

static int next, prev, out[4], in[4], flag, n, indices[4];
static MPI_Request r[4];
static MPI_Status statuses[4];

static void irecv(int number, int tag)
{
    expect("irecv comm=0 peer=%s tag=%d bytes=4 esize=4 req=%d", to(prev), tag, number);
    MPI_Irecv(&in[number], 1, MPI_INT, prev, tag, MPI_COMM_WORLD, &r[number]);
}

static void cancel(int number)
{
    expect("cancel req=%d", number);
    MPI_Cancel(&r[number]);
}

static void is_cancelled(const MPI_Status *status, int how)
{
    MPI_Test_cancelled(status, &flag);
    MUST(flag == how);
}

static void alone(void)
{
    for (int ignore = 0; ignore < 2; ignore++) {
        MPI_Status *one = ignore ? MPI_STATUS_IGNORE : statuses;

        irecv(0, 1);
        cancel(0);
        expect("wait from=null fromtag=null req=0");
        MPI_Wait(&r[0], one);
        MUST(r[0] == MPI_REQUEST_NULL);
        if (!ignore)
            is_cancelled(statuses, 1);

        expect("irecv comm=0 peer=any tag=9 bytes=4 esize=4 req=0");
        MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &r[0]);
        cancel(0);
        expect("test from=null fromtag=null req=0");
        do
            MPI_Test(&r[0], &flag, one);
        while (!flag);

        /* the next one with that number is not cancelled */
        irecv(0, 2);
        expect("bsend comm=0 peer=%s tag=2 bytes=4 esize=4", to(next));
        MPI_Bsend(out, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
        expect("wait req=0");
        MPI_Wait(&r[0], one);
    }
}

/* Too late: they have matched. */
static void in_vain(void)
{
    for (int ignore = 0; ignore < 2; ignore++) {
        irecv(0, 3);
        expect("irecv comm=0 peer=any tag=4 bytes=4 esize=4 req=1");
        MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &r[1]);
        for (int tag = 3; tag <= 4; tag++) {
            expect("isend comm=0 peer=%s tag=%d bytes=4 esize=4 req=2", to(next), tag);
            MPI_Isend(out, 1, MPI_INT, next, tag, MPI_COMM_WORLD, &r[2]);
            cancel(2); /* a send that is complete */
            expect("wait req=2");
            MPI_Wait(&r[2], &statuses[2]);
            is_cancelled(&statuses[2], 0);
        }
        do /* until both are there, without an event */
            MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
        while (!flag);
        do
            MPI_Request_get_status(r[1], &flag, MPI_STATUS_IGNORE);
        while (!flag);
        cancel(0);
        cancel(1);
        expect("waitall all=1 matched=[1:%+d:4]", prev - rank);
        MPI_Waitall(2, r, ignore ? MPI_STATUSES_IGNORE : statuses);
    }
}

static void together(void)
{
    for (int how = 0; how < 4; how++)
        for (int ignore = 0; ignore < 2; ignore++) {
            MPI_Status *all = ignore ? MPI_STATUSES_IGNORE : statuses;
            const char *name[] = {"waitall", "testall", "waitsome", "testsome"};

            for (int i = 0; i < 3; i++)
                irecv(i, i);
            cancel(2);
            cancel(0);
            expect("bsend comm=0 peer=%s tag=1 bytes=4 esize=4", to(next));
            MPI_Bsend(out, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
            do
                MPI_Request_get_status(r[1], &flag, MPI_STATUS_IGNORE);
            while (!flag);
            expect("%s all=1 matched=[0:null:null,2:null:null]", name[how]);
            if (how == 0)
                MPI_Waitall(3, r, all);
            else if (how == 1)
                MPI_Testall(3, r, &flag, all);
            else if (how == 2)
                MPI_Waitsome(3, r, &n, indices, all);
            else
                MPI_Testsome(3, r, &n, indices, all);
            MUST(how != 1 || flag);
            MUST(how < 2 || n == 3);
            MUST(r[0] == MPI_REQUEST_NULL && r[2] == MPI_REQUEST_NULL);
        }
}

static void persistent(void)
{
    expect("recv_init comm=0 peer=%s tag=5 bytes=4 esize=4 req=0", to(prev));
    MPI_Recv_init(in, 1, MPI_INT, prev, 5, MPI_COMM_WORLD, &r[0]);
    for (int i = 0; i < 2; i++) {
        expect("start req=0");
        MPI_Start(&r[0]);
        cancel(0);
        expect("wait from=null fromtag=null req=0");
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        expect("barrier comm=0"); /* nobody sends yet */
        MPI_Barrier(MPI_COMM_WORLD);
        expect("start req=0");
        MPI_Start(&r[0]);
        expect("bsend comm=0 peer=%s tag=5 bytes=4 esize=4", to(next));
        MPI_Bsend(out, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
        expect("wait req=0");
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
    expect("request_free req=0");
    MPI_Request_free(&r[0]);
}

int main(int argc, char **argv)
{
    int attached = 1 << 20;
    void *buffer = malloc((size_t)attached);

    MPI_Init(&argc, &argv);
    expect_begin(0);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    MPI_Buffer_attach(buffer, attached);
    alone();
    in_vain();
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
    together();
    persistent();
    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    return 0;
}
