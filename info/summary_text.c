#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/table.h"
#include "info/summary.h"
#include "terminal/pictures.h"
#include "trace/differ.h"
#include "trace/rankname.h"

#define PROBLEMS_SHOWN 8

void info_put_line(const char *what, const char *value)
{
    if (!value)
        return;
    printf("%-12s ", what);
    info_put_clean(value);
    putchar('\n');
}

static void print_counter(const struct summary *sum)
{
    const char *name = info_fact(sum, "counter"), *event = info_fact(sum, "event");
    const char *unit = info_fact(sum, "unit"), *threads = info_fact(sum, "threads");

    if (!name)
        return;
    printf("%-12s ", "counter");
    info_put_clean(name);
    printf("%s", event ? ", " : "");
    info_put_clean(event);
    printf("%s", unit ? ", in " : "");
    info_put_clean(unit);
    if (threads && strcmp(threads, "sum") == 0)
        printf(" of all threads");
    printf(", %s%s\n",
           ti_caveats_words(&sum->caveats, name, json_is_true(json_object_get(sum->info, "exact")),
                            json_is_true(json_object_get(sum->info, "estimate"))),
           json_is_true(json_object_get(sum->info, "mixed")) ? "; NOT THE SAME ON ALL RANKS" : "");
}

/* The calibration that was subtracted from bursts, and the number of bursts below it. */
static void print_calibration(const struct summary *sum)
{
    const struct ti_burst_overhead *c = &sum->calibration;
    char n[32], negative[32];

    if (c->ranks) {
        printf("%-12s %s", "calibration", ti_format_count(c->least, n, sizeof n));
        if (c->most != c->least)
            printf(" to %s", ti_format_count(c->most, n, sizeof n));
        printf(" subtracted from each burst, spread %s\n", ti_format_count(c->spread, n, sizeof n));
    }
    if (sum->negative)
        printf("%-12s %s of %s bursts were shorter than that and count as 0\n", "negative",
               ti_format_count(sum->negative, negative, sizeof negative),
               ti_format_count(sum->events, n, sizeof n));
}

/* The share of the program that the counter `blocks` did not count, what the samples tell of it,
 * and the places. */
static void print_uncounted(const struct summary *sum)
{
    const char *counter = info_fact(sum, "counter");
    const struct ti_caveats *c = &sum->caveats;
    struct ti_share share = ti_caveats_bounds(c);
    char n[32];

    if (!c->samples && ti_caveats_partial(counter))
        printf("%-12s not known: there are no samples\n", "uncounted");
    if (!c->samples)
        return;
    printf("%-12s %.1f %% of %s samples between MPI calls", "uncounted",
           100 * ti_caveats_uncounted(c), ti_format_count(c->samples, n, sizeof n));
    if (ti_caveats_coverage(c, counter) == TI_COVERS_UNKNOWN)
        printf(", too few to tell");
    printf(" (%.1f to %.1f %%)", 100 * share.least, 100 * share.most);
    for (int i = 0; i < TI_UNCOUNTED_MAX && c->uncounted_in[i].samples; i++) {
        printf("%s", i ? ", " : ": ");
        info_put_clean(c->uncounted_in[i].name);
        printf(" %s", ti_format_count(c->uncounted_in[i].samples, n, sizeof n));
    }
    if (c->unknown)
        printf("; not known of %s", ti_format_count(c->unknown, n, sizeof n));
    printf("\n");
}

void info_put_caveats(const struct ti_caveats *c)
{
    char text[512];

    for (int i = 0; ti_caveats_text(c, i, text, sizeof text); i++)
        info_put_line("CAVEAT", text);
}

/* Print the first keys of an object. */
static void print_names(json_t *object)
{
    const char *name;
    json_t *value;
    int n = 0;

    json_object_foreach(object, name, value)
    {
        if (n++ == 8)
            break;
        printf("%s", n > 1 ? ", " : "");
        info_put_clean(name);
    }
    printf("%s\n", n > 8 ? ", ..." : "");
}

static void print_nodes(const struct summary *sum)
{
    size_t n = json_array_size(sum->nodes);

    if (!n)
        return;
    printf("%-12s %zu:", "nodes", n);
    for (size_t i = 0; i < n && i < 8; i++) {
        printf("%s ", i ? "," : "");
        info_put_clean(json_string_value(json_array_get(sum->nodes, i)));
    }
    printf("%s\n", n > 8 ? ", ..." : "");
}

