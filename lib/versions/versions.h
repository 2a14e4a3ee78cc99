/*
 * Call sites and loops of several traces, and which of them are the same: of two versions of a
 * program, or of runs of several sizes.  Each trace is compared with those before it.
 *
 * Call sites (an operation and a place in the program):
 *   - The same place of the same build (build-id) is the same call site.
 *   - Otherwise, call sites are compared function by function, by name.  Within a
 *     function, in the order of their lines, as many calls of the same operation as possible are
 *     pairs; of the ways to do that, the one is taken in which most lines are equal, also if they
 *     are counted from the first or the last call site of the function.
 *   - A function whose name only one trace has is paired with the only other such function that
 *     makes the same operations in the same order.
 *   - Where functions of a module are not known, its call sites are compared in the order of their
 *     addresses, as if the module were one function.
 *
 * Phases (loops of the trace, fold/shape.h), from the outermost on:
 *   - Loops that stand in the same phase are the same phase if they have a call site in common,
 *     also one in their inner loops.  This holds for loops of several ranks, and of one rank.
 *   - If each rank has the same loops and calls in all traces, the second loop with a call site is
 *     told apart from the first.
 *   - Of such loops, those with a direct call that others make only in inner loops stand inside
 *     these: a trace has no loop where the program makes one trip.
 *
 * A call belongs to the phase of the innermost loop around it.  For tools only: when
 * memory is short, the program ends (common/map.h).
 */
#ifndef TI_VERSIONS_VERSIONS_H
#define TI_VERSIONS_VERSIONS_H

#include "callsite/symbolizer.h"
#include "trace/reader.h"

#define TI_VERSIONS_NONE SIZE_MAX /* no phase: outside of loops */

struct ti_versions;

/* `traces`: how many there will be.  `z` is borrowed; NULL: no source lines are known. */
struct ti_versions *ti_versions_new(int traces, struct ti_symbolizer *z);
void ti_versions_free(struct ti_versions *v); /* NULL is fine */

/* Add the next rank of a trace, which is folded (ti_reader_folded()); ranks in ascending order.
 * Returns the number of its shape: ranks of a trace with the same loops and calls from the same
 * call sites share one. */
size_t ti_versions_add(struct ti_versions *v, int trace, const struct ti_reader *r);

/* The number of a call site of a trace, by its operation and the text that the trace has ("": not
 * known).  Before ti_versions_match(), the call site is added to the trace if it is new. */
size_t ti_versions_site(struct ti_versions *v, int trace, uint32_t op, const char *text);

/* Find out what is the same, once, after everything is added. */
void ti_versions_match(struct ti_versions *v);

/* ---- results, after ti_versions_match() ---- */

/* A call site: its text in each trace, NULL where the trace does not have it.  The order is that of
 * the first trace, then of the second, and so on. */
size_t ti_versions_sites(const struct ti_versions *v);
uint32_t ti_versions_op(const struct ti_versions *v, size_t site);
const char *ti_versions_text(const struct ti_versions *v, size_t site, int trace);

/* Which of these is a call site of a trace, by the number of ti_versions_site(). */
size_t ti_versions_site_of(const struct ti_versions *v, int trace, size_t number);

/* A phase.  Phases come after the one that they are in. */
size_t ti_versions_phases(const struct ti_versions *v);
size_t ti_versions_around(const struct ti_versions *v, size_t phase); /* or TI_VERSIONS_NONE */

/* The name of a phase in a trace: that of its loop, as ti-info --phases has it, on the first rank
 * that has the phase.  Of several loops, "exchange lu.c:250[*]" if their names differ only in the
 * number, else up to three names.  NULL: the trace does not have the phase. */
const char *ti_versions_name(const struct ti_versions *v, size_t phase, int trace);

/* Of a shape of a trace: the phase of node `node`, which may be TI_VERSIONS_NONE, and the call site
 * of a call.  _loop: the node of the `n`-th loop; UINT32_MAX: there are not so many. */
size_t ti_versions_phase_of(const struct ti_versions *v, int trace, size_t shape, uint32_t node);
size_t ti_versions_call_of(const struct ti_versions *v, int trace, size_t shape, uint32_t node);
uint32_t ti_versions_loop(const struct ti_versions *v, int trace, size_t shape, uint32_t n);

#endif
