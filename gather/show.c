#include "gather/show.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/clock.h"
#include "common/hostlist.h"
#include "common/json.h"

#define NAMES_WIDTH 48 /* of a list of siblings on one line */

/* Children of each node, in the order of RUN.json; this machine's come first. */
struct view {
    const struct ti_fetch *f;
    int64_t *child; /* those of i from first[i + 1] on */
    int64_t *first;
    int64_t *size; /* nodes of the subtree */
    int64_t *like; /* by size of a subtree: a node whose subtree of that size was shown; -1 */
    bool all;
    FILE *out;
};

static bool in_tree(const struct ti_fetch *f, int64_t i)
{
    return f->node[i].depth > 0;
}

static bool view_new(struct view *v, const struct ti_fetch *f)
{
    size_t n = (size_t)f->nnodes;

    *v = (struct view){.f = f,
                       .child = calloc(n + 1, sizeof *v->child),
                       .first = calloc(n + 2, sizeof *v->first),
                       .size = calloc(n + 1, sizeof *v->size),
                       .like = malloc((n + 1) * sizeof *v->like)};
    if (!v->child || !v->first || !v->size || !v->like)
        return false;
    for (size_t k = 0; k <= n; k++)
        v->like[k] = -1;
    for (int64_t i = 0; i < f->nnodes; i++) {
        if (!in_tree(f, i))
            continue;
        v->first[f->node[i].first_parent + 2]++;
        for (int64_t at = i; at >= 0; at = f->node[at].first_parent)
            v->size[at]++;
    }
    for (size_t k = 0; k <= n; k++)
        v->first[k + 1] += v->first[k];
    for (int64_t i = 0; i < f->nnodes; i++)
        if (in_tree(f, i))
            v->child[v->first[f->node[i].first_parent + 1]++] = i;
    memmove(v->first + 1, v->first, (n + 1) * sizeof *v->first);
    v->first[0] = 0;
    return true;
}

static void view_free(struct view *v)
{
    free(v->child);
    free(v->first);
    free(v->size);
    free(v->like);
}

/* --- plan ---------------------------------------------------------------- */

/* "21 ranks, 1.8 MiB" of one node, "20-21 ranks each" of several. */
static void print_amount(const struct view *v, const int64_t *node, int64_t n)
{
    int64_t least = INT64_MAX, most = 0, bytes = 0;
    char size[32];

    for (int64_t k = 0; k < n; k++) {
        const struct ti_fetch_node *x = &v->f->node[node[k]];

        least = x->wanted < least ? x->wanted : least;
        most = x->wanted > most ? x->wanted : most;
        bytes += x->wanted_bytes;
    }
    if (most == 0)
        ti_print(v->out, "%s ranks are not known yet", n > 1 ? "their" : "its");
    else if (least == most)
        ti_print(v->out, "%" PRId64 " rank%s", most, most == 1 ? "" : "s");
    else
        ti_print(v->out, "%" PRId64 "-%" PRId64 " ranks", least, most);
    if (n > 1 && most)
        fputs(" each", v->out);
    if (bytes)
        ti_print(v->out, ", %s%s", ti_format_size(bytes, size, sizeof size),
                 n > 1 ? " in all" : "");
}

static void print_names(const struct view *v, const int64_t *node, int64_t n)
{
    const char **name = malloc((size_t)n * sizeof *name);
    char *text;

    for (int64_t k = 0; name && k < n; k++)
        name[k] = v->f->node[node[k]].name;
    text = name ? ti_hostlist_fold(name, n) : NULL;
    if (text && strlen(text) > NAMES_WIDTH)
        ti_print(v->out, "%.*s...", NAMES_WIDTH - 3, text);
    else
        ti_print(v->out, "%s", text ? text : "");
    free(text);
    free(name);
}

static void print_passing(const struct view *v, int64_t node, int64_t n)
{
    int64_t others = v->size[node] - 1;

    if (others)
        ti_print(v->out, "; %s on %" PRId64 " node%s%s", n > 1 ? "pass" : "passes", others,
                 others == 1 ? "" : "s", n > 1 ? " each" : "");
}

