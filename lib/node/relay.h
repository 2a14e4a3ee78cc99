/*
 * ti-node as a relay ("reach", node/messages.h): ti-nodes on other nodes, started by this
 * one's OpenSSH client, whose bytes are passed on unread.
 *
 * What they say is taken by turns, a piece of each, while the outbox has room; who does not
 * take what is sent to him is ended when too much of it waits.
 */
#ifndef TI_RELAY_H
#define TI_RELAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "node/outbox.h"

#define TI_RELAY_STARTING 8 /* at a time, until they are logged in to */

/* Bytes that wait for one of them, and for all.  Requests for hundreds behind it, host keys
 * included, may come at once while its node is busy or its link is slow. */
#define TI_RELAY_INPUT_MAX (1 << 20)
#define TI_RELAY_INPUT_ALL (8 << 20)

/* A "reach" that makes sense; its texts are the request's. */
struct ti_reach {
    uint32_t stream;
    const char *host, *tiara; /* tiara: NULL */
    const json_t *known;      /* strings, or NULL */
    bool forward_agent;
    double connect_s, answer_s, silence_s; /* 0: as usual */
};

/* TI_ERR_INPUT says what makes no sense. */
ti_status ti_reach_parse(const json_t *request, struct ti_reach *reach, struct ti_err *err);

struct ti_relay;

/* Frames go to `out`.  NULL: no memory, err. */
struct ti_relay *ti_relay_new(struct ti_outbox *out, struct ti_err *err);

/* Ends all connections, without a word. */
void ti_relay_free(struct ti_relay *r);

/* TI_ERR_INPUT when the stream is in use or there are too many. */
ti_status ti_relay_reach(struct ti_relay *r, const struct ti_reach *reach, struct ti_err *err);
bool ti_relay_has(const struct ti_relay *r, uint32_t stream);
bool ti_relay_unreach(struct ti_relay *r, uint32_t stream); /* false: there is none */
void ti_relay_input(struct ti_relay *r, uint32_t stream, const void *data, size_t bytes);

/* ti_relay_go() has something to do when the descriptor can be read, or in so many seconds. */
int ti_relay_fd(const struct ti_relay *r);
double ti_relay_due_s(const struct ti_relay *r);
void ti_relay_go(struct ti_relay *r);

/* Nothing is taken of them for now. */
void ti_relay_hold(struct ti_relay *r, bool hold);

/* Pieces that were taken of them so far, and how many wait for their turn: for others who fill
 * the same outbox. */
uint64_t ti_relay_turned(const struct ti_relay *r);
int ti_relay_waiting(const struct ti_relay *r);

#endif
