/* Loops of several traces (versions/versions.h). */
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "fold/record_layout.h"
#include "fold/shape.h"
#include "trips/names.h"
#include "versions/internal.h"

#define NONE SIZE_MAX

/* ---------------------------------------------------------------- traces -- */

struct ti_versions *ti_versions_new(int traces, struct ti_symbolizer *z)
{
    size_t cap = 0, none = 0;
    struct ti_versions *v = ti_grow(NULL, &cap, 1, sizeof *v);

    *v = (struct ti_versions){.n = traces, .symbolizer = z};
    v->version = ti_grow(NULL, &none, (size_t)traces, sizeof *v->version);
    return v;
}

static void free_version(struct ti__version *t)
{
    for (size_t s = 0; s < t->hashes.n; s++) {
        for (uint32_t i = 0; i < t->shape[s].nnodes; i++)
            free(t->shape[s].node[i].name);
        free(t->shape[s].node);
    }
    free(t->shape);
    free(t->rank);
    free(t->site);
    ti_map_free(&t->sites);
    ti_map_free(&t->hashes);
}

void ti_versions_free(struct ti_versions *v)
{
    if (!v)
        return;
    for (int t = 0; t < v->n; t++)
        free_version(&v->version[t]);
    for (size_t i = 0; i < v->njoint; i++)
        free(v->joint[i].text);
    for (size_t i = 0; i < v->nphases; i++) {
        for (int t = 0; t < v->n; t++)
            free(v->phase[i].name[t]);
        free(v->phase[i].name);
    }
    ti_names_free(&v->texts);
    ti_names_free(&v->builds);
    ti_names_free(&v->modules);
    ti_names_free(&v->functions);
    ti_names_free(&v->files);
    free(v->version);
    free(v->joint);
    free(v->phase);
    free(v);
}

/* ---------------------------------------------------------------- shapes -- */

static size_t site_of(struct ti_versions *v, int trace, const struct ti_reader *r,
                      const struct ti_shape_node *node)
{
    return ti_versions_site(v, trace, node->op,
                            node->site ? ti_reader_string(r, TI_STRING_SITE, node->site) : NULL);
}

static char *copy(const char *text)
{
    char *own = strdup(text);

    if (!own)
        ti_no_memory(1, strlen(text) + 1);
    return own;
}

static void fill_shape(struct ti_versions *v, int trace, const struct ti_reader *r,
                       struct ti__version_shape *s)
{
    const struct ti_folded *f = ti_reader_folded(r);
    struct ti_loop_names *names;
    char name[TI_LOOP_NAME_BYTES];
    size_t cap = 0;

    ti_symbolizer_add_rank(v->symbolizer, r);
    names = ti_loop_names_of(r, v->symbolizer);
    if (!names)
        ti_no_memory(ti_shape_nodes(f), sizeof *s->node);
    s->nnodes = ti_shape_nodes(f);
    s->node = ti_grow(NULL, &cap, (size_t)s->nnodes + 1, sizeof *s->node);
    for (uint32_t i = 0; i < s->nnodes; i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        s->node[i] = (struct ti__version_node){
            .end = node.end,
            .loop = node.loop,
            .site = node.loop ? NONE : site_of(v, trace, r, &node),
            .phase = NONE,
            .name = node.loop ? copy(ti_loop_name(names, i, name, sizeof name)) : NULL};
    }
    ti_loop_names_free(names);
}

size_t ti_versions_add(struct ti_versions *v, int trace, const struct ti_reader *r)
{
    const struct ti_folded *f = ti_reader_folded(r);
    struct ti__version *t = &v->version[trace];
    uint64_t hash = TI_HASH_START;
    size_t known = t->hashes.n, shape;

    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        hash = ti_hash_word(hash, (uint64_t)node.end << 1 | node.loop);
        if (!node.loop)
            hash = ti_hash_word(hash, site_of(v, trace, r, &node));
    }
    shape = (size_t)ti_map_add(&t->hashes, (int64_t)hash, ti_shape_nodes(f), 0, 0);
    t->shape = ti_grow(t->shape, &t->shapes_cap, t->hashes.n, sizeof *t->shape);
    if (shape == known)
        fill_shape(v, trace, r, &t->shape[shape]);
    t->rank = ti_grow(t->rank, &t->ranks_cap, t->nranks + 1, sizeof *t->rank);
    t->rank[t->nranks++] = shape;
    return shape;
}

