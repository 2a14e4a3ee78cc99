/*
 * What the parts of ti_fetch() share: fetch.c goes through it, reach.c has ways opened to
 * the nodes, and by other ways when these end, holders.c knows who has which rank, transfer.c
 * has them sent, findings.c tells what could not be had.
 */
#ifndef TI_FETCHING_H
#define TI_FETCHING_H

#include "gather/fetch.h"
#include "gather/window.h"
#include "gather/nodes.h"
#include "gather/receive.h"
#include "gather/conn.h"

enum ti__work { TI__FETCH, TI__REMOVE };

enum ti__rank_state {
    TI__LEFT,   /* not wanted, or it was here before */
    TI__WANTED, /* not here */
    TI__CAME,
    TI__CLASH,  /* nodes have different ones, or one has another than was here */
    TI__SPOILT, /* it came damaged twice, and nobody else has it */
};

struct ti__rank {
    int32_t named;  /* the node that RUN.json names; -1 */
    int32_t holder; /* whose file is described here; -1: nobody listed it; or TI__HERE */
    int32_t second; /* another that listed it; -1 */
    int32_t sender; /* who is to send it; -1 */
    uint8_t state;
    bool listed : 1, several : 1; /* by a node; perhaps by others than holder and second */
    bool crc_known : 1, again : 1, shared : 1, alike : 1;
    bool damaged : 1; /* it came so twice from one node */
    bool told : 1;    /* why it could not be had */
    uint32_t crc;
    int64_t bytes, mtime;
    uint64_t inode;
};

#define TI__HERE (-2) /* instead of a node: the file that was here before */

/* The longest trace that is believed: sums of them stay numbers. */
#define TI__BYTES_MOST (INT64_C(1) << 42)

enum ti__listing { TI__UNASKED, TI__ASKED, TI__LISTED };

/* One node. */
struct ti__member {
    struct ti__fetching *g;
    int32_t i;
    const struct ti_source_node *node;
    struct ti_fetch_node *out;
    json_t *ranks; /* that are wanted, and RUN.json names it first for; NULL: not known */

    struct ti_way *way; /* NULL: none */
    bool ready;
    double not_before;     /* ti_now() */
    int failures;          /* its own, since something came from it */
    int64_t opened_parent; /* through whom the way goes; -1 */
    bool adopted;          /* by another than before, and not there yet */
    int64_t bytes_before;  /* out->bytes when it was opened */
    int64_t sent_before, link_before;
    bool told_lost; /* counted in f->lost */

    enum ti__listing listing;
    json_t *have;    /* listed */
    json_t *refused; /* that could not be had from it, in this round */
    bool no_folder;  /* it has no such directory */
    json_t *check;   /* whose CRC is to be compared */
    json_t *checked; /* being asked; NULL */
    bool blocked;    /* all of `check` waits for what others have, `blocked_by` among them */
    int64_t blocked_by;
    json_t *todo;        /* to send, not asked for */
    json_t *asked;       /* being sent; NULL */
    json_t *sent;        /* of these: it said how that ended */
    json_t *alone;       /* others have them too, and its own could not be compared */
    struct ti_flow flow; /* what it may send */
    struct ti_receive in;
    /* g->clock when it last did some of what it was asked for; bytes that it may have to read
     * before it does more, for "crc" and for "send" */
    double moved;
    int64_t moved_bytes; /* g->f->bytes at that time */
    size_t begun;        /* of what it says now, bytes that were here at the last look */
    int64_t crc_bytes, from_bytes;
    bool removing; /* TI__REMOVE: asked ... */
    json_t *going; /* ... for these, or NULL */
    json_t *tried; /* it answered for these */
    bool kept;     /* fewer were removed: which are left is to be listed */
    struct ti_err why;
    enum ti_channel_end end; /* with `why` */
    int64_t findings;        /* the last of it, from 1; 0: none */
};

/* Why ranks of a node could not be had. */
struct ti__finding {
    int32_t node, other; /* -1; `other`: with a different file */
    char *why, *hint;
    json_t *ranks;
    int64_t before; /* of the same node: from 1; 0: none */
};

