/*
 * INI files with positions: `[KIND NAME]`, `KEY = VALUE`, comments.
 *
 * inih splits lines; it is given them by a reader of ours, which knows where each
 * stands and feeds long ones in pieces: inih as distributions build it cuts lines
 * at 199 bytes, the rest being taken for lines of their own, and names of sections
 * at 49.
 *
 * Comments begin with '#' or ';', at the start of a line or behind a blank.  A key
 * may be indented.  An indented line that does not look like `KEY =` goes on with the value
 * above, where that key's values may be continued.
 */
#ifndef TI_INIFILE_H
#define TI_INIFILE_H

#include <stdbool.h>

#include "common/err.h"

struct ti_ini_pos {
    int line, column; /* from 1; columns are of characters */
};

/* A line of a value: where its bytes from `offset` on stand. */
struct ti_ini_line {
    int offset;
    struct ti_ini_pos at;
};

struct ti_ini_key {
    char *name;
    struct ti_ini_pos at;
    char *value; /* lines of it are separated by '\n' */
    int value_bytes, value_room;
    struct ti_ini_line *line; /* of the value */
    int nlines;
};

struct ti_ini_section {
    char *kind, *name; /* "cluster", "griffon"; name is "" where there is none */
    struct ti_ini_pos at, name_at;
    struct ti_ini_key *key;
    int nkeys;
};

struct ti_ini_finding {
    struct ti_ini_pos at;
    enum { TI_INI_ERROR, TI_INI_MISSING, TI_INI_WARNING } kind;
    int number; /* in the order in which they came */
    char text[600];
};

struct ti_ini {
    char *path;
    struct ti_ini_section *section;
    int nsections;
    bool has_heads; /* of sections, if only wrong ones */
    struct ti_ini_finding *finding;
    int nfindings, nerrors;
};

/* What the file may have. */
struct ti_ini_grammar {
    bool (*is_kind)(const char *word);     /* of section */
    bool (*is_key)(const char *word);      /* some section has such a key */
    bool (*may_continue)(const char *key); /* its value may go on on further lines */
    bool (*holds_equals)(const char *key); /* and hold '=' there: only known keys end it */
    const char *(*section_error)(const char *kind, const char *name); /* NULL: fine */
};

/* TI_ERR_IO, or TI_ERR_INPUT for what is no text; what is malformed becomes findings. */
ti_status ti_ini_read(const char *path, const struct ti_ini_grammar *grammar, struct ti_ini **out,
                      struct ti_err *err);
void ti_ini_free(struct ti_ini *ini); /* NULL is fine */

/* Where byte `offset` of the value stands. */
struct ti_ini_pos ti_ini_at(const struct ti_ini_key *key, int offset);

/* What is wrong, or odd, at a place.  What is missing is told last, as it may be there but
 * for a mistake told of elsewhere. */
void ti_ini_error(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ti_ini_missing(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ti_ini_warning(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * All findings, in the order of the file, as "FILE:LINE:COLUMN: text".  The first error (that is
 * not of something missing, if there is one) goes to `err` and TI_ERR_INPUT is returned; up to
 * `most` others, one a line with a newline behind, go to *more, unless NULL: NULL when there are
 * none; free() it.
 */
ti_status ti_ini_conclude(struct ti_ini *ini, int most, char **more, struct ti_err *err);

/* "2.53G": a number above 0, and at most 1e18, with k, M, G, T or P behind it for powers of 1000;
 * false if the text is none. */
bool ti_ini_number(const char *text, double *out);

/* Text from a file, for a message: no control characters, and not too long. */
const char *ti_ini_show(const char *text, char buf[64]);

#endif
