/* Requests and their completion, in a ring as in p2p.c.  A request's number is
 * the lowest that no live request had when it was made. */
#include "tests/mpi/expect.h"

#include <string.h>

#define MANY 200

static int next, prev, out[MANY], in[MANY], flag;
static MPI_Request r[2 * MANY], q[2 * MANY];
static MPI_Status statuses[2 * MANY];

static void irecv(MPI_Request *request, int tag, int number)
{
    expect("irecv comm=0 peer=%s tag=%d bytes=4 esize=4 req=%d", to(prev), tag, number);
    MPI_Irecv(&in[number % MANY], 1, MPI_INT, prev, tag, MPI_COMM_WORLD, request);
}

/* Any source, any tag. */
static void irecv_any(MPI_Request *request, int number)
{
    expect("irecv comm=0 peer=any tag=any bytes=4 esize=4 req=%d", number);
    MPI_Irecv(&in[number % MANY], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request);
}

static void isend(MPI_Request *request, int tag, int number)
{
    expect("isend comm=0 peer=%s tag=%d bytes=4 esize=4 req=%d", to(next), tag, number);
    MPI_Isend(out, 1, MPI_INT, next, tag, MPI_COMM_WORLD, request);
}

static void barrier(void)
{
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void send_modes(void)
{
    static const struct {
        const char *name;
        int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    } mode[] = {{"isend", MPI_Isend},
                {"ibsend", MPI_Ibsend},
                {"issend", MPI_Issend},
                {"irsend", MPI_Irsend}};

    for (int m = 0; m < 4; m++) {
        irecv(&r[0], m, 0);
        barrier();
        expect("%s comm=0 peer=%s tag=%d bytes=4 esize=4 req=1", mode[m].name, to(next), m);
        mode[m].send(out, 1, MPI_INT, next, m, MPI_COMM_WORLD, &r[1]);
        expect("wait req=1");
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        expect("wait req=0");
        MPI_Wait(&r[0], &statuses[0]);
        MUST(statuses[0].MPI_SOURCE == prev && statuses[0].MPI_TAG == m);
        MUST(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
    }
    MPI_Wait(&r[0], MPI_STATUS_IGNORE); /* null: no event */
}

static void waitall(void)
{
    /* all there are */
    irecv(&r[0], 1, 0);
    irecv(&r[1], 2, 1);
    isend(&r[2], 1, 2);
    isend(&r[3], 2, 3);
    expect("waitall all=1");
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);

    /* part of them, with a null between; then their numbers are free again */
    irecv(&r[0], 1, 0);
    isend(&r[1], 1, 1);
    r[2] = MPI_REQUEST_NULL;
    irecv(&r[3], 2, 2);
    isend(&r[4], 2, 3);
    expect("waitall requests=[1,2,3]");
    MPI_Waitall(4, r + 1, statuses);
    MUST(statuses[2].MPI_SOURCE == prev && statuses[2].MPI_TAG == 2);
    isend(&r[1], 3, 1);
    irecv(&r[2], 3, 2);
    irecv_any(&r[3], 3);
    isend(&r[4], 7, 4);
    expect("waitall all=1 matched=[3:%+d:7]", prev - rank);
    MPI_Waitall(5, r, MPI_STATUSES_IGNORE);

    /* nothing: no event */
    MPI_Waitall(5, r, statuses);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);

    /* several wildcards, statuses given and ignored, part and all */
    for (int ignore = 0; ignore < 2; ignore++) {
        irecv_any(&r[0], 0);
        irecv(&r[1], 9, 1);
        irecv_any(&r[2], 2);
        isend(&r[3], 8, 3);
        isend(&r[4], 9, 4);
        isend(&r[5], 10, 5);
        expect("waitall requests=[0,1,2] matched=[0:%+d:8,2:%+d:10]", prev - rank, prev - rank);
        MPI_Waitall(3, r, ignore ? MPI_STATUSES_IGNORE : statuses);
        MUST(ignore || (statuses[0].MPI_TAG == 8 && statuses[2].MPI_TAG == 10));
        expect("waitall all=1");
        MPI_Waitall(3, r + 3, statuses);
    }
}

