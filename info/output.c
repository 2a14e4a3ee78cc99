#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

ti_status info_too_large(const struct ti_source *s, const char *what, struct ti_err *err)
{
    return ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be summed up: its %s are more than 2^64 - 1",
                      ti_source_path(s), what);
}
