#include <inttypes.h>
#include <stdlib.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/order.h"
#include "common/scratch.h"
#include "merged/encode.h"
#include "trips/internal.h"

/* ----------------------------------------------------------------- one rank -- */

ti_status ti__rank_open(struct ti_source *s, int64_t rank, struct ti_reader **out,
                        struct ti_err *err)
{
    struct ti_record record;
    struct ti_reader *r;
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st)
        return st;
    if (!ti_reader_folded(r)) {
        struct ti_reader *file = r;

        st = ti_folded_encode_shape(file, &record, err);
        if (!st)
            st = ti_reader_open_record(&record, ti_reader_nranks(file), ti_reader_run_id(file),
                                       ti_reader_name(file), &r, err);
        ti_reader_close(file);
        if (st)
            return st;
    }
    st = ti_folded_check(ti_reader_folded(r))
             ? ti_reader_skip(r, err)
             : ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: its record is malformed",
                          ti_reader_name(r));
    if (st)
        ti_reader_close(r);
    else
        *out = r;
    return st;
}

/* Make a change, and open the result in place of *r, which is NULL on errors. */
static ti_status change(const struct ti__change *c, uint32_t node, struct ti_reader **r,
                        struct ti_err *err)
{
    struct ti_reader *was = *r;
    struct ti_record record;
    ti_status st = ti__change_rank(was, node, c, NULL, 0, &record, err);

    if (!st)
        st = ti_reader_open_record(&record, ti_reader_nranks(was), ti_reader_run_id(was),
                                   ti_reader_name(was), r, err);
    ti_reader_close(was);
    if (!st)
        st = ti_reader_skip(*r, err);
    else
        *r = NULL;
    if (st) {
        ti_reader_close(*r);
        *r = NULL;
    }
    return st;
}

ti_status ti__rank_open_changed(const struct ti__job *j, int64_t rank, int loops, size_t most,
                                struct ti_reader **out, struct ti_err *err)
{
    const struct ti__loop_places *places = &j->places[rank];
    ti_status st = ti__rank_open(j->s, rank, out, err);

    for (size_t i = 0; i < places->n && i < most && !st; i++) {
        int k = j->order[places->place[i].number];

        if (k < loops)
            st = change(&j->loop[k].change, places->place[i].node, out, err);
    }
    return st;
}

/* ---------------------------------------------------------------------- find -- */

static uint32_t depth_of(const struct ti_folded *f, uint32_t node)
{
    uint32_t depth = 0;

    for (uint32_t i = 0; i < node; i++)
        depth += ti_shape_node(f, i).loop && ti_shape_node(f, i).end > node;
    return depth;
}

static uint64_t hash_trips(const struct ti_folded *f, uint32_t node)
{
    struct ti_shape_column c = ti_shape_column(f, node, 0);
    uint64_t hash = ti_hash_word(ti_hash_word(TI_HASH_START, c.n), (uint64_t)c.first);

    for (size_t i = 0; i < c.blob.n; i++)
        hash = ti_hash_word(hash, c.blob.data[i]);
    return hash;
}

/* Compare the trips of a loop with those of the first rank that has it. */
static ti_status compare_trips(const struct ti__asked_loop *l, const struct ti_reader *r,
                               uint32_t node, struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(r);
    struct ti_column_stats trips;

    if (!ti_shape_trips(f, node, &trips))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: its record is malformed",
                          ti_reader_name(r));
    if (hash_trips(f, node) == l->hash ||
        (trips.min == trips.max && l->trips.min == l->trips.max && trips.min == l->trips.min))
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "loop '%s' has %" PRIu64 " trips in %" PRIu64 " passes on rank %" PRId64
               ", and %" PRIu64 " in %" PRIu64 " on rank %u: one number of trips would change them "
               "in different ways",
               l->asked->loop, l->trips.sum, l->trips.n, l->rank, trips.sum, trips.n,
               ti_reader_rank(r));
    ti_err_hint(err, "change another loop, which has the same trips on all ranks");
    return TI_ERR_INPUT;
}

/* Whether some passes of a loop get another number of trips. */
static bool changes(const struct ti_trips_loop *l)
{
    return l->trips != l->least || l->trips != l->most;
}

