/*
 * The plan of a run over several nodes (--dry-run), made from the command line and the sites
 * alone: no node is contacted.
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
    struct ti_order order;    /* by --like; np == 0: contiguous */
    struct ti_common_isa isa; /* by the processors in the sites file */
    double seconds;           /* that planning took */
    char name[NAME_MAX + 1];
    char dir_name[PATH_MAX]; /* the run directory on each node */
    char output[PATH_MAX];
};

/*
 * Make the plan and write the hostfile of --write-hostfile.  `facts` (NULL: none) adds to the
 * sites.  The sites are borrowed and must live as long as the plan.  Release with
 * ti_composite_free(), also after an error.
 */
ti_status ti_composite_plan(struct ti_composite *c, const struct ti_options *o,
                            const struct ti_sites *sites, const struct ti_place_facts *facts,
                            struct ti_err *err);

/*
 * Write the placement as an Open MPI hostfile to `path`; "-" is standard output.  With an order
 * (NULL or np == 0: none) the file has one line per rank, for --map-by seq, and a comment says
 * so.
 */
ti_status ti_composite_write_hostfile(const char *path, const struct ti_place_request *in,
                                      const struct ti_rank_placement *place,
                                      const struct ti_order *order, struct ti_err *err);

/* Read the former run of --like and order the ranks of the placement by it. */
ti_status ti_composite_order(const struct ti_options *o, const struct ti_place_request *in,
                             const struct ti_rank_placement *place, struct ti_order *out,
                             struct ti_err *err);

void ti_composite_print(const struct ti_composite *c, FILE *out);

/* Print warnings about nodes that differ, and how long planning took, to stderr. */
void ti_composite_say(const struct ti_composite *c);

/* Print the --json summary to stdout. */
void ti_composite_summary(const struct ti_composite *c, ti_status st, const struct ti_err *err);

void ti_composite_free(struct ti_composite *c);

#endif
