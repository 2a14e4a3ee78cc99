/* Recorders that are still to be written name the call. */
#include "minitrace/state.h"

#define PENDING(name)                                             \
    __attribute__((weak)) void ti_rec_##name(struct ti_call *c)   \
    {                                                             \
        ti_rec_untraced(c, ti_op_info(c->op)->text);              \
    }
#define PENDING_PRE(name)                                         \
    __attribute__((weak)) void ti_pre_##name(struct ti_call *c)   \
    {                                                             \
        (void)c;                                                  \
    }
PENDING(send_init)
PENDING(recv_init)
PENDING_PRE(mprobe)
PENDING(mprobe)
PENDING_PRE(improbe)
PENDING(improbe)
PENDING_PRE(mrecv)
PENDING(mrecv)
PENDING_PRE(imrecv)
PENDING(imrecv)
PENDING(start)
PENDING(startall)
PENDING(cancel)
PENDING(grequest_start)
PENDING(grequest_complete)
PENDING(comm_idup)
PENDING(comm_split_type)
PENDING(comm_create_group)
PENDING(cart_sub)
PENDING(graph_create)
PENDING(dist_graph_create)
PENDING(intercomm_create)
PENDING(intercomm_merge)
PENDING(comm_set_info)
PENDING(win_create)
PENDING(win_attach)
PENDING(win_call)
PENDING_PRE(win_free)
PENDING(win_free)
PENDING(win_mode)
PENDING(win_group)
PENDING(win_test)
PENDING(win_lock)
PENDING(win_target)
PENDING(rma)
PENDING(rma_request)
PENDING(rma_one)
PENDING(file_open)
PENDING_PRE(file_close)
PENDING(file_close)
PENDING(file_delete)
PENDING(file_set_view)
PENDING(file_size)
PENDING(file_call)
PENDING(file_set_atomicity)
PENDING(file_seek_shared)
PENDING_PRE(file_access)
PENDING(file_access)
PENDING(file_iaccess)
PENDING(file_begin)
PENDING_PRE(file_end)
PENDING(file_end)
PENDING(isendrecv)
PENDING(psend_init)
PENDING(pready)
PENDING(parrived)
