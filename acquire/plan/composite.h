/*
 * A run over several nodes, as far as it can be told from the command line and a file or job,
 * with no node asked and nothing needed of this machine.
 */
#ifndef TI_COMPOSITE_H
#define TI_COMPOSITE_H

#include <limits.h>

#include "acquire/plan/common_isa.h"
#include "acquire/plan/like.h"
#include "acquire/options.h"
#include "acquire/plan/place.h"

struct ti_composite {
    const struct ti_options *o;
    const struct ti_sites *sites;
    struct ti_place_request in;
    struct ti_rank_placement place;
    bool placed;
    struct ti_order order; /* of --like; np == 0: contiguous */
    struct ti_common_isa isa; /* by what the sites say of processors */
    double seconds;        /* that the plan took */
    char name[NAME_MAX + 1];
    char dir_name[PATH_MAX]; /* where ranks write, on each node */
    char output[PATH_MAX];
};

/*
 * Plan, without a probe but with what else is known (`facts`, NULL: nothing): place, and
 * write the hostfile if one is asked for.  The sites stay the caller's, and as long as the plan.
 * Release with ti_composite_free(), also after an error.
 */
ti_status ti_composite_plan(struct ti_composite *c, const struct ti_options *o,
                            const struct ti_sites *sites, const struct ti_place_facts *facts,
                            struct ti_err *err);

/*
 * Write the placement as an Open MPI hostfile; "-" is standard output.  With an order (NULL, or
 * np == 0: none) that is a line for each rank, for --map-by seq, which a comment says.
 */
ti_status ti_composite_write_hostfile(const char *path, const struct ti_place_request *in,
                                      const struct ti_rank_placement *place,
                                      const struct ti_order *order, struct ti_err *err);

/* --like: read it, and order the ranks of a placement. */
ti_status ti_composite_order(const struct ti_options *o, const struct ti_place_request *in,
                             const struct ti_rank_placement *place, struct ti_order *out,
                             struct ti_err *err);

void ti_composite_print(const struct ti_composite *c, FILE *out);

/* What there is to say of nodes that differ, and how long the plan took. */
void ti_composite_say(const struct ti_composite *c);

/* One object on stdout: the end of --json. */
void ti_composite_summary(const struct ti_composite *c, ti_status st, const struct ti_err *err);

void ti_composite_free(struct ti_composite *c);

#endif
