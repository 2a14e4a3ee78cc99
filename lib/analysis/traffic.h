/*
 * The traffic between ranks: messages and one-sided transfers by pairs of ranks, collectives by
 * operation.  Computed by a pass (analysis/pass.h), so its cost depends on the loops of the ranks,
 * not on their trips.
 */
#ifndef TI_ANALYSIS_TRAFFIC_H
#define TI_ANALYSIS_TRAFFIC_H

#include "analysis/pass.h"

/* Statistics of sizes. */
struct ti_size_sums {
    uint64_t n, bytes, least, most;
    double mean,
        squares; /* mean, and sum of squared differences from it (West, CACM 22(9), 1979) */
};

/* Computed from the sum, so that the mean of equal sizes is exact; 0 if there are none. */
double ti_sizes_mean(const struct ti_size_sums *s);
double ti_sizes_deviation(const struct ti_size_sums *s);

struct ti_traffic_pair {
    struct ti_size_sums messages, one_sided;
};

struct ti_traffic {
    struct ti_map keys;           /* (from, to) -> index in `pair`; world ranks */
    struct ti_traffic_pair *pair; /* by index in `keys` */
    size_t pairs_cap;
    struct ti_traffic_pair no_pair; /* takes the place of one for which there is no memory */
    bool no_memory;                 /* memory was short */
    struct ti_size_sums messages, one_sided;     /* of all pairs */
    struct ti_size_sums collective[TI_OP_COUNT]; /* by blocking form */
    size_t talking;                              /* pairs with messages */
    bool overflow;                               /* sums of bytes are above 2^64 - 1 */
    struct ti_pass pass;                         /* the ranks that were read */
};

/*
 * Add up rank `only`, or all ranks if it is below 0.  As ti_pass(), and TI_ERR_INPUT if there are
 * more than 2^64 - 1 bytes.  TI_ERR_IO when memory is short.  Release *out with ti_traffic_free()
 * in any case.
 */
ti_status ti_traffic_read(struct ti_source *s, int64_t only, struct ti_traffic *out,
                          struct ti_err *err);
void ti_traffic_free(struct ti_traffic *t);

#endif
