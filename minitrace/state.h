/*
 * What the library knows of the process it is in.  One per process; only the
 * thread that holds it touches it (record.c says which that is), but for what
 * is marked as atomic.
 */
#ifndef TI_STATE_H
#define TI_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/writer.h"
#include "minitrace/counter.h"
#include "minitrace/extra.h"
#include "minitrace/record.h"

/* Bursts between polls that are shorter than this are the polling's own; see
 * ti_enter(). */
#define TI_SPIN_LIMIT 1000

/* Where a thread is that records. */
enum ti_phase {
    TI_OUTSIDE,
    TI_INSIDE, /* a call that is recorded */
    TI_NESTED  /* the same, and MPI was called inside it */
};

struct ti_inside {
    enum ti_phase phase;
    const void *frame, *site; /* of the call it is inside */
};

/* A count from the end of MPI_Init to the entry of MPI_Finalize. */
struct ti_span {
    uint64_t from, count;
};

/* What leaving a call and entering the next one adds to the burst between them, by
 * the way the first one is left: the least of TI_CALIBRATION_SAMPLES.  Noted calls
 * have a way of their own where any thread may record. */
#define TI_CALIBRATION_SAMPLES 64
struct ti_cost {
    uint64_t least[TI_LEAVE_KINDS];
    uint64_t spread; /* of the samples of that way where they differ most */
};

/* Of a burst with the work of all threads, for the column `longest`. */
struct ti_shares {
    uint64_t others;     /* of all threads but the calling one */
    uint64_t since_poll; /* the same, not judged yet: see count() in record.c */
    uint64_t longest;    /* of the one of these that did most */
};

/* CPU time in ns: of the calling thread, and of the whole process. */
struct ti_cpu {
    uint64_t thread, process;
};

struct ti_state {
    bool active;  /* between MPI_Init and MPI_Finalize, and nothing went wrong; atomic */
    bool no_conflict; /* active, and no other thread came; atomic */
    bool stopped; /* by MPI_Pcontrol(0) */
    bool slow_emit; /* ti_emit() the long way */
    struct ti_writer *writer;
    struct ti_counter counter;
    int extras;                 /* columns */
    struct ti_account *account; /* of what is in them */

    int level;               /* of threads, that the application has promised to keep to */
    bool shared;             /* any thread may hold this, one at a time */
    bool slow_path;          /* enter and leave the long way */
    bool many_counts;        /* because of more than one count: a sum, or extra columns */
    struct ti_inside inside; /* `phase` is atomic */
    uint64_t others;         /* what other threads had done at the last entry */
    struct ti_shares shares; /* of the burst since the last event */
    uint64_t others_excluded; /* and had done in noted calls; atomic */
    uint64_t abandoned;      /* calls that were left by longjmp() or an exception */

    uint64_t last;       /* counter when the last call was left, and the cost of it */
    uint64_t burst;      /* volume since the last event */
    struct ti_cost cost; /* in the thread that called MPI_Init */
    uint64_t negative;   /* bursts that would have been below zero; atomic */

    struct ti_span whole, outside; /* what was counted, and what outside MPI */
    struct ti_span blocks, blocks_own; /* what ti_counter_blocks() says */

    bool polling;        /* the last call but noted ones was a poll that said no */
    uint64_t since_poll; /* volume since it */

    int rank, nranks;
    bool speaks_for_rank_0; /* speaks for rank 0, which is not traced */
    pid_t pid;
    int64_t mapped, memory_bytes;   /* memory of ours: now, and the most there was */
    int64_t spilled, spilled_bytes; /* the same of what is mapped from files */
    double init_start, init_end;
    struct ti_cpu cpu_begin;  /* when recording began */
    uint64_t node_questions;  /* answered by the machine as it is, see nodes.c; atomic */
    int64_t ranks_per_node;   /* of the target; 0: not told */
};

extern struct ti_state ti_state __attribute__((visibility("hidden")));

/* record.c: the spans in ti_state begin, in MPI_Init, and end, once.  Both are of
 * the thread that called MPI_Init, or of all threads where the counter sums up;
 * nothing is taken out of them.  ti_span_known(): they have ended, which another
 * thread cannot make them do. */
void ti_span_begin(void);
void ti_span_end(void);
bool ti_span_known(void);

/* recording.c: begin in MPI_Init, end once.  `start` is the monotonic clock
 * before MPI_Init, `provided` the thread level for the event, `level` the one
 * that the application keeps to. */
void ti_recording_begin(double start, int provided, int level);
void ti_recording_end(enum ti_end end);
double ti_seconds(void);

/* Stay for TIARA_LINGER seconds, once MPI is through MPI_Finalize: launchers may take a
 * rank for lost that ends before they have heard that it has finished. */
void ti_linger(void);

