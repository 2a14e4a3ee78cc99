#include "info/shapes/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/sums.h"
#include "common/table.h"
#include "info/shapes/quantities.h"

#define ROWS_SHOWN 20 /* of a table, unless all are wanted */
#define NAME_BYTES 1500

static const char *const quantity_name[INFO_QUANTITIES] = {"volume", "messages", "bytes", "calls"};

/* A loop, a call site, or what is outside of loops, in both traces. */
struct row {
    size_t number; /* of the phase or call site; TI_VERSIONS_NONE: outside of loops, or all */
    size_t depth;  /* of the phase */
    struct info_sums in[2];
    int most;     /* the quantity that changes most */
    double share; /* by how much, as a share of all of it in the second trace */
};

struct info_changes {
    struct ti_source *s[2];
    struct ti_versions *v;
    struct ti_symbolizer *symbolizer;
    bool no_volumes;
    struct row all;
    struct row *phase, *site; /* those that differ, the largest change first */
    size_t nphases, nsites;
    struct info_quantities q[2];
    bool overflow;
};

/* ------------------------------------------------------------------- sums -- */

static void add(struct info_changes *c, struct info_sums *to, const struct info_sums *more)
{
    for (int k = 0; k < INFO_QUANTITIES; k++)
        c->overflow |= !ti_sum_add(&to->of[k], more->of[k], 1);
}

/* The sums of each phase with those in it, and of what is outside of loops: the last row. */
static void add_phases(struct info_changes *c)
{
    size_t n = ti_versions_phases(c->v), cap = 0;

    c->phase = ti_grow(NULL, &cap, n + 1, sizeof *c->phase);
    c->nphases = n + 1;
    for (size_t i = 0; i <= n; i++)
        c->phase[i].number = i < n ? i : TI_VERSIONS_NONE;
    for (int t = 0; t < 2; t++)
        for (size_t s = 0; s < c->q[t].nshapes; s++)
            for (uint32_t i = 0; i < c->q[t].nnodes[s]; i++) {
                size_t at = ti_versions_phase_of(c->v, t, s, i);
                struct info_sums *to = &c->phase[at == TI_VERSIONS_NONE ? n : at].in[t];

                add(c, to, &c->q[t].shape[s][i]);
                c->overflow |= !ti_sum_add(&to->trips, c->q[t].shape[s][i].trips, 1);
                c->overflow |= !ti_sum_add(&to->passes, c->q[t].shape[s][i].passes, 1);
                add(c, &c->all.in[t], &c->q[t].shape[s][i]);
            }
    for (size_t i = n; i-- > 0;) {
        size_t around = ti_versions_around(c->v, i);

        for (int t = 0; t < 2 && around != TI_VERSIONS_NONE; t++)
            add(c, &c->phase[around].in[t], &c->phase[i].in[t]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t around = ti_versions_around(c->v, i);

        c->phase[i].depth = around == TI_VERSIONS_NONE ? 0 : c->phase[around].depth + 1;
    }
}

static void add_sites(struct info_changes *c)
{
    size_t n = ti_versions_sites(c->v), cap = 0;

    c->site = ti_grow(NULL, &cap, n + 1, sizeof *c->site);
    c->nsites = n;
    for (size_t i = 0; i < n; i++)
        c->site[i].number = i;
    for (int t = 0; t < 2; t++)
        for (size_t s = 0; s < c->q[t].nshapes; s++)
            for (uint32_t i = 0; i < c->q[t].nnodes[s]; i++)
                if (c->q[t].shape[s][i].of[INFO_CALLS])
                    add(c, &c->site[ti_versions_call_of(c->v, t, s, i)].in[t],
                        &c->q[t].shape[s][i]);
}

/* ---------------------------------------------------------------- changes -- */

/* How much more the first trace has, as a share of all in the second; if that has none, in the
 * first. */
static double share_of(const struct info_changes *c, const struct row *r, int k)
{
    uint64_t all = c->all.in[1].of[k] ? c->all.in[1].of[k] : c->all.in[0].of[k];
    double more = r->in[0].of[k] >= r->in[1].of[k] ? (double)(r->in[0].of[k] - r->in[1].of[k])
                                                   : -(double)(r->in[1].of[k] - r->in[0].of[k]);

    return all ? more / (double)all : 0;
}

static bool counts(const struct info_changes *c, int k)
{
    return k != INFO_VOLUME || !c->no_volumes;
}

static void set_share(const struct info_changes *c, struct row *r)
{
    for (int k = 0; k < INFO_QUANTITIES; k++) {
        double share = counts(c, k) ? share_of(c, r, k) : 0;

        if (fabs(share) > fabs(r->share)) {
            r->share = share;
            r->most = k;
        }
    }
}

/* The mean trips of a pass of a loop. */
static double trips_of(const struct row *r, int trace)
{
    return r->in[trace].passes ? (double)r->in[trace].trips / (double)r->in[trace].passes : 0;
}

static bool other_trips(const struct row *r)
{
    double a = trips_of(r, 0), b = trips_of(r, 1);

    return a > b || a < b;
}

/* The largest change first.  Of equal ones, a loop with other trips, for that is why those in it
 * and around it differ; then the innermost. */
static int by_share(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    double more = fabs(y->share) - fabs(x->share);

    if (more > 0 || more < 0)
        return more > 0 ? 1 : -1;
    if (other_trips(x) != other_trips(y))
        return other_trips(x) ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Keep the rows that differ, in order.  Returns how many there are. */
static size_t sort_rows(const struct info_changes *c, struct row *row, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        bool differs = false;

        for (int k = 0; k < INFO_QUANTITIES; k++)
            differs = differs || (counts(c, k) && row[i].in[0].of[k] != row[i].in[1].of[k]);
        if (!differs)
            continue;
        row[kept] = row[i];
        set_share(c, &row[kept++]);
    }
    if (kept)
        qsort(row, kept, sizeof *row, by_share);
    return kept;
}

static void warn_of_ranks(const struct ti_folded_ranks *ranks)
{
    struct ti_folded_ranks told = *ranks;

    /* that ranks are missing or were cut off, the comparison of events has said */
    told.missing.n = told.incomplete.n = 0;
    info_folded_warn(&told);
}

ti_status info_changes_read(struct ti_source *const s[2], const struct info_style *style,
                            struct info_changes **out, struct ti_err *err)
{
    size_t cap = 0;
    struct info_changes *c = ti_grow(NULL, &cap, 1, sizeof *c);
    ti_status st = TI_OK;

    *out = c;
    *c = (struct info_changes){.s = {s[0], s[1]},
                               .v = ti_versions_new(2, style->line.symbolizer),
                               .symbolizer = style->line.symbolizer,
                               .no_volumes = style->line.no_volumes,
                               .all.number = TI_VERSIONS_NONE};
    for (int t = 0; t < 2 && !st; t++) {
        st = info_quantities_read(s[t], c->v, t, &c->q[t], err);
        warn_of_ranks(&c->q[t].ranks);
    }
    if (st)
        return st;
    ti_versions_match(c->v);
    add_phases(c);
    add_sites(c);
    if (c->overflow)
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' and '%s' cannot be compared: sums are more than 2^64 - 1",
                          ti_source_path(s[0]), ti_source_path(s[1]));
    c->nphases = sort_rows(c, c->phase, c->nphases);
    c->nsites = sort_rows(c, c->site, c->nsites);
    return TI_OK;
}

