/*
 * The memory of a rank as a function of np, fitted to pilots with a few ranks
 * (acquire/run/measure.h). Pure computation.
 *
 *     m(np) = a + b / np + c np
 *
 * a is what every rank has: MPI itself, buffers, copies of common data.  b is the problem that is
 * divided among the ranks.  c is what a rank keeps for each peer: Open MPI's share
 * (TI_PEER_BYTES), and tables of all ranks in the program.  c is at least Open MPI's share.  At
 * the few ranks of a pilot this share is below the noise; at 16,384 it is most of a small rank.
 *
 * Residuals are relative to the model, so every point counts alike.
 */
#ifndef TI_ACQUIRE_PLAN_MEMORY_MODEL_H
#define TI_ACQUIRE_PLAN_MEMORY_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* Memory of Open MPI 4.1.4 per peer.  An empty program with pml ob1 has 3,024, 3,040, 3,056,
 * 3,084, 3,144 and 3,256 KiB of its own at 2, 4, 8, 16, 32 and 64 ranks: 3.6 KiB a peer, whether
 * it communicates with all of them (MPI_Alltoall) or with none. */
#define TI_PEER_BYTES 3700

#define TI_MEMORY_POINTS_MAX 16

struct ti_memory_point {
    int64_t np;
    int64_t bytes; /* of the largest rank */
};

struct ti_memory_model {
    int n; /* number of points, ascending by np */
    struct ti_memory_point point[TI_MEMORY_POINTS_MAX];
    double a, b, c;      /* bytes, not negative */
    double residual_pct; /* the largest; 0 with 2 points, which always fit exactly */
    bool grows;          /* memory grows with np by more than Open MPI's share: c was fitted */
};

/*
 * Fit the model to `n` points with different np, in any order.
 *
 * One point: b is 0, so the model is an upper bound for more ranks.  Two: exact, unless a or b
 * would be negative.  A negative term is set to 0 and the others are fitted.  If memory grows
 * with np, c is fitted, too.  TI_ERR_INPUT: no points, equal np, or no bytes.
 */
ti_status ti_memory_model_fit(const struct ti_memory_point *point, int n,
                              struct ti_memory_model *out, struct ti_err *err);

/*
 * The safety margin on m(np) in percent: the largest residual (5 % if there are too few points
 * for residuals), plus 2 % for each doubling of np beyond the points.
 */
double ti_memory_model_margin_pct(const struct ti_memory_model *m, int64_t np);

/* m(np) with the margin; at least 1. */
int64_t ti_memory_model_bytes(const struct ti_memory_model *m, int64_t np);

/* Whether np is so far from the points that the user should be warned. */
bool ti_memory_model_far(const struct ti_memory_model *m, int64_t np);

/* The largest np whose ranks fit into `available_bytes`, each with `more_bytes` in addition; 0 if
 * not even one rank fits. */
int64_t ti_memory_model_largest(const struct ti_memory_model *m, int64_t more_bytes,
                                int64_t available_bytes);

/* "3.0 MiB + 96.2 MiB / np + 3.6 KiB np, to within 1.2 % (4, 8 and 16 ranks)" into buf. */
char *ti_memory_model_text(const struct ti_memory_model *m, char *buf, int buf_bytes);

/* A new object; NULL when out of memory. */
json_t *ti_memory_model_json(const struct ti_memory_model *m);

#endif
