/*
 * The first difference between the forms of two ranks, in words.
 */
#ifndef TI_EXTRAPOLATE_DIFFER_H
#define TI_EXTRAPOLATE_DIFFER_H

#include "extrapolate/inputs.h"

/* Two ranks with different forms. */
struct ti_differing {
    int input[2];
    int64_t rank[2];
};

/* "rank 0 of 4 ranks calls send, lu+0x3516, where rank 0 of 16 ranks begins a loop" into buf, which
 * is returned; cut if it does not fit. */
const char *ti_differing_text(const struct ti_inputs *in, const struct ti_differing *d, char *buf,
                              size_t room);

#endif