/* ----------------------------------------------------- the same everywhere -- */

/* Whether two shapes have the same loops, with calls from call sites that are the same. */
static bool same_shape(const struct ti_versions *v, int trace, const struct ti__version_shape *a,
                       const struct ti__version_shape *b)
{
    if (a->nnodes != b->nnodes)
        return false;
    for (uint32_t i = 0; i < a->nnodes; i++) {
        const struct ti__version_node *x = &a->node[i], *y = &b->node[i];

        if (x->end != y->end || x->loop != y->loop ||
            (!x->loop &&
             v->version[0].site[x->site].joint != v->version[trace].site[y->site].joint))
            return false;
    }
    return true;
}

/* Whether each rank has the same loops and calls in all traces. */
static bool same_everywhere(const struct ti_versions *v)
{
    const struct ti__version *first = &v->version[0];
    struct ti_map same = {.key = NULL}; /* pairs of shapes that are */
    bool all = true;

    for (int t = 1; t < v->n; t++)
        all = all && v->version[t].nranks == first->nranks;
    for (int t = 1; t < v->n && all; t++)
        for (size_t i = 0; i < first->nranks && all; i++) {
            size_t a = first->rank[i], b = v->version[t].rank[i];

            if (ti_map_find(&same, t, (int64_t)a, (int64_t)b, 0) >= 0)
                continue;
            all = same_shape(v, t, &first->shape[a], &v->version[t].shape[b]);
            ti_map_add(&same, t, (int64_t)a, (int64_t)b, 0);
        }
    ti_map_free(&same);
    return all;
}

/* ---------------------------------------------------------------- phases -- */

/* Nodes from `begin` to `end` of a shape: what is in a loop, or in the whole program. */
struct body {
    int trace;
    size_t shape;
    uint32_t begin, end;
};

struct bodies {
    struct body *list;
    size_t n, cap;
};

/* A loop of a level.  Equal loops have the same `root`: the number of the first of them. */
struct item {
    struct body is; /* begin: the loop itself */
    size_t number, root;
    bool inside; /* of those that are equal to it, which have an outer loop more */
};

/* The contents of a phase, or of the whole program. */
struct level {
    struct ti_versions *v;
    bool numbers; /* call sites that come again are told apart */
    size_t phase;
    int depth;
    struct bodies in;
    struct item *item; /* in the end, equal ones are together */
    size_t n, cap;
};

static struct ti__version_node *nodes_of(const struct ti_versions *v, const struct body *b)
{
    return v->version[b->trace].shape[b->shape].node;
}

static void add_body(struct bodies *to, struct body b)
{
    to->list = ti_grow(to->list, &to->cap, to->n + 1, sizeof *to->list);
    to->list[to->n++] = b;
}

static size_t root_of(const struct level *l, size_t i)
{
    while (l->item[i].root != i) {
        l->item[i].root = l->item[l->item[i].root].root;
        i = l->item[i].root;
    }
    return i;
}

static void unite(const struct level *l, size_t a, size_t b)
{
    a = root_of(l, a);
    b = root_of(l, b);
    l->item[a > b ? a : b].root = a > b ? b : a;
}

static void list_loops(struct level *l)
{
    l->n = 0;
    for (size_t b = 0; b < l->in.n; b++) {
        const struct body *in = &l->in.list[b];
        const struct ti__version_node *node = nodes_of(l->v, in);

        for (uint32_t i = in->begin; i < in->end; i = node[i].end) {
            if (!node[i].loop)
                continue;
            l->item = ti_grow(l->item, &l->cap, l->n + 1, sizeof *l->item);
            l->item[l->n] =
                (struct item){{in->trace, in->shape, i, node[i].end}, l->n, l->n, false};
            l->n++;
        }
    }
}

