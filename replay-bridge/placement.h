/*
 * Which rank runs on which host.
 */
#ifndef TI_PLACEMENT_H
#define TI_PLACEMENT_H

#include "replay-bridge/hosts.h"

struct ti_placement {
    enum { TI_PLACE_BLOCK, TI_PLACE_ROUND_ROBIN, TI_PLACE_RANDOM } kind;
    uint64_t seed;
};

/* "block", "round-robin", "random:SEED"; TI_ERR_USAGE. */
ti_status ti_placement_parse(const char *text, struct ti_placement *out, struct ti_err *err);

/*
 * Write a host for each of `np` ranks, one a line.  Block fills a host before
 * the next; round-robin takes one slot of each host in turn; random takes np of
 * all slots, the same ones everywhere for one seed.
 */
void ti_hosts_place(const struct ti_hosts *hosts, const struct ti_placement *placement, int64_t np,
                    FILE *out);

#endif
