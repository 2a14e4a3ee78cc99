#include "sound/written.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/scratch.h"
#include "sound/check.h"

static ti_status whole_rank(void *arg, int64_t rank, struct ti_walk *w, enum ti_read_state state,
                            ti_status st, struct ti_err *err)
{
    (void)arg;
    (void)w;
    if (state == TI_READ_WHOLE)
        return TI_OK;
    return st ? st : ti_err_set(err, TI_ERR_INPUT, "rank %" PRId64 " cannot be read", rank);
}

/* The check counts for itself; nothing is counted here. */
static bool remember(void *arg, uint32_t depth)
{
    (void)arg;
    (void)depth;
    return true;
}

static void repeat(void *arg, uint32_t depth, uint64_t times)
{
    (void)arg;
    (void)depth;
    (void)times;
}

static ti_status pause_check(void *arg, struct ti_err *err)
{
    (void)arg;
    return ti_stop_check(err);
}

static ti_status not_sound(const struct ti_problems *ps, const char *made, const char *hint,
                           struct ti_err *err)
{
    const struct ti_problem *p = &ps->list[0];
    char event[32] = "";

    if (p->event != TI_NO_EVENT)
        snprintf(event, sizeof event, ", event %" PRIu64, p->event);
    ti_err_set(err, TI_ERR_INPUT,
               "%s, the trace is not sound (%" PRIu64 " problem%s): rank %" PRId64 "%s%s%s: %s",
               made, ps->n, ps->n == 1 ? "" : "s", p->rank, event, p->call[0] ? ", " : "", p->call,
               p->why);
    ti_err_hint(err, "%s", hint);
    return TI_ERR_INPUT;
}

ti_status ti_written_check(const char *path, const char *made, const char *hint, struct ti_err *err)
{
    static const struct ti_visitor visitor = {
        .rank = whole_rank, .remember = remember, .repeat = repeat, .pause = pause_check};
    struct ti_problems problems = {.n = 0};
    struct ti_source *s;
    struct ti_check result;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = ti_check(s, &visitor, &result, &problems, err);
    if (!st && problems.n)
        st = not_sound(&problems, made, hint, err);
    ti_check_free(&result);
    ti_source_close(s);
    return st;
}
