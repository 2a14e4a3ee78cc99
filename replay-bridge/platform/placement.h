/*
 * Which rank runs on which host.
 */
#ifndef TI_PLACEMENT_H
#define TI_PLACEMENT_H

#include <jansson.h>

#include "replay-bridge/platform/hosts.h"

struct ti_placement {
    enum {
        TI_PLACE_BLOCK,       /* fill a host before the next */
        TI_PLACE_ROUND_ROBIN, /* one slot of each host in turn */
        TI_PLACE_RANDOM,      /* np of all slots, the same ones everywhere for one seed */
        TI_PLACE_BY_SITE,     /* each site in proportion to its slots, block within it */
        TI_PLACE_FILE         /* as a file says, see ti_placement_read() */
    } kind;
    uint64_t seed;
    const char *path; /* of the file */
};

/* "block", "round-robin", "random:SEED", "by-site" or "file:PATH", which `out` points into;
 * TI_ERR_USAGE. */
ti_status ti_placement_parse(const char *text, struct ti_placement *out, struct ti_err *err);

/*
 * Read a placement file: a host a line for each rank in turn, or "NAME:N" for N ranks in a row,
 * '#' starts a comment.  `out` gets a host for each line, with as many slots as it has ranks; they
 * are in the order of ranks, so that block places them.
 *
 *   known     the hosts there are, which tell their cores; NULL if they cannot be known
 *   slots     hosts with the slots that must do; NULL: any number of ranks on a host
 *   hostfile  names `slots` in errors
 *
 * TI_ERR_IO, or TI_ERR_INPUT "ranks.txt:3: ..." for a line that is malformed, a host that is not
 * known, a rank for which its host has no slot, and fewer or more ranks than np.
 */
ti_status ti_placement_read(const char *path, int64_t np, const struct ti_hosts *known,
                            const struct ti_hosts *slots, const char *hostfile,
                            struct ti_hosts *out, struct ti_err *err);

/* Index of the host of each of `np` ranks, for which there are slots; free() it. */
uint32_t *ti_place(const struct ti_hosts *hosts, const struct ti_placement *placement, int64_t np);

/* The host of each rank, one a line. */
void ti_place_write(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np, FILE *out);

/* [{"host": NAME, "ranks": [[FIRST, LAST], ...]}, ...]: the hosts that have ranks, as
 * formats/ranges.h writes these. */
json_t *ti_place_json(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np);

#endif
