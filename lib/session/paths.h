/*
 * Paths of the files that ti-acquire, ti-gather and ti-node need.  They are found relative to the
 * program, in the build tree or in an installation, so that an installation can be moved.
 */
#ifndef TI_SESSION_PATHS_H
#define TI_SESSION_PATHS_H

#include <limits.h>

#include "common/err.h"

struct ti_paths {
    char library[PATH_MAX];  /* libminitrace.so */
    char valgrind[PATH_MAX]; /* folder of the ticount tool; "" if it is not there */
    char gather[PATH_MAX];   /* ti-gather; "" if it is not there */
    char replay[PATH_MAX];   /* ti-replay; the same */
    char node[PATH_MAX];     /* ti-node; "" if it is not there */
    char counter[PATH_MAX];  /* ti-node-counter, which tries counters for it; the same */
    char rsh[PATH_MAX];      /* ti-rsh, which mpirun starts instead of ssh; the same */
};

/* TI_ERR_IO if the library is missing, or lies where it cannot be preloaded from. */
ti_status ti_paths_find(struct ti_paths *p, struct ti_err *err);

#endif
