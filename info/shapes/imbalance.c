/* ti-info --imbalance: where ranks spend different volumes and times. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/folded.h"
#include "analysis/rank_sums.h"
#include "bundle/doubts.h"
#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/names.h"
#include "common/table.h"
#include "info/info.h"
#include "terminal/pictures.h"

#define ROWS_SHOWN 20 /* of a table, unless all are wanted */
#define NAME_BYTES 700

/* Quantities that ranks spend before and in a call. */
enum measure { VOLUME, BURST_NS, CALL_NS, MEASURES };

static const char *const measure_name[MEASURES] = {"volume", TI_EXTRA_BURST, TI_EXTRA_CALL};

/*
 * A position: calls of an operation from one call site.  A shape may have several; those with the
 * same `number` correspond if all ranks have the same shape.  If ranks have different shapes, all
 * positions of a call site are taken together: `whole` is the first of them.
 *
 * A phase is a loop, and what it calls directly.  Loops of different ranks that have a position in
 * common are the same phase.  So phases are sets of positions, kept as trees (union-find): `up`
 * leads to the root, which has the lowest index.
 */
struct position {
    uint32_t op, number;
    size_t site; /* number in imbalance.sites */
    size_t whole, up;
    bool in_loop;
};

/* The quantities that one rank spends at a position. */
struct row {
    int64_t rank;
    size_t position;
    uint64_t own[MEASURES];
};

struct imbalance {
    struct ti_symbolizer *symbolizer;
    struct ti_names sites;
    struct ti_map map; /* op, site, number -> index in `position` */
    struct position *position;
    size_t positions_cap;
    struct row *row; /* those of a rank are together */
    size_t nrows, rows_cap;
    struct ti_folded_ranks ranks;
    int64_t with[MEASURES];    /* ranks that have a measure */
    bool any;                  /* `shape` is set */
    uint64_t shape;            /* hash of the rank before */
    bool differ;               /* ranks have different shapes */
    bool estimate, slowed;     /* of volumes; of durations */
    struct ti_caveats quality; /* of volumes; sums of durations are always exact */
    char *unit;
};

/* ---------------------------------------------------------------- positions -- */

static size_t root_of(const struct imbalance *x, size_t i)
{
    while (x->position[i].up != i) {
        x->position[i].up = x->position[x->position[i].up].up;
        i = x->position[i].up;
    }
    return i;
}

/* Let two positions be of one phase. */
static void unite(struct imbalance *x, size_t a, size_t b)
{
    size_t low, high;

    a = root_of(x, a);
    b = root_of(x, b);
    low = a < b ? a : b;
    high = a < b ? b : a;
    x->position[high].up = low;
    x->position[low].in_loop |= x->position[high].in_loop;
}

/* Positions of a rank so far, by operation and call site. */
struct counts {
    struct ti_map map;
    uint32_t *n;
    size_t cap;
};

/* The position of the next call of an operation from a call site. */
static size_t position_of(struct imbalance *x, struct counts *seen, uint32_t op, const char *text)
{
    size_t site = ti_names_add(&x->sites, text ? text : ""), known = x->map.n, i;
    size_t k = (size_t)ti_map_add(&seen->map, op, (int64_t)site, 0, 0);
    uint32_t number;

    seen->n = ti_grow(seen->n, &seen->cap, seen->map.n, sizeof *seen->n);
    number = seen->n[k]++;
    i = (size_t)ti_map_add(&x->map, op, (int64_t)site, number, 0);
    if (i < known)
        return i;
    x->position = ti_grow(x->position, &x->positions_cap, x->map.n, sizeof *x->position);
    x->position[i] = (struct position){
        .op = op,
        .number = number,
        .site = site,
        .whole = number ? (size_t)ti_map_find(&x->map, op, (int64_t)site, 0, 0) : i,
        .up = i,
    };
    return i;
}

/* ------------------------------------------------------------------ reading -- */

/* A loop that a rank is read in. */
struct level {
    uint32_t end;
    size_t first; /* position of its first call; SIZE_MAX: there was none */
};

