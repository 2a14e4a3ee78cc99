#include <stdlib.h>

#include "common/map.h"
#include "event/event.h"
#include "trips/internal.h"

#define TRIPS_MOST  (UINT64_C(1) << 22) /* of all passes, that are compared */
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
        return (struct ti__period){0, 0};
    for (; y; y = rest) {
        rest = x % y;
        x = y;
    }
    if (a.length / x > TRIPS_MOST / b.length)
        return (struct ti__period){0, 0};
    return (struct ti__period){a.lead > b.lead ? a.lead : b.lead, a.length / x * b.length};
}

/* Whether a pass of so many trips has a period long enough to be one: at least twice, and in no
 * less than half of its trips. */
static bool fits(struct ti__period p, uint64_t trips)
{
    return p.length && p.lead <= trips / 2 && (trips - p.lead) / 2 >= p.length;
}

struct ti__pass ti__pass_of(const struct ti__change *change, uint64_t had)
{
    struct ti__pass p = {.had = had, .kept = had < change->trips ? had : change->trips};
    struct ti__period period = fits(change->alike, had)  ? change->alike
                               : fits(change->same, had) ? change->same
                                                         : (struct ti__period){0, 0};
    uint64_t more = change->trips - p.kept;

    if (!more)
        return p;
    p.length = had;
    if (period.length) {
        p.from = period.lead ? period.lead : period.length;
        p.length = (had - p.from) / period.length * period.length;
    }
    p.start = (had - p.from) % p.length;
    p.first = p.start ? p.length - p.start : 0;
    p.first = p.first < more ? p.first : more;
    p.whole = (more - p.first) / p.length;
    p.last = (more - p.first) % p.length;
    return p;
}

/* The period of trips that have these hashes.  `border` has room for as many numbers. */
static struct ti__period period_of(const uint64_t *hash, uint64_t n, uint64_t *border)
{
    const uint64_t *last = hash + n - 1;

    if (n == 1)
        return (struct ti__period){0, 1};
    /* border[k]: how many of the last k + 1 trips, but not all, are also the first of these */
    border[0] = 0;
    for (uint64_t k = 1, b = 0; k < n; k++) {
        while (b && last[-(int64_t)k] != last[-(int64_t)b])
            b = border[b - 1];
        b += last[-(int64_t)k] == last[-(int64_t)b];
        border[k] = b;
    }
    for (uint64_t lead = 0; lead <= n / 2; lead++) {
        struct ti__period p = {lead, n - lead - border[n - lead - 1]};

        if (fits(p, n))
            return p;
    }
    return (struct ti__period){0, 0};
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
    uint64_t *hash = t->hash, trips, n;
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

/* The period of all passes that get more trips. */
static bool all_passes(const struct trips *t, uint64_t trips, struct ti__period *out)
{
    struct ti_cursor counts = trip_counts(t);
    const uint64_t *hash = t->hash;
    uint64_t *border = NULL, had = 0;
    size_t cap = 0;
    bool fine = true;

    for (uint64_t p = 0; p < t->passes && out->length && fine; p++, hash += had) {
        fine = ti_cursor_next(&counts, &had);
        if (!fine || had >= trips)
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
    struct ti_cursor counts = trip_counts(&t);
    bool some = false, none = false, fine = ti_cursor_sum(&counts, t.passes, &t.n);

    *same = *alike = (struct ti__period){0, 1};
    for (int volumes = 0; volumes < 2 && fine && !none; volumes++) {
        struct ti__period *p = volumes ? alike : same;

        fine = hash_columns(&t, volumes, &some, &none);
        if (none)
            *alike = *p = (struct ti__period){0, 0};
        else if (fine && some)
            fine = all_passes(&t, trips, p);
    }
    free(t.hash);
    return fine;
}
