#include "replay-bridge/replays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/ranges.h"
#include "fold/record_layout.h"

#define FEW 4 /* call sites that two traces have in common are few if less than a quarter */

const char *const ti_spent_keys[TI_SPENT_ON] = {"computing_s", "communicating_s", "waiting_s"};

const char *ti_replays_path(const struct ti_replays *r, int trace)
{
    return ti_source_path(r->source[trace]);
}

/* ------------------------------------------------------------ the replays -- */

static ti_status run(struct ti_replays *r, const struct ti_replay_options *o, const char **path,
                     struct ti_err *err)
{
    struct ti_args base = {0};
    ti_status st;

    ti_args_add_all(&base, &o->sweep.base, 0);
    ti_args_add(&base, "--profile");
    ti_study_open_traces(&r->study, &o->sweep.sweep, &base, path, r->n);
    r->study.all_or_none = true;
    r->study.step = "comparing";
    r->study.unit = r->nruns > 1 ? "runs" : "traces";
    r->study.runner = o->sweep.runner;
    st = ti_study_run(&r->study, ti_sweep_jobs(&o->sweep, &r->study), o->verbose, err);
    ti_args_free(&base);
    return st;
}

static const json_t *profile_of(const struct ti_replays *r, int trace, int i)
{
    const json_t *record = r->study.point[trace * r->nruns + i].record;

    return json_object_get(json_object_get(record, "result"), "profile");
}

static void read_times(struct ti_replays *r)
{
    size_t none = 0;
    double *sorted = ti_grow(NULL, &none, (size_t)r->nruns, sizeof *sorted);

    for (int t = 0; t < r->n; t++) {
        for (int i = 0; i < r->nruns; i++) {
            double s = ti_study_point_time(&r->study.point[t * r->nruns + i]);

            r->run[t * r->nruns + i] = sorted[i] = s;
            r->mean[t] += s / r->nruns;
        }
        r->time[t] = ti_interval_of(sorted, r->nruns);
    }
    free(sorted);
}

/* ---------------------------------------------------------------- the parts -- */

static void add_spent(struct ti_spent *to, const struct ti_spent *more, double times)
{
    for (int k = 0; k < TI_SPENT_ON; k++)
        to->on[k] += times * more->on[k];
}

static double sum_of(const struct ti_spent *spent)
{
    double s = 0;

    for (int k = 0; k < TI_SPENT_ON; k++)
        s += spent->on[k];
    return s;
}

/* The seconds of an object of a profile, as a part of one rank's and one run's. */
static struct ti_spent spent_of(const struct ti_replays *r, int trace, const json_t *j)
{
    double ranks = (double)ti_source_nranks(r->source[trace]) * r->nruns;
    struct ti_spent spent;

    for (int k = 0; k < TI_SPENT_ON; k++)
        spent.on[k] = ti_json_number(j, ti_spent_keys[k]) / ranks;
    return spent;
}

static struct ti_replay_part *new_parts(const struct ti_replays *r, size_t n)
{
    size_t none = 0;
    struct ti_replay_part *part = ti_grow(NULL, &none, n, sizeof *part);

    for (size_t i = 0; i < n; i++) {
        size_t spent = 0, s = 0;

        part[i].number = i;
        part[i].around = TI_VERSIONS_NONE;
        part[i].spent = ti_grow(NULL, &spent, (size_t)r->n, sizeof *part[i].spent);
        part[i].s = ti_grow(NULL, &s, (size_t)r->n, sizeof *part[i].s);
    }
    return part;
}

static void free_parts(struct ti_replay_part *part, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(part[i].spent);
        free(part[i].s);
    }
    free(part);
}

static void set_rest(struct ti_replay_part *p, const char *rest, const char *key)
{
    p->number = TI_VERSIONS_NONE;
    p->rest = rest;
    p->key = key;
}

/* All that a rank spends, on average. */
static struct ti_spent all_of(const struct ti_replays *r, int trace)
{
    struct ti_spent all = {{0}};

    for (int i = 0; i < r->nruns; i++) {
        const json_t *rank;
        size_t at;

        json_array_foreach(json_object_get(profile_of(r, trace, i), "ranks"), at, rank)
        {
            struct ti_spent mine = spent_of(r, trace, rank);

            add_spent(&all, &mine, 1);
        }
    }
    return all;
}

/* ------------------------------------------------------------------- loops -- */

/* The shapes of the ranks of a trace. */
struct ranks {
    size_t *shape; /* of each rank; TI_VERSIONS_NONE: its loops are not known */
};

/* Add the ranks of a trace to what is compared: their loops, unless a trace has rank files, which
 * have none. */
