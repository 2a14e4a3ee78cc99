/*
 * Folded traces of the ranks of a source, for phases.c, imbalance.c and position.c.
 */
#ifndef TI_INFO_SHAPES_FOLDED_H
#define TI_INFO_SHAPES_FOLDED_H

#include "common/ranges.h"
#include "fold/shape.h"
#include "info/info.h"

/*
 * Open a reader of one rank whose trace is folded, for which ti_reader_folded() is not NULL.  A
 * rank that is not stored so is read and folded first.  All of the record has been checked.
 * TI_ERR_INPUT: the rank is missing or damaged, or its calls do not repeat.
 */
ti_status info_folded_open(struct ti_source *s, int64_t rank, struct ti_reader **out,
                           struct ti_err *err);

/* Which ranks were taken.  A zeroed struct has none. */
struct info_folded_ranks {
    int64_t np, taken; /* ranks of the run; ranks taken, incomplete ones among them */
    struct ti_ranges missing, incomplete, damaged;
};

/*
 * Call `take` for each rank, in ascending order, or for rank `only` if that is not below 0.  Ranks
 * that are missing, incomplete or cannot be folded are named on stderr; the result is then
 * TI_ERR_PARTIAL or TI_ERR_INPUT, with an empty `err` unless `only` is given.  Another result of
 * `take` than TI_OK ends the loop.  Release *ranks with info_folded_ranks_free() in any case.
 */
ti_status info_folded_each(struct ti_source *s, int64_t only,
                           ti_status (*take)(void *arg, struct ti_reader *r, struct ti_err *err),
                           void *arg, struct info_folded_ranks *ranks, struct ti_err *err);
void info_folded_ranks_free(struct info_folded_ranks *ranks);

/* Add the keys path, np, ranks, complete, missing, incomplete, damaged to `out`. */
void info_folded_json(const struct ti_source *s, const struct info_folded_ranks *ranks,
                      json_t *out);

#endif
