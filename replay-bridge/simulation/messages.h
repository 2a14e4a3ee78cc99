/*
 * Load of links (--links): the messages of a simulation, also those within collectives, and the
 * links on their routes; with --links=SLICES also when they begin.
 *
 * During the simulation SimGrid's tracing (tracing/smpi/internals) writes a line for each message
 * into a FIFO in the scratch directory.  Afterwards ti-smpi-routes asks SimGrid for the routes
 * between hosts.  SimGrid's plugin link_load is not used, since it counts latencies as load: a
 * thousand messages of 100 bytes appear as 25 MB.
 *
 * How long the simulation takes is not known while messages are counted: slices become twice as
 * long when a message begins after the last one.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_MESSAGES_H
#define TI_REPLAY_BRIDGE_SIMULATION_MESSAGES_H

#include <jansson.h>

#include "common/map.h"
#include "replay-bridge/platform/hosts.h"

struct ti_messages {
    const uint32_t *host_of; /* index of the host of each of `np` ranks */
    int64_t np;
    long kind; /* type number, in SimGrid's tracing, of the start of a message; 0: not known yet */
    int64_t slices;      /* most slices of time; 0: none */
    double slice_s;      /* how long one lasts, so far */
    struct ti_map pairs; /* (host, host, slice) -> index into `sum` */
    struct ti_message_sum {
        uint64_t messages, bytes;
    } * sum;
    size_t room;
};

/* Takes one line of SimGrid's tracing, without the newline. */
void ti_messages_line(struct ti_messages *m, const char *line);

/* Ends the counting, `seconds` being the end of the simulation, and writes "FROM TO SLICE MESSAGES
 * BYTES" for each pair of hosts and slice, for ti-smpi-routes, into the file `name` of the scratch
 * directory.  TI_ERR_IO. */
ti_status ti_messages_write(struct ti_messages *m, double seconds, const struct ti_hosts *hosts,
                            const char *name, struct ti_err *err);
void ti_messages_free(struct ti_messages *m);

/* Reads the result of ti-smpi-routes: an array of the links that messages took, the busiest first
 * (a new reference).  Adds "use" to each link: the share of its bandwidth that was used over
 * `seconds`.  If slices were asked for, `slices` of a link has the bytes that it carries in each:
 * what it cannot carry in the slice in which messages begin follows in the next ones.  NULL: cannot
 * be read, see `err`. */
json_t *ti_messages_links(const struct ti_messages *m, const char *path, double seconds,
                          struct ti_err *err);

#endif
