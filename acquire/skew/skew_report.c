/* Computes figures from samples; prints tables and JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/skew/skew.h"
#include "common/json.h"
#include "common/table.h"

/* --- figures ------------------------------------------------------------- */

static bool is_compiled(const struct ti_skew *s)
{
    return s->facts.choice.of->compiled;
}

/* The volume that a run executed outside MPI; false if unknown.  A counter of compiled code counts
 * neither MPI nor the library, so its total is that volume. */
static bool outside(const struct ti_skew *s, const struct ti_sample *sample, double *out)
{
    if (s->facts.sum)
        return false; /* `outside` is known for one thread only */
    if (is_compiled(s) && sample->whole_known) {
        *out = (double)sample->whole;
        return true;
    }
    *out = (double)sample->outside;
    return sample->outside_known;
}

static double percent(double is, double of)
{
    return of > 0 ? 100 * (is - of) / of : 0;
}

void ti_skew_figures(const struct ti_skew *s, const struct ti_skew_np *np,
                     struct ti_skew_figures *f)
{
    enum { WHOLE, OWN, BARE, CALL, NS, COUNT, OVERHEAD, TRACER, BYTES, EVENTS, LISTS };
    int runs = (int)s->o->runs, n[LISTS] = {0};
    double *v[LISTS], *seconds, *all = calloc((size_t)runs * LISTS, sizeof *all);
    double cores = (double)(np->np < s->facts.machine.cores ? np->np : s->facts.machine.cores);

    memset(f, 0, sizeof *f);
    if (!all)
        return;
    for (int i = 0; i < LISTS; i++)
        v[i] = all + (size_t)i * (size_t)runs;
    seconds = v[WHOLE];
    for (int kind = 0; kind < TI_SKEW_KINDS; kind++) {
        for (int i = 0; np->sample[kind] && i < runs; i++)
            seconds[i] = np->sample[kind][i].seconds;
        f->seconds[kind] = ti_spread_of(seconds, np->sample[kind] ? runs : 0);
    }
    for (int i = 0; i < runs; i++)
        f->events_differ = f->events_differ || np->sample[TI_SKEW_TRACED][i].events !=
                                                   np->sample[TI_SKEW_TRACED][0].events;
    for (int i = 0; i < runs; i++) {
        const struct ti_sample *t = &np->sample[TI_SKEW_TRACED][i];
        const struct ti_sample *b = &np->sample[TI_SKEW_BARE][i];
        const struct ti_sample *native = np->sample[TI_SKEW_NATIVE];
        double calls = (double)t->events, is = (double)t->volume, of;

        if (t->whole_known && b->whole_known) {
            v[WHOLE][n[WHOLE]++] = percent((double)t->whole, (double)b->whole);
            if (!is_compiled(s) && !s->facts.choice.estimate && calls > 0)
                v[COUNT][n[COUNT]++] = ((double)t->whole - (double)b->whole) / calls;
        }
        if (outside(s, t, &of)) {
            v[OWN][n[OWN]++] = percent(is, of);
            if (calls > 0)
                v[CALL][n[CALL]++] = (is - of) / calls;
        }
        if (outside(s, b, &of) && !f->events_differ)
            v[BARE][n[BARE]++] = percent(is, of);
        if (calls > 0)
            v[NS][n[NS]++] = 1e9 * (t->seconds - b->seconds) * cores / calls;
        v[OVERHEAD][n[OVERHEAD]++] = percent(t->seconds, native ? native[i].seconds : b->seconds);
        if (native)
            v[TRACER][n[TRACER]++] = percent(t->seconds, b->seconds);
        v[BYTES][n[BYTES]++] = (double)t->bytes;
        v[EVENTS][n[EVENTS]++] = calls;
        f->worst = 100 * t->worst > f->worst ? 100 * t->worst : f->worst;
        f->whole_bare += (double)b->whole / runs;
    }
    f->whole = ti_spread_of(v[WHOLE], n[WHOLE]);
    f->own = ti_spread_of(v[OWN], n[OWN]);
    f->bare = ti_spread_of(v[BARE], n[BARE]);
    f->call = ti_spread_of(v[CALL], n[CALL]);
    f->event_ns = ti_spread_of(v[NS], n[NS]);
    f->event_count = ti_spread_of(v[COUNT], n[COUNT]);
    f->overhead = ti_spread_of(v[OVERHEAD], n[OVERHEAD]);
    f->tracer = ti_spread_of(v[TRACER], n[TRACER]);
    f->bytes = ti_spread_of(v[BYTES], n[BYTES]);
    f->events = ti_spread_of(v[EVENTS], n[EVENTS]);
    free(all);
}

