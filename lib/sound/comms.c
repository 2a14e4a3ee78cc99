#include "sound/comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_MAX (1 << 20) /* communicators a rank may number */

static enum ti_comm_shape shape_of(const int32_t *member, int64_t size, int64_t first, int64_t np)
{
    if (first)
        return TI_COMM_INTER;
    if (size == 1)
        return TI_COMM_ALONE;
    if (size != np)
        return TI_COMM_SUB;
    for (int64_t i = 0; i < size; i++)
        if (member[i] != i)
            return TI_COMM_REORDERED;
    return TI_COMM_WORLD;
}

/* Add a list of members; returns its index, or -1: no memory. */
static int64_t new_group(struct ti_comms *comms, const int32_t *member, int64_t size, int64_t first,
                         uint64_t hash, int64_t attempt)
{
    size_t bytes = (size_t)size * sizeof *member;
    int32_t *copy = malloc(bytes);
    int64_t g = -1;

    if (copy && TI_ROOM(comms->group, &comms->groups_cap, comms->lists.n + 1))
        g = ti_map_put(&comms->lists, (int64_t)hash, size, first, attempt);
    if (g < 0) {
        free(copy);
        return -1;
    }
    comms->group[g] = (struct ti_group){.member = memcpy(copy, member, bytes),
                                        .size = size,
                                        .first = first,
                                        .shape = shape_of(member, size, first, comms->np)};
    return g;
}

static bool is_group(const struct ti_comms *comms, int64_t g, const int32_t *member, int64_t size,
                     int64_t first)
{
    const struct ti_group *is = &comms->group[g];

    return (size_t)g < comms->lists.n && is->size == size && is->first == first &&
           memcmp(is->member, member, (size_t)size * sizeof *member) == 0;
}

/* The index of a list of members, which is added if it is new; -1: no memory. */
static int64_t group_of(struct ti_comms *comms, const int32_t *member, int64_t size, int64_t first)
{
    uint64_t hash = (uint64_t)size;
    int64_t i;

    /* most ranks have the list of the rank before them, and comparing is faster than hashing */
    if (is_group(comms, comms->last, member, size, first))
        return comms->last;
    for (i = 0; i < size; i++)
        hash = ti_hash_word(hash, (uint64_t)member[i]);
    for (int64_t attempt = 0;; attempt++) {
        int64_t g = ti_map_find(&comms->lists, (int64_t)hash, size, first, attempt);

        if (g < 0)
            g = new_group(comms, member, size, first, hash, attempt);
        else if (!is_group(comms, g, member, size, first))
            continue;
        comms->last = size > 1 && g >= 0 ? g : comms->last;
        return g;
    }
}

