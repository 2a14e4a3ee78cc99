/*
 * Folded traces of the ranks of a source, whether they are stored so or not.
 */
#ifndef TI_ANALYSIS_FOLDED_H
#define TI_ANALYSIS_FOLDED_H

#include "bundle/source.h"
#include "common/ranges.h"
#include "fold/shape.h"

/*
 * Open a reader of one rank whose trace is folded, for which ti_reader_folded() is not NULL.  A
 * rank that is not stored so is read and folded first.  All of the record has been checked.
 * TI_ERR_INPUT: the rank is missing or damaged, or its calls do not repeat.  TI_ERR_IO.
 */
ti_status ti_folded_open_rank(struct ti_source *s, int64_t rank, struct ti_reader **out,
                              struct ti_err *err);

/* Which ranks were taken.  A zeroed struct has none. */
struct ti_folded_ranks {
    int64_t np, taken; /* ranks of the run; ranks taken, incomplete ones among them */
    struct ti_ranges missing, incomplete, damaged;
    char first_damaged[1100]; /* why */
};

/*
 * Call `take` for each rank, in ascending order, or for rank `only` if that is not below 0.  Ranks
 * that are missing, incomplete or cannot be folded are in *ranks; the result is then
 * TI_ERR_PARTIAL or TI_ERR_INPUT, with an empty `err` unless `only` is given.  TI_ERR_IO when
 * memory is short.  Another result of `take` than TI_OK ends the loop.  Release *ranks with
 * ti_folded_ranks_free() in any case.
 */
ti_status ti_folded_each(struct ti_source *s, int64_t only,
                         ti_status (*take)(void *arg, struct ti_reader *r, struct ti_err *err),
                         void *arg, struct ti_folded_ranks *ranks, struct ti_err *err);
void ti_folded_ranks_free(struct ti_folded_ranks *ranks);

#endif