/* --- tables -------------------------------------------------------------- */

#define COLUMNS 9 /* the maximum */
#define CELL    64

/* Begin a table with these titles, which end with NULL. */
static struct ti_text_table *begin(const char *const *titles)
{
    struct ti_table_column column[COLUMNS];
    struct ti_text_table *t;
    int n = 0;

    for (; titles[n]; n++)
        column[n] = (struct ti_table_column){titles[n], TI_CELLS_WORDS, 0};
    t = ti_table_new(column, n);
    ti_table_titles(t);
    return t;
}

static void put(struct ti_text_table *t, const struct ti_spread *s, bool is_signed)
{
    char text[CELL];

    ti_spread_text(s, is_signed, text, sizeof text);
    ti_table_text(t, "%s", text);
}

/* The first column is indented. */
static void put_n(struct ti_text_table *t, const char *indent, int64_t n)
{
    char text[CELL];

    ti_table_text(t, "%s%s", indent, ti_format_count((uint64_t)n, text, sizeof text));
}

/* A count; usually it is the same in all runs. */
static void put_count(struct ti_text_table *t, const struct ti_spread *s)
{
    char least[32], most[32];

    ti_format_count((uint64_t)s->min, least, sizeof least);
    ti_format_count((uint64_t)s->max, most, sizeof most);
    if (s->min < s->max)
        ti_table_text(t, "%s to %s", least, most);
    else
        ti_table_text(t, "%s", least);
}

static const char *unit(const struct ti_skew *s)
{
    const struct ti_counter_choice *c = &s->facts.choice;

    return c->exact || c->estimate ? c->of->unit : "units";
}

static void print_skew(const struct ti_skew *s)
{
    struct ti_text_table *t;
    bool known = false, differ = false;

    printf("\nskew, %% (%s)\n",
           s->o->runs == 1 ? "one run: no spread can be told" : "least to most of the runs");
    t = begin((const char *const[]){"  np", "counted, bare", "(a) whole run", "(b) bursts",
                                    "of the bare run", "worst rank", "(c) a call", NULL});
    for (int i = 0; i < s->nnp; i++) {
        struct ti_skew_figures f;

        ti_skew_figures(s, &s->np[i], &f);
        put_n(t, "  ", s->np[i].np);
        put_n(t, "", (int64_t)f.whole_bare);
        put(t, &f.whole, true);
        put(t, &f.own, true);
        put(t, &f.bare, true);
        if (f.own.n && !is_compiled(s))
            put(t, &(struct ti_spread){.n = 1, .median = f.worst}, false);
        else
            ti_table_text(t, "-");
        put(t, &f.call, true);
        known = known || f.own.n;
        differ = differ || f.events_differ;
    }
    ti_table_print(t, stdout, 0);
    printf(
        "  (a) all ranks, from MPI_Init to MPI_Finalize: MPI's polling and the tracer count too\n"
        "  (b) recorded bursts against what was executed outside MPI; (c) the same, in %s\n",
        unit(s));
    if (s->facts.sum)
        printf("  (b) is not known: what was executed outside MPI is of one thread\n");
    else if (!known)
        printf("  (b) is not known: %s cannot tell what is executed outside MPI%s\n",
               s->facts.choice.of->name,
               strcmp(unit(s), "instructions") == 0 ? "; --against valgrind compares bursts" : "");
    if (is_compiled(s))
        printf("  code that was not compiled for it is not counted, MPI and the tracer among it\n");
    if (differ)
        printf("  the number of events varies from run to run: bursts are not compared with the "
               "bare run\n");
}

