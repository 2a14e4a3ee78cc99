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
PENDING(isendrecv)
PENDING(psend_init)
PENDING(pready)
PENDING(parrived)
