#include "sound/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

char *ti_problems_add(struct ti_problems *ps, int64_t rank, uint64_t event, const char *call,
                      const char *fmt, ...)
{
    struct ti_problem *p;
    char why[sizeof p->why];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    ps->n++;
    for (int i = 0; i < ps->shown; i++)
        if (!strcmp(ps->list[i].why, why)) {
            ps->list[i].more++;
            return NULL;
        }
    if (!ti_problems_room(ps))
        return NULL;
    p = &ps->list[ps->shown++];
    *p = (struct ti_problem){.rank = rank, .event = event};
    snprintf(p->call, sizeof p->call, "%s", call ? call : "");
    memcpy(p->why, why, sizeof why);
    return p->call;
}

void ti_problems_remember(const struct ti_problems *ps, struct ti_problems_mark *mark)
{
    *mark = (struct ti_problems_mark){.shown = ps->shown, .n = ps->n};
    for (int i = 0; i < ps->shown; i++)
        mark->more[i] = ps->list[i].more;
}

bool ti_problems_repeat_themselves(const struct ti_problems *ps,
                                   const struct ti_problems_mark *mark)
{
    return ps->shown == mark->shown;
}

void ti_problems_repeat(struct ti_problems *ps, const struct ti_problems_mark *mark, uint64_t times)
{
    ps->n += times * (ps->n - mark->n);
    for (int i = 0; i < mark->shown; i++)
        ps->list[i].more += times * (ps->list[i].more - mark->more[i]);
}

void ti_problems_print(const struct ti_problems *ps, FILE *out)
{
    uint64_t told = 0;

    ti_progress_clear();
    for (int i = 0; i < ps->shown; i++) {
        const struct ti_problem *p = &ps->list[i];

        fprintf(out, "  rank %lld", (long long)p->rank);
        if (p->event != TI_NO_EVENT)
            fprintf(out, ", event %llu", (unsigned long long)p->event);
        fprintf(out, "%s%s: %s", p->call[0] ? ", " : "", p->call, p->why);
        if (p->more)
            fprintf(out, " (and %llu more like it)", (unsigned long long)p->more);
        fputc('\n', out);
        told += 1 + p->more;
    }
    if (ps->n > told)
        fprintf(out, "  and %llu more\n", (unsigned long long)(ps->n - told));
}

json_t *ti_problems_json(const struct ti_problems *ps)
{
    json_t *list = json_array();

    for (int i = 0; i < ps->shown; i++) {
        const struct ti_problem *p = &ps->list[i];
        json_t *one = json_pack("{s:I, s:s, s:s, s:I}", "rank", (json_int_t)p->rank, "call",
                                p->call, "why", p->why, "more", (json_int_t)p->more);

        if (p->event != TI_NO_EVENT)
            json_object_set_new(one, "event", json_integer((json_int_t)p->event));
        json_array_append_new(list, one);
    }
    return list;
}
