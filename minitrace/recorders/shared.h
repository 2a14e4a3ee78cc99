/* Functions that recorders share, and questions that other files may ask them. */
#ifndef TI_MINITRACE_RECORDERS_SHARED_H
#define TI_MINITRACE_RECORDERS_SHARED_H

#include "minitrace/core/state.h"
#include "minitrace/recorders.h"
#include "minitrace/recorders/handle.h"

/* type.c: packed bytes of one element; 0 for MPI_DATATYPE_NULL. */
int64_t ti_type_bytes(MPI_Datatype type);

/* Packed bytes of `count` elements.  Fields of an event are below 2^63: a larger product ends the
 * recording, and is 0. */
int64_t ti_stop_too_large(void);
static inline int64_t ti_bytes(int64_t count, int64_t esize)
{
    int64_t bytes;

    return __builtin_expect(__builtin_mul_overflow(count, esize, &bytes), 0) ? ti_stop_too_large()
                                                                             : bytes;
}
void ti_types_begin(void); /* before the first of these */

/* rec_comm.c: what is known of a communicator */
struct ti_comm_entry {
    struct ti_handle handle; /* of `comm` */
    MPI_Comm comm;
    uint32_t index;
    int rank, size;            /* own rank; size of the own group */
    int remote_size;           /* size of the other group; 0 for an intracommunicator */
    int sources, destinations; /* number of neighbours in its topology; 0 without one */
    bool inter;
    bool unordered; /* MPI's order of its neighbours is not fixed: see ti_neighbours() */
    bool whole;     /* same ranks as MPI_COMM_WORLD */
    bool marked;    /* has the attribute that reports when it is freed */
};

/* The communicator's entry, valid until the next call.  NULL if no traced call made it. */
const struct ti_comm_entry *ti_comm_find(MPI_Comm comm);
/* The same; if it is NULL, the recording is ended. */
const struct ti_comm_entry *ti_comm_known(MPI_Comm comm);
bool ti_comm_begin(void); /* adds world and self */

/* Number of communicators from MPI_Comm_idup whose handle is not known yet.  The handle can be
 * read from the application's variable once the request is complete, which ti_comm_arrived()
 * reports. */
extern uint32_t ti_comms_late __attribute__((visibility("hidden")));
void ti_comm_arrived(int64_t request);

/* neighbours.c: the neighbours in a communicator's distributed graph, in the order of the trace:
 * sources, then destinations.  Valid until the next call.  NULL without memory. */
struct ti_neighbour {
    int rank, weight;
    int place; /* index in MPI's array of sources or destinations */
};
const struct ti_neighbour *ti_neighbours(const struct ti_comm_entry *comm);

/* The trace's mode bits (TI_MODES) for the MPI library's. */
struct ti_mode {
    int theirs;
    int64_t ours;
};
static inline int64_t ti_mode_of(const struct ti_mode *list, size_t n, int mode)
{
    int64_t ours = 0;

    for (size_t i = 0; i < n; i++)
        if (mode & list[i].theirs)
            ours |= list[i].ours;
    return ours;
}

/* rec_coll.c: TI_REDOP_* of an operation. */
int64_t ti_redop(MPI_Op op);

/*
 * rec_p2p.c: shared by receives, probes and completions.
 *
 * ti_lend_status()   give a call that ignores its status one of ours
 * ti_match()         set in the event what a wildcard matched, from the status
 * ti_was_cancelled() whether the status is that of a cancelled message
 * ti_wildcard()      whether a receive from this peer and tag has a wildcard
 * ti_envelope()      begin an event with communicator, peer and tag; if the communicator
 *                    is unknown, end the recording and return NULL
 * ti_content()       add the size of the message
 */
void ti_lend_status(struct ti_mpi_call *c);
void ti_match(struct ti_event *ev, const struct ti_mpi_call *c, const void *status, int own_rank);
bool ti_was_cancelled(const struct ti_mpi_call *c, const void *status);
bool ti_wildcard(int peer, int tag);
const struct ti_comm_entry *ti_envelope(struct ti_event *ev, const struct ti_mpi_call *c);
void ti_content(struct ti_event *ev, const struct ti_mpi_call *c);

/*
 * rec_request.c: add the request *c->req that the call made; returns its number for the event.
 * With `wildcard`, its completion records what matched, relative to own_rank.
 */
int64_t ti_request_add(struct ti_mpi_call *c, bool persistent, bool wildcard, int own_rank);

/* Add a request that the trace does not show.  Without it, the completion would be taken for
 * another request's. */
void ti_request_hide(struct ti_mpi_call *c);

/* Write the event of a call that made the request *c->req, with its number.  A request that is not
 * persistent is hidden while MPI_Pcontrol(0) holds, and with `ev` NULL. */
void ti_request_emit(struct ti_mpi_call *c, struct ti_event *ev);

/* The bits of a handle, as key for look-ups. */
static inline uint64_t ti_bits(const void *handle, size_t bytes)
{
    uint64_t bits = 0;

    __builtin_memcpy(&bits, handle, bytes);
    return bits;
}

/* Convert a handle in the caller's binding to a C handle. */
static inline MPI_Comm ti_comm_of(const struct ti_mpi_call *c, const void *p)
{
    return c->binding == TI_BINDING_C ? *(const MPI_Comm *)p : PMPI_Comm_f2c(*(const MPI_Fint *)p);
}

#endif
