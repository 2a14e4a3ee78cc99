/*
 * Live objects that the application holds handles of: requests, and messages that a
 * matched probe took.
 *
 * Each object has the lowest number that was free when it was made, so numbers follow
 * from the order of calls alone.  Objects that the trace does not show are in the table
 * too, without a number, so that they are not taken for objects that the trace shows.
 *
 * An object is found by its handle and by its place, the address where the application
 * keeps the handle.  An MPI library may use one handle for many requests that were
 * complete at once (Open MPI does for small sends); only the place tells them apart.  An
 * object that is not found at its place was moved, and is found by its handle alone,
 * oldest first.  Most handles belong to one object, so the place is compared only if a
 * handle has several.
 *
 * Every operation takes constant time, whatever the number of live objects and of objects
 * with one handle, except growing, which doubles, and numbers, which take the logarithm
 * to base 64.
 */
#ifndef TI_MINITRACE_RECORDERS_TABLE_H
#define TI_MINITRACE_RECORDERS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TI_HIDDEN UINT32_MAX /* the number of an object that the trace does not show */

/* Links of a ring, by age. */
struct ti_ring {
    uint32_t next, prev;
};

struct ti_live {
    uint64_t handle; /* bits of the C handle */
    const void *where;
    struct ti_ring same_handle;
    struct ti_ring same_place; /* if `placed`: the objects in the bucket of its place */
    uint32_t chain;            /* if `leads`, that is, it is the oldest of its handle: index + 1 of
                                * the next leader in the same bucket of `handles` */
    uint32_t number;
    bool leads, placed;
    union {
        struct { /* a request, see rec_request.c */
            uint32_t traits;
            int own_rank; /* own rank in its communicator */
        };
        struct { /* a message */
            uint32_t comm;
            int peer, tag; /* source minus own rank; tag */
        };
    };
};

#define TI_LEVELS 6 /* 64^6 is more than the numbers of uint32_t */

/* A zeroed table is empty. */
struct ti_table {
    void *block; /* the allocation that holds all arrays below */
    size_t block_bytes;
    struct ti_live *live;
    uint32_t *handles;   /* [room] buckets: index + 1 of a leader; 0: empty */
    uint32_t *places;    /* [room / 2] buckets: index + 1 of the oldest; 0: empty */
    uint32_t room, used; /* capacity; live objects */
    uint32_t free_list;  /* index + 1 of the first free entry, linked through number; 0: empty */
    int levels;
    uint64_t *vacant[TI_LEVELS]; /* [0]: bit n is set if number n is free; [l + 1]: bit n is set if
                                  * word n of [l] is not 0 */
};

/* Add an object.  NULL without memory.  A request starts without traits and with own rank 0.
 * Pointers into a table are valid until the next addition. */
struct ti_live *ti_table_add(struct ti_table *t, uint64_t handle, const void *where, bool hidden);

/* The youngest object with this handle at this place, else the oldest with this handle.  NULL if
 * there is none.  Several objects can have one place if the application moved their handles; the
 * youngest is the one still there. */
struct ti_live *ti_table_find(const struct ti_table *t, uint64_t handle, const void *where);

void ti_table_remove(struct ti_table *t, struct ti_live *live);

#endif
