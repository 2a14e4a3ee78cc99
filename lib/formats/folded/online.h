/*
 * Folding while the program runs, in memory of fixed size.
 *
 * Events get symbols as they arrive, and symbols are folded (fold.h).  Symbols are those of
 * symbols.h, but the trace is not read twice: a field with more than TI_FIELD_VALUES values gets a
 * column from then on, and so does a vector with more than one.  What is known of classes outlasts
 * ti_online_clear().
 *
 * The result is the payload of a FLD chunk (formats/trace.h).  It depends on the events and on the
 * size of the memory only.
 */
#ifndef TI_ONLINE_H
#define TI_ONLINE_H

#include "formats/event.h"

struct ti_online;

/* Begin, in `bytes` bytes at `memory`, at least TI_ONLINE_LEAST, which are zeros.  Each event has
 * `nvolumes` - 1 extra values. */
#define TI_ONLINE_LEAST (48 * 1024)
struct ti_online *ti_online_new(void *memory, size_t bytes, uint32_t nvolumes);

/* Add an event.  False, and nothing is added, if there may be no room for it, or if it has a vector
 * of more than TI_ONLINE_VECTOR elements. */
#define TI_ONLINE_VECTOR 256
bool ti_online_add(struct ti_online *o, const struct ti_event *ev, const uint64_t *extra);

/* Forget the events. */
void ti_online_clear(struct ti_online *o);

/* Takes the payload in pieces. */
struct ti_sink {
    void (*put)(void *to, const void *data, size_t bytes);
    void *to;
};

/* Give the payload for the events so far. */
void ti_online_put(const struct ti_online *o, const struct ti_sink *sink);

#endif
