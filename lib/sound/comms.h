/*
 * Communicators across ranks; windows and files as well.
 *
 * A trace numbers communicators rank by rank.  Globally, one is known by its
 * members, in order, and by how many communicators of exactly these members a
 * rank had met before it: all members create them in the same order, so they
 * agree on that number without being asked.
 *
 * The members of an intercommunicator are those of both groups: first the group
 * whose first member is lower in the world, so that both sides say the same.
 *
 * A window or a file is known by its communicator and by how many the rank had
 * made on that before.  It has a global number of its own, as if it were a
 * communicator.
 */
#ifndef TI_COMMS_H
#define TI_COMMS_H

#include "common/map.h"
#include "formats/reader.h"

/* What a communicator is beside the world. */
enum ti_comm_shape {
    TI_COMM_WORLD,     /* the same members in the same order */
    TI_COMM_REORDERED, /* the same members in another order */
    TI_COMM_SUB,       /* some of them */
    TI_COMM_INTER,     /* two groups */
    TI_COMM_ALONE      /* one process, in a world of more or of one */
};

struct ti_group {
    int32_t *member;
    int64_t size;  /* of both groups together */
    int64_t first; /* of an intercommunicator: size of the first group; else 0 */
    enum ti_comm_shape shape;
};

struct ti_comms {
    int64_t np;
    struct ti_map lists; /* (hash, size, first, attempt) -> group */
    struct ti_group *group;
    size_t groups_cap;
    struct ti_map ids; /* (group, ordinal, kind, parent) -> global number */
};

/* One rank's communicators. */
struct ti_comm_view {
    struct ti_comms *comms;
    int64_t rank;
    struct ti_local_comm {
        int64_t gid;           /* global number, or -1 */
        int64_t rank;          /* ours, in our group */
        int64_t me;            /* ours, among all members */
        int64_t peers, npeers; /* the members that ranks count from: where, how many */
    } * local;
    size_t nlocal, cap;
    struct ti_map objects; /* (kind, number) -> window or file */
    struct ti_local_comm *object;
    size_t objects_cap;
    struct ti_map seen; /* (group, kind, parent) -> how many so far */
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

/* Communicator `index` is being made as a copy of `of`, whose members it has,
 * before the trace says so itself. */
const struct ti_local_comm *ti_comm_view_copy(struct ti_comm_view *view, int64_t index,
                                              const struct ti_local_comm *of);

/* What else collectives are called on. */
enum ti_object { TI_OBJECT_COMM, TI_OBJECT_WIN, TI_OBJECT_FILE };

/* The rank's window or file `number`, made just now on `comm`: NULL if there was one
 * of that number.  And later on: NULL if there is none. */
const struct ti_local_comm *ti_comm_view_make(struct ti_comm_view *view, enum ti_object kind,
                                              int64_t number, const struct ti_local_comm *comm);
const struct ti_local_comm *ti_comm_view_object(const struct ti_comm_view *view,
                                                enum ti_object kind, int64_t number);

/* World rank of `delta` from us in a communicator, -1 if there is none. */
int64_t ti_comm_view_world(const struct ti_comm_view *view, const struct ti_local_comm *comm,
                           int64_t delta);

#endif