/* The number of what r[index] held, kept by the test itself. */
static int number[8];

static void waitany(void)
{
    int index;

    for (int ignore = 0; ignore < 2; ignore++) {
        for (int i = 0; i < 3; i++) {
            irecv(&r[i], i, i);
            number[i] = i;
        }
        irecv_any(&r[3], 3);
        number[3] = 3;
        for (int i = 0; i < 4; i++)
            isend(&r[4 + i], i, 4 + i);
        expect("waitall requests=[4,5,6,7]");
        MPI_Waitall(4, r + 4, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 4; i++) {
            MPI_Waitany(4, r, &index, ignore ? MPI_STATUS_IGNORE : statuses);
            MUST(index >= 0 && index < 4 && number[index] >= 0);
            if (index == 3)
                expect("waitany from=%+d fromtag=3 req=3", prev - rank);
            else
                expect("waitany req=%d", number[index]);
            MUST(ignore || statuses[0].MPI_TAG == index);
            number[index] = -1;
        }
        MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE); /* none: no event */
        MUST(index == MPI_UNDEFINED);
        MPI_Waitany(0, r, &index, MPI_STATUS_IGNORE);
        MUST(index == MPI_UNDEFINED);
    }
}

/* Expect the completions that Waitsome or Testsome gave, as one event in order of place. */
static void expect_some(const char *op, int n, const int *indices, int left)
{
    char list[64] = "", match[64] = "";
    int at_list = 0;

    for (int i = 0; i < 4; i++)
        for (int k = 0; k < n; k++)
            if (indices[k] == i) {
                at_list += snprintf(list + at_list, sizeof list - (size_t)at_list, "%s%d",
                                    list[0] ? "," : "", i);
                if (i == 3)
                    snprintf(match, sizeof match, " matched=[3:%+d:3]", prev - rank);
            }
    if (left == 0)
        expect("%s all=1%s", op, match);
    else
        expect("%s requests=[%s]%s", op, list, match);
}

static void waitsome(void)
{
    int indices[4], n;

    for (int ignore = 0; ignore < 2; ignore++)
        for (int test = 0; test < 2; test++) {
            int left = 4;

            for (int i = 0; i < 3; i++)
                irecv(&r[i], i, i);
            irecv_any(&r[3], 3);
            if (test) { /* nobody has sent yet */
                MPI_Testsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
                MUST(n == 0);
                barrier();
            }
            for (int i = 0; i < 4; i++) {
                expect("send comm=0 peer=%s tag=%d bytes=4 esize=4", to(next), i);
                MPI_Send(out, 1, MPI_INT, next, i, MPI_COMM_WORLD);
            }
            while (left) {
                if (test)
                    MPI_Testsome(4, r, &n, indices, ignore ? MPI_STATUSES_IGNORE : statuses);
                else
                    MPI_Waitsome(4, r, &n, indices, ignore ? MPI_STATUSES_IGNORE : statuses);
                MUST((n > 0 || test) && n <= left);
                left -= n;
                if (n)
                    expect_some(test ? "testsome" : "waitsome", n, indices, left);
                for (int i = 0; i < n && !ignore; i++)
                    MUST(statuses[i].MPI_TAG == indices[i]);
            }
            MPI_Waitsome(4, r, &n, indices, MPI_STATUSES_IGNORE); /* none: no event */
            MUST(n == MPI_UNDEFINED);
            MPI_Testsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
            MUST(n == MPI_UNDEFINED);
        }
}

