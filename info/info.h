/*
 * What ti-info can do with a source of traces.  All print to stdout; reasons of
 * failure come back in `err`, other conversation goes to stderr.
 */
#ifndef TI_INFO_H
#define TI_INFO_H

#include <jansson.h>

#include "formats/scan.h"
#include "formats/source.h"

/* How events are shown and compared. */
struct info_style {
    bool sites;         /* show call sites */
    bool no_volumes;    /* leave volumes out */
    uint64_t tolerance; /* volumes that differ by this much are equal */
    bool json, quiet;
    bool all; /* all pairs of ranks, however many */
};

/* ------------------------------------------------------------- dump.c -- */

/* A line of text that grows. */
struct info_line {
    char *text;
    size_t bytes, room;
};

/*
 * One event in its text form, without a newline: "VOLUME OP FIELD=VALUE ...",
 * see ti-info(1).  It depends on the event and the communicators alone (and on
 * the call site, if shown).
 */
void info_format_event(struct info_line *line, const struct ti_reader *r, const struct ti_event *ev,
                       const struct info_style *style);
void info_line_free(struct info_line *line);

/* How the trace that was read to its end does end, and if the library said why,
 * that, in `text`. */
const char *info_end_text(const struct ti_reader *r, char *text, size_t bytes);

/* All events of `rank`, or of every rank if it is -1.  TI_ERR_PARTIAL when a
 * trace was cut off. */
ti_status info_dump(struct ti_source *s, int64_t rank, const struct info_style *style,
                    struct ti_err *err);

/* ---------------------------------------------------------- summary.c -- */

ti_status info_summary(struct ti_source *s, const struct info_style *style, struct ti_err *err);
/* Text from a trace may hold anything, which a terminal should not obey and JSON
 * cannot hold; and numbers that JSON readers may not hold are strings. */
void info_put_clean(const char *text); /* NULL is fine */
json_t *info_json_text(const char *text);
json_t *info_json_u64(uint64_t v);
/* An object on stdout; the second leaves out its last brace, for rows that are too many to be
 * kept as JSON. */
void info_print_json(const json_t *out);
void info_print_json_open(const json_t *out);

/* Whether an object of a manifest's "missing" or "incomplete" is about the rank. */
bool info_ranges_hold(const json_t *entry, int64_t rank);

ti_status info_rank(struct ti_source *s, int64_t rank, const struct info_style *style,
                    struct ti_err *err);

/* ------------------------------------------------------------ extra.c -- */

/* A burst this long is measured to a percent or better. */
#define INFO_LONG_NS 10000

/*
 * Extra columns: their totals and, where bursts have durations, the rate (volume a
 * second) of ranks and of bursts.  Quartiles of bursts are by time: half of the
 * time of those of INFO_LONG_NS or more is spent in bursts at the median rate or
 * below; they are good to 1 %.  All ranks are read, or `only` that one if it is 0
 * or more.  info_extras_json() adds keys to `out`.
 */
struct info_extras;
ti_status info_extras_read(struct ti_source *s, int64_t only, struct info_extras **out,
                           struct ti_err *err);
void info_extras_print(const struct info_extras *x);
void info_extras_json(const struct info_extras *x, json_t *out);
void info_extras_free(struct info_extras *x); /* NULL is fine */

/* -------------------------------------- traffic.c, histogram.c, rates.c -- */

/*
 * What ranks send each other; how large messages and bursts are; how fast bursts are, by class and
 * call site, into a rate file (formats/rates.h) at `path`, "-" for stdout.  All ranks are read, or
 * `rank` alone if it is 0 or more.  Ranks that are missing, incomplete or damaged are named on
 * stderr and counted as far as they go; the status is then TI_ERR_PARTIAL, or TI_ERR_INPUT for
 * damage, with an empty `err`.
 */
ti_status info_traffic(struct ti_source *s, int64_t rank, const struct info_style *style,
                       struct ti_err *err);
ti_status info_histogram(struct ti_source *s, int64_t rank, const struct info_style *style,
                         struct ti_err *err);
ti_status info_rates(struct ti_source *s, int64_t rank, const char *path,
                     const struct info_style *style, struct ti_err *err);

/* ----------------------------------------------------------- verify.c -- */

/* TI_ERR_PARTIAL: ranks missing or incomplete; TI_ERR_INPUT: damage, or
 * a trace that is not sound (sound/check.h).  All is
 * reported in full on stdout, and `err` is empty. */
ti_status info_verify(struct ti_source *s, const struct info_style *style, struct ti_err *err);

/* ---------------------------------------------------------- compare.c -- */

/* TI_OK: equal; TI_ERR_PARTIAL: they differ, which has been reported. */
ti_status info_compare(struct ti_source *a, struct ti_source *b, const struct info_style *style,
                       struct ti_err *err);

#endif
