#include "info/shapes/quantities.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/sums.h"
#include "fold/trips.h"
#include "trace/alike.h"
#include "trace/scan.h"

struct reading {
    struct info_quantities *q;
    struct ti_versions *v;
    int trace;
    /* of the present rank */
    struct ti_reader *r;
    struct ti_scan scan;
    uint32_t nnodes;
    uint64_t *messages, *bytes; /* by node */
    bool overflow;
    struct mark {
        struct ti_scan scan;
        uint64_t *messages, *bytes;
        size_t messages_cap, bytes_cap;
    } * mark; /* by depth of the loop */
    size_t marks, marks_cap;
};

/* --------------------------------------------------- trips that are alike -- */

static size_t extent(void *arg)
{
    const struct reading *g = arg;

    return g->scan.nstarts + g->scan.ndestinations + (size_t)g->scan.nuntraced + g->nnodes;
}

static bool remember(void *arg, uint32_t depth)
{
    struct reading *g = arg;
    struct mark *m;

    if (!TI_ROOM(g->mark, &g->marks_cap, depth + 1))
        return false;
    g->marks = depth >= g->marks ? depth + 1 : g->marks;
    m = &g->mark[depth];
    if (!ti_scan_remember(&g->scan, &m->scan) ||
        !TI_ROOM(m->messages, &m->messages_cap, (size_t)g->nnodes + 1) ||
        !TI_ROOM(m->bytes, &m->bytes_cap, (size_t)g->nnodes + 1))
        return false;
    memcpy(m->messages, g->messages, g->nnodes * sizeof *m->messages);
    memcpy(m->bytes, g->bytes, g->nnodes * sizeof *m->bytes);
    return true;
}

static bool steady(void *arg, uint32_t depth)
{
    const struct reading *g = arg;

    return ti_scan_steady(&g->scan, &g->mark[depth].scan);
}

static bool repeat(void *arg, uint32_t depth, uint64_t times, const struct ti_trip_period *p)
{
    struct reading *g = arg;
    const struct mark *m = &g->mark[depth];

    for (uint32_t i = 0; i < g->nnodes; i++) {
        g->overflow |= !ti_sum_add(&g->messages[i], g->messages[i] - m->messages[i], times);
        g->overflow |= !ti_sum_add(&g->bytes[i], g->bytes[i] - m->bytes[i], times);
    }
    return ti_reader_leave_out(g->r, times, p);
}

/* ----------------------------------------------------------------- events -- */

/* Add what the starts of persistent requests give. */
static void add_start(struct reading *g, uint32_t node, int64_t number)
{
    if (number < 0 || (size_t)number >= g->scan.nstarts)
        return;
    g->messages[node] += g->scan.starts[number].messages;
    g->overflow |= !ti_sum_add(&g->bytes[node], g->scan.starts[number].bytes, 1);
}

static ti_status add_event(struct reading *g, const struct ti_event *ev, struct ti_err *err)
{
    uint32_t node = ti_folded_node(ti_reader_folded(g->r));
    struct ti_op_count *op = &g->scan.op[ev->op < TI_OP_COUNT ? ev->op : 0];
    ti_status st;

    /* what the event gives is what the scan has afterwards */
    g->scan.messages = 0;
    op->bytes = 0;
    st = ti_scan_event(&g->scan, g->r, ev, err);
    if (st)
        return st;
    if (ti_op_is(ev->op, TI_T_STARTS) && !ti_op_is(ev->op, TI_T_PERSISTENT)) {
        if (ev->mask & TI_M_REQ)
            add_start(g, node, ev->arg[TI_F_REQ]);
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            add_start(g, node, ti_vec_at(&ev->vec[0], i));
        return TI_OK;
    }
    g->messages[node] += g->scan.messages;
    g->overflow |= !ti_sum_add(&g->bytes[node], op->bytes, 1);
    return TI_OK;
}

static ti_status read_events(struct reading *g, struct ti_err *err)
{
    static const struct ti_alike_user user = {extent, remember, steady, repeat};
    struct ti_alike alike = {.user = &user, .arg = g};
    struct ti_event ev;
    ti_status st;
    int more = 0;

    ti_scan_begin(&g->scan);
    for (;;) {
        st = ti_alike_leave_out(&alike, g->r, err);
        if (st || (more = ti_reader_next(g->r, &ev, err)) <= 0)
            break;
        st = add_event(g, &ev, err);
        if (st)
            break;
    }
    ti_alike_free(&alike);
    g->overflow |= g->scan.overflow;
    ti_scan_free(&g->scan);
    return st ? st : more < 0 ? ti_reader_status(g->r) : TI_OK;
}