static void print_cost(const struct ti_skew *s)
{
    bool native = s->np[0].sample[TI_SKEW_NATIVE] != NULL;
    struct ti_text_table *t;

    printf("\ntime, from MPI_Init to MPI_Finalize, seconds\n");
    t = begin((const char *const[]){"  np", "native", "bare", "traced", "overhead, %",
                                    "without the counter's, %", NULL});
    for (int i = 0; i < s->nnp; i++) {
        struct ti_skew_figures f;

        ti_skew_figures(s, &s->np[i], &f);
        put_n(t, "  ", s->np[i].np);
        for (int kind = 0; kind < TI_SKEW_KINDS; kind++)
            put(t, &f.seconds[kind], false);
        put(t, &f.overhead, true);
        put(t, &f.tracer, true);
    }
    ti_table_print(t, stdout, 0);
    if (!native)
        printf("  overhead is of the bare run, which differs from a native one by two readings of "
               "the counter%s\n",
               is_compiled(s)
                   ? "\n  and by the counting that is compiled in; --plain leaves that out"
                   : "");
    printf("\ntraces\n");
    t = begin((const char *const[]){"  np", "events", "bytes", "actions", "bytes an action",
                                    "an event, ns", "an event, instructions", NULL});
    for (int i = 0; i < s->nnp; i++) {
        struct ti_skew_figures f;

        ti_skew_figures(s, &s->np[i], &f);
        put_n(t, "  ", s->np[i].np);
        put_count(t, &f.events);
        put_count(t, &f.bytes);
        put_n(t, "", (int64_t)(2 * f.events.median));
        ti_table_text(t, "%.3f", f.bytes.median / 2 / (f.events.median + !f.events.median));
        put(t, &f.event_ns, true);
        put(t, &f.event_count, true);
    }
    ti_table_print(t, stdout, 0);
}

static const double quartile[5] = {0, 0.25, 0.5, 0.75, 1};

/* Add the rows of one comparison.  `first` has the cells of the columns in front of the lengths,
 * which only the first row fills; NULL: there are none. */
static void add_lengths(struct ti_text_table *t, const struct ti_skew_bursts *b,
                        char (*first)[CELL])
{
    static const char *const text[TI_SKEW_CLASSES] = {
        "10 to 99", "100", "1,000", "10,000", "100,000", "1,000,000", "10,000,000"};
    bool any = false;

    for (int length = 0; length < TI_SKEW_CLASSES; length++) {
        const struct ti_deviations *d = &b->length[length];

        if (!d->n)
            continue;
        for (int c = 0; first && c < 2; c++)
            ti_table_text(t, "%s", any ? "" : first[c]);
        any = true;
        ti_table_text(t, "%s%s%s", first ? "" : "  ", text[length], length ? " and more" : "");
        put_n(t, "", (int64_t)d->n);
        for (int q = 0; q < 5; q++) {
            double v = 100 * ti_deviations_quantile(d, quartile[q]);

            put(t, &(struct ti_spread){.n = 1, .median = v}, true);
        }
    }
}

static void print_left_out(const struct ti_skew_bursts *b, const char *what)
{
    char n[32];

    if (b->shorter)
        printf("  %s bursts shorter than 10 are left out%s\n",
               ti_format_count(b->shorter, n, sizeof n), what);
    if (b->differ)
        printf("  %" PRId64 " of %" PRId64
               " comparisons of ranks are left out%s: the calls are not "
               "the same (rank %" PRId64 " from event %" PRIu64 " on)\n",
               b->differ, b->differ + b->ranks, what, b->first_rank, b->first_event);
}

static void print_fold(const struct ti_skew *s, const struct ti_skew_np *np)
{
    struct ti_text_table *t;
    char n[32], what[64];

    printf("\nfolding of %" PRId64 " ranks: each burst's volume, %% off that at %s%" PRId64
           " a core\n",
           np->np, np->fold[0].factor > 1 ? "the least folding possible, " : "",
           np->fold[0].factor);
    t = begin((const char *const[]){"  a core", "slowdown", "burst length", "bursts", "minimum",
                                    "quartile", "median", "quartile", "maximum", NULL});
    for (int i = 0; i < np->nfold; i++) {
        char first[2][CELL], factor[32];

        snprintf(first[0], CELL, "  %s",
                 ti_format_count((uint64_t)np->fold[i].factor, factor, sizeof factor));
        ti_spread_text(&np->fold[i].slowdown, false, first[1], CELL);
        if (np->fold[i].bursts->n) {
            add_lengths(t, np->fold[i].bursts, first);
        } else {
            ti_table_text(t, "%s", first[0]);
            ti_table_text(t, "%s", first[1]);
            ti_table_text(t, "-");
            for (int c = 3; c < COLUMNS; c++)
                ti_table_skip(t);
        }
    }
    ti_table_print(t, stdout, 0);
    for (int i = 0; i < np->nfold; i++) {
        snprintf(what, sizeof what, " at %s a core",
                 ti_format_count((uint64_t)np->fold[i].factor, n, sizeof n));
        print_left_out(np->fold[i].bursts, what);
    }
    if (s->o->runs == 1)
        printf("  with more --runs, runs of the first folding are compared with each other\n");
}

