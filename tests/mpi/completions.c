/* Completions beside those in requests.c: of handles that were moved, generalized
 * requests; with the argument "errors", such that return an error.  In a ring as
 * in p2p.c. */
#include "tests/mpi/expect.h"

#include <string.h>

static int next, prev, out[8], in[8], flag, index_, n, indices[8];
static MPI_Request r[8];
static MPI_Status statuses[8];

static void irecv(MPI_Request *request, int tag, int number)
{
    expect("irecv comm=0 peer=%s tag=%d bytes=4 esize=4 req=%d", to(prev), tag, number);
    MPI_Irecv(&in[number], 1, MPI_INT, prev, tag, MPI_COMM_WORLD, request);
}

static void bsend(int count, int tag)
{
    expect("bsend comm=0 peer=%s tag=%d bytes=%d esize=4", to(next), tag, 4 * count);
    MPI_Bsend(out, count, MPI_INT, next, tag, MPI_COMM_WORLD);
}

/* Wait until r[i] can be completed: a matter of time, so no event. */
static void await(int i)
{
    do
        MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE);
    while (!flag);
}

struct halo {
    int side;
    MPI_Request request;
    double data[3];
};

/* In structures that are copied, sorted, and completed in another order. */
static void moved(void)
{
    struct halo halo[4], copy[4];
    MPI_Request one;

    for (int i = 0; i < 4; i++) {
        irecv(&halo[i].request, i, i);
        halo[i].side = i;
    }
    for (int i = 0; i < 4; i++)
        copy[(i + 2) % 4] = halo[i];
    memset(halo, 0, sizeof halo);
    for (int i = 3; i >= 0; i--)
        bsend(1, i);
    for (int i = 0; i < 4; i++) {
        expect("wait req=%d", copy[i].side);
        MPI_Wait(&copy[i].request, MPI_STATUS_IGNORE);
    }

    /* the same variable for each, while some of them are still where they were */
    for (int i = 0; i < 4; i++) {
        irecv(&one, i, i);
        if (i != 3)
            r[2 - i] = one;
    }
    for (int i = 0; i < 4; i++)
        bsend(1, i);
    expect("wait req=3");
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    expect("waitall all=1");
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
}

/* A handle that went through Fortran. */
static void converted(void)
{
    MPI_Request again;
    MPI_Fint handle;

    irecv(&r[0], 1, 0);
    irecv(&r[1], 2, 1);
    handle = MPI_Request_c2f(r[0]);
    again = MPI_Request_f2c(handle);
    bsend(1, 1);
    bsend(1, 2);
    expect("wait req=0");
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    expect("wait req=1");
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
}

/* Statuses come in the order of indices, whatever that is. */
static void some(void)
{
    for (int ignore = 0; ignore < 2; ignore++) {
        for (int i = 0; i < 4; i++) {
            expect("irecv comm=0 peer=any tag=%d bytes=4 esize=4 req=%d", i, i);
            MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &r[i]);
        }
        for (int i = 3; i > 0; i--)
            bsend(1, i);
        for (int i = 1; i < 4; i++)
            await(i);
        expect("%s requests=[1,2,3] matched=[1:%+d:1,2:%+d:2,3:%+d:3]",
               ignore ? "testsome" : "waitsome", prev - rank, prev - rank, prev - rank);
        if (ignore)
            MPI_Testsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Waitsome(4, r, &n, indices, statuses);
        MUST(n == 3);
        for (int k = 0; k < 3 && !ignore; k++)
            MUST(statuses[k].MPI_TAG == indices[k]);
        expect("barrier comm=0"); /* nobody is ahead */
        MPI_Barrier(MPI_COMM_WORLD);
        bsend(1, 0);
        expect("wait from=%+d fromtag=0 req=0", prev - rank);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
}

/* ------------------------------------------------- generalized requests -- */

static int queried, freed, cancelled;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    queried++;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    freed++;
    return MPI_SUCCESS;
}

static int stop(void *state, int complete)
{
    (void)complete;
    cancelled++;
    if (state)
        MPI_Grequest_complete(r[0]);
    return MPI_SUCCESS;
}

static void generalized(void)
{
    for (int i = 0; i < 3; i++) {
        expect("grequest_start req=0");
        MPI_Grequest_start(query, release, stop, i == 2 ? r : NULL, &r[0]);
        irecv(&r[1], 1, 1);
        bsend(1, 1);
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
        MUST(!flag);
        if (i > 0) {
            expect("cancel req=0");
            MPI_Cancel(&r[0]);
        }
        if (i < 2) { /* else stop() did, and calls in callbacks are no events */
            expect("grequest_complete req=0");
            MPI_Grequest_complete(r[0]);
        }
        expect("waitall all=1");
        MPI_Waitall(2, r, statuses);
        MPI_Get_count(&statuses[0], MPI_INT, &n);
        MUST(n == 3 && queried == i + 1 && freed == i + 1 && cancelled == i);
    }
}

/* --------------------------------------------------------------- errors -- */

static int class_of(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class;
}

/* A message from the previous rank that is there: Open MPI says that it is too
 * long only when the receive comes later. */