bool ti_comms_init(struct ti_comms *comms, int64_t np)
{
    int32_t *world = malloc((size_t)np * sizeof *world + 1);
    bool fine;

    *comms = (struct ti_comms){.np = np};
    for (int64_t i = 0; world && i < np; i++)
        world[i] = (int32_t)i;
    fine = world && group_of(comms, world, np, 0) >= 0; /* the world is group 0 */
    free(world);
    return fine;
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

static int put_members(char *buf, size_t bytes, const int32_t *member, int64_t n)
{
    int at = snprintf(buf, bytes, "ranks");

    for (int64_t i = 0; i < n && i < 4; i++)
        at += snprintf(buf + at, bytes - (size_t)at, " %d", member[i]);
    if (n > 4)
        at += snprintf(buf + at, bytes - (size_t)at, " ... (%lld)", (long long)n);
    return at;
}

const char *ti_comms_text(const struct ti_comms *comms, int64_t gid, char *buf, size_t buf_bytes)
{
    const struct ti_group *g = ti_comms_group(comms, gid);
    const int64_t *key = comms->ids.key[gid];
    static const char *const kinds[] = {"copy", "window", "file"};
    int n;

    if (g->shape == TI_COMM_WORLD) {
        n = snprintf(buf, buf_bytes, "the world");
    } else if (g->shape == TI_COMM_INTER) {
        n = put_members(buf, buf_bytes / 2, g->member, g->first);
        n += snprintf(buf + n, buf_bytes - (size_t)n, " and ");
        n += put_members(buf + n, buf_bytes - (size_t)n, g->member + g->first, g->size - g->first);
    } else {
        n = put_members(buf, buf_bytes, g->member, g->size);
    }
    if (key[1] || key[2] != TI_OBJECT_COMM)
        snprintf(buf + n, buf_bytes - (size_t)n, ", %s %lld", kinds[key[2]], (long long)key[1]);
    return buf;
}

/* The global number of the next communicator of `group`, or of the next window
 * or file on communicator `parent`; -1: no memory. */
static int64_t next_id(struct ti_comm_view *view, int64_t group, enum ti_mpi_object kind,
                       int64_t parent)
{
    int64_t at = -1, id = -1;

    if (TI_ROOM(view->count, &view->counts_cap, view->seen.n + 1))
        at = ti_map_put(&view->seen, group, kind, parent, 0);
    if (at >= 0)
        id = ti_map_put(&view->comms->ids, group, view->count[at]++, kind, parent);
    view->made++;
    view->no_memory |= id < 0;
    return id;
}

static struct ti_local_comm *learn(struct ti_comm_view *view, size_t index, int64_t group,
                                   int64_t rank, bool second)
{
    const struct ti_group *g;
    struct ti_local_comm *c;
    int64_t gid = -1;

    if (group >= 0 && TI_ROOM(view->local, &view->cap, index + 1))
        gid = next_id(view, group, TI_OBJECT_COMM, 0);
    if (gid < 0) {
        view->no_memory = true;
        return NULL;
    }
    for (; view->nlocal <= index; view->nlocal++)
        view->local[view->nlocal].gid = -1;
    g = &view->comms->group[group];
    c = &view->local[index];
    *c = (struct ti_local_comm){.gid = gid, .rank = rank, .me = rank, .npeers = g->size};
    if (g->first) {
        c->me = second ? g->first + rank : rank;
        c->peers = second ? 0 : g->first;
        c->npeers = second ? g->first : g->size - g->first;
    }
    return c;
}

void ti_comm_view_start(struct ti_comm_view *view, struct ti_comms *comms, int64_t rank)
{
    const int32_t self = (int32_t)rank;

    view->comms = comms;
    view->rank = rank;
    view->nlocal = 0;
    ti_map_clear(&view->seen);
    ti_map_clear(&view->objects);
    if (view->count)
        memset(view->count, 0, view->counts_cap * sizeof view->count[0]);
    learn(view, 0, 0, rank, false);
    learn(view, 1, group_of(comms, &self, 1, 0), 0, false);
}

void ti_comm_view_free(struct ti_comm_view *view)
{
    free(view->local);
    free(view->count);
    free(view->object);
    ti_map_free(&view->objects);
    ti_map_free(&view->seen);
}

static bool are_ranks(const int32_t *member, int64_t n, int64_t np)
{
    for (int64_t i = 0; i < n; i++)
        if (member[i] < 0 || member[i] >= np)
            return false;
    return n <= np;
}

/* Both groups, the one with the lower first member in front; -1: no memory. */
static int64_t inter_group(struct ti_comms *comms, const struct ti_comm *c, bool *second)
{
    int64_t first, size = c->size + c->remote_size;
    int32_t *both = malloc((size_t)size * sizeof *both);
    int64_t group;

    if (!both)
        return -1;
    *second = c->remote[0] < c->member[0];
    first = *second ? c->remote_size : c->size;
    memcpy(*second ? both + first : both, c->member, (size_t)c->size * sizeof *both);
    memcpy(*second ? both : both + first, c->remote, (size_t)c->remote_size * sizeof *both);
    group = group_of(comms, both, size, first);
    free(both);
    return group;
}

const struct ti_local_comm *ti_comm_view_get(struct ti_comm_view *view, const struct ti_reader *r,
                                             int64_t index)
{
    const struct ti_comm *c;
    bool second = false;
    int64_t group;

    if (index < 0 || index >= LOCAL_MAX)
        return NULL;
    if ((size_t)index < view->nlocal && view->local[index].gid >= 0)
        return &view->local[index];
    c = ti_reader_comm(r, index);
    if (!c || c->size < 1 || c->rank < 0 || c->rank >= c->size ||
        c->member[c->rank] != view->rank || !are_ranks(c->member, c->size, view->comms->np))
        return NULL;
    if (c->remote_size > 0) {
        if (!are_ranks(c->remote, c->remote_size, view->comms->np) ||
            c->size + c->remote_size > view->comms->np)
            return NULL;
        group = inter_group(view->comms, c, &second);
    } else {
        group = group_of(view->comms, c->member, c->size, 0);
    }
    return learn(view, (size_t)index, group, c->rank, second);
}

const struct ti_local_comm *ti_comm_view_copy(struct ti_comm_view *view, int64_t index,
                                              const struct ti_local_comm *of)
{
    int64_t rank = of->rank;
    bool second = of->me != of->rank;

    if (index < 0 || index >= LOCAL_MAX)
        return NULL;
    if ((size_t)index < view->nlocal && view->local[index].gid >= 0)
        return &view->local[index];
    return learn(view, (size_t)index, view->comms->ids.key[of->gid][0], rank, second);
}

const struct ti_local_comm *ti_comm_view_make(struct ti_comm_view *view, enum ti_mpi_object kind,
                                              int64_t number, const struct ti_local_comm *comm)
{
    struct ti_local_comm object = *comm;
    size_t known = view->objects.n;
    int64_t at = -1;

    if (TI_ROOM(view->object, &view->objects_cap, known + 1))
        at = ti_map_put(&view->objects, kind, number, 0, 0);
    view->no_memory |= at < 0;
    if (at < (int64_t)known)
        return NULL;
    object.gid = next_id(view, view->comms->ids.key[comm->gid][0], kind, comm->gid);
    view->object[at] = object;
    return object.gid < 0 ? NULL : &view->object[at];
}

const struct ti_local_comm *ti_comm_view_object(const struct ti_comm_view *view,
                                                enum ti_mpi_object kind, int64_t number)
{
    int64_t at = ti_map_find(&view->objects, kind, number, 0, 0);

    return at < 0 ? NULL : &view->object[at];
}

int64_t ti_comm_view_world(const struct ti_comm_view *view, const struct ti_local_comm *comm,
                           int64_t delta)
{
    const struct ti_group *g = ti_comms_group(view->comms, comm->gid);

    if (delta < -g->size || delta > g->size)
        return -1;
    delta += comm->rank;
    return delta < 0 || delta >= comm->npeers ? -1 : g->member[comm->peers + delta];
}
