/*
 * The communicators, windows and files that a rank has at a point of its trace.
 *
 * A replayer makes these objects when it comes to the calls that made them.  So it cannot replay a
 * call on an object that the trace did not make, or has freed, even if the trace describes the
 * object.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_OBJECTS_H
#define TI_REPLAY_BRIDGE_TRACE_OBJECTS_H

#include "common/map.h"
#include "event/event.h"
#include "trace/reader.h"

struct ti_objects {
    struct ti_map numbers;         /* (kind, number) -> index in `object` */
    struct ti_made_object *object; /* all that were there once, too */
    size_t cap;
    uint64_t hash;
    struct ti_map group; /* of the present event */
};

/* Begin a rank: it has the predefined communicators.  The first call takes zeroed memory; release
 * with ti_objects_free(). */
void ti_objects_begin(struct ti_objects *o);
void ti_objects_free(struct ti_objects *o);

/*
 * The next event of the rank: makes and frees objects.  NULL, or, if a replayer cannot make the
 * call, the reason, which may be written to `buf`; no object is made or freed then.
 */
const char *ti_objects_use(struct ti_objects *o, const struct ti_reader *r,
                           const struct ti_event *ev, char *buf, size_t bytes);

/* A hash of the objects that are there, whatever their order. */
static inline uint64_t ti_objects_hash(const struct ti_objects *o)
{
    return o->hash;
}

#endif
