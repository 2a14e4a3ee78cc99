/*
 * Between the generated shims and the recorders.
 *
 * A shim is the library's version of one MPI function in one binding.  It does
 * four things: enter, tell what the call is about in a `struct ti_mpi_call`, forward
 * to the same function of the same binding (next.h says which) with the caller's
 * own pointers, leave.
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
 * TI_ENTER is NULL when the call is to be passed through untouched: an MPI
 * function called from inside another, or before MPI_Init or after
 * MPI_Finalize, or by a thread that is not recorded (record.c).  It is a call even while
 * MPI_Pcontrol(0) holds, since requests and communicators must be followed; the recorders know.
 *
 * Families (the table's first column):
 *
 *     noted     no event; what the call itself executes is taken out of the
 *               burst, which goes on                          TI_ENTER, ti_leave
 *     untraced  an event that names the call                  ti_rec_untraced(c, "MPI_Put")
 *     NAME      ti_rec_NAME(c) after success; and where the table says so,
 *               ti_pre_NAME(c) before the call, which may replace c->status (an
 *               ignored status whose content we need) and notes what the call
 *               will overwrite.  ti_pre_NAME is undone by nothing: it must not
 *               matter if the call then fails.  Where the table says `fail`,
 *               ti_fail_NAME(c, rc) after a call that returned an error, which
 *               may have completed something all the same.
 *     by_hand   the shim itself is in shim_by_hand.c
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
 * What a call is about.  A shim sets the fields its parameters map to and no
 * others; a family reads only those.  Counts are 64-bit, handles are C handles.
 * Pointers below are the caller's, in the caller's binding: in Fortran, requests
 * and communicators are MPI_Fint, indices start at 1, statuses are MPI_Fint[].
 */
#define TI_OP_PASS_THROUGH TI_OP_COUNT       /* no event */
#define TI_OP_POLL  (TI_OP_COUNT + 1) /* a poll that is never one */

struct ti_mpi_call {
    const void *site; /* return address */
    uint16_t op;      /* enum ti_op, or one of the two below it */
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
    bool in_place2;      /* the receive buffer is (scatter's root) */
    const int *counts;   /* sendcounts */
    const int *counts2;  /* recvcounts */
    bool wide;           /* counts are MPI_Count (MPI_X_c) */
    const void *types;   /* sendtypes: MPI_Datatype[] or MPI_Fint[] */
    const void *types2;  /* recvtypes */
    /* requests */
    int nreq;
    void *req;           /* MPI_Request * or MPI_Fint *, nreq of them (one: nreq unset) */
    MPI_Request request; /* one given by value */
    int part, part2;     /* partitions: how many, or which; to which */
    const int *parts;    /* a list of `part` of them */
    void *message;       /* MPI_Message * or MPI_Fint * */
    const int *flag;     /* result of a poll: 0 no, else yes (Fortran: LOGICAL) */
    const int *index;    /* completed: index, or outcount with indices */
    const int *indices;
    void *status;        /* MPI_Status * or MPI_Fint *; may be an ignore constant */
    /* communicators */
    int color, key;
    void *newcomm;       /* MPI_Comm * or MPI_Fint *: result; for free, the argument */
    int ndims;
    const int *dims, *periods;
    bool reorder;
    MPI_Comm comm2;      /* of an intercommunicator's leaders */
    int high;            /* of a merge: LOGICAL in Fortran */
    /* windows and files */
    MPI_Win win;
    void *newwin;        /* MPI_Win * or MPI_Fint *: result; for free, the argument */
    int64_t bytes;       /* size of a window or file */
    int64_t unit;        /* displacement unit */
    MPI_Group group;
    int mode;            /* assertion, access mode, whence */
    int mode2;           /* lock type */
    int level;           /* atomicity: LOGICAL in Fortran */
    MPI_File file;
    void *newfile;       /* MPI_File * or MPI_Fint *: result; for close, the argument */
    int64_t offset;
    const char *name;    /* of a file: name_bytes of it, in Fortran filled up with blanks */
    size_t name_bytes;