void info_changes_free(struct info_changes *c)
{
    if (!c)
        return;
    ti_versions_free(c->v);
    info_quantities_free(&c->q[0]);
    info_quantities_free(&c->q[1]);
    free(c->phase);
    free(c->site);
    free(c);
}

/* ------------------------------------------------------------------- text -- */

/* Write "+1,234", "-1,234" or "0". */
static const char *change_text(const struct row *r, int k, char *text, size_t bytes)
{
    uint64_t a = r->in[0].of[k], b = r->in[1].of[k];
    char count[32];

    snprintf(text, bytes, "%s%s",
             a > b   ? "+"
             : a < b ? "-"
                     : "",
             ti_format_count(a > b ? a - b : b - a, count, sizeof count));
    return text;
}

static void put_change(const struct info_changes *c, const struct row *r, struct ti_text_table *t)
{
    char text[48];

    ti_table_text(t, "%+.2f %%", 100 * r->share);
    ti_table_text(t, "%s", quantity_name[r->most]);
    for (int k = 0; k < INFO_QUANTITIES; k++)
        if (counts(c, k))
            ti_table_text(t, "%s", change_text(r, k, text, sizeof text));
}

/* The name of a loop or call site in a trace; NULL: the trace does not have it. */
static const char *name_in(const struct info_changes *c, const struct row *r, bool phase, int trace,
                           char *text, size_t bytes)
{
    const char *site;

    if (phase)
        return ti_versions_name(c->v, r->number, trace);
    site = ti_versions_text(c->v, r->number, trace);
    return site ? ti_site_text(c->symbolizer, site, text, bytes) : NULL;
}

/* Name a loop or call site, and say where a trace has it elsewhere, or not at all. */
static void put_name(const struct info_changes *c, const struct row *r, bool phase,
                     struct ti_text_table *t)
{
    char text[2][NAME_BYTES];
    const char *name[2], *is, *op = phase ? "" : ti_op_info(ti_versions_op(c->v, r->number))->text;

