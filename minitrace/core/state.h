/*
 * The library's state in this process.  There is one struct ti_state.  Only the thread that owns
 * it reads or writes it (thread.h says which thread owns it); members marked atomic are open to
 * all threads.
 */
#ifndef TI_MINITRACE_CORE_STATE_H
#define TI_MINITRACE_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "minitrace/core/extra.h"
#include "minitrace/core/record.h"
#include "minitrace/counters/counter.h"
#include "trace/writer.h"

/* A burst between two polls that is shorter than this belongs to the polling loop and is dropped:
 * see count_burst() in enter.c.  In units of the counter. */
#define TI_SPIN_LIMIT 1000

/* Where the owner of ti_state is. */
enum ti_phase {
    TI_OUTSIDE,
    TI_INSIDE, /* in a recorded call */
    TI_NESTED  /* in a recorded call that called MPI in turn */
};

struct ti_inside {
    enum ti_phase phase;
    const void *frame, *site; /* stack frame and return address of the call */
};

/* A count from the end of MPI_Init to the entry of MPI_Finalize. */
struct ti_span {
    uint64_t from, count;
};

/* The cost of leaving a call and entering the next one, which falls into the burst between them,
 * for each way to leave: the minimum of TI_CALIBRATION_SAMPLES samples.  Pass-through calls differ
 * from others only where threads may share ti_state. */
#define TI_CALIBRATION_SAMPLES 64
struct ti_cost {
    uint64_t least[TI_LEAVE_KINDS];
    uint64_t spread; /* largest difference between two samples of one way */
};

/* With counts of all threads: the other threads' part of the current burst, for the column
 * `longest`. */
struct ti_shares {
    uint64_t others;     /* sum over all threads but the calling one */
    uint64_t since_poll; /* the part since a failed poll, see count_burst() in enter.c */
    uint64_t longest;    /* the largest count of one other thread */
};

/* CPU time in ns. */
struct ti_cpu {
    uint64_t thread, process;
};

/*
 * Flags that are set while this process records.  The kernel clears the page of these flags in a child
 * (MADV_WIPEONFORK), also in one that _Fork() or clone(2) made, which runs no handler of
 * pthread_atfork().  So a child takes the slow paths and finds that nothing is recorded: it must
 * not change tables in files, which it shares with its parent (memory.c).
 */
#define TI_FLAGS_BYTES 4096 /* a page; the kernel refuses where pages are larger */
union ti_flags {
    struct {
        bool active;      /* between MPI_Init and MPI_Finalize, no failure so far; atomic */
        bool no_conflict; /* active, and no thread made a call that cannot be recorded; atomic */
        bool fast_emit;   /* active, and ti_emit() may take its fast path */
    };
    char page[TI_FLAGS_BYTES];
};

extern union ti_flags ti_flags __attribute__((visibility("hidden")));

struct ti_state {
    bool stopped; /* MPI_Pcontrol(0) holds */
    struct ti_writer *writer;
    struct ti_counter counter;
    int extras;                 /* number of extra columns */
    struct ti_account *account; /* the account of the extra columns */

    int level;                /* thread level that the application promised to keep to */
    bool shared;              /* any thread may own the state, one at a time */
    bool slow_path;           /* entering and leaving take their slow path */
    bool many_counts;         /* the slow path is due to several counts: a sum over threads, or
                               * extra columns */
    struct ti_inside inside;  /* `phase` is atomic */
    uint64_t others;          /* count of all other threads at the last entry */
    struct ti_shares shares;  /* of the burst since the last event */
    uint64_t others_excluded; /* count of all other threads in pass-through calls; atomic */
    uint64_t abandoned;       /* calls left by longjmp() or an exception */

    uint64_t last;       /* counter when the last call was left, plus the cost of leaving */
    uint64_t burst;      /* volume since the last event */
    struct ti_cost cost; /* as measured in the thread that called MPI_Init */
    uint64_t negative;   /* bursts that were below zero and set to 0; atomic */

    struct ti_span whole, outside;     /* total count; count outside MPI */
    struct ti_span blocks, blocks_own; /* what ti_counter_blocks() returns */

    bool polling;        /* the last call, pass-through calls aside, was an unsuccessful poll */
    uint64_t since_poll; /* volume since that poll */

    int rank, nranks;
    bool speaks_for_rank_0; /* this rank prints messages: rank 0 is not traced, or does not know */
    pid_t pid;
    int64_t mapped, memory_bytes;   /* anonymous memory: now; maximum */
    int64_t spilled, spilled_bytes; /* memory mapped from files: now; maximum */
    double init_start, init_end;
    struct ti_cpu cpu_begin; /* when recording began */
    uint64_t node_questions; /* questions for nodes answered as the machine is; atomic */
    int64_t ranks_per_node;  /* of the target machine; 0: not given */
};

extern struct ti_state ti_state __attribute__((visibility("hidden")));

/* span.c: begin and end the spans of ti_state, in MPI_Init and MPI_Finalize, once.  The spans
 * count the thread that called MPI_Init, or all threads where the counter sums them up; nothing is
 * taken out of them.  ti_span_known(): whether the spans have ended.  ti_span_end() does nothing
 * in another thread. */
void ti_span_begin(void);
void ti_span_end(void);
bool ti_span_known(void);

/* end.c: seconds of a monotonic clock; the CPU time so far. */
double ti_seconds(void);
struct ti_cpu ti_cpu_now(void);