static size_t joint_of(const struct level *l, const struct body *b, uint32_t i)
{
    return l->v->version[b->trace].site[nodes_of(l->v, b)[i].site].joint;
}

/* Unite the loops that have a call site in common.  With numbers, a call site that comes again in
 * the level's part of a shape counts as another one. */
static void unite_loops(struct level *l)
{
    struct ti_map first = {.key = NULL}, seen = {.key = NULL};
    size_t *item = NULL, items_cap = 0, seen_cap = 0;
    int64_t *times = NULL;

    for (size_t k = 0; k < l->n; k++) {
        const struct body *b = &l->item[k].is;
        bool next =
            k && (b->trace != l->item[k - 1].is.trace || b->shape != l->item[k - 1].is.shape);

        if (next && seen.n) {
            memset(times, 0, seen.n * sizeof *times);
            ti_map_clear(&seen);
        }
        for (uint32_t i = b->begin; i < b->end; i++) {
            size_t joint, at, known = first.n;
            int64_t number = 0;

            if (nodes_of(l->v, b)[i].loop)
                continue;
            joint = joint_of(l, b, i);
            if (l->numbers) {
                at = (size_t)ti_map_add(&seen, (int64_t)joint, 0, 0, 0);
                times = ti_grow(times, &seen_cap, seen.n, sizeof *times);
                number = times[at]++;
            }
            at = (size_t)ti_map_add(&first, (int64_t)joint, number, 0, 0);
            item = ti_grow(item, &items_cap, first.n, sizeof *item);
            if (at == known)
                item[at] = k;
            else
                unite(l, item[at], k);
        }
    }
    ti_map_free(&first);
    ti_map_free(&seen);
    free(item);
    free(times);
}

static int by_root(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return x->root != y->root      ? (x->root < y->root ? -1 : 1)
           : x->number < y->number ? -1
                                   : x->number > y->number;
}

/* Bring equal loops together. */
static void group_loops(struct level *l)
{
    for (size_t k = 0; k < l->n; k++)
        l->item[k].root = root_of(l, k);
    if (l->n)
        qsort(l->item, l->n, sizeof *l->item, by_root);
}

/* The end of the equal loops that begin with item `k`. */
static size_t group_end(const struct level *l, size_t k)
{
    size_t end = k + 1;

    while (end < l->n && l->item[end].root == l->item[k].root)
        end++;
    return end;
}

/* ------------------------------------------------- loops that one has alone -- */

/* A program whose outer loop has one trip has no such loop in its trace, but the inner ones.  So of
 * equal loops, those with calls that others make only in their inner loops stand inside these.
 * Loops with a direct call in common are on a par. */
struct pars {
    const struct level *l;
    size_t k, n;        /* the loops from item `k` on */
    struct ti_map call; /* call sites of direct calls -> index in `of` */
    size_t *of, of_cap; /* the first loop with that call */
    size_t *up;         /* of each loop: one on a par; itself */
    bool *inside;       /* of each that is its own `up` */
};

static size_t par_of(const struct pars *p, size_t i)
{
    while (p->up[i] != i) {
        p->up[i] = p->up[p->up[i]];
        i = p->up[i];
    }
    return i;
}

static void add_direct(struct pars *p, size_t i)
{
    const struct body *b = &p->l->item[p->k + i].is;
    const struct ti__version_node *node = nodes_of(p->l->v, b);

    for (uint32_t at = b->begin + 1; at < b->end; at = node[at].end) {
        size_t known = p->call.n, call, other;

        if (node[at].loop)
            continue;
        call = (size_t)ti_map_add(&p->call, (int64_t)joint_of(p->l, b, at), 0, 0, 0);
        p->of = ti_grow(p->of, &p->of_cap, p->call.n, sizeof *p->of);
        if (call == known)
            p->of[call] = i;
        other = par_of(p, p->of[call]);
        p->up[par_of(p, i)] = other;
    }
}

