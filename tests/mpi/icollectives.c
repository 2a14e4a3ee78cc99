/* Non-blocking collectives under way together, with messages, and completed in
 * other orders than they were begun in.  (Each alone: collectives.c.) */
#include "tests/mpi/forms.h"

#define W MPI_COMM_WORLD

static int next, prev;
static int sum; /* of all ranks */

/* Completed last to first; then the numbers are free again. */
static void in_reverse(void)
{
    int one = 1, total = 0, data = rank == size - 1 ? 42 : 0, all[64];
    MPI_Request r[4];

    for (int turn = 0; turn < 3; turn++) {
        expect("iallreduce comm=0 bytes=4 esize=4 redop=sum req=0");
        MPI_Iallreduce(&one, &total, 1, MPI_INT, MPI_SUM, W, &r[0]);
        expect("ibarrier comm=0 req=1");
        MPI_Ibarrier(W, &r[1]);
        expect("ibcast comm=0 bytes=4 esize=4 root=%d req=2", size - 1);
        MPI_Ibcast(&data, 1, MPI_INT, size - 1, W, &r[2]);
        expect("iallgather comm=0 bytes=4 esize=4 rbytes=4 resize=4 req=3");
        MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, W, &r[3]);
        for (int i = 3; i >= 0; i--) {
            expect("wait req=%d", i);
            MPI_Wait(&r[i], MPI_STATUS_IGNORE);
            MUST(r[i] == MPI_REQUEST_NULL);
        }
        MUST(total == size && data == 42);
        for (int i = 0; i < size; i++)
            MUST(all[i] == i);
    }
}

/* Between messages: a wildcard among the requests, null ones, and a number in the
 * middle that is free before the others. */
static void among_messages(void)
{
    int got[2] = {-1, -1}, total[2] = {0, 0}, from = prev - rank;
    MPI_Status status[5];
    MPI_Request r[5];

    expect("irecv comm=0 peer=any tag=3 bytes=4 esize=4 req=0");
    MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 3, W, &r[0]);
    expect("iallreduce comm=0 bytes=4 esize=4 redop=sum req=1");
    MPI_Iallreduce(&rank, &total[0], 1, MPI_INT, MPI_SUM, W, &r[1]);
    expect("isend comm=0 peer=%s tag=3 bytes=4 esize=4 req=2", to(next));
    MPI_Isend(&rank, 1, MPI_INT, next, 3, W, &r[2]);
    expect("wait req=1");
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MUST(total[0] == sum);
    expect("iscan comm=0 bytes=4 esize=4 redop=sum req=1");
    MPI_Iscan(&rank, &total[1], 1, MPI_INT, MPI_SUM, W, &r[3]);
    r[4] = MPI_REQUEST_NULL;
    expect("waitall all=1 matched=[0:%+d:3]", from);
    MPI_Waitall(5, r, status);
    MUST(got[0] == prev && total[1] == rank * (rank + 1) / 2);
    MUST(status[0].MPI_SOURCE == prev && status[0].MPI_TAG == 3);
}

/* Some of them at once. */
static void in_parts(void)
{
    int total[4];
    MPI_Request r[4];

    for (int i = 0; i < 4; i++) {
        expect("iallreduce comm=0 bytes=4 esize=4 redop=sum req=%d", i);
        MPI_Iallreduce(&rank, &total[i], 1, MPI_INT, MPI_SUM, W, &r[i]);
    }
    expect("waitall requests=[1,2]");
    MPI_Waitall(2, r + 1, MPI_STATUSES_IGNORE);
    expect("waitall all=1");
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        MUST(total[i] == sum);
}

/* Begun where nothing is recorded: its completion is no event.  Completed there:
 * the event is recorded, since the number is free again. */
static void around_a_pause(void)
{
    int total = 0, more = 0;
    MPI_Request hidden, shown;

    expect("iallreduce comm=0 bytes=4 esize=4 redop=sum req=0");
    MPI_Iallreduce(&rank, &total, 1, MPI_INT, MPI_SUM, W, &shown);
    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    MPI_Iallreduce(&rank, &more, 1, MPI_INT, MPI_SUM, W, &hidden);
    expect("wait req=0");
    MPI_Wait(&shown, MPI_STATUS_IGNORE);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    expect("ibarrier comm=0 req=0");
    MPI_Ibarrier(W, &shown);
    MPI_Wait(&hidden, MPI_STATUS_IGNORE);
    expect("wait req=0");
    MPI_Wait(&shown, MPI_STATUS_IGNORE);
    MUST(total == sum && more == sum);
}

/* On two communicators.  (MPI allows to free one before its collective is done;
 * Open MPI 4.1 then crashes.) */
static void on_two_communicators(void)
{
    int total[2] = {0, 0};
    MPI_Request r[2];
    MPI_Comm twin;

    expect("comm_dup comm=0 newcomm=2");
    MPI_Comm_dup(W, &twin);
    expect("iallreduce comm=2 bytes=4 esize=4 redop=sum req=0");
    MPI_Iallreduce(&rank, &total[0], 1, MPI_INT, MPI_SUM, twin, &r[0]);
    expect("iallreduce comm=1 bytes=4 esize=4 redop=sum req=1");
    MPI_Iallreduce(&rank, &total[1], 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &r[1]);
    expect("waitall all=1");
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MUST(total[0] == sum && total[1] == rank);
    expect("comm_free comm=2");
    MPI_Comm_free(&twin);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(size <= 64);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    sum = size * (size - 1) / 2;
    in_reverse();
    among_messages();
    in_parts();
    around_a_pause();
    on_two_communicators();
    expect_end();
    MPI_Finalize();
    return 0;
}
