#include "replay-bridge/profile_report.h"

#include <stdlib.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/ranges.h"
#include "common/table.h"
#include "common/units.h"
#include "terminal/pictures.h"

#define ROWS       10 /* of a table; --json has all */
#define SITE_BYTES 600
#define SITE_LEAST 24 /* of a call site or link, in characters */

/* ---- ranks ---- */

static const char *const keys[] = {"computing_s", "communicating_s", "waiting_s"};
static const char *const names[] = {"computing", "communicating", "waiting"};

static double all_of(const json_t *j)
{
    return ti_json_number(j, keys[0]) + ti_json_number(j, keys[1]) + ti_json_number(j, keys[2]);
}

/* The kind of each time above, in pictures. */
static const enum ti_kind kinds[] = {TI_KIND_COMPUTING, TI_KIND_MESSAGES, TI_KIND_WAITING};

/* Set the parts of a picture; communication of profiles is drawn as messages. */
static void times_of(const json_t *j, double part[TI_KINDS])
{
    part[TI_KIND_COLLECTIVES] = 0;
    for (int i = 0; i < 3; i++)
        part[kinds[i]] = ti_json_number(j, keys[i]);
}

static void add_bar(const json_t *j, struct ti_text_table *t)
{
    double part[TI_KINDS];

    times_of(j, part);
    ti_table_bar(t, TI_KINDS, part);
}

static void add_share(const json_t *ranks, int which, struct ti_text_table *t)
{
    double sum = 0, all = 0, least = 101, most = -1, bar[TI_KINDS] = {0};
    size_t i, least_rank = 0, most_rank = 0;
    const json_t *rank;

    json_array_foreach(ranks, i, rank)
    {
        double time = all_of(rank);
        double share = time > 0 ? 100 * ti_json_number(rank, keys[which]) / time : 0;

        sum += ti_json_number(rank, keys[which]);
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
    bar[kinds[which]] = sum;
    ti_table_bar(t, TI_KINDS, bar);
    ti_table_text(t, "%.1f %%", least);
    ti_table_text(t, "(rank %zu)", least_rank);
    ti_table_text(t, "%.1f %%", most);
    ti_table_text(t, "(rank %zu)", most_rank);
}

static void draw_timeline(const json_t *overview, int64_t np, int width, FILE *f)
{
    const json_t *groups = json_object_get(overview, "spent"), *list, *number;
    size_t lines = json_array_size(groups), numbers = json_array_size(json_array_get(groups, 0));
    size_t none = 0, line, i;
    double *spent = ti_grow(NULL, &none, lines * numbers + 1, sizeof *spent);

    json_array_foreach(groups, line, list)
    {
        json_array_foreach(list, i, number)
        {
            spent[line * numbers + i] = json_number_value(number);
        }
    }
    ti_paint_timeline(
        f, width, ti_ink_of(f),
        &(struct ti_paint_timeline){.np = np,
                                    .group = (int64_t)ti_json_number(overview, "group"),
                                    .bins = (int)(numbers / TI_KINDS),
                                    .bin_s = ti_json_number(overview, "bin_s"),
                                    .end_s = ti_json_number(overview, "end_s"),
                                    .spent = spent});
    free(spent);
}

static void print_ranks(const json_t *ranks, int width, FILE *f)
{
    static const struct ti_table_column columns[] = {{"share of the time", TI_CELLS_TEXT, 0},
                                                     {"all", TI_CELLS_WORDS, 0},
                                                     {"", TI_CELLS_BARS, 6},
                                                     {"least", TI_CELLS_WORDS, 0},
                                                     {"", TI_CELLS_TEXT, 0},
                                                     {"most", TI_CELLS_WORDS, 0},
                                                     {"", TI_CELLS_TEXT, 0}};
    struct ti_text_table *t = ti_table_new(columns, 7);

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (int which = 0; which < 3; which++)
        add_share(ranks, which, t);
    ti_paint_table(t, f, width, ti_ink_of(f));
}

/* Draw the shares of each rank, and what ranks do when. */
static void draw_ranks(const json_t *ranks, const json_t *overview, int width, FILE *f)
{
    size_t n = json_array_size(ranks), none = 0;
    double *part = ti_grow(NULL, &none, n * TI_KINDS + 1, sizeof *part);

    for (size_t i = 0; i < n; i++)
        times_of(json_array_get(ranks, i), part + TI_KINDS * i);
    ti_paint_shares(f, width, ti_ink_of(f), "share of the time by rank", (int64_t)n, part);
    free(part);
    draw_timeline(overview, (int64_t)n, width, f);
}

/* ---- operations and call sites ---- */

static double in_calls(const json_t *j)
{
    return ti_json_number(j, "communicating_s") + ti_json_number(j, "waiting_s");
}

/* The longest calls first; where there is none, the longest bursts. */
static int by_time(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    double left = in_calls(*x), right = in_calls(*y);

    if (left > right || left < right)
        return left < right ? 1 : -1;
    left = ti_json_number(*x, "computing_s");
    right = ti_json_number(*y, "computing_s");
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
                                                     {"", TI_CELLS_BARS, 4},
                                                     {"", TI_CELLS_TEXT, SITE_LEAST}};
    size_t n = json_array_size(list), none = 0;
    const json_t **row = ti_grow(NULL, &none, n + 1, sizeof *row);
    struct ti_text_table *t = ti_table_new(columns, 7);
    char site[SITE_BYTES], unit[32];

    for (size_t i = 0; i < n; i++)
        row[i] = json_array_get(list, i);
    qsort(row, n, sizeof *row, by_time);
    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < n && i < ROWS; i++) {
        ti_table_text(t, "  %s", ti_json_string(row[i], "operation"));
        ti_table_count(t, (uint64_t)ti_json_number(row[i], "calls"));
        ti_table_value(t, ti_json_number(row[i], "communicating_s"));
        ti_table_value(t, ti_json_number(row[i], "waiting_s"));
        ti_table_value(t, ti_json_number(row[i], "computing_s"));
        add_bar(row[i], t);
        ti_table_text(t, "%s", ti_site_text(z, ti_json_string(row[i], "site"), site, sizeof site));
    }
    if (n > ROWS)
        ti_table_line(t, "  ... and %zu more %s: --json has all", n - ROWS, title);
    snprintf(unit, sizeof unit, "%s of all ranks", ti_table_time_unit(t));
    ti_table_title(t, 0, unit);
    ti_paint_table(t, f, width, ti_ink_of(f));
    free(row);
}

