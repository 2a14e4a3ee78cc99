/* Recorders that are still to be written name the call. */
#include "minitrace/state.h"

#define PENDING(name, makes_request)                            \
    __attribute__((weak)) void ti_rec_##name(struct ti_call *c) \
    {                                                           \
        if (makes_request)                                      \
            ti_request_hide(c);                                 \
        ti_rec_untraced(c, ti_op_info(c->op)->text);            \
    }
PENDING(isendrecv, true)
PENDING(psend_init, true)
PENDING(pready, false)
PENDING(parrived, false)
