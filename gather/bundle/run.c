#include "gather/bundle/run.h"

#include <stdio.h>

#include "formats/ranges.h"

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

json_t *ti_run_bad_ranks(const struct ti_run *run, bool gathered)
{
    json_t *list = json_array(), *of = json_object(); /* its items by state and reason */
    char key[4096];

    const struct ti_run_rank *last = NULL; /* the rank that was added to `same` last */
    json_t *same = NULL;

    for (int64_t i = 0; list && of && i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];
        const char *state = ti_rank_state_text(rank->state);
        const char *reason = ti_run_reason(rank);
        json_t *item, *why;

        if (rank->state == TI_RANK_OK || ti_run_gathers(run, i) != gathered)
            continue;
        if (last && last->state == rank->state && !last->reason && !rank->reason) {
            ti_ranges_add(same, i); /* there may be millions */
            continue;
        }
        why = reason ? json_string(reason) : NULL;
        if (reason && !why)
            why = json_string("?"); /* a file name that is not UTF-8 */
        snprintf(key, sizeof key, "%s%s%s", state, why ? ": " : "",
                 why ? json_string_value(why) : "");
        item = json_object_get(of, key);
        if (!item) {
            item = json_pack("{s:[], s:s}", "ranks", "state", state);
            if (item && why)
                json_object_set(item, "reason", why);
            json_object_set(of, key, item);
            json_array_append_new(list, item);
        }
        last = rank;
        same = json_object_get(item, "ranks");
        ti_ranges_add(same, i);
        json_decref(why);
    }
    json_decref(of);
    return list;
}