static ti_status add_ranks(struct ti_replays *r, int trace, struct ranks *ranks, struct ti_err *err)
{
    int64_t np = ti_source_nranks(r->source[trace]);
    size_t cap = 0;

    ranks->shape = ti_grow(NULL, &cap, (size_t)np, sizeof *ranks->shape);
    for (int64_t rank = 0; rank < np; rank++) {
        struct ti_reader *reader;
        ti_status st = ti_source_reader(r->source[trace], rank, &reader, err);

        if (st)
            return st;
        ti_symbolizer_add_rank(r->symbolizer, reader);
        ranks->shape[rank] = !r->flat && ti_reader_folded(reader)
                                 ? ti_versions_add(r->v, trace, reader)
                                 : TI_VERSIONS_NONE;
        ti_reader_close(reader);
    }
    return TI_OK;
}

/* The loops of a profile that a loop stands in. */
struct nest {
    size_t part[TI_SHAPE_DEPTH + 1];
    int depth;
};

/* Add a loop of a profile to its part, and take it off that of the loop around it, which has it,
 * too: a part has what is in no inner one until add_inner(). */
static void add_loop(struct ti_replays *r, int trace, const json_t *loop, size_t phase,
                     struct nest *nest)
{
    struct ti_spent spent = spent_of(r, trace, loop);
    size_t part = phase == TI_VERSIONS_NONE ? r->nloops - 2 : phase;

    nest->depth = (int)ti_json_integer(loop, "depth");
    if (nest->depth < 0 || nest->depth > TI_SHAPE_DEPTH)
        return;
    nest->part[nest->depth] = part;
    add_spent(&r->loop[part].spent[trace], &spent, 1);
    add_spent(&r->loop[nest->depth ? nest->part[nest->depth - 1] : r->nloops - 2].spent[trace],
              &spent, -1);
}

/* Add the loops of a profile.  Those of a group of ranks are in the order of the shape. */
static void add_loops(struct ti_replays *r, int trace, const json_t *loops,
                      const struct ranks *ranks)
{
    const json_t *loop, *before = NULL;
    struct nest nest = {.depth = 0};
    size_t i, shape = TI_VERSIONS_NONE;
    uint32_t n = 0;

    json_array_foreach(loops, i, loop)
    {
        const json_t *of = json_object_get(loop, "ranks");
        int64_t first = json_integer_value(json_array_get(json_array_get(of, 0), 0));
        size_t phase = TI_VERSIONS_NONE;

        if (!before || !json_equal(of, before)) {
            n = 0;
            shape = first >= 0 && first < ti_source_nranks(r->source[trace]) ? ranks->shape[first]
                                                                             : TI_VERSIONS_NONE;
        }
        before = of;
        if (shape != TI_VERSIONS_NONE) {
            uint32_t node = ti_versions_loop(r->v, trace, shape, n++);

            phase = node == UINT32_MAX ? TI_VERSIONS_NONE
                                       : ti_versions_phase_of(r->v, trace, shape, node);
        }
        add_loop(r, trace, loop, phase, &nest);
    }
}

/* Loops get what the loops in them have. */
static void add_inner(struct ti_replays *r)
{
    for (size_t i = r->nloops - 2; i-- > 0;) {
        struct ti_replay_part *p = &r->loop[i];

        for (int t = 0; t < r->n && p->around != TI_VERSIONS_NONE; t++)
            add_spent(&r->loop[p->around].spent[t], &p->spent[t], 1);
    }
}

static void make_loops(struct ti_replays *r, const struct ranks *ranks)
{
    size_t n = ti_versions_phases(r->v);

    r->loop = new_parts(r, n + 2);
    r->nloops = n + 2;
    set_rest(&r->loop[n], "outside of loops", "outside");
    set_rest(&r->loop[n + 1], "from the end of a rank to that of the last", "ended");
    for (size_t i = 0; i < n; i++) {
        r->loop[i].around = ti_versions_around(r->v, i);
        r->loop[i].depth =
            r->loop[i].around == TI_VERSIONS_NONE ? 0 : r->loop[r->loop[i].around].depth + 1;
    }
    for (int t = 0; t < r->n; t++) {
        struct ti_spent all = all_of(r, t);

        add_spent(&r->loop[n].spent[t], &all, 1);
        r->loop[n + 1].s[t] = r->mean[t] - sum_of(&all);
        for (int i = 0; i < r->nruns; i++)
            add_loops(r, t, json_object_get(profile_of(r, t, i), "loops"), &ranks[t]);
    }
    add_inner(r);
    for (size_t i = 0; i <= n; i++)
        for (int t = 0; t < r->n; t++)
            r->loop[i].s[t] = sum_of(&r->loop[i].spent[t]);
}

/* -------------------------------------------------------------- call sites -- */

static uint32_t op_of(const char *text)
{
    uint32_t op = 0;

    while (op + 1 < TI_OP_COUNT && strcmp(ti_op_info(op)->text, text) != 0)
        op++;
    return op;
}

