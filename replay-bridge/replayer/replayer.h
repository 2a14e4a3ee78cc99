/*
 * The replayer: an MPI program that does what a trace says.
 *
 * One source makes two programs.  Compiled with SimGrid's smpicc it is
 * ti-smpi-replay, which smpirun runs as a simulation; compiled with mpicc it is
 * ti-live-replay, which mpirun runs on a real machine.  Each rank reads its own
 * events and calls, for each of them, the MPI function that was recorded.
 * operations.h lists what every operation becomes where SMPI has no such
 * function.
 *
 * Files here: main.c (options, start and end), replay.c (the loop over events),
 * p2p.c, request.c, coll.c, comm.c, rma.c and file.c (the operations), engine.h
 * (the differences between the two programs).
 *
 * All state hangs on `struct ti_replayer`, one for each rank, because SMPI may
 * run all ranks as threads of one process that share global variables.
 */
#ifndef TI_REPLAYER_H
#define TI_REPLAYER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay-bridge/trace/bursts.h"
#include "replay-bridge/replayer/places.h"
#include "sound/neighbours.h"
#include "sound/wildcards.h"

/* A trace that is replayed beside others, by ranks of its own. */
struct ti_replay_job {
    const char *trace;
    struct ti_source *source; /* open; shared by the ranks of one process, and by jobs that have the
                                 same trace */
    struct ti_bursts bursts;
    int64_t np, first;     /* its ranks, and which rank of the simulation is its rank 0 */
    bool cancels;          /* a rank calls MPI_Cancel */
    double start_s, end_s; /* when it starts, and when its last rank has ended so far */
};

/* Set by the command line; the same on all ranks. */
struct ti_replay_setup {
    struct ti_replay_job *job;
    int njobs;
    struct ti_bursts bursts;  /* as asked for */
    bool threads_where_known; /* in traces that do not tell threads apart, volumes will do */
    enum { TI_SPEND_LOOP, TI_SPEND_SLEEP, TI_SPEND_NOTHING } spend; /* of a live run */
    double speed;       /* instructions a second, where it sleeps */
    double reduce_rate; /* of a simulation: bytes a second that reductions combine; 0: no limit */
    bool any;     /* wildcards are posted as such, not with the source that matched */
    bool checked; /* the trace has been checked */
    bool quiet;
    const char *files; /* folder for the files of a live run */
    const char *state_path;
    struct ti_replay_state *state; /* where ranks say how far they are; NULL: nowhere */
    const char *profile;           /* files to be written; NULL: none */
    const char *timeline;
    double *start_s; /* of the first jobs */
    int nstarts;
    struct ti_profile *all; /* of all ranks, see profile.h */
    bool asked;             /* one rank has looked whether ranks may start */
    int end;                /* exit status without a replay; TI_CLI_END: replay */
    int status;             /* TI_OK, or why no rank shall start */
    struct ti_err err;      /* the sentence that goes with it, while opening the trace */
};

/* A communicator of the trace, at its number. */
struct ti_replay_comm {
    MPI_Comm handle;    /* MPI_COMM_NULL: not made yet, or freed */
    int64_t rank;       /* own rank, as the trace counts; partners are relative to it */
    int64_t peers;      /* ranks that a partner can have: of the other group, if there are two */
    bool one_for_two;   /* an intercommunicator, but `handle` has the ranks of both groups, */
    int64_t offset;     /* the peers from here on */
    int64_t members;    /* ranks of all its groups */
    uint64_t id, calls; /* its number on all of them, and how often they met: see profile.h */
    int *sources_order; /* where each neighbour of the trace stands in the library's order; */
    int *destinations_order; /* NULL: at the same place */
};

/* A request of the trace, at its number. */
struct ti_replay_request {
    bool used, active, persistent;
    bool receives, cancelled; /* of a live run: completes as cancelled */
    MPI_Request *handle;      /* where it is kept: `own`, or as places.h says */
    MPI_Request *own;
    MPI_Request *part; /* where several requests stand for one; then `handle` is unused */
    int nparts, parts_room;
    struct ti_event *init; /* of a persistent request that the MPI library does not have */
    bool partitioned_send;
    int64_t unready; /* partitions of it that are not ready yet */
    MPI_Comm *made;  /* by comm_idup; NULL: none */
    int64_t made_number;
    struct ti_ticket *ticket; /* of a profile: what it stands for */
    size_t ntickets, tickets_room;
};

struct ti_replay_window {
    MPI_Win handle;
    struct ti_replay_comm of; /* its ranks; the communicator may be freed before the window */
    void *memory;             /* to be freed with the window; NULL: none */
    int epochs;               /* that the trace shows as open */
    MPI_Aint *address;        /* of a dynamic window: where each rank has its memory; else NULL */
};