/* ---- loops ---- */

static int longest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

double ti_profile_least_shown(const json_t *loops, double (*time)(const json_t *loop))
{
    size_t n = json_array_size(loops), none = 0;
    double *times = ti_grow(NULL, &none, n + 1, sizeof *times), least;

    for (size_t i = 0; i < n; i++)
        times[i] = time(json_array_get(loops, i));
    qsort(times, n, sizeof *times, longest_first);
    least = times[n < ROWS ? n : ROWS - 1];
    free(times);
    return least;
}

/* Add the ranks and the trip counts of a loop: "3 to 30". */
static void add_names(const json_t *loop, bool first, struct ti_text_table *t)
{
    const json_t *trips = json_object_get(loop, "trips");
    struct ti_ranges ranks = {.n = 0};
    char text[64], least[32], most[32];
    uint64_t low = (uint64_t)ti_json_number(trips, "minimum"),
             high = (uint64_t)ti_json_number(trips, "maximum");

    ti_ranges_of_json(json_object_get(loop, "ranks"), INT64_MAX, &ranks);
    if (first)
        ti_table_text(t, "  rank%s %s", ti_ranges_count(&ranks) == 1 ? "" : "s",
                      ti_ranges_text(&ranks, text, sizeof text));
    else
        ti_table_skip(t);
    ti_ranges_free(&ranks);
    ti_table_text(t, "%s%s%s", ti_format_count(low, least, sizeof least), low < high ? " to " : "",
                  low < high ? ti_format_count(high, most, sizeof most) : "");
}