static void waiting(int count, int tag)
{
    bsend(count, tag);
    expect("probe comm=0 peer=%s tag=%d", to(prev), tag);
    MPI_Probe(prev, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message that is too long completes its receive with an error. */
static void errors(void)
{
    MPI_Message message;
    int rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int ignore = 0; ignore < 2; ignore++) {
        MPI_Status *one = ignore ? MPI_STATUS_IGNORE : statuses;
        MPI_Status *all = ignore ? MPI_STATUSES_IGNORE : statuses;

        for (int how = 0; how < 4; how++) {
            static const char *const name[] = {"wait", "test", "waitany", "testany"};

            waiting(2, 1);
            irecv(&r[0], 1, 0);
            await(0);
            expect("%s req=0", name[how]);
            rc = how == 0   ? MPI_Wait(&r[0], one)
                 : how == 1 ? MPI_Test(&r[0], &flag, one)
                 : how == 2 ? MPI_Waitany(1, r, &index_, one)
                            : MPI_Testany(1, r, &index_, &flag, one);
            MUST(class_of(rc) == MPI_ERR_TRUNCATE && r[0] == MPI_REQUEST_NULL);
        }
        for (int how = 0; how < 4; how++) {
            static const char *const name[] = {"waitall", "testall", "waitsome", "testsome"};

            waiting(1, 1);
            waiting(2, 2);
            waiting(1, 3);
            irecv(&r[0], 1, 0);
            irecv(&r[1], 2, 1);
            irecv(&r[2], 3, 2);
            for (int i = 0; i < 3; i++)
                await(i);
            rc = how == 0   ? MPI_Waitall(3, r, all)
                 : how == 1 ? MPI_Testall(3, r, &flag, all)
                 : how == 2 ? MPI_Waitsome(3, r, &n, indices, all)
                            : MPI_Testsome(3, r, &n, indices, all);
            MUST(class_of(rc) == MPI_ERR_IN_STATUS && r[1] == MPI_REQUEST_NULL);
            /* what else is complete, the handles say */
            if (r[0] == MPI_REQUEST_NULL && r[2] == MPI_REQUEST_NULL) {
                expect("%s all=1", name[how]);
            } else {
                expect("%s requests=[%s1%s]", name[how], r[0] == MPI_REQUEST_NULL ? "0," : "",
                       r[2] == MPI_REQUEST_NULL ? ",2" : "");
                expect("waitall all=1");
                MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
            }
        }
    }

    /* a wildcard has matched all the same */
    waiting(2, 1);
    expect("irecv comm=0 peer=any tag=any bytes=4 esize=4 req=0");
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
    expect("wait from=%+d fromtag=1 req=0", prev - rank);
    MUST(MPI_Wait(&r[0], MPI_STATUS_IGNORE) != MPI_SUCCESS);

    /* a persistent request is inactive again, or MPI has freed it */
    waiting(2, 1);
    expect("recv_init comm=0 peer=%s tag=1 bytes=4 esize=4 req=0", to(prev));
    MPI_Recv_init(in, 1, MPI_INT, prev, 1, MPI_COMM_WORLD, &r[0]);
    expect("start req=0");
    MPI_Start(&r[0]);
    rc = MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MUST(rc != MPI_SUCCESS);
    if (r[0] != MPI_REQUEST_NULL)
        expect("wait req=0");
    expect("request_free req=0");
    if (r[0] != MPI_REQUEST_NULL)
        MPI_Request_free(&r[0]);

    /* a message that is received is gone, also if it is too long */
    bsend(2, 1);
    expect("mprobe comm=0 peer=%s tag=1 msg=0", to(prev));
    MPI_Mprobe(prev, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    expect("mrecv comm=0 peer=%s tag=1 bytes=4 esize=4 msg=0", to(prev));
    MUST(MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS);

    /* errors of the call itself complete nothing */
    irecv(&r[0], 1, 0);
    MUST(MPI_Waitall(-1, r, statuses) != MPI_SUCCESS);
    MUST(MPI_Waitall(1, NULL, statuses) != MPI_SUCCESS);
    MUST(MPI_Waitany(-1, r, &index_, statuses) != MPI_SUCCESS);
    MUST(MPI_Waitsome(-1, r, &n, indices, statuses) != MPI_SUCCESS);
    MUST(MPI_Testall(-1, r, &flag, statuses) != MPI_SUCCESS);
    MUST(MPI_Testany(-1, r, &index_, &flag, statuses) != MPI_SUCCESS);
    MUST(MPI_Testsome(-1, r, &n, indices, statuses) != MPI_SUCCESS);
    MUST(MPI_Wait(NULL, statuses) != MPI_SUCCESS);
    MUST(MPI_Test(NULL, &flag, statuses) != MPI_SUCCESS);
    MUST(MPI_Startall(-1, r) != MPI_SUCCESS);
    MUST(MPI_Startall(1, NULL) != MPI_SUCCESS);
    MUST(MPI_Start(NULL) != MPI_SUCCESS);
    MUST(MPI_Request_free(NULL) != MPI_SUCCESS);
    MUST(MPI_Cancel(NULL) != MPI_SUCCESS);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    MUST(flag);
    bsend(1, 1);
    expect("wait req=0");
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
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
    if (argc > 1) {
        errors();
    } else {
        moved();
        converted();
        some();
        generalized();
    }
    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    return 0;
}
