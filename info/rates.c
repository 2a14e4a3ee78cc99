/* ti-info --rates: a rate file from a trace with durations. */
#include "config/rates.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass.h"
#include "bundle/doubts.h"
#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "common/names.h"
#include "common/sums.h"
#include "common/table.h"
#include "info/info.h"

#define SITES_SHOWN 10
#define RATE_MAX    1e18 /* limit of rate files */
#define TEXT_BYTES  1024

/* A set of bursts with one rate: all bursts of a class, or of a call site. */
struct group {
    uint64_t bursts, volume, ns;
    double mean, squares; /* of rates, weighted by time (West, CACM 22(9), 1979) */
};

struct rates {
    struct group all, volume_class[TI_CLASSES];

    struct ti_names names; /* texts of sites; their numbers are indices in `site` */
    struct group *site;
    size_t sites_cap;

    /* of the current rank */
    int column;       /* index of the column of durations; -1: none */
    int64_t *site_of; /* by string number: 1 + index in `site`; 0: not known */
    size_t nsite_of, site_of_cap;

    struct group rank;  /* of the current rank, */
    double least, most; /* and of the ranks before it; 0: none */

    int64_t without; /* ranks without durations */
    struct ti_symbolizer *symbolizer;
    char *unit, *counter;
    json_t *hosts, *cpus; /* names, as keys */
    bool estimate;
    struct ti_caveats quality; /* of volumes and durations */
    bool failed;               /* out of memory */
    bool overflow;             /* a sum is above 2^64 - 1 */
};

/* Add a burst that occurs `times` times. */
static void add_burst(struct rates *x, struct group *g, uint64_t volume, uint64_t ns,
                      uint64_t times)
{
    double rate, off, time = (double)ns * (double)times;

    x->overflow |= !ti_sum_add(&g->bursts, 1, times) || !ti_sum_add(&g->volume, volume, times) ||
                   !ti_sum_add(&g->ns, ns, times);
    if (!ns)
        return;
    rate = (double)volume * 1e9 / (double)ns;
    off = rate - g->mean;
    g->mean += off * time / (double)g->ns;
    g->squares += time * off * (rate - g->mean);
}

static double rate_of(const struct group *g)
{
    return g->ns ? (double)g->volume * 1e9 / (double)g->ns : 0;
}

static double deviation_of(const struct group *g)
{
    return g->ns ? sqrt(g->squares / (double)g->ns) : 0;
}

/* Whether a rate file can express the rate. */
static bool has_rate(const struct group *g)
{
    double rate = rate_of(g);

    return rate > 0 && rate <= RATE_MAX;
}

/* ------------------------------------------------------------------ sites -- */

/* The bursts before a call site, by its string number; NULL if there is none (0). */
static struct group *site_of(struct rates *x, const struct ti_reader *r, uint32_t number)
{
    const char *text = number ? ti_reader_string(r, TI_STRING_SITE, number) : NULL;

    if (!text || !*text)
        return NULL;
    x->site_of = ti_grow(x->site_of, &x->site_of_cap, (size_t)number + 1, sizeof *x->site_of);
    x->nsite_of = number >= x->nsite_of ? (size_t)number + 1 : x->nsite_of;
    if (!x->site_of[number]) {
        x->site_of[number] = 1 + (int64_t)ti_names_add(&x->names, text);
        x->site = ti_grow(x->site, &x->sites_cap, x->names.map.n, sizeof *x->site);
    }
    return &x->site[x->site_of[number] - 1];
}

/* ------------------------------------------------------------------- pass -- */

static void add_word(struct rates *x, char **word, const char *value)
{
    if (*word || !value)
        return;
    *word = strdup(value);
    x->failed |= !*word;
}

static void note(json_t *set, const char *name)
{
    json_t *text = name && *name ? info_json_text(name) : NULL;

    if (text)
        json_object_set_new(set, json_string_value(text), json_true());
    json_decref(text);
}

/* Takes the rate of the rank that was read. */
static void end_rank(struct rates *x)
{
    double rate = rate_of(&x->rank);

    if (x->rank.ns) {
        x->least = x->most > 0 && x->least < rate ? x->least : rate;
        x->most = x->most > rate ? x->most : rate;
    }
    x->rank = (struct group){0};
}

