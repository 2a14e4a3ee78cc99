/*
 * Volumes and trips of extrapolated traces that leave the range of their numbers.  All of them
 * are refused, and named.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "extrapolate/search.h"
#include "extrapolate/volumes.h"
#include "tests/unit/fold_script.h"
#include "tests/unit/script.h"

#define INPUTS 3
#define TRIPS  13 /* of loops in scripts; no rank has that number */

/* A program: in loops that are nested `depth` deep, with trips(np) each, MPI_Barrier after a burst
 * of volume(np). */
struct program {
    uint64_t (*volume)(int64_t np);
    int depth;
    int64_t (*trips)(int64_t np); /* NULL: TRIPS */
};

static struct ti_err err;
static struct ti_inputs in;
static struct ti_source *source[INPUTS];

static struct ti_source *trace_of(const struct program *p, int np)
{
    static char script[1 << 15];
    size_t at = 0;
    int64_t to[8];
    int calls = 1;

    for (int d = 0; d < p->depth; d++)
        calls *= TRIPS;
    at += (size_t)snprintf(script, sizeof script, "* init level=0 site=a.c:1\n");
    for (int i = 0; i < calls; i++) {
        at += (size_t)snprintf(script + at, sizeof script - at,
                               "* barrier comm=0 site=a.c:2 v=%" PRIu64 "\n", p->volume(np));
        if (p->depth == 2 && i % TRIPS == TRIPS - 1)
            at +=
                (size_t)snprintf(script + at, sizeof script - at, "* barrier comm=0 site=a.c:3\n");
    }
    snprintf(script + at, sizeof script - at, "* finalize site=a.c:4\n");
    script_trace(np, -1, script);
    for (int r = 0; r < np; r++)
        to[r] = p->trips ? p->trips(np) : TRIPS;
    return fold_script(np, p->depth ? TRIPS : 0, to);
}

/* Sum up the volumes of `np` ranks of a program that ran on 2, 4 and 8. */
static ti_status sum_up(const struct program *p, int64_t np, double *volume)
{
    struct ti_target_volumes v = {.nsites = 0};
    struct ti_models m = {.np = 0};
    ti_status st;

    err.text[0] = '\0';
    for (int i = 0; i < INPUTS; i++)
        source[i] = trace_of(p, 2 << i);
    st = ti_inputs_read(source, INPUTS, &in, &err);
    if (!st)
        st = ti_models_search(&in, np, NULL, &m, &err);
    if (!st)
        st = ti_target_volumes_find(&m, &v, &err);
    *volume = v.all.is;
    ti_target_volumes_free(&v);
    if (m.np)
        ti_models_free(&m);
    ti_inputs_free(&in);
    for (int i = 0; i < INPUTS; i++)
        ti_source_close(source[i]);
    script_forget();
    return st;
}

static void gives(const struct program *p, int64_t np, double want)
{
    double is;

    if (sum_up(p, np, &is) != TI_OK)
        fail_msg("refused: %s", err.text);
    assert_true(is == want);
}

static void refuses(const struct program *p, int64_t np, const char *want)
{
    double is;

    assert_int_equal(sum_up(p, np, &is), TI_ERR_INPUT);
    if (!strstr(err.text, want))
        fail_msg("'%s' does not say '%s'", err.text, want);
}

#define VOLUME(name, value)                                                                        \
    static uint64_t name(int64_t np)                                                               \
    {                                                                                              \
        (void)np;                                                                                  \
        return (uint64_t)(value);                                                                  \
    }
#define TRIPS_OF(name, value)                                                                      \
    static int64_t name(int64_t np)                                                                \
    {                                                                                              \
        return (value);                                                                            \
    }

VOLUME(thousand, 1000)
VOLUME(falling, 1000 - 100 * np)
VOLUME(large, UINT64_C(1) << 60)
VOLUME(limit, UINT64_C(1) << 62)
VOLUME(sign, UINT64_C(1) << 63)
VOLUME(all_bits, UINT64_MAX)
VOLUME(rising, np << 48)
TRIPS_OF(many, 256 + 0 * np)
TRIPS_OF(fewer, 10000 - 1000 * np)
TRIPS_OF(more, np << 17)

static void what_fits_is_added_up(void **state)
{
    (void)state;
    gives(&(struct program){thousand, 1, NULL}, 16, 16 * 13 * 1000);
    gives(&(struct program){falling, 1, NULL}, 9, 9 * 13 * 100);
    gives(&(struct program){large, 0, NULL}, 15, 15 * 0x1p60);
    gives(&(struct program){rising, 1, many}, 9, 9 * 256 * 9 * 0x1p48);
    gives(&(struct program){thousand, 2, more}, 9, 9 * 0x1p17 * 9 * 0x1p17 * 9 * 1000);
}

static void inputs_beyond_the_range_are_refused(void **state)
{
    (void)state;
    refuses(&(struct program){limit, 1, NULL}, 16, "a.c:2: its volumes add up to more than 2^62");
    refuses(&(struct program){large, 1, NULL}, 16, "a.c:2: its volumes add up to more than 2^62");
    refuses(&(struct program){sign, 0, NULL}, 16, "a.c:2: its volumes add up to more than 2^62");
    refuses(&(struct program){all_bits, 1, NULL}, 16,
            "a.c:2: its volumes add up to more than 2^62");
}

static void targets_beyond_the_range_are_refused(void **state)
{
    (void)state;
    refuses(&(struct program){large, 0, NULL}, 16, "their volumes would add up to 2^64 or more");
    refuses(&(struct program){rising, 1, many}, 128,
            "the volume of rank 0 would be more than 2^62");
    refuses(&(struct program){falling, 1, NULL}, 16,
            "rank 0, a.c:2: a rule gives a volume below 0");
    refuses(&(struct program){thousand, 1, fewer}, 16,
            "rank 0, a.c:2: a loop would have a pass without trips");
    refuses(&(struct program){thousand, 2, more}, 64,
            "rank 0, a.c:2: its loops would have more than 2^44 events");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_fits_is_added_up),
                                       cmocka_unit_test(inputs_beyond_the_range_are_refused),
                                       cmocka_unit_test(targets_beyond_the_range_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
