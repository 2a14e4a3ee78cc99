/*
 * Bounds of a share, from random samples: of n samples, `hits` had a property; how much of the
 * whole has it?
 */
#ifndef TI_COMMON_SHARE_H
#define TI_COMMON_SHARE_H

#include <stdint.h>

/* Bounds of a share, 0 to 1. */
struct ti_share {
    double least, most;
};

/*
 * The exact bounds of C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits
 * Illustrated in the Case of the Binomial", 1934.  Each of the two is wrong in at most one of 100
 * cases, whatever the share and the number of samples.  Without samples they are 0 and 1.
 * hits <= n.
 */
struct ti_share ti_share_of(uint64_t hits, uint64_t n);

#endif
