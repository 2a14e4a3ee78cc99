#include <stdlib.h>

#include "merged/numbers.h"

/* Limits of the search for a table, which begins if there is nothing of TABLE_LEAST bytes.  It
 * stops after WORK_BASE + WORK_EACH * members comparisons, so that irregular columns cost little.
 */
enum {
    TABLE_LEAST = 8,
    TABLE_MOST = 512,
    Q_MOST = 4096,
    QS_MOST = 12,
    WORK_BASE = 100000,
    WORK_EACH = 32
};

/* A function at fixed points: value[i] at key[i], which ascend. */
struct points {
    uint32_t *key;
    int64_t *value;
    size_t n;
};

/* The smallest encoding so far. */
struct best {
    enum ti_column_kind kind;
    struct ti_buffer params, trial;
    size_t most; /* bytes: what is longer is of no use */
};

/* Adopt the parameters in best->trial if they are the shortest. */
static void try_trial(struct best *best, enum ti_column_kind kind)
{
    struct ti_buffer was = best->params;

    if (best->trial.n > best->most)
        return;
    best->kind = kind;
    best->most = best->trial.n - 1;
    best->params = best->trial;
    best->trial = was;
}

static void zigzag_put(struct ti_buffer *b, uint64_t v)
{
    ti_buffer_varint(b, ti_zigzag((int64_t)v));
}

/* --------------------------------------------------------- line and xor -- */

static void try_linear(const uint32_t *rank, const int64_t *value, size_t n, struct best *best)
{
    int64_t rise = (int64_t)((uint64_t)value[1] - (uint64_t)value[0]);
    uint64_t slope = (uint64_t)(rise / (rank[1] - (int64_t)rank[0]));
    uint64_t start = (uint64_t)value[0] - slope * rank[0];

    for (size_t i = 0; i < n; i++)
        if ((uint64_t)value[i] != start + slope * rank[i])
            return;
    best->trial.n = 0;
    zigzag_put(&best->trial, start);
    zigzag_put(&best->trial, slope);
    try_trial(best, TI_COLUMN_LINEAR);
}

static void try_xor(const uint32_t *rank, const int64_t *value, size_t n, struct best *best)
{
    uint64_t c = ((uint64_t)value[0] + rank[0]) ^ rank[0];

    for (size_t i = 0; i < n; i++)
        if ((((uint64_t)value[i] + rank[i]) ^ rank[i]) != c)
            return;
    best->trial.n = 0;
    ti_buffer_varint(&best->trial, c);
    try_trial(best, TI_COLUMN_XOR);
}

/* ----------------------------------------------------------------- steps -- */

struct steps {
    struct ti_buffer out;
    uint64_t n, count, difference, value;
    size_t most;
};

static void steps_flush(struct steps *s)
{
    if (!s->count)
        return;
    ti_buffer_varint(&s->out, s->count);
    zigzag_put(&s->out, s->difference);
    s->n++;
    s->count = 0;
}

/* `count` elements, each larger than the one before by `difference`. */
static void steps_put(struct steps *s, uint64_t count, uint64_t difference)
{
    if (!count)
        return;
    s->value += count * difference;
    if (difference != s->difference)
        steps_flush(s);
    s->difference = difference;
    s->count += count;
}

/* Append steps for elements 0 to `length` - 1 that have the values of the points to best->trial.
 * Elements between points are interpolated.  False: there are too many steps. */
static bool put_steps(const struct points *points, uint64_t length, struct best *best)
{
    struct steps s = {.most = best->most};
    uint64_t next = 0; /* the element after the last one */

    for (size_t i = 0; i < points->n && s.out.n <= s.most; i++) {
        uint64_t rise = (uint64_t)points->value[i] - s.value, gap = points->key[i] - next + 1;

        if (i == 0) {
            steps_put(&s, 1, rise);
            steps_put(&s, gap - 1, 0);
        } else if ((int64_t)rise % (int64_t)gap == 0) {
            steps_put(&s, gap, (uint64_t)((int64_t)rise / (int64_t)gap));
        } else {
            steps_put(&s, gap - 1, 0);
            steps_put(&s, 1, rise);
        }
        next = (uint64_t)points->key[i] + 1;
    }
    steps_put(&s, length - next, 0);
    steps_flush(&s);
    ti_buffer_varint(&best->trial, s.n);
    ti_buffer_join(&best->trial, &s.out);
    free(s.out.data);
    return best->trial.n <= best->most;
}

static void try_series(const int64_t *value, size_t n, struct best *best, struct points *scratch)
{
    for (size_t i = 0; i < n; i++) {
        scratch->key[i] = (uint32_t)i;
        scratch->value[i] = value[i];
    }
    scratch->n = n;
    best->trial.n = 0;
    if (put_steps(scratch, n, best))
        try_trial(best, TI_COLUMN_SERIES);
}

/* ---------------------------------------------------------------- tables -- */

