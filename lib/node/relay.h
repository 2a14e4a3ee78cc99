/*
 * ti-node as a relay ("reach", session/messages.h).  It starts children, which are ti-nodes on
 * other nodes, with this node's OpenSSH client, and passes their bytes on unread.
 *
 * The children's output is read in turns, a piece of each, while the outbox has room.  Input for a
 * child is queued.  A child whose queue exceeds the limit is abandoned.
 */
#ifndef TI_NODE_RELAY_H
#define TI_NODE_RELAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "node/outbox.h"

#define TI_RELAY_STARTING 8 /* logins in progress at a time */

/* Bytes queued for one child, and for all.  A child may itself be a relay: requests for hundreds of
 * nodes behind it, with host keys, may come at once while its node is busy or its link is slow. */
#define TI_RELAY_INPUT_MAX (1 << 20)
#define TI_RELAY_INPUT_ALL (8 << 20)

/* A valid "reach" request; strings are borrowed from the request. */
struct ti_reach {
    uint32_t stream;
    const char *host, *tiara; /* tiara: NULL */
    const json_t *known;      /* strings, or NULL */
    bool forward_agent;
    double connect_s, answer_s, silence_s; /* 0: the default */
};

/* Check a request; TI_ERR_INPUT names the member that is invalid. */
ti_status ti_reach_parse(const json_t *request, struct ti_reach *reach, struct ti_err *err);

struct ti_relay;

/* Make a relay whose frames go to `out`.  NULL: see err. */
struct ti_relay *ti_relay_new(struct ti_outbox *out, struct ti_err *err);

/* Close all connections, without "ended" messages. */
void ti_relay_free(struct ti_relay *r);

/* Start a child.  TI_ERR_INPUT if the stream is in use, or if there are too many children. */
ti_status ti_relay_reach(struct ti_relay *r, const struct ti_reach *reach, struct ti_err *err);
bool ti_relay_has(const struct ti_relay *r, uint32_t stream);
bool ti_relay_unreach(struct ti_relay *r, uint32_t stream); /* false: there is none */

/* Input for a child; 0 bytes: the end of its input. */
void ti_relay_input(struct ti_relay *r, uint32_t stream, const void *data, size_t bytes);

/* For the caller's poll loop: call ti_relay_run() when the descriptor is readable, and at the
 * latest in ti_relay_due_s() seconds. */
int ti_relay_fd(const struct ti_relay *r);
double ti_relay_due_s(const struct ti_relay *r);
void ti_relay_run(struct ti_relay *r);

/* Stop, or resume, reading from the children. */
void ti_relay_hold(struct ti_relay *r, bool hold);

/* For fairness between the relay and other users of the outbox: how many pieces of children's
 * output were read so far, and how many children wait for their turn. */
uint64_t ti_relay_turned(const struct ti_relay *r);
int ti_relay_waiting(const struct ti_relay *r);

#endif
