/*
 * Summary of a run's traces, from the totals at their ends.
 */
#ifndef TI_NODE_RANKS_H
#define TI_NODE_RANKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "trace/scan.h"
#include "trace/trace.h"

struct ti_ranks {
    int64_t np;
    int64_t with_trace;
    int64_t by_end[TI_END_COUNT];
    int64_t unreadable; /* with a file that cannot be read, or is of another run */
    uint64_t events, volume;
    struct ti_caveats caveats;
    uint64_t negative; /* bursts shorter than what the library subtracts */
    int64_t bytes;
    double init_seconds_max, app_seconds_max, flush_seconds, flush_seconds_max;
    int64_t memory_bytes_max;       /* of the tracing library in a rank */
    char unit[32];                  /* of the volume; "" unknown */
    bool estimate;                  /* it is one, in some rank */
    struct ti_call_count *untraced; /* calls that are not traced, over the ranks */
    int nuntraced;
    signed char *end; /* per rank: enum ti_end, or one of those below */
};
enum { TI_RANK_NO_TRACE = -1, TI_RANK_BAD = -2 };

/* Start an empty summary; release it with ti_ranks_free(). */
ti_status ti_ranks_new(int64_t np, struct ti_ranks *r, struct ti_err *err);

/* Add the traces of ranks `first` to `last` of run `run_id` in directory `path`.  A rank that is
 * added twice counts twice. */
void ti_ranks_add(struct ti_ranks *r, const char *path, int64_t first, int64_t last,
                  const char *run_id);

/* Both functions above, for all ranks. */
ti_status ti_ranks_read(const char *path, int64_t np, const char *run_id, struct ti_ranks *r,
                        struct ti_err *err);
void ti_ranks_free(struct ti_ranks *r);

/* Whether all ranks have a complete trace. */
bool ti_ranks_complete(const struct ti_ranks *r);

/* For RUN.json and --json: how many ranks ended how.  A new object; NULL when out of
 * memory. */
json_t *ti_ranks_json(const struct ti_ranks *r);

/*
 * Everything, for those who look from elsewhere: that, sums and largest values, and
 * "ends": {"complete": [[FIRST, LAST]...], ...} of the ranks that were looked at.
 */
json_t *ti_ranks_report(const struct ti_ranks *r);

/* Add such a report by the node that has the ranks `own`, [[FIRST, LAST]...].  False, and nothing
 * added, when it is none, or is about others, or about one twice. */
bool ti_ranks_merge(struct ti_ranks *r, const json_t *own, const json_t *report);

#endif
