/*
 * Counters: what the volume of a burst is measured with.
 *
 * A counter back end counts, for the calling thread, something that grows with the
 * computation done, mostly instructions.  It is opened once per process, in MPI_Init, and
 * read on entry to and on exit from every outermost MPI call.  What runs in between (MPI,
 * the recorders, writing the trace) is never counted.
 *
 * Each back end is a row of the table in counter_table.c, for the library and for
 * ti-acquire alike; counter_NAME.c says what it counts.  If the process runs under a back
 * end's wrapper, the choice `auto` tries this back end only.  Otherwise it takes the first
 * row that counts and is no estimate; if none does, the error says why for each.
 */
#ifndef TI_MINITRACE_COUNTERS_COUNTER_H
#define TI_MINITRACE_COUNTERS_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define TI_ALSO_MAX   8  /* most events counted beside the volume */
#define TI_EVENT_NAME 64 /* bytes of an event's name, with its NUL */

/* A request for a counter. */
struct ti_counter_request {
    /* "auto", the name of a back end, or NAME:EVENT if it takes events; PAPI's are such as
     * "perf::TASK-CLOCK" or "sde:::library::EVENT" */
    const char *choice;

    /* Count all threads of the process instead of the calling one.  With PAPI: the thread that
     * opens the counter, and the threads that it and its descendants start from then on.  Only the
     * opening thread may read then. */
    bool sum;

    /* PAPI events to count as well, separated by commas, with any back end; NULL or "" for none.
     * An event that does not count here is an error. */
    const char *also;
};

struct ti_counter;

/* A command in front of the program, which counts it.  No member is NULL. */
struct ti_counter_wrapper {
    const char *const *words;  /* the command, up to NULL; the first word is found on PATH */
    const char *tool;          /* our part of it */
    const char *variable;      /* of the environment: names the folder of the tool */
    const char *setting;       /* NAME=VALUE for the environment, unless the user sets NAME */
    const char *children;      /* option: count the programs that the program starts, too */
    const char *outside;       /* option: tell what is executed outside MPI */
    const char *report, *said; /* option: say the count on stderr at the end; what precedes it */
    bool (*is_around)(void);   /* whether this process runs under it */
};

/* A counter back end: what is known of it before it is opened. */
struct ti_counter_backend {
    const char *name;
    const char *event;       /* that is counted: "PAPI_TOT_INS", "guest instructions", ... */
    const char *unit;        /* of it */
    const char *read_method; /* how it is read: "load", "rdpmc", "system call" or "function" */
    const char *advice;      /* a hint if `auto` finds nothing; NULL: none */
    const char *own_events;  /* how the names begin of events that libraries of the program make,
                              * which only its ranks can try; NULL: none */
    bool exact;              /* the same work gives the same count */
    bool estimate;           /* a time, not a count of work: never chosen by `auto` */
    bool takes_event;        /* a choice may be NAME:EVENT */
    bool sums;               /* it can count all threads of a process */
    bool from_start;         /* a thread's count is 0 when it starts, not at its first read */
    bool compiled;           /* it counts only code that was compiled with ti-mpicc */
    const struct ti_counter_wrapper *wrapper; /* NULL: it needs none */

    /*
     * Open it.  *out has what is above; the function adds at least `word` or `read`, and changes
     * what differs.  Errors are those of ti_counter_open().  May change errno.
     *
     * A back end that has state for each thread makes it at the thread's first read, and releases
     * it at the thread's end by a key of pthread_key_create(): threads that never call MPI cost
     * nothing.
     */
    ti_status (*open)(const char *event, const struct ti_counter_request *wish,
                      struct ti_counter *out, struct ti_err *err);
};

/* The table, up to NULL, in the order in which `auto` tries its rows. */
extern const struct ti_counter_backend *const ti_counter_table[];

struct ti_counter {
    const struct ti_counter_backend *backend;
    const char *event, *unit, *read_method;
    bool exact;
    bool sum; /* counts all threads, see struct ti_counter_request */

    /*
     * How to read it.  open() sets `word` or `read`; ti_counter_open() sets a `word` that is still
     * NULL to a dummy.  If `read` is NULL, *word is the calling thread's
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

    void (*close)(void); /* stop counting in the calling thread; NULL if there is nothing to do */
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

/* The back end that a choice names, and in *event (may be NULL) its event.  NULL for "auto", and
 * for what names none. */
const struct ti_counter_backend *ti_counter_find(const char *choice, const char **event);

/* Whether the back end counts here: TI_OK, or err says why it does not.  `automatic`: by `auto`. */
typedef ti_status ti_counter_try(void *arg, const struct ti_counter_backend *backend,
                                 const char *event, bool automatic, struct ti_err *err);

/*
 * Choose a back end: the one that `choice` names, or by `auto` the first that `try` accepts.  One
 * that cannot count all threads is not tried for `sum`.
 *
 *   refused  if not NULL: why `auto` did not take its first one; "" if it did, or had no choice
 *
 * Returns what `try` returned, TI_ERR_USAGE for an unknown choice, or TI_ERR_INPUT.
 */
ti_status ti_counter_pick(const char *choice, bool sum, ti_counter_try *try, void *arg,
                          struct ti_err *refused, struct ti_err *err);

/* The name of the back end to take on all machines where `choice` finds different ones: one that
 * needs neither the processor's counters nor a program compiled for it.  NULL if `choice` is not
 * "auto". */
const char *ti_counter_common(const char *choice);

/* Write the names of back ends into buf, with `before` before each: "papi, valgrind or cputime",
 * where " or " is `last`.  Only exact ones, if `exact`; only ones that count all threads, if `sum`;
 * without `but`, which may be NULL.  Returns buf. */
const char *ti_counter_names(char *buf, size_t bytes, const char *before, const char *last,
                             bool exact, bool sum, const struct ti_counter_backend *but);

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