/* Prints siblings with equal subtrees on one line. */
static void print_alike(const struct view *v, const int64_t *node, int64_t n, int indent)
{
    ti_print(v->out, "%*s", indent, "");
    print_names(v, node, n);
    fputs(": ", v->out);
    print_amount(v, node, n);
    print_passing(v, node[0], n);
    if (v->like[v->size[node[0]]] >= 0)
        ti_print(v->out, ", as %s", v->f->node[v->like[v->size[node[0]]]].name);
    fputc('\n', v->out);
}

/* Subtrees of one size have the same shape, so one of each size is shown. */
static void print_siblings(const struct view *v, const int64_t *node, int64_t n, int indent)
{
    for (int64_t k = 0, alike; k < n; k += alike) {
        int64_t size = v->size[node[k]], from = v->first[node[k] + 1];

        for (alike = 1; !v->all && k + alike < n && v->size[node[k + alike]] == size;)
            alike++;
        if (!v->all && (size == 1 || v->like[size] >= 0)) {
            print_alike(v, node + k, alike, indent);
            continue;
        }
        print_alike(v, node + k, 1, indent);
        print_siblings(v, v->child + from, v->first[node[k] + 2] - from, indent + 2);
        if (v->all)
            continue;
        v->like[size] = node[k];
        if (alike > 1)
            print_alike(v, node + k + 1, alike - 1, indent);
    }
}

/* Nodes of one site, and where its nodes at the top of the tree begin in a list by sites. */
struct site_view {
    const char *name, *gateway;
    int64_t count, first, n;
};

static void print_site(const struct view *v, const struct site_view *s, const int64_t *top)
{
    if (!s->n)
        return;
    ti_print(v->out, "%s%s%" PRId64 " node%s%s%s\n", s->name && *s->name ? s->name : "",
             s->name && *s->name ? ": " : "", s->count, s->count == 1 ? "" : "s",
             s->gateway ? " through " : ", from here", s->gateway ? s->gateway : "");
    print_siblings(v, top + s->first, s->n, 2);
}

static void print_sites(const struct view *v, const struct ti_nodes *nodes)
{
    struct site_view *site = calloc((size_t)v->f->nsites + 1, sizeof *site);
    int64_t *top = malloc((size_t)(v->first[1] + 1) * sizeof *top);

    if (!site || !top)
        goto out;
    for (int64_t i = 0; i < v->f->nnodes; i++) {
        struct site_view *s = &site[v->f->node[i].site_number];

        if (!in_tree(v->f, i))
            continue;
        s->count++;
        s->name = v->f->node[i].site;
        s->gateway = nodes->node[i].gateway ? nodes->node[i].gateway : s->gateway;
    }
    for (int64_t k = 0; k < v->first[1]; k++)
        site[v->f->node[v->child[k]].site_number + 1].first++;
    for (int s = 0; s < v->f->nsites; s++)
        site[s + 1].first += site[s].first;
    for (int64_t k = 0; k < v->first[1]; k++) {
        struct site_view *s = &site[v->f->node[v->child[k]].site_number];

        top[s->first + s->n++] = v->child[k];
    }
    for (int s = 0; s < v->f->nsites; s++)
        print_site(v, &site[s], top);
out:
    free(site);
    free(top);
}

static void print_cost(FILE *out, const struct ti_fetch *f, const struct ti_tree_cost *cost,
                       const struct ti_tree_costs *costs)
{
    char assumed[256];

    if (f->arity == TI_ARITY_STAR)
        ti_print(out, "star: %" PRId64 " connections from here\n", cost->here);
    else
        ti_print(out,
                 "arity %d: %d round%s, %d hop%s at most, %" PRId64 " connection%s from here, "
                 "%" PRId64 " from a node at most\n",
                 f->arity, cost->rounds, cost->rounds == 1 ? "" : "s", cost->depth,
                 cost->depth == 1 ? "" : "s", cost->here, cost->here == 1 ? "" : "s", cost->most);
    ti_print(out, "predicted: all nodes connected after %.1f s", cost->connect_s);
    if (cost->bound_s > 0)
        ti_print(out, ", the last byte after %.1f s; the links alone take %.1f s\n", cost->total_s,
                 cost->bound_s);
    else
        fputs("; RUN.json does not say how much they have to send\n", out);
    ti_print(out, "assumed: %s\n", ti_tree_costs_text(costs, assumed, sizeof assumed));
    fputs("         --assume rtt=5ms,rate=100mbit changes that, --arity the tree\n", out);
}

