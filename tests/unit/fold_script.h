/*
 * Scripts (script.h) as merged traces.
 */
#ifndef TI_TESTS_UNIT_FOLD_SCRIPT_H
#define TI_TESTS_UNIT_FOLD_SCRIPT_H

#include "bundle/source.h"

/* Write the ranks of the last script, folded, into a merged trace, and open that.  Loops with
 * `from` trips have to[rank] there, if `from` is not 0. */
struct ti_source *fold_script(int np, int64_t from, const int64_t *to);

#endif
