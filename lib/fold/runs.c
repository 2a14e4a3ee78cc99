#include "fold/runs.h"

#include "event/columns.h"

_Static_assert(TI_TOKEN_BYTES >= 3 * TI_VARINT_MAX, "a token has three varints");

/* ------------------------------------------------------------------- adding -- */

static void close_run(struct ti_pool *pool, struct ti_column *c, struct ti_column_run next)
{
    struct ti_runs *closed = ti_pool_take_any(pool, sizeof *closed);
    struct ti_column_run run = c->open;

    c->open = next;
    if (!closed)
        return;
    *closed = (struct ti_runs){NULL, run};
    if (c->tail)
        c->tail->next = closed;
    else
        c->head = closed;
    c->tail = closed;
}

void ti_column_add(struct ti_pool *pool, struct ti_column *c, uint64_t value)
{
    struct ti_column_run *r = &c->open;

    if (r->n == 0) {
        *r = (struct ti_column_run){value, 0, 1};
    } else if (r->n == 1) {
        r->stride = value - r->first;
        r->n = 2;
    } else if (value == r->first + r->stride * r->n) {
        r->n++;
    } else if (r->n == 2 && value == r->first + r->stride) { /* a, b, b: the run is that of b */
        r->n = 1;
        r->stride = 0;
        close_run(pool, c, (struct ti_column_run){value, 0, 2});
    } else {
        close_run(pool, c, (struct ti_column_run){value, 0, 1});
    }
}

/* The result is that of ti_column_add(): after three values of the run, the last run is a part of
 * it. */
void ti_column_add_run(struct ti_pool *pool, struct ti_column *c, const struct ti_column_run *run)
{
    for (uint64_t i = 0; i < run->n && i < 3; i++)
        ti_column_add(pool, c, run->first + i * run->stride);
    if (run->n > 3)
        c->open.n += run->n - 3;
}

void ti_column_move(struct ti_pool *pool, struct ti_column *c, struct ti_column *more)
{
    for (struct ti_runs *runs = more->head, *next; runs; runs = next) {
        next = runs->next;
        ti_column_add_run(pool, c, &runs->run);
        ti_pool_give(pool, runs, sizeof *runs);
    }
    ti_column_add_run(pool, c, &more->open);
    *more = (struct ti_column){.head = NULL};
}

void ti_column_free(struct ti_pool *pool, struct ti_column *c)
{
    for (struct ti_runs *runs = c->head, *next; runs; runs = next) {
        next = runs->next;
        ti_pool_give(pool, runs, sizeof *runs);
    }
    *c = (struct ti_column){.head = NULL};
}

/* ------------------------------------------------------------------ reading -- */

struct ti_run_iterator ti_column_runs(const struct ti_column *c)
{
    return (struct ti_run_iterator){c, c->head};
}

const struct ti_column_run *ti_run_next(struct ti_run_iterator *at)
{
    const struct ti_column *c = at->c;
    const struct ti_runs *runs = at->next;

    if (runs) {
        at->next = runs->next;
        return &runs->run;
    }
    at->c = NULL;
    return c && c->open.n ? &c->open : NULL;
}

uint64_t ti_column_first(const struct ti_column *c)
{
    return c->head ? c->head->run.first : c->open.first;
}

uint64_t ti_column_values(const struct ti_column *c)
{
    uint64_t n = c->open.n;

    for (const struct ti_runs *runs = c->head; runs; runs = runs->next)
        n += runs->run.n;
    return n;
}

/* ------------------------------------------------------------------- tokens -- */

/* Shorten the last tokens: the last value repeats for ever. */
static void trim(struct ti_tokens *t)
{
    struct ti_token *last = &t->ahead[t->nahead - 1];

    if (last->stride)
        return;
    last->n = 1;
    if (last->difference == 0) {
        t->nahead--;
    } else if (t->nahead == 2 && last[-1].n == 1) { /* a, b, b, ... */
        last[-1] = (struct ti_token){2, last[-1].difference, last->difference};
        t->nahead--;
    }
}

static void add_token(struct ti_tokens *t, struct ti_column_run r)
{
    t->ahead[t->nahead++] = (struct ti_token){r.n, r.first - t->last, r.n > 1 ? r.stride : 0};
    t->last = r.first + r.stride * (r.n - 1);
}

/* Add the last run of the column, to which one value may belong. */
static void add_last(struct ti_tokens *t, struct ti_column_run r)
{
    if (t->more && r.n == 1)
        r.stride = t->more - r.first;
    if (t->more && r.first + r.stride * r.n == t->more) {
        r.n++;
        t->more = 0;
    }
    add_token(t, r);
}

static void look_ahead(struct ti_tokens *t)
{
    while (t->nahead < 2 && (t->at.c || t->more)) {
        const struct ti_column_run *r = ti_run_next(&t->at);

        if (r && t->at.c) {
            add_token(t, *r);
        } else if (r) {
            add_last(t, *r);
        } else if (t->more) {
            add_token(t, (struct ti_column_run){t->more, 0, 1});
            t->more = 0;
        }
        if (!t->at.c && !t->more && t->nahead)
            trim(t);
    }
}

struct ti_tokens ti_column_tokens(const struct ti_column *c, uint64_t more)
{
    uint64_t first = c->open.n ? ti_column_first(c) : more;

    return (struct ti_tokens){.at = ti_column_runs(c), .last = first, .more = more};
}

bool ti_token_next(struct ti_tokens *t, struct ti_token *out)
{
    look_ahead(t);
    if (t->nahead == 0)
        return false;
    *out = t->ahead[0];
    t->ahead[0] = t->ahead[1];
    t->nahead--;
    return true;
}

int ti_token_put(uint8_t *p, const struct ti_token *t)
{
    int n = ti_put_varint(p, t->n << 1);

    n += ti_put_varint(p + n, ti_zigzag((int64_t)t->difference));
    if (t->n > 1)
        n += ti_put_varint(p + n, ti_zigzag((int64_t)t->stride));
    return n;
}
