/*
 * The tree of a gather, for people and for programs: as it is planned, and as it was.
 */
#ifndef TI_SHOW_H
#define TI_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "gather/fetch.h"
#include "gather/nodes.h"
#include "gather/tree.h"

/*
 * Who sends to whom: each node below the one it sends to, site by site; then what that takes
 * and costs.  Of siblings that are alike one is shown, unless `all`.  `nodes` is the run that
 * `f` was planned for.
 */
void ti_show_plan(FILE *out, const struct ti_fetch *f, const struct ti_nodes *nodes,
                  const struct ti_tree_costs *costs, bool all);

/* The model once more, with the sizes that are known by now: of the tree as it was first. */
struct ti_tree_cost ti_show_predict(const struct ti_fetch *f, const struct ti_nodes *nodes,
                                    const struct ti_tree_costs *costs);

/* {"arity", ..., "predicted", "nodes": [one for each node of the tree]}; NULL when memory is
 * short. */
json_t *ti_show_json(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                     const struct ti_tree_costs *costs);

/* The same for the manifest: shorter, "links" being [node, parent or null, bytes, seconds]. */
json_t *ti_show_gathering(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                          const struct ti_tree_costs *costs);

/* A drawing for Graphviz, a box a node, an arrow to its parent with bytes and rate; who was
 * given up in red, ways that were given up dashed.  TI_ERR_IO. */
ti_status ti_show_dot(const char *path, const struct ti_fetch *f, struct ti_err *err);

#endif
