/*
 * Communicators across ranks.
 *
 * A trace numbers communicators rank by rank.  Globally, one is known by its
 * members, in order, and by how many communicators of exactly these members a
 * rank had met before it: all members create them in the same order, so they
 * agree on that number without being asked.
 */
#ifndef TI_COMMS_H
#define TI_COMMS_H

#include "check/map.h"
#include "formats/reader.h"

/* What a communicator is beside the world. */
enum ti_comm_shape {
    TI_COMM_WORLD,     /* the same members in the same order */
    TI_COMM_REORDERED, /* the same members in another order */
    TI_COMM_SUB,       /* some of them */
    TI_COMM_ALONE      /* one process, in a world of more or of one */
};

struct ti_group {
    int32_t *member;
    int64_t size;
    enum ti_comm_shape shape;
};

struct ti_comms {
    int64_t np;
    struct ti_map lists; /* (hash, size, attempt) -> group */
    struct ti_group *group;
    size_t groups_cap;
    struct ti_map ids; /* (group, ordinal) -> global number */
};

/* One rank's communicators. */
struct ti_comm_view {
    struct ti_comms *comms;
    int64_t rank;
    struct ti_local_comm {
        int64_t gid;  /* global number, or -1 */
        int64_t rank; /* ours in it */
    } * local;
    size_t nlocal, cap;
    struct ti_map seen; /* (group) -> how many so far */
    int64_t *count;
    size_t counts_cap;
};

void ti_comms_init(struct ti_comms *comms, int64_t np);
void ti_comms_free(struct ti_comms *comms);
const struct ti_group *ti_comms_group(const struct ti_comms *comms, int64_t gid);

/* "world", "world, 2nd copy", "ranks 0 2 4 ... (8)": for messages, into buf. */
const char *ti_comms_text(const struct ti_comms *comms, int64_t gid, char *buf, size_t buf_bytes);

/* Start with rank: it knows the world (0) and itself (1). */
void ti_comm_view_start(struct ti_comm_view *view, struct ti_comms *comms, int64_t rank);
void ti_comm_view_free(struct ti_comm_view *view);

/* The rank's communicator `index`, as the reader knows it; NULL if it does not,
 * or if what it says cannot be (NULL: nothing is learnt). */
const struct ti_local_comm *ti_comm_view_get(struct ti_comm_view *view, const struct ti_reader *r,
                                             int64_t index);

/* World rank of `delta` from us in a communicator, -1 if there is none. */
int64_t ti_comm_view_world(const struct ti_comm_view *view, const struct ti_local_comm *comm,
                           int64_t delta);

#endif
