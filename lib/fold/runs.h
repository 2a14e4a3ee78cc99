/*
 * A column (column.h) in memory: a list of runs.  A run is `n` values that grow by a constant
 * stride, modulo 2^64.  Columns of equal values have equal runs, whatever was appended to what.
 */
#ifndef TI_FOLD_RUNS_H
#define TI_FOLD_RUNS_H

#include <stdbool.h>

#include "fold/pool.h"

struct ti_column_run {
    uint64_t first, stride, n;
};

struct ti_runs {
    struct ti_runs *next;
    struct ti_column_run run;
};

/* A zeroed struct is an empty column. */
struct ti_column {
    struct ti_column_run open;   /* the last run; its n is 0 in an empty column */
    struct ti_runs *head, *tail; /* the runs before */
};

/* Append a value.  The column takes memory from `pool`, always the same one.  When memory is short,
 * this and the functions below set pool->no_memory, and the column loses values. */
void ti_column_add(struct ti_pool *pool, struct ti_column *c, uint64_t value);

/* Append the values of a run. */
void ti_column_add_run(struct ti_pool *pool, struct ti_column *c, const struct ti_column_run *run);

/* Append the values of *more, which is empty afterwards. */
void ti_column_move(struct ti_pool *pool, struct ti_column *c, struct ti_column *more);

void ti_column_free(struct ti_pool *pool, struct ti_column *c); /* the column is empty then */

/* The first value; 0 of an empty column. */
uint64_t ti_column_first(const struct ti_column *c);

/* Number of values. */
uint64_t ti_column_values(const struct ti_column *c);

/* A place in a column. */
struct ti_run_iterator {
    const struct ti_column *c; /* NULL: at the end */
    const struct ti_runs *next;
};

struct ti_run_iterator ti_column_runs(const struct ti_column *c);

/* The next run; NULL at the end. */
const struct ti_column_run *ti_run_next(struct ti_run_iterator *at);

/* A run as it is stored (column.h): `difference` is that of its first value to the last one of the
 * run before. */
struct ti_token {
    uint64_t n, difference, stride;
};

/* Reads the tokens of a column.  The last value of a column repeats for ever, so that a column may
 * have fewer tokens than runs. */
struct ti_tokens {
    struct ti_run_iterator at;
    uint64_t last, more;
    struct ti_token ahead[2]; /* tokens that are still to come */
    int nahead;
};

/* `more`, if it is not 0, is one more value at the end. */
struct ti_tokens ti_column_tokens(const struct ti_column *c, uint64_t more);
bool ti_token_next(struct ti_tokens *t, struct ti_token *out); /* false at the end */

/* Write a token at `p`, which has room for TI_TOKEN_BYTES; returns its bytes. */
#define TI_TOKEN_BYTES 30
int ti_token_put(uint8_t *p, const struct ti_token *t);

#endif