/* ------------------------------------------------------------------ ranks -- */

/* Complete the rank's sums: volumes, calls, trips. */
static ti_status add_nodes(const struct reading *g, struct info_sums *mine, struct ti_err *err)
{
    const struct ti_folded *f = ti_reader_folded(g->r);
    struct ti_column_stats v;

    errno = 0;
    for (uint32_t i = 0; i < g->nnodes; i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        if (node.loop ? !ti_shape_trips(f, i, &v) : !ti_shape_volumes(f, i, 0, &v))
            return ti_reader_malformed(g->r, err);
        if (node.loop)
            mine[i] = (struct info_sums){.passes = v.n, .trips = v.sum};
        else
            mine[i] = (struct info_sums){{v.sum, g->messages[i], g->bytes[i], node.passes}, 0, 0};
    }
    return TI_OK;
}

/* The sums of a shape. */
static struct info_sums *sums_of(struct info_quantities *q, size_t shape, uint32_t nnodes)
{
    size_t cap = 0;

    q->shape = ti_grow(q->shape, &q->shapes_cap, shape + 1, sizeof(struct info_sums *));
    q->nnodes = ti_grow(q->nnodes, &q->nnodes_cap, shape + 1, sizeof *q->nnodes);
    q->nshapes = shape >= q->nshapes ? shape + 1 : q->nshapes;
    if (!q->shape[shape])
        q->shape[shape] = ti_grow(NULL, &cap, (size_t)nnodes + 1, sizeof(struct info_sums));
    q->nnodes[shape] = nnodes;
    return q->shape[shape];
}

static void add_rank(struct reading *g, const struct ti_reader *r, const struct info_sums *mine)
{
    struct info_sums *to = sums_of(g->q, ti_versions_add(g->v, g->trace, r), g->nnodes);

    for (uint32_t i = 0; i < g->nnodes; i++) {
        for (int k = 0; k < INFO_QUANTITIES; k++)
            g->overflow |= !ti_sum_add(&to[i].of[k], mine[i].of[k], 1);
        g->overflow |= !ti_sum_add(&to[i].trips, mine[i].trips, 1);
        g->overflow |= !ti_sum_add(&to[i].passes, mine[i].passes, 1);
    }
}

static ti_status take_rank(void *arg, struct ti_reader *r, struct ti_err *err)
{
    struct reading *g = arg;
    size_t messages = 0, bytes = 0, sums = 0;
    struct info_sums *mine;
    ti_status st = ti_reader_again(r, &g->r, err);

    if (st)
        return st;
    g->nnodes = ti_shape_nodes(ti_reader_folded(r));
    g->messages = ti_grow(NULL, &messages, (size_t)g->nnodes + 1, sizeof *g->messages);
    g->bytes = ti_grow(NULL, &bytes, (size_t)g->nnodes + 1, sizeof *g->bytes);
    mine = ti_grow(NULL, &sums, (size_t)g->nnodes + 1, sizeof *mine);
    st = read_events(g, err);
    if (!st)
        st = add_nodes(g, mine, err);
    if (!st)
        add_rank(g, r, mine);
    free(g->messages);
    free(g->bytes);
    free(mine);
    ti_reader_close(g->r);
    return st;
}

ti_status info_quantities_read(struct ti_source *s, struct ti_versions *v, int trace,
                               struct info_quantities *q, struct ti_err *err)
{
    struct reading g = {.q = q, .v = v, .trace = trace};
    ti_status st;

    *q = (struct info_quantities){.nshapes = 0};
    st = ti_folded_each(s, -1, take_rank, &g, &q->ranks, err);
    for (size_t i = 0; i < g.marks; i++) {
        ti_scan_mark_free(&g.mark[i].scan);
        free(g.mark[i].messages);
        free(g.mark[i].bytes);
    }
    free(g.mark);
    if (st == TI_ERR_IO)
        return st;
    return g.overflow
               ? ti_err_set(err, TI_ERR_INPUT,
                            "'%s' cannot be summed up: its volumes, messages, bytes or trips "
                            "are more than 2^64 - 1",
                            ti_source_path(s))
               : TI_OK;
}

void info_quantities_free(struct info_quantities *q)
{
    for (size_t i = 0; i < q->nshapes; i++)
        free(q->shape[i]);
    free(q->shape);
    free(q->nnodes);
    ti_folded_ranks_free(&q->ranks);
    *q = (struct info_quantities){.nshapes = 0};
}
