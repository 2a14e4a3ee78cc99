/*
 * The library's state in this process.  There is one struct ti_state.  Only the thread that owns
 * it reads or writes it (record.c says which thread owns it); members marked atomic are open to
 * all threads.
 */
#ifndef TI_STATE_H
#define TI_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/writer.h"
#include "minitrace/counters/counter.h"
#include "minitrace/extra.h"
#include "minitrace/handle.h"
#include "minitrace/record.h"

/* A burst between two polls that is shorter than this belongs to the polling loop and is dropped:
 * see count_burst() in record.c.  In units of the counter. */
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
    uint64_t since_poll; /* the part since a failed poll, see count_burst() in record.c */
    uint64_t longest;    /* the largest count of one other thread */
};

/* CPU time in ns. */
struct ti_cpu {
    uint64_t thread, process;
};

struct ti_state {
    bool active;      /* between MPI_Init and MPI_Finalize, no failure so far; atomic */
    bool no_conflict; /* active, and no thread made a call that cannot be recorded; atomic */
    bool stopped;     /* MPI_Pcontrol(0) holds */
    bool slow_emit;   /* ti_emit() must take its slow path; true also when not active */
    struct ti_writer *writer;
    struct ti_counter counter;
    int extras;                 /* number of extra columns */
    struct ti_account *account; /* the account of the extra columns */

    int level;               /* thread level that the application promised to keep to */
    bool shared;             /* any thread may own the state, one at a time */
    bool slow_path;          /* entering and leaving take their slow path */
    bool many_counts;        /* the slow path is due to several counts: a sum over threads, or
                              * extra columns */
    struct ti_inside inside; /* `phase` is atomic */
    uint64_t others;         /* count of all other threads at the last entry */
    struct ti_shares shares; /* of the burst since the last event */
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
    bool speaks_for_rank_0; /* this rank prints messages because rank 0 is not traced */
    pid_t pid;
    int64_t mapped, memory_bytes;   /* anonymous memory: now; maximum */
    int64_t spilled, spilled_bytes; /* memory mapped from files: now; maximum */
    double init_start, init_end;
    struct ti_cpu cpu_begin;  /* when recording began */
    uint64_t node_questions;  /* questions for nodes answered as the machine is (nodes.c); atomic */
    int64_t ranks_per_node;   /* of the target machine; 0: not given */
};

extern struct ti_state ti_state __attribute__((visibility("hidden")));

/* record.c: begin and end the spans of ti_state, in MPI_Init and MPI_Finalize, once.  The spans
 * count the thread that called MPI_Init, or all threads where the counter sums them up; nothing is
 * taken out of them.  ti_span_known(): whether the spans have ended.  ti_span_end() does nothing
 * in another thread. */
void ti_span_begin(void);
void ti_span_end(void);
bool ti_span_known(void);

/* recording.c: begin in MPI_Init, end once.  `start`: ti_seconds() before MPI_Init.  `provided`:
 * the thread level in the event.  `level`: the thread level that the application keeps to. */
void ti_recording_begin(double start, int provided, int level);
void ti_recording_end(enum ti_end end);
double ti_seconds(void);

/* Sleep for TIARA_LINGER seconds.  Called at the end of MPI_Finalize: a launcher may report a rank
 * as failed if its process ends before the launcher has read that the rank finished. */
void ti_linger(void);

/* Print one line on stderr, from any rank. */
void ti_stderr_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A failure: print the reason on rank 0 and the first rank of each node, stop recording for good,
 * and mark the trace as incomplete. */
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

/*
 * agree.c: check that all ranks count alike, or that none counts.  Collective over
 * MPI_COMM_WORLD.
 *
 * `dir` is the absolute name of the trace directory.  `why` says why this rank does
 * not count, or is NULL if it does.  On rank 0, `id` is the run id and `go_on` says
 * whether a trace can be written at all; if not, `err` is already filled.  The other
 * ranks receive both.
 *
 * Returns false, and fills `err`, if nothing must be recorded.  err->text is empty on
 * a rank that has nothing to add to the message of another one.
 */
bool ti_agree(const char *dir, const struct ti_err *why, bool go_on, uint8_t id[TI_RUN_ID_BYTES],
              struct ti_err *err);

/* record.c: the current call. */
const struct ti_mpi_call *ti_current(void);

/* Start or stop dropping what is computed and called: MPI_Pcontrol. */
void ti_set_stopped(bool stopped);

/* Set the event's volume and call site, and write it.  While MPI_Pcontrol(0) holds, nothing is
 * written unless `always`. */
void ti_emit(const struct ti_mpi_call *c, struct ti_event *ev, bool always);

/* From now on, calls are recorded; no longer.  Begun by the thread that called MPI_Init, with the
 * counter open. */
void ti_threads_begin(int level);
void ti_threads_end(void);

/* Whether the calling thread is the one that called MPI_Init. */
bool ti_thread_is_first(void);

/* Make the calling thread the owner of the state, from now on.  False if it cannot be, because
 * another thread is. */
bool ti_thread_acquire(void);

/* Whether a thread made a call that cannot be recorded (record.c); end the recording for that
 * reason. */
bool ti_thread_conflict(void);
void ti_stop_conflict(void);

/* Tell the counting of bursts that the current call was an unsuccessful poll. */
void ti_poll_failed(void);

/* Measure the cost of leaving and entering a call in the calling thread, which must not be in a
 * recorded call. */
void ti_calibrate(void);

/* untraced.c: the untraced calls so far, such as "MPI_Comm_spawn 12, MPI_Comm_accept 3", into buf.
 * False if there were none. */
bool ti_untraced_list(char *buf, size_t bytes);

