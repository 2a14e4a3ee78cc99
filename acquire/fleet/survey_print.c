/* The survey for people: findings in groups, and a table of the nodes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/fleet/survey.h"
#include "common/cli.h"
#include "common/hostlist.h"
#include "common/json.h"
#include "common/order.h"

#define ALIKE     8   /* sizes that differ by less than 1 / ALIKE are grouped */
#define NAMES_MAX 160 /* bytes of the names of a group, unless all are to be printed */

static int compare_findings(const struct ti_survey_finding *a, const struct ti_survey_finding *b)
{
    int order = strcmp(a->text + a->rest, b->text + b->rest);

    if (!order)
        order = (int)a->fatal - (int)b->fatal;
    if (!order)
        order = (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

static int by_text(const void *a, const void *b)
{
    return compare_findings(a, b);
}

struct range {
    int64_t min, max;
};

static void widen(struct range *r, int64_t v)
{
    if (!r->max || v < r->min)
        r->min = v;
    if (v > r->max)
        r->max = v;
}

static const char *sizes_text(const struct range *r, char *buf, size_t bytes)
{
    char a[32], b[32];

    ti_format_size(r->min, a, sizeof a);
    ti_format_size(r->max, b, sizeof b);
    if (strcmp(a, b) == 0)
        snprintf(buf, bytes, "%s", a);
    else
        snprintf(buf, bytes, "%s to %s", a, b);
    return buf;
}

/* `a` is the first finding of the group. */
static bool same_group(const struct ti_survey_finding *a, const struct ti_survey_finding *b)
{
    return a->fatal == b->fatal && !a->rest == !b->rest &&
           strcmp(a->text + a->rest, b->text + b->rest) == 0 &&
           b->bytes - a->bytes <= a->bytes / ALIKE;
}

/* Findings that are printed as one, sorted by node. */
struct group {
    struct ti_survey_finding *f;
    int64_t n;
    struct range sizes;
};

static int by_first_node(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return (x->f->node > y->f->node) - (x->f->node < y->f->node);
}

static int lines_of(const struct ti_survey_finding *f)
{
    return 1 + (f->detail[0] != '\0') + (f->hint[0] != '\0');
}

TI_ORDER_BY(by_node, struct ti_survey_finding, node)

/* The groups of all findings of a kind, in the order of their first nodes; *n of them. */
static struct group *make_groups(const struct ti_survey *s, bool fatal, int64_t *n)
{
    struct group *g = calloc((size_t)s->nfindings + 1, sizeof *g);

    *n = 0;
    if (s->nfindings)
        qsort(s->finding, (size_t)s->nfindings, sizeof *s->finding, by_text);
    for (int64_t i = 0, next; g && i < s->nfindings; i = next) {
        struct ti_survey_finding *f = &s->finding[i];

        for (next = i + 1; next < s->nfindings && same_group(f, &s->finding[next]); next++)
            ;
        if (f->fatal != fatal)
            continue;
        g[*n] = (struct group){f, next - i, {f->bytes, f[next - i - 1].bytes}};
        qsort(f, (size_t)(next - i), sizeof *f, by_node); /* so that names can be abbreviated */
        ++*n;
    }
    if (g)
        qsort(g, (size_t)*n, sizeof *g, by_first_node);
    return g;
}

/* "cluster c0, site a, by gw"; of several: "5 clusters at 3 sites". */
static void where_text(const struct group *g, const struct ti_sites *sites, char *text,
                       size_t bytes)
{
    const struct ti_cluster *c = &sites->cluster[sites->node[g->f->node].cluster];
    const struct ti_site *site = &sites->site[c->site];
    int clusters = 1, nsites = 1;

    for (int64_t i = 1; i < g->n; i++) {
        int before = sites->node[g->f[i - 1].node].cluster,
            here = sites->node[g->f[i].node].cluster;

        clusters += here != before;
        nsites += sites->cluster[here].site != sites->cluster[before].site;
    }
    if (clusters == 1)
        snprintf(text, bytes, "cluster %s, site %s%s%s", c->name, site->name,
                 site->gateway ? ", by " : "", site->gateway ? site->gateway : "");
    else if (nsites == 1)
        snprintf(text, bytes, "%d clusters, site %s%s%s", clusters, site->name,
                 site->gateway ? ", by " : "", site->gateway ? site->gateway : "");
    else
        snprintf(text, bytes, "%d clusters at %d sites", clusters, nsites);
}

/* Bytes of a hostlist that are printed: all, or the names of its beginning. */
static size_t names_shown(const char *folded)
{
    size_t shown = 0, i;
    int depth = 0;

    for (i = 0; folded[i]; i++) {
        depth += (folded[i] == '[') - (folded[i] == ']');
        if (shown && i > NAMES_MAX)
            return shown;
        if (folded[i] == ',' && depth == 0)
            shown = i;
    }
    return i <= NAMES_MAX || !shown ? i : shown;
}

static void print_group(const struct group *g, const struct ti_sites *sites, bool all, FILE *out)
{
    const char **names = calloc((size_t)g->n, sizeof *names);
    const struct ti_survey_finding *f = g->f;
    char *folded = NULL, size[80] = "", where[700];
    size_t length;

    if (f->rest)
        sizes_text(&g->sizes, size, sizeof size);
    for (int64_t i = 0; names && i < g->n; i++)
        names[i] = sites->node[f[i].node].name;
    if (names)
        folded = ti_hostlist_fold(names, g->n);
    where_text(g, sites, where, sizeof where);
    length = folded ? (all ? strlen(folded) : names_shown(folded)) : 0;
    if (folded && folded[length])
        ti_print(out, "  %" PRId64 " nodes, %.*s,... (%s): %s%s\n", g->n, (int)length, folded,
                 where, size, f->text + f->rest);
    else
        ti_print(out, "  %s (%s): %s%s\n", folded ? folded : "?", where, size, f->text + f->rest);
    if (f->detail[0])
        ti_print(out, "    %s\n", f->detail);
    if (f->hint[0])
        ti_print(out, "    hint: %s\n", f->hint);
    free(folded);
    free(names);
}

void ti_survey_print_findings(const struct ti_survey *s, const struct ti_sites *sites, bool fatal,
                              int most_lines, FILE *out)
{
    int64_t left_out = 0, n;
    struct group *g = make_groups(s, fatal, &n);
    int lines = 0;

    for (int64_t i = 0; i < n; i++) {
        lines += lines_of(g[i].f);
        if (most_lines && lines >= most_lines)
            left_out += g[i].n;
        else
            print_group(&g[i], sites, !most_lines, out);
    }
    free(g);
    if (left_out)
        ti_print(out, "  ... and %" PRId64 " more findings: the log and --probe --json have all\n",
                 left_out);
}

static const char *string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "?";
}

static void print_cluster(const struct ti_survey *s, const struct ti_sites *sites, int cluster,
                          FILE *out)
{
    struct range memory = {0, 0}, disk = {0, 0}, cores = {0, 0};
    const json_t *facts = NULL;
    int64_t nodes = 0, usable = 0;
    char a[80], b[80];

    for (int64_t i = 0; i < s->n; i++) {
        if (sites->node[i].cluster != cluster)
            continue;
        nodes++;
        if (!s->usable[i])
            continue;
        usable++;
        facts = s->facts[i];
        widen(&memory, ti_json_integer(facts, "memory_bytes"));
        widen(&cores, ti_json_integer(facts, "cores"));
        widen(&disk, ti_json_integer(json_object_get(facts, "trace_dir"), "free_bytes"));
    }
    ti_print(out, "  %-12s %4" PRId64 " of %-4" PRId64, sites->cluster[cluster].name, usable,
             nodes);
    if (!facts) {
        fputs(" cannot be used\n", out);
        return;
    }
    ti_print(out, " %" PRId64, cores.min);
    if (cores.max > cores.min)
        ti_print(out, " to %" PRId64, cores.max);
    ti_print(out, " core%s each, %s available, %s free for traces\n", cores.max == 1 ? "" : "s",
             sizes_text(&memory, a, sizeof a), sizes_text(&disk, b, sizeof b));
    ti_print(out, "    %s, %s %s, Open MPI %s, counter %s\n", string(facts, "cpu"),
             string(facts, "family"), string(facts, "isa"),
             string(json_object_get(facts, "mpi"), "version"),
             string(json_object_get(facts, "counter"), "counter"));
}

void ti_survey_print_nodes(const struct ti_survey *s, const struct ti_sites *sites, FILE *out)
{
    for (int site = 0; site < sites->nsites; site++) {
        ti_print(out, "site %s%s%s\n", sites->site[site].name,
                 sites->site[site].gateway ? ", by " : "",
                 sites->site[site].gateway ? sites->site[site].gateway : "");
        for (int c = 0; c < sites->nclusters; c++)
            if (sites->cluster[c].site == site)
                print_cluster(s, sites, c, out);
    }
}
