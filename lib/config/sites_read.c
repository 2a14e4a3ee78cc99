#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/limits.h"
#include "common/names.h"
#include "config/sites_internal.h"

#define FINDINGS_SHOWN 20

/* -------------------------------------------------------------------- sites -- */

/* The first section with the kind and name of section `i`, or that itself; -1: no memory.  `firsts`
 * and `first` have those before. */
static int first_alike(const struct ti_ini *ini, int i, struct ti_names *names,
                       struct ti_map *firsts, int *first)
{
    int64_t kind = ti_names_put(names, ini->section[i].kind);
    int64_t name = ti_names_put(names, ini->section[i].name);
    int64_t known = (int64_t)firsts->n;
    int64_t at = kind < 0 || name < 0 ? -1 : ti_map_put(firsts, kind, name, 0, 0);

    if (at < 0)
        return -1;
    if (at == known)
        first[at] = i;
    return first[at];
}

static void sort_section(struct reading *r, const struct ti_ini_section *s,
                         const struct ti_ini_section *first)
{
    if (first != s) {
        ti_ini_error(r->ini, s->at, "'[%s%s%s]' was there before, in line %d", s->kind,
                     s->name[0] ? " " : "", s->name, first->at.line);
    } else if (s->kind[0] == 'd') {
        r->defaults = s;
    } else if (s->kind[0] == 't') {
        r->target = s;
    } else if (s->kind[0] == 'c') {
        r->cluster[r->nclusters++] = s;
    } else if (ti_sites_add_site(r->out, s->name)) {
        r->site[r->out->nsites - 1] = s;
    } else {
        r->failed = true;
    }
}

/* Sort the sections by kind, and add the sites: a cluster may come before its site. */
static void sort_sections(struct reading *r)
{
    int *first = calloc((size_t)r->ini->nsections + 1, sizeof *first);
    struct ti_names names = {0};
    struct ti_map firsts = {0};

    r->failed = !first;
    for (int i = 0; i < r->ini->nsections && !r->failed; i++) {
        int alike = first_alike(r->ini, i, &names, &firsts, first);

        if (alike < 0)
            r->failed = true;
        else
            sort_section(r, &r->ini->section[i], &r->ini->section[alike]);
    }
    ti_map_free(&firsts);
    ti_names_free(&names);
    free(first);
}

static void read_target(struct reading *r)
{
    const struct ti_ini_key *k = ti_ini_find(r->target, "ranks_per_node");
    struct ti_err err;

    if (r->target)
        ti__sites_check_keys(r, r->target, ti__target_keys);
    if (k && ti_parse_int(k->value, k->name, 1, TI_RANKS_MAX, &r->out->target_ranks_per_node,
                          &err) != TI_OK)
        ti_ini_error(r->ini, ti_ini_at(k, 0), "%s", err.text);
}

static void read_sites(struct reading *r)
{
    for (int i = 0; i < r->out->nsites; i++) {
        const struct ti_ini_section *s = r->site[i];

        ti__sites_check_keys(r, s, ti__site_keys);
        for (int k = 0; k < s->nkeys; k++)
            if (ti_ini_is_in(s->key[k].name, ti__site_keys))
                ti__sites_site_key(r, &r->out->site[i], &s->key[k]);
    }
    if (!r->out->nsites && !ti_sites_add_site(r->out, "here"))
        r->failed = true;
}

/* ----------------------------------------------------------------- clusters -- */

/* Report values that contradict each other. */
static void check_cluster(struct draft *d, const struct ti_ini_section *s)
{
    const struct ti_ini_key *k;

    if (d->c.cpus > d->c.cores && d->c.cores) {
        k = d->cpus->at.line > d->cores->at.line ? d->cpus : d->cores;
        ti_ini_error(d->r->ini, ti_ini_at(k, 0),
                     "%d cpus with %d cores in all: cores are those of a node", d->c.cpus,
                     d->c.cores);
    }
    if (d->c.memory_bytes && d->c.reserve_bytes >= d->c.memory_bytes)
        ti_ini_error(d->r->ini, ti_ini_at(d->reserve, 0),
                     "reserve leaves nothing of the memory in cluster '%s'", s->name);
    if (d->c.isa && d->c.family && strcmp(d->c.family, "x86_64") != 0)
        ti_ini_error(d->r->ini, ti_ini_at(d->isa, 0), "isa '%s' is of family x86_64, not '%s'",
                     d->c.isa, d->c.family);
    if (!d->nodes && !ti_ini_find(s, "nodes"))
        ti_ini_missing(d->r->ini, s->at, "cluster '%s' has no nodes", s->name);
    if (d->c.site == -1 && d->r->out->nsites == 1)
        d->c.site = 0;
    if (d->c.site == -1)
        ti_ini_missing(d->r->ini, s->at, "cluster '%s' does not say at which of the %d sites it is",
                       s->name, d->r->out->nsites);
}

