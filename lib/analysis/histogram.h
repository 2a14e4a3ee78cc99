/*
 * Histograms of the sizes of messages and of the volumes of bursts, in powers of two.  Computed by
 * a pass (analysis/pass.h), so its cost depends on the loops of the ranks, not on their trips.
 */
#ifndef TI_ANALYSIS_HISTOGRAM_H
#define TI_ANALYSIS_HISTOGRAM_H

#include "analysis/pass.h"
#include "trace/caveats.h"

/* Histograms: X(name in JSON, title, name of the sum in JSON, title of the sum, NULL: that of
 * volumes) */
#define TI_HISTOGRAMS(X)                                                                           \
    X(messages, "messages", "bytes", "bytes")                                                      \
    X(one_sided, "one-sided operations", "bytes", "bytes")                                         \
    X(collectives, "collectives, a rank's share in a call", "bytes", "bytes")                      \
    X(bursts, "bursts", "volume", NULL)
#define TI_HISTOGRAM_ENUM(name, title, sum, unit) TI_HISTOGRAM_##name,
enum ti_histogram_kind { TI_HISTOGRAMS(TI_HISTOGRAM_ENUM) TI_HISTOGRAM_COUNT };

/* Of each class (ti_class_from()), the number of values and their sum. */
struct ti_class_counts {
    uint64_t n, total; /* of all */
    uint64_t count[TI_CLASSES], sum[TI_CLASSES];
};

struct ti_histogram {
    struct ti_class_counts of[TI_HISTOGRAM_COUNT];
    char unit[64];             /* of volumes */
    struct ti_caveats quality; /* of volumes */
    bool overflow;             /* a sum is above 2^64 - 1 */
    struct ti_pass pass;       /* the ranks that were read */
};

/* Add up rank `only`, or all ranks if it is below 0.  As ti_pass(), and TI_ERR_INPUT if a sum is
 * above 2^64 - 1.  Release *out with ti_histogram_free() in any case. */
ti_status ti_histogram_read(struct ti_source *s, int64_t only, struct ti_histogram *out,
                            struct ti_err *err);
void ti_histogram_free(struct ti_histogram *h);

#endif
