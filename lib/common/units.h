/*
 * Speeds, bandwidths and latencies as SimGrid writes them ("8Gf", "10Gbps", "50us"), and as people
 * read them; shares ("0.1%").
 */
#ifndef TI_COMMON_UNITS_H
#define TI_COMMON_UNITS_H

#include "common/err.h"

/* The quantity that a text measures. It decides which units the text may have.  Sizes and plain
 * numbers ("1.3 MB", "4.56 G") are only written. */
enum ti_unit {
    TI_UNIT_SPEED = 'f',
    TI_UNIT_BANDWIDTH = 'B',
    TI_UNIT_LATENCY = 's',
    TI_UNIT_SHARE = '%',
    TI_UNIT_SIZE = 'b',
    TI_UNIT_NUMBER = '1'
};

/* TI_ERR_USAGE unless `text` is a positive number with a unit of the kind; a latency may be 0.
 * `what` names the option or key in the sentence. */
ti_status ti_unit_check(const char *text, enum ti_unit kind, const char *what, struct ti_err *err);

/* Parse up to `most` such texts, separated by commas.  *n values go to `out`, in the units of
 * ti_unit_value(). */
ti_status ti_unit_list(const char *text, enum ti_unit kind, const char *what, int most, double *out,
                       int *n, struct ti_err *err);

/* The value of a text that ti_unit_check() accepted, in flops a second, bytes a second, seconds
 * or parts of 1. */
double ti_unit_value(const char *text, enum ti_unit kind);

/*
 * Write such a value for people to `buf`: "4.56 Gf", "558 MB/s", "0.328 us".  A number of up to
 * four digits is written whole, so that what a user chose stays as it was; others have three.  A
 * latency is in us, ms or s.  _text: the value of a text that ti_unit_check() accepted.  Both
 * return `buf`; TI_UNIT_BYTES_MOST bytes are enough for it.
 */
#define TI_UNIT_BYTES_MOST 32
char *ti_unit_format(double value, enum ti_unit kind, char *buf, int buf_bytes);
char *ti_unit_format_text(const char *text, enum ti_unit kind, char *buf, int buf_bytes);

#endif