    for (int i = 0; i < 2; i++)
        name[i] = name_in(c, r, phase, i, text[i], sizeof text[i]);
    is = name[0] ? name[0] : name[1];
    op = phase ? "" : op;
    if (!name[0] || !name[1])
        ti_table_text(t, "%s%s%s (only in %s)", op, !phase && *is ? " at " : "", is,
                      ti_source_path(c->s[name[0] ? 0 : 1]));
    else if (strcmp(name[0], name[1]) != 0)
        ti_table_text(t, "%s%s%s (%s in %s)", op, !phase && *is ? " at " : "", is, name[1],
                      ti_source_path(c->s[1]));
    else
        ti_table_text(t, "%s%s%s", op, !phase && *is ? " at " : "", is);
}

/* Write the mean trips of a pass. */
static const char *trips_text(const struct row *r, int trace, char *text, size_t bytes)
{
    const struct info_sums *in = &r->in[trace];

    if (!in->passes || in->trips % in->passes == 0)
        return ti_format_count(in->passes ? in->trips / in->passes : 0, text, (int)bytes);
    snprintf(text, bytes, "%.1f", trips_of(r, trace));
    return text;
}

static void put_row(const struct info_changes *c, const struct row *r, bool phase,
                    struct ti_text_table *t)
{
    char before[48], now[48];

    put_change(c, r, t);
    if (phase && r->number == TI_VERSIONS_NONE) {
        ti_table_skip(t);
        ti_table_text(t, "outside of loops");
        return;
    }
    trips_text(r, 1, before, sizeof before);
    trips_text(r, 0, now, sizeof now);
    if (phase && strcmp(before, now) != 0)
        ti_table_text(t, "%s -> %s", before, now);
    else if (phase)
        ti_table_text(t, "%s", now);
    put_name(c, r, phase, t);
}

static void print_rows(const struct info_changes *c, const struct row *row, size_t n, bool phase,
                       const struct info_style *style)
{
    struct ti_table_column columns[INFO_QUANTITIES + 4] = {{"largest change", TI_CELLS_WORDS, 0},
                                                           {"of", TI_CELLS_TEXT, 0}};
    size_t most = style->top ? (size_t)style->top : n <= ROWS_SHOWN + 1 ? n : ROWS_SHOWN;
    size_t shown = style->all || n <= most ? n : most;
    struct ti_text_table *t;
    int k = 2;

    for (int i = 0; i < INFO_QUANTITIES; i++)
        if (counts(c, i))
            columns[k++] = (struct ti_table_column){quantity_name[i], TI_CELLS_WORDS, 0};
    if (phase)
        columns[k++] = (struct ti_table_column){"trips", TI_CELLS_WORDS, 0};
    columns[k++] = (struct ti_table_column){phase ? "loop" : "call site", TI_CELLS_TEXT, 30};
    t = ti_table_new(columns, k);
    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < shown; i++)
        put_row(c, &row[i], phase, t);
    if (shown < n)
        ti_table_line(t, "... and %zu further ones; --all shows them", n - shown);
    ti_table_print(t, stdout, style->width);
}

/* A row of the totals, divided by `ranks` of each trace. */
static void put_total(const struct info_changes *c, int k, const char *name, bool means,
                      struct ti_text_table *t)
{
    uint64_t value[2];
    char text[48];

    for (int i = 0; i < 2; i++) {
        int64_t ranks = means ? c->q[i].ranks.taken : 1;

        value[i] = ranks > 0 ? c->all.in[i].of[k] / (uint64_t)ranks : 0;
    }
    ti_table_text(t, "%s%s", name, means ? " of a rank" : "");
    ti_table_count(t, value[1]);
    ti_table_count(t, value[0]);
    ti_table_text(t, "%s%s",
                  value[0] > value[1]   ? "+"
                  : value[0] < value[1] ? "-"
                                        : "",
                  ti_format_count(value[0] > value[1] ? value[0] - value[1] : value[1] - value[0],
                                  text, sizeof text));
    if (!value[1])
        ti_table_text(t, "%s", "");
    else
        ti_table_text(t, "%+.2f %%", 100 * ((double)value[0] / (double)value[1] - 1));
}

static void print_totals(const struct info_changes *c, const struct info_style *style)
{
    const struct ti_table_column columns[] = {{"sums of all ranks", TI_CELLS_TEXT, 12},
                                              {ti_source_path(c->s[1]), TI_CELLS_COUNTS, 0},
                                              {ti_source_path(c->s[0]), TI_CELLS_COUNTS, 0},
                                              {"change", TI_CELLS_WORDS, 0},
                                              {"", TI_CELLS_WORDS, 0}};
    struct ti_text_table *t = ti_table_new(columns, 5);
    bool means = c->q[0].ranks.taken != c->q[1].ranks.taken;

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (int m = 0; m <= means; m++)
        for (int k = 0; k < INFO_QUANTITIES; k++)
            if (counts(c, k))
                put_total(c, k, quantity_name[k], m, t);
    ti_table_print(t, stdout, style->width);
}