/* Mark the loops with direct calls that loop `i` makes in inner loops. */
static void mark_inside(struct pars *p, size_t i)
{
    const struct body *b = &p->l->item[p->k + i].is;
    const struct ti__version_node *node = nodes_of(p->l->v, b);
    uint32_t inner = 0; /* end of the inner loop */

    for (uint32_t at = b->begin + 1; at < b->end; at++) {
        int64_t call;

        if (node[at].loop && at >= inner)
            inner = node[at].end;
        if (node[at].loop || at >= inner)
            continue;
        call = ti_map_find(&p->call, (int64_t)joint_of(p->l, b, at), 0, 0, 0);
        if (call >= 0 && par_of(p, p->of[call]) != par_of(p, i))
            p->inside[par_of(p, p->of[call])] = true;
    }
}

/* Find out which of the equal loops from `k` to `end` stand inside others. */
static void find_inside(struct level *l, size_t k, size_t end)
{
    struct pars p = {.l = l, .k = k, .n = end - k};
    size_t up_cap = 0, inside_cap = 0, outer = 0;

    p.up = ti_grow(NULL, &up_cap, p.n, sizeof *p.up);
    p.inside = ti_grow(NULL, &inside_cap, p.n, sizeof *p.inside);
    for (size_t i = 0; i < p.n; i++)
        p.up[i] = i;
    for (size_t i = 0; i < p.n; i++)
        add_direct(&p, i);
    for (size_t i = 0; i < p.n; i++)
        mark_inside(&p, i);
    for (size_t i = 0; i < p.n; i++)
        outer += par_of(&p, i) == i && !p.inside[i];
    for (size_t i = 0; i < p.n; i++)
        l->item[k + i].inside = outer && p.inside[par_of(&p, i)];
    ti_map_free(&p.call);
    free(p.of);
    free(p.up);
    free(p.inside);
}

/* ----------------------------------------------------------------- names -- */

/* The length of a name without a number "[K]" at its end. */
static size_t bare_name(const char *name)
{
    const char *bracket = strrchr(name, '[');

    return bracket && name[strlen(name) - 1] == ']' ? (size_t)(bracket - name) : strlen(name);
}

#define NAMES_MOST 3 /* of a phase; more are counted */

/* Names of a phase in the making. */
struct naming {
    char text[NAMES_MOST * (TI_LOOP_NAME_BYTES + 2) + 32];
    const char *first;
    size_t n;
    bool alike; /* all but for their numbers */
};

static void add_name(struct naming *w, const char *name)
{
    size_t bare = bare_name(name), used = strlen(w->text);

    if (!w->n) {
        w->first = name;
        w->alike = true;
    }
    w->alike = w->alike && bare_name(w->first) == bare && !strncmp(w->first, name, bare);
    if (w->n++ < NAMES_MOST)
        snprintf(w->text + used, sizeof w->text - used, "%s%s", used ? ", " : "", name);
}

/* Name the phase of the loops from `k` to `end` in a trace by those of the first shape that has
 * any.
 */
static char *name_of(const struct level *l, size_t k, size_t end, int trace)
{
    static struct naming w;
    size_t shape = 0, used;

    w.text[0] = '\0';
    w.n = 0;
    for (; k < end; k++) {
        const struct body *b = &l->item[k].is;

        if (b->trace != trace || l->item[k].inside || (w.n && b->shape != shape))
            continue;
        shape = b->shape;
        add_name(&w, nodes_of(l->v, b)[b->begin].name);
    }
    used = strlen(w.text);
    if (w.n > 1 && w.alike)
        snprintf(w.text, sizeof w.text, "%.*s[*]", (int)bare_name(w.first), w.first);
    else if (w.n > NAMES_MOST)
        snprintf(w.text + used, sizeof w.text - used, " and %zu more", w.n - NAMES_MOST);
    return w.n ? copy(w.text) : NULL;
}

/* ------------------------------------------------------------ all levels -- */

