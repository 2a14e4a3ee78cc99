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
 * (record.c).  TI_ENTER is not NULL while MPI_Pcontrol(0) holds, because requests
 * and communicators must be followed; the recorders check ti_state.stopped.
 *
 * The family of a call (first column of mpi_calls.tbl) says what its shim does:
 *
 *     pass_through  No event.  The call's own instructions are taken out of the
 *                   burst, and the burst continues.  Only TI_ENTER and ti_leave.
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
#ifndef TI_RECORD_H
#define TI_RECORD_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/event.h"
#include "minitrace/next.h"

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

struct ti_mpi_call {
    const void *site; /* return address */
    uint16_t op;      /* enum ti_op, or TI_OP_PASS_THROUGH or TI_OP_POLL */
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

void ti_rec_untraced(struct ti_mpi_call *c, const char *name);

void ti_rec_poll(struct ti_mpi_call *c); /* never an event, whatever it answers */

/* rec_p2p.c */
void ti_rec_send(struct ti_mpi_call *c);
void ti_rec_isend(struct ti_mpi_call *c);
void ti_rec_isendrecv(struct ti_mpi_call *c);
void ti_rec_psend_init(struct ti_mpi_call *c); /* Psend_init, Precv_init */
void ti_rec_pready(struct ti_mpi_call *c);     /* Pready, Pready_range, Pready_list */
void ti_rec_parrived(struct ti_mpi_call *c);
void ti_rec_send_init(struct ti_mpi_call *c); /* the persistent sends */
void ti_pre_recv(struct ti_mpi_call *c);
void ti_rec_recv(struct ti_mpi_call *c);
void ti_rec_irecv(struct ti_mpi_call *c);
void ti_rec_recv_init(struct ti_mpi_call *c);
void ti_pre_sendrecv(struct ti_mpi_call *c);
void ti_rec_sendrecv(struct ti_mpi_call *c);

/* rec_probe.c */
void ti_pre_probe(struct ti_mpi_call *c);
void ti_rec_probe(struct ti_mpi_call *c);
void ti_pre_iprobe(struct ti_mpi_call *c);
void ti_rec_iprobe(struct ti_mpi_call *c);
void ti_pre_mprobe(struct ti_mpi_call *c);
void ti_rec_mprobe(struct ti_mpi_call *c);
void ti_pre_improbe(struct ti_mpi_call *c);
void ti_rec_improbe(struct ti_mpi_call *c);
void ti_pre_mrecv(struct ti_mpi_call *c);
void ti_rec_mrecv(struct ti_mpi_call *c);
void ti_fail_mrecv(struct ti_mpi_call *c, int rc);
void ti_pre_imrecv(struct ti_mpi_call *c);
void ti_rec_imrecv(struct ti_mpi_call *c);

/* rec_request.c */
void ti_pre_wait(struct ti_mpi_call *c);
void ti_rec_wait(struct ti_mpi_call *c); /* Wait, Test (with flag) */
void ti_fail_wait(struct ti_mpi_call *c, int rc);
void ti_pre_waitall(struct ti_mpi_call *c);
void ti_rec_waitall(struct ti_mpi_call *c); /* Waitall, Testall */
void ti_fail_waitall(struct ti_mpi_call *c, int rc);
void ti_pre_waitany(struct ti_mpi_call *c);
void ti_rec_waitany(struct ti_mpi_call *c); /* Waitany, Testany: index */
void ti_fail_waitany(struct ti_mpi_call *c, int rc);
void ti_pre_waitsome(struct ti_mpi_call *c);
void ti_rec_waitsome(struct ti_mpi_call *c); /* Waitsome, Testsome: index is outcount */
void ti_fail_waitsome(struct ti_mpi_call *c, int rc);
void ti_pre_request_free(struct ti_mpi_call *c);
void ti_rec_request_free(struct ti_mpi_call *c);
void ti_rec_start(struct ti_mpi_call *c);
void ti_rec_startall(struct ti_mpi_call *c);
void ti_rec_cancel(struct ti_mpi_call *c);
void ti_rec_grequest_start(struct ti_mpi_call *c);
void ti_rec_grequest_complete(struct ti_mpi_call *c); /* takes c->request */

/* rec_coll.c: each recorder serves the blocking, non-blocking and persistent form */
void ti_rec_barrier(struct ti_mpi_call *c);
void ti_rec_bcast(struct ti_mpi_call *c);
void ti_rec_reduce(struct ti_mpi_call *c); /* every reduction without a count vector */
void ti_rec_gather(struct ti_mpi_call *c);
void ti_rec_gatherv(struct ti_mpi_call *c);
void ti_rec_scatter(struct ti_mpi_call *c);
void ti_rec_scatterv(struct ti_mpi_call *c);
void ti_rec_allgather(struct ti_mpi_call *c); /* Allgather, Alltoall */
void ti_rec_allgatherv(struct ti_mpi_call *c);
void ti_rec_alltoallv(struct ti_mpi_call *c);
void ti_rec_alltoallw(struct ti_mpi_call *c);
void ti_rec_reduce_scatter(struct ti_mpi_call *c);
void ti_rec_neighbor_allgather(struct ti_mpi_call *c); /* Neighbor_allgather, Neighbor_alltoall */
void ti_rec_neighbor_allgatherv(struct ti_mpi_call *c);
void ti_rec_neighbor_alltoallv(struct ti_mpi_call *c);
void ti_rec_neighbor_alltoallw(struct ti_mpi_call *c);

/* rec_comm.c */
void ti_rec_comm_dup(struct ti_mpi_call *c);
void ti_pre_comm_idup(struct ti_mpi_call *c);
void ti_rec_comm_idup(struct ti_mpi_call *c);
void ti_rec_comm_split(struct ti_mpi_call *c);
void ti_rec_comm_split_type(struct ti_mpi_call *c);
void ti_rec_comm_create(struct ti_mpi_call *c);
void ti_rec_comm_create_group(struct ti_mpi_call *c);
void ti_rec_cart_create(struct ti_mpi_call *c);
void ti_rec_cart_sub(struct ti_mpi_call *c);
void ti_rec_graph_create(struct ti_mpi_call *c);
void ti_rec_dist_graph_create(struct ti_mpi_call *c);
void ti_rec_intercomm_create(struct ti_mpi_call *c);
void ti_rec_intercomm_merge(struct ti_mpi_call *c);
void ti_rec_comm_set_info(struct ti_mpi_call *c);
void ti_pre_comm_free(struct ti_mpi_call *c);
void ti_rec_comm_free(struct ti_mpi_call *c); /* Comm_free, Comm_disconnect */

/* rec_rma.c */
void ti_rec_win_create(struct ti_mpi_call *c); /* every way to make a window */
void ti_rec_win_attach(struct ti_mpi_call *c);
void ti_rec_win_call(struct ti_mpi_call *c); /* calls whose only field is the window */
void ti_pre_win_free(struct ti_mpi_call *c);
void ti_rec_win_free(struct ti_mpi_call *c);
void ti_rec_win_mode(struct ti_mpi_call *c);  /* Win_fence, Win_lock_all */
void ti_rec_win_group(struct ti_mpi_call *c); /* Win_start, Win_post */
void ti_rec_win_test(struct ti_mpi_call *c);
void ti_rec_win_lock(struct ti_mpi_call *c);
void ti_rec_win_target(struct ti_mpi_call *c);  /* Win_unlock, Win_flush, Win_flush_local */
void ti_rec_rma(struct ti_mpi_call *c);         /* calls with an origin and a target side */
void ti_rec_rma_request(struct ti_mpi_call *c); /* the same, returning a request */
void ti_rec_rma_one(struct ti_mpi_call *c);     /* Fetch_and_op, Compare_and_swap */

/* rec_io.c */
void ti_rec_file_open(struct ti_mpi_call *c);
void ti_pre_file_close(struct ti_mpi_call *c);
void ti_rec_file_close(struct ti_mpi_call *c);
void ti_rec_file_delete(struct ti_mpi_call *c);
void ti_rec_file_set_view(struct ti_mpi_call *c);
void ti_rec_file_size(struct ti_mpi_call *c);
void ti_rec_file_call(struct ti_mpi_call *c); /* calls whose only field is the file */
void ti_rec_file_set_atomicity(struct ti_mpi_call *c);
void ti_rec_file_seek_shared(struct ti_mpi_call *c);
void ti_pre_file_access(struct ti_mpi_call *c);
void ti_rec_file_access(struct ti_mpi_call *c);  /* blocking */
void ti_rec_file_iaccess(struct ti_mpi_call *c); /* non-blocking */
void ti_rec_file_begin(struct ti_mpi_call *c);   /* split collective */
void ti_pre_file_end(struct ti_mpi_call *c);
void ti_rec_file_end(struct ti_mpi_call *c);

#endif