/* Add a call to the phase of its loop. */
static void add_to_phase(struct imbalance *x, struct level *loop, size_t position)
{
    x->position[root_of(x, position)].in_loop = true;
    if (loop->first == SIZE_MAX)
        loop->first = position;
    unite(x, loop->first, position);
}

/* Add what a rank spends at call `i`. */
static bool add_row(struct imbalance *x, const struct ti_reader *r, const int column[MEASURES],
                    uint32_t i, size_t position)
{
    struct ti_column_stats v;
    struct row *row;

    x->row = ti_grow(x->row, &x->rows_cap, x->nrows + 1, sizeof *x->row);
    row = &x->row[x->nrows];
    *row = (struct row){.rank = ti_reader_rank(r), .position = position};
    for (int m = 0; m < MEASURES; m++) {
        if (column[m] < 0)
            continue;
        if (!ti_shape_volumes(ti_reader_folded(r), i, (uint32_t)column[m], &v))
            return false;
        row->own[m] = v.sum;
    }
    x->nrows++;
    return true;
}

static bool add_rank(struct imbalance *x, const struct ti_reader *r, const int column[MEASURES],
                     uint64_t *shape)
{
    const struct ti_folded *f = ti_reader_folded(r);
    struct counts seen = {.n = NULL};
    struct level *level = NULL; /* level[0] is no loop */
    size_t depth = 0, cap = 0;
    bool fine = true;

    level = ti_grow(level, &cap, 1, sizeof *level);
    level[0].end = ti_shape_nodes(f);
    for (uint32_t i = 0; fine && i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);
        size_t position;

        while (i == level[depth].end)
            depth--;
        *shape = ti_hash_word(*shape, (uint64_t)node.end << 1 | node.loop);
        if (node.loop) {
            level = ti_grow(level, &cap, ++depth + 1, sizeof *level);
            level[depth] = (struct level){node.end, SIZE_MAX};
            continue;
        }
        position = position_of(x, &seen, node.op, ti_reader_string(r, TI_STRING_SITE, node.site));
        *shape = ti_hash_word(*shape, position);
        if (depth)
            add_to_phase(x, &level[depth], position);
        fine = add_row(x, r, column, i, position);
    }
    ti_map_free(&seen.map);
    free(seen.n);
    free(level);
    return fine;
}

static ti_status take_rank(void *arg, struct ti_reader *r, struct ti_err *err)
{
    const char *unit = ti_reader_info(r, "unit");
    struct imbalance *x = arg;
    size_t nrows = x->nrows;
    uint64_t shape = TI_HASH_START;
    int column[MEASURES];

    for (int m = 0; m < MEASURES; m++)
        column[m] = m == VOLUME ? 0 : 1 + ti_reader_extra(r, measure_name[m]);
    for (int m = 1; m < MEASURES; m++)
        if (column[m] == 0)
            column[m] = -1;
    if (!add_rank(x, r, column, &shape)) {
        x->nrows = nrows;
        return ti_err_set(err, TI_ERR_INPUT, "rank %u is damaged: its record is malformed",
                          ti_reader_rank(r));
    }
    for (int m = 0; m < MEASURES; m++)
        x->with[m] += column[m] >= 0;
    x->differ |= x->any && shape != x->shape;
    x->any = true;
    x->shape = shape;
    x->estimate |= ti_info_estimate(r);
    x->slowed |= ti_doubts_slowed(ti_reader_info(r, "counter"));
    ti_caveats_add_quality(&x->quality, r, false);
    if (!x->unit && unit)
        x->unit = strdup(unit);
    ti_symbolizer_add_rank(x->symbolizer, r);
    return TI_OK;
}

/* Where shapes differ, positions of a call site are one. */
static void join_positions(struct imbalance *x)
{
    for (size_t i = 0; x->differ && i < x->map.n; i++)
        unite(x, i, x->position[i].whole);
    for (size_t i = 0; x->differ && i < x->nrows; i++)
        x->row[i].position = x->position[x->row[i].position].whole;
}

/* ------------------------------------------------------------------- tables -- */

