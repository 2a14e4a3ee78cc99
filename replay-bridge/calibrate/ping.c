/*
 * ti-calibrate-mpi, the program that ti-calibrate runs, mostly on two ranks.  It times sends,
 * receives and round trips of messages of many sizes, and a loop with a known number of
 * instructions.  All times are taken with the clock of rank 0, which prints a line for each:
 *
 *   eager SIZE            the largest message whose send does not wait for the receive
 *   send SIZE SECONDS     MPI_Send, up to that size
 *   isend SIZE SECONDS    MPI_Isend alone
 *   recv SIZE SECONDS     MPI_Recv of a message that has arrived; up to that size
 *   half SIZE SECONDS     half of a round trip
 *   rate COUNT SECONDS    CPU time of COUNT instructions, run on both ranks at the same time
 *   end                   shows that the output is complete
 *
 * usage: ti-calibrate-mpi REPEATS LARGEST
 *        ti-calibrate-mpi cores REPEATS
 *        ti-calibrate-mpi memory REPEATS LARGEST
 *
 * The second form, on any number of ranks, times the loop on all cores of all nodes, see
 * time_cores.h.  The third one times what ranks of one node do to its memory at the same time, see
 * time_memory.h.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cli.h"
#include "common/order.h"
#include "examples/burst.h"
#include "replay-bridge/calibrate/time_cores.h"
#include "replay-bridge/calibrate/time_memory.h"

#define WARM_UP     2 /* repetitions that are not printed */
#define SIZES_MAX   128
#define EAGER_MOST  (1 << 20) /* upper bound of the search for the eager limit */
#define EAGER_TRIES 7
#define LATE_S      3e-3  /* delay of the receive in that search */
#define SETTLE_S    50e-6 /* minimum time for a message to arrive */
#define TRIPS       10    /* round trips that are timed together, up to SMALL_BYTES */
#define SMALL_BYTES TI_COLD_LEAST
#define BURST       10000000

enum { TAG_GO, TAG_DATA };

static int rank;
static struct ti_cold_ring given, taken; /* of messages */
static double clock_s;                   /* seconds that reading the clock takes */

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double wall(void)
{
    return now(CLOCK_MONOTONIC);
}

/* Busy wait, without giving MPI a chance to make progress. */
static void idle(double seconds)
{
    double end = wall() + seconds;

    while (wall() < end)
        ;
}

static void calibrate_clock(void)
{
    double start = wall(), end = start;

    for (int i = 0; i < 1000; i++)
        end = wall();
    clock_s = (end - start) / 1000;
}

static void tell(const char *what, int64_t size, double seconds)
{
    if (seconds < 1e-9)
        seconds = 1e-9;
    printf("%s %" PRId64 " %.9g\n", what, size, seconds);
}