static void print_against(const struct ti_skew *s, const struct ti_skew_np *np)
{
    const struct ti_skew_bursts *b = np->against;
    double is = (double)b->volume[1], of = (double)b->volume[0];
    char own[32], other[32];
    struct ti_text_table *t;

    printf("\nagainst %s at np %" PRId64 ": each burst's volume, %% off\n", s->other.of->name,
           np->np);
    if (!b->ranks) {
        print_left_out(b, "");
        return;
    }
    t = begin((const char *const[]){"  burst length", "bursts", "minimum", "quartile", "median",
                                    "quartile", "maximum", NULL});
    add_lengths(t, b, NULL);
    ti_table_print(t, stdout, 0);
    print_left_out(b, "");
    printf("  in all %s by %s, %s by %s: %+.4f %%\n",
           ti_format_count(b->volume[1], own, sizeof own), s->facts.choice.of->name,
           ti_format_count(b->volume[0], other, sizeof other), s->other.of->name, percent(is, of));
    if (is_compiled(s) && s->plain.path && of >= is)
        printf("  not compiled for it, in libraries mostly: %s instructions, %.4f %%\n",
               ti_format_count(b->volume[0] - b->volume[1], own, sizeof own), -percent(is, of));
    else if (is_compiled(s) && np->other.blocks_known && np->other.outside_known)
        printf("  executed in libraries that are not compiled for it: %s; to count: %s\n",
               ti_format_count(np->other.outside - np->other.blocks - np->other.blocks_own, own,
                               sizeof own),
               ti_format_count(np->other.blocks_own, other, sizeof other));
    else if (is_compiled(s))
        printf("  the rest is code of libraries, and the counting itself: --plain leaves that out, "
               "ti-mpicc --tiara-audit tells it\n");
}

void ti_skew_print(const struct ti_skew *s)
{
    char *program = ti_args_shell(&s->o->run.program);

    printf("%s: counter %s (%s, %s), %" PRId64 " run%s of each kind, %d core%s of %s\n",
           program ? program : s->facts.program.given, s->facts.choice.of->name,
           s->facts.choice.event,
           s->facts.choice.exact      ? "exact"
           : s->facts.choice.estimate ? "an estimate"
                                      : "not exact",
           s->o->runs, s->o->runs == 1 ? "" : "s", s->facts.machine.cores,
           s->facts.machine.cores == 1 ? "" : "s", s->facts.machine.host);
    free(program);
    print_skew(s);
    print_cost(s);
    for (int i = 0; i < s->nnp; i++)
        if (s->np[i].nfold)
            print_fold(s, &s->np[i]);
    for (int i = 0; i < s->nnp; i++)
        if (s->np[i].against)
            print_against(s, &s->np[i]);
}

/* --- JSON ---------------------------------------------------------------- */

static json_t *json_bursts(const struct ti_skew_bursts *b)
{
    json_t *j = json_pack("{s:I, s:I, s:I, s:I}", "bursts", (json_int_t)b->n, "shorter",
                          (json_int_t)b->shorter, "ranks_compared", (json_int_t)b->ranks,
                          "ranks_differ", (json_int_t)b->differ);
    json_t *list = json_array();
    double from = 10;

    for (int length = 0; length < TI_SKEW_CLASSES; length++, from *= 10) {
        static const char *const name[5] = {"minimum", "quartile_1", "median", "quartile_3",
                                            "maximum"};
        const struct ti_deviations *d = &b->length[length];
        json_t *item =
            json_pack("{s:I, s:I}", "from", (json_int_t)from, "bursts", (json_int_t)d->n);

        for (int q = 0; q < 5 && d->n; q++)
            json_object_set_new(item, name[q],
                                json_real(100 * ti_deviations_quantile(d, quartile[q])));
        if (d->n)
            json_array_append_new(list, item);
        else
            json_decref(item);
    }
    json_object_set_new(j, "volume", json_integer((json_int_t)b->volume[1]));
    json_object_set_new(j, "of", json_integer((json_int_t)b->volume[0]));
    json_object_set_new(j, "deviation_pct", list);
    return j;
}

