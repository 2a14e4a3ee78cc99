#include "check/comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_MAX (1 << 20) /* communicators a rank may number */

static enum ti_comm_shape shape_of(const int32_t *member, int64_t size, int64_t np)
{
    if (size == 1)
        return TI_COMM_ALONE;
    if (size != np)
        return TI_COMM_SUB;
    for (int64_t i = 0; i < size; i++)
        if (member[i] != i)
            return TI_COMM_REORDERED;
    return TI_COMM_WORLD;
}

/* The number of a list of members; each list is kept once. */
static int64_t group_of(struct ti_comms *comms, const int32_t *member, int64_t size)
{
    uint64_t hash = (uint64_t)size;
    int64_t i;

    for (i = 0; i < size; i++)
        hash = ti_hash_word(hash, (uint64_t)member[i]);
    for (int64_t attempt = 0;; attempt++) {
        size_t known = comms->lists.n;
        int64_t g = ti_map_add(&comms->lists, (int64_t)hash, size, attempt, 0);
        struct ti_group *group;

        comms->group = ti_more(comms->group, &comms->groups_cap, comms->lists.n, sizeof *group);
        group = &comms->group[g];
        if ((size_t)g == known) {
            size_t cap = 0;

            group->member = ti_more(NULL, &cap, (size_t)size, sizeof *member);
            memcpy(group->member, member, (size_t)size * sizeof *member);
            group->size = size;
            group->shape = shape_of(member, size, comms->np);
            return g;
        }
        if (!memcmp(group->member, member, (size_t)size * sizeof *member))
            return g;
    }
}

void ti_comms_init(struct ti_comms *comms, int64_t np)
{
    int32_t *world;
    size_t cap = 0;

    *comms = (struct ti_comms){.np = np};
    world = ti_more(NULL, &cap, (size_t)np, sizeof *world);
    for (int64_t i = 0; i < np; i++)
        world[i] = (int32_t)i;
    group_of(comms, world, np); /* the world is group 0 */
    free(world);
}

void ti_comms_free(struct ti_comms *comms)
{
    for (size_t g = 0; g < comms->lists.n; g++)
        free(comms->group[g].member);
    free(comms->group);
    ti_map_free(&comms->lists);
    ti_map_free(&comms->ids);
}

const struct ti_group *ti_comms_group(const struct ti_comms *comms, int64_t gid)
{
    return &comms->group[comms->ids.key[gid][0]];
}

const char *ti_comms_text(const struct ti_comms *comms, int64_t gid, char *buf, size_t buf_bytes)
{
    const struct ti_group *g = ti_comms_group(comms, gid);
    int64_t ordinal = comms->ids.key[gid][1];
    int n;

    if (g->shape == TI_COMM_WORLD) {
        n = snprintf(buf, buf_bytes, "the world");
    } else {
        n = snprintf(buf, buf_bytes, "ranks");
        for (int64_t i = 0; i < g->size && i < 4; i++)
            n += snprintf(buf + n, buf_bytes - (size_t)n, " %d", g->member[i]);
        if (g->size > 4)
            n += snprintf(buf + n, buf_bytes - (size_t)n, " ... (%lld)", (long long)g->size);
    }
    if (ordinal)
        snprintf(buf + n, buf_bytes - (size_t)n, ", copy %lld", (long long)ordinal);
    return buf;
}

static void learn(struct ti_comm_view *view, size_t index, int64_t group, int64_t rank)
{
    int64_t at = ti_map_add(&view->seen, group, 0, 0, 0);

    view->count = ti_more(view->count, &view->counts_cap, view->seen.n, sizeof view->count[0]);
    view->local = ti_more(view->local, &view->cap, index + 1, sizeof view->local[0]);
    for (; view->nlocal <= index; view->nlocal++)
        view->local[view->nlocal].gid = -1;
    view->local[index].gid = ti_map_add(&view->comms->ids, group, view->count[at]++, 0, 0);
    view->local[index].rank = rank;
}

void ti_comm_view_start(struct ti_comm_view *view, struct ti_comms *comms, int64_t rank)
{
    const int32_t self = (int32_t)rank;

    view->comms = comms;
    view->rank = rank;
    view->nlocal = 0;
    ti_map_clear(&view->seen);
    if (view->count)
        memset(view->count, 0, view->counts_cap * sizeof view->count[0]);
    learn(view, 0, 0, rank);
    learn(view, 1, group_of(comms, &self, 1), 0);
}

void ti_comm_view_free(struct ti_comm_view *view)
{
    free(view->local);
    free(view->count);
    ti_map_free(&view->seen);
}

const struct ti_local_comm *ti_comm_view_get(struct ti_comm_view *view, const struct ti_reader *r,
                                             int64_t index)
{
    const struct ti_comm *c;

    if (index < 0 || index >= LOCAL_MAX)
        return NULL;
    if ((size_t)index < view->nlocal && view->local[index].gid >= 0)
        return &view->local[index];
    c = ti_reader_comm(r, index);
    if (!c || c->size < 1 || c->size > view->comms->np || c->rank < 0 || c->rank >= c->size ||
        c->member[c->rank] != view->rank)
        return NULL;
    for (int64_t i = 0; i < c->size; i++)
        if (c->member[i] < 0 || c->member[i] >= view->comms->np)
            return NULL;
    learn(view, (size_t)index, group_of(view->comms, c->member, c->size), c->rank);
    return &view->local[index];
}

int64_t ti_comm_view_world(const struct ti_comm_view *view, const struct ti_local_comm *comm,
                           int64_t delta)
{
    const struct ti_group *g = ti_comms_group(view->comms, comm->gid);

    if (delta < -g->size || delta > g->size)
        return -1;
    delta += comm->rank;
    return delta < 0 || delta >= g->size ? -1 : g->member[delta];
}