/* The longest loops, each below those that it is in: a loop is longer than the loops in it. */
static void print_loops(const json_t *loops, struct ti_symbolizer *z, int width, FILE *f)
{
    static const struct ti_table_column columns[] = {
        {"", TI_CELLS_TEXT, 15},
        {"trips", TI_CELLS_WORDS, 0},
        {"communicating", TI_CELLS_SECONDS, 0},
        {"waiting", TI_CELLS_SECONDS, 0},
        {"computing", TI_CELLS_SECONDS, 0},
        {"", TI_CELLS_BARS, 4},
        {"loop, by its first call", TI_CELLS_TEXT, SITE_LEAST}};
    struct ti_text_table *t = ti_table_new(columns, 7);
    double least = ti_profile_least_shown(loops, all_of);
    const json_t *loop, *before = NULL;
    size_t i, shown = 0;
    char site[SITE_BYTES], unit[32];

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    json_array_foreach(loops, i, loop)
    {
        const json_t *ranks = json_object_get(loop, "ranks");

        if (all_of(loop) < least || shown == ROWS)
            continue;
        shown++;
        add_names(loop, !before || !json_equal(before, ranks), t);
        before = ranks;
        ti_table_value(t, ti_json_number(loop, "communicating_s"));
        ti_table_value(t, ti_json_number(loop, "waiting_s"));
        ti_table_value(t, ti_json_number(loop, "computing_s"));
        add_bar(loop, t);
        ti_site_text(z, ti_json_string(loop, "site"), site, sizeof site);
        ti_table_text(t, "%*s%s%s%s", 2 * (int)ti_json_number(loop, "depth"), "",
                      ti_json_string(loop, "operation"), *site ? " " : "", site);
    }
    if (json_array_size(loops) > shown)
        ti_table_line(t, "  ... and %zu more loops: --json has all",
                      json_array_size(loops) - shown);
    snprintf(unit, sizeof unit, "%s of all ranks", ti_table_time_unit(t));
    ti_table_title(t, 0, unit);
    ti_paint_table(t, f, width, ti_ink_of(f));
}

/* Whether the call site of any call is known. */
static bool has_sites(const json_t *sites)
{
    const json_t *site;
    size_t i;

    json_array_foreach(sites, i, site)
    {
        if (*ti_json_string(site, "site"))
            return true;
    }
    return false;
}

void ti_profile_print(const json_t *profile, struct ti_symbolizer *symbolizer, int width, FILE *f)
{
    const json_t *sites = json_object_get(profile, "sites");

    print_ranks(json_object_get(profile, "ranks"), width, f);
    if (ti_ink_of(f) != TI_INK_NONE)
        draw_ranks(json_object_get(profile, "ranks"), json_object_get(profile, "overview"), width,
                   f);
    print_rows(json_object_get(profile, "operations"), "operations", symbolizer, width, f);
    if (has_sites(sites))
        print_rows(sites, "call sites", symbolizer, width, f);
    if (json_array_size(json_object_get(profile, "loops")))
        print_loops(json_object_get(profile, "loops"), symbolizer, width, f);
}

/* ---- links ---- */

void ti_profile_print_links(const json_t *links, int width, FILE *f)
{
    static const struct ti_table_column columns[] = {{"use of links", TI_CELLS_WORDS, 0},
                                                     {"", TI_CELLS_BARS, 6},
                                                     {"bytes", TI_CELLS_WORDS, 0},
                                                     {"messages", TI_CELLS_COUNTS, 0},
                                                     {"", TI_CELLS_TEXT, SITE_LEAST}};
    struct ti_text_table *t = ti_table_new(columns, 5);
    size_t n = json_array_size(links);
    char bytes[TI_UNIT_BYTES_MOST];

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < n && i < ROWS; i++) {
        const json_t *link = json_array_get(links, i);

        ti_table_text(t, "%.2f %%", 100 * ti_json_number(link, "use"));
        ti_table_bar(t, 1, &(double){ti_json_number(link, "use")});
        ti_table_text(
            t, "%s",
            ti_unit_format(ti_json_number(link, "bytes"), TI_UNIT_SIZE, bytes, sizeof bytes));
        ti_table_count(t, (uint64_t)ti_json_number(link, "messages"));
        ti_table_text(t, "%s", ti_json_string(link, "link"));
    }
    if (n > ROWS)
        ti_table_line(t, "  ... and %zu more links: --json has all", n - ROWS);
    ti_paint_table(t, f, width, ti_ink_of(f));
}
