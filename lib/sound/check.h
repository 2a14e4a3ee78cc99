/*
 * The check whether a trace is sound: everything that is sent is received.
 *
 *   messages     the k-th send of a channel (communicator, source, destination, tag) matches the
 *                k-th receive that took a message from it, and fits into the receive's room
 *   collectives  all ranks of a communicator make the same sequence of calls, with the same root,
 *                operation and volume; in the vector forms, the bytes that one rank gives another
 *                are those that the other one expects
 *   requests     each request is made once, and completed once or reported as leaked
 *   epochs       one-sided communication is in an epoch of its window, and an epoch that ends has
 *                begun
 *   ends         MPI_Init comes first, MPI_Finalize last
 *
 * The first pass reads each rank once, one after another.  Of the messages between two ranks it
 * keeps sums of hashes only, and of the calls on a communicator a hash of each member's sequence.
 * If sums and hashes are equal, the ranks agree.  Where they differ, a second pass (locate.h) reads
 * the two ranks side by side up to the first difference, so that a problem names the events on both
 * sides. At most two files are open, or four if receives have wildcards.  Memory grows with the
 * pairs of ranks that exchange messages and with the communicators; while a rank is read, with its
 * channels.
 *
 * In a folded trace (fold/fold.h), trips of a loop that are alike are read once.  The condition is
 * that a trip leaves the state of the check as it was, except for numbers that grow.  The check
 * computes the sums over the trips that it does not read.  It reads all other loops trip by trip.
 * The result is the same.
 *
 * A rank is not compared with others if it is missing, was cut off, has calls that are not traced,
 * or has impossible events.  Its messages and collectives count as unchecked, which is no problem.
 * A rank is not read again if too many of its events were left out.  If its sums differ from those
 * of another rank, the difference may still be explained by messages that are too short for their
 * receive's room.  Then the messages of the two ranks count as unchecked, too.
 */
#ifndef TI_SOUND_CHECK_H
#define TI_SOUND_CHECK_H

#include "sound/comms.h"
#include "sound/pairs.h"
#include "sound/problems.h"
#include "sound/walk.h"

struct ti_check {
    int64_t np;
    uint64_t events;
    uint64_t messages;    /* sent */
    uint64_t collectives; /* calls by ranks, on communicators of more than one rank */
    struct {
        uint64_t messages, bytes; /* sent and received */
        uint64_t collectives;     /* a call by all ranks counts once */
    } conserved;
    struct {
        uint64_t messages, collectives; /* another side could not be compared */
    } unchecked;
    struct {
        int64_t ranks;
        uint64_t events; /* counted in `events`, too */
    } left_out;          /* trips of loops, because others are alike */
    bool interrupted;    /* some rank called MPI_Pcontrol(0) */
    bool unmatched;      /* some problem is an event without its other side */
    struct ti_problems leaked;
    struct ti_pairs pairs;
    struct ti_comms comms;
};

/* How much of a rank could be read. */
enum ti_read_state {
    TI_READ_WHOLE,
    TI_READ_PART,    /* cut off, see ti_reader_end() */
    TI_READ_DAMAGED, /* up to the damage, which `err` describes */
    TI_READ_MISSING
};

/*
 * Callbacks for another user of the events that the check reads.  Each may be NULL.  To end the
 * check, a callback sets `err` and returns a status other than TI_OK, which ti_check() returns.
 */
struct ti_visitor {
    void *arg;

    /* The next event of a rank; `sound`: no problem was found with it. */
    ti_status (*event)(void *arg, struct ti_walk *w, const struct ti_step *step, bool sound,
                       struct ti_err *err);

    /* A request that never completes, or a probed message that is never received; called after the
     * last event of the rank. */
    ti_status (*leak)(void *arg, struct ti_walk *w, const struct ti_pending *leak,
                      struct ti_err *err);

    /* The check is through with a rank.  If it could not be read to its end, `st` and `err` tell
     * why.  `w` is NULL if its trace could not be opened. */
    ti_status (*rank)(void *arg, int64_t rank, struct ti_walk *w, enum ti_read_state state,
                      ti_status st, struct ti_err *err);

    /*
     * With remember() and repeat(), the check may leave out trips of loops that are alike; event()
     * does not see their events.  A loop has at most one mark at a time.
     *   remember()  set the mark of the loop at this depth: what was counted so far; false when
     *               memory is short, which ends the check
     *   steady()    whether the visitor's state is that of the mark, except for what it counts;
     *               NULL: always
     *   repeat()    add `times` times what was counted since the mark
     */
    bool (*remember)(void *arg, uint32_t depth);
    bool (*steady)(void *arg, uint32_t depth);
    void (*repeat)(void *arg, uint32_t depth, uint64_t times);

    /* Also read extra columns, so that damage in them is reported. */
    bool extras;

    /* Called now and then; another status than TI_OK ends the check. */
    ti_status (*pause)(void *arg, struct ti_err *err);
};

/*
 * Check `s`.  TI_OK when everything readable was read: then problems->n tells whether the trace is
 * sound.  TI_ERR_IO when memory is short.  Otherwise the status of a callback.  Release *out with
 * ti_check_free() in any case.
 */
ti_status ti_check(struct ti_source *s, const struct ti_visitor *visitor, struct ti_check *out,
                   struct ti_problems *problems, struct ti_err *err);
void ti_check_free(struct ti_check *check);

#endif
