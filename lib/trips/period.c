#include <stdlib.h>

#include "common/map.h"
#include "event/event.h"
#include "trips/internal.h"

#define TRIPS_MOST  (UINT64_C(1) << 22) /* of all passes, that are compared */
#define TAIL_MOST   16                  /* trips that are no tail any more, if there are more */
#define VALUES_MOST (UINT64_C(1) << 26) /* that are read for that */

/* ------------------------------------------------------------------ counting -- */

bool ti__counter_new(struct ti_folded *f, uint32_t loop, uint32_t node,
                     const struct ti_shape_column *c, struct ti__counter *out)
{
    uint32_t from = node, arrivals = ti_shape_node(f, node).arrivals;
    size_t cap = 0;

    *out = (struct ti__counter){.n = 0};
    if (c->part.kind == TI_PART_VOLUMES || c->part.kind == TI_PART_EXTRAS) {
        from -= c->part.arrival;
        if (from <= loop)
            return false;
        out->less = c->part.arrival + 1 < arrivals;
        out->back = out->less && from == loop + 1;
    }
    for (uint32_t i = loop + 1; i < from; i++) {
        struct ti_shape_column trips;

        if (!ti_shape_node(f, i).loop || ti_shape_node(f, i).end <= from)
            continue;
        trips = ti_shape_column(f, i, 0);
        out->trips = ti_grow(out->trips, &cap, out->n + 1, sizeof *out->trips);
        ti_cursor_start(&out->trips[out->n++], (uint64_t)trips.first, trips.blob.data,
                        trips.blob.n);
    }
    return true;
}

void ti__counter_free(struct ti__counter *c)
{
    free(c->trips);
    *c = (struct ti__counter){.n = 0};
}

bool ti__counter_next(struct ti__counter *c, uint64_t trips, bool first, uint64_t *values)
{
    uint64_t outer = trips;

    *values = trips;
    if (c->back) {
        *values -= first && trips;
        return true;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        outer = *values;
        if (!ti_cursor_sum(&c->trips[i], outer, values))
            return false;
    }
    *values -= c->less ? outer : 0;
    return true;
}

/* ------------------------------------------------------------------- periods -- */

struct ti__period ti__period_both(struct ti__period a, struct ti__period b)
{
    uint64_t x = a.length, y = b.length, rest;

    if (!a.length || !b.length)
        return (struct ti__period){0, 0, 0};
    for (; y; y = rest) {
        rest = x % y;
        x = y;
    }
    if (a.length / x > TRIPS_MOST / b.length)
        return (struct ti__period){0, 0, 0};
    return (struct ti__period){a.lead > b.lead ? a.lead : b.lead, a.length / x * b.length,
                               a.tail > b.tail ? a.tail : b.tail};
}

/* Whether a pass of so many trips has a period long enough to be one: at least twice, and in no
 * less than half of its trips. */
static bool fits(struct ti__period p, uint64_t trips)
{
    uint64_t ends = p.lead + p.tail;

    return p.length && ends <= trips / 2 && (trips - ends) / 2 >= p.length;
}

/* Divide `more` trips into parts of windows of `length` trips. */
static void set_window(struct ti__pass *p, uint64_t length, uint64_t more)
{
    p->length = length;
    p->start = (p->had - p->tail - p->from) % length;
    p->first = p->start ? length - p->start : 0;
    p->first = p->first < more ? p->first : more;
    p->whole = (more - p->first) / length;
    p->last = (more - p->first) % length;
}

struct ti__pass ti__pass_of(const struct ti__change *change, uint64_t had)
{
    struct ti__pass p = {.had = had, .kept = had < change->trips ? had : change->trips};
    struct ti__period period = {0, 0, 0};
    uint64_t window = had;

    if (fits(change->alike, had))
        period = change->alike;
    else if (fits(change->same, had))
        period = change->same;
    if (p.kept > period.tail && p.kept >= period.lead + period.tail) {
        p.tail = period.tail;
        p.kept -= p.tail;
    }
    if (had >= change->trips)
        return p;
    p.period = period.length;
    p.volumes = fits(change->alike, had);
    if (period.length) {
        p.from = period.lead ? period.lead : period.length;
        window = (p.kept - p.from) / period.length * period.length;
    }
    set_window(&p, window, change->trips - had);
    return p;
}

void ti__pass_shorten(struct ti__pass *p)
{
    if (p->period)
        set_window(p, p->period, p->first + p->whole * p->length + p->last);
}

/* The first period of trips that have these hashes, but for the last `tail` ones of `all`. `border`
 * has room for as many numbers. */
static struct ti__period period_before(const uint64_t *hash, uint64_t all, uint64_t tail,
                                       uint64_t *border)
{
    uint64_t n = all - tail;
    const uint64_t *last = hash + n - 1;

    /* border[k]: how many of the last k + 1 trips, but not all, are also the first of these */
    border[0] = 0;
    for (uint64_t k = 1, b = 0; k < n; k++) {
        while (b && last[-(int64_t)k] != last[-(int64_t)b])
            b = border[b - 1];
        b += last[-(int64_t)k] == last[-(int64_t)b];
        border[k] = b;
    }
    for (uint64_t lead = 0; lead + tail <= all / 2; lead++) {
        struct ti__period p = {lead, n - lead - border[n - lead - 1], tail};

        if (fits(p, all))
            return p;
    }
    return (struct ti__period){0, 0, 0};
}