static void find_phases(struct ti_versions *v, struct level *l);

/* Make a phase of the loops from `k` to `end`, and phases of the loops in them. */
static void make_phase(struct ti_versions *v, const struct level *l, size_t k, size_t end)
{
    struct level inner = {
        .v = v, .numbers = l->numbers, .phase = v->nphases, .depth = l->depth + 1};
    size_t cap = 0;
    struct ti__phase *p;

    v->phase = ti_grow(v->phase, &v->phases_cap, v->nphases + 1, sizeof *v->phase);
    p = &v->phase[v->nphases++];
    *p = (struct ti__phase){.around = l->phase};
    p->name = ti_grow(NULL, &cap, (size_t)v->n, sizeof(char *));
    for (int t = 0; t < v->n; t++)
        p->name[t] = name_of(l, k, end, t);
    for (; k < end; k++) {
        const struct body *b = &l->item[k].is;

        for (uint32_t i = b->begin; i < b->end; i++)
            nodes_of(v, b)[i].phase = inner.phase;
        add_body(&inner.in, (struct body){b->trace, b->shape,
                                          l->item[k].inside ? b->begin : b->begin + 1, b->end});
    }
    find_phases(v, &inner);
}

/* Find the phases in the bodies of a level, which it frees.  Far down, all loops are taken as they
 * are, so that there is an end. */
static void find_phases(struct ti_versions *v, struct level *l)
{
    list_loops(l);
    unite_loops(l);
    group_loops(l);
    for (size_t k = 0, end; k < l->n; k = end) {
        end = group_end(l, k);
        if (l->depth < 4 * TI_SHAPE_DEPTH)
            find_inside(l, k, end);
        make_phase(v, l, k, end);
    }
    free(l->in.list);
    free(l->item);
}

void ti__versions_match_phases(struct ti_versions *v)
{
    struct level whole = {.v = v, .numbers = same_everywhere(v), .phase = NONE};

    for (int t = 0; t < v->n; t++)
        for (size_t s = 0; s < v->version[t].hashes.n; s++)
            add_body(&whole.in, (struct body){t, s, 0, v->version[t].shape[s].nnodes});
    find_phases(v, &whole);
}

void ti_versions_match(struct ti_versions *v)
{
    ti__versions_match_sites(v);
    ti__versions_match_phases(v);
}

/* --------------------------------------------------------------- results -- */

size_t ti_versions_sites(const struct ti_versions *v)
{
    return v->njoint;
}

uint32_t ti_versions_op(const struct ti_versions *v, size_t site)
{
    return v->joint[site].is.op;
}

const char *ti_versions_text(const struct ti_versions *v, size_t site, int trace)
{
    size_t text = v->joint[site].text[trace];

    return text == NONE ? NULL : v->texts.text[text];
}

size_t ti_versions_site_of(const struct ti_versions *v, int trace, size_t number)
{
    return v->version[trace].site[number].joint;
}

size_t ti_versions_phases(const struct ti_versions *v)
{
    return v->nphases;
}

size_t ti_versions_around(const struct ti_versions *v, size_t phase)
{
    return v->phase[phase].around;
}

const char *ti_versions_name(const struct ti_versions *v, size_t phase, int trace)
{
    return v->phase[phase].name[trace];
}

size_t ti_versions_phase_of(const struct ti_versions *v, int trace, size_t shape, uint32_t node)
{
    return v->version[trace].shape[shape].node[node].phase;
}

size_t ti_versions_call_of(const struct ti_versions *v, int trace, size_t shape, uint32_t node)
{
    const struct ti__version *t = &v->version[trace];

    return t->site[t->shape[shape].node[node].site].joint;
}

uint32_t ti_versions_loop(const struct ti_versions *v, int trace, size_t shape, uint32_t n)
{
    const struct ti__version_shape *s = &v->version[trace].shape[shape];

    for (uint32_t i = 0; i < s->nnodes; i++)
        if (s->node[i].loop && n-- == 0)
            return i;
    return UINT32_MAX;
}
