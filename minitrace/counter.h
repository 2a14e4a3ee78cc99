/*
 * Counters: what a burst's volume is measured with.
 *
 * A back end counts, for the calling thread, something that grows with the
 * computation done (instructions, mostly).  It is opened once per process, in
 * MPI_Init, and read on entry to and on exit from every outermost MPI call;
 * what passes in between (MPI, the recorder, its flushes) is never counted.
 *
 *   papi       a PAPI event, preset, native or software defined (default
 *              PAPI_TOT_INS), taken only if it counts when tried: add, start,
 *              and a non-zero difference over a loop of known length.  PAPI says
 *              "available" on machines where the event can't be started.  Counts
 *              what user code does, and is never multiplexed.  A thread has its
 *              own event sets from its first read on.  The application may use
 *              PAPI as well: ours is a copy that it does not meet.  Where there
 *              can be none, an application that has PAPI is refused.
 *   valgrind   the instruction count that the `ticount` valgrind tool keeps;
 *              exact, needs no hardware counter; the process must run under
 *              valgrind --tool=ticount.
 *   blocks     the instructions of code that was compiled with ti-mpicc and its
 *              like (minitrace/blocks/), which add up what each basic block has;
 *              exact, needs no hardware counter, counts no other code.
 *   cputime    the thread's CPU time in nanoseconds: an estimate, never
 *              chosen by itself and marked as inexact in the trace.
 *   auto       valgrind when running under ticount, else papi, else blocks when
 *              the program was compiled for it, else an error that lists the
 *              choices.
 */
#ifndef TI_COUNTER_H
#define TI_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define TI_ALSO_MAX   8  /* events counted beside the volume */
#define TI_EVENT_NAME 64 /* bytes of an event's name, its NUL included */

/* What `blocks` counts. */
#define TI_BLOCKS_EVENT "instructions of code compiled with ti-mpicc"

/* What is wanted. */
struct ti_counter_wish {
    /* "auto", "papi", "papi:EVENT", "valgrind", "blocks" or "cputime"; EVENT is
     * PAPI's name of it, such as "perf::TASK-CLOCK" or "sde:::library::EVENT" */
    const char *choice;

    /* Count what all threads of the process do, not the calling one alone.  With
     * PAPI these are the thread that opens, and what it and its descendants start
     * from then on; it alone may read. */
    bool sum;

    /* PAPI events to be counted as well, separated by commas, whatever the back
     * end; NULL or "" for none.  Those that do not count here are refused. */
    const char *also;
};

struct ti_counter {
    char backend[16];          /* "papi", "valgrind", "blocks", "cputime" */
    char event[TI_EVENT_NAME]; /* "PAPI_TOT_INS", "guest instructions", ... */
    char unit[16];             /* "instructions", "nanoseconds", or "events" (PAPI's others) */
    bool exact;                /* same work, same count */
    bool estimate;             /* no count of work at all: a time */
    const char *way;           /* a read takes a "load", "rdpmc", a "system call", a "function" */
    bool sum;                  /* for what all threads do, see struct ti_counter_wish */
    bool from_start;           /* a thread's count is 0 when it starts, not when it first reads */

    /*
     * How to read it.  `word` is never NULL.  If `read` is NULL, *word is the
     * calling thread's count and a plain load reads it; else call read().
     * Values grow by one per unit from any starting point, and wrap at 2^64.
     */
    const volatile uint64_t *word;
    uint64_t (*read)(void);

    /* Where `word` is that of the thread that opened, and `read` NULL: how any
     * thread reads its own.  Else NULL. */
    uint64_t (*read_elsewhere)(void);

    /* If `sum`: the count of all other threads of the process; NULL if what is
     * read above has theirs in it and cannot tell them apart. */
    uint64_t (*others)(void);

    /* If `sum` and the back end can tell threads apart, else NULL: the most that one of the
     * other threads has counted from the last mark() to now; and mark(), which has the next
     * such time begin where the last longest() ended. */
    uint64_t (*longest)(void);
    void (*mark)(void);

    /* What is counted beside: their names in the order of the wish, and how to
     * read the count and, into also[0 .. nalso - 1], them; NULL if there are
     * none. */
    int nalso;
    char also[TI_ALSO_MAX][TI_EVENT_NAME];
    uint64_t (*read_also)(uint64_t *also);

    /* What the calling thread executed outside of MPI's functions, as the back end
     * itself sees it, whatever a recorder does; NULL if it cannot tell.  Grows as
     * the count does. */
    uint64_t (*outside)(void);

    /* Whether what was read since the counter was opened can be trusted: NULL, or
     * why it cannot: a read failed, a thread could not be counted, or the volume
     * stands still while the thread computes.  What is read then is the value of
     * before.  Any thread may ask, after each read: it is a load.  The member itself
     * is NULL where nothing can go wrong. */
    const char *(*trouble)(void);
};

/*
 * Open a back end for the calling thread.
 *
 *   *out    set on success only
 *   err     why not, and as a hint what to do instead
 *
 * Returns TI_OK, TI_ERR_USAGE for an unknown choice or events that nobody can count
 * (two of a name, too many), or TI_ERR_INPUT when that counter does not count here,
 * or not for all threads.  Writes nothing anywhere;
 * leaves errno alone.
 */
ti_status ti_counter_open(const struct ti_counter_wish *wish, struct ti_counter *out,
                          struct ti_err *err);

/*
 * Whatever counter is open: what code compiled with ti-mpicc has counted in the
 * calling thread, and what it has executed to do so (0 but for objects compiled with
 * --tiara-audit).  So of two counts of a program by `valgrind`, less `count` and
 * `own` of the same time, what remains was executed by other code: libraries.
 * False if there is no such code.  Leaves errno alone.
 */
bool ti_counter_blocks(uint64_t *count, uint64_t *own);

/* Stop counting in the calling thread, release what ti_counter_open() took for
 * it, and clear *counter.  What still reads by a copy of it gets the last value.
 * Leaves errno alone. */
void ti_counter_close(struct ti_counter *counter);

#endif
