#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trips/internal.h"

#define LOOPS_MOST 8 /* that an error lists */

/* A list of loops, cut where it does not fit. */
struct list {
    char text[480];
    size_t n;
    int loops;
};

/* Add "'norm lu.c:291' (1 to 2 trips)". */
static void add_loop(struct list *l, const struct ti_loop_names *names, const struct ti_folded *f,
                     uint32_t loop)
{
    struct ti_column_stats trips = {.max = 0};
    char name[TI_LOOP_NAME_BYTES], range[64];

    if (l->loops++ >= LOOPS_MOST || l->n >= sizeof l->text)
        return;
    ti_shape_trips(f, loop, &trips);
    ti__range_text((uint64_t)trips.min, (uint64_t)trips.max, range, sizeof range);
    l->n += (size_t)snprintf(l->text + l->n, sizeof l->text - l->n, "%s'%s' (%s trip%s)",
                             l->n ? ", " : "", ti_loop_name(names, loop, name, sizeof name), range,
                             trips.max == 1 ? "" : "s");
}

ti_status ti__loop_missing(const struct ti_reader *r, const struct ti_loop_names *names,
                           const char *name, struct ti_err *err)
{
    const struct ti_folded *f = ti_reader_folded(r);
    struct list list = {"", 0, 0};

    for (uint32_t i = 0; i < ti_shape_nodes(f); i++)
        if (ti_shape_node(f, i).loop)
            add_loop(&list, names, f, i);
    if (!list.loops)
        return ti_err_set(err, TI_ERR_INPUT, "rank %u has no loops", ti_reader_rank(r));
    ti_err_set(err, TI_ERR_INPUT, "no loop has the name '%s'; the loops of rank %u are %s%s", name,
               ti_reader_rank(r), list.text, list.loops > LOOPS_MOST ? ", ..." : "");
    ti_err_hint(err, "ti-info --phases shows the names of all loops behind '#'");
    return TI_ERR_INPUT;
}

/* ---------------------------------------------------------------------- loop -- */

static ti_status several(const struct ti_reader *r, const struct ti_loop_names *names,
                         const char *name, const uint32_t *loop, size_t n, struct ti_err *err)
{
    struct list list = {"", 0, 0};

    for (size_t i = 0; i < n && i < TI__FOUND_MOST; i++)
        add_loop(&list, names, ti_reader_folded(r), loop[i]);
    ti_err_set(err, TI_ERR_INPUT, "'%s' may be one of %zu loops of rank %u: %s%s", name, n,
               ti_reader_rank(r), list.text, n > LOOPS_MOST ? ", ..." : "");
    ti_err_hint(err,
                "give the one that is meant, or '%s[*]' for all of them; ti-info --phases shows "
                "where they are",
                name);
    return TI_ERR_INPUT;
}

/* The first call in a loop that gives a number to what it makes; NULL: there is none. */
static const char *maker(const struct ti_loop_names *names, const struct ti_folded *f,
                         uint32_t loop)
{
    for (uint32_t i = loop + 1; i < ti_shape_node(f, loop).end; i++) {
        uint32_t mask = ti_shape_node(f, i).mask;

        if (mask & TI_M_NEWCOMM || (mask & TI_M_WIN && mask & TI_M_COMM) ||
            (mask & TI_M_FILE && mask & TI_M_NAME))
            return ti_loop_call_text(names, i);
    }
    return NULL;
}

/* Whether all of the loops can be changed. */
static ti_status check_loops(const struct ti_reader *r, const struct ti_loop_names *names,
                             const char *name, const uint32_t *loop, size_t n, struct ti_err *err)
{
    const struct ti_folded *f = ti_reader_folded(r);

    for (size_t i = 0; i < n; i++) {
        const char *makes = maker(names, f, loop[i]);

        if (makes)
            return ti_err_set(err, TI_ERR_INPUT,
                              "loop '%s' of rank %u cannot have other trips: in it, %s makes "
                              "communicators, windows or files, which have numbers in the trace",
                              name, ti_reader_rank(r), makes);
        if (i && loop[i] < ti_shape_node(f, loop[i - 1]).end)
            return ti_err_set(err, TI_ERR_INPUT,
                              "'%s' means loops of rank %u that are inside each other", name,
                              ti_reader_rank(r));
    }
    return TI_OK;
}

ti_status ti__loop_find(struct ti_reader *r, const struct ti_loop_names *names, const char *name,
                        struct ti__found *out, struct ti_err *err)
{
    uint64_t which;

    out->n = out->meanings = ti_loop_find(names, name, out->loop, TI__FOUND_MOST, &which);
    out->all = which == TI_LOOPS_ALL;
    if (!out->n)
        return TI_OK;
    if (out->n > TI__FOUND_MOST || (!which && out->n > 1))
        return several(r, names, name, out->loop, out->n, err);
    if (!out->all && which > out->n)
        return ti__loop_missing(r, names, name, err);
    if (which && !out->all) {
        out->loop[0] = out->loop[which - 1];
        out->n = 1;
    }
    return check_loops(r, names, name, out->loop, out->n, err);
}
