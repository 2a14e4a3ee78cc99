/*
 * The words of an action.
 *
 * Since SimGrid 3.20 (TI_SYNTAX_TAGS) messages have tags, a wait says which request, and names are
 * in lower case: "isend 1 0 1e6 6", "wait 0 1 0".  Before (TI_SYNTAX_OLD) they did not: "Isend 1
 * 1e6 6", "wait"; and the oldest call ranks p0, p1, ... and give a receive no size: "p0 Irecv p1".
 * Names are taken in any case here.
 */
#ifndef TI_SYNTAX_H
#define TI_SYNTAX_H

#include "replay-bridge/convert/actions.h"
#include "replay-bridge/convert/import.h"
#include "formats/event.h"

enum ti_act {
    TI_ACT_INIT,
    TI_ACT_FINALIZE,
    TI_ACT_COMPUTE,  /* amount: flops */
    TI_ACT_SLEEP,    /* amount: seconds */
    TI_ACT_LOCATION, /* of the call that follows: arg[0], arg[1] */
    TI_ACT_COMM,     /* comm_size (amount: that), comm_split, comm_dup: no effect in SimGrid */
    TI_ACT_MESSAGE,
    TI_ACT_SENDRECV,
    TI_ACT_WAIT,
    TI_ACT_TEST,
    TI_ACT_WAITALL,
    TI_ACT_COLLECTIVE /* amount: flops after it */
};

/* Ranks that are none, and a tag. */
enum { TI_SG_ANY_TAG = -444, TI_SG_ANY_SOURCE = -555, TI_SG_NULL = -666 };

struct ti_message_side {
    int64_t peer, tag;
    int64_t bytes; /* -1: not said */
    int64_t esize;
};

struct ti_action {
    enum ti_act act;
    uint32_t op;
    int64_t rank;
    bool p; /* ranks are called p0, p1, ... */
    char **arg;
    int64_t nargs;
    double amount;
    struct ti_message_side side[2]; /* of a message, and the received one of a sendrecv */
    bool recv;              /* a message: it is received */
    bool bare;              /* wait: no arguments; else: */
    int64_t src, dst, tag;  /* which request */
    bool doubles;           /* init: where there is no datatype, it is a double */
    bool no_datatype;       /* one was not given, so that elements are as "init" says */
    struct ti_event ev;     /* of a collective */
};

/* Which rank a line is of, and what it does: no more is read yet. */
ti_status ti_action_begin(const struct ti_lines *l, struct ti_action *a, struct ti_err *err);

/* The syntax that a line must have, TI_SYNTAX_AUTO if both take it; *differ: they take it for
 * something else. */
enum ti_syntax ti_action_syntax(const struct ti_action *a, bool *differ);

/* What the words mean. */
struct ti_grammar {
    enum ti_syntax syntax;
    int64_t element; /* bytes of one without a datatype */
    int64_t np;      /* 0: not known yet, and collectives are left unread */
    int64_t *counts; /* room for two vectors of np */
    size_t counts_cap;
};

/* The rest of what ti_action_begin() began.  a->ev points into the grammar. */
ti_status ti_action_read(const struct ti_lines *l, struct ti_grammar *g, struct ti_action *a,
                         struct ti_err *err);

#endif
