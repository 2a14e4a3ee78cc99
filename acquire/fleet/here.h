/* Whether a node is this machine, as mpirun sees it: by name, or by address. */
#ifndef TI_HERE_H
#define TI_HERE_H

#include <stdbool.h>

struct ti_here {
    char host[256];
    double until; /* names are resolved until then: a slow resolver must not hold us up */
};

void ti_here_begin(struct ti_here *h);

/* `reached_directly`: no gateway stands before it, so that its name means something here. */
bool ti_here_is(struct ti_here *h, const char *name, bool reached_directly);

#endif