/* site.c: number of the call site with this return address. */
uint32_t ti_site(const void *address);

/*
 * map.c: zeroed memory outside the application's heap.
 *
 * At most TI_MEMORY_BYTES of it is anonymous memory, counted in memory_bytes.  A piece
 * that does not fit, or that is larger than 32 KiB, is mapped from an unnamed file in
 * the trace directory, which the system can write out when memory is scarce; it is
 * counted in spilled_bytes.  If no such file can be made, anonymous memory is used
 * after all.  Sizes are rounded up to pages.  NULL without memory.
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

/* type.c: packed bytes of one element; 0 for MPI_DATATYPE_NULL. */
int64_t ti_type_bytes(MPI_Datatype type);

/* Packed bytes of `count` elements.  Fields of an event are below 2^63: a larger product ends the
 * recording, and is 0. */
int64_t ti_stop_too_large(void);
static inline int64_t ti_bytes(int64_t count, int64_t esize)
{
    int64_t bytes;

    return __builtin_expect(__builtin_mul_overflow(count, esize, &bytes), 0) ? ti_stop_too_large()
                                                                             : bytes;
}
void ti_types_begin(void);

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

/* nodes.c: ti_nodes_take() reads TIARA_RANKS_PER_NODE; false and `err` if it is not a number.
 * ti_nodes_begin() is called once; from then on the library answers the application's questions
 * for nodes. */
bool ti_nodes_take(struct ti_err *err);
void ti_nodes_begin(void);

/* rec_comm.c: what is known of a communicator */
struct ti_comm_entry {
    struct ti_handle handle;
    MPI_Comm comm;
    uint32_t index;
    int rank, size;            /* own rank; size of the own group */
    int remote_size;           /* size of the other group; 0 for an intracommunicator */
    int sources, destinations; /* number of neighbours in its topology; 0 without one */
    bool inter;
    bool unordered; /* MPI's order of its neighbours is not fixed: see ti_neighbours() */
    bool whole;     /* same ranks as MPI_COMM_WORLD */
    bool marked;    /* has the attribute that reports when it is freed */
};

/* The communicator's entry, valid until the next call.  NULL if no traced call made it. */
const struct ti_comm_entry *ti_comm_find(MPI_Comm comm);
bool ti_comm_begin(void); /* adds world and self */

/* Number of communicators from MPI_Comm_idup whose handle is not known yet.  The handle can be
 * read from the application's variable once the request is complete, which ti_comm_arrived()
 * reports. */
extern uint32_t ti_comms_late __attribute__((visibility("hidden")));
void ti_comm_arrived(int64_t request);

/* neighbours.c: the neighbours in a communicator's distributed graph, in the order of the trace:
 * sources, then destinations.  Valid until the next call.  NULL without memory; recording has
 * stopped then. */
struct ti_neighbour {
    int rank, weight;
    int place; /* index in MPI's array of sources or destinations */
};
const struct ti_neighbour *ti_neighbours(const struct ti_comm_entry *comm);

/* The trace's mode bits (TI_MODES) for the MPI library's. */
struct ti_mode {
    int theirs;
    int64_t ours;
};
static inline int64_t ti_mode_of(const struct ti_mode *list, size_t n, int mode)
{
    int64_t ours = 0;

    for (size_t i = 0; i < n; i++)
        if (mode & list[i].theirs)
            ours |= list[i].ours;
    return ours;
}

/* rec_coll.c: TI_REDOP_* of an operation. */
int64_t ti_redop(MPI_Op op);

/*
 * rec_p2p.c: shared by receives, probes and completions.
 *
 * ti_lend_status()   give a call that ignores its status one of ours
 * ti_match()         set in the event what a wildcard matched, from the status
 * ti_wildcard()      whether a receive from this peer and tag has a wildcard
 * ti_envelope()      begin an event with communicator, peer and tag; NULL if the
 *                    communicator is unknown, and recording has stopped
 * ti_content()       add the size of the message
 */
void ti_lend_status(struct ti_mpi_call *c);
void ti_match(struct ti_event *ev, const struct ti_mpi_call *c, const void *status, int own_rank);
bool ti_was_cancelled(const struct ti_mpi_call *c, const void *status);
bool ti_wildcard(int peer, int tag);
const struct ti_comm_entry *ti_envelope(struct ti_event *ev, const struct ti_mpi_call *c);
void ti_content(struct ti_event *ev, const struct ti_mpi_call *c);

/* fortran.c: look up the symbols that the functions below need. */
void ti_fortran_begin(void);

/* fortran.c: whether the status, or the array of statuses, is MPI's "ignore" constant. */
bool ti_fortran_ignores(const void *status);
bool ti_fortran_ignores_all(const void *statuses);

/*
 * rec_request.c: add the request *c->req that the call made; returns its number for the event.
 * With `wildcard`, its completion records what matched, relative to own_rank.
 */
int64_t ti_request_add(struct ti_mpi_call *c, bool persistent, bool wildcard, int own_rank);

/* Add a request that the trace does not show.  Without it, the completion would be taken for
 * another request's. */
void ti_request_hide(struct ti_mpi_call *c);

/* The bits of a handle, as key for look-ups. */
static inline uint64_t ti_bits(const void *handle, size_t bytes)
{
    uint64_t bits = 0;

    __builtin_memcpy(&bits, handle, bytes);
    return bits;
}

/* Convert a handle in the caller's binding to a C handle. */
static inline MPI_Comm ti_comm_of(const struct ti_mpi_call *c, const void *p)
{
    return c->binding == TI_BINDING_C ? *(const MPI_Comm *)p : PMPI_Comm_f2c(*(const MPI_Fint *)p);
}

#endif