void ti_show_plan(FILE *out, const struct ti_fetch *f, const struct ti_nodes *nodes,
                  const struct ti_tree_costs *costs, bool all)
{
    struct ti_tree_cost cost = ti_show_predict(f, nodes, costs);
    struct view v;

    if (view_new(&v, f)) {
        v.all = all;
        v.out = out;
        print_sites(&v, nodes);
        print_cost(out, f, &cost, costs);
    }
    view_free(&v);
}

/* --- model --------------------------------------------------------------- */

struct ti_tree_cost ti_show_predict(const struct ti_fetch *f, const struct ti_nodes *nodes,
                                    const struct ti_tree_costs *costs)
{
    size_t n = (size_t)f->nnodes, nsites = f->nsites > 0 ? (size_t)f->nsites : 1;
    int64_t *number = calloc(n + 1, sizeof *number), *bytes = calloc(n + 1, sizeof *bytes),
            *parent = calloc(n + 1, sizeof *parent);
    int *site = calloc(n + 1, sizeof *site), *depth = calloc(n + 1, sizeof *depth);
    bool *gateway = calloc(nsites, sizeof *gateway);
    struct ti_tree t = {.arity = f->arity, .parent = parent, .depth = depth};
    struct ti_tree_in in = {.nsites = (int)nsites, .site = site, .gateway = gateway};
    struct ti_tree_cost cost = f->cost;

    if (!number || !bytes || !parent || !site || !depth || !gateway)
        goto out;
    for (int64_t i = 0; i < f->nnodes; i++) {
        const struct ti_fetch_node *x = &f->node[i];

        if (!in_tree(f, i))
            continue;
        number[i] = t.n++;
        site[number[i]] = x->site_number;
        if (nodes->node[i].gateway)
            gateway[x->site_number] = true;
        if (!nodes->node[i].local) { /* a local node uses no link */
            bytes[number[i]] = x->wanted_bytes;
            if (x->wanted_bytes)
                in.bytes = bytes;
        }
    }
    for (int64_t i = 0; i < f->nnodes; i++) /* a parent may come after its child */
        if (in_tree(f, i))
            parent[number[i]] = f->node[i].first_parent < 0 ? -1 : number[f->node[i].first_parent];
    for (int64_t i = 0; i < t.n; i++)
        for (int64_t at = i; at >= 0; at = parent[at])
            depth[i]++;
    in.n = t.n;
    cost = ti_tree_cost(&in, &t, costs);
out:
    free(number);
    free(bytes);
    free(parent);
    free(site);
    free(depth);
    free(gateway);
    return cost;
}

/* --- JSON ---------------------------------------------------------------- */

static json_t *parent_json(const struct ti_fetch *f, int64_t parent)
{
    return ti_json_text(parent < 0 ? NULL : f->node[parent].name);
}

/* How long each node's connection was in use: until the last node behind it was done.  NULL when
 * memory is short. */
static double *link_seconds(const struct ti_fetch *f)
{
    double *s = calloc((size_t)f->nnodes + 1, sizeof *s);

    for (int64_t i = 0; s && i < f->nnodes; i++)
        for (int64_t at = i; at >= 0; at = f->node[at].parent)
            if (f->node[i].done_s > s[at])
                s[at] = f->node[i].done_s;
    for (int64_t i = 0; s && i < f->nnodes; i++)
        s[i] = f->node[i].ready_s > 0 && s[i] > f->node[i].ready_s ? s[i] - f->node[i].ready_s : 0;
    return s;
}

static json_t *state_json(enum ti_fetch_state state)
{
#define WORD(name) #name,
    static const char *const words[] = {TI_FETCH_STATES(WORD)};
#undef WORD
    char word[32] = "";

    for (size_t i = 0; words[state][i] && i + 1 < sizeof word; i++)
        word[i] = (char)tolower((unsigned char)words[state][i]);
    return json_string(word);
}

