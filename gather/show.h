/*
 * Prints the tree of a fetch, planned or done: as text, as JSON, and for Graphviz.
 */
#ifndef TI_GATHER_SHOW_H
#define TI_GATHER_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "gather/fetch/fetch.h"
#include "gather/fetch/nodes.h"
#include "gather/fetch/tree.h"

/*
 * Prints a plan: site by site, each node below its parent; then the predicted cost.  Siblings with
 * equal subtrees are shown once, unless `all`.  `nodes` is the run that `f` was planned for.
 */
void ti_show_plan(FILE *out, const struct ti_fetch *f, const struct ti_nodes *nodes,
                  const struct ti_tree_costs *costs, bool all);

/* Predicts the cost of the planned tree again, with the sizes that are known by now. */
struct ti_tree_cost ti_show_predict(const struct ti_fetch *f, const struct ti_nodes *nodes,
                                    const struct ti_tree_costs *costs);

/* {"arity", ..., "predicted", "nodes": [one for each node of the tree]}; NULL when memory is
 * short. */
json_t *ti_show_json(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                     const struct ti_tree_costs *costs);

/* The same for the manifest: shorter, "links" being [node, parent or null, bytes, seconds]. */
json_t *ti_show_gathering(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                          const struct ti_tree_costs *costs);

/* Writes a drawing for Graphviz: a box for each node, and an arrow to its parent with bytes and
 * rate.  Abandoned nodes are red, planned parents that were replaced dashed.  TI_ERR_IO. */
ti_status ti_show_dot(const char *path, const struct ti_fetch *f, struct ti_err *err);

#endif
