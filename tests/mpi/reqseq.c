/* Requests, cancelling and probes as Fortran programs have them: reqseq.inc is the
 * same in Fortran, with indices from 1, logical flags and parts of arrays, and leaves
 * the events that are told here.  In a ring as in p2p.c. */
#include "tests/mpi/expect.h"

#define W MPI_COMM_WORLD

static int next, prev, in[8], out[8], list[8], flag, n, index_;
static MPI_Request r[8];
static MPI_Status one, all[8];
static MPI_Message message;

static void check(const MPI_Status *status, int tag)
{
    MUST(status->MPI_SOURCE == prev && status->MPI_TAG == tag);
}

static void isend(int tag)
{
    expect("isend comm=0 peer=%s tag=%d bytes=4 esize=4 req=0", to(next), tag);
    MPI_Isend(out, 1, MPI_INT, next, tag, W, &r[0]);
}

static void send(const int *from, int tag)
{
    expect("send comm=0 peer=%s tag=%d bytes=4 esize=4", to(next), tag);
    MPI_Send(from, 1, MPI_INT, next, tag, W);
}

static void irecv(int i, int tag)
{
    expect("irecv comm=0 peer=%s tag=%d bytes=4 esize=4 req=%d", to(prev), tag, i);
    MPI_Irecv(&in[i], 1, MPI_INT, prev, tag, W, &r[i]);
}

static void irecv_any(int i, int tag)
{
    expect("irecv comm=0 peer=any tag=%d bytes=4 esize=4 req=%d", tag, i);
    MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, tag, W, &r[i]);
}

static void release(int i)
{
    expect("request_free req=%d", i);
    MPI_Request_free(&r[i]);
}

static void barrier(void)
{
    expect("barrier comm=0");
    MPI_Barrier(W);
}

static void modes(void)
{
    static const struct {
        const char *name;
        int (*init)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    } mode[] = {{"send_init", MPI_Send_init},
                {"ssend_init", MPI_Ssend_init},
                {"rsend_init", MPI_Rsend_init},
                {"bsend_init", MPI_Bsend_init}};

    expect("recv_init comm=0 peer=any tag=any bytes=4 esize=4 req=0");
    MPI_Recv_init(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &r[0]);
    for (int m = 1; m <= 4; m++) {
        expect("%s comm=0 peer=%s tag=%d bytes=4 esize=4 req=1", mode[m - 1].name, to(next), m);
        mode[m - 1].init(out, 1, MPI_INT, next, m, W, &r[1]);
        if (m < 4) {
            expect("start req=0");
            MPI_Start(&r[0]);
            barrier();
            expect("start req=1");
            MPI_Start(&r[1]);
            expect("wait from=%+d fromtag=%d req=0", prev - rank, m);
            MPI_Wait(&r[0], &one);
            check(&one, m);
            expect("wait req=1");
            MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        }
        release(1);
    }
}

/* The completions in the order of reqseq.inc; calls that complete nothing leave no
 * event, so one kind of them will do. */
static void completions(void)
{
    static const char *const name[] = {"wait",     "waitall",  "waitall",  "waitany", "waitany",
                                       "waitsome", "waitsome", "test",     "test",    "testall",
                                       "testall",  "testany",  "testsome", "testsome"};

    expect("send_init comm=0 peer=%s tag=7 bytes=4 esize=4 req=1", to(next));
    MPI_Send_init(out, 1, MPI_INT, next, 7, W, &r[1]);
    r[2] = MPI_REQUEST_NULL;
    for (int m = 1; m <= 14; m++) {
        expect("startall requests=[0,1]");
        MPI_Startall(2, r);
        expect("wait req=1");
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        flag = n = 0;
        if (m == 1 || m == 4 || m == 5 || m == 8 || m == 9 || m == 12)
            expect("%s from=%+d fromtag=7 req=0", name[m - 1], prev - rank);
        else
            expect("%s all=1 matched=[0:%+d:7]", name[m - 1], prev - rank);
        if (m == 1)
            MPI_Wait(r, &one);
        else if (m <= 3)
            MPI_Waitall(3, r, m == 2 ? all : MPI_STATUSES_IGNORE);
        else if (m <= 5)
            MPI_Waitany(3, r, &index_, m == 4 ? &one : MPI_STATUS_IGNORE);
        else if (m <= 7)
            MPI_Waitsome(3, r, &n, list, m == 6 ? all : MPI_STATUSES_IGNORE);
        while (m > 7 && !flag && !n) {
            if (m <= 9)
                MPI_Test(r, &flag, m == 8 ? &one : MPI_STATUS_IGNORE);
            else if (m <= 11)
                MPI_Testall(3, r, &flag, m == 10 ? all : MPI_STATUSES_IGNORE);
            else if (m == 12)
                MPI_Testany(3, r, &index_, &flag, &one);
            else
                MPI_Testsome(3, r, &n, list, m == 13 ? all : MPI_STATUSES_IGNORE);
        }
        MUST(in[0] == 1000 * prev + 1);
        in[0] = -1;
        MPI_Testall(3, r, &flag, MPI_STATUSES_IGNORE);
        MUST(flag);
    }
    release(0);
    release(1);
}