static ti_status add_rank(void *arg, const struct ti_reader *r, struct ti_err *err)
{
    struct rates *x = arg;

    end_rank(x);
    x->column = ti_reader_extra(r, TI_EXTRA_BURST);
    if (x->nsite_of)
        memset(x->site_of, 0, x->nsite_of * sizeof *x->site_of);
    if (x->column < 0) {
        x->without++;
        return TI_OK;
    }
    ti_symbolizer_add_rank(x->symbolizer, r);
    add_word(x, &x->unit, ti_reader_info(r, "unit"));
    add_word(x, &x->counter, ti_reader_info(r, "counter"));
    note(x->hosts, ti_reader_info(r, "host"));
    note(x->cpus, ti_reader_info(r, "cpu"));
    x->estimate |= ti_info_estimate(r);
    ti_caveats_add_quality(&x->quality, r, true);
    if (!x->failed)
        return TI_OK;
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot sum up rates");
}

/* Bursts before calls from a call site. */
struct of_site {
    struct rates *x;
    struct group *site; /* NULL: it is not known */
};

static bool add_one(void *arg, const struct ti_values *v)
{
    const struct of_site *of = arg;
    struct rates *x = of->x;
    uint64_t volume = v->first[0], ns = v->first[1 + x->column];

    add_burst(x, &x->all, volume, ns, v->times);
    add_burst(x, &x->rank, volume, ns, v->times);
    add_burst(x, &x->volume_class[ti_class(volume)], volume, ns, v->times);
    if (of->site)
        add_burst(x, of->site, volume, ns, v->times);
    return true;
}

static void add_bursts(void *arg, const struct ti_reader *r, uint32_t site,
                       const struct ti_values *v, bool has_extras)
{
    struct rates *x = arg;
    struct of_site of = {.x = x};

    if (x->column < 0 || !has_extras)
        return;
    of.site = site_of(x, r, site);
    ti_values_each(v, add_one, &of);
}

/* ------------------------------------------------------------------- file -- */

static struct ti_rate as_rate(const struct group *g)
{
    return (struct ti_rate){.rate = rate_of(g),
                            .deviation = deviation_of(g),
                            .bursts = g->bursts,
                            .seconds = (double)g->ns / 1e9};
}

static int by_seconds(const void *a, const void *b)
{
    const struct ti_rate *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    return strcmp(x->site, y->site);
}

/* The keys of a set as "a, b, ...". */
static char *names_of(const json_t *set, char *text, size_t bytes)
{
    size_t at = 0;
    const char *name;
    json_t *value;

    text[0] = '\0';
    json_object_foreach((json_t *)(uintptr_t)set, name, value)
    {
        size_t need = strlen(name) + 2;

        if (at + need + 4 >= bytes) {
            snprintf(text + at, bytes - at, "...");
            break;
        }
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", at ? ", " : "", name);
    }
    return text;
}

/* Fill in the content of a rate file.  Its texts remain owned by `x`. */
static bool make(const struct rates *x, int64_t ranks, struct ti_rates *out)
{
    *out = (struct ti_rates){.unit = x->unit,
                             .counter = x->counter,
                             .hosts = (int64_t)json_object_size(x->hosts),
                             .ranks = ranks - x->without,
                             .reference = has_rate(&x->all) ? rate_of(&x->all) : 0};
    out->volume_class = calloc(TI_CLASSES, sizeof *out->volume_class);
    out->site = calloc(x->names.map.n + 1, sizeof *out->site);
    if (!out->volume_class || !out->site)
        return false;
    for (int i = 0; i < TI_CLASSES; i++)
        if (has_rate(&x->volume_class[i])) {
            out->volume_class[out->nclasses] = as_rate(&x->volume_class[i]);
            out->volume_class[out->nclasses++].from = ti_class_from(i);
        }
    for (size_t i = 0; i < x->names.map.n; i++)
        if (has_rate(&x->site[i])) {
            out->site[out->nsites] = as_rate(&x->site[i]);
            out->site[out->nsites++].site = x->names.text[i];
        }
    if (out->nsites)
        qsort(out->site, (size_t)out->nsites, sizeof *out->site, by_seconds);
    if (out->nsites > TI_RATES_SITES_MAX) {
        ti_warn("of %d call sites, the %d that took most time are written", out->nsites,
                TI_RATES_SITES_MAX);
        out->nsites = TI_RATES_SITES_MAX;
    }
    return true;
}

static void doubts_of(const struct rates *x, const struct ti_source *s, struct ti_doubts *out)
{
    ti_doubts_of_durations(ti_source_manifest(s), ti_doubts_slowed(x->counter), out);
    ti_doubts_of_rates(x->least, x->most, x->unit ? x->unit : "volume", out);
}