/* A line of a table: a position, or a phase by its root. */
struct line {
    size_t position;
    bool used;
    struct ti_rank_sums sums; /* of ranks */
};

static double mean(const struct ti_rank_sums *s)
{
    return s->ranks ? (double)s->sum / (double)s->ranks : 0;
}

static double loss(const struct ti_rank_sums *s)
{
    return s->ranks ? (double)s->most - mean(s) : 0;
}

/* Add up rows for each position, or for each phase; and for all in *all. */
static void add_up(const struct imbalance *x, enum measure m, bool phases, struct line *line,
                   struct ti_rank_sums *all)
{
    size_t cap = 0;
    uint64_t *own = ti_grow(NULL, &cap, x->map.n + 1, sizeof *own), total;

    for (size_t i = 0; i < x->map.n; i++)
        line[i] = (struct line){.position = i};
    for (size_t at = 0, end; at < x->nrows; at = end) {
        int64_t rank = x->row[at].rank;

        total = 0;
        memset(own, 0, x->map.n * sizeof *own);
        for (end = at; end < x->nrows && x->row[end].rank == rank; end++) {
            size_t i = x->row[end].position;

            i = phases ? root_of(x, i) : i;
            line[i].used = true;
            own[i] += x->row[end].own[m];
            total += x->row[end].own[m];
        }
        for (size_t i = 0; i < x->map.n; i++)
            ti_rank_sums_add(&line[i].sums, rank, own[i]);
        ti_rank_sums_add(all, rank, total);
    }
    free(own);
}

static int by_loss(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    double more = loss(&y->sums) - loss(&x->sums);

    return x->used != y->used          ? y->used - x->used
           : more > 0                  ? 1
           : more < 0                  ? -1
           : x->position > y->position ? 1
                                       : -1;
}

/* Write the name of a position, or of the phase that it is the root of. */
static const char *name_of(const struct imbalance *x, size_t i, bool phase, char *text,
                           size_t bytes)
{
    const struct position *p = &x->position[i];
    char site[NAME_BYTES - 64], number[16] = "";

    if (phase && !p->in_loop) {
        snprintf(text, bytes, "no loop: ");
        bytes -= strlen(text);
        name_of(x, i, false, text + strlen(text), bytes);
        return text;
    }
    ti_site_text(x->symbolizer, x->sites.text[p->site], site, sizeof site);
    if (p->number)
        snprintf(number, sizeof number, " #%u", p->number + 1);
    snprintf(text, bytes, "%s%s%s%s%s", phase ? "loop of " : "", ti_op_info(p->op)->text,
             *site ? " at " : "", site, number);
    return text;
}

static void put_line(struct ti_text_table *t, const struct ti_rank_sums *s, double all,
                     const char *name)
{
    ti_table_text(t, "%.2f %%", all > 0 ? 100 * loss(s) / all : 0);
    ti_table_bar(t, 1, &(double){loss(s)});
    if (s->sum)
        ti_table_text(t, "%.3f", (double)s->most / mean(s));
    else
        ti_table_text(t, "-");
    ti_table_count(t, (uint64_t)(mean(s) + 0.5));
    ti_table_count(t, s->least);
    ti_table_count(t, (uint64_t)s->least_rank);
    ti_table_count(t, s->most);
    ti_table_count(t, (uint64_t)s->most_rank);
    ti_table_text(t, "%s", name);
}

/* Make the lines of the positions or phases, those that lose most first.  Returns their number; the
 * caller frees *out.  *all becomes the sums of the whole ranks. */
static size_t make_table(const struct imbalance *x, enum measure m, bool phases, struct line **out,
                         struct ti_rank_sums *all)
{
    size_t cap = 0, used = 0;
    struct line *line = ti_grow(NULL, &cap, x->map.n + 1, sizeof *line);

    *all = (struct ti_rank_sums){.ranks = 0};
    add_up(x, m, phases, line, all);
    qsort(line, x->map.n, sizeof *line, by_loss);
    while (used < x->map.n && line[used].used)
        used++;
    *out = line;
    return used;
}

