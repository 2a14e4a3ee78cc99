/*
 * State of one fetch (or removal), which the files of this room share.  From the bottom to the top:
 *
 *     gathering.h, failures.h state of all, nodes and ranks; why ranks could not be fetched
 *     requests.h, senders.h  what a node was asked for; which node sends a rank
 *     abandon.h, announced.h nodes that are given up; what a node may send
 *     copies.h, removal.h, checksums.h, listing.h   copies of a rank's trace; --remove
 *     transfer.h, merged.h, receive.h, window.h     requests and receives traces
 *     connect.h              opens connections and hands messages on
 *     plan.h, kept.h, loop.h what is to be done; connections that there are; the main loop
 *
 * Functions named ti__on_X() handle a message X of a node.  All run in one thread.
 */
#ifndef TI_GATHER_FETCH_GATHERING_H
#define TI_GATHER_FETCH_GATHERING_H

#include "bundle/node_traces.h"
#include "bundle/run.h"
#include "gather/fetch/nodes.h"
#include "gather/fetch/receive.h"
#include "gather/fetch/result.h"
#include "gather/fetch/settings.h"
#include "gather/fetch/window.h"
#include "session/conn.h"

enum ti__gathering_kind { TI__FETCH, TI__REMOVE };

enum ti__rank_state {
    TI__NOT_WANTED, /* or it was here before */
    TI__WANTED,     /* not here */
    TI__RECEIVED,
    TI__CONFLICT, /* two nodes, or a node and this machine, have different traces */
    TI__DAMAGED,  /* it arrived damaged twice, and no other node has it */
};

/*
 * A rank's trace may have copies on several nodes.  The first copy that is listed is the
 * reference: the others are compared with it.
 */
struct ti__rank {
    int32_t named;     /* the node that RUN.json names; -1: none */
    int32_t reference; /* node of the reference copy; -1: none listed; or TI__LOCAL_COPY */
    int32_t second;    /* another node that listed a copy; -1 */
    int32_t sender;    /* the node that is to send it; -1: not chosen */
    uint8_t state;     /* enum ti__rank_state */
    bool listed : 1, more_copies : 1; /* by a node; perhaps by others than reference and second */
    bool crc_known : 1, retried : 1, shared : 1, alike : 1;
    bool damaged : 1;  /* it arrived damaged twice from one node */
    bool reported : 1; /* in f->failure */
    /* of the reference copy */
    uint32_t crc;
    int64_t bytes, mtime;
    uint64_t inode;
    int64_t most;  /* bytes: the largest length that a node announced, in a list or with a CRC */
    uint8_t begun; /* times that the sender sent it from its first byte on */
};

#define TI__LOCAL_COPY (-2) /* instead of a node: a file that was here before the fetch */

/* Longer traces are refused, so that sums of lengths do not overflow. */
#define TI__TRACE_BYTES_MAX (INT64_C(1) << 42)

enum ti__listing { TI__UNASKED, TI__ASKED, TI__LISTED };

/* One node of RUN.json. */
struct ti__peer {
    struct ti__gathering *gathering;
    int32_t i; /* index of the node */
    const struct ti_source_node *node;
    struct ti_fetch_node *result;
    struct ti_ranges ranks; /* wanted, and RUN.json names this node first for them */

    struct ti_conn *conn; /* NULL: none */
    bool ready;
    double retry_at;                  /* ti_now(); it is not connected earlier */
    int failures;                     /* of this node itself, since something was gained */
    int64_t conn_parent;              /* node through which the connection goes; -1: from here */
    bool adopted;                     /* being connected through another node than before */
    bool listed_again;                /* because a rank had grown since the list */
    int64_t gained; /* bytes of this connection that had not come before, and whole ranks */
    int64_t sent_before, link_before; /* bytes of earlier connections */
    bool loss_counted;                /* in f->lost */

