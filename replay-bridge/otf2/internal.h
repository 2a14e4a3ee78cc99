/*
 * The state of a conversion from OTF2.  Private to this room.
 *
 *   archive.c      opens the trace and reads the records of a rank
 *   definitions.c  ranks, regions, communicators and the counter, from the definitions
 *   survey.c       first reading of a rank: non-blocking operations and shares in collectives
 *   events.c       second reading: calls, bursts and messages become events
 *   requests.c     request numbers, and events of completions
 *   collectives.c  sizes of collectives, from the totals in the trace
 *   import.c       rank files
 *
 * Only archive.c and definitions.c know the OTF2 library.
 */
#ifndef TI_REPLAY_BRIDGE_OTF2_INTERNAL_H
#define TI_REPLAY_BRIDGE_OTF2_INTERNAL_H

#include <limits.h>

#include "common/map.h"
#include "replay-bridge/otf2/otf2.h"
#include "trace/writer.h"

/* Most bytes of a message, and of all that one rank gives to a collective. */
#define TI__OTF2_BYTES_MAX (INT64_C(1) << 50)

/* Kinds of warnings; each is printed once. */
enum ti__otf2_note {
    TI__OTF2_CREATOR,
    TI__OTF2_NO_INIT,
    TI__OTF2_NO_FINALIZE,
    TI__OTF2_UNTRACED,
    TI__OTF2_UNFINISHED,
    TI__OTF2_CANCELLED,
    TI__OTF2_PAUSED,
    TI__OTF2_APPORTIONED,
    TI__OTF2_NOTES
};

/* A region of code.  Only those of MPI calls matter. */
struct ti__otf2_region {
    char *name;  /* NULL if it is no MPI call */
    uint32_t op; /* the operation of that name; TI_OP_COUNT if there is none */
};

enum ti__otf2_comm_kind {
    TI__OTF2_WORLD,
    TI__OTF2_SELF, /* MPI_COMM_SELF, and its copies */
    TI__OTF2_SUB,  /* any other communicator */
    TI__OTF2_INTER,
    TI__OTF2_FOREIGN /* of another paradigm */
};

/* Bytes that a rank sends and receives in a shared collective: totals, as in the trace. */
struct ti__otf2_share {
    int64_t sent, received;
};

struct ti__otf2_comm {
    enum ti__otf2_comm_kind kind;
    int32_t *member; /* world ranks; NULL for TI__OTF2_SELF */
    int64_t size;
    /* The shared collectives on this communicator (ti__otf2_is_shared()), in order. */
    int64_t ncalls;
    uint32_t *op;
    size_t ops_cap;
    struct ti__otf2_share *share; /* ncalls * size: those of all members of a call, then the next */
    size_t shares_cap;
};

/* A communicator that a rank is a member of. */
struct ti__otf2_membership {
    int32_t comm; /* index in ti__otf2.comm */
    int32_t rank; /* in that communicator */
};

enum ti__otf2_kind {
    TI__OTF2_SEND,
    TI__OTF2_RECV,
    TI__OTF2_ISEND,
    TI__OTF2_IRECV,   /* a receive is posted; its message is not known yet */
    TI__OTF2_ISENT,   /* ISEND is complete */
    TI__OTF2_IRECVED, /* IRECV is complete: this is its message */
    TI__OTF2_CANCEL,  /* a request was cancelled */
    TI__OTF2_COLL,
    TI__OTF2_ICOLL,     /* a non-blocking collective starts; the rest is not known yet */
    TI__OTF2_ICOLL_DONE /* ICOLL is complete: this is it */
};

/* A record of the trace that has a part in communication. */
struct ti__otf2_record {
    enum ti__otf2_kind kind;
    int64_t comm;           /* index in ti__otf2.comm */
    int64_t peer;           /* rank in the communicator */
    int64_t tag, bytes;     /* of a message */
    uint64_t id;            /* of the request */
    uint32_t op;            /* collective: the blocking form */
    bool makes;             /* it is a barrier in place of a call that makes a communicator */
    int64_t root;           /* rank in the communicator; -1: none */
    int64_t sent, received; /* totals of this rank */
};

/* A request that is not complete yet; its index is the number of the request. */
struct ti__otf2_request {
    bool live;
    uint64_t id;
    size_t about; /* first reading: index in `posted` */
};

/* A non-blocking receive or collective, found by the survey. */
struct ti__otf2_posted {
    struct ti__otf2_record record;                                  /* of the completion */
    enum { TI__OTF2_OPEN, TI__OTF2_COMPLETE, TI__OTF2_GONE } state; /* GONE: cancelled */
    size_t share; /* index of the collective in `shared`, plus 1; 0: none */
};

/* A rank while its records are read. */
struct ti__otf2_rank {
    struct ti__otf2 *im;
    int64_t rank;
    bool surveys;    /* first reading */
    bool foreign;    /* a thread that is not the first of its process, and so no rank */
    uint64_t record; /* number of the record being read, from 1 */
    const struct ti__otf2_membership *of;
    size_t nof;

    struct ti__otf2_posted *posted; /* in the order of their posts */
    size_t nposted, posted_cap;
    size_t next_posted;             /* second reading */
    struct ti__otf2_record *shared; /* shared collectives in the order of their starts */
    size_t nshared, shared_cap;
    struct ti__otf2_request *request;
    size_t nrequests, requests_cap;
    int64_t *calls; /* by communicator: shared collectives so far */
    size_t calls_cap;

