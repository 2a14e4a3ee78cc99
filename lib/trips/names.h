/*
 * Names of the loops of a shape (fold/shape.h), by the call sites of their calls.
 *
 * A name is the call site of a call directly in the loop, not in a loop inside it.  Behind it, each
 * '^' goes one loop further out.  If there are several such loops, "[K]" is the K-th of them in the
 * order of the shape, and "[*]" are all of them:
 *
 *   norm lu.c:291       the loop around the calls from there
 *   norm lu.c:291^      the loop around that one
 *   halo lu.c:250[2]    the second of the loops that have calls from there
 *   halo lu.c:250[*]    all of these loops
 *
 * The same call site names the same loop on all ranks, if their loops nest in the same way.  A call
 * whose site is not known is named by its operation.
 */
#ifndef TI_TRIPS_NAMES_H
#define TI_TRIPS_NAMES_H

#include "callsite/symbolizer.h"

#define TI_LOOP_NAME_BYTES 1024 /* for any name, see TI_SHAPE_DEPTH */

/* A node of a shape. */
struct ti_named_node {
    uint32_t end; /* as in struct ti_shape_node */
    bool loop;
    uint32_t op;      /* of a call */
    const char *site; /* as people read it (callsite/symbolizer.h); "" or NULL: not known */
};

struct ti_loop_names;

/* The names of all loops of a shape: that of a folded trace (ti_reader_folded()), with source lines
 * from `z`, which may be NULL; or given by its nodes, which with their texts must outlive the
 * result.  NULL: no memory.  Release with ti_loop_names_free(). */
struct ti_loop_names *ti_loop_names_of(const struct ti_reader *r, struct ti_symbolizer *z);
struct ti_loop_names *ti_loop_names_new(const struct ti_named_node *node, uint32_t n);
void ti_loop_names_free(struct ti_loop_names *names); /* NULL is fine */

/* Write the name of loop `i` into buf, which is cut if it does not fit.  Names of calls that stand
 * for one loop are preferred, of these the one closest to the loop, of these one of a call that all
 * ranks make.  Returns buf. */
const char *ti_loop_name(const struct ti_loop_names *names, uint32_t i, char *buf, size_t bytes);

/* The text that names call `i`: its site, else its operation. */
const char *ti_loop_call_text(const struct ti_loop_names *names, uint32_t i);

/* Find the loops that a name may stand for: the first `most` in ascending order go to `out`.
 * Returns how many there are.  Ends the program when memory is short.  *which is the K of its [K],
 * 0 if it has none, or TI_LOOPS_ALL; this does not reduce the result. */
#define TI_LOOPS_ALL UINT64_MAX
size_t ti_loop_find(const struct ti_loop_names *names, const char *name, uint32_t *out, size_t most,
                    uint64_t *which);

#endif