struct ti__site {
    int64_t inner; /* nodes that others are to log in to */
    int64_t logins, refused;
};

struct ti__fetching {
    enum ti__work work;
    const struct ti_fetch_settings *settings;
    struct ti_fetch *f;
    struct ti_nodes nodes;
    const struct ti_run *run; /* TI__REMOVE */
    bool look;                /* for a plan: nothing is fetched */
    struct ti__member *member;
    struct ti__rank *rank;
    int64_t np;
    struct ti__site *site;
    struct ti_ways *ways;
    struct ti_parts parts;
    int64_t sending; /* nodes */
    int64_t removed;
    int round;
    json_t *compare; /* ranks that were here before, whose CRC is wanted */
    struct {
        int64_t rank, bytes;
        int fd; /* -1: none */
        uint32_t crc;
    } comparing;   /* one of them */
    bool foreseen; /* reach.c */
    bool dirty;    /* something happened that may let others go on */
    double started, ticked;
    double clock;   /* seconds in which we listened */
    double arrived; /* of these: when something of a trace came last */
    struct ti__finding *finding;
    int64_t nfindings;
    ti_status st; /* a local problem, which ends all of it */
    struct ti_err *err;
};

/* In the tree. */
static inline bool ti__takes_part(const struct ti__member *m)
{
    return m->out->depth > 0;
}

static inline bool ti__given_up(const struct ti__member *m)
{
    return m->out->state == TI_FETCH_FAILED;
}

/* Nothing is under way with it, and nothing is to be. */
bool ti__idle(const struct ti__member *m);

/* reach.c */
void ti__reach(struct ti__fetching *g); /* open what can be opened now */
/* What it can still give is given up; as a relay it goes on, unless what it says makes no sense. */
void ti__give_up(struct ti__member *m, const struct ti_err *why);
void ti__nonsense(struct ti__member *m, const char *what);
void ti__moved(struct ti__member *m); /* it did some of what it was asked for, or is asked now */
void ti__give_up_the_stuck(struct ti__fetching *g); /* who live, and do nothing of it for long */
void ti__local_trouble(struct ti__fetching *g);     /* errno */
void ti__wake(struct ti__member *m);                /* there is something to do for it */
void ti__count_ways(struct ti__fetching *g);        /* bytes, into g->f */

/* holders.c */
void ti__ask_list(struct ti__member *m);
void ti__take_listed(struct ti__member *m, const json_t *j);
void ti__list_done(struct ti__member *m, const json_t *j);
void ti__ask_crc(struct ti__member *m);
bool ti__read_here(struct ti__fetching *g); /* some of `compare`; whether more is left */
void ti__take_crc(struct ti__member *m, const json_t *j);
void ti__ask_remove(struct ti__member *m); /* when all that it has was compared */
void ti__assign(struct ti__fetching *g, int64_t rank);
/* Not all have said what they have, or one of those that have it did not fail to send it. */
bool ti__others_may_send(const struct ti__fetching *g, int64_t rank);
/* The ranks from `first` on of range `i`, and all ranges behind it, to the end of `to`. */
void ti__add_rest(json_t *to, const json_t *from, size_t i, int64_t first);
void ti__release(struct ti__member *m); /* its ranks are somebody else's now */

/* transfer.c */
void ti__send_some(struct ti__fetching *g);
void ti__take_sending(struct ti__member *m, const json_t *j);
void ti__take_data(struct ti__member *m, uint32_t rank, const void *data, size_t bytes);
void ti__take_sent(struct ti__member *m, const json_t *j);
void ti__send_done(struct ti__member *m);
void ti__add_all(json_t *to, const json_t *from); /* ranks */
void ti__interrupted(struct ti__member *m); /* its way ended: what is left is to be asked again */

/* findings.c */
void ti__note(struct ti__fetching *g, int32_t node, int32_t other, int64_t rank, const char *why,
              const char *hint);
ti_status ti__tell_failures(struct ti__fetching *g, struct ti_err *err);

#endif
