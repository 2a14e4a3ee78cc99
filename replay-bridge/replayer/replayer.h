/*
 * The replayer: an MPI program that repeats the calls of a trace.
 *
 * One source makes two programs.  Compiled with SimGrid's smpicc it is
 * ti-smpi-replay, which smpirun runs as a simulation; compiled with mpicc it is
 * ti-live-replay, which mpirun runs on a real machine.  Each rank reads its own
 * events and calls the recorded MPI function for each of them.  operations.h
 * lists the replacements for functions that SMPI lacks.
 *
 * Files here: main.c (start and end), options.c, replay.c (the loop over events),
 * p2p.c, request.c, coll.c, comm.c, rma.c and file.c (the operations), engine.h
 * (the differences between the two programs).
 *
 * All state is in `struct ti_replayer`, one for each rank, because SMPI may run
 * all ranks as threads of one process that share global variables.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_REPLAYER_H
#define TI_REPLAY_BRIDGE_REPLAYER_REPLAYER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay-bridge/replayer/places.h"
#include "replay-bridge/trace/bursts.h"
#include "replay-bridge/trace/elements.h"
#include "sound/neighbours.h"
#include "sound/wildcards.h"

/* A program of the simulation: a trace, replayed by ranks of its own. */
struct ti_replay_job {
    const char *trace;
    struct ti_source *source; /* open; shared by the ranks of one process, and by jobs with the same
                                 trace */
    struct ti_bursts bursts;
    int64_t np, first;     /* number of ranks; rank of the simulation that is rank 0 of the job */
    bool cancels;          /* some rank calls MPI_Cancel */
    double start_s, end_s; /* start; latest end of a rank so far; seconds */
};

/* Settings from the command line; the same on all ranks. */
struct ti_replay_setup {
    struct ti_replay_job *job;
    int njobs;
    struct ti_bursts bursts;  /* from the command line */
    bool threads_where_known; /* fall back to volumes in traces without data on threads */
    enum { TI_SPEND_LOOP, TI_SPEND_SLEEP, TI_SPEND_NOTHING } spend; /* bursts of a live run */
    double speed;       /* instructions per second, for TI_SPEND_SLEEP */
    int64_t seed;       /* of values drawn from statistics */
    double reduce_rate; /* of a simulation: bytes per second of reductions; 0: unlimited */
    double copy_rate;   /* the same of the copy of a rank's block for itself */
    bool contention;    /* of a simulation: the n-th speed of a host is for n ranks that compute */
    int any;            /* 1: post wildcards as such; 0: with the source that matched */
    bool checked;       /* the caller has checked the trace */
    bool quiet;
    const char *files; /* folder for the files of a live run */
    const char *state_path;
    struct ti_replay_state *state; /* progress of the ranks; NULL: not recorded */
    const char *profile;           /* files to write; NULL: none */
    bool causes;                   /* the profile has the critical path */
    bool overview;                 /* the profile has what groups of ranks do when */
    const char *receive_overhead;  /* SMPI's setting smpi/or; NULL: none */
    const char *intervals;         /* file to write, for timelines; NULL: none */
    const char *energy;            /* file to write; NULL: none */
    double *start_s;               /* start times of the first `nstarts` jobs */
    int nstarts;
    struct ti_profile *all; /* profile of all ranks, see profile.h */
    bool asked;             /* in a simulation: the traces have been checked */
    int level;              /* thread level that rank 0 of the first job asked for */
    int end;                /* exit status without a replay; TI_CLI_END: replay */
    int status;             /* TI_OK, or the reason not to start any rank */
    struct ti_err err;      /* message for `status`, if opening the trace failed */
    uint64_t replayed;      /* events that all ranks of this process have replayed */
    int64_t computing;      /* of these ranks, those in a burst, or that wait for their start */

    /* Trips that are left out, see steady.h. */
    double steady;              /* error that they may cause, a share; 0: none are left out */
    const char *steady_file;    /* file to write; NULL: none */
    struct ti_steady *left_out; /* of all ranks */
};

/* A communicator of the trace, at its number. */
struct ti_replay_comm {
    MPI_Comm handle;         /* MPI_COMM_NULL: not made yet, or freed */
    int64_t rank;            /* own rank in the trace; partners are relative to it */
    int64_t peers;           /* number of possible partners: size, or size of the remote group */
    bool one_for_two;        /* `handle` replaces an intercommunicator with ranks of both groups; */
    int64_t offset;          /* the first peer has this rank in `handle` */
    int64_t members;         /* ranks of all groups */
    uint64_t id, calls;      /* common number on all ranks, collectives so far: see profile.h */
    int *sources_order;      /* position of each neighbour of the trace in the library's order; */
    int *destinations_order; /* NULL: the same position */
};

