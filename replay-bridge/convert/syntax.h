/*
 * Parser of SimGrid's actions, one line at a time.
 *
 * TI_SYNTAX_TAGS, since SimGrid 3.20: messages have tags, a wait names its request, names are in
 * lower case.  "isend 1 0 1e6 6", "wait 0 1 0".
 * TI_SYNTAX_OLD, before: no tags, waits without arguments.  "Isend 1 1e6 6", "wait".
 * The oldest files also name ranks p0, p1, ... and give a receive no size: "p0 Irecv p1".
 *
 * The parser accepts names in any case.
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_SYNTAX_H
#define TI_REPLAY_BRIDGE_CONVERT_SYNTAX_H

#include "event/event.h"
#include "replay-bridge/convert/actions.h"
#include "replay-bridge/convert/import.h"

enum ti_act {
    TI_ACT_INIT,
    TI_ACT_FINALIZE,
    TI_ACT_COMPUTE,  /* amount: flops */
    TI_ACT_SLEEP,    /* amount: seconds */
    TI_ACT_LOCATION, /* source line of the next call: arg[0], arg[1] */
    TI_ACT_COMM,     /* comm_size (amount: the size), comm_split, comm_dup; SimGrid ignores them */
    TI_ACT_MESSAGE,
    TI_ACT_SENDRECV,
    TI_ACT_WAIT,
    TI_ACT_TEST,
    TI_ACT_WAITALL,
    TI_ACT_COLLECTIVE /* amount: flops of its reduction */
};

/* SimGrid's numbers of wildcards and of MPI_PROC_NULL. */
enum { TI_SG_ANY_TAG = -444, TI_SG_ANY_SOURCE = -555, TI_SG_NULL = -666 };

struct ti_message_side {
    int64_t peer, tag;
    int64_t bytes; /* -1: not given */
    int64_t esize; /* bytes of an element */
};

struct ti_action {
    enum ti_act act;
    uint32_t op;
    int64_t rank;
    bool p; /* ranks are named p0, p1, ... */
    char **arg;
    int64_t nargs;
    double amount;
    struct ti_message_side
        side[2];           /* [0]: the message, or the sent one of a sendrecv; [1]: received */
    bool recv;             /* the message is received */
    bool bare;             /* a wait without arguments; else it waits for: */
    int64_t src, dst, tag; /* the request's message */
    bool doubles;          /* init: elements without a datatype are doubles */
    bool no_datatype;      /* none was given: elements are as "init" says */
    struct ti_event ev;    /* of a collective; its vectors are in the grammar */
};

/* Parse the rank and the name of the action.  ti_action_read() parses the arguments, which must
 * still be in `l`.  TI_ERR_INPUT. */
ti_status ti_action_begin(const struct ti_lines *l, struct ti_action *a, struct ti_err *err);

/* The only syntax that the line fits, or TI_SYNTAX_AUTO if it fits both.  *differ: it fits both,
 * but with different meanings. */
enum ti_syntax ti_action_syntax(const struct ti_action *a, bool *differ);

/* How to interpret arguments, and storage for vectors. */
struct ti_grammar {
    enum ti_syntax syntax;
    int64_t element; /* bytes of an element without a datatype */
    int64_t np;      /* 0: not known yet; the arguments of collectives are skipped */
    int64_t *counts; /* two vectors of np, allocated when needed; the caller frees them */
    size_t counts_cap;
};

/* Parse the arguments of the action that ti_action_begin() began.  The vectors of a->ev are valid
 * until the next call with the same grammar.  TI_ERR_INPUT. */
ti_status ti_action_read(const struct ti_lines *l, struct ti_grammar *g, struct ti_action *a,
                         struct ti_err *err);

#endif