static json_t *node_json(const struct ti_fetch *f, int64_t i)
{
    const struct ti_fetch_node *x = &f->node[i];
    json_t *j = json_pack(
        "{s:o, s:o, s:o, s:o, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:i, s:o}",
        "name", ti_json_text(x->name), "site", ti_json_text(x->site), "parent",
        parent_json(f, x->parent), "planned_parent", parent_json(f, x->first_parent), "depth",
        x->depth, "state", state_json(x->state), "wanted", (json_int_t)x->wanted, "ranks",
        (json_int_t)x->ranks, "missing", (json_int_t)x->missing, "wanted_bytes",
        (json_int_t)x->wanted_bytes, "bytes", (json_int_t)x->bytes, "sent_bytes",
        (json_int_t)x->sent, "link_bytes", (json_int_t)x->link, "ready_seconds",
        ti_milliseconds(x->ready_s), "done_seconds", ti_milliseconds(x->done_s), "retries",
        x->retries, "transport", ti_json_text(x->transport));

    if (j && x->why)
        json_object_set_new(j, "error", ti_json_text(x->why));
    if (j && x->not_compared.n)
        json_object_set_new(j, "not_compared", ti_ranges_json(&x->not_compared));
    return j;
}

static json_t *predicted_json(const struct ti_tree_cost *cost, const struct ti_tree_costs *costs)
{
    char assumed[256];

    return json_pack("{s:f, s:f, s:f, s:s}", "connect_seconds", ti_milliseconds(cost->connect_s),
                     "bound_seconds", ti_milliseconds(cost->bound_s), "total_seconds",
                     ti_milliseconds(cost->total_s), "assumed",
                     ti_tree_costs_text(costs, assumed, sizeof assumed));
}

static bool begun(const struct ti_fetch *f)
{
    for (int64_t i = 0; i < f->nnodes; i++)
        if (f->node[i].state > TI_FETCH_WAITING)
            return true;
    return false;
}

/* The tree, its prediction and, unless it is a plan, the measured times and counts. */
static json_t *summary(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                       const struct ti_tree_costs *costs)
{
    json_t *j = json_pack("{s:o, s:i, s:i, s:I, s:I, s:o}", "arity",
                          f->arity == TI_ARITY_STAR ? json_string("star") : json_integer(f->arity),
                          "rounds", predicted->rounds, "depth", predicted->depth, "connections",
                          (json_int_t)predicted->here, "most_children", (json_int_t)predicted->most,
                          "predicted", predicted_json(predicted, costs));
    json_t *was;

    if (!begun(f))
        return j;
    was = json_pack(
        "{s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "connected_seconds", ti_milliseconds(f->connected_s), "listed_seconds",
        ti_milliseconds(f->listed_s), "transferred_seconds", ti_milliseconds(f->transferred_s),
        "seconds", ti_milliseconds(f->seconds), "resumed_bytes", (json_int_t)f->resumed, "kept",
        (json_int_t)f->kept, "relays_lost", (json_int_t)f->lost, "adopted", (json_int_t)f->adopted,
        "ranks_again", (json_int_t)f->again, "ranks_shared", (json_int_t)f->shared, "ranks_alike",
        (json_int_t)f->alike, "ranks_differing", (json_int_t)f->conflicts, "memory_bytes",
        (json_int_t)f->memory_bytes, "descriptors", (json_int_t)f->descriptors);
    json_object_update(j, was);
    json_decref(was);
    return j;
}

