/* Persistent requests, in a ring as in p2p.c: one keeps its number until it is
 * freed, and is a request to the trace only between a start and its completion. */
#include "tests/mpi/expect.h"

static int next, prev, out[4], in[4], flag, index_, n, indices[4];
static MPI_Request r[4];
static MPI_Status statuses[4];

static void make(void)
{
    static const struct {
        const char *name;
        int (*init)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    } mode[] = {{"send_init", MPI_Send_init},
                {"bsend_init", MPI_Bsend_init},
                {"ssend_init", MPI_Ssend_init},
                {"rsend_init", MPI_Rsend_init}};

    for (int m = 0; m < 4; m++) {
        expect("recv_init comm=0 peer=%s tag=%d bytes=8 esize=4 req=0", to(prev), m);
        MPI_Recv_init(in, 2, MPI_INT, prev, m, MPI_COMM_WORLD, &r[0]);
        expect("%s comm=0 peer=%s tag=%d bytes=8 esize=4 req=1", mode[m].name, to(next), m);
        mode[m].init(out, 2, MPI_INT, next, m, MPI_COMM_WORLD, &r[1]);
        for (int i = 0; i < 3; i++) {
            out[0] = 100 * m + i;
            expect("start req=0");
            MPI_Start(&r[0]);
            expect("barrier comm=0"); /* a ready send needs its receive */
            MPI_Barrier(MPI_COMM_WORLD);
            expect("start req=1");
            MPI_Start(&r[1]);
            if (i == 0) {
                expect("wait req=0");
                MPI_Wait(&r[0], statuses);
                MUST(statuses[0].MPI_SOURCE == prev && statuses[0].MPI_TAG == m);
                expect("wait req=1");
                MPI_Wait(&r[1], MPI_STATUS_IGNORE);
            } else {
                expect("waitall all=1");
                MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
            }
            MUST(in[0] == 100 * m + i && r[0] != MPI_REQUEST_NULL);
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE); /* inactive: no event */
        }
        expect("request_free req=0");
        MPI_Request_free(&r[0]);
        expect("request_free req=1");
        MPI_Request_free(&r[1]);
    }
}

/* Every completion, of some that are active and one that is not. */
static void complete(void)
{
    expect("recv_init comm=0 peer=any tag=any bytes=4 esize=4 req=0");
    MPI_Recv_init(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
    expect("send_init comm=0 peer=%s tag=7 bytes=4 esize=4 req=1", to(next));
    MPI_Send_init(out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &r[1]);
    expect("recv_init comm=0 peer=null tag=3 bytes=4 esize=4 req=2");
    MPI_Recv_init(in + 1, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &r[2]);
    for (int ignore = 0; ignore < 2; ignore++) {
        MPI_Status *one = ignore ? MPI_STATUS_IGNORE : statuses;
        MPI_Status *all = ignore ? MPI_STATUSES_IGNORE : statuses;

        for (int how = 0; how < 6; how++) {
            expect("startall requests=[1,0]");
            MPI_Startall(2, (MPI_Request[]){r[1], r[0]});
            /* the send first, so that the order of completions is known */
            expect("wait req=1");
            MPI_Wait(&r[1], MPI_STATUS_IGNORE);
            switch (how) {
            case 0:
                expect("waitall all=1 matched=[0:%+d:7]", prev - rank);
                MPI_Waitall(3, r, all);
                break;
            case 1:
                expect("waitany from=%+d fromtag=7 req=0", prev - rank);
                MPI_Waitany(3, r, &index_, one);
                MUST(index_ == 0);
                MPI_Waitany(3, r, &index_, one);
                MUST(index_ == MPI_UNDEFINED);
                break;
            case 2:
                expect("waitsome all=1 matched=[0:%+d:7]", prev - rank);
                MPI_Waitsome(3, r, &n, indices, all);
                MUST(n == 1 && indices[0] == 0);
                MPI_Waitsome(3, r, &n, indices, all);
                MUST(n == MPI_UNDEFINED);
                break;
            case 3:
                expect("testall all=1 matched=[0:%+d:7]", prev - rank);
                do
                    MPI_Testall(3, r, &flag, all);
                while (!flag);
                MPI_Testall(3, r, &flag, all);
                MUST(flag);
                break;
            case 4:
                expect("testany from=%+d fromtag=7 req=0", prev - rank);
                do
                    MPI_Testany(3, r, &index_, &flag, one);
                while (!flag);
                MPI_Testany(3, r, &index_, &flag, one);
                MUST(flag && index_ == MPI_UNDEFINED);
                break;
            default:
                expect("testsome all=1 matched=[0:%+d:7]", prev - rank);
                do
                    MPI_Testsome(3, r, &n, indices, all);
                while (n == 0);
                MPI_Testsome(3, r, &n, indices, all);
                MUST(n == MPI_UNDEFINED);
            }
            MPI_Test(&r[0], &flag, one); /* inactive */
            MUST(flag);
        }
    }
}

/* Their numbers are taken, active or not; what is all is what is active. */
static void numbers(void)
{
    MPI_Request other;

    expect("isend comm=0 peer=null tag=1 bytes=4 esize=4 req=3");
    MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &other);
    expect("start req=2");
    MPI_Start(&r[2]);
    expect("waitall requests=[2]");
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    expect("request_free req=1");
    MPI_Request_free(&r[1]);
    expect("irecv comm=0 peer=null tag=1 bytes=4 esize=4 req=1");
    MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[1]);
    expect("wait req=3");
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    expect("waitall all=1");
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    expect("isend comm=0 peer=null tag=1 bytes=4 esize=4 req=1");
    MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[1]);
    expect("wait req=1");
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Startall(0, r); /* none: no event */
}

/* A request that is started where nothing is recorded is complete without an event, but the
 * requests made there are in the trace. */
static void out_of_sight(void)
{
    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    expect("send_init comm=0 peer=%s tag=7 bytes=4 esize=4 req=1", to(next));
    MPI_Send_init(out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &r[1]);
    MPI_Startall(2, r);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    expect("startall requests=[0,1]");
    MPI_Startall(2, r);
    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    expect("waitall all=1 matched=[0:%+d:7]", prev - rank);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    for (int i = 0; i < 3; i++) {
        expect("request_free req=%d", i);
        MPI_Request_free(&r[i]);
    }
}

/* Freed while it is active: it completes by itself. */
static void freed(void)
{
    expect("send_init comm=0 peer=%s tag=8 bytes=4 esize=4 req=0", to(next));
    MPI_Send_init(out, 1, MPI_INT, next, 8, MPI_COMM_WORLD, &r[0]);
    expect("start req=0");
    MPI_Start(&r[0]);
    expect("request_free req=0");
    MPI_Request_free(&r[0]);
    expect("irecv comm=0 peer=%s tag=8 bytes=4 esize=4 req=0", to(prev));
    MPI_Irecv(in, 1, MPI_INT, prev, 8, MPI_COMM_WORLD, &r[0]);
    expect("waitall all=1");
    MPI_Waitall(1, r, MPI_STATUSES_IGNORE);
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
    make();
    complete();
    numbers();
    out_of_sight();
    freed();
    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    return 0;
}