static ti_status write_file(const struct ti_source *s, const struct rates *x,
                            const struct ti_rates *file, const char *path, struct ti_err *err)
{
    char title[4 * TEXT_BYTES], hosts[TEXT_BYTES];
    struct ti_doubts doubts;
    size_t n;

    snprintf(title, sizeof title,
             "Rates of the bursts of '%s', %s a second, see tiara-rates(5).\n"
             "They are those of the machine that ran it, and of no other:\n"
             "%" PRId64 " rank%s on %zu host%s (%s), counter %s.\n"
             "A burst before a call at a [site] has the rate of that site, any other burst\n"
             "the rate of its class: the last [class] whose volume it reaches.",
             ti_source_path(s), file->unit ? file->unit : "volume", file->ranks,
             file->ranks == 1 ? "" : "s", json_object_size(x->hosts),
             json_object_size(x->hosts) == 1 ? "" : "s", names_of(x->hosts, hosts, sizeof hosts),
             file->counter ? file->counter : "unknown");
    doubts_of(x, s, &doubts);
    for (int i = 0; i < doubts.n; i++) {
        n = strlen(title);
        snprintf(title + n, sizeof title - n, "\nDoubtful: %s.", doubts.text[i]);
    }
    return ti_rates_write(path, file, title, err);
}

/* ------------------------------------------------------------------ print -- */

/* A table of rates; `what` is the title of the first column. */
static struct ti_text_table *new_table(const char *what, enum ti_cells cells)
{
    const struct ti_table_column columns[] = {{what, cells, 20},
                                              {"rate", TI_CELLS_COUNTS, 0},
                                              {"deviation", TI_CELLS_COUNTS, 0},
                                              {"bursts", TI_CELLS_COUNTS, 0},
                                              {"seconds", TI_CELLS_WORDS, 0},
                                              {"time", TI_CELLS_WORDS, 0},
                                              {"", TI_CELLS_TEXT, 16}};
    struct ti_text_table *t = ti_table_new(columns, 7);

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    return t;
}

/* `source`: the source line of a call site. */
static void add_row(struct ti_text_table *t, const char *what, const struct ti_rate *r, double all,
                    const char *source)
{
    ti_table_text(t, "%s", what);
    ti_table_count(t, (uint64_t)(r->rate + 0.5));
    ti_table_count(t, (uint64_t)(r->deviation + 0.5));
    ti_table_count(t, r->bursts);
    ti_table_text(t, "%.6f", r->seconds);
    ti_table_text(t, "%.1f%%", all > 0 ? 100 * r->seconds / all : 0);
    ti_table_text(t, "%s", source);
}

static void print_sites(const struct rates *x, const struct ti_rates *file, double all, int width)
{
    struct ti_text_table *t = new_table("site", TI_CELLS_TEXT);

    for (int i = 0; i < file->nsites && i < SITES_SHOWN; i++) {
        const char *site = file->site[i].site;
        char shown[TEXT_BYTES], source[TEXT_BYTES];

        snprintf(shown, sizeof shown, "%.*s", (int)strcspn(site, " "), site); /* no build-id */
        ti_site_line_text(ti_symbolizer_find(x->symbolizer, site), source, sizeof source);
        add_row(t, shown, &file->site[i], all, source);
    }
    if (file->nsites > SITES_SHOWN)
        ti_table_line(t, "... and %d further call sites", file->nsites - SITES_SHOWN);
    ti_table_print(t, stdout, width);
}

static void print_text(const struct rates *x, const struct ti_rates *file, int width)
{
    struct ti_rate all = as_rate(&x->all);
    struct ti_text_table *t = new_table("from", TI_CELLS_WORDS);
    char text[32];

    ti_print(stdout, "%s a second\n", file->unit ? file->unit : "");
    add_row(t, "all", &all, all.seconds, "");
    for (int i = 0; i < file->nclasses; i++)
        add_row(t, ti_format_count(file->volume_class[i].from, text, sizeof text),
                &file->volume_class[i], all.seconds, "");
    ti_table_print(t, stdout, width);
    if (file->nsites)
        print_sites(x, file, all.seconds, width);
}

static json_t *rate_json(const struct rates *x, const struct ti_rate *r)
{
    json_t *out = json_object();

    if (r->site) {
        json_object_set_new(out, "site", info_json_text(r->site));
        ti_site_line_json(ti_symbolizer_find(x->symbolizer, r->site), out);
    } else {
        json_object_set_new(out, "from", ti_json_u64(r->from));
    }
    json_object_set_new(out, "rate", json_real(r->rate));
    json_object_set_new(out, "deviation", json_real(r->deviation));
    json_object_set_new(out, "bursts", ti_json_u64(r->bursts));
    json_object_set_new(out, "seconds", json_real(r->seconds));
    return out;
}

static json_t *rates_json(const struct rates *x, const struct ti_rate *r, int n)
{
    json_t *out = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(out, rate_json(x, &r[i]));
    return out;
}