/* Say one line on stderr, from rank 0 and the first rank of each node. */
void ti_stderr_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Something went wrong: say so, stop recording for good, mark the trace. */
void ti_stop_recording(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for `what` the call in progress was about and cannot be followed: "a
 * communicator that no traced call made".  Says in which call and where. */
void ti_stop_untracked(const char *what);

/* An event without vectors; only the fields of its mask need to be set. */
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

/*
 * agree.c: whether all ranks count alike, or none of them counts.  `dir`: the trace
 * directory, by its absolute name.  `why`: why this rank does not count; NULL if it does.  Rank 0 knows `id`, by which the files of this run
 * are known, and whether there can be any at all (`go_on`, else `err` says why not);
 * the others learn both.  False, and `err`: nothing is to be recorded; its text is
 * empty on a rank that has nothing to add.
 */
bool ti_agree(const char *dir, const struct ti_err *why, bool go_on, uint8_t id[TI_RUN_ID_BYTES],
              struct ti_err *err);

/* record.c: the call in progress. */
const struct ti_mpi_call *ti_current(void);

/* From now on, what is computed is dropped, or is not. */
void ti_set_stopped(bool stopped);

/* Give the event its volume and call site and write it.  While
 * MPI_Pcontrol(0) holds, nothing is written unless `always`. */
void ti_emit(const struct ti_mpi_call *c, struct ti_event *ev, bool always);

/* The calling thread called MPI_Init; the counter is open.  Recording is on when
 * this returns. */
void ti_threads_begin(int level);

/* Whether the calling thread is the one that called MPI_Init. */
bool ti_thread_is_first(void);

/* Whether the calling thread may end recording in the middle of whatever the
 * process does; if so, it holds the state from now on. */
bool ti_thread_may_end(void);

/* Whether a thread called MPI that may not; if so, gives up. */
bool ti_thread_conflict(void);

/* The poll answered "no". */
void ti_poll_failed(void);

/* Measure what it costs the calling thread to leave and enter; it must not be in a
 * call that is recorded. */
void ti_calibrate(void);

/* untraced.c: "MPI_Put 12, MPI_Get 3" of the calls not traced, into buf; false
 * if there were none. */
bool ti_untraced_list(char *buf, size_t bytes);

/* site.c: number of the call site at this return address. */
uint32_t ti_site(const void *address);

/*
 * map.c: zeroed memory of our own, outside the application's heap.  There is
 * TI_MEMORY_BYTES of it in all, counted in memory_bytes.  What does not fit, and
 * any piece larger than 32 KiB, is mapped from a file without a name in the trace
 * directory, which the system can write out when memory is scarce; that is
 * counted in spilled_bytes.  Where no such file can be made, it is memory after
 * all.  NULL when there is none either.  Sizes are rounded up to pages.
 */
#define TI_MEMORY_BYTES (128 * 1024)
void *ti_map(size_t bytes);
void ti_mapped(int64_t bytes); /* somebody else mapped so much for us */
void ti_unmap(void *p, size_t bytes);
void ti_map_begin(const char *dir, int64_t beyond); /* the trace directory's absolute name, which
                                                     * must stay valid; memory that was asked
                                                     * for beyond that */

/*
 * A buffer that only grows: at least `bytes` at *p, of which *room is the
 * present size; content is kept.  False, and nothing changed, without memory.
 */
bool ti__grow(void **p, size_t *room, size_t bytes);
static inline bool ti_reserve(void **p, size_t *room, size_t bytes)
{
    return __builtin_expect(bytes <= *room, 1) || ti__grow(p, room, bytes);
}

/* type.c: packed bytes of one element; 0 for MPI_DATATYPE_NULL. */
int64_t ti_type_bytes(MPI_Datatype type);

/* Packed bytes of so many elements.  The fields of an event end below 2^63 bytes: more is
 * ti_stop_untracked(), and 0. */
int64_t ti_too_large(void);
static inline int64_t ti_bytes(int64_t count, int64_t esize)
{
    int64_t bytes;

    return __builtin_expect(__builtin_mul_overflow(count, esize, &bytes), 0) ? ti_too_large()
                                                                            : bytes;
}
void ti_types_begin(void);

/*
 * uncounted.c: how much of the program the counter `blocks` does not see, by samples of the
 * thread that calls both functions.  For the metadata at the end of the trace: samples taken
 * between MPI calls, those of them in code that is not counted, where those were
 * ("libm.so.6 31, libc.so.6 2"), and those of which that is not known.  All are "" with other
 * counters, and with TIARA_SAMPLE=0.
 */
struct ti_uncounted_text {
    char samples[32], uncounted[32], unknown[32], objects[640];
};
void ti_uncounted_begin(void);
void ti_uncounted_end(struct ti_uncounted_text *text);

/* nodes.c: take TIARA_RANKS_PER_NODE, false and `err` if it is no number; and, once, answer
 * the application's questions for nodes from then on. */
bool ti_nodes_take(struct ti_err *err);
void ti_nodes_begin(void);

/* rec_comm.c */
struct ti_comm_entry {
    MPI_Comm comm;
    uint32_t index;
    int rank, size;            /* own; of the own group */
    int remote_size;           /* of the other group; 0: an intracommunicator */
    int sources, destinations; /* neighbours in its topology; 0 without one */
    bool inter;
    bool unordered; /* its neighbours, as MPI has them: see ti_neighbours() */
    bool whole;  /* its ranks are those of MPI_COMM_WORLD */
    bool marked; /* it will tell when it is freed */
};

/* The communicator's entry, valid until the next call.  NULL, and recording has
 * stopped, if no traced call made it. */
const struct ti_comm_entry *ti_comm_find(MPI_Comm comm);
bool ti_comm_begin(void); /* world and self */

/* The same without giving up: NULL if no traced call made it. */
const struct ti_comm_entry *ti_comm_known(MPI_Comm comm);

/* Communicators of MPI_Comm_idup whose handles are to come: when their request is
 * complete, they are where the application wanted them. */
extern uint32_t ti_comms_late __attribute__((visibility("hidden")));
void ti_comm_arrived(int64_t request);

/* neighbours.c: those in the distributed graph of a communicator, in the order of
 * the trace, first the sources and then the destinations; valid until the next
 * call.  NULL: given up, without memory. */
struct ti_neighbour {
    int rank, weight;
    int place; /* among MPI's sources or destinations */
};
const struct ti_neighbour *ti_neighbours(const struct ti_comm_entry *comm);

/*
 * handle.c: windows and files, by their MPI handles.  Numbers follow the order in
 * which this rank met them.
 */
struct ti_handle {
    uintptr_t handle; /* 0: a free place of the table */
    int64_t number;
    int rank;      /* own rank in the communicator it was made on */
    int64_t asked; /* of a file: bytes of the split collective under way */
};

struct ti_handles {
    const char *what; /* "window" */
    struct ti_handle *entry;
    size_t entry_bytes;
    uint32_t room, used;
    int64_t met;
};

/* A new one; a handle that is known already is taken for a new one too.  NULL:
 * given up, without memory.  Entries are valid until the next call that adds or
 * forgets one. */
struct ti_handle *ti_handle_add(struct ti_handles *t, uintptr_t handle, int rank);
void ti_handle_forget(struct ti_handles *t, uintptr_t handle);

/* NULL if it is not known; ti_handle_find() then gives up: ti_stop_untracked(). */
struct ti_handle *ti_handle_known(struct ti_handles *t, uintptr_t handle);
struct ti_handle *ti_handle_find(struct ti_handles *t, uintptr_t handle);

/* Bits of MODE, TI_MODES, for those of the MPI library. */
struct ti_mode {
    int theirs;
    int64_t ours;
};
int64_t ti_mode_of(const struct ti_mode *list, size_t n, int mode);

/* rec_coll.c: TI_REDOP_* of an operation. */
int64_t ti_redop(MPI_Op op);

/*
 * rec_p2p.c: what receives, probes and completions share.
 *
 * ti_lend_status(): a call that ignores its status gets one of ours.
 * ti_match(): say what a wildcard matched.  ti_wildcard(): whether it is one.
 * ti_envelope(): begin an event with communicator, partner and tag; NULL without
 * memory.  ti_content(): and the size of what is in it.
 */
void ti_lend_status(struct ti_mpi_call *c);
void ti_match(struct ti_event *ev, const struct ti_mpi_call *c, const void *status, int own_rank);
bool ti_was_cancelled(const struct ti_mpi_call *c, const void *status);
bool ti_wildcard(int peer, int tag);
const struct ti_comm_entry *ti_envelope(struct ti_event *ev, const struct ti_mpi_call *c);
void ti_content(struct ti_event *ev, const struct ti_mpi_call *c);

/* fortran.c: find what the functions below need. */
void ti_fortran_begin(void);

/* fortran.c: whether the status, or array of statuses, is to be ignored. */
bool ti_fortran_ignores(const void *status);
bool ti_fortran_ignores_all(const void *statuses);

/*
 * rec_request.c: the call made a request, *c->req; its number for the event.
 * Whether it is persistent follows from c->op.  A wildcard receive's completion
 * says what matched, relative to own_rank.
 */
int64_t ti_request_add(struct ti_mpi_call *c, bool wildcard, int own_rank);

/* The same for a request that the trace does not show, so that its completion
 * is not taken for another's. */
void ti_request_hide(struct ti_mpi_call *c);

/* A handle's bits, by which it is looked up. */
static inline uint64_t ti_bits(const void *handle, size_t bytes)
{
    uint64_t bits = 0;

    __builtin_memcpy(&bits, handle, bytes);
    return bits;
}

/* A handle in the caller's binding, as a C handle. */
static inline MPI_Comm ti_comm_of(const struct ti_mpi_call *c, const void *p)
{
    return c->binding == TI_BINDING_C ? *(const MPI_Comm *)p : PMPI_Comm_f2c(*(const MPI_Fint *)p);
}

#endif
