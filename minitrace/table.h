/*
 * Live things that the application holds handles of: requests, and messages that
 * a matched probe took.
 *
 * Each has a number, the lowest that no other one had when it was made, so that
 * numbers follow from the order of calls alone.  What the trace does not show is
 * followed as well, without a number, so that it is not taken for something that
 * the trace shows.
 *
 * They are found again by handle and by where the application keeps the handle:
 * an MPI library may give one handle to many requests that were complete at once
 * (Open MPI does for small sends), and only the place tells them apart.  What is
 * not found at its place was moved, and is found by its handle alone, the oldest
 * first.  Since most handles are one thing's alone, the place is looked at only
 * where there are several.
 *
 * Whatever the number of live things and of those with one handle, everything
 * here takes constant time, but for growing, which doubles, and for numbers,
 * which take the logarithm to base 64.
 */
#ifndef TI_TABLE_H
#define TI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TI_HIDDEN UINT32_MAX /* number of what the trace does not show */

/* Neighbours in a ring, in order of age. */
struct ti_ring {
    uint32_t next, prev;
};

struct ti_live {
    uint64_t handle; /* bits of the C handle */
    const void *where;
    struct ti_ring same_handle;
    struct ti_ring same_place; /* if it is `placed`: those in the bucket of its place */
    uint32_t chain;            /* if it leads, that is, is the oldest of its handle: position + 1
                                  of the next leader in the bucket of their handles */
    uint32_t number;
    bool leads, placed;
    union {
        struct { /* of a request, see rec_request.c */
            uint32_t traits;
            int own_rank; /* in its communicator */
        };
        struct { /* of a message */
            uint32_t comm;
            int peer, tag; /* its source minus our rank, and its tag */
        };
    };
};

#define TI_LEVELS 6 /* 64^6 numbers are more than there are */

/* Zeroed, a table is empty. */
struct ti_table {
    void *block; /* all of the below */
    size_t block_bytes;
    struct ti_live *live;
    uint32_t *handles;   /* [room] buckets: position + 1 of a leader */
    uint32_t *places;    /* [room / 2] buckets: position + 1 of the oldest */
    uint32_t room, used; /* `used` are in use */
    uint32_t free_list;  /* position of one that is not + 1, a list through number */
    int levels;
    uint64_t *vacant[TI_LEVELS]; /* bit n: number n is free; one level up: a word has some */
};

/* Add one; NULL without memory.  A request has no traits, and own rank 0.
 * Pointers into a table are good until something is added. */
struct ti_live *ti_table_add(struct ti_table *t, uint64_t handle, const void *where, bool hidden);

/* The youngest at this place, else the oldest anywhere; NULL if there is none.
 * A place can hold several that were moved away from there; the last is meant. */
struct ti_live *ti_table_find(const struct ti_table *t, uint64_t handle, const void *where);

void ti_table_remove(struct ti_table *t, struct ti_live *live);

#endif
