#include "extrapolate/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "extrapolate/explain.h"
#include "extrapolate/search.h"

#define SITES_SHOWN 5

void ti_name_sites(struct ti_symbolizer *z, char *text, size_t room)
{
    char *at = text, *id;

    while ((id = strstr(at, " ["))) {
        char *from = id, *end = id + 2 + strspn(id + 2, "0123456789abcdef"), site[512], where[512];
        char rest[2048];

        at = id + 2;
        if (*end != ']' || end - at < 8 || end - at > 128)
            continue;
        while (from > text && from[-1] != ' ')
            from--;
        snprintf(site, sizeof site, "%.*s", (int)(end + 1 - from), from);
        snprintf(rest, sizeof rest, "%s", end + 1);
        ti_site_text(z, site, where, sizeof where);
        at = from + strlen(where);
        snprintf(from, room - (size_t)(from - text), "%s%s", where, rest);
        if (at >= text + room)
            return;
    }
}

static void print_sites(const struct ti_proof *p, struct ti_symbolizer *z)
{
    char where[512];
    int shown = 0;

    for (size_t i = 0; i < p->nsites && shown < SITES_SHOWN; i++) {
        const struct ti_proof_site *s = &p->site[i];

        if (s->was < TI_PROOF_RELEVANT * p->was || s->was == s->made)
            continue;
        if (!shown++)
            printf("call sites with the largest differences:\n");
        ti_print(stdout, "  %-40s %5.1f %% of the volume, off by %.2g %%\n",
                 ti_site_text(z, s->site, where, sizeof where), 100 * s->was / p->was,
                 100 * ti_proof_off(s->was, s->made));
    }
}

static void print_proof(const struct ti_proof *p, struct ti_symbolizer *z)
{
    char text[1024], a[32], b[32];

    if (p->tried && !p->holds)
        printf("proof: from the others, %" PRId64 " of %" PRId64 " ranks come out with equal "
               "events (%s of %s events), and the volume is off by %.2g %%\n",
               p->equal_ranks, p->np, ti_format_count(p->equal_events, a, sizeof a),
               ti_format_count(p->events, b, sizeof b), 100 * ti_proof_off(p->was, p->made));
    if (p->holds)
        ti_print(stdout, "%s\n", ti_proof_text(p, text, sizeof text));
    print_sites(p, z);
}

const char *ti_target_volumes_text(const struct ti_target_volumes *v, char *buf, size_t room)
{
    const struct ti_volume *all = &v->all;

    if (all->low == all->is && all->high == all->is)
        snprintf(buf, room, "all volumes follow from rules");
    else
        snprintf(buf, room, "the volume is determined to %+.3g to %+.3g %%",
                 100 * (all->low / all->is - 1), 100 * (all->high / all->is - 1));
    return buf;
}

void ti_extrapolated_print(const struct ti_extrapolated *e, struct ti_symbolizer *z)
{
    const struct ti_models *m = e->models;
    char sizes[128], grid[96], size[32], volume[128];

    printf("%" PRId64 " ranks from %s, in a grid of %s; %zu kind%s of ranks\n", m->np,
           ti_originals_sizes(e->of, m->in->n, sizes, sizeof sizes),
           ti_grid_text(&m->grid, m->in->n, grid, sizeof grid), m->in->nclasses,
           m->in->nclasses == 1 ? "" : "s");
    if (e->output)
        print_proof(e->proof, z);
    if (e->output)
        printf("%s\n", ti_target_volumes_text(e->volumes, volume, sizeof volume));
    if (e->rules)
        ti_explain_print(e->rules);
    if (e->output)
        ti_print(stdout, "%s: %s, sound\n", e->output, ti_format_size(e->bytes, size, sizeof size));
}

static json_t *grids(const struct ti_models *m)
{
    json_t *list = json_array();

    for (int i = 0; i <= m->in->n; i++) {
        json_t *grid = json_array();

        for (int k = 0; k < m->grid.axes; k++)
            json_array_append_new(grid, json_integer(m->grid.p[i][k]));
        json_array_append_new(list, grid);
    }
    return list;
}

static json_t *volumes(const struct ti_target_volumes *v)
{
    json_t *sites = json_array();

    for (size_t i = 0; i < v->nsites; i++)
        json_array_append_new(sites,
                              json_pack("{s:o, s:f, s:f, s:f}", "site",
                                        ti_json_text(v->site[i].site), "volume", v->site[i].is,
                                        "low", v->site[i].low, "high", v->site[i].high));
    return json_pack("{s:f, s:f, s:f, s:o}", "volume", v->all.is, "low", v->all.low, "high",
                     v->all.high, "sites", sites);
}

json_t *ti_extrapolated_about(const struct ti_extrapolated *e, const char *text)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "text", ti_json_text(text), "inputs",
                     ti_originals_json(e->of, e->models->in->n), "grids", grids(e->models), "proof",
                     ti_proof_json(e->proof), "volumes", volumes(e->volumes));
}

void ti_extrapolated_print_json(const struct ti_extrapolated *e)
{
    json_t *out = json_pack("{s:I, s:o, s:o, s:I, s:b, s:o}", "np", (json_int_t)e->models->np,
                            "inputs", ti_originals_json(e->of, e->models->in->n), "grids",
                            grids(e->models), "classes", (json_int_t)e->models->in->nclasses,
                            "proven", e->proof->holds, "proof", ti_proof_json(e->proof));

    if (e->rules)
        json_object_set(out, "rules", e->rules);
    json_object_set_new(out, "output", e->output ? ti_json_text(e->output) : json_null());
    if (e->output)
        json_object_set_new(out, "volumes", volumes(e->volumes));
    if (e->output)
        json_object_set_new(out, "bytes", json_integer(e->bytes));
    json_dumpf(out, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(out);
}
