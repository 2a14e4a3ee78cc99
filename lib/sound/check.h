/*
 * Check: whether a trace is sound, that is, whether volume is conserved in it.
 *
 *   messages     the k-th send of a channel (communicator, source, destination,
 *                tag) meets the k-th receive that took a message from it, and
 *                fits into it: a receive's size is the room it was posted with
 *   collectives  every rank of a communicator makes the same sequence of them,
 *                with the same root, operation and volume, and what a rank
 *                gives another in a vector form is what that one expects
 *   requests     every request is made once, completed once, or named as leaked
 *   ends         MPI_Init comes first, MPI_Finalize last
 *
 * One rank is read at a time, once.  Of the messages between two ranks only
 * sums stay, of each communicator a hash of its members' sequence.  Equal sums
 * and hashes need no further look.  Where they differ, the two ranks concerned
 * are read again, side by side, to the first difference, so that a problem
 * names the events on both sides.  Two files are open at most (four where
 * receives have wildcards); memory grows with pairs of ranks that exchange
 * messages and with communicators, and while a rank is read, with its channels.
 *
 * Of a rank that is missing, was cut off, has calls that are not traced or
 * events that cannot be, nothing is compared with the others: what it shares
 * with them is counted as unchecked, and is no problem.
 */
#ifndef TI_CHECK_H
#define TI_CHECK_H

#include "sound/comms.h"
#include "sound/pairs.h"
#include "sound/problems.h"
#include "sound/walk.h"

struct ti_check {
    int64_t np;
    uint64_t events;
    uint64_t messages;    /* sent, to whomever */
    uint64_t collectives; /* calls by ranks, on communicators of more than one */
    struct {
        uint64_t messages, bytes; /* sent and received */
        uint64_t collectives;     /* each counted once for all ranks */
    } conserved;
    struct {
        uint64_t messages, collectives; /* the other side is not there in full */
    } unchecked;
    bool interrupted; /* some rank has MPI_Pcontrol(0) */
    bool unmatched;   /* a problem is that one rank lacks what another has */
    struct ti_problems leaked;
    struct ti_pairs pairs;
    struct ti_comms comms;
};

/* What became of a rank. */
enum ti_rank_state {
    TI_RANK_WHOLE,
    TI_RANK_PART,    /* it was not written to its end, see ti_reader_end() */
    TI_RANK_DAMAGED, /* `err` says how */
    TI_RANK_MISSING
};

/*
 * Who looks on.  Functions that are NULL are not called; one that returns
 * anything but TI_OK (and says why in `err`) ends the check with that.
 */
struct ti_visitor {
    void *arg;

    /* An event, in order; `sound`: nothing was found to be wrong with it. */
    ti_status (*event)(void *arg, struct ti_walk *w, const struct ti_step *step, bool sound,
                       struct ti_err *err);

    /* A request that never completes, or a probed message that is never
     * received, once its rank was read. */
    ti_status (*leak)(void *arg, struct ti_walk *w, const struct ti_pending *leak,
                      struct ti_err *err);

    /* A rank was read, or cannot be: then `st` and `err` say why, and `w` is
     * NULL unless it could be opened. */
    ti_status (*rank)(void *arg, int64_t rank, struct ti_walk *w, enum ti_rank_state state,
                      ti_status st, struct ti_err *err);

    /* Extra columns are read as well, so that damage there is found. */
    bool extras;

    /* Now and then: whether to go on. */
    ti_status (*pause)(void *arg, struct ti_err *err);
};

/*
 * Check `s`.  TI_OK, with problems->n problems, when all that could be read was
 * read; else what a visitor said.  Release *out with ti_check_free() in any
 * case.
 */
ti_status ti_check(struct ti_source *s, const struct ti_visitor *visitor, struct ti_check *out,
                   struct ti_problems *problems, struct ti_err *err);
void ti_check_free(struct ti_check *check);

#endif
