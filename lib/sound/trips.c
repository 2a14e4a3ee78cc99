#include <stdlib.h>

#include "formats/folded/trips.h"
#include "sound/locate.h"
#include "sound/series.h"

#define TRIES 3 /* of trips after which the walk may be steady */

/* A loop in which the present place is, and the state at the begin of a trip. */
struct level {
    bool marked;
    unsigned tries;
    uint64_t alike; /* trips from the mark on; not marked: how many not to try */
    struct ti_walk_mark *walk;
    struct ti_pairs_mark pairs;
    struct sequence_now *seq;
    size_t nseq, seqs_cap;
    uint64_t events, messages, collectives, problems;
};

struct ti_levels {
    struct level *level; /* by depth */
    size_t n, cap;
};

void ti__levels_free(struct ti_levels *levels)
{
    for (size_t i = 0; levels && i < levels->n; i++) {
        ti_walk_mark_free(levels->level[i].walk);
        free(levels->level[i].pairs.side);
        free(levels->level[i].seq);
    }
    free(levels ? levels->level : NULL);
    free(levels);
}

static struct level *level_at(struct ti_check_state *st, uint32_t depth)
{
    struct ti_levels *levels = st->levels;
    size_t none = 0;

    if (!levels)
        levels = st->levels = ti_grow(NULL, &none, 1, sizeof *levels);
    levels->level = ti_grow(levels->level, &levels->cap, depth + 1, sizeof *levels->level);
    for (; levels->n <= depth; levels->n++)
        levels->level[levels->n].walk = ti_walk_mark_new();
    return &levels->level[depth];
}

static void remember(struct ti_check_state *st, const struct ti_walk *w, uint32_t depth,
                     struct level *l)
{
    l->marked = true;
    ti_walk_remember(w, l->walk);
    ti_pairs_remember(&st->check->pairs, &l->pairs);
    l->seq = ti_grow(l->seq, &l->seqs_cap, st->nseq, sizeof *l->seq);
    l->nseq = st->nseq;
    for (size_t gid = 0; gid < st->nseq; gid++)
        l->seq[gid] = st->seq[gid].now;
    l->events = st->check->events;
    l->messages = st->check->messages;
    l->collectives = st->check->collectives;
    l->problems = st->ps->n;
    st->visitor->remember(st->visitor->arg, depth);
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

/* Do `times` times more what was done since the mark. */
static bool repeat(struct ti_check_state *st, struct ti_walk *w, uint32_t depth,
                   const struct level *l, uint64_t times, uint64_t *sent)
{
    struct ti_check *c = st->check;
    uint64_t messages = times * (c->messages - l->messages);
    bool fine;

    ti_pairs_repeat(&c->pairs, &l->pairs, w, l->walk, times);
    repeat_sequences(st, l, ti_walk_rank(w), times);
    c->events += times * (c->events - l->events);
    c->messages += messages;
    *sent += messages;
    c->collectives += times * (c->collectives - l->collectives);
    st->visitor->repeat(st->visitor->arg, depth, times);
    c->left_out.events += ti_walk_leave_out(w, l->walk, times, &fine);
    return fine;
}

/* Mark the begin of a trip, if enough trips are alike to be worth it. */
static void consider(struct ti_check_state *st, struct ti_walk *w, uint32_t depth, struct level *l)
{
    size_t extent = ti_walk_extent(w) + st->check->pairs.own.n + st->nseq + TI_OP_COUNT;
    uint64_t events, alike;

    alike = ti_folded_alike(ti_reader_folded(ti_walk_reader(w)), &events);
    if ((alike - 1) * events <= extent)
        return;
    l->alike = alike;
    l->tries = TRIES;
    remember(st, w, depth, l);
}

/* A trip begins, and the trip before is the one since the mark. */
static bool end_marked(struct ti_check_state *st, struct ti_walk *w,
                       const struct ti_trip_start *trip, struct level *l, uint64_t *sent)
{
    uint64_t left = --l->alike;

    if (st->ps->n == l->problems && ti_walk_steady(w, l->walk)) {
        l->marked = false;
        l->alike = 0;
        if (!repeat(st, w, trip->depth, l, left, sent))
            return false;
        if (left < trip->left)
            consider(st, w, trip->depth, l);
    } else if (--l->tries && left > 1) {
        remember(st, w, trip->depth, l);
    } else {
        l->marked = false;
    }
    return true;
}

ti_status ti__leave_out_trips(struct ti_check_state *st, struct ti_walk *w, uint64_t *sent,
                              struct ti_err *err)
{
    struct ti_trip_start trip;

    while (ti_reader_trip(ti_walk_reader(w), &trip)) {
        struct level *l = level_at(st, trip.depth);

        if (trip.first) {
            l->marked = false;
            l->alike = 0;
        }
        if (l->marked) {
            if (!end_marked(st, w, &trip, l, sent))
                return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: its record is malformed",
                                  ti_reader_name(ti_walk_reader(w)));
        } else if (l->alike) {
            l->alike--;
        } else {
            consider(st, w, trip.depth, l);
        }
    }
    return TI_OK;
}