static void tests(void)
{
    int index;

    for (int ignore = 0; ignore < 2; ignore++) {
        MPI_Status *one = ignore ? MPI_STATUS_IGNORE : &statuses[0];
        MPI_Status *all = ignore ? MPI_STATUSES_IGNORE : statuses;

        /* nobody has sent before the barrier: polls fail and are no events */
        irecv(&r[0], 1, 0);
        irecv_any(&r[1], 1);
        for (int i = 0; i < 3; i++) {
            MPI_Test(&r[0], &flag, one);
            MUST(!flag);
            MPI_Testall(2, r, &flag, all);
            MUST(!flag);
            MPI_Testany(2, r, &index, &flag, one);
            MUST(!flag && index == MPI_UNDEFINED);
        }
        barrier();
        isend(&r[2], 1, 2);
        expect("test req=0");
        do
            MPI_Test(&r[0], &flag, one);
        while (!flag);
        MUST(r[0] == MPI_REQUEST_NULL && (ignore || one->MPI_SOURCE == prev));
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE); /* null: no event */
        MUST(flag);
        isend(&r[3], 2, 0);
        expect("testany from=%+d fromtag=2 req=1", prev - rank);
        do
            MPI_Testany(2, r, &index, &flag, one);
        while (!flag);
        MUST(index == 1 && (ignore || one->MPI_TAG == 2));
        MPI_Testany(2, r, &index, &flag, one); /* none: no event */
        MUST(flag && index == MPI_UNDEFINED);
        MPI_Testall(2, r, &flag, all);
        MUST(flag);
        irecv_any(&r[4], 1);
        isend(&r[5], 4, 3);
        expect("testall requests=[0,1,3] matched=[1:%+d:4]", prev - rank);
        do
            MPI_Testall(3, r + 3, &flag, all);
        while (!flag);
        expect("testall all=1");
        do
            MPI_Testall(5, r, &flag, all);
        while (!flag);
        expect("irecv comm=0 peer=any tag=5 bytes=4 esize=4 req=0");
        MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r[0]);
        isend(&r[1], 5, 1);
        expect("test from=%+d fromtag=5 req=0", prev - rank);
        do
            MPI_Test(&r[0], &flag, one);
        while (!flag);
        expect("wait req=1");
        MPI_Wait(&r[1], one);
    }
}

static void request_free(void)
{
    irecv(&r[0], 1, 0);
    isend(&r[1], 1, 1);
    expect("request_free req=1");
    MPI_Request_free(&r[1]);
    MUST(r[1] == MPI_REQUEST_NULL);
    isend(&r[1], 2, 1);
    irecv(&r[2], 2, 2);
    expect("waitall all=1");
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
}

