#include "replay-bridge/calibrate/time_cores.h"

#include <inttypes.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "examples/burst.h"

#define WARM_UP  2 /* repetitions that are not counted */
#define BURST    10000000
#define SLEEP_NS 1000000

static double cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The cores that this process may use at all: a launcher may have bound it to some of them. */
static void find_cores(cpu_set_t *cores)
{
    CPU_ZERO(cores);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, cores);
    sched_setaffinity(0, sizeof *cores, cores); /* takes those that there are */
    sched_getaffinity(0, sizeof *cores, cores);
}

/* Times all cores in turn, so that a temporary disturbance is spread over all of them.  Times of a
 * core that the process cannot use are 0. */
static void time_all(int64_t repeats, const cpu_set_t *cores, int ncores, double *seconds)
{
    for (int64_t turn = -WARM_UP; turn < repeats; turn++)
        for (size_t i = 0, core = 0; core < (size_t)ncores; i++) {
            cpu_set_t one;
            double start;

            if (!CPU_ISSET(i, cores))
                continue;
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            if (sched_setaffinity(0, sizeof one, &one) == 0) {
                start = cpu_time();
                burst(BURST);
                if (turn >= 0)
                    seconds[turn * ncores + (int64_t)core] = cpu_time() - start;
            }
            core++;
        }
    sched_setaffinity(0, sizeof *cores, cores);
}

void ti_meet(MPI_Comm comm)
{
    struct timespec pause = {0, SLEEP_NS};
    MPI_Request request;
    int done = 0;

    MPI_Ibarrier(comm, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        nanosleep(&pause, NULL);
    }
}

static void print(int node, int64_t repeats, int ncores, const double *seconds)
{
    for (int64_t i = 0; i < repeats * ncores; i++)
        if (seconds[i] > 0)
            printf("core %d %d %.9g\n", node, (int)(i % ncores), seconds[i]);
}

static double *room_for(int64_t repeats, int ncores)
{
    double *seconds = calloc((size_t)(repeats * ncores), sizeof *seconds);

    if (!seconds) {
        fprintf(stderr, "ti-calibrate-mpi: no memory for the times of %d cores\n", ncores);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return seconds;
}

/* Hands the times of all nodes to rank 0, which prints them. */
static void collect(MPI_Comm nodes, int64_t repeats, int ncores, double *seconds)
{
    int node, n;

    MPI_Comm_rank(nodes, &node);
    MPI_Comm_size(nodes, &n);
    if (node) {
        MPI_Send(&ncores, 1, MPI_INT, 0, 0, nodes);
        MPI_Send(seconds, (int)(repeats * ncores), MPI_DOUBLE, 0, 0, nodes);
        return;
    }
    print(0, repeats, ncores, seconds);
    for (int other = 1; other < n; other++) {
        double *theirs;

        MPI_Recv(&ncores, 1, MPI_INT, other, 0, nodes, MPI_STATUS_IGNORE);
        theirs = room_for(repeats, ncores);
        MPI_Recv(theirs, (int)(repeats * ncores), MPI_DOUBLE, other, 0, nodes, MPI_STATUS_IGNORE);
        print(other, repeats, ncores, theirs);
        free(theirs);
    }
}

void ti_time_cores(int64_t repeats)
{
    MPI_Comm node, leaders;
    double *seconds = NULL;
    cpu_set_t cores;
    int rank, here, ncores = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &here);
    MPI_Comm_split(MPI_COMM_WORLD, here ? MPI_UNDEFINED : 0, rank, &leaders);
    if (!here) {
        find_cores(&cores);
        ncores = CPU_COUNT(&cores);
        seconds = room_for(repeats, ncores);
        time_all(repeats, &cores, ncores, seconds);
    }
    ti_meet(node);
    if (!here) {
        collect(leaders, repeats, ncores, seconds);
        MPI_Comm_free(&leaders);
    }
    free(seconds);
    ti_meet(MPI_COMM_WORLD);
    MPI_Comm_free(&node);
}