/* Divisors q, from large to small, such that the value is a function of rank / q.  1 is one. */
static size_t find_divisors(const uint32_t *rank, const int64_t *value, size_t n,
                            uint32_t q[QS_MOST], int64_t *work)
{
    uint32_t most = rank[n - 1] < Q_MOST ? rank[n - 1] : Q_MOST;
    size_t nqs = 0;

    for (uint32_t try = most; try > 1 && nqs < QS_MOST - 1 && *work > 0; try--) {
        size_t i = 1;

        while (i < n && (value[i] == value[i - 1] || rank[i] / try != rank[i - 1] / try))
            i++;
        *work -= (int64_t)i;
        if (i == n)
            q[nqs++] = try;
    }
    q[nqs++] = 1;
    return nqs;
}

/* Whether the value is a function of key % p; then slot[] has it. */
static bool has_period(const struct points *points, uint32_t p, size_t start, int64_t *slot,
                       bool *used, int64_t *work)
{
    size_t later = start;

    /* Most periods are refuted where the value changes first. */
    for (size_t i = start; i < points->n; i++, --*work) {
        while (later < points->n && points->key[later] < points->key[i] + p)
            later++;
        if (later == points->n)
            break;
        if (points->key[later] == points->key[i] + p && points->value[later] != points->value[i])
            return false;
    }
    memset(used, 0, p * sizeof *used);
    for (size_t i = 0; i < points->n; i++, --*work) {
        uint32_t at = points->key[i] % p;

        if (used[at] && slot[at] != points->value[i])
            return false;
        used[at] = true;
        slot[at] = points->value[i];
    }
    return true;
}

static void try_table(const struct points *points, uint32_t q, uint32_t p, struct best *best)
{
    best->trial.n = 0;
    ti_buffer_varint(&best->trial, q);
    ti_buffer_varint(&best->trial, p);
    if (put_steps(points, p ? p : (uint64_t)points->key[points->n - 1] + 1, best))
        try_trial(best, TI_COLUMN_TABLE);
}

static void try_period(uint32_t q, uint32_t p, const int64_t *slot, const bool *used,
                       struct best *best)
{
    uint32_t key[TABLE_MOST];
    int64_t value[TABLE_MOST];
    struct points table = {key, value, 0};

    for (uint32_t at = 0; at < p; at++) {
        if (!used[at])
            continue;
        key[table.n] = at;
        value[table.n++] = slot[at];
    }
    try_table(&table, q, p, best);
}

/* Tables over rank / q, and over rank / q % p for the smallest p that fits. */
static void try_tables(const struct points *points, uint32_t q, struct best *best, int64_t *work)
{
    uint32_t most =
        points->key[points->n - 1] / 2 < TABLE_MOST ? points->key[points->n - 1] / 2 : TABLE_MOST;
    int64_t slot[TABLE_MOST];
    bool used[TABLE_MOST];
    size_t start = 1;

    try_table(points, q, 0, best);
    while (start < points->n && points->value[start] == points->value[0])
        start++;
    for (uint32_t p = 2; p <= most && *work > 0; p++) {
        if (!has_period(points, p, start - 1, slot, used, work))
            continue;
        try_period(q, p, slot, used, best);
        return;
    }
}

static void search_tables(const uint32_t *rank, const int64_t *value, size_t n, struct best *best,
                          struct points *scratch)
{
    int64_t work = WORK_BASE + WORK_EACH * (int64_t)n;
    uint32_t q[QS_MOST];
    size_t nqs = find_divisors(rank, value, n, q, &work);

    for (size_t k = 0; k < nqs && work > 0; k++) {
        scratch->n = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t key = rank[i] / q[k];

            if (scratch->n && scratch->key[scratch->n - 1] == key)
                continue;
            scratch->key[scratch->n] = key;
            scratch->value[scratch->n++] = value[i];
        }
        try_tables(scratch, q[k], best, &work);
    }
}

enum ti_column_kind ti__column_fit(const uint32_t *rank, const int64_t *value, size_t n, bool blobs,
                                   size_t most, struct ti_buffer *out)
{
    struct best best = {.kind = TI_COLUMN_PAGED};
    size_t same = 1, paged, keys = 0, values = 0;
    struct points scratch;

    while (same < n && value[same] == value[0])
        same++;
    if (same == n) {
        zigzag_put(out, (uint64_t)value[0]);
        return TI_COLUMN_CONSTANT;
    }
    paged = ti__values_bytes(value, n) < 8 * n ? ti__values_bytes(value, n) : 8 * n;
    best.most = paged < most ? paged : most;
    scratch.key = ti_grow(NULL, &keys, n, sizeof *scratch.key);
    scratch.value = ti_grow(NULL, &values, n, sizeof *scratch.value);
    try_linear(rank, value, n, &best);
    if (!blobs)
        try_xor(rank, value, n, &best);
    try_series(value, n, &best, &scratch);
    if (best.most > TABLE_LEAST)
        search_tables(rank, value, n, &best, &scratch);
    ti_buffer_join(out, &best.params);
    out->no_memory |= best.trial.no_memory;
    free(best.params.data);
    free(best.trial.data);
    free(scratch.key);
    free(scratch.value);
    return best.kind;
}
