/*
 * The summary of a trace, for the files that make and print it:
 *
 *   summary.c        reads the facts, from the manifest of a bundle or from the traces
 *   summary_facts.c  what follows from the facts
 *   summary_text.c   prints them as text
 *   summary_json.c   prints them as JSON
 *   rank.c           the summary of one rank, with the printers of the two files above
 */
#ifndef TI_INFO_SUMMARY_H
#define TI_INFO_SUMMARY_H

#include "common/ranges.h"
#include "info/info.h"

/* A rank that has a trace. */
struct row {
    int64_t rank, bytes; /* bytes: -1 in a merged trace */
    uint64_t events, volume;
    enum ti_end end;
    char *damage; /* NULL unless the trace is damaged; the counts are of the part before it */
    char *reason; /* how the trace ends, and why; NULL if `end` says all */
};

struct summary {
    struct ti_source *s;
    int64_t nranks, nrows;
    size_t rows_cap;
    struct row *row;  /* by rank */
    struct ti_ranges missing; /* the ranks of the run that the source lacks; none of a rank file */
    json_t *info;  /* application, command, counter, event, unit, exact, run_id, missing, ... */
    json_t *nodes; /* names, each once */
    json_t *known; /* the same as keys, if they come from the traces */
    struct ti_differ *differing; /* only while the traces are read */
    int64_t bytes;
    uint64_t events, volume, messages, negative;
    struct ti_burst_overhead calibration;
    struct ti_caveats caveats;
    uint64_t whole, outside; /* as in trace/scan.h, over the ranks that have them */
    int64_t with_whole, with_outside;
    uint64_t blocks, blocks_own; /* the same; 0: none */
    struct ti_op_count op[TI_OP_COUNT];
    struct ti_call_count *untraced;
    int nuntraced;
    struct info_extras *extras; /* NULL: no extra columns */
    bool overflow; /* a sum is above 2^64 - 1 */
};

/* ---------------------------------------------------- summary_facts.c -- */

/* A fact of sum->info as text; NULL if it is not known. */
const char *info_fact(const struct summary *sum, const char *key);

uint64_t info_message_bytes(const struct summary *sum);

/* Totals of one-sided transfers, or of accesses to files. */
struct ti_op_count info_totals_of(const struct summary *sum, enum ti_op_kind kind);

/* Minimum, median and maximum over the ranks; false without ranks, or when memory is short, and for
 * the bytes of ranks in a merged trace. */
enum per_rank { EVENTS, VOLUME, BYTES, PER_RANK_COUNT };
extern const char *const info_per_rank_text[PER_RANK_COUNT];
bool info_spread(const struct summary *sum, enum per_rank what, uint64_t out[3]);

/* Whether the trace of a rank is complete and not damaged; and what it is else. */
bool info_is_whole(const struct row *row);
const char *info_why_not_whole(const struct row *row);

/* ----------------------------------------------------- summary_text.c -- */

/* Print the summary; `quiet`: problems only.  `width`: see common/table.h. */
void info_print_summary(const struct summary *sum, bool quiet, int width);

/* Print one line "WHAT  VALUE"; nothing if the value is NULL. */
void info_put_line(const char *what, const char *value);

/* Print a line for each caveat. */
void info_put_caveats(const struct ti_caveats *c);

/* Print the bytes of messages, one-sided transfers and files, and the table of operations. */
void info_put_volumes(const struct summary *sum);
void info_put_operations(const struct summary *sum, int width);

/* ----------------------------------------------------- summary_json.c -- */

void info_print_summary_json(const struct summary *sum);

/* The same as info_put_caveats(), info_put_volumes() and info_put_operations(): a list, members for
 * `out`, and an object. */
json_t *info_json_caveats(const struct ti_caveats *c);
void info_json_volumes(json_t *out, const struct summary *sum);
json_t *info_json_operations(const struct summary *sum);

#endif