struct ti_replayer {
    struct ti_replay_setup *setup;
    int job; /* of the setup; what follows is of this job */
    struct ti_source *source;
    int64_t rank, np;
    int64_t all_rank, all_ranks;     /* own rank among those of all jobs, and their number */
    struct ti_profile_rank *profile; /* NULL: none is made */
    struct ti_reader *r;
    const struct ti_event *ev; /* the current one, and its number in the trace */
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
        int64_t place, esize;   /* of the view: its displacement, and the bytes of an element */
        bool sequential, tiled; /* the view has gaps */
    } * file;
    size_t nfiles, files_room;

    /* Scratch of one call. */
    MPI_Request *batch;
    int nbatch;
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
    MPI_Op op[2]; /* a user's; not commutative, commutative */

    void *engine;      /* the engine's own */
    bool buffered;     /* a buffer for buffered sends is attached */
    bool made_files;   /* this rank has made the folder of files */
    double zero;       /* time 0 of all jobs, in seconds on the engine's clock */
    double start, end; /* of the rank: on that clock; after `zero` */
};

/* Ends the whole program: "rank 3, event 17 (mpi call): what", exit status `st`. */
_Noreturn void ti_replay_fail(const struct ti_replayer *p, int st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends it if an MPI function has returned an error. */
void ti_replay_must(const struct ti_replayer *p, int returned);

/* Replays the events of the rank from MPI_Init, which was called, to before MPI_Finalize. */
void ti_replay_rank(struct ti_replayer *p);
void ti_replay_free(struct ti_replayer *p);

/* ---- what the operations share ---- */

/* The communicator of the trace's number `index`; fails if there is none. */
struct ti_replay_comm *ti_replay_comm(struct ti_replayer *p, int64_t index);

/* Rank in `c->handle` of the partner `delta` away; MPI_PROC_NULL and, for a
 * source, MPI_ANY_SOURCE as such. */
int ti_replay_peer(const struct ti_replayer *p, const struct ti_replay_comm *c, int64_t delta);

/* `bytes` as a count of elements of `esize` bytes, and their datatype.  A count that an int cannot
 * hold fails. */
int ti_replay_elements(struct ti_replayer *p, int64_t bytes, int64_t esize, MPI_Datatype *type);

/* The same for what is only moved.  In a simulation the elements are bytes where an int can count
 * them: SMPI takes two sides for an error whose datatypes have the same bytes, but differ. */
int ti_replay_count(struct ti_replayer *p, int64_t bytes, int64_t esize, MPI_Datatype *type);

/* The datatype of blocks whose elements have `esize` bytes, and how many of it an element is. */
int ti_replay_unit(struct ti_replayer *p, int64_t esize, MPI_Datatype *type);

/* A datatype of `n` elements. */
MPI_Datatype ti_replay_contiguous(struct ti_replayer *p, int64_t n, MPI_Datatype of);

/* A datatype for MPI_Compare_and_swap. */
MPI_Datatype ti_replay_swapped(int64_t esize);

/* Operation and datatype of a reduction of elements of `esize` bytes. */
MPI_Op ti_replay_op(struct ti_replayer *p, int64_t redop, int64_t esize, MPI_Datatype *type);

/* A new request, of number TI_F_REQ of the current event. */
struct ti_replay_request *ti_replay_new_request(struct ti_replayer *p);

/* Room for one more request of the MPI library as a part of `q`. */
MPI_Request *ti_replay_part(struct ti_replay_request *q);

/* Number `index` of an array of things that are numbered as they are met.  `index` is evaluated
 * several times: it must not depend on the array. */
#define TI_REPLAY_AT(p, array, n, room, index)                                                     \
    ((p)->array = ti_grow((p)->array, &(p)->room, (size_t)(index) + 1, sizeof *(p)->array),        \
     (p)->n = (p)->n > (size_t)(index) ? (p)->n : (size_t)(index) + 1, &(p)->array[index])

/* ---- the operations: each replays one event ---- */

typedef void ti_replay_fn(struct ti_replayer *p, const struct ti_event *ev);

/* Posts what `ev` stands for without blocking: its request, or the parts of it, are in `q`, which
 * is the trace's request `req`. */
void ti_replay_post(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q,
                    int64_t req);

/* Calls a collective operation, in a form that the event need not have. */
void ti_replay_collective(struct ti_replayer *p, const struct ti_event *ev, enum ti_form form,
                          struct ti_replay_request *q);

/* Make a persistent request of the MPI library: of a message, and of one with partitions. */
void ti_replay_prepare(struct ti_replayer *p, const struct ti_event *ev,
                       struct ti_replay_request *q);
void ti_replay_prepare_partitioned(struct ti_replayer *p, const struct ti_event *ev,
                                   struct ti_replay_request *q);
void ti_replay_ready(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q);
void ti_replay_arrived(struct ti_replayer *p, const struct ti_event *ev,
                       struct ti_replay_request *q);

/* The request of MPI_Comm_idup is complete: the communicator that it makes exists. */
void ti_replay_idup_done(struct ti_replayer *p, struct ti_replay_request *q);

/* Removes the folder of files if this rank has made it; no rank may use it any more. */
void ti_replay_remove_files(const struct ti_replayer *p);

/* The communicators that each rank has from the start: the world of its job, and that of itself
 * alone. */
void ti_replay_world(struct ti_replayer *p, MPI_Comm world);

#endif