static json_t *json_samples(const struct ti_skew_np *np, int64_t runs)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < runs; i++)
        for (int kind = 0; kind < TI_SKEW_KINDS; kind++) {
            const struct ti_sample *s = np->sample[kind] ? &np->sample[kind][i] : NULL;
            json_t *j;

            if (!s)
                continue;
            j = json_pack("{s:s, s:f}", "kind", ti_skew_kind_text[kind], "seconds", s->seconds);
            if (kind != TI_SKEW_NATIVE && s->whole_known)
                json_object_set_new(j, "whole", json_integer((json_int_t)s->whole));
            if (kind != TI_SKEW_NATIVE && s->outside_known)
                json_object_set_new(j, "outside", json_integer((json_int_t)s->outside));
            if (kind == TI_SKEW_TRACED) {
                json_object_set_new(j, "volume", json_integer((json_int_t)s->volume));
                json_object_set_new(j, "events", json_integer((json_int_t)s->events));
                json_object_set_new(j, "bytes", json_integer((json_int_t)s->bytes));
                json_object_set_new(j, "negative_bursts", json_integer((json_int_t)s->negative));
            }
            json_array_append_new(list, j);
        }
    return list;
}

static json_t *json_np(const struct ti_skew *s, const struct ti_skew_np *np)
{
    struct ti_skew_figures f;
    json_t *j =
        json_pack("{s:I, s:I}", "np", (json_int_t)np->np, "folding", (json_int_t)np->folding);

    ti_skew_figures(s, np, &f);
    json_object_set_new(j, "whole_skew_pct", ti_spread_json(&f.whole));
    json_object_set_new(j, "burst_skew_pct", ti_spread_json(&f.own));
    json_object_set_new(j, "burst_skew_bare_pct", ti_spread_json(&f.bare));
    if (f.own.n && !is_compiled(s))
        json_object_set_new(j, "burst_skew_worst_rank_pct", json_real(f.worst));
    json_object_set_new(j, "residual_per_call", ti_spread_json(&f.call));
    json_object_set_new(j, "overhead_pct", ti_spread_json(&f.overhead));
    json_object_set_new(j, "tracer_overhead_pct", ti_spread_json(&f.tracer));
    json_object_set_new(j, "events", ti_spread_json(&f.events));
    json_object_set_new(j, "events_differ", json_boolean(f.events_differ));
    json_object_set_new(j, "bytes", ti_spread_json(&f.bytes));
    if (f.events.median > 0)
        json_object_set_new(j, "bytes_per_action", json_real(f.bytes.median / 2 / f.events.median));
    json_object_set_new(j, "event_ns", ti_spread_json(&f.event_ns));
    json_object_set_new(j, "event_instructions", ti_spread_json(&f.event_count));
    json_object_set_new(j, "runs", json_samples(np, s->o->runs));
    if (np->nfold) {
        json_t *list = json_array();

        for (int i = 0; i < np->nfold; i++) {
            json_t *item = json_bursts(np->fold[i].bursts);

            json_object_set_new(item, "factor", json_integer(np->fold[i].factor));
            json_object_set_new(item, "cores", json_integer(np->fold[i].cores));
            json_object_set_new(item, "slowdown", ti_spread_json(&np->fold[i].slowdown));
            json_array_append_new(list, item);
        }
        json_object_set_new(j, "fold", list);
    }
    if (np->against)
        json_object_set_new(j, "against", json_bursts(np->against));
    return j;
}

json_t *ti_skew_json(const struct ti_skew *s)
{
    char *program = ti_args_shell(&s->o->run.program);
    json_t *list = json_array();
    json_t *j = json_pack("{s:s, s:o, s:o, s:{s:s, s:s, s:b, s:b}, s:I, s:i, s:o}", "tiara",
                          ti_version(), "command", ti_json_text(program ? program : "?"), "host",
                          ti_json_text(s->facts.machine.host), "counter", "backend",
                          s->facts.choice.of->name, "event", s->facts.choice.event, "exact",
                          s->facts.choice.exact, "estimate", s->facts.choice.estimate, "runs",
                          (json_int_t)s->o->runs, "cores", s->facts.machine.cores, "np", list);

    free(program);
    for (int i = 0; i < s->nnp; i++)
        json_array_append_new(list, json_np(s, &s->np[i]));
    if (j && s->o->against)
        json_object_set_new(j, "against", json_string(s->other.of->name));
    return j;
}
