/* Call sites of several traces (versions/versions.h). */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "versions/internal.h"

#define NONE       SIZE_MAX
#define SITE_BYTES 700
#define CELLS_MOST                                                                                 \
    (1u << 24) /* of a table of pairs; larger functions are compared by line only                  \
                */

size_t ti_versions_site(struct ti_versions *v, int trace, uint32_t op, const char *text)
{
    struct ti__version *t = &v->version[trace];
    size_t number = ti_names_add(&v->texts, text ? text : ""), known = t->sites.n;
    size_t i = (size_t)ti_map_add(&t->sites, op, (int64_t)number, 0, 0);

    t->site = ti_grow(t->site, &t->sites_cap, t->sites.n, sizeof *t->site);
    if (i == known)
        t->site[i] = (struct ti__own_site){.op = op, .text = number, .joint = NONE};
    return i;
}

/* ---------------------------------------------------------------- the place -- */

/* A number from 0 to INT_MAX, so that differences of lines are in range. */
static int line_number(const char *text)
{
    long n = strtol(text, NULL, 10);

    return n < 0 ? 0 : n > INT_MAX ? INT_MAX : (int)n;
}

/* Find the module and the offset of "module+0xoffset [build-id]", or the file and the line of
 * "file:line". */
static void read_text(struct ti_versions *v, struct ti__own_site *s)
{
    const char *text = v->texts.text[s->text], *bracket = strstr(text, " [");
    const char *end = bracket ? bracket : text + strlen(text), *plus = NULL, *colon;
    char part[SITE_BYTES];

    s->build = s->module = NONE;
    for (const char *p = text; p < end; p++)
        if (!strncmp(p, "+0x", 3))
            plus = p;
    if (plus) {
        snprintf(part, sizeof part, "%.*s", (int)(plus - text), text);
        s->module = ti_names_add(&v->modules, part);
        s->offset = strtoull(plus + 3, NULL, 16);
        if (bracket) {
            snprintf(part, sizeof part, "%.*s%s", (int)(plus - text), text, bracket);
            s->build = ti_names_add(&v->builds, part);
        }
        return;
    }
    colon = strrchr(text, ':');
    s->line = colon ? line_number(colon + 1) : 0;
    snprintf(part, sizeof part, ":%.*s", (int)(colon ? colon - text : end - text), text);
    s->function = ti_names_add(&v->functions, part);
}

static const struct ti_site_line *line_of(const struct ti_versions *v, const struct ti__own_site *s)
{
    const struct ti_site_line *line = ti_symbolizer_find(v->symbolizer, v->texts.text[s->text]);

    return line && line->function ? line : NULL;
}

static void find_place(struct ti_versions *v, struct ti__own_site *s, bool by_function)
{
    const struct ti_site_line *line = by_function ? line_of(v, s) : NULL;
    char key[SITE_BYTES];

    if (line) {
        snprintf(key, sizeof key, "f%s", line->function);
        s->line = line->file ? line->line : 0;
        s->file = ti_names_add(&v->files, line->file ? line->file : "");
    } else {
        snprintf(key, sizeof key, "m%s", v->modules.text[s->module]);
    }
    s->function = ti_names_add(&v->functions, key);
}

/* Find out where in the program the call sites are.  A module is compared by functions if those of
 * all its call sites are known. */
static void find_places(struct ti_versions *v)
{
    size_t cap = 0;
    bool *bare;

    for (int t = 0; t < v->n; t++)
        for (size_t i = 0; i < v->version[t].sites.n; i++)
            read_text(v, &v->version[t].site[i]);
    bare = ti_grow(NULL, &cap, v->modules.map.n + 1, sizeof *bare);
    for (int t = 0; t < v->n; t++)
        for (size_t i = 0; i < v->version[t].sites.n; i++) {
            const struct ti__own_site *s = &v->version[t].site[i];

            if (s->module != NONE && !line_of(v, s))
                bare[s->module] = true;
        }
    for (int t = 0; t < v->n; t++)
        for (size_t i = 0; i < v->version[t].sites.n; i++) {
            struct ti__own_site *s = &v->version[t].site[i];

            if (s->module != NONE)
                find_place(v, s, !bare[s->module]);
        }
    free(bare);
}

static int by_place(const struct ti__own_site *a, const struct ti__own_site *b)
{
    return a->function != b->function ? (a->function < b->function ? -1 : 1)
           : a->file != b->file       ? (a->file < b->file ? -1 : 1)
           : a->line != b->line       ? (a->line < b->line ? -1 : 1)
           : a->offset != b->offset   ? (a->offset < b->offset ? -1 : 1)
           : a->text != b->text       ? (a->text < b->text ? -1 : 1)
           : a->op != b->op           ? (a->op < b->op ? -1 : 1)
                                      : 0;
}

/* -------------------------------------------------------------- joint sites -- */