static void send(int to, int64_t size, int tag)
{
    MPI_Send(ti_cold_ring_next(&given, size), (int)size, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

static void receive(int from, int64_t size, int tag)
{
    MPI_Recv(ti_cold_ring_next(&taken, size), (int)size, MPI_BYTE, from, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

/* On rank 0, the time of a send whose receive is posted LATE_S later. */
static double late_send(int64_t size)
{
    double start = 0;

    if (rank == 0) {
        receive(1, 0, TAG_GO);
        start = wall();
        send(1, size, TAG_DATA);
        return wall() - start;
    }
    send(0, 0, TAG_GO);
    idle(LATE_S);
    receive(0, size, TAG_DATA);
    return 0;
}

/* Whether most sends of that size return before their receive.  A single send proves nothing: it
 * may wait for a processor, or begin so late that the receive is already posted. */
static bool is_eager(int64_t size)
{
    int eager = 0;

    for (int i = 0; i < EAGER_TRIES; i++)
        eager += late_send(size) < LATE_S / 2;
    eager = eager > EAGER_TRIES / 2;
    MPI_Bcast(&eager, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return eager;
}

static int64_t find_eager(int64_t largest)
{
    int64_t size, too_large = largest < EAGER_MOST ? largest : EAGER_MOST;

    if (is_eager(too_large))
        return too_large;
    TI_FIRST(size, 1, too_large, is_eager(size));
    return size - 1;
}

/* Time a send.  Rank 1 first announces that it is ready. */
static void time_send(int64_t size, bool told)
{
    double start, end;

    if (rank == 1) {
        send(0, 0, TAG_GO);
        receive(0, size, TAG_DATA);
        return;
    }
    receive(1, 0, TAG_GO);
    start = wall();
    send(1, size, TAG_DATA);
    end = wall();
    if (told)
        tell("send", size, end - start - clock_s);
}

static void time_isend(int64_t size, bool told)
{
    MPI_Request request;
    double start, end;
    char *data;

    if (rank == 1) {
        send(0, 0, TAG_GO);
        receive(0, size, TAG_DATA);
        return;
    }
    receive(1, 0, TAG_GO);
    data = ti_cold_ring_next(&given, size);
    start = wall();
    MPI_Isend(data, (int)size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, &request);
    end = wall();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (told)
        tell("isend", size, end - start - clock_s);
}

/* Seconds of half a round trip, as the mean of `trips`.  If there are several, an additional first
 * one is not timed. */
static double round_trips(int64_t size, int trips)
{
    double start = wall();
    int first = trips > 1 ? -1 : 0;

    for (int i = first; i < trips; i++) {
        if (i == 0)
            start = wall();
        if (rank == 0) {
            send(1, size, TAG_DATA);
            receive(1, size, TAG_DATA);
        } else {
            receive(0, size, TAG_DATA);
            send(0, size, TAG_DATA);
        }
    }
    return (wall() - start) / trips / 2;
}

/* Time a receive.  `half`: seconds of half a round trip; a multiple passes before the receive, so
 * that the message has arrived. */
static void time_recv(int64_t size, double half, bool told)
{
    double start, end;

    if (rank == 1) {
        receive(0, 0, TAG_GO);
        send(0, size, TAG_DATA);
        return;
    }
    send(1, 0, TAG_GO);
    idle(SETTLE_S + 5 * half);
    start = wall();
    receive(1, size, TAG_DATA);
    end = wall();
    if (told)
        tell("recv", size, end - start - clock_s);
}

static void time_burst(bool told)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = now(CLOCK_THREAD_CPUTIME_ID);
    burst(BURST);
    if (rank == 0 && told)
        tell("rate", BURST, now(CLOCK_THREAD_CPUTIME_ID) - start);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void time_size(int64_t size, int64_t eager, bool told)
{
    double half = round_trips(size, size <= SMALL_BYTES ? TRIPS : 1);

    if (rank == 0 && told)
        tell("half", size, half);
    if (size <= eager) {
        time_send(size, told);
        time_recv(size, half, told);
    }
    time_isend(size, told);
}

/* Powers of two, the sizes halfway between them, and both sides of the eager limit. */
static int list_sizes(int64_t largest, int64_t eager, int64_t *sizes)
{
    int n = 0;

    for (int64_t power = 1; power <= largest; power *= 2) {
        sizes[n++] = power;
        if (power > 1 && power / 2 * 3 <= largest)
            sizes[n++] = power / 2 * 3;
    }
    if (eager > 0 && eager < largest) {
        sizes[n++] = eager;
        sizes[n++] = eager + 1;
    }
    return n;
}

/* Measure all sizes in turn, so that a temporary disturbance is spread over all of them. */
static void measure(int64_t repeats, int64_t largest)
{
    int64_t sizes[SIZES_MAX], eager = find_eager(largest);
    int n = list_sizes(largest, eager, sizes);

    if (rank == 0)
        printf("eager %" PRId64 "\n", eager);
    for (int64_t turn = -WARM_UP; turn < repeats; turn++) {
        for (int i = 0; i < n; i++)
            time_size(sizes[i], eager, turn >= 0);
        time_burst(turn >= 0);
    }
    if (rank == 0)
        printf("end\n");
}

#define USAGE                                                                                      \
    "ti-calibrate-mpi REPEATS LARGEST, on two ranks, cores REPEATS, on any number, or memory "     \
    "REPEATS LARGEST, on an even number"

/* The first form of the command line, on two ranks. */
static void time_messages(int64_t repeats, int64_t largest)
{
    ti_cold_ring_make(&given, largest);
    ti_cold_ring_make(&taken, largest);
    calibrate_clock();
    measure(repeats, largest);
    free(given.base);
    free(taken.base);
}

int main(int argc, char **argv)
{
    bool cores = argc == 3 && !strcmp(argv[1], "cores");
    bool memory = argc == 4 && !strcmp(argv[1], "memory");
    int64_t repeats = argc > 2 ? atoll(argv[1 + (cores || memory)]) : 0;
    int64_t largest = argc > 2 ? atoll(argv[argc - 1]) : 0;
    int ranks, end = ti_cli_helper("ti-calibrate-mpi", USAGE, argc, argv);

    if (end != TI_CLI_END)
        return end;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if ((memory ? ranks % 2 : argc != 3 || (ranks != 2 && !cores)) || repeats < 1 || largest < 1 ||
        largest > INT32_MAX) {
        fprintf(stderr, "usage: " USAGE "\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (cores)
        ti_time_cores(repeats);
    else if (memory)
        ti_time_memory(repeats, largest);
    else
        time_messages(repeats, largest);
    MPI_Finalize();
    return 0;
}
