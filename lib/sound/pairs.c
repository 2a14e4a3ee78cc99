#include "sound/pairs.h"

#include <stdlib.h>

static uint64_t channel_hash(const struct ti_msg *m)
{
    uint64_t h = ti_hash_word(TI_HASH_START, (uint64_t)m->gid);

    return ti_hash_word(ti_hash_word(h, (uint64_t)m->tag), (uint64_t)m->partitioned);
}

int64_t ti_lane_of(const struct ti_msg *m)
{
    return (int64_t)(channel_hash(m) >> 32) & (TI_LANES - 1);
}

/* Hashes that are summed up need more mixing than hashes that are chained. */
static uint64_t term(uint64_t h)
{
    return ti_hash_word(ti_hash_word(h, 0), 0);
}

static void start(struct ti_side *side)
{
    *side = (struct ti_side){.smallest = INT64_MAX};
}

static struct ti_side *side_of(struct ti_pairs *p, const struct ti_msg *m)
{
    size_t known = p->own.n;
    int64_t i = ti_map_add(&p->own, m->peer, m->recv, ti_lane_of(m), 0);

    p->side = ti_grow(p->side, &p->sides_cap, p->own.n, sizeof *p->side);
    if ((size_t)i == known)
        start(&p->side[i]);
    return &p->side[i];
}

void ti_pairs_add(struct ti_pairs *p, const struct ti_msg *m)
{
    struct ti_side *side = side_of(p, m);
    uint64_t place = ti_hash_word(channel_hash(m), m->seq);

    side->n++;
    side->bytes += (uint64_t)m->bytes;
    side->places += term(place);
    side->sizes += term(ti_hash_word(place, (uint64_t)m->bytes));
    if (m->bytes < side->smallest)
        side->smallest = m->bytes;
    if (m->bytes > side->largest)
        side->largest = m->bytes;
}

void ti_pairs_withdraw(struct ti_pairs *p, const struct ti_msg *m)
{
    struct ti_side *side = side_of(p, m);
    uint64_t place = ti_hash_word(channel_hash(m), m->seq);

    side->n--;
    side->bytes -= (uint64_t)m->bytes;
    side->places -= term(place);
    side->sizes -= term(ti_hash_word(place, (uint64_t)m->bytes));
    side->vague = side->vague || m->hole;
}

void ti_pairs_keep(struct ti_pairs *p, int64_t rank)
{
    for (size_t i = 0; i < p->own.n; i++) {
        const int64_t *key = p->own.key[i];
        bool recv = key[1];
        size_t known = p->keys.n;
        int64_t at = ti_map_add(&p->keys, recv ? key[0] : rank, recv ? rank : key[0], key[2], 0);

        p->lane = ti_grow(p->lane, &p->cap, p->keys.n, sizeof *p->lane);
        if ((size_t)at == known) {
            start(&p->lane[at].sent);
            start(&p->lane[at].taken);
        }
        *(recv ? &p->lane[at].taken : &p->lane[at].sent) = p->side[i];
    }
    ti_pairs_forget(p);
}

void ti_pairs_forget(struct ti_pairs *p)
{
    ti_map_clear(&p->own);
}

bool ti_lane_agrees(const struct ti_lane *lane)
{
    return !lane->sent.vague && !lane->taken.vague && lane->sent.n == lane->taken.n &&
           lane->sent.places == lane->taken.places &&
           (lane->sent.largest <= lane->taken.smallest || lane->sent.sizes == lane->taken.sizes);
}

static int by_pair(const void *a, const void *b, void *keys)
{
    const int64_t(*key)[4] = keys;
    const int64_t *x = key[*(const size_t *)a], *y = key[*(const size_t *)b];

    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

size_t *ti_pairs_sorted(const struct ti_pairs *p)
{
    size_t none = 0, *order = ti_grow(NULL, &none, p->keys.n, sizeof *order);

    for (size_t i = 0; i < p->keys.n; i++)
        order[i] = i;
    if (p->keys.n)
        qsort_r(order, p->keys.n, sizeof *order, by_pair, p->keys.key);
    return order;
}

struct ti_pair ti_pairs_next(const struct ti_pairs *p, const size_t *order, size_t *at)
{
    const int64_t *key = p->keys.key[order[*at]];
    struct ti_pair pair = {.from = key[0], .to = key[1], .checked = true};

    for (; *at < p->keys.n; ++*at) {
        const struct ti_lane *lane = &p->lane[order[*at]];

        key = p->keys.key[order[*at]];
        if (key[0] != pair.from || key[1] != pair.to)
            break;
        pair.checked = pair.checked && lane->checked;
        pair.messages += lane->sent.n;
        pair.bytes += lane->sent.bytes;
        pair.received += lane->messages;
        pair.delivered += lane->message_bytes;
    }
    return pair;
}

void ti_pairs_free(struct ti_pairs *p)
{
    ti_map_free(&p->keys);
    free(p->lane);
    ti_map_free(&p->own);
    free(p->side);
    *p = (struct ti_pairs){0};
}
