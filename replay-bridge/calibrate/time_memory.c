#include "replay-bridge/calibrate/time_memory.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay-bridge/calibrate/time_cores.h"

#define WARM_UP    2                  /* repetitions that are not printed */
#define RING_BYTES ((size_t)32 << 20) /* more than the caches of a core hold */
#define LINE_BYTES 64                 /* of a cache */
#define SIZES      3

void ti_cold_ring_make(struct ti_cold_ring *ring, int64_t largest)
{
    ring->bytes = RING_BYTES + (size_t)largest;
    ring->next = 0;
    ring->base = malloc(ring->bytes);
    if (!ring->base) {
        fprintf(stderr, "ti-calibrate-mpi: no memory for %zu bytes\n", ring->bytes);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    memset(ring->base, 1, ring->bytes); /* no page faults in timed code */
}

char *ti_cold_ring_next(struct ti_cold_ring *ring, int64_t size)
{
    char *place;

    if (size <= TI_COLD_LEAST)
        return ring->base;
    if (ring->next + (size_t)size > ring->bytes)
        ring->next = 0;
    place = ring->base + ring->next;
    /* a line more, or the lines of all messages would share few places of a cache */
    ring->next += ((size_t)size / LINE_BYTES + 2) * LINE_BYTES;
    return place;
}

static double exchange(struct ti_cold_ring *given, struct ti_cold_ring *taken, int64_t size,
                       int with, MPI_Comm comm)
{
    char *out = ti_cold_ring_next(given, size), *in = ti_cold_ring_next(taken, size);
    MPI_Request request[2];
    double start;

    MPI_Barrier(comm);
    start = MPI_Wtime();
    MPI_Irecv(in, (int)size, MPI_BYTE, with, 0, comm, &request[0]);
    MPI_Isend(out, (int)size, MPI_BYTE, with, 0, comm, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    return MPI_Wtime() - start;
}

static double copy(struct ti_cold_ring *given, struct ti_cold_ring *taken, int64_t size,
                   MPI_Comm comm)
{
    char *out = ti_cold_ring_next(given, size), *in = ti_cold_ring_next(taken, size);
    double start;

    MPI_Barrier(comm);
    start = MPI_Wtime();
    memcpy(in, out, (size_t)size);
    return MPI_Wtime() - start;
}

/* Prints the time of the slowest rank. */
static void tell(const char *what, int64_t size, double seconds, bool told, MPI_Comm comm)
{
    double most = seconds;
    int rank, ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    if (rank == 0 && told)
        printf("%s %d %" PRId64 " %.9g\n", what, ranks, size, most > 1e-9 ? most : 1e-9);
}

/* All sizes in turn, so that a temporary disturbance is spread over all of them. */
static void time_all(struct ti_cold_ring *given, struct ti_cold_ring *taken, int64_t repeats,
                     int64_t largest, MPI_Comm comm)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (int64_t turn = -WARM_UP; turn < repeats; turn++)
        for (int i = 0; i < SIZES; i++) {
            int64_t size = largest >> i > 0 ? largest >> i : 1;

            tell("exchange", size, exchange(given, taken, size, rank ^ 1, comm), turn >= 0, comm);
            tell("copy", size, copy(given, taken, size, comm), turn >= 0, comm);
        }
}

/* The first `active` ranks. */
static void time_some(struct ti_cold_ring *given, struct ti_cold_ring *taken, int64_t repeats,
                      int64_t largest, int active)
{
    MPI_Comm some;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < active ? 0 : MPI_UNDEFINED, rank, &some);
    if (rank < active) {
        time_all(given, taken, repeats, largest, some);
        MPI_Comm_free(&some);
    }
    ti_meet(MPI_COMM_WORLD);
}

void ti_time_memory(int64_t repeats, int64_t largest)
{
    struct ti_cold_ring given, taken;
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ti_cold_ring_make(&given, largest);
    ti_cold_ring_make(&taken, largest);
    for (int active = 2; active < ranks; active *= 2)
        time_some(&given, &taken, repeats, largest, active);
    time_some(&given, &taken, repeats, largest, ranks);
    if (rank == 0)
        printf("end\n");
    free(given.base);
    free(taken.base);
}
