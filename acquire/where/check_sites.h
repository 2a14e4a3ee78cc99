/* ti-acquire --check-sites: what a sites file, hostfile or job has. */
#ifndef TI_CHECK_SITES_H
#define TI_CHECK_SITES_H

#include <jansson.h>
#include <stdio.h>

#include "acquire/options.h"
#include "formats/sites.h"

/* A table on stdout, or JSON; what was found beside it on stderr.  The first error is in
 * `err`, for the caller to tell. */
ti_status ti_check_sites(const struct ti_options *o, struct ti_err *err);

/* Parts. */
void ti_sites_print(const struct ti_sites *s, FILE *out);
json_t *ti_sites_json(const struct ti_sites *s); /* NULL when out of memory */

#endif
