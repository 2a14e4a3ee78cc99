#include "replay-bridge/profile_report.h"

#include <stdlib.h>

#include "common/map.h"
#include "common/table.h"
#include "common/units.h"

#define ROWS       10 /* of a table; --json has all */
#define SITE_BYTES 600
#define SITE_LEAST 24 /* of a call site or link, in characters */

static double number(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static const char *text(const json_t *j, const char *key)
{
    const char *value = json_string_value(json_object_get(j, key));

    return value ? value : "";
}

/* ---- ranks ---- */

static const char *const keys[] = {"computing_s", "communicating_s", "waiting_s"};
static const char *const names[] = {"computing", "communicating", "waiting"};

static double all_of(const json_t *j)
{
    return number(j, keys[0]) + number(j, keys[1]) + number(j, keys[2]);
}

static void add_share(const json_t *ranks, int which, struct ti_text_table *t)
{
    double sum = 0, all = 0, least = 101, most = -1;
    size_t i, least_rank = 0, most_rank = 0;
    const json_t *rank;

    json_array_foreach(ranks, i, rank)
    {
        double time = all_of(rank);
        double share = time > 0 ? 100 * number(rank, keys[which]) / time : 0;

        sum += number(rank, keys[which]);
        all += time;
        if (share < least) {
            least = share;
            least_rank = i;
        }
        if (share > most) {
            most = share;
            most_rank = i;
        }
    }
    ti_table_text(t, "  %s", names[which]);
    ti_table_text(t, "%.1f %%", all > 0 ? 100 * sum / all : 0);
    ti_table_text(t, "%.1f %%", least);
    ti_table_text(t, "(rank %zu)", least_rank);
    ti_table_text(t, "%.1f %%", most);
    ti_table_text(t, "(rank %zu)", most_rank);
}

static void print_ranks(const json_t *ranks, int width, FILE *f)
{
    static const struct ti_table_column columns[] = {{"share of the time", TI_CELLS_TEXT, 0},
                                                     {"all", TI_CELLS_WORDS, 0},
                                                     {"least", TI_CELLS_WORDS, 0},
                                                     {"", TI_CELLS_TEXT, 0},
                                                     {"most", TI_CELLS_WORDS, 0},
                                                     {"", TI_CELLS_TEXT, 0}};
    struct ti_text_table *t = ti_table_new(columns, 6);

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (int which = 0; which < 3; which++)
        add_share(ranks, which, t);
    ti_table_print(t, f, width);
}

/* ---- operations and call sites ---- */

static double in_calls(const json_t *j)
{
    return number(j, "communicating_s") + number(j, "waiting_s");
}

/* The longest calls first; where there is none, the longest bursts. */
static int by_time(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    double left = in_calls(*x), right = in_calls(*y);

    if (left > right || left < right)
        return left < right ? 1 : -1;
    left = number(*x, "computing_s");
    right = number(*y, "computing_s");
    return left < right ? 1 : left > right ? -1 : 0;
}

/* `title`: of what is left out. */
static void print_rows(const json_t *list, const char *title, struct ti_symbolizer *z, int width,
                       FILE *f)
{
    static const struct ti_table_column columns[] = {{"", TI_CELLS_TEXT, 15},
                                                     {"calls", TI_CELLS_COUNTS, 0},
                                                     {"communicating", TI_CELLS_SECONDS, 0},
                                                     {"waiting", TI_CELLS_SECONDS, 0},
                                                     {"computing", TI_CELLS_SECONDS, 0},
                                                     {"", TI_CELLS_TEXT, SITE_LEAST}};
    size_t n = json_array_size(list), none = 0;
    const json_t **row = ti_grow(NULL, &none, n + 1, sizeof *row);
    struct ti_text_table *t = ti_table_new(columns, 6);
    char site[SITE_BYTES], unit[32];

    for (size_t i = 0; i < n; i++)
        row[i] = json_array_get(list, i);
    qsort(row, n, sizeof *row, by_time);
    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < n && i < ROWS; i++) {
        ti_table_text(t, "  %s", text(row[i], "operation"));
        ti_table_count(t, (uint64_t)number(row[i], "calls"));
        ti_table_value(t, number(row[i], "communicating_s"));
        ti_table_value(t, number(row[i], "waiting_s"));
        ti_table_value(t, number(row[i], "computing_s"));
        ti_table_text(t, "%s", ti_site_text(z, text(row[i], "site"), site, sizeof site));
    }
    if (n > ROWS)
        ti_table_line(t, "  ... and %zu more %s: --json has all", n - ROWS, title);
    snprintf(unit, sizeof unit, "%s of all ranks", ti_table_time_unit(t));
    ti_table_title(t, 0, unit);
    ti_table_print(t, f, width);
    free(row);
}

/* Whether the call site of any call is known. */
static bool has_sites(const json_t *sites)
{
    const json_t *site;
    size_t i;

    json_array_foreach(sites, i, site)
    {
        if (*text(site, "site"))
            return true;
    }
    return false;
}

void ti_profile_print(const json_t *profile, struct ti_symbolizer *symbolizer, int width, FILE *f)
{
    const json_t *sites = json_object_get(profile, "sites");

    print_ranks(json_object_get(profile, "ranks"), width, f);
    print_rows(json_object_get(profile, "operations"), "operations", symbolizer, width, f);
    if (has_sites(sites))
        print_rows(sites, "call sites", symbolizer, width, f);
}

/* ---- links ---- */

void ti_profile_print_links(const json_t *links, int width, FILE *f)
{
    static const struct ti_table_column columns[] = {{"use of links", TI_CELLS_WORDS, 0},
                                                     {"bytes", TI_CELLS_WORDS, 0},
                                                     {"messages", TI_CELLS_COUNTS, 0},
                                                     {"", TI_CELLS_TEXT, SITE_LEAST}};
    struct ti_text_table *t = ti_table_new(columns, 4);
    size_t n = json_array_size(links);
    char bytes[TI_UNIT_BYTES_MOST];

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < n && i < ROWS; i++) {
        const json_t *link = json_array_get(links, i);

        ti_table_text(t, "%.2f %%", 100 * number(link, "use"));
        ti_table_text(t, "%s",
                      ti_unit_format(number(link, "bytes"), TI_UNIT_SIZE, bytes, sizeof bytes));
        ti_table_count(t, (uint64_t)number(link, "messages"));
        ti_table_text(t, "%s", text(link, "link"));
    }
    if (n > ROWS)
        ti_table_line(t, "  ... and %zu more links: --json has all", n - ROWS);
    ti_table_print(t, f, width);
}
