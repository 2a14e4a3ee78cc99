/*
 * Places: the addresses at which a live replay stores the handles of requests.
 *
 * An MPI library may return the same handle for several requests that complete at once: Open MPI
 * and MPICH do so for small sends.  A tracing library then tells requests apart by the address of
 * the handle.  Applications store the handles that one call completes in one array, and so does the
 * replay.  To know the array when a request is made, a second reader runs ahead to the event that
 * completes the request.
 *
 * Persistent requests have no place here, since each has a handle of its own.  The same reader
 * finds out whether a request completes as cancelled.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PLACES_H
#define TI_REPLAY_BRIDGE_REPLAYER_PLACES_H

#include <mpi.h>
#include <stdbool.h>

#include "bundle/source.h"

/* The requests that one event completes, in the order of the call. */
struct ti_handle_batch {
    uint64_t event;
    int64_t n;
    int64_t *req;        /* [n] numbers of the requests */
    MPI_Request *handle; /* [n] handles of the requests; not set for persistent requests */
};

struct ti_handle_places {
    struct ti_reader *r;
    struct ti_handle_place {
        uint64_t event; /* event that made or started the request */
        int64_t req;
        MPI_Request *handle; /* NULL: not known yet */
        bool cancelled;
    } * place; /* queue in the order of events, from `first_place` on */
    size_t first_place, nplaces, places_room;
    uint64_t dropped; /* number of places removed in front of place[0] */
    struct ti_handle_batch *batch;
    size_t first_batch, nbatches, batches_room;
    struct {
        uint64_t place; /* 1 + position among all places, dropped ones included; 0: none */
        bool active;
    } * live; /* indexed by the number of the request */
    size_t nlive, live_room;
    uint64_t index; /* number of events read */
    bool ended;
    MPI_Request lost; /* common place of all requests that never complete */
};

/* Finds the place of request `req`, which event `event` of `rank` makes or starts, and whether it
 * completes as cancelled.  place->handle is not meant for persistent requests.  Calls must be in
 * the order of events. */
ti_status ti_handle_place_find(struct ti_handle_places *p, struct ti_source *s, int64_t rank,
                               uint64_t event, int64_t req, struct ti_handle_place *place,
                               struct ti_err *err);

/* The requests that event `event` completes, in *batch, which is valid until the next call. */
ti_status ti_handle_batch_find(struct ti_handle_places *p, struct ti_source *s, int64_t rank,
                               uint64_t event, struct ti_handle_batch *batch, struct ti_err *err);

void ti_handle_places_free(struct ti_handle_places *p);

#endif
