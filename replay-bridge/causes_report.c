#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/map.h"
#include "common/ranges.h"
#include "common/table.h"
#include "replay-bridge/causes.h"
#include "replay-bridge/profile_report.h"
#include "terminal/pictures.h"

#define ROWS       10
#define BAR        14 /* characters */
#define BEFORE     16 /* characters before the words of a line on waiting */
#define SITE_LEAST 24 /* of a loop, in characters */
#define RANKS_MAX  72 /* bytes for a set of ranks; ti_ranges_text() ends it after 24 to 48 */

/* "allreduce (norm lu.c:471)", or only the operation. */
static const char *call_text(struct ti_symbolizer *z, const char *operation, const char *site,
                             char out[512])
{
    char place[400];

    ti_site_text(z, site, place, sizeof place);
    snprintf(out, 512, *place ? "%s (%s)" : "%s", operation, place);
    return out;
}

/* "rank 3" or "ranks 0-3, 7" */
static const char *ranks_text(const struct ti_ranges *ranks, char out[RANKS_MAX + 8])
{
    char list[RANKS_MAX];

    ti_ranges_text(ranks, list, sizeof list);
    snprintf(out, RANKS_MAX + 8, "rank%s %s", ti_ranges_count(ranks) == 1 ? "" : "s", list);
    return out;
}

/* ---- the critical path ---- */

static void print_path(const json_t *causes, FILE *f)
{
    static const struct {
        const char *key, *what;
    } kinds[] = {{"computing_s", "computing"},   {"latency_s", "latency"},
                 {"bandwidth_s", "bandwidth"},   {"contention_s", "contention"},
                 {"overhead_s", "MPI overhead"}, {"start_s", "before the job starts"}};
    const json_t *path = json_object_get(causes, "path");
    double all = ti_json_number(causes, "time_s");

    fprintf(f, "\ncritical path, to the end of rank %lld\n",
            (long long)json_integer_value(json_object_get(causes, "last_rank")));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ti_json_number(path, kinds[i].key) > 0 || i < 5)
            fprintf(f, "  %-22s %12.6f s  %5.1f %%\n", kinds[i].what,
                    ti_json_number(path, kinds[i].key),
                    all > 0 ? 100 * ti_json_number(path, kinds[i].key) / all : 0);
    if (ti_json_number(path, "collective_s") > 0)
        fprintf(f, "  (latency and bandwidth of %.6f s in collectives are estimated)\n",
                ti_json_number(path, "collective_s"));
}

static double time_of(const json_t *loop)
{
    return ti_json_number(loop, "time_s");
}

/* The loops in which the path spends most time, as those of a profile (profile_report.h). */
static void print_loops(const json_t *causes, int width, FILE *f)
{
    static const struct ti_table_column columns[] = {{"", TI_CELLS_WORDS, 0},
                                                     {"computing", TI_CELLS_SECONDS, 0},
                                                     {"latency", TI_CELLS_SECONDS, 0},
                                                     {"bandwidth", TI_CELLS_SECONDS, 0},
                                                     {"contention", TI_CELLS_SECONDS, 0},
                                                     {"loop", TI_CELLS_TEXT, SITE_LEAST}};
    static const char *const keys[] = {"computing_s", "latency_s", "bandwidth_s", "contention_s"};
    const json_t *loops = json_object_get(causes, "loops"), *loop;
    double least = ti_profile_least_shown(loops, time_of), all = time_of(causes);
    struct ti_text_table *t = ti_table_new(columns, 6);
    size_t i, shown = 0;
    char unit[32];

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    json_array_foreach(loops, i, loop)
    {
        if (time_of(loop) < least || shown == ROWS)
            continue;
        shown++;
        ti_table_text(t, "%.1f %%", all > 0 ? 100 * time_of(loop) / all : 0);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            ti_table_value(t, ti_json_number(loop, keys[k]));
        ti_table_text(t, "%*s%s", 2 * (int)ti_json_number(loop, "depth"), "",
                      json_object_get(loop, "name") ? ti_json_string(loop, "name")
                                                    : "outside of loops");
    }
    if (json_array_size(loops) > shown)
        ti_table_line(t, "  ... and %zu more loops: --json has all",
                      json_array_size(loops) - shown);
    snprintf(unit, sizeof unit, "%s of path", ti_table_time_unit(t));
    ti_table_title(t, 0, unit);
    ti_table_print(t, f, width);
}

