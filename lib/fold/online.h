/*
 * Folding while the program runs, in memory of fixed size.
 *
 * Events get symbols as they arrive, and symbols are folded (fold.h).  Symbols are as in symbols.h,
 * but events are read once: a field gets a column when its TI_FIELD_VALUES + 1st value arrives, and
 * a vector when its second one does.
 *
 * The result is the payload of a FLD chunk (trace/trace.h).  ti_online_clear() forgets the
 * events, but not which fields have columns.  So the result depends on all events since
 * ti_online_new(), on when they were forgotten, and on the size of the memory; on nothing else.
 */
#ifndef TI_FOLD_ONLINE_H
#define TI_FOLD_ONLINE_H

#include "event/event.h"

struct ti_online;

/* Begin, in `bytes` bytes at `memory`, at least TI_ONLINE_LEAST, which are zeros.  Each event has
 * `nvolumes` - 1 extra values. */
#define TI_ONLINE_LEAST (48 * 1024)
struct ti_online *ti_online_new(void *memory, size_t bytes, uint32_t nvolumes);

/* Add an event.  False, and nothing is added, if there may be no room for it, or if it has a vector
 * of more than TI_ONLINE_VECTOR elements. */
#define TI_ONLINE_VECTOR 256
bool ti_online_add(struct ti_online *o, const struct ti_event *ev, const uint64_t *extra);

/* Bytes of the memory that events have taken so far.  Events that only repeat others take none. */
size_t ti_online_taken(const struct ti_online *o);

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