static void set_joint(struct ti_versions *v, int trace, struct ti__own_site *s, size_t joint)
{
    s->joint = joint;
    v->joint[joint].text[trace] = s->text;
}

static void add_joint(struct ti_versions *v, int trace, struct ti__own_site *s)
{
    size_t cap = 0;

    v->joint = ti_grow(v->joint, &v->joint_cap, v->njoint + 1, sizeof *v->joint);
    v->joint[v->njoint] = (struct ti__joint_site){.is = *s};
    v->joint[v->njoint].text = ti_grow(NULL, &cap, (size_t)v->n, sizeof(size_t));
    for (int t = 0; t < v->n; t++)
        v->joint[v->njoint].text[t] = NONE;
    set_joint(v, trace, s, v->njoint++);
}

/* Give call sites the numbers of those with the same text, if that names the build.  `known` has
 * the joint call sites of the traces before. */
static void match_texts(struct ti_versions *v, int trace, const struct ti_map *known,
                        const size_t *number)
{
    struct ti__version *t = &v->version[trace];

    for (size_t i = 0; i < t->sites.n; i++) {
        int64_t k = ti_map_find(known, t->site[i].op, (int64_t)t->site[i].text, 0, 0);

        if (k >= 0 && t->site[i].build != NONE)
            set_joint(v, trace, &t->site[i], number[k]);
    }
}

/* ---------------------------------------------------------- other builds -- */

/* Call sites of two functions, in the order of their places. */
struct two {
    struct ti_versions *v;
    int trace;
    size_t *old, nold; /* joint call sites */
    struct ti__own_site **new;
    size_t nnew;
};

static const struct ti__own_site *old_site(const struct two *w, size_t i)
{
    return &w->v->joint[w->old[i]].is;
}

/* The worth of a pair: 0 if it is none. */
static int64_t worth(const struct two *w, size_t i, size_t k)
{
    const struct ti__own_site *a = old_site(w, i), *b = w->new[k];
    int equal;

    if (a->op != b->op)
        return 0;
    if (a->line && b->line)
        equal = (a->line == b->line) +
                (a->line - old_site(w, 0)->line == b->line - w->new[0]->line) +
                (a->line - old_site(w, w->nold - 1)->line == b->line - w->new[w->nnew - 1]->line);
    else
        equal = a->text == b->text;
    return (INT64_C(1) << 32) + equal;
}

/* Pair as many as possible, in order: best[i][k] is the most that call sites from i and k on are
 * worth. */
static void pair_in_order(struct two *w)
{
    size_t columns = w->nnew + 1, cap = 0, i, k;
    int64_t *best = ti_grow(NULL, &cap, (w->nold + 1) * columns, sizeof *best);

    for (i = w->nold; i-- > 0;)
        for (k = w->nnew; k-- > 0;) {
            int64_t both = worth(w, i, k), one = best[(i + 1) * columns + k];

            both = both ? both + best[(i + 1) * columns + k + 1] : 0;
            one = one > best[i * columns + k + 1] ? one : best[i * columns + k + 1];
            best[i * columns + k] = both > one ? both : one;
        }
    for (i = k = 0; i < w->nold && k < w->nnew;) {
        int64_t both = worth(w, i, k), now = best[i * columns + k];

        if (both && now == both + best[(i + 1) * columns + k + 1])
            set_joint(w->v, w->trace, w->new[k++], w->old[i++]);
        else if (now == best[(i + 1) * columns + k])
            i++;
        else
            k++;
    }
    free(best);
}

static void pair_functions(struct two *w)
{
    if (!w->nold || !w->nnew)
        return;
    if ((w->nold + 1) * (w->nnew + 1) <= CELLS_MOST) {
        pair_in_order(w);
        return;
    }
    for (size_t i = 0, k = 0; i < w->nold && k < w->nnew;) {
        int line = w->v->joint[w->old[i]].is.line;

        if (worth(w, i, k) && line == w->new[k]->line)
            set_joint(w->v, w->trace, w->new[k++], w->old[i++]);
        else if (line < w->new[k]->line)
            i++;
        else
            k++;
    }
}

/* The joint call sites that a trace does not have yet, and call sites of the trace that may be the
 * same, both in the order of functions and places. */
struct candidates {
    size_t *old, nold;
    struct ti__own_site **new;
    size_t nnew;
};

static struct ti_versions *sorting; /* for qsort() */

static int joint_order(const void *a, const void *b)
{
    return by_place(&sorting->joint[*(const size_t *)a].is, &sorting->joint[*(const size_t *)b].is);
}

static int own_order(const void *a, const void *b)
{
    return by_place(*(struct ti__own_site *const *)a, *(struct ti__own_site *const *)b);
}

/* `builds`: those of the traces before.  A call site of one of these is where the text says. */
static struct candidates find_candidates(struct ti_versions *v, int trace, const bool *builds)
{
    struct ti__version *t = &v->version[trace];
    size_t old_cap = 0, new_cap = 0;
    struct candidates c = {.nold = 0};

