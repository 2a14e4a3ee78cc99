/*
 * Counters: what the volume of a burst is measured with.
 *
 * A counter back end counts, for the calling thread, something that grows with the
 * computation done, mostly instructions.  It is opened once per process, in MPI_Init, and
 * read on entry to and on exit from every outermost MPI call.  What runs in between (MPI,
 * the recorders, writing the trace) is never counted.
 *
 *   papi       A PAPI event: preset, native or software defined (default
 *              PAPI_TOT_INS).  It is accepted only if it counts when tried: added,
 *              started, and grown over a loop of known length, because PAPI lists
 *              events as available that cannot be started.  Counts user code only,
 *              never multiplexed.  Each thread has its own event sets from its first
 *              read on.  The application may use PAPI too: the library loads a copy of
 *              its own.  If no copy can be loaded, an application that has PAPI is
 *              refused.
 *   valgrind   The instruction count of the `ticount` valgrind tool.  Exact, needs no
 *              hardware counter; the process must run under valgrind --tool=ticount.
 *   blocks     The instructions of code compiled with ti-mpicc and its variants
 *              (wrap/assembler/).  Exact, needs no hardware counter, counts no other
 *              code.
 *   cputime    The thread's CPU time in nanoseconds.  An estimate, never chosen by
 *              `auto`, and marked as inexact in the trace.
 *   auto       valgrind under ticount; else papi; else blocks if the program was
 *              compiled for it; else an error that lists the choices.
 */
#ifndef TI_MINITRACE_COUNTERS_COUNTER_H
#define TI_MINITRACE_COUNTERS_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define TI_ALSO_MAX   8  /* most events counted beside the volume */
#define TI_EVENT_NAME 64 /* bytes of an event's name, with its NUL */

/* The event of the counter `blocks`. */
#define TI_BLOCKS_EVENT "instructions of code compiled with ti-mpicc"

/* A request for a counter. */
struct ti_counter_request {
    /* "auto", "papi", "papi:EVENT", "valgrind", "blocks" or "cputime"; EVENT is PAPI's name, such
     * as "perf::TASK-CLOCK" or "sde:::library::EVENT" */
    const char *choice;

    /* Count all threads of the process instead of the calling one.  With PAPI: the thread that
     * opens the counter, and the threads that it and its descendants start from then on.  Only the
     * opening thread may read then. */
    bool sum;

    /* PAPI events to count as well, separated by commas, with any back end; NULL or "" for none.
     * An event that does not count here is an error. */
    const char *also;
};

struct ti_counter {
    char backend[16];          /* "papi", "valgrind", "blocks", "cputime" */
    char event[TI_EVENT_NAME]; /* "PAPI_TOT_INS", "guest instructions", ... */
    char unit[16];             /* "instructions", "nanoseconds", or "events" (PAPI's others) */
    bool exact;                /* the same work gives the same count */
    bool estimate;             /* a time, not a count of work */
    const char *read_method;   /* how it is read: "load", "rdpmc", "system call" or
                                * "function" */
    bool sum;                  /* counts all threads, see struct ti_counter_request */
    bool from_start;           /* a thread's count is 0 when it starts, not at its first read */

    /*
     * How to read it.  `word` is never NULL.  If `read` is NULL, *word is the calling thread's
     * count and a plain load reads it; else call read().  Counts grow by one per unit from any
     * starting point, and wrap at 2^64.
     */
    const volatile uint64_t *word;
    uint64_t (*read)(void);

    /* How any thread reads its own count, where `read` is NULL and `word` belongs to the thread
     * that opened the counter.  Else NULL. */
    uint64_t (*read_elsewhere)(void);

    /* If `sum`: the count of all other threads of the process.  NULL if the count above includes
     * them and cannot tell threads apart. */
    uint64_t (*others)(void);

    /* If `sum` and the back end can tell threads apart, else NULL.  longest(): the largest count
     * of one other thread since the last mark().  mark(): begin the next such interval where the
     * last longest() ended. */
    uint64_t (*longest)(void);
    void (*mark)(void);

    /* Events counted beside the volume, in the order of the request.  read_also() stores their
     * counts in also[0 .. nalso - 1] and returns the volume; NULL if there are none. */
    int nalso;
    char also[TI_ALSO_MAX][TI_EVENT_NAME];
    uint64_t (*read_also)(uint64_t *also);

    /* Count of the calling thread outside MPI's functions, as the back end itself sees it,
     * independent of the recorders.  NULL if it cannot tell.  Wraps as the count does. */
    uint64_t (*outside)(void);

    /* NULL if every read so far can be trusted; else why not: a read failed, a thread could not be
     * counted, or the volume stands still while the thread computes.  After a failure, reads
     * return the last good value.  Any thread may ask after each read; the function is one load.
     * The member itself is NULL where nothing can fail. */
    const char *(*trouble)(void);
};

/*
 * Open a counter for the calling thread.
 *
 *   *out    set on success only
 *   err     on failure: the reason, and as a hint what to do instead
 *
 * Returns TI_OK; TI_ERR_USAGE for an unknown choice, or events that can never count (two
 * with one name, too many); TI_ERR_INPUT if the counter does not count here, or not for
 * all threads.  Prints nothing.  Leaves errno alone.
 */
ti_status ti_counter_open(const struct ti_counter_request *wish, struct ti_counter *out,
                          struct ti_err *err);

/*
 * With any counter open: `count` is what code compiled with ti-mpicc has counted in the
 * calling thread, `own` what it executed to do so (0 unless compiled with --tiara-audit).
 * A count by `valgrind` over some time, less count and own over that time, is what other
 * code executed: libraries.  False if the process has no such code.  Leaves errno alone.
 */
bool ti_counter_blocks(uint64_t *count, uint64_t *own);

/* Stop counting in the calling thread, release what ti_counter_open() allocated for it, and clear
 * *counter.  Reads through a copy of *counter return the last value.  Leaves errno alone. */
void ti_counter_close(struct ti_counter *counter);

#endif
