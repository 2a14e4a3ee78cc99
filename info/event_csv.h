/*
 * Events as CSV (RFC 4180), as --dump prints them with --csv; see ti-info(1).
 */
#ifndef TI_INFO_EVENT_CSV_H
#define TI_INFO_EVENT_CSV_H

#include "info/info.h"

/* The table: its columns, and what it has warned of.  Release it with info_csv_free(). */
struct info_csv;
struct info_csv *info_csv_new(void);
void info_csv_free(struct info_csv *csv); /* NULL is fine */

/* Begin the rows of a trace.  The first call prints the header; its columns for extra values are
 * those of that trace, and a warning names extra columns of later traces that are not among them.
 */
void info_csv_begin(struct info_csv *csv, const struct ti_reader *r,
                    const struct info_style *style);

/* Print the row of the event of number `number` that `r` returned last.  False: an error of
 * standard output. */
bool info_csv_event(struct info_csv *csv, const struct ti_reader *r, const struct ti_event *ev,
                    uint64_t number, const struct info_style *style);

#endif
