/*
 * SimGrid's action files as text: the list of the files, and a reader that splits lines into words.
 * syntax.h gives the words a meaning.
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_ACTIONS_H
#define TI_REPLAY_BRIDGE_CONVERT_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_actions {
    char **path;
    int64_t n;
    bool merged; /* one file for all ranks; else path[i] is the file of rank i */
};

/*
 * Find the action files that `list` names.
 *
 * `list` is a file with one file name on each line, in the order of ranks.  A name is relative to
 * the working directory or, if no such file exists, to the directory of the list.  A list with a
 * single name names one file for all ranks.  `list` may also be a directory, which stands for its
 * traces.txt.  A file whose first line has several words is an action file for all ranks.
 *
 * TI_ERR_IO or TI_ERR_INPUT.  Release *out with ti_actions_free(), after errors too.
 */
ti_status ti_actions_list(const char *list, struct ti_actions *out, struct ti_err *err);
void ti_actions_free(struct ti_actions *a);

/* A reader of one file.  Empty lines and comments are skipped. */
struct ti_lines {
    const char *path; /* not owned */
    FILE *f;
    int64_t number; /* of the current line, from 1 */
    char *text;
    size_t cap;
    char **word; /* of the current line, `n` of them and NULL; they point into `text` */
    size_t word_cap;
    int64_t n;
    bool cut; /* the current line is the last one and has no newline */
};

ti_status ti_lines_open(const char *path, struct ti_lines *out, struct ti_err *err);
void ti_lines_close(struct ti_lines *l);

/* Read the next line into word[].  1; 0 at the end of the file; -1 and `err`. */
int ti_lines_next(struct ti_lines *l, struct ti_err *err);

/* Set `err` to "FILE:LINE: " and the message.  Returns TI_ERR_INPUT. */
ti_status ti_lines_wrong(const struct ti_lines *l, struct ti_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
