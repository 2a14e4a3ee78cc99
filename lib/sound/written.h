/*
 * The check of a trace that a tool has made: it is sound, or it is not given to the user.
 */
#ifndef TI_SOUND_WRITTEN_H
#define TI_SOUND_WRITTEN_H

#include "common/err.h"

/* Check the trace `path`, all of whose ranks must be complete.  TI_ERR_INPUT if it is not sound:
 * the sentence begins with `made`, as in "with these trips", and has the first problem; `hint` is
 * its hint.  TI_ERR_IO; also once a signal came. */
ti_status ti_written_check(const char *path, const char *made, const char *hint,
                           struct ti_err *err);

#endif
