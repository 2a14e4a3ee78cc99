#include "check/ops.h"

enum ti_halves ti_op_halves(uint32_t op)
{
    switch (op) {
    case TI_OP_SEND:
    case TI_OP_BSEND:
    case TI_OP_SSEND:
    case TI_OP_RSEND:
    case TI_OP_ISEND:
    case TI_OP_IBSEND:
    case TI_OP_ISSEND:
    case TI_OP_IRSEND:
    case TI_OP_SEND_INIT:
    case TI_OP_BSEND_INIT:
    case TI_OP_SSEND_INIT:
    case TI_OP_RSEND_INIT:
    case TI_OP_PSEND_INIT:
        return TI_HALF_SEND;
    case TI_OP_RECV:
    case TI_OP_IRECV:
    case TI_OP_RECV_INIT:
    case TI_OP_PRECV_INIT:
        return TI_HALF_RECV;
    case TI_OP_SENDRECV:
    case TI_OP_SENDRECV_REPLACE:
    case TI_OP_ISENDRECV:
    case TI_OP_ISENDRECV_REPLACE:
        return TI_HALF_BOTH;
    default:
        return TI_HALF_NONE;
    }
}

enum ti_send_mode ti_op_mode(uint32_t op)
{
    switch (op) {
    case TI_OP_BSEND:
    case TI_OP_IBSEND:
    case TI_OP_BSEND_INIT:
        return TI_SEND_BUFFERED;
    case TI_OP_SSEND:
    case TI_OP_ISSEND:
    case TI_OP_SSEND_INIT:
        return TI_SEND_SYNCHRONOUS;
    default:
        return TI_SEND_STANDARD;
    }
}

bool ti_op_partitioned(uint32_t op)
{
    return op == TI_OP_PSEND_INIT || op == TI_OP_PRECV_INIT;
}

bool ti_op_makes_request(uint32_t op)
{
    switch (op) {
    case TI_OP_PREADY:
    case TI_OP_PREADY_RANGE:
    case TI_OP_PREADY_LIST:
    case TI_OP_PARRIVED:
    case TI_OP_START:
    case TI_OP_CANCEL:
    case TI_OP_GREQUEST_COMPLETE:
        return false;
    default:
        return !ti_op_completes(op) && (ti_op_info(op)->fields & TI_M_REQ);
    }
}

bool ti_op_persistent(uint32_t op)
{
    switch (op) {
    case TI_OP_SEND_INIT:
    case TI_OP_BSEND_INIT:
    case TI_OP_SSEND_INIT:
    case TI_OP_RSEND_INIT:
    case TI_OP_RECV_INIT:
    case TI_OP_PSEND_INIT:
    case TI_OP_PRECV_INIT:
        return true;
    default:
        return ti_op_collective(op) && ti_op_form(op) == TI_FORM_PERSISTENT;
    }
}

bool ti_op_completes(uint32_t op)
{
    return op >= TI_OP_WAIT && op <= TI_OP_REQUEST_FREE;
}

/* Of windows and files: those that only one rank calls are left out. */
static bool joins_object(uint32_t op)
{
    switch (op) {
    case TI_OP_WIN_CREATE:
    case TI_OP_WIN_ALLOCATE:
    case TI_OP_WIN_ALLOCATE_SHARED:
    case TI_OP_WIN_CREATE_DYNAMIC:
    case TI_OP_WIN_SET_INFO:
    case TI_OP_WIN_FREE:
    case TI_OP_WIN_FENCE:
    case TI_OP_FILE_OPEN:
    case TI_OP_FILE_CLOSE:
    case TI_OP_FILE_SET_VIEW:
    case TI_OP_FILE_SET_SIZE:
    case TI_OP_FILE_PREALLOCATE:
    case TI_OP_FILE_SET_INFO:
    case TI_OP_FILE_SET_ATOMICITY:
    case TI_OP_FILE_SEEK_SHARED:
    case TI_OP_FILE_SYNC:
#define ACCESS(NAME)                                                                               \
    case TI_OP_FILE_##NAME##_ALL:                                                                  \
    case TI_OP_FILE_##NAME##_AT_ALL:                                                               \
    case TI_OP_FILE_##NAME##_ORDERED:                                                              \
    case TI_OP_FILE_I##NAME##_ALL:                                                                 \
    case TI_OP_FILE_I##NAME##_AT_ALL:                                                              \
    case TI_OP_FILE_##NAME##_ALL_BEGIN:                                                            \
    case TI_OP_FILE_##NAME##_ALL_END:                                                              \
    case TI_OP_FILE_##NAME##_AT_ALL_BEGIN:                                                         \
    case TI_OP_FILE_##NAME##_AT_ALL_END:                                                           \
    case TI_OP_FILE_##NAME##_ORDERED_BEGIN:                                                        \
    case TI_OP_FILE_##NAME##_ORDERED_END:
        ACCESS(READ)
        ACCESS(WRITE)
#undef ACCESS
        return true;
    default:
        return false;
    }
}

bool ti_op_joins_all(uint32_t op)
{
    if (ti_op_collective(op))
        return ti_op_form(op) != TI_FORM_PERSISTENT;
    return (op >= TI_OP_COMM_DUP && op <= TI_OP_COMM_DISCONNECT) || joins_object(op);
}
