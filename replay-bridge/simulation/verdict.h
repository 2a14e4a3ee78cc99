/*
 * What smpirun's output says.  Its exit status alone does not: it is 0 after a
 * deadlock, too.
 */
#ifndef TI_VERDICT_H
#define TI_VERDICT_H

#include <stdbool.h>

#include "common/err.h"

#define TI_VERDICT_QUOTES 6

struct ti_verdict {
    char time[64];                      /* SimGrid's "Simulation time", as it printed it */
    char clock[64];                     /* its clock then, with more digits; may be "" */
    char quote[TI_VERDICT_QUOTES][240]; /* lines that tell what went wrong */
    int nquotes;
    bool deadlock, crashed; /* the events that ranks are at tell why */
};

/*
 * Read the log.  TI_OK: it holds a simulated time and nothing went wrong.
 * TI_ERR_INPUT: a deadlock, a platform that SimGrid does not take, or a trace that ti-smpi-replay
 * does not.
 * TI_ERR_USAGE: an option that SimGrid does not take.
 * TI_ERR_IO: out of memory, a signal, anything else, or the log cannot be read.
 */
ti_status ti_verdict_read(const char *path, int exit_status, struct ti_verdict *out,
                          struct ti_err *err);

#endif
