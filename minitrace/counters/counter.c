#include "minitrace/counters/counter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "minitrace/counters/counter_impl.h"

#define AUTO "auto"

const volatile uint64_t ti__counter_no_word = 0;

/* ------------------------------------------------------------- the table -- */

const struct ti_counter_backend *ti_counter_find(const char *choice, const char **event)
{
    size_t len = strcspn(choice, ":");

    for (int i = 0; ti_counter_table[i]; i++) {
        const struct ti_counter_backend *b = ti_counter_table[i];

        if (strncmp(choice, b->name, len) != 0 || b->name[len] || (choice[len] && !b->takes_event))
            continue;
        if (event)
            *event = choice[len] ? choice + len + 1 : b->event;
        return b;
    }
    return NULL;
}

const char *ti_counter_common(const char *choice)
{
    for (int i = 0; strcmp(choice, AUTO) == 0 && ti_counter_table[i]; i++)
        if (ti_counter_table[i]->wrapper)
            return ti_counter_table[i]->name;
    return NULL;
}

const char *ti_counter_names(char *buf, size_t bytes, const char *before, const char *last,
                             bool exact, bool sum, const struct ti_counter_backend *but)
{
    const struct ti_counter_backend *fit[16], *b;
    size_t used = 0;
    int n = 0;

    for (int i = 0; (b = ti_counter_table[i]); i++)
        if (b != but && (!exact || b->exact) && (!sum || b->sums))
            fit[n++] = b;
    buf[0] = '\0';
    for (int i = 0; i < n && used < bytes; i++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s%s%s",
                                 i == 0       ? ""
                                 : i == n - 1 ? last
                                              : ", ",
                                 before, fit[i]->name,
                                 fit[i]->takes_event && !exact && !sum ? "[:EVENT]" : "");
    return buf;
}

/* ---------------------------------------------------------------- choosing -- */

static ti_status try_one(const struct ti_counter_backend *b, const char *event, bool automatic,
                         bool sum, ti_counter_try *try, void *arg, struct ti_err *err)
{
    char others[128];

    if (!sum || b->sums)
        return try(arg, b, event, automatic, err);
    ti_err_set(err, TI_ERR_INPUT, "%s counts each thread alone", b->name);
    ti_err_hint(err,
                "%s (TIARA_COUNTER) count all threads%s; --threads caller (TIARA_THREADS) leaves "
                "out what threads execute that do not call MPI",
                ti_counter_names(others, sizeof others, "-c ", " and ", false, true, NULL),
                b->compiled ? ", of the program as mpicc compiles it" : "");
    return TI_ERR_INPUT;
}

static ti_status pick_auto(bool sum, ti_counter_try *try, void *arg, struct ti_err *refused,
                           struct ti_err *err)
{
    struct ti_err first = {"", ""}, why;
    char causes[sizeof why.text] = "", advice[sizeof why.hint] = "";
    size_t nc = 0, na = 0;

    for (int i = 0; ti_counter_table[i]; i++) {
        const struct ti_counter_backend *b = ti_counter_table[i];

        if (b->wrapper && b->wrapper->is_around())
            return try_one(b, b->event, true, sum, try, arg, err);
    }
    for (int i = 0; ti_counter_table[i]; i++) {
        const struct ti_counter_backend *b = ti_counter_table[i];

        if (b->advice && (!sum || b->sums) && na < sizeof advice)
            na += (size_t)snprintf(advice + na, sizeof advice - na, "; %s", b->advice);
        if (b->estimate)
            continue;
        if (try_one(b, b->event, true, sum, try, arg, &why) == TI_OK) {
            if (refused)
                *refused = first;
            return TI_OK;
        }
        if (!nc)
            first = why;
        if (nc < sizeof causes)
            nc += (size_t)snprintf(causes + nc, sizeof causes - nc, "; %s", why.text);
    }
    ti_err_set(err, TI_ERR_INPUT, "no exact counter works here: %s", causes + 2);
    ti_err_hint(err, "%s%s", first.hint, advice + (first.hint[0] ? 0 : 2));
    return TI_ERR_INPUT;
}

ti_status ti_counter_pick(const char *choice, bool sum, ti_counter_try *try, void *arg,
                          struct ti_err *refused, struct ti_err *err)
{
    const char *event;
    const struct ti_counter_backend *b = ti_counter_find(choice, &event);
    char names[128];

    if (refused)
        *refused = (struct ti_err){"", ""};
    if (b)
        return try_one(b, event, false, sum, try, arg, err);
    if (strcmp(choice, AUTO) == 0)
        return pick_auto(sum, try, arg, refused, err);
    ti_err_set(err, TI_ERR_USAGE, "unknown counter '%s'", choice);
    ti_err_hint(err, "choose " AUTO ", %s",
                ti_counter_names(names, sizeof names, "", " or ", false, false, NULL));
    return TI_ERR_USAGE;
}

/* ----------------------------------------------------------------- opening -- */

struct opening {
    const struct ti_counter_request *wish;
    struct ti_counter counter;
};

static ti_status open_one(void *arg, const struct ti_counter_backend *b, const char *event,
                          bool automatic, struct ti_err *err)
{
    struct opening *o = arg;

    (void)automatic;
    o->counter = (struct ti_counter){
        .backend = b,
        .event = b->event,
        .unit = b->unit,
        .read_method = b->read_method,
        .exact = b->exact,
        .sum = o->wish->sum,
        .word = &ti__counter_no_word,
    };
    return b->open(event, o->wish, &o->counter, err);
}

ti_status ti_counter_open(const struct ti_counter_request *wish, struct ti_counter *out,
                          struct ti_err *err)
{
    int saved = errno;
    struct opening o = {.wish = wish};
    ti_status st = ti_counter_pick(wish->choice, wish->sum, open_one, &o, NULL, err);

    if (st == TI_OK && wish->also && wish->also[0] && !o.counter.nalso)
        st = ti__counter_add_papi(wish->also, &o.counter, err);
    if (st == TI_OK)
        *out = o.counter;
    errno = saved;
    return st;
}

void ti_counter_close(struct ti_counter *counter)
{
    int saved = errno;

    if (counter->close)
        counter->close();
    memset(counter, 0, sizeof *counter);
    errno = saved;
}