    struct ti_writer *w;
    char path[PATH_MAX];
    uint64_t events;
    bool begun, ended;
    int64_t *number; /* by communicator: index in the rank file, me: our rank in it */
    int32_t *me;
    size_t numbers_cap, me_cap;
    /* The MPI call that is being read, and what it has done. */
    int64_t depth; /* of nested regions of MPI calls */
    const struct ti__otf2_region *call;
    struct ti__otf2_record *done;
    size_t ndone, done_cap;
    uint64_t now, entered, left; /* times in ns: of this record, and of the last enter and leave */
    uint64_t count, counted;     /* the counter now, and at the last leave */
    bool has_count;
    uint64_t burst_ns, volume, call_ns; /* not written yet */
    struct ti_map untraced;             /* names of calls that are not converted */
    int64_t *vec[TI_VECS];
    size_t vec_cap[TI_VECS];
};

struct ti__otf2 {
    const char *path;
    struct ti_otf2_imported *out;
    struct ti_err *err;
    ti_status st;   /* why the OTF2 library was interrupted */
    char said[400]; /* the first error that the OTF2 library reported */
    bool heard;
    char creator[TI_STRING_BYTES];
    bool noted[TI__OTF2_NOTES];
    uint8_t run_id[TI_RUN_ID_BYTES];
    uint64_t resolution, offset; /* of the clock: ticks a second, first tick */
    int64_t np;
    uint64_t *location; /* by rank */
    char **host;        /* by rank; entries may be NULL */
    uint64_t *thread;   /* locations of further threads */
    size_t nthreads, threads_cap;
    struct ti_map regions, comms; /* OTF2's number -> index */
    struct ti__otf2_region *region;
    size_t regions_cap;
    struct ti__otf2_comm *comm;
    size_t comms_cap;
    struct ti__otf2_membership *member; /* those of rank r: from first[r] to first[r + 1] */
    size_t *first;
    bool counts;           /* the trace has a counter of instructions */
    const char *counter;   /* its name */
    struct ti_map metrics; /* metric classes that have it */
    int *metric_at;        /* by class: index of the counter in it */
    size_t metric_at_cap;
    struct ti__otf2_names *names; /* of definitions.c, which owns all strings */
};

/* ---- archive.c, definitions.c ---- */

/* Open the trace `im->path` and read its definitions.  ti__otf2_close() releases *out, which may be
 * NULL. */
struct OTF2_Reader_struct;
ti_status ti__otf2_open(struct ti__otf2 *im, struct OTF2_Reader_struct **out);
void ti__otf2_close(struct OTF2_Reader_struct *reader);

/* Hand the records of a location to ti__otf2_record() and its like. */
ti_status ti__otf2_read(struct OTF2_Reader_struct *reader, struct ti__otf2_rank *r,
                        uint64_t location);

/* Read the definitions of all ranks, and release what was made of them. */
ti_status ti__otf2_define(struct ti__otf2 *im, struct OTF2_Reader_struct *reader);
void ti__otf2_definitions_free(struct ti__otf2 *im);

/* ---- what archive.c calls; a status other than TI_OK ends the reading ---- */

ti_status ti__otf2_enter(struct ti__otf2_rank *r, const struct ti__otf2_region *region);
ti_status ti__otf2_leave(struct ti__otf2_rank *r, const struct ti__otf2_region *region);
ti_status ti__otf2_record(struct ti__otf2_rank *r, const struct ti__otf2_record *record);
void ti__otf2_pause(struct ti__otf2_rank *r, uint64_t ns);

/* ---- survey.c ---- */

ti_status ti__otf2_survey(struct ti__otf2_rank *r, const struct ti__otf2_record *record);
/* After the last record: keep the shares of the rank in collectives. */
ti_status ti__otf2_survey_end(struct ti__otf2_rank *r);

/* ---- requests.c ---- */

/* Add a request; its number is the lowest that no live request has. */
ti_status ti__otf2_request_new(struct ti__otf2_rank *r, uint64_t id, size_t about, int64_t *number);
/* Number of a live request; -1 if there is none. */
int64_t ti__otf2_request_find(const struct ti__otf2_rank *r, uint64_t id);

/* ---- events.c ---- */

/* The rank file begins and ends. */
void ti__otf2_begin(struct ti__otf2_rank *r, bool said);
void ti__otf2_end(struct ti__otf2_rank *r);

/* ---- collectives.c ---- */

/* Whether only the records of all members together describe this collective: one with counts, or a
 * scan. */
bool ti__otf2_is_shared(uint32_t op);
/* Set the fields of collective `c` in `ev`, which has the operation.  The vectors are r->vec. */
ti_status ti__otf2_collective(struct ti__otf2_rank *r, const struct ti__otf2_record *c,
                              struct ti_event *ev);

/* ---- import.c ---- */

/* TI_ERR_INPUT with path, rank and record. */
ti_status ti__otf2_wrong(struct ti__otf2_rank *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void ti__otf2_note(struct ti__otf2 *im, enum ti__otf2_note which, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static inline void ti__otf2_put(struct ti_event *ev, enum ti_field f, int64_t value)
{
    ev->mask |= 1u << f;
    ev->arg[f] = value;
}

#endif