/* Add the positions or phases that lose most. */
static void put_lines(const struct imbalance *x, enum measure m, bool phases,
                      const struct info_style *style, struct ti_text_table *t)
{
    struct line *line;
    struct ti_rank_sums all;
    char name[NAME_BYTES];
    size_t used = make_table(x, m, phases, &line, &all);
    /* what is left out must be more than the line that says so */
    size_t most = style->top ? (size_t)style->top : used <= ROWS_SHOWN + 1 ? used : ROWS_SHOWN;
    size_t shown = style->all || used <= most ? used : most;

    ti_table_line(t, phases ? "phases" : "positions");
    for (size_t i = 0; i < shown; i++)
        put_line(t, &line[i].sums, mean(&all),
                 name_of(x, line[i].position, phases, name, sizeof name));
    if (shown < used)
        ti_table_line(t, "... and %zu further ones; --all shows them", used - shown);
    free(line);
}

static void print_measure(const struct imbalance *x, enum measure m, const struct info_style *style)
{
    const struct ti_table_column columns[] = {
        {"excess", TI_CELLS_WORDS, 0},       {"", TI_CELLS_BARS, 6},
        {"max/mean", TI_CELLS_WORDS, 0},     {"mean", TI_CELLS_COUNTS, 0},
        {"minimum", TI_CELLS_COUNTS, 0},     {"rank", TI_CELLS_RANKS, 0},
        {"maximum", TI_CELLS_COUNTS, 0},     {"rank", TI_CELLS_RANKS, 0},
        {measure_name[m], TI_CELLS_TEXT, 30}};
    struct ti_text_table *t = ti_table_new(columns, 9);
    struct ti_rank_sums all;
    struct line *line;
    char text[32];

    make_table(x, m, true, &line, &all);
    free(line);
    ti_table_line(t, "%s", "");
    ti_table_line(t,
                  "%s: excess is the maximum less the mean, in %% of what a rank has in all, %s on "
                  "average",
                  measure_name[m],
                  ti_format_count((uint64_t)(mean(&all) + 0.5), text, sizeof text));
    ti_table_titles(t);
    put_line(t, &all, mean(&all), "all");
    put_lines(x, m, true, style, t);
    put_lines(x, m, false, style, t);
    ti_paint_table(t, stdout, style->width, ti_ink_of(stdout));
}

/* Whether a measure can be compared: all ranks have it.  If only some have it, warn. */
static bool is_complete(const struct imbalance *x, int m)
{
    if (x->with[m] && x->with[m] != x->ranks.taken)
        ti_warn("%" PRId64 " of %" PRId64 " ranks have no %s, which is left out",
                x->ranks.taken - x->with[m], x->ranks.taken, measure_name[m]);
    return x->with[m] == x->ranks.taken;
}

static void print_text(const struct imbalance *x, const struct info_style *style)
{
    printf("imbalance of %" PRId64 " of %" PRId64 " ranks; volumes are ", x->ranks.taken,
           x->ranks.np);
    if (x->estimate)
        printf("an estimate, in ");
    info_put_clean(x->unit ? x->unit : "of unknown unit");
    putchar('\n');
    for (int m = 0; m < MEASURES; m++) {
        if (is_complete(x, m))
            print_measure(x, (enum measure)m, style);
    }
}

/* --------------------------------------------------------------------- JSON -- */

/* Add what a line says; the loss is a part of what a rank spends in all. */
static void add_sums(json_t *out, const struct ti_rank_sums *s, double all)
{
    json_object_set_new(out, "loss", json_real(all > 0 ? loss(s) / all : 0));
    json_object_set_new(out, "max_to_mean",
                        s->sum ? json_real((double)s->most / mean(s)) : json_null());
    json_object_set_new(out, "mean", json_real(mean(s)));
    json_object_set_new(out, "minimum", ti_json_u64(s->least));
    json_object_set_new(out, "minimum_rank", json_integer(s->least_rank));
    json_object_set_new(out, "maximum", ti_json_u64(s->most));
    json_object_set_new(out, "maximum_rank", json_integer(s->most_rank));
}

