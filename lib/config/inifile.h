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
#include <stdint.h>
#include <stdio.h>

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
    bool (*is_kind)(const char *word);                                /* a kind of section */
    const char *(*section_error)(const char *kind, const char *name); /* NULL: no error */
    /* NULL where no value may continue; else also the two functions after it */
    bool (*may_continue)(const char *key); /* its value may continue on further lines ... */
    bool (*holds_equals)(const char *key); /* ... which may contain '=': only known keys end it */
    bool (*is_key)(const char *word);      /* a key of some section */
};

/* Read a file.  Syntax errors become findings in *out.  TI_ERR_IO, or TI_ERR_INPUT if it is not
 * text. */
ti_status ti_ini_read(const char *path, const struct ti_ini_grammar *grammar, struct ti_ini **out,
                      struct ti_err *err);
void ti_ini_free(struct ti_ini *ini); /* NULL is fine */

/* The position in the file of byte `offset` of the value. */
struct ti_ini_pos ti_ini_at(const struct ti_ini_key *key, int offset);

/* The first key of a section, which may be NULL, with this name; NULL if there is none. */
const struct ti_ini_key *ti_ini_find(const struct ti_ini_section *s, const char *name);

/* Whether a word is in a list that ends with NULL. */
bool ti_ini_is_in(const char *word, const char *const *list);

/* Add a finding: (ini, position, printf format, ...).  ti_ini_conclude() reports missing things
 * last: they may be missing because of another error. */
#define ti_ini_error(ini, at, ...)   ti_ini_add(ini, TI_INI_ERROR, at, __VA_ARGS__)
#define ti_ini_missing(ini, at, ...) ti_ini_add(ini, TI_INI_MISSING, at, __VA_ARGS__)
#define ti_ini_warning(ini, at, ...) ti_ini_add(ini, TI_INI_WARNING, at, __VA_ARGS__)
void ti_ini_add(struct ti_ini *ini, int kind, struct ti_ini_pos at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether an earlier key of the section has the same name; it is an error then. */
bool ti_ini_given_before(struct ti_ini *ini, const struct ti_ini_section *s,
                         const struct ti_ini_key *key);

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

/* Parse a whole number up to `most`, without sign, blanks or unit. */
bool ti_ini_whole(const char *text, uint64_t most, uint64_t *out);

/* Text from a file, for a message: without control characters, and cut.  Returns buf. */
const char *ti_ini_show(const char *text, char buf[64]);

/* Begin to write a file, "-" for standard output, with the lines of `title` as comments; and end
 * it. NULL, or TI_ERR_IO, with a sentence in `err`. */
FILE *ti_ini_create(const char *path, const char *title, struct ti_err *err);
ti_status ti_ini_finish(FILE *f, const char *path, struct ti_err *err);

#endif
