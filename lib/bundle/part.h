/*
 * The file OUTPUT.part, as which a bundle is written until it is whole.  It is locked, and removed
 * unless it is published.
 */
#ifndef TI_BUNDLE_PART_H
#define TI_BUNDLE_PART_H

#include <stdbool.h>

#include "common/err.h"

struct ti_part {
    const char *output; /* the caller's */
    char *path;         /* "OUTPUT.part" */
    char *folder;       /* of `output` */
    bool force;         /* an existing bundle `output` is replaced */
    int fd;
    bool ours; /* we created the file: remove it unless it is published */
};

/* Create and lock the file; *p needs no former contents.  Release by ti_part_close() in any case.
 * TI_ERR_IO, also if `output` may not be replaced (ti_output_check()). */
ti_status ti_part_open(struct ti_part *p, const char *output, bool force, struct ti_err *err);

/* Bring its contents to the disk. */
ti_status ti_part_sync(const struct ti_part *p, struct ti_err *err);

/* Rename it to `output`, and bring that name to the disk. */
ti_status ti_part_publish(struct ti_part *p, struct ti_err *err);

/* An error about a failed write, whose cause is errno. */
ti_status ti_part_cannot_write(const struct ti_part *p, struct ti_err *err);

/* Add to an error of status `st`, whose cause is the errno `cause`, what helps a full disk. */
ti_status ti_part_hint(int cause, ti_status st, struct ti_err *err);

void ti_part_close(struct ti_part *p);

#endif
