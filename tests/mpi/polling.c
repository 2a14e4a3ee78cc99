/* Loops of polls whose length is a matter of time: rank 0 sleeps as many
 * milliseconds as the argument says before it sends what rank 1 polls for, and a
 * second one says how often more rank 1 asks than it has to.  The code between
 * calls is the same each time.  On 2 ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static int a[16], b[16];

static void delay(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

    if (ms)
        nanosleep(&t, NULL);
}

/* A burst of its own, so that one that is lost or counted twice shows. */
static void work(int n)
{
    for (volatile int i = 0; i < n; i++)
        ;
}

static int vain; /* polls more than need be */

static MPI_Win win;

/* The window's group has only the other rank. */
static MPI_Group other(int rank)
{
    MPI_Group all, one;

    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &rank, &one);
    MPI_Group_free(&all);
    return one;
}

static void serve_probes(int ms)
{
    for (int i = 0; i < 2; i++) {
        MPI_Send(a, 1, MPI_INT, 1, 20, MPI_COMM_WORLD);
        MPI_Send(a, 1, MPI_INT, 1, 20, MPI_COMM_WORLD);
        delay(ms);
        MPI_Send(a, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
        MPI_Recv(b, 1, MPI_INT, 1, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void serve_window(int ms)
{
    MPI_Group group = other(1);

    delay(ms);
    MPI_Win_start(group, 0, win);
    MPI_Put(a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Group_free(&group);
}

static void serve(int ms)
{
    for (int step = 0; step < 12; step++) {
        delay(ms);
        MPI_Send(a, 1, MPI_INT, 1, step, MPI_COMM_WORLD);
        MPI_Recv(b, 1, MPI_INT, 1, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    serve_probes(ms);
    serve_window(ms);
}

static void reply(int step)
{
    work(100 * (step + 1));
    MPI_Send(a, 1, MPI_INT, 0, step, MPI_COMM_WORLD);
}

static void poll(void)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, inactive;
    MPI_Message message;
    int flag, index, n, indices[2], done = 0;

    do
        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Recv(b, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    reply(0);

    MPI_Irecv(b, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, r);
    work(1000);
    do
        MPI_Test(r, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    reply(1);

    /* with a clock in the loop */
    MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, r);
    do {
        MPI_Wtime();
        MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    } while (!flag);
    reply(2);

    MPI_Irecv(b, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, r + 1);
    do
        MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    work(100);
    reply(3);

    MPI_Irecv(b, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, r);
    do
        MPI_Testsome(2, r, &n, indices, MPI_STATUSES_IGNORE);
    while (n == 0);
    reply(4);

    /* two kinds of polls in turn, with a little work between */
    MPI_Irecv(b, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, r);
    do {
        MPI_Iprobe(0, 77, MPI_COMM_WORLD, &index, MPI_STATUS_IGNORE);
        work(20);
        MPI_Test(r, &flag, MPI_STATUS_IGNORE);
    } while (!flag);
    reply(5);

    /* one of two is complete first, and is then asked again and again: what is
     * asked in vain, and of null and inactive requests, depends on the argument */
    MPI_Recv_init(b, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &inactive);
    MPI_Irecv(b, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, r);
    for (int i = 0; i <= vain || !done; i++) {
        MPI_Test(r, &done, MPI_STATUS_IGNORE);
        MPI_Test(&inactive, &flag, MPI_STATUS_IGNORE);
        MPI_Testany(2, none, &index, &flag, MPI_STATUS_IGNORE);
        MPI_Testall(2, none, &flag, MPI_STATUSES_IGNORE);
        MPI_Testsome(2, none, &n, indices, MPI_STATUSES_IGNORE);
        MPI_Request_get_status(inactive, &flag, MPI_STATUS_IGNORE);
        MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        done = r[0] == MPI_REQUEST_NULL;
    }
    MPI_Request_free(&inactive);
    reply(6);

    do
        MPI_Improbe(0, 7, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Mrecv(b, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    reply(7);
}

/* A live request among null and inactive ones, in each call that polls. */
static void poll_mixed(void)
{
    MPI_Request r[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int flag, index, n, indices[4];

    MPI_Recv_init(b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
    MPI_Irecv(b, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &r[2]);
    do
        MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    reply(8);

    MPI_Irecv(b, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &r[3]);
    do
        MPI_Testany(4, r, &index, &flag, MPI_STATUS_IGNORE);
    while (!flag || index != 3);
    work(50);
    reply(9);

    MPI_Irecv(b, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, &r[0]);
    do
        MPI_Testsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
    while (n != 1);
    reply(10);

    /* one by one, the live one last: an inactive one that was started before is
     * inactive again */
    MPI_Start(&r[1]);
    for (int live = 1, i = 0; live || i <= vain; i++) {
        for (int k = 0; k < 4; k++)
            MPI_Request_get_status(r[k], &flag, MPI_STATUS_IGNORE);
        for (int k = 2; k < 6; k++) {
            MPI_Test(&r[k % 4], &flag, MPI_STATUS_IGNORE);
            live = live && !(k % 4 == 1 && flag);
        }
    }
    MPI_Request_free(&r[1]);
    reply(11);
}

/* One message that is there is found again and again while another is waited for. */
static void poll_probes(void)
{
    int flag[3];

    MPI_Probe(0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    do {
        MPI_Iprobe(0, 20, MPI_COMM_WORLD, &flag[0], MPI_STATUS_IGNORE);
        work(10);
        MPI_Iprobe(MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &flag[1], MPI_STATUS_IGNORE);
        MPI_Iprobe(0, 21, MPI_COMM_WORLD, &flag[2], MPI_STATUS_IGNORE);
    } while (!flag[0] || !flag[1] || !flag[2]);
    MPI_Recv(b, 1, MPI_INT, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) { /* two of them: that is no poll */
        MPI_Iprobe(0, 20, MPI_COMM_WORLD, &flag[0], MPI_STATUS_IGNORE);
        MPI_Recv(b, 1, MPI_INT, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    reply(20);

    do {
        MPI_Probe(0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(0, 21, MPI_COMM_WORLD, &flag[0], MPI_STATUS_IGNORE);
    } while (!flag[0]);
    for (int i = 0; i < 3; i++)
        MPI_Recv(b, 1, MPI_INT, 0, i ? 20 : 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    reply(20);
}

static void poll_window(void)
{
    MPI_Group group = other(0);
    int flag;

    MPI_Win_post(group, 0, win);
    do
        MPI_Win_test(win, &flag);
    while (!flag);
    work(100);
    MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    int rank;

    vain = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(b, sizeof b, sizeof *b, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
        serve(argc > 1 ? atoi(argv[1]) : 0);
    } else {
        poll();
        poll_mixed();
        poll_probes();
        poll_window();
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
