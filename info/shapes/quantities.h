/*
 * Sums over the loops and calls of a trace: volumes, messages, bytes, calls.
 */
#ifndef TI_INFO_SHAPES_QUANTITIES_H
#define TI_INFO_SHAPES_QUANTITIES_H

#include "analysis/folded.h"
#include "versions/versions.h"

/* Messages and bytes are those of struct ti_scan: what sends, collectives, one-sided operations and
 * accesses to files give. */
enum info_quantity { INFO_VOLUME, INFO_MESSAGES, INFO_BYTES, INFO_CALLS, INFO_QUANTITIES };

struct info_sums {
    uint64_t of[INFO_QUANTITIES];
    uint64_t passes, trips; /* of loops: how often the program came to them, and all trips */
};

/* Of a trace: the sums of each node of each shape, over all ranks that have the shape. */
struct info_quantities {
    struct info_sums *
        *shape; /* by number of the shape, then of the node; of a loop only trips and passes */
    uint32_t *nnodes; /* of each shape */
    size_t nshapes, shapes_cap, nnodes_cap;
    struct ti_folded_ranks ranks;
};

/* Read the ranks of a trace, and add their shapes to `v` as those of trace `trace`.  Ranks that are
 * missing, incomplete or damaged are in q->ranks, and are no error.  TI_ERR_INPUT: sums are above
 * 2^64 - 1; TI_ERR_IO.  Release *q with info_quantities_free() in any case. */
ti_status info_quantities_read(struct ti_source *s, struct ti_versions *v, int trace,
                               struct info_quantities *q, struct ti_err *err);
void info_quantities_free(struct info_quantities *q);

#endif