/* A request of the trace, at its number. */
struct ti_replay_request {
    bool used, active, persistent;
    bool receives, cancelled; /* of a live run: completes as cancelled */
    MPI_Request *handle;      /* address of the handle: `own`, or from places.h */
    MPI_Request *own;
    MPI_Request *part; /* requests that replace this one; then `handle` is unused */
    int nparts, parts_room;
    struct ti_event *init; /* event that makes a persistent request which the library lacks */
    bool partitioned_send, generalized;
    int64_t unready; /* partitions that are not ready yet; generalized: 0 when complete, else 1 */
    struct ti_engine_access *access; /* of a simulation: to a disk; NULL: none */
    MPI_Comm *made;                  /* communicator made by MPI_Comm_idup; NULL: none */
    int64_t made_number;
    struct ti_ticket *ticket; /* partners of this request, for profiles */
    double done;              /* time at which it was complete, for profiles; 0: not known */
    size_t ntickets, tickets_room;
};

struct ti_replay_window {
    MPI_Win handle;
    struct ti_replay_comm of; /* copy of its communicator, which may be freed before the window */
    void *memory;             /* freed with the window; NULL: none */
    int epochs;               /* number of open epochs in the trace */
    int started, posted;      /* number of those that MPI_Win_start and MPI_Win_post began */
    int locked;               /* number of those that MPI_Win_lock and MPI_Win_lock_all began */
    MPI_Aint *address;        /* dynamic window: address of each rank's memory; else NULL */
    MPI_Aint *bytes;          /* live run: size of each rank's memory */
};

struct ti_replayer {
    struct ti_replay_setup *setup;
    int job; /* index in setup->job; the fields below are of this job */
    struct ti_source *source;
    int64_t rank, np;
    int64_t all_rank, all_ranks;     /* own rank and number of ranks over all jobs */
    struct ti_profile_rank *profile; /* NULL: no profile */
    struct ti_steady_rank *steady;   /* NULL: no trips are left out */
    struct ti_reader *r;
    const struct ti_event *ev; /* current event, and its number in the trace */
    uint64_t index;
    struct ti_burst_taker bursts;
    struct ti_wildcards ahead;
#ifndef TI_SIMULATED
    struct ti_handle_places places;
#endif
    struct ti_neighbourhoods topologies;

    struct ti_replay_comm *comm;
    size_t ncomms, comms_room;
    struct ti_replay_request *request;
    size_t nrequests, requests_room;
    MPI_Message *message;
    size_t nmessages, messages_room;
    struct ti_replay_window *window;
    size_t nwindows, windows_room;
    struct ti_replay_made {
        uint64_t members; /* a hash */
        uint64_t n;       /* communicators made with these members, for their common numbers */
    } * made;
    size_t nmade, made_room;
    struct ti_replay_attached {
        int64_t window;
        void *memory; /* NULL: detached */
    } * attached;
    size_t nattached, attached_room;
    struct ti_replay_file {
        bool open;
        MPI_Comm comm;
        MPI_File handle;
        char *path;
        int64_t place, esize;   /* of the view: displacement and element size in bytes */
        bool sequential, tiled; /* the view has gaps */
        void *disk;             /* of a simulation: where it is; NULL: accesses take no time */
        struct ti_engine_access *access; /* split access that has begun; NULL: none */
    } * file;
    size_t nfiles, files_room;
    int64_t accesses; /* accesses to disks that have begun and not ended */

    /* Scratch of one call. */
    MPI_Request *batch;
    int nbatch;
    size_t *batch_of; /* index of the request of each handle; filled for ti_profile_done() */
    size_t batch_of_room;
    size_t batch_room;
    int *numbers; /* counts and displacements */
    size_t numbers_room;
    MPI_Datatype *types;
    size_t types_room;
    MPI_Aint *zeros;
    size_t zeros_room;

    struct ti_replay_type {
        int64_t n;
        MPI_Datatype of, type;
    } * contiguous; /* made so far */
    size_t ncontiguous, contiguous_room;
    MPI_Op op[2]; /* user-defined operations: not commutative, commutative */

    void *engine;         /* private to the engine */
    bool buffered;        /* a buffer for buffered sends is attached */
    bool made_files;      /* this rank has made the folder of files */
    double unseen_core_s; /* see energy.h */
    double zero;          /* time 0 of all jobs, in seconds on the engine's clock */
    double start, end;    /* of the rank: `start` on the engine's clock; `end` relative to `zero` */
};

