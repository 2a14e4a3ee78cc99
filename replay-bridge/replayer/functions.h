/*
 * The functions that operations.h names: each replays the current event.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_FUNCTIONS_H
#define TI_REPLAY_BRIDGE_REPLAYER_FUNCTIONS_H

#include "replay-bridge/replayer/operations.h"
#include "replay-bridge/replayer/replayer.h"

/* p2p.c */
ti_replay_fn replay_send, replay_recv, replay_sendrecv, replay_probe, replay_mprobe, replay_mrecv,
    replay_imrecv;
/* request.c */
ti_replay_fn replay_nonblocking, replay_persistent, replay_start, replay_complete,
    replay_request_free, replay_cancel, replay_grequest_start, replay_grequest_complete,
    replay_pready, replay_parrived;
/* coll.c */
ti_replay_fn replay_collective;
/* comm.c */
ti_replay_fn replay_comm_dup, replay_comm_split, replay_comm_create, replay_cart_create,
    replay_cart_sub, replay_graph_create, replay_intercomm_create, replay_intercomm_merge,
    replay_comm_set_info, replay_comm_free;
/* rma.c */
ti_replay_fn replay_win_create, replay_win_attach, replay_win_set_info, replay_win_free,
    replay_transfer, replay_win_fence, replay_win_start, replay_win_complete, replay_win_lock;
/* file.c */
ti_replay_fn replay_file_open, replay_file_close, replay_file_delete, replay_file_set,
    replay_file_access;

#endif