static void print_sensitivities(const json_t *causes, FILE *f)
{
    static const char *const names[] = {"speed", "latency", "bandwidth"};
    const json_t *s = json_object_get(causes, "sensitivities");
    double all = ti_json_number(causes, "time_s");

    fprintf(f, "\n1 %% more of      changes the time by\n");
    for (int i = 0; i < 3; i++) {
        char key[32];

        snprintf(key, sizeof key, "%s_s", names[i]);
        fprintf(f, "  %-14s %+8.4f %%\n", names[i], all > 0 ? ti_json_number(s, key) / all : 0);
    }
}

static const char *help_text(const json_t *help, struct ti_symbolizer *z, char out[1024])
{
    static const struct {
        const char *what, *words;
    } whole[] = {{"no computing", "infinitely fast processors"},
                 {"balance", "the same work on each rank"},
                 {"no latency", "a network without latency"},
                 {"unlimited bandwidth", "unlimited bandwidth, so no contention either"},
                 {"no contention", "no other messages on the route of a message"},
                 {"no overhead", "MPI calls that take no time themselves"}};
    struct ti_ranges ranks = {0};
    char call[512], list[RANKS_MAX + 8];
    const char *what = ti_json_string(help, "what");

    if (!json_object_get(help, "operation")) {
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
            if (!strcmp(whole[i].what, what))
                snprintf(out, 1024, "%s", whole[i].words);
        return out;
    }
    ti_ranges_of_json(json_object_get(help, "ranks"), INT64_MAX, &ranks);
    call_text(z, ti_json_string(help, "operation"), ti_json_string(help, "site"), call);
    snprintf(out, 1024, "%s %s, %s",
             !strcmp(what, "no computing") ? "no computing before" : "no communication in", call,
             ranks_text(&ranks, list));
    ti_ranges_free(&ranks);
    return out;
}

void ti_causes_print(const json_t *causes, struct ti_symbolizer *z, int width, FILE *f)
{
    const json_t *help;
    char words[1024], row[1200];
    size_t i;

    print_path(causes, f);
    if (json_array_size(json_object_get(causes, "loops")))
        print_loops(causes, width, f);
    print_sensitivities(causes, f);
    fprintf(f, "\nwhat would help most, and how much at most\n");
    json_array_foreach(json_object_get(causes, "helps"), i, help)
    {
        snprintf(row, sizeof row, "  %12.6f s  %5.1f %%  %s", ti_json_number(help, "at_most_s"),
                 100 * ti_json_number(help, "at_most"), help_text(help, z, words));
        ti_print_short(f, width, row);
    }
}

/* ---- who waits for whom ---- */

/* Waiting at one call site while the others do one thing. */
struct group {
    const json_t *like;
    double seconds;
    struct ti_ranges ranks, others;
};

static int same_kind(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"site", "operation", "doing", "doing_site",
                                       "doing_operation"};
    int order = 0;

    for (size_t i = 0; !order && i < sizeof keys / sizeof *keys; i++)
        order = strcmp(ti_json_string(a, keys[i]), ti_json_string(b, keys[i]));
    return order;
}

static int by_kind(const void *a, const void *b)
{
    return same_kind(*(const json_t *const *)a, *(const json_t *const *)b);
}

static int by_seconds(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->seconds < y->seconds || x->seconds > y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return same_kind(x->like, y->like);
}

static void add_rank(struct ti_ranges *ranks, const json_t *rank)
{
    if (json_is_integer(rank))
        ti_ranges_add(ranks, json_integer_value(rank));
}

/* Entries of the same kind as groups, the longest first: an array of *n. */
static struct group *groups_of(const json_t *waits, size_t *n)
{
    size_t all = json_array_size(waits), none = 0;
    const json_t **row = ti_grow(NULL, &none, all + 1, sizeof *row);
    struct group *group;

