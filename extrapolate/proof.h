/*
 * The proof of an extrapolation: the largest input is extrapolated from the others, and compared
 * with what was really there.
 */
#ifndef TI_EXTRAPOLATE_PROOF_H
#define TI_EXTRAPOLATE_PROOF_H

#include <jansson.h>

#include "extrapolate/volumes.h"

/* Conditions of a proof, as shares: the whole volume is right within VOLUME, and that of each call
 * site with RELEVANT of the volume within SITE; all events are equal; and the intervals of the
 * volumes of the target are no wider to either side (ti_proof_limit()). */
#define TI_PROOF_VOLUME   0.01
#define TI_PROOF_SITE     0.05
#define TI_PROOF_RELEVANT 0.01

/* The volume before calls from a call site: as it was, and as it was extrapolated. */
struct ti_proof_site {
    char *site; /* its text in the trace */
    double was, made;
};

struct ti_proof {
    bool tried; /* the trace of the largest input was made, and compared */
    bool holds;
    char why[700]; /* it does not hold; "" */
    int64_t np;    /* of the largest input */
    int64_t equal_ranks;
    uint64_t events, equal_events; /* of a rank, those before the first difference are equal */
    double was, made;              /* volumes */
    double low, high;              /* the interval of the one that was made */
    struct ti_proof_site *site;    /* the one with the largest difference first */
    size_t nsites, cap;
};

/* Prove by the inputs of the models.  With `dims`, which end with 0, the grid of the largest input
 * is that. The trace that is made is in the file `scratch`, which is removed.  That it does not
 * hold is no error.  TI_ERR_INPUT, TI_ERR_IO: a trace cannot be read, or written. */
ti_status ti_proof_find(const struct ti_models *m, const int64_t *dims, const char *scratch,
                        struct ti_proof *out, struct ti_err *err);

/* A proof does not hold if the volumes of the target, `v`, are not determined. */
void ti_proof_limit(struct ti_proof *p, const struct ti_target_volumes *v);
void ti_proof_free(struct ti_proof *p);

/* By how much a number is off, as a share of what it was. */
double ti_proof_off(double was, double made);

/* The largest difference of a call site with a share that is relevant. */
double ti_proof_worst(const struct ti_proof *p);

/* "proof: ..." or "unproven: ..." into buf, which is returned. */
const char *ti_proof_text(const struct ti_proof *p, char *buf, size_t room);

json_t *ti_proof_json(const struct ti_proof *p);

#endif
