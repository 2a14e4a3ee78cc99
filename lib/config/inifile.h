/*
 * INI files with positions: `[KIND NAME]`, `KEY = VALUE`, comments.  Sites files, rate files and
 * calibration files are read with this.
 *
 * Comments begin with '#' or ';', at the start of a line or after a blank.  A key may be indented.
 * If the grammar lets a key's value continue, an indented line that does not look like `KEY =`
 * continues the value above.
 */
#ifndef TI_CONFIG_INIFILE_H
#define TI_CONFIG_INIFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

struct ti_ini_pos {
    int line, column; /* from 1; columns are of characters */
};

/* A line of a value: the position in the file of the value's byte `offset`. */
struct ti_ini_line {
    int offset;
    struct ti_ini_pos at;
};

struct ti_ini_key {
    char *name;
    struct ti_ini_pos at;
    char *value; /* its lines are separated by '\n' */
    int value_bytes;
    struct ti_ini_line *line; /* of the value */
    int nlines;
    size_t value_cap, lines_cap;
};

struct ti_ini_section {
    char *kind, *name; /* "cluster", "griffon"; name may be "" */
    struct ti_ini_pos at, name_at;
    struct ti_ini_key *key;
    int nkeys;
    size_t keys_cap;
};

/* An error or a warning about the file. */
struct ti_ini_finding {
    struct ti_ini_pos at;
    enum { TI_INI_ERROR, TI_INI_MISSING, TI_INI_WARNING } kind;
    int number; /* in the order in which they were found */
    char text[600];
};

struct ti_ini {
    char *path;
    struct ti_ini_section *section;
    int nsections;
    bool has_heads; /* it has section heads, valid or not */
    struct ti_ini_finding *finding;
    int nfindings, nerrors;
    size_t sections_cap, findings_cap;
};

/* The sections and keys that a file may have. */
struct ti_ini_grammar {
    bool (*is_kind)(const char *word);     /* a kind of section */
    bool (*is_key)(const char *word);      /* a key of some section */
    bool (*may_continue)(const char *key); /* its value may continue on further lines ... */
    bool (*holds_equals)(const char *key); /* ... which may contain '=': only known keys end it */
    const char *(*section_error)(const char *kind, const char *name); /* NULL: no error */
};

/* Read a file.  Syntax errors become findings in *out.  TI_ERR_IO, or TI_ERR_INPUT if it is not
 * text. */
ti_status ti_ini_read(const char *path, const struct ti_ini_grammar *grammar, struct ti_ini **out,
                      struct ti_err *err);
void ti_ini_free(struct ti_ini *ini); /* NULL is fine */

/* The position in the file of byte `offset` of the value. */
struct ti_ini_pos ti_ini_at(const struct ti_ini_key *key, int offset);

/* Add a finding.  ti_ini_conclude() reports missing things last: they may be missing because of
 * another error. */
void ti_ini_error(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ti_ini_missing(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ti_ini_warning(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Report all findings in the order of the file, as "FILE:LINE:COLUMN: text".  The first error goes
 * to `err`; something missing comes first only if there is no other error.  Up to `most` other
 * findings go to *more, each with a newline; free() it.  *more is NULL when there are none; `more`
 * may be NULL.  TI_ERR_INPUT if there is an error.
 */
ti_status ti_ini_conclude(struct ti_ini *ini, int most, char **more, struct ti_err *err);

/* Parse "2.53G": a number above 0 and at most 1e18, with an optional k, M, G, T or P for powers of
 * 1000; false if the text is no such number. */
bool ti_ini_number(const char *text, double *out);

/* Text from a file, for a message: without control characters, and cut.  Returns buf. */
const char *ti_ini_show(const char *text, char buf[64]);

#endif
