#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/folded.h"
#include "analysis/pass.h"
#include "common/cli.h"
#include "info/info.h"

json_t *info_json_text(const char *text)
{
    return ti_json_text(text ? text : "?");
}

void info_put_clean(const char *text)
{
    for (; text && *text; text++)
        putchar((unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
}

void info_warn_of_caveats(const struct ti_caveats *c)
{
    char text[512];

    for (int i = 0; ti_caveats_text(c, i, text, sizeof text); i++)
        ti_warn("%s", text);
}

void info_warn_of_ranks(const struct ti_ranges *ranks, const char *what_of_one,
                        const char *what_of_many, const char *first)
{
    int64_t n = ti_ranges_count(ranks);
    char list[256];

    if (n)
        ti_warn("%" PRId64 " %s: %s%s%s", n, n == 1 ? what_of_one : what_of_many,
                ti_ranges_text(ranks, list, sizeof list), *first ? "; " : "", first);
}

void info_print_json(const json_t *out)
{
    json_dumpf(out, stdout, JSON_INDENT(1));
    putchar('\n');
}

void info_print_json_open(const json_t *out)
{
    char *text = json_dumps(out, JSON_INDENT(1));

    if (!text)
        TI_BUG("the result cannot be written");
    printf("%.*s", (int)strlen(text) - 2, text); /* without the last "\n}" */
    free(text);
}

void info_pass_warn(const struct ti_pass *p)
{
    info_warn_of_ranks(&p->missing, "rank missing", "ranks missing", "");
    info_warn_of_ranks(&p->incomplete, "rank incomplete, counted as far as it goes",
                       "ranks incomplete, counted as far as they go", p->first_incomplete);
    info_warn_of_ranks(&p->damaged, "rank damaged, counted as far as it is sound",
                       "ranks damaged, counted as far as they are sound", p->first_damaged);
    if (!p->unsound)
        return;
    ti_warn("%" PRIu64 " event%s not sound, so traffic may be missing; %s", p->unsound,
            p->unsound == 1 ? " is" : "s are", p->first_unsound);
    ti_hint("ti-info --verify says more");
}

void info_pass_json(const struct ti_pass *p, json_t *out)
{
    json_object_set_new(out, "np", json_integer(p->np));
    json_object_set_new(out, "ranks", json_integer(p->ranks));
    json_object_set_new(out, "complete", json_boolean(p->st == TI_OK));
    json_object_set_new(out, "missing", ti_ranges_json(&p->missing));
    json_object_set_new(out, "incomplete", ti_ranges_json(&p->incomplete));
    json_object_set_new(out, "damaged", ti_ranges_json(&p->damaged));
    json_object_set_new(out, "unsound_events", ti_json_u64(p->unsound));
}

void info_folded_warn(const struct ti_folded_ranks *ranks)
{
    info_warn_of_ranks(&ranks->missing, "rank missing", "ranks missing", "");
    info_warn_of_ranks(&ranks->incomplete, "rank incomplete, counted as far as the trace goes",
                       "ranks incomplete, counted as far as the trace goes", "");
    info_warn_of_ranks(&ranks->damaged, "rank left out", "ranks left out", ranks->first_damaged);
}

void info_folded_json(const struct ti_source *s, const struct ti_folded_ranks *ranks, json_t *out)
{
    json_object_set_new(out, "path", info_json_text(ti_source_path(s)));
    json_object_set_new(out, "np", json_integer(ranks->np));
    json_object_set_new(out, "ranks", json_integer(ranks->taken));
    json_object_set_new(
        out, "complete",
        json_boolean(!ranks->missing.n && !ranks->incomplete.n && !ranks->damaged.n));
    json_object_set_new(out, "missing", ti_ranges_json(&ranks->missing));
    json_object_set_new(out, "incomplete", ti_ranges_json(&ranks->incomplete));
    json_object_set_new(out, "damaged", ti_ranges_json(&ranks->damaged));
}
