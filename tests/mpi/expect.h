/*
 * Expectations of a test program of this folder: beside each traced call
 * stands the event it must leave, written from the MPI standard and
 * event/event.h, in the words of `ti-info --dump --no-volumes`.  They go to
 * the file rank-N in the folder named by TIARA_EXPECT; `check` in lib.sh compares.
 * Without TIARA_EXPECT nothing is written.
 */
#ifndef TI_TESTS_MPI_EXPECT_H
#define TI_TESTS_MPI_EXPECT_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *expect_file;
static int rank, size; /* in MPI_COMM_WORLD */

/* One event. */
__attribute__((format(printf, 1, 2), unused)) static void expect(const char *fmt, ...)
{
    va_list ap;

    if (!expect_file)
        return;
    va_start(ap, fmt);
    vfprintf(expect_file, fmt, ap);
    va_end(ap);
    fputc('\n', expect_file);
}

/* A condition that holds whether traced or not. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, rank, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                          \
        }                                                                                          \
    } while (0)

/* After MPI_Init or MPI_Init_thread, whose event has `level`. */
__attribute__((unused)) static void expect_begin(int level)
{
    const char *dir = getenv("TIARA_EXPECT");
    char path[4096];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (dir) {
        snprintf(path, sizeof path, "%s/rank-%d", dir, rank);
        expect_file = fopen(path, "w");
        MUST(expect_file);
    }
    expect("init level=%d", level);
}

__attribute__((unused)) static void expect_end(void)
{
    expect("finalize");
    if (expect_file)
        MUST(fclose(expect_file) == 0);
    expect_file = NULL;
}

/* "+1(5)": a partner `delta` ranks away, whose rank in the world is `world`.
 * Good until it was called eight times more. */
__attribute__((unused)) static const char *at(int delta, int world)
{
    static char text[8][32];
    static int turn;

    turn = (turn + 1) % 8;
    snprintf(text[turn], sizeof text[turn], "%+d(%d)", delta, world);
    return text[turn];
}

/* The same for a rank of the world. */
__attribute__((unused)) static const char *to(int world)
{
    return at(world - rank, world);
}

#endif