/* Note what the columns of the body say.  Whether trips that change are the same is found later. */
static void note_columns(struct ti_trips_loop *l, struct ti_folded *f, uint32_t loop)
{
    for (uint32_t i = loop + 1; i < ti_shape_node(f, loop).end; i++) {
        for (uint32_t k = 0; k < ti_shape_node(f, i).columns; k++) {
            struct ti_shape_column c = ti_shape_column(f, i, k);
            bool volumes = c.part.kind == TI_PART_VOLUMES;

            l->drawn |= volumes && !c.tokens && !ti__column_is_levels(&c);
            l->same &= volumes || c.part.kind == TI_PART_EXTRAS || !c.blob.n || changes(l);
        }
    }
}

/* Note a loop of a rank. */
static ti_status note_loop(struct ti__asked_loop *l, const struct ti_reader *r, uint32_t node,
                           struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(r);
    uint32_t depth = depth_of(f, node);

    l->depth = depth > l->depth ? depth : l->depth;
    if (l->rank < 0) {
        l->rank = ti_reader_rank(r);
        l->hash = hash_trips(f, node);
        if (!ti_shape_trips(f, node, &l->trips))
            return compare_trips(l, r, node, err);
        l->asked->passes = l->trips.n;
        l->asked->least = (uint64_t)l->trips.min;
        l->asked->most = (uint64_t)l->trips.max;
        l->asked->same = true;
    }
    ti_ranges_add(&l->asked->ranks, ti_reader_rank(r));
    note_columns(l->asked, f, node);
    return compare_trips(l, r, node, err);
}

/* Whether a name with [K] means the same loop as on other ranks. */
static ti_status compare_meanings(struct ti__asked_loop *l, const struct ti__found *found,
                                  int64_t rank, struct ti_err *err)
{
    if (l->rank < 0)
        l->meanings = found->meanings;
    if (found->all || l->meanings == found->meanings)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s' is one of %zu loops of rank %" PRId64
               ", and one of %zu loops of rank %" PRId64,
               l->asked->loop, l->meanings, l->rank, found->meanings, rank);
    ti_err_hint(err, "[*] in place of the number means all of them");
    return TI_ERR_INPUT;
}

TI_ORDER_FUNCTION(inner_place_first, struct ti__loop_place,
                  x->node != y->node ? TI_ORDER(y->node, x->node) : TI_ORDER(x->number, y->number))

/* Sort the places of a rank.  Two names may mean the same loop, with the same number of trips. */
static ti_status sort_places(const struct ti__job *j, struct ti__loop_places *p, int64_t rank,
                             struct ti_err *err)
{
    size_t n = 0;

    if (p->n)
        qsort(p->place, p->n, sizeof *p->place, inner_place_first);
    for (size_t i = 0; i < p->n; i++) {
        const struct ti_trips_loop *is = j->loop[p->place[i].number].asked;
        const struct ti_trips_loop *before = n ? j->loop[p->place[n - 1].number].asked : NULL;

        if (!n || p->place[n - 1].node != p->place[i].node)
            p->place[n++] = p->place[i];
        else if (is->trips != before->trips)
            return ti_err_set(err, TI_ERR_INPUT,
                              "'%s' and '%s' both mean the same loop of rank %" PRId64,
                              before->loop, is->loop, rank);
    }
    p->n = n;
    return TI_OK;
}

static ti_status find_loops(struct ti__job *j, struct ti_reader *r,
                            const struct ti_loop_names *names, struct ti_err *err)
{
    int64_t rank = ti_reader_rank(r);
    struct ti__loop_places *p = &j->places[rank];
    struct ti__found found;

    for (int k = 0; k < j->n; k++) {
        struct ti__asked_loop *l = &j->loop[k];
        ti_status st = ti__loop_find(r, names, l->asked->loop, &found, err);

        if (!st && found.n)
            st = compare_meanings(l, &found, rank, err);
        for (size_t i = 0; i < found.n && !st; i++) {
            p->place = ti_grow(p->place, &p->cap, p->n + 1, sizeof *p->place);
            p->place[p->n++] = (struct ti__loop_place){found.loop[i], k};
            st = note_loop(l, r, found.loop[i], err);
        }
        if (st)
            return st;
    }
    return sort_places(j, p, rank, err);
}

