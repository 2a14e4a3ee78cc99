/*
 * The commands of ti-info.  Each takes a source of traces and prints its result to stdout.  Errors
 * are returned in `err`; warnings and progress go to stderr.
 */
#ifndef TI_INFO_INFO_H
#define TI_INFO_INFO_H

#include <jansson.h>

#include "analysis/line.h"
#include "bundle/source.h"
#include "common/json.h"
#include "common/ranges.h"
#include "trace/scan.h"

struct ti_pass;
struct ti_folded_ranks;
struct info_csv;

/* How events are shown and compared. */
struct info_style {
    struct ti_line_style line;
    uint64_t count;     /* events of a rank that are printed; 0: all */
    uint64_t tolerance; /* volumes that differ by at most this much are equal */
    bool json, quiet;
    struct info_csv *csv; /* print events as CSV (event_csv.h); NULL: not so */
    bool all;             /* list all there is, not only what matters most */
    int64_t top;          /* how much of what matters most to list; 0: as usual */
    int width;            /* of lines (common/table.h) */
};

/* ----------------------------------------------------------- output.c -- */

/* Print text from a trace, without its control characters.  As JSON: see common/json.h; NULL is
 * "?". */
void info_put_clean(const char *text); /* NULL is fine */
json_t *info_json_text(const char *text);

void info_warn_of_caveats(const struct ti_caveats *c);

/* Warn of a set of ranks on one line, unless it is empty.  `first` describes the first one; "":
 * nothing. */
void info_warn_of_ranks(const struct ti_ranges *ranks, const char *what_of_one,
                        const char *what_of_many, const char *first);

/* Print an object to stdout.  The second function omits the closing brace, so that the caller can
 * append rows that are too many to be kept in memory as JSON. */
void info_print_json(const json_t *out);
void info_print_json_open(const json_t *out);

/* ------------------------------------------------------------- dump.c -- */

/* Print the events that are still to be read, up to style->count of them.  TI_ERR_PARTIAL if the
 * trace is incomplete. */
ti_status info_dump_rest(struct ti_reader *r, const struct info_style *style, struct ti_err *err);

/* Print all events of some ranks, or of every rank if the set is empty.  TI_ERR_PARTIAL if a trace
 * is incomplete or missing. */
ti_status info_dump(struct ti_source *s, const struct ti_ranges *ranks,
                    const struct info_style *style, struct ti_err *err);

/* ---------------------------------------------------------- summary.c -- */

/* Print the summary of all ranks; see ti-info(1). */
ti_status info_summary(struct ti_source *s, const struct info_style *style, struct ti_err *err);

/* Print the summary of one rank; in rank.c. */
ti_status info_rank(struct ti_source *s, int64_t rank, const struct info_style *style,
                    struct ti_err *err);

/* ------------------------------------------------------------ extra.c -- */

/* A burst of at least this length is measured with an error of at most one percent. */
#define INFO_LONG_NS 10000

/*
 * Extra columns: their totals and, if bursts have durations, the rates (volume per second) of ranks
 * and of bursts.  Quartiles over bursts are weighted by time and use bursts of INFO_LONG_NS or more
 * only: half of their time is spent at the median rate or below.  The quartiles are accurate to 1
 * %.
 *
 * info_extras_read() reads rank `only`, or all ranks if it is below 0.  Release *out with
 * info_extras_free().  `width`: see common/table.h.  info_extras_json() adds keys to `out`.
 */
struct info_extras;
ti_status info_extras_read(struct ti_source *s, int64_t only, struct info_extras **out,
                           struct ti_err *err);
void info_extras_print(const struct info_extras *x, int width);
void info_extras_json(const struct info_extras *x, json_t *out);
void info_extras_free(struct info_extras *x); /* NULL is fine */

/* -------------------------------------- traffic.c, histogram.c, rates.c -- */

/*
 * info_traffic() prints the traffic between ranks, info_histogram() the sizes of messages and the
 * volumes of bursts.  info_rates() writes the rates of bursts, by class and call site, into a rate
 * file (config/rates.h) at `path`, "-" for stdout.
 *
 * All of them read rank `rank`, or all ranks if it is below 0.  Ranks that are missing, incomplete
 * or damaged are named on stderr, and their readable part is counted.  The result is then
 * TI_ERR_PARTIAL, or TI_ERR_INPUT for damage, with an empty `err`.
 */
ti_status info_traffic(struct ti_source *s, int64_t rank, const struct info_style *style,
                       struct ti_err *err);
ti_status info_histogram(struct ti_source *s, int64_t rank, const struct info_style *style,
                         struct ti_err *err);
ti_status info_rates(struct ti_source *s, int64_t rank, const char *path,
                     const struct info_style *style, struct ti_err *err);

/* Report missing, incomplete, damaged and unsound ranks on stderr. */
void info_pass_warn(const struct ti_pass *p);

/* Add the same facts to `out`, with the keys np, ranks, complete, missing, incomplete, damaged,
 * unsound_events. */
void info_pass_json(const struct ti_pass *p, json_t *out);

/* ----------------------------------------------------------- phases.c -- */

/* The same of the ranks that ti_folded_each() took. */
void info_folded_warn(const struct ti_folded_ranks *ranks);
void info_folded_json(const struct ti_source *s, const struct ti_folded_ranks *ranks, json_t *out);

/* Print the loops of rank `rank` as pseudo-code, or those of all ranks if it is below 0.  The
 * result is as that of info_traffic(). */
ti_status info_phases(struct ti_source *s, int64_t rank, const struct info_style *style,
                      struct ti_err *err);

/* -------------------------------------------------------- imbalance.c -- */

/* Print where ranks spend different volumes and times.  The result is as that of info_traffic(). */
ti_status info_imbalance(struct ti_source *s, const struct info_style *style, struct ti_err *err);

/* --------------------------------------------------------- position.c -- */

/* Print where in the trace of `rank` a place is: "event=N", "volume=N" or "time=SECONDS"; the event
 * there, and the loops around it.  With `dump`, print the events from there on instead.
 * TI_ERR_USAGE: `at` is no place; TI_ERR_INPUT: the trace ends before it. */
ti_status info_position(struct ti_source *s, int64_t rank, const char *at, bool dump,
                        const struct info_style *style, struct ti_err *err);

/* -------------------------------------------------------- timeline.c -- */

/* Write the timeline `path` (timeline/timeline.h) by the durations of the trace.  TI_ERR_PARTIAL if
 * ranks are missing or incomplete; they are named on stderr. */
ti_status info_timeline(struct ti_source *s, const char *path, const struct info_style *style,
                        struct ti_err *err);

/* ----------------------------------------------------------- verify.c -- */

/* Check all ranks and report all problems on stdout.  TI_ERR_PARTIAL: ranks are missing or
 * incomplete.  TI_ERR_INPUT: damage, or a trace that is not sound (sound/check.h).  `err` is then
 * empty. */
ti_status info_verify(struct ti_source *s, const struct info_style *style, struct ti_err *err);

/* ---------------------------------------------------------- compare.c -- */

/* Compare two traces, rank by rank, and report on stdout whether they differ, and by how much
 * (shapes/changes.h).  TI_OK: they are equal; TI_ERR_PARTIAL: they differ. */
ti_status info_compare(struct ti_source *a, struct ti_source *b, const struct info_style *style,
                       struct ti_err *err);

#endif
