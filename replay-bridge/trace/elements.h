/*
 * Elements: in which units the replayers count what a call transfers or combines.
 *
 * An MPI call counts elements in an int.  The check before a replay (refusal.h) and the replayers
 * both ask here, so that the check refuses exactly the calls that a replayer cannot make.
 *
 * In a simulation, elements stand for bytes, since no data is transferred.  They are bytes if an
 * int can count them, else larger predefined datatypes: SMPI packs derived datatypes, which needs
 * memory for the data.  In a live run, elements have the recorded size.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_ELEMENTS_H
#define TI_REPLAY_BRIDGE_TRACE_ELEMENTS_H

#include "event/event.h"

#define TI_ELEMENT_MOST 16 /* bytes of the largest element of a simulation */

struct ti_elements {
    int count;
    int64_t size; /* bytes; in a simulation 1, 2, 4, 8 or 16 */
};

/* How a call uses the bytes. */
enum ti_element_use {
    TI_ELEMENTS_DATA,
    TI_ELEMENTS_ROOM,   /* receives up to so many bytes: a simulation may count more */
    TI_ELEMENTS_REDUCED /* combines them, element by element */
};

/* The elements for `bytes` bytes, which the trace has in elements of `esize`.  NULL, or the reason
 * why there are none; the text is in `buf`. */
const char *ti_elements(bool live, enum ti_element_use use, int64_t bytes, int64_t esize,
                        struct ti_elements *out, char *buf, size_t room);

/* The size of the elements for all blocks of a vector, whose counts are of elements of `esize`.
 * NULL, or the reason why there is none. */
const char *ti_elements_of_blocks(bool live, bool reduced, const struct ti_vec *vec, int64_t esize,
                                  int64_t *size, char *buf, size_t room);

/* The reason why a replayer cannot make the call of an event on a communicator of `peers` partners,
 * as far as counts and the number of the reduction matter; NULL if it can. */
const char *ti_elements_refusal(bool live, const struct ti_event *ev, int64_t peers, char *buf,
                                size_t room);

/* The reason if no reduction has this number; NULL if one has. */
const char *ti_redop_refusal(int64_t redop, char *buf, size_t room);

#endif