static ti_status find_in_rank(struct ti__job *j, int64_t rank, struct ti_err *err)
{
    struct ti_loop_names *names;
    struct ti_reader *r;
    ti_status st = ti__rank_open(j->s, rank, &r, err);

    if (st)
        return st;
    ti_symbolizer_add_rank(j->z, r);
    names = ti_loop_names_of(r, j->z);
    if (!names)
        ti_no_memory(ti_shape_nodes(ti_reader_folded(r)), sizeof(struct ti_named_node));
    st = ti_reader_end(r) == TI_END_COMPLETE
             ? find_loops(j, r, names, err)
             : ti_err_set(err, TI_ERR_INPUT,
                          "rank %" PRId64 " is not complete (%s), so that its loops are not either",
                          rank, ti_end_text(ti_reader_end(r)));
    ti_loop_names_free(names);
    ti_reader_close(r);
    return st;
}

/* No rank has a loop: name those of the first one. */
static ti_status is_missing(const struct ti__job *j, const char *name, struct ti_err *err)
{
    struct ti_loop_names *names;
    struct ti_reader *r;
    ti_status st = ti__rank_open(j->s, 0, &r, err);

    if (st)
        return st;
    names = ti_loop_names_of(r, j->z);
    if (!names)
        ti_no_memory(ti_shape_nodes(ti_reader_folded(r)), sizeof(struct ti_named_node));
    st = ti__loop_missing(r, names, name, err);
    ti_loop_names_free(names);
    ti_reader_close(r);
    return st;
}

static ti_status find_all(struct ti__job *j, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < j->np && !st; rank++) {
        ti_progress("looking for loops", "ranks", rank, j->np);
        if (!ti_source_has(j->s, rank))
            return ti_err_set(err, TI_ERR_INPUT,
                              "rank %" PRId64
                              " is missing: without all ranks, the result cannot be "
                              "checked",
                              rank);
        st = ti_stop_check(err);
        if (!st)
            st = find_in_rank(j, rank, err);
    }
    ti_progress_end(!st);
    for (int k = 0; k < j->n && !st; k++)
        if (j->loop[k].rank < 0)
            st = is_missing(j, j->loop[k].asked->loop, err);
    return st;
}

/* ------------------------------------------------------------------- periods -- */

TI_ORDER_FUNCTION(inner_first, struct ti__asked_loop,
                  x->depth != y->depth ? TI_ORDER(y->depth, x->depth)
                                       : TI_ORDER(x->number, y->number))

static ti_status add_periods(struct ti__change *c, const struct ti_reader *r, uint32_t node,
                             struct ti_err *err)
{
    struct ti__period same, alike;

    if (!ti__periods_find(ti_reader_folded(r), node, c->trips, &same, &alike))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: its record is malformed",
                          ti_reader_name(r));
    c->same = ti__period_both(c->same, same);
    c->alike = ti__period_both(c->alike, alike);
    return TI_OK;
}

/* Find out how trips of loop `k` of the job repeat in a rank, once the loops before it are changed.
 */
static ti_status find_periods(struct ti__job *j, int64_t rank, int k, struct ti_err *err)
{
    const struct ti__loop_places *p = &j->places[rank];
    struct ti_reader *r = NULL;
    ti_status st = TI_OK;

    for (size_t i = 0; i < p->n && !st; i++) {
        if (j->order[p->place[i].number] != k)
            continue;
        if (!r)
            st = ti__rank_open_changed(j, rank, k, p->n, &r, err);
        if (!st)
            st = add_periods(&j->loop[k].change, r, p->place[i].node, err);
    }
    ti_reader_close(r);
    return st;
}

static void note_periods(struct ti__asked_loop *l)
{
    struct ti__pass pass = ti__pass_of(&l->change, l->asked->most);

    l->asked->from = pass.from;
    l->asked->length = pass.length;
    l->asked->tail = pass.tail;
    l->asked->same &= l->change.same.length == 1;
    l->asked->alike = l->asked->same && l->change.alike.length == 1;
}

ti_status ti__survey(struct ti__job *j, struct ti_err *err)
{
    ti_status st = find_all(j, err);

    qsort(j->loop, (size_t)j->n, sizeof *j->loop, inner_first);
    for (int k = 0; k < j->n; k++)
        j->order[j->loop[k].number] = k;
    for (int k = 0; k < j->n && !st; k++) {
        struct ti__asked_loop *l = &j->loop[k];

        l->change = (struct ti__change){l->asked->trips, {0, 1, 0}, {0, 1, 0}};
        for (int64_t rank = 0; rank < j->np && !st && changes(l->asked); rank++) {
            ti_progress("comparing trips", "ranks", rank, j->np);
            st = ti_stop_check(err);
            if (!st)
                st = find_periods(j, rank, k, err);
        }
        ti_progress_end(!st);
        note_periods(l);
    }
    return st;
}
