/*
 * Tables of the results of --profile and --links.
 */
#ifndef TI_REPLAY_BRIDGE_PROFILE_REPORT_H
#define TI_REPLAY_BRIDGE_PROFILE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "callsite/symbolizer.h"

/*
 * Prints the profile that ti-smpi-replay wrote.  One table has the shares of computing,
 * communicating and waiting.  Others have the operations, the call sites and the
 * loops that take most time.
 * Parts that the profile lacks are omitted.
 * Call sites are named by `symbolizer`.  `width`: see common/table.h.
 */
void ti_profile_print(const json_t *profile, struct ti_symbolizer *symbolizer, int width, FILE *f);

/* The time that the ten longest of some loops have at least: with all that have it, these ten are
 * printed in their order, each below those that it is in.  `time`: that of a loop. */
double ti_profile_least_shown(const json_t *loops, double (*time)(const json_t *loop));

/* Prints the links that carry messages, the busiest first. */
void ti_profile_print_links(const json_t *links, int width, FILE *f);

#endif