/* Let `take` have each call site of each profile; NULL: make them known. */
static void each_site(struct ti_replays *r,
                      void (*take)(struct ti_replays *r, int trace, size_t site, const json_t *j))
{
    const json_t *site;
    size_t at;

    for (int t = 0; t < r->n; t++)
        for (int i = 0; i < r->nruns; i++)
            json_array_foreach(json_object_get(profile_of(r, t, i), "sites"), at, site)
            {
                size_t number = ti_versions_site(r->v, t, op_of(ti_json_string(site, "operation")),
                                                 ti_json_string(site, "site"));

                if (take)
                    take(r, t, number, site);
            }
}

static void add_site(struct ti_replays *r, int trace, size_t site, const json_t *j)
{
    struct ti_spent spent = spent_of(r, trace, j);

    add_spent(&r->site[ti_versions_site_of(r->v, trace, site)].spent[trace], &spent, 1);
}

static void make_sites(struct ti_replays *r)
{
    size_t n = ti_versions_sites(r->v);

    r->site = new_parts(r, n + 1);
    r->nsites = n + 1;
    set_rest(&r->site[n], r->loop[r->nloops - 1].rest, r->loop[r->nloops - 1].key);
    each_site(r, add_site);
    for (int t = 0; t < r->n; t++) {
        double rest = r->mean[t];

        for (size_t i = 0; i < n; i++) {
            r->site[i].s[t] = sum_of(&r->site[i].spent[t]);
            rest -= r->site[i].s[t];
        }
        r->site[n].s[t] = rest;
    }
}

/* -------------------------------------------------------------- what is odd -- */

/* Warn where a trace has few of the first one's call sites: it may be of another program. */
static void warn_strangers(const struct ti_replays *r)
{
    for (int t = 1; t < r->n; t++) {
        size_t both = 0, first = 0, other = 0;

        for (size_t i = 0; i < ti_versions_sites(r->v); i++) {
            bool a = ti_versions_text(r->v, i, 0), b = ti_versions_text(r->v, i, t);

            first += a;
            other += b;
            both += a && b;
        }
        if (FEW * both < (first < other ? first : other))
            ti_warn("'%s' and '%s' have %zu of %zu call sites in common: are they of one program?",
                    ti_replays_path(r, 0), ti_replays_path(r, t), both,
                    first < other ? first : other);
    }
}

/* Warn where --runs has nothing to draw. */
static void warn_constant(const struct ti_replays *r)
{
    for (int t = 0; t < r->n; t++)
        if (r->nruns == 1 || r->time[t].min < r->time[t].max)
            return;
    ti_warn("all runs of a trace took the same time: nothing is drawn at random; --noise lets "
            "bursts vary");
}

/* ------------------------------------------------------------- all of them -- */

ti_status ti_replays_run(const struct ti_replay_options *o, const struct ti_replay_result *res,
                         struct ti_replays *r, struct ti_err *err)
{
    size_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
    const char **path = ti_grow(NULL, &a, (size_t)res->ntraces, sizeof(char *));
    struct ranks *ranks = ti_grow(NULL, &b, (size_t)res->ntraces, sizeof *ranks);
    ti_status st;

    *r = (struct ti_replays){.o = o, .n = res->ntraces};
    r->nruns = o->sweep.runs ? (int)o->sweep.runs : 1;
    r->source = ti_grow(NULL, &c, (size_t)r->n, sizeof(struct ti_source *));
    r->time = ti_grow(NULL, &d, (size_t)r->n, sizeof *r->time);
    r->mean = ti_grow(NULL, &e, (size_t)r->n, sizeof *r->mean);
    r->run = ti_grow(NULL, &f, (size_t)r->n * (size_t)r->nruns, sizeof *r->run);
    for (int t = 0; t < r->n; t++) {
        r->source[t] = res->trace[t].source;
        path[t] = res->trace[t].path;
        r->flat = !r->flat && !ti_source_merged(r->source[t]) ? path[t] : r->flat;
    }
    r->symbolizer = ti_symbolizer_open(o->debug_dir);
    r->v = ti_versions_new(r->n, r->symbolizer);
    st = run(r, o, path, err);
    for (int t = 0; t < r->n && !st; t++)
        st = add_ranks(r, t, &ranks[t], err);
    if (!st) {
        each_site(r, NULL);
        ti_versions_match(r->v);
        read_times(r);
        warn_strangers(r);
        warn_constant(r);
        make_loops(r, ranks);
        make_sites(r);
    }
    for (int t = 0; t < r->n; t++)
        free(ranks[t].shape);
    free(ranks);
    r->study.trace = NULL;
    free(path);
    return st;
}

void ti_replays_free(struct ti_replays *r)
{
    free_parts(r->loop, r->nloops);
    free_parts(r->site, r->nsites);
    ti_study_close(&r->study);
    ti_versions_free(r->v);
    ti_symbolizer_close(r->symbolizer);
    free(r->source);
    free(r->time);
    free(r->mean);
    free(r->run);
    *r = (struct ti_replays){.n = 0};
}