static json_t *keys_json(const json_t *set)
{
    json_t *out = json_array(), *value;
    const char *name;

    json_object_foreach((json_t *)(uintptr_t)set, name, value)
        json_array_append_new(out, info_json_text(name));
    return out;
}

static void print_json(const struct ti_source *s, const struct ti_pass *p, const struct rates *x,
                       const struct ti_rates *file)
{
    json_t *out = json_object();

    json_object_set_new(out, "path", info_json_text(ti_source_path(s)));
    info_pass_json(p, out);
    json_object_set_new(out, "volume_unit", info_json_text(file->unit));
    json_object_set_new(out, "counter", info_json_text(file->counter));
    json_object_set_new(out, "hosts", keys_json(x->hosts));
    json_object_set_new(out, "cpus", keys_json(x->cpus));
    json_object_set_new(out, "without_durations", json_integer(x->without));
    json_object_set_new(out, "bursts", ti_json_u64(x->all.bursts));
    json_object_set_new(out, "volume", ti_json_u64(x->all.volume));
    json_object_set_new(out, "seconds", json_real((double)x->all.ns / 1e9));
    json_object_set_new(out, "rate", json_real(rate_of(&x->all)));
    json_object_set_new(out, "deviation", json_real(deviation_of(&x->all)));
    json_object_set_new(out, "classes", rates_json(x, file->volume_class, file->nclasses));
    json_object_set_new(out, "sites", rates_json(x, file->site, file->nsites));
    info_print_json(out);
    json_decref(out);
}

/* Warn of conditions under which the rates are not those of the machine. */
static void warn(const struct rates *x, const struct ti_source *s)
{
    struct ti_doubts doubts;

    if (x->without)
        ti_warn("%" PRId64 " rank%s no durations of bursts", x->without,
                x->without == 1 ? " has" : "s have");
    if (x->estimate)
        ti_warn("volumes are an estimate, so rates are, too");
    info_warn_of_caveats(&x->quality);
    doubts_of(x, s, &doubts);
    for (int i = 0; i < doubts.n; i++)
        ti_warn("%s", doubts.text[i]);
    if (json_object_size(x->cpus) > 1)
        ti_warn("hosts have %zu kinds of processor: the rates are means of these",
                json_object_size(x->cpus));
}

static ti_status conclude(struct ti_source *s, const struct ti_pass *p, const struct rates *x,
                          const char *path, const struct info_style *style, struct ti_err *err)
{
    struct ti_rates file = {0};
    char cpus[TEXT_BYTES];
    ti_status st;

    if (!x->unit && x->without == p->ranks) {
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' has no durations of bursts", ti_source_path(s));
        ti_err_hint(err, "ti-acquire --times records them");
        return st;
    }
    if (!make(x, p->ranks, &file))
        st = ti_err_errno(err, TI_ERR_IO, "cannot sum up rates");
    else if (!file.nclasses)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' has no burst with a volume and a duration",
                        ti_source_path(s));
    else {
        file.cpu = json_object_size(x->cpus) ? names_of(x->cpus, cpus, sizeof cpus) : NULL;
        warn(x, s);
        st = write_file(s, x, &file, path, err);
        if (st == TI_OK && style->json)
            print_json(s, p, x, &file);
        else if (st == TI_OK && !style->quiet && strcmp(path, "-") != 0)
            print_text(x, &file, style->width);
    }
    free(file.volume_class);
    free(file.site);
    return st;
}

static void free_rates(struct rates *x)
{
    ti_names_free(&x->names);
    free(x->site);
    free(x->site_of);
    free(x->unit);
    free(x->counter);
    json_decref(x->hosts);
    json_decref(x->cpus);
}

ti_status info_rates(struct ti_source *s, int64_t rank, const char *path,
                     const struct info_style *style, struct ti_err *err)
{
    struct rates x = {
        .symbolizer = style->line.symbolizer, .hosts = json_object(), .cpus = json_object()};
    const struct ti_pass_visitor visitor = {
        .arg = &x, .extras = true, .rank = add_rank, .bursts = add_bursts};
    struct ti_pass pass;
    ti_status st = ti_pass(s, rank, &visitor, &pass, err), worse;

    end_rank(&x);
    if (st == TI_OK && x.overflow)
        st = ti_pass_too_large(s, "volumes or durations", err);
    if (st == TI_OK) {
        info_pass_warn(&pass);
        worse = x.without ? TI_ERR_PARTIAL : TI_OK;
        worse = pass.st > worse ? pass.st : worse;
        st = conclude(s, &pass, &x, path, style, err);
        st = st == TI_OK ? worse : st;
    }
    ti_pass_free(&pass);
    free_rates(&x);
    return st;
}
