/*
 * Places: where a live replay keeps the handles of requests.
 *
 * An MPI library may give one handle to several requests that were complete at once: Open MPI
 * and MPICH do for small sends.  A tracing library tells such requests apart by the address at
 * which the application keeps the handle.  Applications keep the handles of what one call
 * completes in one array, and so does the replay.  To know the array when a request is made, a
 * second reader runs ahead to the call that completes the request.
 *
 * Persistent requests have no place here, since each has a handle of its own.
 *
 * The same reader tells whether a request completes as cancelled.
 */
#ifndef TI_PLACES_H
#define TI_PLACES_H

#include <mpi.h>
#include <stdbool.h>

#include "formats/source.h"

/* The requests that one event completes, in the order of the call. */
struct ti_handle_batch {
    uint64_t event;
    int64_t n;
    int64_t *req;        /* [n] their numbers */
    MPI_Request *handle; /* [n] their handles; those of persistent requests are not set */
};

struct ti_handle_places {
    struct ti_reader *r;
    struct ti_handle_place {
        uint64_t event; /* that made the request, or started it */
        int64_t req;
        MPI_Request *handle; /* NULL: not known yet */
        bool cancelled;
    } * place; /* in the order of events; those from `first_place` on are still needed */
    size_t first_place, nplaces, places_room;
    uint64_t dropped; /* places before the first one in place[] */
    struct ti_handle_batch *batch;
    size_t first_batch, nbatches, batches_room;
    struct {
        uint64_t place; /* 1 + its position among all places; 0: none, or known */
        bool active;
    } * live; /* by number of request */
    size_t nlive, live_room;
    uint64_t index; /* events read */
    bool ended;
    MPI_Request lost; /* place of requests that never complete */
};

/* Of request `req`, which event `event` of `rank` makes, or starts if it is persistent: where its
 * handle is to be kept, unless it is persistent, and whether it completes as cancelled.  To be
 * asked in the order of events. */
ti_status ti_handle_place_find(struct ti_handle_places *p, struct ti_source *s, int64_t rank, uint64_t event,
                   int64_t req, struct ti_handle_place *place, struct ti_err *err);

/* What event `event` completes; valid until the next call. */
ti_status ti_handle_batch_find(struct ti_handle_places *p, struct ti_source *s, int64_t rank, uint64_t event,
                         struct ti_handle_batch *batch, struct ti_err *err);

void ti_handle_places_free(struct ti_handle_places *p);

#endif
