/*
 * Lines of text about events, as --dump prints them.
 */
#ifndef TI_INFO_LINE_H
#define TI_INFO_LINE_H

#include "info/info.h"

/* A growing line of text.  Start with {0}; release with info_line_free(). */
struct info_line {
    char *text;
    size_t bytes, cap;
};

/*
 * Write the text form of one event into `line`, without a newline: "VOLUME OP FIELD=VALUE ...",
 * see ti-info(1).  The text depends only on the event, its communicator and, if shown, its call
 * site and the source line of that.
 */
void info_format_event(struct info_line *line, const struct ti_reader *r, const struct ti_event *ev,
                       const struct info_style *style);

/*
 * Append parts of such a line: any text; the value `v` of a field, a peer as "+1"; the same with
 * the world rank of a peer of `ev`, as "+1(5)"; " NAME=[...]".
 */
void info_line_put(struct info_line *line, const char *text);
void info_line_printf(struct info_line *line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void info_line_value(struct info_line *line, const struct ti_reader *r, unsigned field, int64_t v);
void info_line_field(struct info_line *line, const struct ti_reader *r, const struct ti_event *ev,
                     unsigned field);
void info_line_vector(struct info_line *line, const char *name, const struct ti_vec *vec);

void info_line_free(struct info_line *line);

#endif
