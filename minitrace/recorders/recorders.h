/*
 * The recorders, which the shims call: ti_rec_NAME() after a call of the family NAME,
 * ti_pre_NAME() before it, ti_fail_NAME() after it failed.  core/record.h says when.
 */
#ifndef TI_MINITRACE_RECORDERS_RECORDERS_H
#define TI_MINITRACE_RECORDERS_RECORDERS_H

#include "minitrace/core/record.h"

/* rec_p2p.c */
void ti_rec_send(struct ti_mpi_call *c);
void ti_rec_isend(struct ti_mpi_call *c);
void ti_rec_isendrecv(struct ti_mpi_call *c);
void ti_rec_psend_init(struct ti_mpi_call *c); /* Psend_init, Precv_init */
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

/* rec_completion.c */
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

/* rec_request.c */
void ti_pre_request_free(struct ti_mpi_call *c);
void ti_rec_request_free(struct ti_mpi_call *c);
void ti_rec_start(struct ti_mpi_call *c);
void ti_rec_startall(struct ti_mpi_call *c);
void ti_rec_cancel(struct ti_mpi_call *c);
void ti_rec_grequest_start(struct ti_mpi_call *c);
void ti_rec_grequest_complete(struct ti_mpi_call *c); /* takes c->request */
void ti_rec_pready(struct ti_mpi_call *c);            /* Pready, Pready_range, Pready_list */
void ti_rec_parrived(struct ti_mpi_call *c);

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