/* The programs of a run that had several. */
static void print_programs(const struct summary *sum)
{
    const json_t *list = json_object_get(sum->info, "programs"), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        printf("%-12s ranks ", i ? "" : "programs");
        info_put_clean(ti_json_string(one, "ranks"));
        printf(": ");
        info_put_clean(ti_json_string(one, "command"));
        putchar('\n');
    }
}

static void print_sites(const struct summary *sum)
{
    size_t sites = json_object_size(json_object_get(sum->info, "sites"));
    size_t clusters = json_object_size(json_object_get(sum->info, "clusters"));

    if (!sites)
        return;
    printf("%-12s %zu, with %zu cluster%s: ", "sites", sites, clusters, clusters == 1 ? "" : "s");
    print_names(json_object_get(sum->info, "clusters"));
}

static void print_steps(const struct summary *sum)
{
    const json_t *steps = json_object_get(sum->info, "steps"), *step;
    size_t i;

    if (!json_array_size(steps))
        return;
    printf("%-12s", "steps");
    json_array_foreach(steps, i, step)
    {
        const char *name = json_string_value(json_object_get(step, "name"));

        printf("%s ", i ? "," : "");
        info_put_clean(name ? name : "?");
        printf(" %.3f s", json_number_value(json_object_get(step, "seconds")));
    }
    putchar('\n');
}

/* How the traces were gathered from the nodes, with lost relays, adopted nodes and repeated ranks.
 */
static void print_gathering(const struct summary *sum)
{
    const json_t *g = json_object_get(sum->info, "gathering"),
                 *predicted = json_object_get(g, "predicted");
    int64_t k = ti_json_integer(g, "arity"), lost = ti_json_integer(g, "relays_lost"),
            adopted = ti_json_integer(g, "adopted"), again = ti_json_integer(g, "ranks_again"),
            here = ti_json_integer(g, "resumed_bytes");
    size_t nodes = json_array_size(json_object_get(g, "links"));
    char size[32];

    if (!g)
        return;
    printf("%-12s ", "gathered");
    if (k > 0)
        printf("by a tree of arity %" PRId64 ", %" PRId64 " hop%s, ", k,
               ti_json_integer(g, "depth"), ti_json_integer(g, "depth") == 1 ? "" : "s");
    else
        fputs("by a star, ", stdout);
    printf("%zu node%s in %.1f s (predicted %.1f s)", nodes, nodes == 1 ? "" : "s",
           ti_json_number(g, "transferred_seconds"), ti_json_number(predicted, "total_seconds"));
    if (lost)
        printf(", %" PRId64 " could not pass on", lost);
    if (adopted)
        printf(", %" PRId64 " reached by another way", adopted);
    if (again)
        printf(", %" PRId64 " rank%s sent again", again, again == 1 ? "" : "s");
    if (here)
        printf(", %s from before", ti_format_size(here, size, sizeof size));
    putchar('\n');
}

/* The volume from the end of MPI_Init to the entry of MPI_Finalize, including that of MPI and of
 * the library.  Printed only if all ranks have it. */
static void print_whole(const struct summary *sum)
{
    const char *unit = info_fact(sum, "unit");
    bool other = unit && strcmp(unit, "instructions") != 0;
    char n[32];

    if (!sum->nrows || sum->with_whole != sum->nrows)
        return;
    printf("%-12s %s%s", "whole run", ti_format_count(sum->whole, n, sizeof n), other ? " " : "");
    if (other)
        info_put_clean(unit);
    if (sum->with_outside == sum->nrows)
        printf(", %s outside MPI", ti_format_count(sum->outside, n, sizeof n));
    if (sum->blocks)
        printf(", %s%s by code compiled with ti-mpicc", ti_format_count(sum->blocks, n, sizeof n),
               other ? " instructions" : "");
    if (sum->blocks_own)
        printf(" and %s in counting it", ti_format_count(sum->blocks_own, n, sizeof n));
    putchar('\n');
}

/* One-sided transfers and files only if there are any. */
void info_put_volumes(const struct summary *sum)
{
    static const struct {
        enum ti_op_kind kind;
        const char *title, *there, *back;
    } kinds[] = {{TI_OP_KIND_RMA, "one-sided", "put", "got"},
                 {TI_OP_KIND_FILE, "files", "written", "read"}};
    char n[32], there[32], back[32];

    printf("%-12s %s", "messages", ti_format_count(sum->messages, n, sizeof n));
    printf(", %s bytes\n", ti_format_count(info_message_bytes(sum), n, sizeof n));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ti_op_count all = info_totals_of(sum, kinds[i].kind);

        if (all.events)
            printf("%-12s %s, %s bytes %s, %s %s\n", kinds[i].title,
                   ti_format_count(all.events, n, sizeof n),
                   ti_format_count(all.bytes, there, sizeof there), kinds[i].there,
                   ti_format_count(all.got, back, sizeof back), kinds[i].back);
    }
}