/* The period with the shortest tail. */
static struct ti__period period_of(const uint64_t *hash, uint64_t n, uint64_t *border)
{
    struct ti__period p = {0, n == 1, 0};

    for (uint64_t tail = 0; !p.length && tail <= TAIL_MOST && tail <= n / 2; tail++)
        p = period_before(hash, n, tail, border);
    return p;
}

/* ------------------------------------------------------------------- hashing -- */

/* Trips of all passes of a loop. */
struct trips {
    struct ti_folded *f;
    uint32_t loop;
    uint64_t passes, n;
    uint64_t *hash; /* of each trip */
    uint64_t most;  /* values that may still be read */
};

static struct ti_cursor trip_counts(const struct trips *t)
{
    struct ti_shape_column c = ti_shape_column(t->f, t->loop, 0);
    struct ti_cursor cursor;

    ti_cursor_start(&cursor, (uint64_t)c.first, c.blob.data, c.blob.n);
    return cursor;
}

/* Add the next `n` values of a column to the hash of a trip. */
static bool hash_values(struct ti_cursor *cursor, uint64_t n, uint64_t *hash)
{
    uint64_t value;

    for (; n; n--) {
        if (!ti_cursor_next(cursor, &value))
            return false;
        *hash = ti_hash_word(*hash, value);
    }
    *hash = ti_hash_word(*hash, UINT64_MAX); /* the end of the column in this trip */
    return true;
}

/* Add the values of a column to the hashes of the trips.  t->most becomes 0 if they are too many.
 */
static bool hash_column(struct trips *t, uint32_t node, const struct ti_shape_column *c)
{
    struct ti_cursor counts = trip_counts(t), cursor;
    uint64_t *hash = t->hash, trips = 0, n;
    struct ti__counter counter;
    bool fine = true;

    if (!ti__counter_new(t->f, t->loop, node, c, &counter))
        return true;
    ti_cursor_start(&cursor, (uint64_t)c->first, c->blob.data, c->blob.n);
    for (uint64_t p = 0; p < t->passes && fine && t->most; p++) {
        fine = ti_cursor_next(&counts, &trips);
        for (uint64_t k = 0; k < trips && fine && t->most; k++) {
            fine = ti__counter_next(&counter, 1, k == 0, &n);
            t->most = n + 1 < t->most ? t->most - n - 1 : 0;
            if (fine && t->most)
                fine = hash_values(&cursor, n, hash++);
        }
    }
    ti__counter_free(&counter);
    return fine;
}

/* Whether the values of a column belong to those by which trips are compared. */
static bool is_compared(const struct ti_shape_column *c, bool volumes)
{
    return c->blob.n && c->part.kind != TI_PART_EXTRAS &&
           (c->part.kind == TI_PART_VOLUMES) == volumes;
}

/* Add all columns of a kind to the hashes; *some is set if there are any, *none if there is no
 * period. */
static bool hash_columns(struct trips *t, bool volumes, bool *some, bool *none)
{
    uint32_t end = ti_shape_node(t->f, t->loop).end;

    for (uint32_t i = t->loop + 1; i < end && !*none; i++) {
        for (uint32_t k = 0; k < ti_shape_node(t->f, i).columns && !*none; k++) {
            struct ti_shape_column c = ti_shape_column(t->f, i, k);

            if (!is_compared(&c, volumes))
                continue;
            if (!c.tokens) { /* statistics have no order, and levels have noise */
                *none = ti__column_is_levels(&c);
                continue;
            }
            if (!*some && t->n <= TRIPS_MOST && !t->hash) {
                size_t cap = 0;

                t->hash = ti_grow(NULL, &cap, (size_t)t->n + 1, sizeof *t->hash);
            }
            *some = true;
            *none = !t->hash;
            if (t->hash && !hash_column(t, i, &c))
                return false;
            *none |= t->most == 0;
        }
    }
    return true;
}

/* The period of all passes that get more trips, or fewer. */
static bool all_passes(const struct trips *t, uint64_t trips, bool more, struct ti__period *out)
{
    struct ti_cursor counts = trip_counts(t);
    const uint64_t *hash = t->hash;
    uint64_t *border = NULL, had = 0;
    size_t cap = 0;
    bool fine = true;

    for (uint64_t p = 0; p < t->passes && out->length && fine; p++, hash += had) {
        fine = ti_cursor_next(&counts, &had);
        if (!fine || (more ? had >= trips : had <= trips))
            continue;
        border = ti_grow(border, &cap, (size_t)had, sizeof *border);
        *out = ti__period_both(*out, period_of(hash, had, border));
    }
    free(border);
    return fine;
}

bool ti__periods_find(struct ti_folded *f, uint32_t loop, uint64_t trips, struct ti__period *same,
                      struct ti__period *alike)
{
    struct trips t = {f, loop, ti_shape_node(f, loop).passes, 0, NULL, VALUES_MOST};
    struct ti_column_stats had;
    bool some = false, none = false, fine = ti_shape_trips(f, loop, &had);

    t.n = had.sum;
    *same = *alike = (struct ti__period){0, 1, 0};
    for (int volumes = 0; volumes < 2 && fine && !none; volumes++) {
        struct ti__period *p = volumes ? alike : same;

        fine = hash_columns(&t, volumes, &some, &none);
        if (none)
            *alike = *p = (struct ti__period){0, 0, 0};
        else if (fine && some)
            fine = all_passes(&t, trips, (uint64_t)had.min < trips, p);
    }
    free(t.hash);
    return fine;
}
