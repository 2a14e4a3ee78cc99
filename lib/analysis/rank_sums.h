/*
 * Sums of ranks: all together, the least and the greatest.  A zeroed struct has no ranks.
 */
#ifndef TI_ANALYSIS_RANK_SUMS_H
#define TI_ANALYSIS_RANK_SUMS_H

#include <stdint.h>

struct ti_rank_sums {
    int64_t ranks;
    uint64_t sum, least, most;
    int64_t least_rank, most_rank; /* of equal ranks, the one that was added first */
};

static inline void ti_rank_sums_add(struct ti_rank_sums *s, int64_t rank, uint64_t value)
{
    if (s->ranks == 0 || value < s->least) {
        s->least = value;
        s->least_rank = rank;
    }
    if (s->ranks == 0 || value > s->most) {
        s->most = value;
        s->most_rank = rank;
    }
    s->ranks++;
    s->sum += value;
}

#endif
