/*
 * Live requests: what rec_request.c and rec_completion.c share.
 *
 * A persistent request is inactive until it is started, and again after it completes.
 * Completing an inactive or null request is no event.  The trace shows every persistent
 * request, even one made while MPI_Pcontrol(0) holds; but if it is started then, the trace
 * shows neither that start nor its completion.
 */
#ifndef TI_MINITRACE_RECORDERS_REQUEST_H
#define TI_MINITRACE_RECORDERS_REQUEST_H

#include "minitrace/recorders/shared.h"
#include "minitrace/recorders/table.h"

/* Traits of a request. */
enum {
    TI__WILDCARD = 1, /* the event of its completion has what matched */
    TI__PERSISTENT = 2,
    TI__ACTIVE = 4,      /* started, or not persistent */
    TI__CANCELLED = 8,   /* the event of its completion has whether it really was cancelled */
    TI__UNRECORDED = 16, /* active, but its start is not in the trace */
    TI__NEEDS_STATUS = TI__WILDCARD | TI__CANCELLED
};

extern struct ti__requests {
    struct ti_table table;
    int64_t active;         /* requests that the trace shows as active */
    int64_t needing_status; /* requests whose completion needs a status */
    uint64_t *handles;      /* of ti__request_save(); overwritten by the numbers for the event */
    size_t handles_bytes;
} ti__requests __attribute__((visibility("hidden")));

static inline MPI_Request ti__request_handle(const struct ti_mpi_call *c, int64_t i)
{
    return c->binding == TI_BINDING_C ? ((MPI_Request *)c->req)[i]
                                      : PMPI_Request_f2c(((MPI_Fint *)c->req)[i]);
}

static inline const void *ti__request_place(const struct ti_mpi_call *c, int64_t i)
{
    return c->binding == TI_BINDING_C ? (const void *)((MPI_Request *)c->req + i)
                                      : (const void *)((MPI_Fint *)c->req + i);
}

static inline uint64_t ti__request_bits(MPI_Request handle)
{
    return ti_bits(&handle, sizeof handle);
}

static inline bool ti__request_is_null(uint64_t bits)
{
    return bits == ti__request_bits(MPI_REQUEST_NULL);
}

/* The request with this handle, which is or was the call's i-th.  NULL if null or unknown. */
static inline struct ti_live *ti__request_look_up(const struct ti_mpi_call *c, uint64_t bits,
                                                  int64_t i)
{
    return ti__request_is_null(bits)
               ? NULL
               : ti_table_find(&ti__requests.table, bits, ti__request_place(c, i));
}

/* ti__request_look_up() found no request: end the recording, unless the handle is null. */
void ti__request_not_found(uint64_t bits);

static inline bool ti__request_is_shown(const struct ti_live *r)
{
    return r->number != TI_HIDDEN;
}

/* Whether the trace shows the request as active. */
static inline bool ti__request_is_open(const struct ti_live *r)
{
    return ti__request_is_shown(r) && (r->traits & (TI__ACTIVE | TI__UNRECORDED)) == TI__ACTIVE;
}

static inline void ti__request_set_traits(struct ti_live *r, uint32_t traits)
{
    bool was_open = ti__request_is_open(r), needed = r->traits & TI__NEEDS_STATUS;

    r->traits = traits;
    ti__requests.active += ti__request_is_open(r) - was_open;
    ti__requests.needing_status += ((traits & TI__NEEDS_STATUS) != 0) - needed;
}

static inline void ti__request_forget(struct ti_live *r)
{
    ti__requests.active -= ti__request_is_open(r);
    ti__requests.needing_status -= (r->traits & TI__NEEDS_STATUS) != 0;
    ti_table_remove(&ti__requests.table, r);
}

/* Save the call's `n` handles, which MPI overwrites; c->held is their number, or 0.  MPI itself
 * reports invalid arguments. */
void ti__request_save(struct ti_mpi_call *c, int n);

/* Write the event of a call on one request. */
void ti__request_emit(struct ti_mpi_call *c, const struct ti_live *r, bool always);

#endif
