/* The survey for people: findings in groups, and a table of the nodes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/fleet/survey.h"
#include "common/cli.h"
#include "common/hostlist.h"
#include "common/json.h"
#include "common/order.h"

#define ALIKE 8 /* sizes that differ by less than 1 / ALIKE are grouped */

static int compare_findings(const struct ti_survey_finding *a, const struct ti_survey_finding *b,
                            const struct ti_sites *sites)
{
    int x = sites->node[a->node].cluster, y = sites->node[b->node].cluster;
    int order = x != y ? x - y : strcmp(a->text + a->rest, b->text + b->rest);

    if (!order)
        order = (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

static int by_cluster_and_text(const void *a, const void *b, void *sites)
{
    return compare_findings(a, b, sites);
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
static bool same_group(const struct ti_survey_finding *a, const struct ti_survey_finding *b,
                       const struct ti_sites *sites)
{
    return a->fatal == b->fatal && sites->node[a->node].cluster == sites->node[b->node].cluster &&
           !a->rest == !b->rest && strcmp(a->text + a->rest, b->text + b->rest) == 0 &&
           b->bytes - a->bytes <= a->bytes / ALIKE;
}

static int lines_of(const struct ti_survey_finding *f)
{
    return 1 + (f->detail[0] != '\0') + (f->hint[0] != '\0');
}

TI_ORDER_BY(by_node, struct ti_survey_finding, node)

static void print_group(struct ti_survey_finding *f, int64_t n, const struct ti_sites *sites,
                        FILE *out)
{
    const char **names = calloc((size_t)n, sizeof *names);
    const struct ti_cluster *c = &sites->cluster[sites->node[f->node].cluster];
    const struct ti_site *site = &sites->site[c->site];
    struct range sizes = {f->bytes, f[n - 1].bytes};
    char *folded = NULL, size[80] = "";

    if (f->rest)
        sizes_text(&sizes, size, sizeof size);
    qsort(f, (size_t)n, sizeof *f, by_node); /* so that names can be abbreviated */

    for (int64_t i = 0; names && i < n; i++)
        names[i] = sites->node[f[i].node].name;
    if (names)
        folded = ti_hostlist_fold(names, n);
    ti_print(out, "  %s (cluster %s, site %s%s%s): %s%s\n", folded ? folded : "?", c->name,
             site->name, site->gateway ? ", by " : "", site->gateway ? site->gateway : "", size,
             f->text + f->rest);
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
    int64_t left_out = 0;
    int lines = 0;

    if (s->nfindings)
        qsort_r(s->finding, (size_t)s->nfindings, sizeof *s->finding, by_cluster_and_text,
                (void *)sites);
    for (int64_t i = 0, next; i < s->nfindings; i = next) {
        for (next = i + 1;
             next < s->nfindings && same_group(&s->finding[i], &s->finding[next], sites); next++)
            ;
        if (s->finding[i].fatal != fatal)
            continue;
        lines += lines_of(&s->finding[i]);
        if (most_lines && lines >= most_lines)
            left_out += next - i;
        else
            print_group(&s->finding[i], next - i, sites, out);
    }
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