static void some(void)
{
    for (int m = 1; m <= 2; m++) {
        for (int i = 0; i < 3; i++)
            irecv_any(i, 11 + i);
        send(out, 13);
        send(out, 12);
        for (int i = 1; i < 3; i++)
            do
                MPI_Request_get_status(r[i], &flag, &one);
            while (!flag);
        expect("%s requests=[1,2] matched=[1:%+d:12,2:%+d:13]", m == 1 ? "waitsome" : "testsome",
               prev - rank, prev - rank);
        if (m == 1)
            MPI_Waitsome(3, r, &n, list, all);
        else
            MPI_Testsome(3, r, &n, list, MPI_STATUSES_IGNORE);
        MUST(n == 2);
        barrier();
        send(out, 11);
        expect("waitany from=%+d fromtag=11 req=0", prev - rank);
        MPI_Waitany(3, r, &index_, &one);
    }
    for (int i = 0; i < 4; i++)
        irecv(i, 15 + i);
    for (int i = 0; i < 4; i++)
        send(&out[i], 15 + i);
    expect("waitall requests=[1,3]");
    MPI_Waitall(2, (MPI_Request[]){r[1], r[3]}, MPI_STATUSES_IGNORE);
    expect("waitall all=1");
    MPI_Waitall(2, (MPI_Request[]){r[0], r[2]}, all);
    check(&all[1], 17);
}

static void cancelled(void)
{
    for (int i = 0; i < 3; i++) {
        irecv(0, 21);
        if (i == 1) {
            irecv_any(1, 21);
            expect("cancel req=1");
            MPI_Cancel(&r[1]);
        }
        expect("cancel req=0");
        MPI_Cancel(&r[0]);
        if (i == 1) {
            expect("waitall all=1 matched=[0:null:null,1:null:null]");
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        } else {
            expect("wait from=null fromtag=null req=0");
            MPI_Wait(&r[0], i ? MPI_STATUS_IGNORE : &one);
        }
    }
}

static void matched(void)
{
    for (int m = 1; m <= 4; m++) {
        int any_source = m == 1 || m == 4, any_tag = m <= 2, tag = 30 + m;
        char tag_text[16], match[64] = "";

        isend(tag);
        snprintf(tag_text, sizeof tag_text, "%d", tag);
        if (any_source || any_tag)
            snprintf(match, sizeof match, " from=%s fromtag=%d", to(prev), tag);
        expect("%s comm=0 peer=%s tag=%s%s msg=0", m <= 2 ? "mprobe" : "improbe",
               any_source ? "any" : to(prev), any_tag ? "any" : tag_text, match);
        if (m <= 2)
            MPI_Mprobe(any_source ? MPI_ANY_SOURCE : prev, MPI_ANY_TAG, W, &message, &one);
        else
            do
                MPI_Improbe(any_source ? MPI_ANY_SOURCE : prev, tag, W, &flag, &message, &one);
            while (!flag);
        check(&one, tag);
        if (m <= 2) {
            expect("mrecv comm=0 peer=%s tag=%d bytes=4 esize=4 msg=0", to(prev), tag);
            MPI_Mrecv(in, 1, MPI_INT, &message, &one);
        } else {
            expect("imrecv comm=0 peer=%s tag=%d bytes=4 esize=4 req=1 msg=0", to(prev), tag);
            MPI_Imrecv(in, 1, MPI_INT, &message, &r[1]);
            expect("wait req=1");
            MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        }
        expect("wait req=0");
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
    expect("mprobe comm=0 peer=null tag=5 msg=-1");
    MPI_Mprobe(MPI_PROC_NULL, 5, W, &message, MPI_STATUS_IGNORE);
    expect("mrecv comm=0 peer=null tag=any bytes=4 esize=4 msg=-1");
    MPI_Mrecv(in, 1, MPI_INT, &message, &one);
}

static void probes(void)
{
    isend(41);
    expect("probe comm=0 peer=%s tag=any from=%s fromtag=41", to(prev), to(prev));
    expect("iprobe comm=0 peer=any tag=41 from=%s fromtag=41", to(prev));
    for (int m = 1; m <= 3; m++) {
        MPI_Probe(prev, MPI_ANY_TAG, W, &one);
        check(&one, 41);
        MPI_Iprobe(MPI_ANY_SOURCE, 41, W, &flag, MPI_STATUS_IGNORE);
        MUST(flag);
        MPI_Iprobe(prev, 42, W, &flag, &one);
        MUST(!flag);
    }
    expect("recv comm=0 peer=%s tag=41 bytes=4 esize=4", to(prev));
    MPI_Recv(in, 1, MPI_INT, prev, 41, W, MPI_STATUS_IGNORE);
    expect("wait req=0");
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    for (int i = 0; i < 8; i++)
        out[i] = 1000 * rank + i + 1;
    modes();
    completions();
    some();
    cancelled();
    matched();
    probes();
    expect_end();
    MPI_Finalize();
    return 0;
}
