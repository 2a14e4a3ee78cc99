/*
 * Comparison of two traces of a rank, event by event, up to the first difference.
 */
#ifndef TI_ANALYSIS_COMPARE_H
#define TI_ANALYSIS_COMPARE_H

#include "trace/reader.h"

/* Differences that do not count. */
struct ti_compare_style {
    bool no_volumes;
    uint64_t tolerance; /* by which volumes may differ */
};

enum ti_differs { TI_DIFFERS_NOT, TI_DIFFERS_EVENT, TI_DIFFERS_COMM };

struct ti_compared {
    enum ti_differs differs;
    uint64_t events;       /* that are equal; so the number of the event that differs */
    struct ti_event ev[2]; /* EVENT: these, valid until the readers go on */
    int more[2];           /* 0: this trace has no further event */
    int64_t comm;          /* COMM: a communicator that has other members */
};

/* Compare the traces of two readers that are at the begin.  Trips of loops that are alike are read
 * once (trace/alike.h).  Call sites and extra columns are not compared.  Errors as of
 * ti_reader_next(). */
ti_status ti_compare_rank(struct ti_reader *const r[2], const struct ti_compare_style *style,
                          struct ti_compared *out, struct ti_err *err);

/* Whether the communicators of two readers, which are at the end, are equal; *which is the first
 * one that is not. */
bool ti_compare_comms(const struct ti_reader *a, const struct ti_reader *b, int64_t *which);

#endif
