/*
 * Lines of text about events, as `ti-info --dump` prints them.
 */
#ifndef TI_ANALYSIS_LINE_H
#define TI_ANALYSIS_LINE_H

#include "callsite/symbolizer.h"
#include "trace/reader.h"

/* Parts of the text of an event. */
struct ti_line_style {
    bool no_volumes;                  /* leave volumes and extra columns out */
    bool call_sites;                  /* show call sites */
    struct ti_symbolizer *symbolizer; /* of these; NULL: do not show source lines */
};

/* A growing line of text.  Start with {0}; release with ti_line_free().  When memory is short, the
 * program ends; with `may_fail`, no_memory is set instead, and the text is not valid any more. */
struct ti_line {
    char *text;
    size_t bytes, cap;
    bool may_fail, no_memory;
};

/*
 * Write the text form of one event into `line`, without a newline: "VOLUME OP FIELD=VALUE ...",
 * see ti-info(1).  The text depends only on the event, its communicator and, if shown, its call
 * site and the source line of that.
 */
void ti_line_event(struct ti_line *line, const struct ti_reader *r, const struct ti_event *ev,
                   const struct ti_line_style *style);

/*
 * Append parts of such a line: any text; the value `v` of a field, a peer as "+1"; the same with
 * the world rank of a peer of `ev`, as "+1(5)"; " NAME=[...]".
 */
void ti_line_put(struct ti_line *line, const char *text);
void ti_line_printf(struct ti_line *line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void ti_line_value(struct ti_line *line, const struct ti_reader *r, unsigned field, int64_t v);
void ti_line_field(struct ti_line *line, const struct ti_reader *r, const struct ti_event *ev,
                   unsigned field);
void ti_line_vector(struct ti_line *line, const char *name, const struct ti_vec *vec);

void ti_line_free(struct ti_line *line);

#endif
