/*
 * Messages of a simulation, those within collective operations too, and the links that they take.
 *
 * SimGrid tells of each message while it simulates, by its tracing (tracing/smpi/internals), into
 * a FIFO in the scratch directory.  The routes between hosts it tells afterwards, to
 * ti-smpi-routes.  (SimGrid's plugin link_load counts a link as used during latencies as well: a
 * thousand messages of 100 bytes as 25 MB.)
 */
#ifndef TI_MESSAGES_H
#define TI_MESSAGES_H

#include <jansson.h>

#include "common/map.h"
#include "replay-bridge/platform/hosts.h"

struct ti_messages {
    const uint32_t *host_of; /* index of the host of each of `np` ranks */
    int64_t np;
    long kind; /* the number that SimGrid's tracing gives to the start of a message; 0: not yet */
    struct ti_map pairs; /* of hosts */
    struct ti_message_sum {
        uint64_t messages, bytes;
    } * sum;
    size_t room;
};

/* Takes one line of SimGrid's tracing, without its end. */
void ti_messages_line(struct ti_messages *m, const char *line);

/* Writes "FROM TO MESSAGES BYTES" for each pair of hosts, for ti-smpi-routes.  TI_ERR_IO. */
ti_status ti_messages_write(const struct ti_messages *m, const struct ti_hosts *hosts,
                            const char *path, struct ti_err *err);
void ti_messages_free(struct ti_messages *m);

/* What ti-smpi-routes wrote: an array of links that messages took, the busiest first.  Each gets
 * "use", the share of its bandwidth in `seconds`.  NULL: cannot be read. */
json_t *ti_messages_links(const char *path, double seconds, struct ti_err *err);

#endif
