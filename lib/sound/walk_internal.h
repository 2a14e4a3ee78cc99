/*
 * The parts of a walk (walk.h), for its own files:
 *
 *   walk.c           opening, closing, and from event to event
 *   walk_calls.c     communicators, windows and files of an event; calls of collectives
 *   walk_epochs.c    epochs of windows
 *   walk_messages.c  messages on their channels, matched probes
 *   walk_requests.c  requests, which post messages, complete them, or repeat them
 *   walk_marks.c     trips of loops that are left out
 *
 * Errors in the trace go to step->why, and the walk continues with the sound part of the event.
 */
#ifndef TI_SOUND_WALK_INTERNAL_H
#define TI_SOUND_WALK_INTERNAL_H

#include "sound/walk.h"
#include "sound/wildcards.h"

struct request {
    bool used, active; /* persistent and not started: used, but not active */
    bool persistent, cancelled;
    uint64_t event; /* that made it, or started it last */
    uint32_t op;
    int64_t partitioned;   /* partitioned: as in struct ti_msg */
    int64_t left;          /* partitions that are not ready; generalized: 0 when complete, else 1 */
    struct ti_event *init; /* persistent: the event that made it */
    struct ti_msg msg[2];
    int nmsgs;
};

struct probed {
    bool used;
    struct ti_msg msg;
};

struct ti_walk {
    struct ti_source *source;
    struct ti_reader *r;
    struct ti_comm_view comms;
    struct ti_neighbourhoods topologies;
    int64_t rank;
    bool sends_only; /* see ti_walk_sends_only() */
    bool left_out;   /* trips of loops */
    uint64_t index;
    struct ti_wildcards ahead;
    struct request *live; /* by number */
    size_t nlive, live_cap;
    int64_t kept; /* elements of vectors in all `init` */
    struct probed *probed;
    size_t nprobed, probed_cap;
    struct ti_msg *posted, *done;
    size_t nposted, posted_cap, ndone, done_cap;
    struct ti_coll_call *call;
    size_t ncalls, calls_cap;
    struct ti_map channels; /* (gid, tag, peer, which: see channel_of) */
    struct count {
        uint64_t next;   /* number of the next message */
        uint64_t placed; /* messages posted; fewer than `next` while some are only probed */
        uint64_t found;  /* messages that there are, as probes that left them in the queue tell */
        uint64_t found_by; /* index of the first probe that told so */
    } * count;             /* by channel */
    size_t counts_cap;
    struct count no_count; /* takes the place of a count for which there is no memory */
    struct ti_map epochs; /* see walk_epochs.c */
    uint8_t *open;        /* by epoch: whether it is open */
    size_t open_cap;
    bool epochs_hidden; /* MPI_Pcontrol(0) may hide where epochs begin: they are not checked */
    bool no_memory;     /* memory was short: the step is not valid, and ti_walk_next() fails */
    ti_status status;   /* of the last failure of ti_walk_next() */
};

/* -------------------------------------------------------------- walk.c -- */

/* Set step->why, unless an error is there already. */
void ti__walk_wrong(struct ti_step *step, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Communicator `index` of the rank.  NULL, with an error, if the trace does not say what it is. */
const struct ti_local_comm *ti__walk_comm(struct ti_walk *w, struct ti_step *step, int64_t index);

/* -------------------------------------------------------- walk_calls.c -- */

/* Number the communicators, windows and files of the event, including new ones. */
void ti__walk_meet(struct ti_walk *w, struct ti_step *step);

/* Add the collective call `ev` to the step. */
void ti__walk_call(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev);

/* ------------------------------------------------------- walk_epochs.c -- */

/* The event may begin or end an epoch of its window, or need one. */
void ti__walk_epoch(struct ti_walk *w, struct ti_step *step);

/* ----------------------------------------------------- walk_messages.c -- */

/* Index of a message's channel in w->count; -1 if there was no message on it. */
int64_t ti__walk_channel(const struct ti_walk *w, const struct ti_msg *m);

/* Post the messages of `ev`, which is the event of the step or the init of a persistent request.
 * `req` is the number of request *q; -1 and NULL: none. */
ti_status ti__walk_post(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev,
                        int64_t req, struct request *q, struct ti_err *err);

/* Remove a cancelled message from its channel, or mark it as a hole. */
void ti__walk_withdraw(struct ti_walk *w, struct ti_msg *m);

/* The event is a probe that leaves its message in the queue. */
void ti__walk_look(struct ti_walk *w, struct ti_step *step);

/* The event is a matched probe; the receive of a probed message, with request *q or NULL. */
void ti__walk_probe(struct ti_walk *w, struct ti_step *step);
void ti__walk_receive_probed(struct ti_walk *w, struct ti_step *step, struct request *q);

/* Number a partitioned request, which is matched where it is made. */
void ti__walk_lot(struct ti_walk *w, struct ti_step *step, struct request *q);

/* ----------------------------------------------------- walk_requests.c -- */

/* The event makes a request, completes or frees requests, cancels one, or uses a partitioned or
 * generalized one; _start: it starts persistent request `req`. */
ti_status ti__walk_make_request(struct ti_walk *w, struct ti_step *step, struct ti_err *err);
ti_status ti__walk_start(struct ti_walk *w, struct ti_step *step, int64_t req, struct ti_err *err);
void ti__walk_complete(struct ti_walk *w, struct ti_step *step);
void ti__walk_cancel(struct ti_walk *w, struct ti_step *step);
void ti__walk_use(struct ti_walk *w, struct ti_step *step);
void ti__walk_free_requests(struct ti_walk *w);

#endif