static json_t *line_json(const struct imbalance *x, const struct line *line, double all, bool phase)
{
    const struct position *p = &x->position[line->position];
    const char *site = x->sites.text[p->site];
    json_t *out = json_object();

    if (phase)
        json_object_set_new(out, "loop", json_boolean(p->in_loop));
    json_object_set_new(out, "call", json_string(ti_op_info(p->op)->text));
    json_object_set_new(out, "number", json_integer((json_int_t)p->number + 1));
    json_object_set_new(out, "site", ti_json_text(*site ? site : NULL));
    ti_site_line_json(ti_symbolizer_find(x->symbolizer, site), out);
    add_sums(out, &line->sums, all);
    return out;
}

static json_t *table_json(const struct imbalance *x, enum measure m, bool phases,
                          struct ti_rank_sums *all)
{
    struct line *line;
    size_t used = make_table(x, m, phases, &line, all);
    json_t *list = json_array();

    for (size_t i = 0; i < used; i++)
        json_array_append_new(list, line_json(x, &line[i], mean(all), phases));
    free(line);
    return list;
}

static void print_json(const struct ti_source *s, const struct imbalance *x)
{
    json_t *out = json_object(), *measures = json_object();

    info_folded_json(s, &x->ranks, out);
    json_object_set_new(out, "volume_unit", info_json_text(x->unit));
    json_object_set_new(out, "estimate", json_boolean(x->estimate));
    for (int m = 0; m < MEASURES && x->nrows; m++) {
        json_t *of = json_object(), *run = json_object();
        struct ti_rank_sums all;

        if (is_complete(x, m)) {
            json_object_set_new(of, "phases", table_json(x, (enum measure)m, true, &all));
            json_object_set_new(of, "positions", table_json(x, (enum measure)m, false, &all));
            add_sums(run, &all, mean(&all));
            json_object_set(of, "all", run);
            json_object_set(measures, measure_name[m], of);
        }
        json_decref(of);
        json_decref(run);
    }
    json_object_set_new(out, "measures", measures);
    info_print_json(out);
    json_decref(out);
}

/* The least and the largest rate of a rank, in volume a second; false: no rank has one. */
static bool rates_of(const struct imbalance *x, double *least, double *most)
{
    bool any = false;

    for (size_t at = 0; at < x->nrows;) {
        int64_t rank = x->row[at].rank;
        double volume = 0, ns = 0, rate;

        for (; at < x->nrows && x->row[at].rank == rank; at++) {
            volume += (double)x->row[at].own[VOLUME];
            ns += (double)x->row[at].own[BURST_NS];
        }
        if (!(ns > 0))
            continue;
        rate = volume * 1e9 / ns;
        *least = any && *least < rate ? *least : rate;
        *most = any && *most > rate ? *most : rate;
        any = true;
    }
    return any;
}

/* Times of bursts are compared between ranks, too. */
static void warn_of_durations(const struct imbalance *x, const struct ti_source *s)
{
    struct ti_doubts doubts;
    double least, most;

    ti_doubts_of_durations(ti_source_manifest(s), x->slowed, &doubts);
    if (rates_of(x, &least, &most))
        ti_doubts_of_rates(least, most, x->unit ? x->unit : "volume", &doubts);
    for (int i = 0; i < doubts.n; i++)
        ti_warn("%s", doubts.text[i]);
}

ti_status info_imbalance(struct ti_source *s, const struct info_style *style, struct ti_err *err)
{
    struct imbalance x = {.symbolizer = style->line.symbolizer};
    ti_status st = ti_folded_each(s, -1, take_rank, &x, &x.ranks, err);

    info_folded_warn(&x.ranks);
    join_positions(&x);
    info_warn_of_caveats(&x.quality);
    if (x.with[BURST_NS])
        warn_of_durations(&x, s);
    if (style->json && !err->text[0])
        print_json(s, &x);
    else if (x.nrows && !style->json && !style->quiet)
        print_text(&x, style);
    ti_folded_ranks_free(&x.ranks);
    ti_map_free(&x.map);
    ti_names_free(&x.sites);
    free(x.position);
    free(x.row);
    free(x.unit);
    return st;
}
