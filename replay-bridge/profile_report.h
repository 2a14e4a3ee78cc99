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

/* Prints the links that carry messages, the busiest first. */
void ti_profile_print_links(const json_t *links, int width, FILE *f);

#endif
