/*
 * Bursts and calls of which it is known how long they take at least, since they
 * sleep, and one that touches pages for the first time.  Tells the monotonic clock
 * around MPI_Init and MPI_Finalize: "RANK before after before after".
 *
 * The events: init; barrier after a burst that sleeps 50 ms; wait, after polls in
 * vain for 40 ms; barrier after MPI_Type_dup, which calls us, who sleep 30 ms;
 * barrier after a burst that touches 300 pages; pcontrol 0, pcontrol 1, between
 * which are 20 ms; barrier; finalize.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGES 300

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ms(int ms)
{
    int64_t until = now_ns() + ms * INT64_C(1000000);

    while (now_ns() < until)
        nanosleep(&(struct timespec){.tv_nsec = until - now_ns()}, NULL);
}

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type;
    (void)keyval;
    (void)extra;
    (void)in;
    *(void **)out = NULL;
    *flag = 0;
    sleep_ms(30);
    return MPI_SUCCESS;
}

static void poll_in_vain(void)
{
    int64_t until = now_ns() + 40000000;
    int rank, a = 1, b, flag;
    MPI_Request req;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Irecv(&b, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &req);
    while (now_ns() < until)
        MPI_Test(&req, &flag, MPI_STATUS_IGNORE);
    MPI_Send(&a, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void touch_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(p, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)p)[i * page] = 1;
    munmap(p, PAGES * page);
}

int main(int argc, char **argv)
{
    MPI_Datatype type, dup;
    int64_t at[4];
    int rank, keyval;

    at[0] = now_ns();
    MPI_Init(&argc, &argv);
    at[1] = now_ns();
    sleep_ms(50);
    MPI_Barrier(MPI_COMM_WORLD);
    poll_in_vain();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_create_keyval(copy, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
    MPI_Type_set_attr(type, keyval, &keyval);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_dup(type, &dup);
    MPI_Barrier(MPI_COMM_WORLD);
    touch_pages();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    sleep_ms(20);
    MPI_Pcontrol(1);
    MPI_Barrier(MPI_COMM_WORLD);
    at[2] = now_ns();
    MPI_Finalize();
    at[3] = now_ns();
    printf("%d %lld %lld %lld %lld\n", rank, (long long)at[0], (long long)at[1], (long long)at[2],
           (long long)at[3]);
    return 0;
}
