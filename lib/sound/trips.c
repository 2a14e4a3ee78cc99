#include <stdlib.h>

#include "fold/trips.h"
#include "sound/locate.h"
#include "sound/series.h"
#include "trace/alike.h"

/* The state at the begin of a trip, by the depth of its loop. */
struct level {
    struct ti_walk_mark *walk;
    struct ti_pairs_mark pairs;
    struct sequence_now *seq;
    size_t nseq, seqs_cap;
    uint64_t events, messages, collectives;
    struct ti_problems_mark problems;
};

struct ti_trip_levels {
    struct ti_alike alike;
    struct level *level;
    size_t n, cap;
    /* of the present call */
    struct ti_walk *walk;
    uint64_t *sent;
};

void ti__levels_free(struct ti_trip_levels *levels)
{
    for (size_t i = 0; levels && i < levels->n; i++) {
        ti_walk_mark_free(levels->level[i].walk);
        free(levels->level[i].pairs.side);
        free(levels->level[i].seq);
    }
    if (levels) {
        ti_alike_free(&levels->alike);
        free(levels->level);
    }
    free(levels);
}

/* The level of a depth; NULL: no memory. */
static struct level *level_at(struct ti_trip_levels *levels, uint32_t depth)
{
    if (!TI_ROOM(levels->level, &levels->cap, depth + 1))
        return NULL;
    for (; levels->n <= depth; levels->n++) {
        levels->level[levels->n].walk = ti_walk_mark_new();
        if (!levels->level[levels->n].walk)
            return NULL;
    }
    return &levels->level[depth];
}

static size_t extent(void *arg)
{
    const struct ti_check_state *st = arg;

    return ti_walk_extent(st->levels->walk) + st->check->pairs.own.n + st->nseq + TI_OP_COUNT;
}

static bool remember(void *arg, uint32_t depth)
{
    struct ti_check_state *st = arg;
    struct level *l = level_at(st->levels, depth);

    if (!l || !ti_walk_remember(st->levels->walk, l->walk) ||
        !ti_pairs_remember(&st->check->pairs, &l->pairs) ||
        !TI_ROOM(l->seq, &l->seqs_cap, st->nseq))
        return false;
    l->nseq = st->nseq;
    for (size_t gid = 0; gid < st->nseq; gid++)
        l->seq[gid] = st->seq[gid].now;
    l->events = st->check->events;
    l->messages = st->check->messages;
    l->collectives = st->check->collectives;
    ti_problems_remember(st->ps, &l->problems);
    return st->visitor->remember(st->visitor->arg, depth);
}

static bool steady(void *arg, uint32_t depth)
{
    const struct ti_check_state *st = arg;
    const struct level *l = &st->levels->level[depth];

    return ti_problems_repeat_themselves(st->ps, &l->problems) &&
           ti_walk_steady(st->levels->walk, l->walk) &&
           (!st->visitor->steady || st->visitor->steady(st->visitor->arg, depth));
}

/* Add `times` times what a series, of values whose numbers grow by `growth`, has got since `was`.
 */
static uint64_t repeat_series(uint64_t is, uint64_t was, uint64_t growth, uint64_t times)
{
    return ti_series_add(is, ti_series_repeat(ti_series_subtract(is, was), growth, times));
}

static void repeat_sequences(struct ti_check_state *st, const struct level *l, int64_t rank,
                             uint64_t times)
{
    static const struct sequence_now none;

    for (size_t gid = 0; gid < st->nseq; gid++) {
        struct sequence_now *is = &st->seq[gid].now;
        const struct sequence_now *was =
            gid < l->nseq && l->seq[gid].rank == rank ? &l->seq[gid] : &none;
        uint64_t growth = is->n - was->n;

        if (is->rank != rank || !growth)
            continue;
        is->hash = repeat_series(is->hash, was->hash, growth, times);
        is->given = repeat_series(is->given, was->given, growth, times);
        is->expected = repeat_series(is->expected, was->expected, growth, times);
        is->n += times * growth;
        is->power = ti_series_power(is->n);
    }
}

static bool repeat(void *arg, uint32_t depth, uint64_t times, const struct ti_trip_period *p)
{
    struct ti_check_state *st = arg;
    struct ti_walk *w = st->levels->walk;
    const struct level *l = &st->levels->level[depth];
    struct ti_check *c = st->check;
    uint64_t messages = times * (c->messages - l->messages);
    bool fine;

    ti_problems_repeat(st->ps, &l->problems, times);
    ti_pairs_repeat(&c->pairs, &l->pairs, w, l->walk, times);
    repeat_sequences(st, l, ti_walk_rank(w), times);
    c->events += times * (c->events - l->events);
    c->messages += messages;
    *st->levels->sent += messages;
    c->collectives += times * (c->collectives - l->collectives);
    st->visitor->repeat(st->visitor->arg, depth, times);
    c->left_out.events += ti_walk_leave_out(w, l->walk, depth, times, p->trips, &fine);
    return fine;
}

ti_status ti__leave_out_trips(struct ti_check_state *st, struct ti_walk *w, uint64_t *sent,
                              struct ti_err *err)
{
    static const struct ti_alike_user user = {extent, remember, steady, repeat};

    if (!st->levels) {
        st->levels = calloc(1, sizeof *st->levels);
        if (!st->levels)
            return ti_err_memory(err, "check the trace");
        st->levels->alike = (struct ti_alike){.user = &user, .arg = st};
    }
    st->levels->walk = w;
    st->levels->sent = sent;
    return ti_alike_leave_out(&st->levels->alike, ti_walk_reader(w), err);
}