/* Handles that the application keeps elsewhere than where MPI put them. */
static void moved(void)
{
    struct {
        char pad[24];
        MPI_Request request;
    } boxed[4];
    MPI_Request one;

    /* receives, made in one variable and waited for in the opposite order */
    for (int i = 0; i < 4; i++) {
        irecv(&one, i, i);
        boxed[3 - i].request = one;
    }
    for (int i = 0; i < 4; i++) {
        expect("bsend comm=0 peer=%s tag=%d bytes=4 esize=4", to(next), i);
        MPI_Bsend(out, 1, MPI_INT, next, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 4; i++) {
        expect("wait req=%d", 3 - i);
        MPI_Wait(&boxed[i].request, MPI_STATUS_IGNORE);
    }

    /* sends, whose handles may all be the same: made in one variable, waited for
     * in order */
    for (int i = 0; i < 4; i++) {
        isend(&one, i, i);
        r[i] = one;
    }
    for (int i = 0; i < 4; i++) {
        expect("recv comm=0 peer=%s tag=%d bytes=4 esize=4", to(prev), i);
        MPI_Recv(in, 1, MPI_INT, prev, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    expect("waitall requests=[0,1]");
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    expect("wait req=2");
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    expect("wait req=3");
    MPI_Wait(&r[3], MPI_STATUS_IGNORE);

    /* the array moved as a whole, while its old place is in use again */
    for (int i = 0; i < 3; i++)
        irecv(&r[i], i, i);
    memcpy(q, r, 3 * sizeof *r);
    for (int i = 0; i < 3; i++)
        irecv(&r[i], 10 + i, 3 + i);
    for (int i = 0; i < 3; i++) {
        isend(&r[3 + 2 * i], i, 6 + 2 * i);
        isend(&r[4 + 2 * i], 10 + i, 7 + 2 * i);
    }
    expect("waitall requests=[3,4,5,6,7,8,9,10,11]");
    MPI_Waitall(9, r, MPI_STATUSES_IGNORE);
    expect("waitall all=1");
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
}

/* More small messages at once than the first tables hold. */
static void many(void)
{
    char list[8 * MANY];
    int used;

    for (int i = 0; i < MANY; i++)
        irecv(&r[i], i, i);
    for (int i = 0; i < MANY; i++)
        isend(&r[MANY + i], i, MANY + i);
    expect("waitall all=1");
    MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE);

    for (int i = 0; i < MANY; i++)
        isend(&r[MANY + i], i, i);
    for (int i = 0; i < MANY; i++)
        irecv(&r[i], i, MANY + i);
    /* every second send, from the last to the first */
    for (int i = MANY - 1; i > 0; i -= 2) {
        expect("wait req=%d", i);
        MPI_Wait(&r[MANY + i], MPI_STATUS_IGNORE);
    }
    /* their numbers go to new receives */
    for (int i = 1; i < MANY; i += 2) {
        expect("irecv comm=0 peer=null tag=1 bytes=4 esize=4 req=%d", i);
        MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &q[i]);
    }
    used = 0;
    for (int i = 0; i < MANY; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%d", i ? "," : "", MANY + i);
    expect("waitall requests=[%s]", list);
    MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
    used = 0;
    for (int i = 1; i < MANY; i += 2)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%d", used ? "," : "", i);
    expect("waitall requests=[%s]", list);
    q[0] = MPI_REQUEST_NULL;
    for (int i = 0; i < MANY; i += 2)
        q[i] = MPI_REQUEST_NULL;
    MPI_Waitall(MANY, q, MPI_STATUSES_IGNORE);
    expect("waitall all=1");
    MPI_Waitall(MANY, r + MANY, MPI_STATUSES_IGNORE);
}

static void nobody(void)
{
    MPI_Status status;
    int index;

    for (int how = 0; how < 4; how++) {
        expect("isend comm=0 peer=null tag=2 bytes=8 esize=4 req=0");
        MPI_Isend(out, 2, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &r[0]);
        expect("irecv comm=0 peer=null tag=any bytes=8 esize=4 req=1");
        MPI_Irecv(in, 2, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
        if (how == 0) {
            expect("wait req=1");
            MPI_Wait(&r[1], &status);
            MUST(status.MPI_SOURCE == MPI_PROC_NULL);
            expect("wait req=0");
            MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        } else if (how == 1) {
            expect("waitall all=1");
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        } else if (how == 2) {
            MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
            expect("waitany req=%d", index);
            expect("waitany req=%d", 1 - index);
            MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
        } else {
            expect("testall all=1");
            MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
            MUST(flag);
        }
    }
}

/* Large messages: requests that stay open. */
static void large(void)
{
    static char give[300000], take[300000];

    expect("irecv comm=0 peer=any tag=1 bytes=300000 esize=1 req=0");
    MPI_Irecv(take, 300000, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[0]);
    expect("isend comm=0 peer=%s tag=1 bytes=300000 esize=1 req=1", to(next));
    MPI_Isend(give, 300000, MPI_BYTE, next, 1, MPI_COMM_WORLD, &r[1]);
    q[0] = r[1];
    q[1] = r[0];
    expect("wait req=1");
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    expect("wait from=%+d fromtag=1 req=0", prev - rank);
    MPI_Wait(&q[1], MPI_STATUS_IGNORE);
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

    send_modes();
    waitall();
    waitany();
    waitsome();
    tests();
    request_free();
    moved();
    many();
    nobody();
    large();

    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    return 0;
}
