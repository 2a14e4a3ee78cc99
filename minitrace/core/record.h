/*
 * The contract between the generated shims and the recorders.
 *
 * A shim is the library's version of one MPI function in one binding.  A shim does
 * four things: it enters the library, describes the call in a `struct ti_mpi_call`,
 * forwards to the same function of the same binding (next.h) with the caller's own
 * pointers, and leaves.
 *
 *     int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
 *                  MPI_Comm comm)
 *     {
 *         struct ti_mpi_call *c = TI_ENTER(TI_OP_SEND, TI_BINDING_C);
 *         int rc;
 *
 *         if (!c)
 *             return TI_NEXT(MPI_Send)(buf, count, datatype, dest, tag, comm);
 *         c->count = count; c->type = datatype; c->peer = dest; c->tag = tag; c->comm = comm;
 *         rc = TI_NEXT(MPI_Send)(buf, count, datatype, dest, tag, comm);
 *         if (rc == MPI_SUCCESS)
 *             ti_rec_send(c);
 *         return ti_leave(rc);
 *     }
 *
 * TI_ENTER is NULL when the shim must only forward the call: inside another MPI
 * call, before MPI_Init, after MPI_Finalize, and in a thread that is not recorded
 * (thread.h).  TI_ENTER is not NULL while MPI_Pcontrol(0) holds, because requests
 * and communicators must be followed; the recorders check ti_state.stopped.
 *
 * The family of a call (first column of mpi_calls.tbl) says what its shim does:
 *
 *     pass_through  No event.  The call's own instructions are taken out of the
 *                   burst, and the burst continues.  Only TI_ENTER and ti_leave.
 *     none          Nothing: the call has no shim.
 *     untraced      An event that only names the call:
 *                   ti_rec_untraced(c, "MPI_Comm_spawn").
 *     NAME          ti_rec_NAME(c) after success.
 *                   Flag `pre`: ti_pre_NAME(c) before the call.  It saves what the
 *                   call overwrites, and may replace an ignored c->status by one of
 *                   ours.  Nothing undoes it, so it must be harmless if the call
 *                   fails.
 *                   Flag `fail`: ti_fail_NAME(c, rc) after an error.  A failed call
 *                   may have completed requests or messages.
 *     by_hand       The shim is written in shim_by_hand.c.
 */
#ifndef TI_MINITRACE_CORE_RECORD_H
#define TI_MINITRACE_CORE_RECORD_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "minitrace/core/next.h"

enum ti_binding { TI_BINDING_C, TI_BINDING_FORTRAN };

/*
 * The description of a call.  A shim sets every field that a row of its family in
 * mpi_calls.tbl has, to 0 where its own row has no such parameter.  A recorder reads
 * the fields of its family only; to set all others at every call would take longer
 * than the rest of the shim.  Counts are 64-bit, handles are C handles.  Pointers are
 * the caller's, in the caller's binding: in Fortran, requests and communicators are
 * MPI_Fint, indices start at 1, statuses are MPI_Fint[].
 */
#define TI_OP_PASS_THROUGH TI_OP_COUNT       /* the call leaves no event */
#define TI_OP_POLL         (TI_OP_COUNT + 1) /* a poll that leaves no event, whatever it answers */
#define TI_OP_LOCAL_REQUEST                                                                        \
    (TI_OP_COUNT + 2) /* neither the call nor the request that it makes leaves an event */

struct ti_mpi_call {
    const void *site; /* return address */
    uint16_t op;      /* enum ti_op, or one of the above */
    uint8_t binding;

