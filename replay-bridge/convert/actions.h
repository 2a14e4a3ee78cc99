/*
 * SimGrid's action files as text: the list of them, and lines split into words.
 */
#ifndef TI_ACTIONS_H
#define TI_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_actions {
    char **path;
    int64_t n;
    bool merged; /* one file of all ranks; else file i is rank i's */
};

/*
 * The files of `list`: a list of names, one a line, each relative to the working directory, or
 * where there is no such file, to the list's directory; one name is a file of all ranks.  A
 * directory is taken for its traces.txt, and what has lines of more than a word for such a file
 * itself.  Release with ti_actions_free() in any case.
 */
ti_status ti_actions_list(const char *list, struct ti_actions *out, struct ti_err *err);
void ti_actions_free(struct ti_actions *a);

/* A file, line by line.  Empty lines and comments are skipped. */
struct ti_lines {
    const char *path;
    FILE *f;
    int64_t number; /* of the line, from 1 */
    char *text;
    size_t cap;
    char **word; /* NULL-terminated */
    size_t word_cap;
    int64_t n;
    bool cut; /* the line is the last one and has no newline */
};

ti_status ti_lines_open(const char *path, struct ti_lines *out, struct ti_err *err);
void ti_lines_close(struct ti_lines *l);

/* 1, 0 at the end, -1 with what is wrong in `err`. */
int ti_lines_next(struct ti_lines *l, struct ti_err *err);

/* "FILE:LINE: " and what is wrong with it; TI_ERR_INPUT. */
ti_status ti_lines_wrong(const struct ti_lines *l, struct ti_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
