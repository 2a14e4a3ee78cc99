/* The plan of an acquisition, as a table for people. */
#ifndef TI_PRINT_H
#define TI_PRINT_H

#include <stdio.h>

#include "acquire/run/acquisition.h"

void ti_print_plan(const struct ti_acquisition *a, FILE *out);

#endif
