/*
 * Simulated time beside real time, as ti-calibrate --measure writes it.
 */
#ifndef TI_AGAINST_H
#define TI_AGAINST_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_against {
    int64_t np; /* 0: the file does not say */
    int runs;
    double *real;           /* seconds of each run */
    double least;           /* of these: what other load disturbed least */
    double median, spread;  /* of these; half the range that the middle half of them is in */
    int64_t ranks;          /* that all runs tell of; 0: none */
    double *rank_real;      /* their medians */
    double *rank_simulated; /* filled by ti_against_ranks(); -1: not known */
};

/*
 * Read {"np": N, "runs": [{"time_s": T, "ranks_s": [T, ...]}, ...]}; np and ranks_s may be left
 * out.  TI_ERR_IO, or TI_ERR_INPUT: malformed, no run, a time that is not above 0, ranks that are
 * not np.  ti_against_free() releases *out, after errors too.
 */
ti_status ti_against_read(const char *path, struct ti_against *out, struct ti_err *err);
void ti_against_free(struct ti_against *a);

/* Take from SMPI's log when each rank ended; where it does not tell, that stays unknown. */
void ti_against_ranks(struct ti_against *a, const char *log);

/* What makes smpirun log it; ends with NULL. */
extern const char *const ti_against_log[];

/* A table of real time, simulated time, and error: (simulated - real) / real. */
void ti_against_print(const struct ti_against *a, double simulated, FILE *out);
json_t *ti_against_json(const struct ti_against *a, double simulated);

#endif
