/* ti-acquire --check-sites: print what a sites file, hostfile or job contains. */
#ifndef TI_ACQUIRE_WHERE_CHECK_SITES_H
#define TI_ACQUIRE_WHERE_CHECK_SITES_H


#include "acquire/options.h"
#include "config/sites.h"

/* Print a table or JSON to stdout, and findings to stderr.  The first error is in `err`; the
 * caller prints it. */
ti_status ti_check_sites(const struct ti_options *o, struct ti_err *err);

#endif