/* Add bytes to a table; "-" if there are none. */
static void add_bytes(struct ti_text_table *t, uint64_t bytes, bool always)
{
    char text[32];

    if (bytes || always)
        ti_table_text(t, "%s", ti_format_count(bytes, text, sizeof text));
    else
        ti_table_text(t, "-");
}

void info_put_operations(const struct summary *sum, int width)
{
    static const struct ti_table_column columns[] = {
        {"operation", TI_CELLS_TEXT, 20}, {"events", TI_CELLS_COUNTS, 0},
        {"", TI_CELLS_BARS, 8},           {"bytes sent", TI_CELLS_WORDS, 0},
        {"", TI_CELLS_BARS, 8},           {"bytes got", TI_CELLS_WORDS, 0}};
    bool both =
        info_totals_of(sum, TI_OP_KIND_RMA).events || info_totals_of(sum, TI_OP_KIND_FILE).events;
    struct ti_text_table *t = ti_table_new(columns, both ? 6 : 5);
    char events[32];

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        if (!sum->op[op].events)
            continue;
        ti_table_text(t, "%s", ti_op_info(op)->text);
        ti_table_count(t, sum->op[op].events);
        ti_table_bar(t, 1, &(double){(double)sum->op[op].events});
        add_bytes(t, sum->op[op].bytes, ti_op_is(op, TI_T_SENDS));
        ti_table_bar(t, 1, &(double){(double)sum->op[op].bytes});
        if (both)
            add_bytes(t, sum->op[op].got, false);
    }
    ti_paint_table(t, stdout, width, ti_ink_of(stdout));
    for (int i = 0; i < sum->nuntraced; i++) {
        printf("%s", i ? ", " : "not traced: ");
        info_put_clean(sum->untraced[i].name);
        printf(" %s", ti_format_count(sum->untraced[i].calls, events, sizeof events));
    }
    if (sum->nuntraced)
        putchar('\n');
}

static void print_spread(const struct summary *sum, int width)
{
    static const struct ti_table_column columns[] = {{"per rank", TI_CELLS_TEXT, 20},
                                                     {"minimum", TI_CELLS_COUNTS, 0},
                                                     {"median", TI_CELLS_COUNTS, 0},
                                                     {"maximum", TI_CELLS_COUNTS, 0}};
    struct ti_text_table *t = ti_table_new(columns, 4);
    uint64_t v[3];

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (int what = 0; what < PER_RANK_COUNT && info_spread(sum, (enum per_rank)what, v); what++) {
        ti_table_text(t, "%s", info_per_rank_text[what]);
        for (int i = 0; i < 3; i++)
            ti_table_count(t, v[i]);
    }
    ti_table_print(t, stdout, width);
}

/* Draw the volumes of several ranks. */
static void draw_volumes(const struct summary *sum, int width)
{
    enum ti_ink ink = ti_ink_of(stdout);
    size_t n = (size_t)sum->nrows, none = 0;
    int64_t *rank;
    uint64_t *volume;

    if (ink == TI_INK_NONE || n < 2)
        return;
    rank = ti_grow(NULL, &none, n, sizeof *rank);
    none = 0;
    volume = ti_grow(NULL, &none, n, sizeof *volume);
    for (size_t i = 0; i < n; i++) {
        rank[i] = sum->row[i].rank;
        volume[i] = sum->row[i].volume;
    }
    ti_paint_volumes(stdout, width, ink, "volume by rank", sum->nranks, sum->nrows, rank, volume);
    free(rank);
    free(volume);
}

static const char *missing_reason(const struct summary *sum, int64_t rank)
{
    const json_t *list = json_object_get(sum->info, "missing");
    const char *why = NULL;

    for (size_t i = 0; i < json_array_size(list) && !why; i++) {
        const json_t *entry = json_array_get(list, i);
        struct ti_ranges ranks;

        ti_ranges_of_json(json_object_get(entry, "ranks"), sum->nranks, &ranks);
        if (ti_ranges_hold(&ranks, rank))
            why = json_string_value(json_object_get(entry, "reason"));
        ti_ranges_free(&ranks);
    }
    return why;
}

