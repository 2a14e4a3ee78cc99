/* The plan of a fetch: which ranks are wanted, from which nodes, and over which tree. */
#ifndef TI_GATHER_FETCH_PLAN_H
#define TI_GATHER_FETCH_PLAN_H

#include "gather/fetch/gathering.h"

/* Decides which ranks are wanted: those without a file here, or with --remove those that were
 * gathered.  Nodes that take part get a state other than TI_FETCH_NOTHING. */
ti_status ti__choose_ranks(struct ti__gathering *g, struct ti_err *err);

/* Chooses the parent of each of these nodes. */
ti_status ti__plan_tree(struct ti__gathering *g, struct ti_err *err);

#endif
