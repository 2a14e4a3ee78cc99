/*
 * Global numbers for communicators, windows and files.
 *
 * In a trace, each rank numbers its communicators itself.  The global identity of a communicator is
 * the list of its members and the number of communicators with the same list that a rank met before
 * it.  All members create communicators in the same order, so they find the same number.
 *
 * The members of an intercommunicator are those of both groups.  The group whose first member has
 * the lower world rank comes first, so that both sides find the same list.
 *
 * The identity of a window or a file is its communicator and the number of windows or files that
 * the rank made on it before.  Global numbers are shared with communicators.
 */
#ifndef TI_SOUND_COMMS_H
#define TI_SOUND_COMMS_H

#include "common/map.h"
#include "trace/reader.h"

/* Members of a communicator, compared with the world. */
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
    int64_t last;      /* the group that was found last, of several ranks */
    struct ti_map ids; /* (group, ordinal, kind, parent) -> global number */
};

/* One rank's communicators. */
struct ti_comm_view {
    struct ti_comms *comms;
    int64_t rank;
    struct ti_local_comm {
        int64_t gid;           /* global number, or -1 */
        int64_t rank;          /* our rank in our group */
        int64_t me;            /* our index among all members */
        int64_t peers, npeers; /* the members that peers are ranks of: first index, number */
    } * local;
    size_t nlocal, cap;
    struct ti_map objects; /* (kind, number) -> window or file */
    struct ti_local_comm *object;
    size_t objects_cap;
    struct ti_map seen; /* (group, kind, parent) -> how many so far */
    int64_t *count;
    size_t counts_cap;
    uint64_t made;  /* global numbers given */
    bool no_memory; /* memory was short; no result since is valid */
};

/* False: no memory.  Release it by ti_comms_free() in any case. */
bool ti_comms_init(struct ti_comms *comms, int64_t np);
void ti_comms_free(struct ti_comms *comms);
const struct ti_group *ti_comms_group(const struct ti_comms *comms, int64_t gid);

/* Write "world", "world, 2nd copy" or "ranks 0 2 4 ... (8)" into buf, for messages. */
const char *ti_comms_text(const struct ti_comms *comms, int64_t gid, char *buf, size_t buf_bytes);

/* Start the view of `rank`, which has the communicators 0 (world) and 1 (self).  When memory is
 * short, this and the functions below set view->no_memory, which stays set, and return NULL. */
void ti_comm_view_start(struct ti_comm_view *view, struct ti_comms *comms, int64_t rank);
void ti_comm_view_free(struct ti_comm_view *view);

/* The rank's communicator `index`, with its members from reader `r`.  NULL if it is not known or
 * invalid.  With `r` NULL, only communicators that were looked up before are found. */
const struct ti_local_comm *ti_comm_view_get(struct ti_comm_view *view, const struct ti_reader *r,
                                             int64_t index);

/* Announce that communicator `index` has the members of `of`, before the trace has its COM chunk.
 */
const struct ti_local_comm *ti_comm_view_copy(struct ti_comm_view *view, int64_t index,
                                              const struct ti_local_comm *of);

/* The object that a collective operation is called on. */
enum ti_mpi_object { TI_OBJECT_COMM, TI_OBJECT_WIN, TI_OBJECT_FILE };

/* Add the rank's window or file `number`, which is made on `comm`; NULL if the number exists.
 * _object: look it up; NULL if there is none. */
const struct ti_local_comm *ti_comm_view_make(struct ti_comm_view *view, enum ti_mpi_object kind,
                                              int64_t number, const struct ti_local_comm *comm);
const struct ti_local_comm *ti_comm_view_object(const struct ti_comm_view *view,
                                                enum ti_mpi_object kind, int64_t number);

/* World rank of the member whose rank is ours plus `delta`; -1 if there is none. */
int64_t ti_comm_view_world(const struct ti_comm_view *view, const struct ti_local_comm *comm,
                           int64_t delta);

#endif