/* Print why the first missing ranks are missing, where the manifest says so. */
static void print_reasons(const struct summary *sum)
{
    int64_t n = 0;

    ti_ranges_foreach (&sum->missing, rank) {
        const char *why = n++ < PROBLEMS_SHOWN ? missing_reason(sum, rank) : NULL;

        if (n > PROBLEMS_SHOWN)
            return;
        if (why && strcmp(why, "no file") != 0)
            ti_print(stdout, "  rank %" PRId64 ": %s\n", rank, why);
    }
}

/* Missing, incomplete and damaged ranks; prints nothing if there are none. */
static void print_problems(const struct summary *sum, bool apart)
{
    char ranks[512], events[32], text[1024];
    int64_t shown = 0, nbad = 0, nmissing = ti_ranges_count(&sum->missing);
    const char *key;
    json_t *values;

    json_object_foreach(json_object_get(sum->info, "differ"), key, values)
    {
        printf("%s%s\n", apart ? "\n" : "", ti_differ_text(key, values, text, sizeof text));
        apart = false;
    }
    if (nmissing) {
        printf("%s%" PRId64 " rank%s missing: %s\n", apart ? "\n" : "", nmissing,
               nmissing == 1 ? "" : "s", ti_ranges_text(&sum->missing, ranks, sizeof ranks));
        print_reasons(sum);
    }
    for (int64_t i = 0; i < sum->nrows; i++)
        nbad += !info_is_whole(&sum->row[i]);
    if (nbad)
        printf("%s%" PRId64 " rank%s incomplete; counted as far as %s:\n", apart ? "\n" : "", nbad,
               nbad == 1 ? "" : "s", nbad == 1 ? "it goes" : "they go");
    for (int64_t i = 0; i < sum->nrows && shown < PROBLEMS_SHOWN; i++) {
        const struct row *row = &sum->row[i];

        if (info_is_whole(row))
            continue;
        printf("  rank %" PRId64 ", after %s events: ", row->rank,
               ti_format_count(row->events, events, sizeof events));
        info_put_clean(info_why_not_whole(row));
        putchar('\n');
        shown++;
    }
    if (nbad > shown)
        printf("  ... and %" PRId64 " more\n", nbad - shown);
}

void info_print_summary(const struct summary *sum, bool quiet, int width)
{
    bool alone = strcmp(ti_source_kind(sum->s), "rank file") == 0;
    char n[32], size[32];

    if (quiet) {
        print_problems(sum, false);
        return;
    }
    printf("%s: ", ti_source_path(sum->s));
    if (alone)
        printf("rank file of rank %" PRId64 " of %" PRId64 "\n", sum->nrows ? sum->row[0].rank : 0,
               sum->nranks);
    else
        printf("%s of %" PRId64 " rank%s\n", ti_source_kind(sum->s), sum->nranks,
               sum->nranks == 1 ? "" : "s");
    info_put_line("run", info_fact(sum, "run_id"));
    info_put_line("application", info_fact(sum, "application"));
    info_put_line("command", info_fact(sum, "command"));
    print_programs(sum);
    print_counter(sum);
    print_calibration(sum);
    print_uncounted(sum);
    info_put_caveats(&sum->caveats);
    if (info_fact(sum, "mode") && strcmp(info_fact(sum, "mode"), "full") != 0)
        info_put_line("mode", info_fact(sum, "mode"));
    info_put_line("cpu", info_fact(sum, "cpu"));
    info_put_line("mpi", info_fact(sum, "mpi"));
    print_nodes(sum);
    print_sites(sum);
    if (info_fact(sum, "acquired"))
        info_put_line("acquired", info_fact(sum, "acquired"));
    print_steps(sum);
    print_gathering(sum);
    info_put_line("events", ti_format_count(sum->events, n, sizeof n));
    printf("%-12s %s ", "volume", ti_format_count(sum->volume, n, sizeof n));
    info_put_clean(info_fact(sum, "unit"));
    putchar('\n');
    print_whole(sum);
    info_put_volumes(sum);
    printf("%-12s %s", "stored", ti_format_size(sum->bytes, size, sizeof size));
    if (sum->events)
        printf(": %.4g bytes an event, %.4g an action", (double)sum->bytes / (double)sum->events,
               (double)sum->bytes / (double)sum->events / 2);
    putchar('\n');
    info_put_operations(sum, width);
    if (!alone) {
        print_spread(sum, width);
        draw_volumes(sum, width);
    }
    if (sum->extras)
        info_extras_print(sum->extras, width);
    print_problems(sum, true);
}