    /* message, or the send side of a collective */
    int64_t count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
    /* receive side */
    int64_t count2;
    MPI_Datatype type2;
    int peer2, tag2;
    /* collectives */
    int root;
    MPI_Op redop;
    bool in_place;       /* the send buffer is MPI_IN_PLACE */
    bool in_place2;      /* the receive buffer is MPI_IN_PLACE (root of a scatter) */
    const int *counts;   /* sendcounts */
    const int *counts2;  /* recvcounts */
    bool wide;           /* counts are MPI_Count (MPI_X_c) */
    const void *types;   /* sendtypes: MPI_Datatype[] or MPI_Fint[] */
    const void *types2;  /* recvtypes */
    /* requests */
    int nreq;
    void *req;           /* array of MPI_Request or MPI_Fint: nreq of a family that has nreq, else
                          * one; NULL if the call makes no request */
    MPI_Request request; /* a request passed by value */
    int part, part2;     /* number of partitions, or first partition; last partition */
    const int *parts;    /* `part` partition numbers */
    void *message;       /* MPI_Message * or MPI_Fint * */
    const int *flag;     /* result of a poll: 0 is "no"; a LOGICAL in Fortran; NULL if the call is
                          * no poll */
    const int *index;    /* index of the completed request; outcount if `indices` is set */
    const int *indices;
    void *status; /* MPI_Status * or MPI_Fint *; may be MPI_STATUS_IGNORE */
    /* communicators */
    int color, key;
    void *newcomm; /* MPI_Comm * or MPI_Fint *: the result; the argument of Comm_free */
    int ndims;
    const int *dims, *periods;
    bool reorder;
    MPI_Comm comm2; /* communicator of the leaders of an intercommunicator */
    int high;       /* argument of Intercomm_merge; a LOGICAL in Fortran */
    /* windows and files */
    MPI_Win win;
    void *newwin;        /* MPI_Win * or MPI_Fint *: the result; the argument of Win_free */
    int64_t bytes;       /* size of the window or file */
    int64_t unit;        /* displacement unit */
    MPI_Group group;
    int mode;            /* assertion, access mode, whence */
    int mode2;           /* lock type */
    int level;           /* atomicity; a LOGICAL in Fortran */
    MPI_File file;
    void *newfile; /* MPI_File * or MPI_Fint *: the result; the argument of File_close */
    int64_t offset;
    const char *name; /* file name of name_bytes bytes; padded with blanks in Fortran */
    size_t name_bytes;

    /* used by the shims only: the ierror of a Fortran 2008 call that passes none */
    MPI_Fint ierr;

    /* used by the recorders only, from ti_pre_X to ti_rec_X */
    int64_t held, held2;
};

/*
 * Enter the library.  First statement of every shim.
 *
 * *ti_now_word is loaded before anything else, so that no instruction of the library
 * counts in the burst where a plain load reads the counter.
 *
 * Returns the only struct ti_mpi_call, which belongs to the calling thread until
 * ti_leave(); or NULL if the shim must only forward the call and must not call
 * ti_leave().  The struct is not on the shim's stack: the address of a local variable
 * that others know would keep compilers from making ti_leave() a jump.
 */
#define TI_ENTER(operation, lang) \
    ti_enter(*ti_now_word, (operation), (lang), __builtin_return_address(0), TI_FRAME())

/* The address behind the shim's stack frame; on AArch64, of the pair of saved registers at its
 * start.  It tells a call made inside another one from a call made after the other was left by
 * longjmp(). */
#ifdef __aarch64__
#define TI_FRAME() __builtin_frame_address(0)
#elif defined __clang__
#define TI_FRAME() ((const char *)__builtin_frame_address(0) + 2 * sizeof(void *))
#else
#define TI_FRAME() __builtin_dwarf_cfa()
#endif

extern const volatile uint64_t *ti_now_word __attribute__((visibility("hidden")));
struct ti_mpi_call *ti_enter(uint64_t now, unsigned op, enum ti_binding binding, const void *site,
                             const void *frame);

/* Leave the library.  Last statement of every shim.  Returns its argument, so that the compiler
 * can make it a jump and each shim has the same number of instructions after the counter is
 * read. */
int ti_leave(int rc);
double ti_leave_double(double value);
MPI_Aint ti_leave_aint(MPI_Aint value);

/* fortran.c: whether a Fortran argument is MPI_IN_PLACE of its binding: an address, or a
 * descriptor in the second function. */
bool ti_fortran_in_place(const void *buffer);
bool ti_descriptor_in_place(const void *descriptor);

/* Recorders that serve every family: of an untraced call; and of a poll that is never an event,
 * whatever it answers. */
void ti_rec_untraced(struct ti_mpi_call *c, const char *name);
void ti_rec_poll(struct ti_mpi_call *c);

#endif
