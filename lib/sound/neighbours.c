#include "sound/neighbours.h"

#include <stdlib.h>

#define ENTRIES_MAX (INT64_C(1) << 25) /* neighbours of all topologies of a rank */

/* An array; NULL: no memory, as below. */
static int64_t *numbers(struct ti_neighbourhoods *t, int64_t n)
{
    int64_t *array = calloc((size_t)n + 1, sizeof *array);

    t->no_memory |= !array;
    return array;
}

static struct ti_neighbours *new_topology(struct ti_neighbourhoods *t)
{
    struct ti_neighbours *topology = NULL;

    if (TI_ROOM(t->list, &t->cap, t->n + 1))
        topology = calloc(1, sizeof *topology);
    t->no_memory |= !topology;
    if (topology)
        t->list[t->n++] = topology;
    return topology;
}

static void give(struct ti_neighbourhoods *t, int64_t index, struct ti_neighbours *topology)
{
    int64_t at = -1;

    if (TI_ROOM(t->which, &t->which_cap, t->known.n + 1))
        at = ti_map_put(&t->known, index, 0, 0, 0);
    t->no_memory |= at < 0;
    if (at >= 0)
        t->which[at] = topology;
}

/* ---- graphs ---- */

static int64_t *ranks_of(struct ti_neighbourhoods *t, const struct ti_vec *deltas,
                         const struct ti_local_comm *made)
{
    int64_t *rank = numbers(t, deltas->len);

    for (int64_t i = 0; rank && i < deltas->len; i++) {
        int64_t delta = ti_vec_at(deltas, i);

        rank[i] = delta < -made->npeers || delta > made->npeers ? -1 : made->rank + delta;
        if (rank[i] >= made->npeers)
            rank[i] = -1;
    }
    return rank;
}

static struct ti_neighbours *graph(struct ti_neighbourhoods *t, const struct ti_vec *sources,
                                   const struct ti_vec *destinations,
                                   const struct ti_local_comm *made)
{
    struct ti_neighbours *g = new_topology(t);

    if (!g)
        return NULL;
    g->nsources = sources->len;
    g->source = ranks_of(t, sources, made);
    g->ndestinations = destinations->len;
    g->destination = ranks_of(t, destinations, made);
    return g;
}

/* ---- Cartesian grids ---- */

/* The neighbour `step` away in dimension `d`, in which adjacent ranks differ by `stride`; -1 if
 * there is none. */
static int64_t shifted(const struct ti_neighbours *g, int64_t rank, int64_t d, int64_t stride,
                       int64_t step)
{
    int64_t at = rank / stride % g->dims[d];
    int64_t to = at + step;

    if (to < 0 || to >= g->dims[d]) {
        if (!g->periods[d])
            return -1;
        to = (to + g->dims[d]) % g->dims[d];
    }
    return rank + (to - at) * stride;
}

/* Whether the grid has `size` places. */
static bool fills(const struct ti_vec *dims, int64_t size)
{
    int64_t places = 1;

    for (int64_t d = 0; d < dims->len; d++) {
        int64_t extent = ti_vec_at(dims, d);

        if (extent < 1 || extent > size / places)
            return false;
        places *= extent;
    }
    return places == size;
}

static struct ti_neighbours *grid(struct ti_neighbourhoods *t, const struct ti_vec *dims,
                                  const struct ti_vec *periods, const struct ti_local_comm *made)
{
    struct ti_neighbours *g;
    int64_t stride = 1;

    if (periods->len != dims->len || !fills(dims, made->npeers))
        return NULL;
    g = new_topology(t);
    if (!g)
        return NULL;
    g->ndims = dims->len;
    g->nsources = g->ndestinations = 2 * g->ndims;
    g->dims = numbers(t, g->ndims);
    g->periods = numbers(t, g->ndims);
    g->source = numbers(t, g->nsources);
    g->destination = numbers(t, g->ndestinations);
    if (t->no_memory)
        return NULL;
    for (int64_t d = 0; d < g->ndims; d++) {
        g->dims[d] = ti_vec_at(dims, d);
        g->periods[d] = ti_vec_at(periods, d);
    }
    for (int64_t d = g->ndims - 1; d >= 0; stride *= g->dims[d--])
        for (int64_t way = 0; way < 2; way++)
            g->source[2 * d + way] = g->destination[2 * d + way] =
                shifted(g, made->rank, d, stride, way ? 1 : -1);
    return g;
}

/* The dimensions of `of` that remain. */
static struct ti_neighbours *subgrid(struct ti_neighbourhoods *t, const struct ti_neighbours *of,
                                     const struct ti_vec *remain, const struct ti_local_comm *made)
{
    int64_t *dims = numbers(t, of->ndims), *periods = numbers(t, of->ndims), n = 0;
    struct ti_neighbours *g = NULL;

    for (int64_t d = 0; !t->no_memory && d < of->ndims && remain->len == of->ndims; d++)
        if (ti_vec_at(remain, d)) {
            dims[n] = of->dims[d];
            periods[n++] = of->periods[d];
        }
    if (!t->no_memory && remain->len == of->ndims)
        g = grid(t, &(struct ti_vec){dims, 8, n}, &(struct ti_vec){periods, 8, n}, made);
    free(dims);
    free(periods);
    return g;
}

/* ---- all ---- */

void ti_neighbours_learn(struct ti_neighbourhoods *t, const struct ti_event *ev, int64_t index,
                         const struct ti_local_comm *made)
{
    int64_t parent = ti_map_find(&t->known, ev->arg[TI_F_COMM], 0, 0, 0);
    struct ti_neighbours *of = parent < 0 ? NULL : t->which[parent], *made_here = NULL;

    if (ev->vec[0].len + ev->vec[1].len > ENTRIES_MAX - t->entries ||
        ti_map_find(&t->known, index, 0, 0, 0) >= 0) /* it was made before */
        return;
    t->entries += ev->vec[0].len + ev->vec[1].len;
    if (ti_op_is(ev->op, TI_T_GRID))
        made_here = grid(t, &ev->vec[0], &ev->vec[1], made);
    else if (ti_op_is(ev->op, TI_T_SUBGRID))
        made_here = of ? subgrid(t, of, &ev->vec[0], made) : NULL;
    else if (ti_op_is(ev->op, TI_T_GRAPH))
        made_here = graph(t, &ev->vec[0], &ev->vec[ti_op_last_vec(ev->op)], made);
    else if (ti_op_is(ev->op, TI_T_COPIES))
        made_here = of;
    if (made_here)
        give(t, index, made_here);
}

const struct ti_neighbours *ti_neighbours_of(const struct ti_neighbourhoods *t, int64_t index)
{
    int64_t at = ti_map_find(&t->known, index, 0, 0, 0);

    return at < 0 ? NULL : t->which[at];
}

void ti_neighbourhoods_free(struct ti_neighbourhoods *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->list[i]->dims);
        free(t->list[i]->periods);
        free(t->list[i]->source);
        free(t->list[i]->destination);
        free(t->list[i]);
    }
    free(t->list);
    free(t->which);
    ti_map_free(&t->known);
}
