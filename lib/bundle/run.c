#include "bundle/run.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/map.h"
#include "common/ranges.h"

volatile sig_atomic_t ti_gather_stop;

const char *ti_rank_state_text(enum ti_rank_state state)
{
    static const char *const text[] = {
#define TEXT(name, gathered, words) words,
        TI_RANK_STATES(TEXT)
#undef TEXT
    };

    return (unsigned)state < TI_RANK_STATE_COUNT ? text[state] : "?";
}

const char *ti_run_reason(const struct ti_run_rank *rank)
{
    return rank->reason || rank->state != TI_RANK_MISSING ? rank->reason : "no file";
}

/* Ranks that one item of the list has. */
struct item {
    json_t *json;
    struct ti_ranges ranks;
};

/* The item for ranks of this state and reason; a new one if there is none. */
static struct item *item_of(const struct ti_run_rank *rank, json_t *number_of, struct item **item,
                            size_t *n, size_t *cap)
{
    const char *state = ti_rank_state_text(rank->state), *reason = ti_run_reason(rank);
    json_t *why = reason ? ti_json_text(reason) : NULL, *number;
    char key[4096];

    snprintf(key, sizeof key, "%s%s%s", state, why ? ": " : "", why ? json_string_value(why) : "");
    number = json_object_get(number_of, key);
    if (number) {
        json_decref(why);
        return &(*item)[json_integer_value(number)];
    }
    json_object_set_new(number_of, key, json_integer((json_int_t)*n));
    *item = ti_grow(*item, cap, *n + 1, sizeof **item);
    (*item)[*n].json = json_pack("{s:s}", "state", state);
    if (why)
        json_object_set_new((*item)[*n].json, "reason", why);
    return &(*item)[(*n)++];
}

json_t *ti_run_bad_ranks(const struct ti_run *run, bool gathered)
{
    const struct ti_run_rank *last = NULL; /* the rank that was added to `same` last */
    json_t *list = json_array(), *number_of = json_object();
    struct item *item = NULL, *same = NULL;
    size_t n = 0, cap = 0;

    for (int64_t i = 0; i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];

        if (rank->state == TI_RANK_OK || ti_run_gathers(run, i) != gathered)
            continue;
        /* there may be millions without a reason */
        if (!last || last->state != rank->state || last->reason || rank->reason)
            same = item_of(rank, number_of, &item, &n, &cap);
        ti_ranges_add(&same->ranks, i);
        last = rank;
    }
    for (size_t k = 0; k < n; k++) {
        json_object_set_new(item[k].json, "ranks", ti_ranges_json(&item[k].ranks));
        json_array_append_new(list, item[k].json);
        ti_ranges_free(&item[k].ranks);
    }
    free(item);
    json_decref(number_of);
    return list;
}
