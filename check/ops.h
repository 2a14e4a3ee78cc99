/* What operations do, as far as messages, requests and communicators go. */
#ifndef TI_OPS_H
#define TI_OPS_H

#include "check/walk.h"

/* Halves of an operation that posts messages, at once or by each start. */
enum ti_halves { TI_HALF_NONE = 0, TI_HALF_SEND = 1, TI_HALF_RECV = 2, TI_HALF_BOTH = 3 };
enum ti_halves ti_op_halves(uint32_t op);
enum ti_send_mode ti_op_mode(uint32_t op);

bool ti_op_partitioned(uint32_t op);

/* Whether it makes the request in its REQ; one that is inactive until a start. */
bool ti_op_makes_request(uint32_t op);
bool ti_op_persistent(uint32_t op);

/* Whether it completes requests (MPI_Request_free gives them up). */
bool ti_op_completes(uint32_t op);

/* Whether all members of the communicator, window or file must call it.  A
 * persistent collective counts where it is started. */
bool ti_op_joins_all(uint32_t op);

#endif