    c.old = ti_grow(NULL, &old_cap, v->njoint + 1, sizeof *c.old);
    c.new = ti_grow(NULL, &new_cap, t->sites.n + 1, sizeof(struct ti__own_site *));
    for (size_t i = 0; i < v->njoint; i++)
        if (v->joint[i].text[trace] == NONE)
            c.old[c.nold++] = i;
    for (size_t i = 0; i < t->sites.n; i++)
        if (t->site[i].joint == NONE && (t->site[i].build == NONE || !builds[t->site[i].build]))
            c.new[c.nnew++] = &t->site[i];
    sorting = v;
    if (c.nold)
        qsort(c.old, c.nold, sizeof *c.old, joint_order);
    if (c.nnew)
        qsort(c.new, c.nnew, sizeof(struct ti__own_site *), own_order);
    return c;
}

static size_t old_function(const struct ti_versions *v, const struct candidates *c, size_t i)
{
    return i < c->nold ? v->joint[c->old[i]].is.function : NONE;
}

static size_t new_function(const struct candidates *c, size_t k)
{
    return k < c->nnew ? c->new[k]->function : NONE;
}

/* The next function of both lists from *i and *k on, in the order of their numbers; false at the
 * end.  A list without it has no call sites in *w.  Moves *i and *k behind it. */
static bool next_function(struct ti_versions *v, int trace, const struct candidates *c, size_t *i,
                          size_t *k, struct two *w)
{
    size_t a = old_function(v, c, *i), b = new_function(c, *k), function = a < b ? a : b;

    *w = (struct two){.v = v, .trace = trace, .old = c->old + *i, .new = c->new + *k};
    for (; function != NONE && old_function(v, c, *i) == function; ++*i)
        w->nold++;
    for (; function != NONE && new_function(c, *k) == function; ++*k)
        w->nnew++;
    return function != NONE;
}

/* A function that only one side has: a hash of its operations. */
struct lone {
    uint64_t hash;
    struct two two;
};

static int by_hash(const void *a, const void *b)
{
    const struct lone *x = a, *y = b;

    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1)
                              : (x->two.nold > 0) - (y->two.nold > 0);
}

static uint64_t hash_of(const struct two *w)
{
    uint64_t hash = TI_HASH_START;

    for (size_t i = 0; i < w->nold; i++)
        hash = ti_hash_word(hash, w->v->joint[w->old[i]].is.op);
    for (size_t i = 0; i < w->nnew; i++)
        hash = ti_hash_word(hash, w->new[i]->op);
    return hash;
}

/* Pair functions that were renamed: those that are alone with their operations on either side. */
static void match_renamed(struct lone *lone, size_t n)
{
    if (n)
        qsort(lone, n, sizeof *lone, by_hash);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && lone[end].hash == lone[i].hash; end++)
            ;
        if (end == i + 2 && lone[i].two.nnew && lone[i + 1].two.nold &&
            lone[i].two.nnew == lone[i + 1].two.nold) {
            struct two w = lone[i + 1].two;

            w.new = lone[i].two.new;
            w.nnew = lone[i].two.nnew;
            pair_functions(&w);
        }
    }
}

static void match_builds(struct ti_versions *v, int trace, const bool *builds)
{
    struct candidates c = find_candidates(v, trace, builds);
    size_t i = 0, k = 0, n = 0, cap = 0;
    struct lone *lone = NULL;
    struct two w;

    while (next_function(v, trace, &c, &i, &k, &w)) {
        pair_functions(&w);
        if (w.nold && w.nnew)
            continue;
        lone = ti_grow(lone, &cap, n + 1, sizeof *lone);
        lone[n++] = (struct lone){hash_of(&w), w};
    }
    match_renamed(lone, n);
    free(lone);
    free(c.old);
    free(c.new);
}

void ti__versions_match_sites(struct ti_versions *v)
{
    struct ti_map known = {.key = NULL}; /* (op, text) -> index in `number`, its joint site */
    size_t *number = NULL, cap = 0, builds_cap = 0;
    bool *builds;

    find_places(v);
    builds = ti_grow(NULL, &builds_cap, v->builds.map.n + 1, sizeof *builds);
    for (int trace = 0; trace < v->n; trace++) {
        struct ti__version *t = &v->version[trace];

        match_texts(v, trace, &known, number);
        if (trace)
            match_builds(v, trace, builds);
        for (size_t i = 0; i < t->sites.n; i++) {
            struct ti__own_site *s = &t->site[i];
            size_t k;

            if (s->joint == NONE)
                add_joint(v, trace, s);
            k = (size_t)ti_map_add(&known, s->op, (int64_t)s->text, 0, 0);
            number = ti_grow(number, &cap, known.n, sizeof *number);
            number[k] = s->joint;
            if (s->build != NONE)
                builds[s->build] = true;
        }
    }
    ti_map_free(&known);
    free(number);
    free(builds);
}