    enum ti__listing listing;
    struct ti_ranges have;    /* ranks that it listed */
    struct ti_ranges refused; /* ranks that it could not send in this round */
    bool no_directory;       /* the directory does not exist there */
    struct ti_ranges to_checksum;  /* ranks whose CRC is to be requested */
    struct ti_ranges checksumming; /* ranks whose CRC was requested; empty: none is */
    bool blocked;            /* all of to_checksum wait for a reference CRC ... */
    int64_t blocked_by;      /* ... this rank's among them */
    struct ti_ranges to_send;      /* ranks assigned to it and not requested yet */
    struct ti_ranges requested;    /* ranks requested by the current "send"; empty: none is */
    struct ti_ranges answered;     /* of these: the node reported their end */
    struct ti_ranges not_compared; /* ranks that others have too, and whose CRC is not known */
    struct ti_window window; /* flow control of "send" */
    struct ti_receive in;    /* the file, or merged trace, being received */
    bool merging; /* the current "send" asks for a merged trace, which did not come yet */
    bool not_merged;         /* the node could not make one, and is not asked again */
    struct ti_node_rank *merged; /* ranks of the merged trace being received */
    int64_t nmerged;             /* 0: none is */
    int64_t merged_bytes;        /* of the files of these ranks */
    double progress_at;      /* g->clock of the last progress on a request */
    int64_t progress_bytes;  /* g->f->bytes at that time */
    size_t partial_bytes;    /* of an incomplete frame, at the last look */
    double partial_since;    /* g->clock when that frame began */
    double asked_at;         /* g->clock when the current "send" or "list" was requested */
    int64_t asked_bytes;     /* g->f->bytes at that time */
    int64_t crc_bytes;       /* that the node must read for the requested CRCs */
    int64_t read_bytes; /* that it must read before it sends: parts to resume, ranks to merge */
    bool removing;           /* TI__REMOVE: a "remove" is under way ... */
    struct ti_ranges being_removed;   /* ... of these ranks */
    struct ti_ranges remove_answered; /* ranks of earlier "remove" requests */
    bool some_remain;        /* fewer were removed than requested: list once more */
    bool has_copies;         /* of ranks that other nodes merged: list in the second round */
    struct ti_err why;       /* of an abandoned node */
    enum ti_channel_end end; /* with `why` */
    int64_t findings;        /* its last finding: index + 1; 0: none */
};

/* A reason why ranks of a node could not be fetched, or removed. */
struct ti__finding {
    int32_t node;
    int32_t other; /* node with a different copy; TI__LOCAL_COPY; -1: none */
    char *why, *hint;
    struct ti_ranges ranks;
    int64_t before; /* previous finding of the node: index + 1; 0: none */
};

struct ti__site {
    int64_t inner;           /* nodes that are reached through another node of the site */
    int64_t logins, refused; /* of such connections */
};

struct ti__gathering {
    enum ti__gathering_kind kind;
    const struct ti_fetch_settings *settings;
    struct ti_fetch *f; /* the caller's result */
    struct ti_nodes nodes;
    const struct ti_run *run; /* TI__REMOVE */
    bool plan_only;           /* connect to no node */
    struct ti__peer *peer;    /* of each node */
    struct ti__rank *rank;
    int64_t np; /* ranks */
    struct ti__site *site;
    struct ti_conns *conns;
    struct ti_parts parts; /* partial files */
    int64_t sending;       /* nodes with a "send" under way */
    int64_t removed;
    int round;           /* of requests; there are two at most */
    struct ti_ranges local_queue; /* ranks with a local copy whose CRC is wanted */
    struct {
        int64_t rank, bytes;
        int fd; /* -1: none */
        uint32_t crc;
    } local;         /* the one that is being read */
    bool prefetched; /* connect.c */
    bool dirty;      /* something happened that may let other work go on */
    double started, ticked;
    double clock;   /* seconds in which we listened: time we spent otherwise does not count */
    double data_at; /* `clock` when trace data last arrived */
    struct ti__finding *finding;
    int64_t nfindings;
    size_t finding_room;
    ti_status st; /* an error on this machine, which ends the gathering */
    struct ti_err *err;
};

static inline bool ti__in_tree(const struct ti__peer *p)
{
    return p->result->depth > 0;
}

static inline bool ti__abandoned(const struct ti__peer *p)
{
    return p->result->state == TI_FETCH_FAILED;
}

ti_status ti__no_memory(struct ti_err *err);
ti_status ti__interrupted(const struct ti__gathering *g, struct ti_err *err);

/* Makes the tables of nodes, sites and ranks.  Release them in any case. */
ti_status ti__gathering_begin(struct ti__gathering *g, struct ti_err *err);
void ti__gathering_free(struct ti__gathering *g);

/* True if no request is under way and none is to be made. */
bool ti__idle(const struct ti__peer *p);
void ti__wake(struct ti__peer *p);          /* there is work for the node: update its state */
void ti__made_progress(struct ti__peer *p); /* on a request, or a request was just made */
void ti__request(struct ti__peer *p, json_t *request); /* takes it; nothing if not connected */
void ti__local_error(struct ti__gathering *g);             /* errno: a write failed here */

#endif