/* metadata.c: the metadata `begin` of a trace of TIARA_MODE=whole or with durations; "" in others,
 * which tell nothing of when things happened. */
void ti_begin_text(char out[80]);

/* Whether this rank prints messages: rank 0, or rank 1 if rank 0 is not traced.  Also the first
 * rank of each node, because a failure may concern one node only, if the launcher says which rank
 * that is. */
bool ti_speaks(void);

/* Print one line on stderr, from any rank. */
void ti_stderr_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* End the recording, once: write the metadata for the end of the trace and close it. */
void ti_recording_end(enum ti_end end);

/* The same after a failure: print the reason if ti_speaks(), and mark the trace as incomplete. */
void ti_stop_recording(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same because of the current call; the message adds the call and the number of the last event.
 * ti_stop_unknown(): because it is about a `kind`, such as "communicator", that no traced call
 * made. */
void ti_stop_call(const char *why);
void ti_stop_unknown(const char *kind);

/* Begin an event without vectors.  The caller sets the fields of `mask`; others stay undefined. */
static inline void ti_event_begin(struct ti_event *ev, uint32_t mask)
{
    ev->mask = mask;
    ev->vec[0].len = 0;
    ev->vec[1].len = 0;
}

static inline void ti_event_set(struct ti_event *ev, enum ti_field field, int64_t value)
{
    ev->mask |= 1u << field;
    ev->arg[field] = value;
}

/* enter.c: the current call. */
const struct ti_mpi_call *ti_current(void);

/* emit.c: start or stop dropping what is computed and called: MPI_Pcontrol. */
void ti_set_stopped(bool stopped);

/* Complete the event with operation, volume and call site, begin a new burst, and write the event.
 * While MPI_Pcontrol(0) holds, it is not written unless `always`. */
void ti_emit(const struct ti_mpi_call *c, struct ti_event *ev, bool always);

/* threads.c: from now on, calls are recorded; no longer.  Begun by the thread that called MPI_Init,
 * with the counter open. */
void ti_threads_begin(int level);
void ti_threads_end(void);

/* Whether the calling thread is the one that called MPI_Init. */
bool ti_thread_is_first(void);

/* Make the calling thread the owner of the state, from now on.  False if it cannot be, because
 * another thread is. */
bool ti_thread_acquire(void);

/* Whether a thread made a call that cannot be recorded (thread.h); end the recording for that
 * reason. */
bool ti_thread_conflict(void);
void ti_stop_conflict(void);

/* Tell the counting of bursts that the current call was an unsuccessful poll. */
void ti_poll_failed(void);

/* calibrate.c: the shims of no MPI function, by way to leave; measure the cost of leaving and
 * entering a call in the calling thread, which must not be in a recorded call. */
extern void (*const ti_calibration_shims[TI_LEAVE_KINDS])(void)
    __attribute__((visibility("hidden")));
void ti_calibrate(void);

/* untraced.c: the untraced calls so far, such as "MPI_Comm_spawn 12, MPI_Comm_accept 3", into buf.
 * False if there were none. */
bool ti_untraced_list(char *buf, size_t bytes);

/* site.c: number of the call site with this return address. */
uint32_t ti_site(const void *address);

/*
 * memory.c: zeroed memory outside the application's heap.
 *
 * At most TI_MEMORY_BYTES and what ti_map_begin() adds of it is anonymous memory, counted in
 * memory_bytes.  A piece that does not fit, or that is larger than 32 KiB, is mapped from an
 * unnamed file in the trace directory, which the system can write out when memory is scarce; it is
 * counted in spilled_bytes.  If no such file can be made, anonymous memory is used
 * after all.  Sizes are rounded up to pages, but pieces up to 1 KiB share pages.  NULL without
 * memory.
 */
#define TI_MEMORY_BYTES (128 * 1024)
void *ti_map(size_t bytes);
void ti_mapped(int64_t bytes); /* count memory that others mapped for the library */
void ti_unmap(void *p, size_t bytes);
void ti_map_begin(const char *dir, int64_t beyond); /* dir: absolute name of the trace directory,
                                                     * must stay valid; beyond: raises the limit
                                                     * TI_MEMORY_BYTES */

/*
 * Make the buffer *p at least `bytes` large; *room is its present size.  The content is kept, the
 * address may change.  False, and nothing changed, without memory.
 */
bool ti__grow(void **p, size_t *room, size_t bytes);
static inline bool ti_reserve(void **p, size_t *room, size_t bytes)
{
    return __builtin_expect(bytes <= *room, 1) || ti__grow(p, room, bytes);
}

/*
 * uncounted.c: estimate how much of the program the counter `blocks` does not see, by
 * sampling the thread that calls both functions.
 *
 * The texts are metadata for the end of the trace: samples taken between MPI calls;
 * samples in code that is not counted; samples whose place is not known; and the
 * uncounted samples by object ("libm.so.6 31, libc.so.6 2").  All are "" with other
 * counters, and with TIARA_SAMPLE=0.
 */
struct ti_uncounted_text {
    char samples[32], uncounted[32], unknown[32], objects[640];
};
void ti_uncounted_begin(void);
void ti_uncounted_end(struct ti_uncounted_text *text);

/* fortran.c: look up the symbols that the functions below need. */
void ti_fortran_begin(void);

/* fortran.c: whether the status, or the array of statuses, is MPI's "ignore" constant. */
bool ti_fortran_ignores(const void *status);
bool ti_fortran_ignores_all(const void *statuses);

#endif
