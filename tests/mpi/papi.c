/*
 * An application that counts for itself with PAPI, and has events of its own (SDE).
 *
 *   papi ORDER [stuck]
 *     ORDER   before, after: it starts to count before or after MPI_Init; none: never
 *     stuck   the event WORK stops to move in the middle of the run
 *
 * Each rank does known amounts of WORK between barriers, and says what PAPI counted
 * of that: the same whether it is traced or not.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#if __has_include(<papi.h>) && __has_include(<sde_lib.h>)
#include <papi.h>
#include <pthread.h>
#include <sde_lib.h>

#define ROUNDS 6

static long long done; /* by this rank, which has one thread */
static long long looks;
static int stuck;

/* As the tracer sees it: it grows with each look, so that a look at it is noticed. */
static long long work_event(void *unused)
{
    static long long last;

    (void)unused;
    if (!stuck)
        last = done + ++looks;
    return last;
}

static long long own_event(void *unused)
{
    (void)unused;
    return done;
}

static unsigned long identity(void)
{
    return 1 + (unsigned long)pthread_self();
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        if (rc_ != PAPI_OK)                                                                        \
            printf("%s: %s\n", #call, PAPI_strerror(rc_));                                         \
    } while (0)

static int own = PAPI_NULL, clock_set = PAPI_NULL;

static void start(void)
{
    if (PAPI_is_initialized() != PAPI_NOT_INITED)
        printf("PAPI is initialized already\n");
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
        printf("PAPI_library_init failed\n");
    CHECK(PAPI_thread_init(identity));
    CHECK(PAPI_create_eventset(&own));
    CHECK(PAPI_add_named_event(own, "sde:::ti_app::OWN"));
    CHECK(PAPI_start(own));
    CHECK(PAPI_create_eventset(&clock_set));
    CHECK(PAPI_add_named_event(clock_set, "perf::TASK-CLOCK"));
    CHECK(PAPI_start(clock_set));
}

static void burn(int ms)
{
    struct timespec a, b;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

static void finish(int rank)
{
    long long count, ticks;

    CHECK(PAPI_stop(own, &count));
    CHECK(PAPI_stop(clock_set, &ticks));
    printf("rank %d: %lld of its own, the clock %s\n", rank, count,
           ticks > 5000000 ? "runs" : "stands");
    PAPI_shutdown();
}

int main(int argc, char **argv)
{
    const char *order = argc > 1 ? argv[1] : "none";
    int sticks = argc > 2 && strcmp(argv[2], "stuck") == 0, rank;
    papi_handle_t handle = papi_sde_init("ti_app");

    papi_sde_register_counter_cb(handle, "WORK", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long,
                                 work_event, NULL);
    papi_sde_register_counter_cb(handle, "OWN", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long,
                                 own_event, NULL);
    if (strcmp(order, "before") == 0)
        start();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(order, "after") == 0)
        start();
    for (int i = 0; i < ROUNDS; i++) {
        done += 1000 * (i + 1) + rank;
        burn(sticks && i > 2 ? 400 : 2);
        MPI_Barrier(MPI_COMM_WORLD);
        stuck = sticks && i >= 1;
    }
    if (strcmp(order, "none") != 0)
        finish(rank);
    MPI_Finalize();
    return 0;
}

#else

int main(void)
{
    return 77;
}

#endif