/* Ends the program on all ranks with exit status `st` and a message: "rank 3, event 17 (mpi call):
 * ...". */
_Noreturn void ti_replay_fail(const struct ti_replayer *p, int st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the program if `returned` is an MPI error. */
void ti_replay_must(const struct ti_replayer *p, int returned);

/* Replays all events of the rank.  The caller calls MPI_Init before and MPI_Finalize after it. */
void ti_replay_rank(struct ti_replayer *p);
void ti_replay_free(struct ti_replayer *p);

/* ---- shared by the operations; all end the program on failure ---- */

/* The communicator with number `index` in the trace.  MPI_COMM_SELF is number TI_REPLAY_SELF. */
#define TI_REPLAY_SELF 1
struct ti_replay_comm *ti_replay_comm(struct ti_replayer *p, int64_t index);

/* Rank in `c->handle` of the partner at distance `delta` from the own rank.  Null and any source
 * become MPI_PROC_NULL and MPI_ANY_SOURCE. */
int ti_replay_peer(const struct ti_replayer *p, const struct ti_replay_comm *c, int64_t delta);

/* The count and datatype for `bytes` bytes in elements of `esize` bytes, see elements.h.  Fails if
 * there is none. */
int ti_replay_count(struct ti_replayer *p, enum ti_element_use use, int64_t bytes, int64_t esize,
                    MPI_Datatype *type);

/* A datatype of `esize` bytes. */
MPI_Datatype ti_replay_type(struct ti_replayer *p, int64_t esize);

/* A contiguous datatype of `n` elements; kept for reuse. */
MPI_Datatype ti_replay_contiguous(struct ti_replayer *p, int64_t n, MPI_Datatype of);

/* A predefined datatype of `esize` bytes for MPI_Compare_and_swap. */
MPI_Datatype ti_replay_swapped(int64_t esize);

/* Operation and datatype of a reduction of elements of `esize` bytes. */
MPI_Op ti_replay_op(struct ti_replayer *p, int64_t redop, int64_t esize, MPI_Datatype *type);

/* A new request with the number in TI_F_REQ of the current event. */
struct ti_replay_request *ti_replay_new_request(struct ti_replayer *p);

/* Appends a part to `q`: the address for a handle of the MPI library. */
MPI_Request *ti_replay_part(struct ti_replay_request *q);

/* Element `index` of an array that grows as needed.  `index` is evaluated several times: it must
 * not depend on the array. */
#define TI_REPLAY_AT(p, array, n, room, index)                                                     \
    ((p)->array = ti_grow((p)->array, &(p)->room, (size_t)(index) + 1, sizeof *(p)->array),        \
     (p)->n = (p)->n > (size_t)(index) ? (p)->n : (size_t)(index) + 1, &(p)->array[index])

/* ---- the operations: each replays one event ---- */

typedef void ti_replay_fn(struct ti_replayer *p, const struct ti_event *ev);

/* Posts the operation of `ev` without blocking.  Its request, or the parts that replace it, go into
 * `q`, which is request `req` of the trace. */
void ti_replay_post(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q,
                    int64_t req);

/* Calls the collective of `ev` in the given form (blocking, non-blocking, persistent), which may
 * differ from that of the event. */
void ti_replay_collective(struct ti_replayer *p, const struct ti_event *ev, enum ti_form form,
                          struct ti_replay_request *q);

/* Make a persistent request of the MPI library: for a message, or for a partitioned message. */
void ti_replay_prepare(struct ti_replayer *p, const struct ti_event *ev,
                       struct ti_replay_request *q);
void ti_replay_prepare_partitioned(struct ti_replayer *p, const struct ti_event *ev,
                                   struct ti_replay_request *q);
void ti_replay_ready(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q);
void ti_replay_arrived(struct ti_replayer *p, const struct ti_event *ev,
                       struct ti_replay_request *q);

/* Called when the request of MPI_Comm_idup has completed: registers its communicator. */
void ti_replay_idup_done(struct ti_replayer *p, struct ti_replay_request *q);

/* Of a simulation: waits for *access, if it is not NULL, and sets it to NULL. */
void ti_replay_access_end(struct ti_replayer *p, struct ti_engine_access **access);

/* Removes the folder of files if this rank has made it.  No rank may use the folder any more,
 * unless the replay fails. */
void ti_replay_remove_files(const struct ti_replayer *p);

/* Registers the predefined communicators: `world`, the world of the rank's job, and self. */
void ti_replay_world(struct ti_replayer *p, MPI_Comm world);

#endif
