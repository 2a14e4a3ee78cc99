/*
 * Replays of several traces with the same options, side by side: their times, and how long a rank
 * spends in each loop and at each call site that they have in common (versions/versions.h).
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYS_H
#define TI_REPLAY_BRIDGE_REPLAYS_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"
#include "replay-bridge/sweep/study.h"
#include "versions/versions.h"

/* Seconds of a rank: the mean over all ranks, and over all runs of --runs. */
enum ti_spent_on { TI_ON_COMPUTING, TI_ON_COMMUNICATING, TI_ON_WAITING, TI_SPENT_ON };
extern const char *const ti_spent_keys[TI_SPENT_ON]; /* of JSON, here and in profiles */

struct ti_spent {
    double on[TI_SPENT_ON];
};

/* A part of the time of each trace: a loop with the loops in it, a call site, or a rest. */
struct ti_replay_part {
    size_t number;    /* of the phase or call site; TI_VERSIONS_NONE: a rest */
    const char *rest; /* what the rest is; NULL: no rest */
    const char *key;  /* the same, of JSON */
    size_t around;    /* of a loop: the index of the part of the loop around it; TI_VERSIONS_NONE */
    int depth;
    struct ti_spent *spent; /* by trace */
    double *s;              /* their sums */
};

struct ti_replays {
    const struct ti_replay_options *o;
    int n;     /* traces */
    int nruns; /* of each */
    struct ti_study study;
    struct ti_source **source; /* borrowed */
    const char *flat; /* the first trace with rank files, so that no loops are known; NULL: none */
    struct ti_versions *v;
    struct ti_symbolizer *symbolizer;
    struct ti_interval *time; /* of the runs of each trace */
    double *run;              /* time of each run: those of the first trace, of the second, ... */
    double *mean;             /* of the runs of each trace: the parts of a trace add up to it */
    /* Two lists of parts.  Loops come after the ones they are in; those of depth 0 and the rests
     * add up to the time, and so do all call sites and their rest. */
    struct ti_replay_part *loop, *site;
    size_t nloops, nsites;
};

/* Replays the traces of the result, all of which are open, in the given order.  The error of a
 * replay that fails is returned, and names the trace.  Release *r with ti_replays_free() in any
 * case. */
ti_status ti_replays_run(const struct ti_replay_options *o, const struct ti_replay_result *res,
                         struct ti_replays *r, struct ti_err *err);
void ti_replays_free(struct ti_replays *r);

const char *ti_replays_path(const struct ti_replays *r, int trace);

/* Write the name of a part: that of the first trace that has it, with what others call it, and
 * which trace alone has it.  Returns `text`. */
const char *ti_replays_name(const struct ti_replays *r, const struct ti_replay_part *p, bool loop,
                            char *text, size_t bytes);

/* The keys of JSON that name a part: the names of a loop, or operation and call sites. */
json_t *ti_replays_name_json(const struct ti_replays *r, const struct ti_replay_part *p, bool loop);

/* A list with a number for each trace. */
json_t *ti_replays_numbers(const struct ti_replays *r, const double *value);

/* The change of a part. */
typedef double ti_replay_change(const struct ti_replays *r, const struct ti_replay_part *p);

/* Order parts by the size of their change: the largest first, each followed by those in it. Returns
 * the indices of all parts in order: free() them.  *least becomes the size of the tenth largest
 * change, up to which parts are printed, but more than is due to rounding. */
size_t *ti_replays_order(const struct ti_replays *r, const struct ti_replay_part *part, size_t n,
                         ti_replay_change *change, double *least);

/* Adds to the object of a part what a command tells of it; `of` is the command's own. */
typedef void ti_replay_tell(const void *of, const struct ti_replay_part *p, json_t *j);

/* The loops, or else the call sites, the largest change first, without those that change by less
 * than `least`.  The rests become members of `rests`, unless they are there. */
json_t *ti_replays_parts_json(const struct ti_replays *r, bool loop, ti_replay_change *change,
                              double least, ti_replay_tell *tell, const void *of, json_t *rests);

#define TI_REPLAYS_ROWS 10 /* parts that are printed; JSON has all */

/* Changes up to so many seconds come from rounding. */
double ti_replays_rounding(const struct ti_replays *r);

/* The unit for times up to `s` seconds. */
struct ti_replay_unit {
    const char *text; /* "s", "ms", "us" */
    double factor;
};
struct ti_replay_unit ti_replays_unit(double s);

/* Print the lines of engine, platforms, noise and wall time. */
void ti_replays_print_common(const struct ti_replays *r);

/* An object with the traces, their numbers of ranks, platforms and times.  _print: prints `value`,
 * whose reference it takes, as the member `key` of the result. */
json_t *ti_replays_json(const struct ti_replays *r);
void ti_replays_print_json(const struct ti_replays *r, const char *key, json_t *value);

/* ti-replay A --versus B, after ti_replay_load(): replays both, and prints what of the time
 * differs.  ti-replay A B C --scaling: speedup and efficiency, and where time is lost. */
ti_status ti_versus_command(const struct ti_replay_options *o, const struct ti_replay_result *res,
                            struct ti_err *err);
ti_status ti_scaling_command(const struct ti_replay_options *o, const struct ti_replay_result *res,
                             struct ti_err *err);

#endif