json_t *ti_show_json(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                     const struct ti_tree_costs *costs)
{
    json_t *j = summary(f, predicted, costs), *list = json_array();

    for (int64_t i = 0; i < f->nnodes; i++)
        if (in_tree(f, i))
            json_array_append_new(list, node_json(f, i));
    if (json_object_set_new(j, "nodes", list) != 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

static json_t *transports(const struct ti_fetch *f)
{
    json_t *j = json_object();

    for (int64_t i = 0; i < f->nnodes; i++) {
        const char *name = f->node[i].transport;

        if (name)
            json_object_set_new(j, name,
                                json_integer(json_integer_value(json_object_get(j, name)) + 1));
    }
    return j;
}

json_t *ti_show_gathering(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                          const struct ti_tree_costs *costs)
{
    json_t *j = summary(f, predicted, costs), *links = json_array();
    double *seconds = link_seconds(f);

    for (int64_t i = 0; seconds && i < f->nnodes; i++)
        if (in_tree(f, i))
            json_array_append_new(links, json_pack("[o, o, I, f]", ti_json_text(f->node[i].name),
                                                   parent_json(f, f->node[i].parent),
                                                   (json_int_t)f->node[i].link,
                                                   ti_milliseconds(seconds[i])));
    free(seconds);
    json_object_set_new(j, "transports", transports(f));
    if (json_object_set_new(j, "links", links) != 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

/* --- drawing ------------------------------------------------------------- */

static void put_quoted(FILE *out, const char *text)
{
    for (; *text; text++) {
        bool control = (unsigned char)*text < ' ' || *text == 0x7f;

        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(control ? ' ' : *text, out);
    }
}

static void draw_node(FILE *out, const struct ti_fetch *f, int64_t i)
{
    const struct ti_fetch_node *x = &f->node[i];
    bool failed = x->state == TI_FETCH_FAILED, begun = x->ready_s > 0 || failed;
    char size[32] = "";

    if (begun ? x->bytes : x->wanted_bytes)
        ti_format_size(begun ? x->bytes : x->wanted_bytes, size, sizeof size);
    fprintf(out, "    n%" PRId64 " [label=\"", i);
    put_quoted(out, x->name);
    if (begun)
        fprintf(out, "\\n%" PRId64 " of %" PRId64 " ranks", x->ranks, x->wanted);
    else
        fprintf(out, "\\n%" PRId64 " ranks", x->wanted);
    fprintf(out, "%s%s\"", *size ? ", " : "", size);
    if (failed)
        fputs(", color=red, fontcolor=red", out);
    else if (x->why)
        fputs(", color=orange", out);
    if (x->why) {
        fputs(", tooltip=\"", out);
        put_quoted(out, x->why);
        fputc('"', out);
    }
    fputs("];\n", out);
}

static void draw_end(FILE *out, int64_t parent)
{
    if (parent < 0)
        fputs("here", out);
    else
        fprintf(out, "n%" PRId64, parent);
}

static void draw_link(FILE *out, const struct ti_fetch *f, int64_t i, double seconds)
{
    const struct ti_fetch_node *x = &f->node[i];
    char size[32], rate[32];

    fprintf(out, "  n%" PRId64 " -> ", i);
    draw_end(out, x->parent);
    if (x->link) {
        fprintf(out, " [label=\"%s", ti_format_size(x->link, size, sizeof size));
        if (seconds > 0)
            fprintf(out, "\\n%s/s",
                    ti_format_size((int64_t)((double)x->link / seconds), rate, sizeof rate));
        fprintf(out, "\"%s]", x->state == TI_FETCH_FAILED ? ", color=red, fontcolor=red" : "");
    } else if (x->state == TI_FETCH_FAILED) {
        fputs(" [color=red]", out);
    }
    fputs(";\n", out);
    if (x->parent != x->first_parent) {
        fprintf(out, "  n%" PRId64 " -> ", i);
        draw_end(out, x->first_parent);
        fputs(" [style=dashed, color=gray, constraint=false];\n", out);
    }
}

static void draw(FILE *out, const struct ti_fetch *f)
{
    double *seconds = link_seconds(f);
    char size[32];

    fprintf(out,
            "digraph gather {\n  rankdir=RL;\n  node [shape=box, fontsize=10];\n"
            "  edge [fontsize=9];\n  here [label=\"here\\n%" PRId64 " of %" PRId64
            " ranks, %s\", shape=oval];\n",
            f->fetched, f->wanted, ti_format_size(f->bytes, size, sizeof size));
    for (int s = 0; s < f->nsites; s++) {
        bool open = false;

        for (int64_t i = 0; i < f->nnodes; i++) {
            if (!in_tree(f, i) || f->node[i].site_number != s)
                continue;
            if (!open) {
                fprintf(out, "  subgraph cluster_%d {\n    label=\"", s);
                put_quoted(out, f->node[i].site ? f->node[i].site : "");
                fputs("\";\n", out);
                open = true;
            }
            draw_node(out, f, i);
        }
        if (open)
            fputs("  }\n", out);
    }
    for (int64_t i = 0; i < f->nnodes; i++)
        if (in_tree(f, i))
            draw_link(out, f, i, seconds ? seconds[i] : 0);
    free(seconds);
    fputs("}\n", out);
}

ti_status ti_show_dot(const char *path, const struct ti_fetch *f, struct ti_err *err)
{
    FILE *out = fopen(path, "we");
    ti_status st = TI_OK;

    if (!out)
        return ti_err_errno(err, TI_ERR_IO, "cannot write the drawing '%s'", path);
    draw(out, f);
    if (fflush(out) != 0 || ferror(out))
        st = ti_err_errno(err, TI_ERR_IO, "cannot write the drawing '%s'", path);
    if (fclose(out) != 0 && st == TI_OK)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write the drawing '%s'", path);
    return st;
}