void info_changes_print(const struct info_changes *c, const struct info_style *style)
{
    print_totals(c, style);
    if (!c->nphases && !c->nsites)
        return;
    putchar('\n');
    ti_print_wide(
        stdout, style->width,
        "+ is more in %s; %% is of all in %s; a loop counts with the loops in it; trips are "
        "the mean of a pass",
        ti_source_path(c->s[0]), ti_source_path(c->s[1]));
    if (c->nphases)
        print_rows(c, c->phase, c->nphases, true, style);
    if (c->nsites)
        print_rows(c, c->site, c->nsites, false, style);
}

/* ------------------------------------------------------------------- JSON -- */

static json_t *change_json(uint64_t a, uint64_t b)
{
    char text[32];
    uint64_t more = a > b ? a - b : b - a;

    if (more <= INT64_MAX)
        return json_integer(a > b ? (json_int_t)more : -(json_int_t)more);
    snprintf(text, sizeof text, "%s%llu", a > b ? "" : "-", (unsigned long long)more);
    return json_string(text);
}

static json_t *quantity_json(const struct info_changes *c, const struct row *r, int k)
{
    uint64_t a = r->in[0].of[k], b = r->in[1].of[k];

    return json_pack("{s:[o, o], s:o, s:f}", "values", ti_json_u64(a), ti_json_u64(b), "change",
                     change_json(a, b), "share", share_of(c, r, k));
}

static json_t *row_json(const struct info_changes *c, const struct row *r)
{
    json_t *out = json_object();

    for (int k = 0; k < INFO_QUANTITIES; k++)
        if (counts(c, k))
            json_object_set_new(out, quantity_name[k], quantity_json(c, r, k));
    return out;
}

/* The largest change. */
static void set_most(json_t *out, const struct row *r)
{
    json_object_set_new(out, "largest", json_string(quantity_name[r->most]));
    json_object_set_new(out, "share", json_real(r->share));
}

static json_t *phase_json(const struct info_changes *c, const struct row *r)
{
    json_t *out = row_json(c, r);
    bool outside = r->number == TI_VERSIONS_NONE;
    size_t around = outside ? r->number : ti_versions_around(c->v, r->number);

    set_most(out, r);
    for (int t = 0; t < 2 && !outside; t++) {
        const char *name = ti_versions_name(c->v, r->number, t);

        if (t == 0) {
            json_object_set_new(out, "loops", json_array());
            json_object_set_new(out, "trips", json_array());
            json_object_set_new(out, "passes", json_array());
        }
        json_array_append_new(json_object_get(out, "loops"),
                              name ? ti_json_text(name) : json_null());
        json_array_append_new(json_object_get(out, "trips"), ti_json_u64(r->in[t].trips));
        json_array_append_new(json_object_get(out, "passes"), ti_json_u64(r->in[t].passes));
    }
    json_object_set_new(out, "number", outside ? json_null() : json_integer((json_int_t)r->number));
    json_object_set_new(
        out, "in", around == TI_VERSIONS_NONE ? json_null() : json_integer((json_int_t)around));
    return out;
}

static json_t *site_json(const struct info_changes *c, const struct row *r)
{
    json_t *out = row_json(c, r), *sites = json_array();

    for (int t = 0; t < 2; t++) {
        const char *text = ti_versions_text(c->v, r->number, t);
        json_t *site = text ? json_pack("{s:o}", "site", ti_json_text(text)) : json_null();

        if (text)
            ti_site_line_json(*text ? ti_symbolizer_find(c->symbolizer, text) : NULL, site);
        json_array_append_new(sites, site);
    }
    set_most(out, r);
    json_object_set_new(out, "operation",
                        json_string(ti_op_info(ti_versions_op(c->v, r->number))->text));
    json_object_set_new(out, "sites", sites);
    return out;
}

json_t *info_changes_json(const struct info_changes *c)
{
    json_t *phases = json_array(), *sites = json_array();

    for (size_t i = 0; c && i < c->nphases; i++)
        json_array_append_new(phases, phase_json(c, &c->phase[i]));
    for (size_t i = 0; c && i < c->nsites; i++)
        json_array_append_new(sites, site_json(c, &c->site[i]));
    return json_pack("{s:o, s:o, s:o}", "all", c ? row_json(c, &c->all) : json_object(), "loops",
                     phases, "sites", sites);
}