/* Read the values of [defaults], then the cluster's own. */
static void read_cluster(struct draft *d, const struct ti_ini_section *s)
{
    struct ti_ini *ini = d->r->ini;
    int findings = ini->nfindings, errors = ini->nerrors;

    for (int k = 0; d->r->defaults && k < d->r->defaults->nkeys; k++) {
        const struct ti_ini_key *key = &d->r->defaults->key[k];

        if (strcmp(key->name, "nodes") != 0 &&
            (strcmp(key->name, "env") == 0 || !ti_ini_find(s, key->name)))
            ti__sites_cluster_key(d, key);
    }
    ini->nfindings = findings; /* findings about [defaults] were reported once already */
    ini->nerrors = errors;
    ti__sites_check_keys(d->r, s, ti__cluster_keys);
    for (int k = 0; k < s->nkeys; k++) {
        const struct ti_ini_key *first = ti_ini_find(s, s->key[k].name);

        if (first == &s->key[k] || strcmp(s->key[k].name, "env") == 0)
            ti__sites_cluster_key(d, &s->key[k]);
    }
    d->c.line = s->at.line;
    check_cluster(d, s);
}

static void check_defaults(struct reading *r)
{
    struct draft d = {.r = r, .c = {.site = -1, .reserve_bytes = -1}};

    if (!r->defaults)
        return;
    ti__sites_check_keys(r, r->defaults, ti__cluster_keys);
    for (int k = 0; k < r->defaults->nkeys; k++) {
        const struct ti_ini_key *key = &r->defaults->key[k];

        if (strcmp(key->name, "nodes") == 0)
            ti_ini_error(r->ini, key->at, "nodes belong to one cluster, not into [defaults]");
        else
            ti__sites_cluster_key(&d, key);
    }
    ti__cluster_release(&d.c);
}

/* Make a cluster of a draft. */
static bool settle(struct reading *r, struct draft *d, int i, struct names *all)
{
    struct ti_cluster *c = ti_sites_add_cluster(r->out, d->c.site, r->cluster[i]->name);
    char *name;

    if (!c)
        return false;
    name = c->name;
    *c = d->c;
    c->name = name;
    memset(&d->c, 0, sizeof d->c);
    if (d->nodes)
        ti__sites_hostlist(r, all, d->nodes, r->out->site[c->site].domain);
    return !r->failed;
}

/* Add the clusters, grouped by site, and in the order of the file within a site. */
static void read_clusters(struct reading *r)
{
    struct draft *draft = calloc((size_t)r->nclusters + 1, sizeof *draft);
    struct names all = {0};

    if (!draft) {
        r->failed = true;
        return;
    }
    for (int i = 0; i < r->nclusters; i++) {
        draft[i] = (struct draft){.r = r, .c = {.site = -1, .reserve_bytes = -1}};
        read_cluster(&draft[i], r->cluster[i]);
        if (draft[i].c.site < 0 && draft[i].nodes)
            ti__sites_hostlist(r, NULL, draft[i].nodes, NULL); /* only reports errors */
    }
    for (int s = 0; s < r->out->nsites; s++) {
        int clusters = r->out->nclusters;

        for (int i = 0; i < r->nclusters && !r->failed; i++)
            if (draft[i].c.site == s)
                r->failed |= !settle(r, &draft[i], i, &all);
        if (r->out->nclusters == clusters && r->site[s])
            ti_ini_warning(r->ini, r->site[s]->at, "no cluster is at site '%s'", r->site[s]->name);
    }
    ti__sites_find_twins(r, &all);
    for (int i = 0; i < r->nclusters; i++)
        ti__cluster_release(&draft[i].c);
    free(draft);
    free(all.v);
}

/* ----------------------------------------------------------------- the file -- */

static ti_status interpret(struct reading *r, char **more, struct ti_err *err)
{
    size_t n = (size_t)r->ini->nsections + 1;
    ti_status st;

    r->site = calloc(n, sizeof *r->site);
    r->cluster = calloc(n, sizeof *r->cluster);
    r->out = ti_sites_new(TI_SITES_FILE, r->ini->path);
    r->failed = !r->site || !r->cluster || !r->out;
    if (!r->failed) {
        sort_sections(r);
        read_target(r);
        read_sites(r);
        check_defaults(r);
    }
    if (!r->failed)
        read_clusters(r);
    if (r->failed)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", r->ini->path);
    if (!r->nclusters && !r->ini->nerrors)
        ti_ini_missing(r->ini, (struct ti_ini_pos){1, 1}, "there is no '[cluster NAME]' in it");
    st = ti_ini_conclude(r->ini, FINDINGS_SHOWN, more, err);
    if (st == TI_ERR_INPUT && !r->ini->has_heads)
        ti_err_hint(err, "a sites file has sections such as [cluster NAME], see tiara-sites(5); "
                         "--hostfile takes hostfiles of Open MPI");
    return st;
}

ti_status ti_sites_read(const char *path, struct ti_sites **out, char **more, struct ti_err *err)
{
    struct reading r = {0};
    ti_status st;

    if (more)
        *more = NULL;
    st = ti_ini_read(path, &ti__sites_grammar, &r.ini, err);
    if (st == TI_OK)
        st = interpret(&r, more, err);
    if (st == TI_OK)
        *out = r.out;
    else
        ti_sites_free(r.out);
    ti_ini_free(r.ini);
    free(r.site);
    free(r.cluster);
    return st;
}
