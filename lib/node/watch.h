/*
 * Progress of a run, from its directory: which ranks have a trace, which are complete, and how many
 * bytes they wrote.  An update is cheap: it lists the directory and reads the size and the last
 * bytes of the traces that are not complete.
 */
#ifndef TI_NODE_WATCH_H
#define TI_NODE_WATCH_H

#include <stdint.h>

#include "common/clock.h"
#include "common/err.h"

struct ti_watch {
    int64_t np;
    int64_t started;  /* ranks with a file: they have left MPI_Init */
    int64_t finished; /* ranks whose file has its end mark */
    int64_t bytes;
    double last_start; /* when the newest file was made, in seconds since the epoch */

    int dir;       /* borrowed */
    int64_t *size; /* per rank; -1: no file */
    char *done;    /* per rank: its file has the end mark */
};

ti_status ti_watch_open(int dir, int64_t np, struct ti_watch *w, struct ti_err *err);
void ti_watch_update(struct ti_watch *w);
void ti_watch_close(struct ti_watch *w);

#endif
