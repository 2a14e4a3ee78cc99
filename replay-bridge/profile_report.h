/*
 * What --profile and --links found, for people.
 */
#ifndef TI_PROFILE_REPORT_H
#define TI_PROFILE_REPORT_H

#include <jansson.h>
#include <stdio.h>

/*
 * Prints the profile that ti-smpi-replay wrote: the shares of computing, communicating and waiting,
 * and the operations and call sites that take most of the time, each as a table.  What the profile
 * lacks is left out.
 */
void ti_profile_print(const json_t *profile, FILE *f);

/* Prints the links that carry messages, the busiest first. */
void ti_profile_print_links(const json_t *links, FILE *f);

#endif
