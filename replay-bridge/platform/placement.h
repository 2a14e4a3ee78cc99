/*
 * Placement: the host of each rank.
 */
#ifndef TI_REPLAY_BRIDGE_PLATFORM_PLACEMENT_H
#define TI_REPLAY_BRIDGE_PLATFORM_PLACEMENT_H

#include <jansson.h>

#include "replay-bridge/platform/hosts.h"

struct ti_placement {
    enum {
        TI_PLACE_BLOCK,       /* fill a host before the next */
        TI_PLACE_ROUND_ROBIN, /* one slot of each host in turn */
        TI_PLACE_RANDOM,      /* np slots at random; a seed gives the same slots on any machine */
        TI_PLACE_BY_SITE,     /* ranks of a site in proportion to its slots; block within a site */
        TI_PLACE_FILE         /* from a file, see ti_placement_read() */
    } kind;
    uint64_t seed;    /* for TI_PLACE_RANDOM */
    const char *path; /* for TI_PLACE_FILE */
};

/* Parses "block", "round-robin", "random:SEED", "by-site" or "file:PATH".  out->path points into
 * `text`.  TI_ERR_USAGE. */
ti_status ti_placement_parse(const char *text, struct ti_placement *out, struct ti_err *err);

/*
 * Reads a placement file: each line has the host of the next rank, or "NAME:N" for the next N
 * ranks; '#' starts a comment.  `out` gets one host per line, with one slot per rank.  The hosts
 * are in the order of ranks, so TI_PLACE_BLOCK places the ranks on them.
 *
 *   known     hosts of the platform, with their cores; NULL if they cannot be known
 *   slots     hosts with limits on the ranks they take; NULL: no limits
 *   hostfile  name of `slots` in messages
 *
 * TI_ERR_IO, or TI_ERR_INPUT "ranks.txt:3: ...": malformed line, unknown host, no slot left on a
 * host, fewer or more ranks than np.
 */
ti_status ti_placement_read(const char *path, int64_t np, const struct ti_hosts *known,
                            const struct ti_hosts *slots, const char *hostfile,
                            struct ti_hosts *out, struct ti_err *err);

/* Index in `hosts` of the host of each of `np` ranks; free() it.  There must be `np` slots
 * (ti_hosts_enough()). */
uint32_t *ti_place(const struct ti_hosts *hosts, const struct ti_placement *placement, int64_t np);

/* The number of ranks on each host; free() it. */
int64_t *ti_place_count(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np);

/* Writes the name of the host of each rank, one per line. */
void ti_place_write(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np, FILE *out);

/* [{"host": NAME, "ranks": [[FIRST, LAST], ...]}, ...] for the hosts that have ranks; ranges as in
 * common/ranges.h.  A new reference. */
json_t *ti_place_json(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np);

#endif