    none = 0;
    group = ti_grow(NULL, &none, all + 1, sizeof *group);
    *n = 0;
    for (size_t i = 0; i < all; i++)
        row[i] = json_array_get(waits, i);
    qsort(row, all, sizeof *row, by_kind);
    for (size_t i = 0; i < all; i++) {
        if (!i || same_kind(row[i - 1], row[i]) != 0)
            group[(*n)++].like = row[i];
        group[*n - 1].seconds += ti_json_number(row[i], "seconds");
        add_rank(&group[*n - 1].ranks, json_object_get(row[i], "rank"));
        add_rank(&group[*n - 1].others, json_object_get(row[i], "for"));
    }
    free(row);
    qsort(group, *n, sizeof *group, by_seconds);
    return group;
}

/* Print a line: seconds or "", a bar where bars are drawn, and words. */
static void print_wait(const char *seconds, double bar, const char *words, int width, FILE *f)
{
    enum ti_ink ink = ti_ink_of(f);
    char row[1024];

    if (ink == TI_INK_NONE) {
        snprintf(row, sizeof row, "  %12s  %s", seconds, words);
        ti_print_short(f, width, row);
        return;
    }
    fprintf(f, "  %12s  ", seconds);
    ti_paint_bar(f, BAR, ink, TI_KIND_WAITING, bar);
    fputc(' ', f);
    ti_print_short(f, width > BEFORE + BAR + 1 ? width - BEFORE - BAR - 1 : width, words);
}

/* `most`: seconds of the longest group. */
static void print_group(const struct group *g, double most, struct ti_symbolizer *z, int width,
                        FILE *f)
{
    static const struct {
        const char *doing, *words;
    } how[] = {{"computing", "computing before "},
               {"communicating", "communicating in "},
               {"waiting", "waiting in "},
               {"unknown", "too long ago to tell how"}};
    char row[1000], ranks[RANKS_MAX + 8], call[512], seconds[32];
    const char *words = "";

    snprintf(seconds, sizeof seconds, "%.6f", g->seconds);
    snprintf(
        row, sizeof row, "in %s: %s",
        call_text(z, ti_json_string(g->like, "operation"), ti_json_string(g->like, "site"), call),
        ranks_text(&g->ranks, ranks));
    print_wait(seconds, g->seconds / most, row, width, f);
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        if (!strcmp(ti_json_string(g->like, "doing"), how[i].doing))
            words = how[i].words;
    *call = '\0';
    if (json_object_get(g->like, "doing_operation"))
        call_text(z, ti_json_string(g->like, "doing_operation"),
                  ti_json_string(g->like, "doing_site"), call);
    snprintf(row, sizeof row, "for others %s%s: %s", words, call, ranks_text(&g->others, ranks));
    print_wait("", 0, row, width, f);
}

/* Draw which rank waits how long for which; nothing if there are so many that ranks are not named.
 */
static void draw_waits(const json_t *waits, int64_t np, int width, FILE *f)
{
    struct ti_matrix *m = ti_matrix_new(np, width, ti_ink_of(f));
    const json_t *wait;
    size_t i;

    json_array_foreach(waits, i, wait)
    {
        const json_t *rank = json_object_get(wait, "rank"), *other = json_object_get(wait, "for");

        if (json_is_integer(rank) && json_is_integer(other))
            ti_matrix_add(m, json_integer_value(rank), json_integer_value(other),
                          ti_json_number(wait, "seconds"));
    }
    ti_matrix_print(m, f, "waiting of ranks (left) for ranks (above)", TI_UNIT_LATENCY);
}

void ti_waits_print(const json_t *waits, int64_t np, struct ti_symbolizer *z, int width, FILE *f)
{
    size_t n;
    struct group *group = groups_of(waits, &n);

    if (n)
        fprintf(f, "\nseconds of waiting, of all ranks together\n");
    for (size_t i = 0; i < n && i < ROWS; i++)
        print_group(&group[i], group[0].seconds, z, width, f);
    if (n > ROWS)
        fprintf(f, "  ... and %zu more kinds of waiting: --json has all\n", n - ROWS);
    for (size_t i = 0; i < n; i++) {
        ti_ranges_free(&group[i].ranks);
        ti_ranges_free(&group[i].others);
    }
    free(group);
    if (n && ti_ink_of(f) != TI_INK_NONE)
        draw_waits(waits, np, width, f);
}
