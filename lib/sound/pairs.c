#include "sound/pairs.h"

#include <stdlib.h>

#include "sound/series.h"

static uint64_t channel_hash(const struct ti_msg *m)
{
    uint64_t h = ti_hash_word(TI_HASH_START, (uint64_t)m->gid);

    return ti_hash_word(ti_hash_word(h, (uint64_t)m->tag), (uint64_t)m->partitioned);
}

int64_t ti_lane_of(const struct ti_msg *m)
{
    return (int64_t)(channel_hash(m) >> 32) & (TI_LANES - 1);
}

static void start(struct ti_side *side)
{
    *side = (struct ti_side){.smallest = INT64_MAX};
}

static struct ti_own_side *side_of(struct ti_pairs *p, const struct ti_msg *m)
{
    size_t known = p->own.n;
    int64_t i = -1;

    if (TI_ROOM(p->side, &p->sides_cap, known + 1))
        i = ti_map_put(&p->own, m->gid, m->tag, m->peer, m->recv + 2 * m->partitioned);
    p->no_memory |= i < 0;
    if (i < 0)
        return &p->no_side;
    if ((size_t)i == known) {
        start(&p->side[i].sums);
        p->side[i].last = 0;
        p->side[i].power = 1;
    }
    return &p->side[i];
}

/* The power of the base for a message's number, which mostly follows that of the last message. */
static uint64_t power_of(struct ti_own_side *side, uint64_t number)
{
    if (number == side->last + 1)
        side->power = ti_series_multiply(side->power, TI_SERIES_BASE);
    else if (number != side->last)
        side->power = ti_series_power(number);
    side->last = number;
    return side->power;
}

/* The value of a message in the series of sizes.  The series multiplies it by a power. */
static uint64_t size_value(const struct ti_msg *m)
{
    return ti_series_value(ti_hash_word(ti_hash_word(TI_HASH_START, (uint64_t)m->bytes), 0));
}

void ti_pairs_add(struct ti_pairs *p, const struct ti_msg *m)
{
    struct ti_own_side *own = side_of(p, m);
    struct ti_side *side = &own->sums;
    uint64_t place = power_of(own, m->seq);

    side->n++;
    side->bytes += (uint64_t)m->bytes;
    side->places = ti_series_add(side->places, place);
    side->sizes = ti_series_add(side->sizes, ti_series_multiply(place, size_value(m)));
    if (m->bytes < side->smallest)
        side->smallest = m->bytes;
    if (m->bytes > side->largest)
        side->largest = m->bytes;
}

void ti_pairs_withdraw(struct ti_pairs *p, const struct ti_msg *m)
{
    struct ti_own_side *own = side_of(p, m);
    struct ti_side *side = &own->sums;
    uint64_t place = power_of(own, m->seq);

    side->n--;
    side->bytes -= (uint64_t)m->bytes;
    side->places = ti_series_subtract(side->places, place);
    side->sizes = ti_series_subtract(side->sizes, ti_series_multiply(place, size_value(m)));
    side->vague = side->vague || m->hole;
}

bool ti_pairs_remember(const struct ti_pairs *p, struct ti_pairs_mark *mark)
{
    if (!TI_ROOM(mark->side, &mark->cap, p->own.n))
        return false;
    mark->n = p->own.n;
    for (size_t i = 0; i < mark->n; i++)
        mark->side[i] = p->side[i].sums;
    return true;
}

void ti_pairs_repeat(struct ti_pairs *p, const struct ti_pairs_mark *mark, const struct ti_walk *w,
                     const struct ti_walk_mark *walk, uint64_t times)
{
    for (size_t i = 0; i < p->own.n; i++) {
        static const struct ti_side none;
        const struct ti_side *was = i < mark->n ? &mark->side[i] : &none;
        const int64_t *key = p->own.key[i];
        const struct ti_msg channel = {.gid = key[0],
                                       .tag = key[1],
                                       .peer = key[2],
                                       .recv = key[3] & 1,
                                       .partitioned = key[3] / 2};
        struct ti_side *side = &p->side[i].sums;
        uint64_t growth = ti_walk_growth(w, walk, &channel);
        uint64_t places = ti_series_subtract(side->places, was->places);
        uint64_t sizes = ti_series_subtract(side->sizes, was->sizes);

        side->n += times * (side->n - was->n);
        side->bytes += times * (side->bytes - was->bytes);
        side->places = ti_series_add(side->places, ti_series_repeat(places, growth, times));
        side->sizes = ti_series_add(side->sizes, ti_series_repeat(sizes, growth, times));
    }
}

/* Add the sums of a channel to those of its lane. */
static void add_channel(struct ti_side *lane, const struct ti_side *side, uint64_t hash)
{
    uint64_t factor = ti_series_value(hash);

    lane->n += side->n;
    lane->bytes += side->bytes;
    lane->places = ti_series_add(lane->places, ti_series_multiply(factor, side->places));
    lane->sizes = ti_series_add(lane->sizes, ti_series_multiply(factor, side->sizes));
    if (side->smallest < lane->smallest)
        lane->smallest = side->smallest;
    if (side->largest > lane->largest)
        lane->largest = side->largest;
    lane->vague = lane->vague || side->vague;
}

void ti_pairs_keep(struct ti_pairs *p, int64_t rank)
{
    for (size_t i = 0; i < p->own.n; i++) {
        const int64_t *key = p->own.key[i];
        const struct ti_msg channel = {.gid = key[0], .tag = key[1], .partitioned = key[3] / 2};
        bool recv = key[3] & 1;
        size_t known = p->keys.n;
        int64_t at = -1;

        if (TI_ROOM(p->lane, &p->cap, known + 1))
            at = ti_map_put(&p->keys, recv ? key[2] : rank, recv ? rank : key[2],
                            ti_lane_of(&channel), 0);
        p->no_memory |= at < 0;
        if (at < 0)
            break;
        if ((size_t)at == known) {
            start(&p->lane[at].sent);
            start(&p->lane[at].taken);
        }
        add_channel(recv ? &p->lane[at].taken : &p->lane[at].sent, &p->side[i].sums,
                    channel_hash(&channel));
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
    size_t *order = malloc((p->keys.n + 1) * sizeof *order);

    for (size_t i = 0; order && i < p->keys.n; i++)
        order[i] = i;
    if (order && p->keys.n)
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
