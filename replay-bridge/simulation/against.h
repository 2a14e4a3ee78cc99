/*
 * Comparison of simulated time with real time (--against).  The real times are from a JSON file as
 * ti-calibrate --measure writes it.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_AGAINST_H
#define TI_REPLAY_BRIDGE_SIMULATION_AGAINST_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/spread.h"

struct ti_against {
    int64_t np; /* 0: the file does not say */
    int runs;
    double *real;           /* seconds of each run */
    struct ti_spread all;   /* of `real` */
    int64_t ranks;          /* number of ranks whose times are in all runs; 0: none */
    double *rank_real;      /* median of each of these ranks, in seconds */
    double *rank_simulated; /* filled by ti_against_ranks(); -1: not known */
};

/*
 * Reads {"np": N, "runs": [{"time_s": T, "ranks_s": [T, ...]}, ...]}; np and ranks_s are optional.
 * TI_ERR_IO, or TI_ERR_INPUT: malformed file, no runs, a time that is not positive, a number of
 * ranks other than np.  Release *out with ti_against_free(), after errors too.
 */
ti_status ti_against_read(const char *path, struct ti_against *out, struct ti_err *err);
void ti_against_free(struct ti_against *a);

/* Fills a->rank_simulated from SMPI's log at the path `log`.  Ranks that are not in it stay -1. */
void ti_against_ranks(struct ti_against *a, const char *log);

/* Options that make smpirun log when each rank ends; ends with NULL. */
extern const char *const ti_against_log[];

/* Print, or return as JSON (a new reference), real time, simulated time and relative error:
 * (simulated - real) / real.  `simulated` is in seconds. */
void ti_against_print(const struct ti_against *a, double simulated, FILE *out);
json_t *ti_against_json(const struct ti_against *a, double simulated);

#endif