    /* private to the shims: lent to a Fortran 2008 call without ierror */
    MPI_Fint ierr;

    /* private to the recorders, between ti_pre_X and ti_rec_X */
    int64_t held, held2;
};

/*
 * Enter.  `word` is read first of all, so that nothing of the library is in the
 * burst where a plain load reads the counter.
 *
 * Gives the one struct ti_mpi_call, the calling thread's until ti_leave(), or NULL
 * to pass through, with nothing to leave.  It is not on the shim's stack since a
 * local variable whose address is known elsewhere keeps compilers from making
 * ti_leave() a jump.
 */
#define TI_ENTER(operation, lang) \
    ti_enter(*ti_now_word, (operation), (lang), __builtin_return_address(0), TI_FRAME())

/* The address behind the shim's stack frame, or on AArch64 of the pair of registers
 * it begins with, by which a call made inside another is told from one made after the
 * other was left by longjmp(). */
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

/* Leave: the last thing a shim does; gives back its argument so that the compiler can
 * make it a jump and the burst starts at the same distance in every shim. */
int ti_leave(int rc);
double ti_leave_double(double value);
MPI_Aint ti_leave_aint(MPI_Aint value);

/* fortran.c: whether a Fortran argument is the binding's MPI_IN_PLACE, given by
 * address or in a descriptor. */
bool ti_fortran_in_place(const void *buffer);
bool ti_descriptor_in_place(const void *descriptor);

void ti_rec_untraced(struct ti_mpi_call *c, const char *name);

void ti_rec_poll(struct ti_mpi_call *c); /* whatever it answers, never an event */

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
void ti_rec_grequest_complete(struct ti_mpi_call *c); /* request */

/* rec_coll.c: each in its blocking, non-blocking and persistent form */
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
void ti_rec_win_create(struct ti_mpi_call *c); /* made in every way */
void ti_rec_win_attach(struct ti_mpi_call *c);
void ti_rec_win_call(struct ti_mpi_call *c); /* with no more than its window */
void ti_pre_win_free(struct ti_mpi_call *c);
void ti_rec_win_free(struct ti_mpi_call *c);
void ti_rec_win_mode(struct ti_mpi_call *c);  /* Win_fence, Win_lock_all */
void ti_rec_win_group(struct ti_mpi_call *c); /* Win_start, Win_post */
void ti_rec_win_test(struct ti_mpi_call *c);
void ti_rec_win_lock(struct ti_mpi_call *c);
void ti_rec_win_target(struct ti_mpi_call *c);  /* Win_unlock, Win_flush, Win_flush_local */
void ti_rec_rma(struct ti_mpi_call *c);         /* with a target side */
void ti_rec_rma_request(struct ti_mpi_call *c); /* the same, with a request */
void ti_rec_rma_one(struct ti_mpi_call *c);     /* Fetch_and_op, Compare_and_swap */

/* rec_io.c */
void ti_rec_file_open(struct ti_mpi_call *c);
void ti_pre_file_close(struct ti_mpi_call *c);
void ti_rec_file_close(struct ti_mpi_call *c);
void ti_rec_file_delete(struct ti_mpi_call *c);
void ti_rec_file_set_view(struct ti_mpi_call *c);
void ti_rec_file_size(struct ti_mpi_call *c);
void ti_rec_file_call(struct ti_mpi_call *c); /* with no more than its file */
void ti_rec_file_set_atomicity(struct ti_mpi_call *c);
void ti_rec_file_seek_shared(struct ti_mpi_call *c);
void ti_pre_file_access(struct ti_mpi_call *c);
void ti_rec_file_access(struct ti_mpi_call *c);  /* blocking */
void ti_rec_file_iaccess(struct ti_mpi_call *c); /* non-blocking */
void ti_rec_file_begin(struct ti_mpi_call *c);   /* split */
void ti_pre_file_end(struct ti_mpi_call *c);
void ti_rec_file_end(struct ti_mpi_call *c);

#endif
