/*
 * --list and --clean: what runs left here and on nodes, such as those of a ti-acquire that was
 * killed.  ti_left_find() (node/rundir.h) says what that is; it looks on this machine, ti-node on
 * the others.
 */
#ifndef TI_ACQUIRE_RUN_LEFT_H
#define TI_ACQUIRE_RUN_LEFT_H

#include "acquire/options.h"
#include "config/sites.h"

/*
 * Print what is left, and with o->clean remove what is left of that run: processes first, each of
 * which is named before.  sites: the nodes to look on as well; NULL: none.
 *
 * Returns TI_OK, TI_ERR_PARTIAL if something could not be removed, TI_ERR_INPUT if o->clean names
 * no run, or one that goes on, TI_ERR_REMOTE if a node could not be asked.
 */
ti_status ti_left_act(const struct ti_options *o, const struct ti_sites *sites, struct ti_err *err);

#endif
