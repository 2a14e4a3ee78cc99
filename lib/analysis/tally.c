#include "analysis/tally.h"

#include <stdlib.h>
#include <string.h>

#define KINDS 4 /* a power of two above enum ti_tally_kind */

void ti_tally_add(struct ti_tally *t, enum ti_tally_kind kind, uint32_t op, int64_t from,
                  int64_t to, uint64_t bytes)
{
    int64_t i = -1;

    if (TI_ROOM(t->times, &t->cap, t->items.n + 1))
        i = ti_map_put(&t->items, (int64_t)op * KINDS + kind, from, to, (int64_t)bytes);
    t->no_memory |= i < 0;
    if (i >= 0)
        t->times[i]++;
}

bool ti_tally_remember(struct ti_tally *t, uint32_t depth)
{
    struct ti_tally_mark *m;

    if (!TI_ROOM(t->mark, &t->marks_cap, depth + 1))
        return false;
    t->marks = depth >= t->marks ? depth + 1 : t->marks;
    m = &t->mark[depth];
    m->n = t->items.n;
    if (!TI_ROOM(m->times, &m->cap, m->n))
        return false;
    if (m->n)
        memcpy(m->times, t->times, m->n * sizeof *m->times);
    return true;
}

void ti_tally_repeat(struct ti_tally *t, uint32_t depth, uint64_t times)
{
    const struct ti_tally_mark *m = &t->mark[depth];

    for (size_t i = 0; i < t->items.n; i++)
        t->times[i] += times * (t->times[i] - (i < m->n ? m->times[i] : 0));
}

uint64_t ti_tally_at(const struct ti_tally *t, size_t i, enum ti_tally_kind *kind, uint32_t *op,
                     int64_t *from, int64_t *to, uint64_t *bytes)
{
    const int64_t *key = t->items.key[i];

    *kind = (enum ti_tally_kind)(key[0] % KINDS);
    *op = (uint32_t)(key[0] / KINDS);
    *from = key[1];
    *to = key[2];
    *bytes = (uint64_t)key[3];
    return t->times[i];
}

void ti_tally_clear(struct ti_tally *t)
{
    if (t->items.n)
        memset(t->times, 0, t->items.n * sizeof *t->times);
    ti_map_clear(&t->items);
}

void ti_tally_free(struct ti_tally *t)
{
    for (size_t i = 0; i < t->marks; i++)
        free(t->mark[i].times);
    free(t->mark);
    free(t->times);
    ti_map_free(&t->items);
    *t = (struct ti_tally){.times = NULL};
}
