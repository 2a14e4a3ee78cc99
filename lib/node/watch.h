/*
 * Watching the run directory fill: which ranks have a trace, which are done,
 * how much is written.  Cheap: a directory listing, and a look at the size and
 * the last bytes of files that are not done.
 */
#ifndef TI_WATCH_H
#define TI_WATCH_H

#include <stdint.h>

#include "common/clock.h"
#include "common/err.h"

struct ti_watch {
    int64_t np;
    int64_t started;  /* ranks that have a file, that is: left MPI_Init */
    int64_t finished; /* whose file has its end mark */
    int64_t bytes;
    double last_start; /* when the last file was made, seconds since the epoch */

    int dir;       /* borrowed */
    int64_t *size; /* per rank; -1: no file */
    char *done;
};

ti_status ti_watch_open(int dir, int64_t np, struct ti_watch *w, struct ti_err *err);
void ti_watch_update(struct ti_watch *w);
void ti_watch_close(struct ti_watch *w);

#endif
