/*
 * What a rank takes in memory, as a function of the number of ranks, from what it
 * took at a few numbers (acquire/run/measure.h).  Pure computation.
 *
 *     m(np) = a + b / np + c np
 *
 * a is what every rank has: MPI itself, buffers, copies of common data.  b is the
 * problem that is divided among the ranks.  c is what a rank keeps for each
 * other one: Open MPI does (TI_PEER_BYTES), and programs that have tables of all ranks.
 * c is no less than Open MPI's: at the few ranks of a pilot it is lost in what
 * else varies, at 16,384 it is most of a small rank.
 *
 * Residuals are relative to what the model says: a fit to 1 % is one at each point.
 */
#ifndef TI_MEMORY_MODEL_H
#define TI_MEMORY_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* What Open MPI 4.1.4 takes for each other rank: an empty program, pml ob1, has 3,024,
 * 3,040, 3,056, 3,084, 3,144 and 3,256 KiB of its own at 2, 4, 8, 16, 32 and 64 ranks,
 * whether it talks to all of them (MPI_Alltoall) or to none: 3.6 KiB a peer. */
#define TI_PEER_BYTES 3700

#define TI_MEMORY_POINTS_MAX 16

struct ti_memory_point {
    int64_t np;
    int64_t bytes; /* of the rank that took most */
};

struct ti_memory_model {
    int n; /* points, ascending */
    struct ti_memory_point point[TI_MEMORY_POINTS_MAX];
    double a, b, c;      /* bytes; none is negative */
    double residual_pct; /* the largest; 0 with 2 points, which always fit */
    bool grows;          /* with np, by more than Open MPI's share: c was fitted, not given */
};

/*
 * Fit to `n` points of different np (any order).  One: b is 0, so that it holds for
 * more ranks as an upper bound.  Two: exactly, unless that made a or b negative.
 * Where it would, they are 0 and the rest is fitted; memory that grows with np
 * has a c of its own.  TI_ERR_INPUT: no points, the same np twice, no bytes.
 */
ti_status ti_memory_model_fit(const struct ti_memory_point *point, int n,
                              struct ti_memory_model *out, struct ti_err *err);

/*
 * What is added to m(np) for safety: the largest residual (5 % where the points are too few
 * to have one), and 2 % for each doubling of np beyond the points.
 */
double ti_memory_model_margin_pct(const struct ti_memory_model *m, int64_t np);

/* m(np) with that margin; at least 1. */
int64_t ti_memory_model_bytes(const struct ti_memory_model *m, int64_t np);

/* Whether np is so far from the points that people should be told. */
bool ti_memory_model_far(const struct ti_memory_model *m, int64_t np);

/* The largest np of which all ranks, each with `more_bytes` besides, fit into
 * `available_bytes`; 0 if not even one does. */
int64_t ti_memory_model_largest(const struct ti_memory_model *m, int64_t more_bytes,
                                int64_t available_bytes);

/* "4, 8 and 16" into buf; returns buf. */
char *ti_memory_model_points(const struct ti_memory_model *m, char *buf, int buf_bytes);

/* "3.0 MiB + 96.2 MiB / np + 3.6 KiB np, to within 1.2 % (4, 8 and 16 ranks)" into buf. */
char *ti_memory_model_text(const struct ti_memory_model *m, char *buf, int buf_bytes);

/* A new object; NULL when out of memory. */
json_t *ti_memory_model_json(const struct ti_memory_model *m);

#endif
