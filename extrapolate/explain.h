/*
 * The rules in words, by class of ranks and call.
 */
#ifndef TI_EXTRAPOLATE_EXPLAIN_H
#define TI_EXTRAPOLATE_EXPLAIN_H

#include <jansson.h>

#include "callsite/symbolizer.h"
#include "extrapolate/model.h"

/*
 * A list of objects, one for each number of each class that the target has:
 *
 *     {"class": 0, "ranks": "x first, y between", "call": "send", "site": "exchange lu.c:346",
 *      "number": "bytes", "rule": "40 * block(33, py, y)"}
 *
 * Numbers that are constants are left out unless `all`; partners of messages never are.  *out is a
 * new object on success.  TI_ERR_INPUT, TI_ERR_IO: a trace cannot be read.
 */
ti_status ti_explain(const struct ti_models *m, bool all, struct ti_symbolizer *z, json_t **out,
                     struct ti_err *err);

/* Print such a list: a line for each call. */
void ti_explain_print(const json_t *rules);

#endif
