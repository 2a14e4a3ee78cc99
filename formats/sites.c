#include "formats/sites.h"

#include <stdlib.h>
#include <string.h>

/* Room is a power of two, so that it need not be remembered. */
static void *grown(void *array, size_t each, int64_t n)
{
    if (n & (n - 1))
        return array;
    return realloc(array, each * (n ? 2 * (size_t)n : 1));
}

struct ti_sites *ti_sites_new(enum ti_sites_origin origin, const char *path)
{
    struct ti_sites *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->origin = origin;
    s->path = strdup(path);
    if (s->path)
        return s;
    free(s);
    return NULL;
}

struct ti_site *ti_sites_add_site(struct ti_sites *s, const char *name)
{
    struct ti_site *x = grown(s->site, sizeof *x, s->nsites);
    char *copy = strdup(name);

    if (x)
        s->site = x;
    if (!x || !copy) {
        free(copy);
        return NULL;
    }
    x += s->nsites++;
    *x = (struct ti_site){.name = copy};
    return x;
}

struct ti_cluster *ti_sites_add_cluster(struct ti_sites *s, int site, const char *name)
{
    struct ti_cluster *x = grown(s->cluster, sizeof *x, s->nclusters);
    char *copy = strdup(name);

    if (x)
        s->cluster = x;
    if (!x || !copy) {
        free(copy);
        return NULL;
    }
    x += s->nclusters++;
    *x = (struct ti_cluster){.name = copy, .site = site, .reserve_bytes = -1};
    return x;
}

struct ti_node *ti_sites_add_node(struct ti_sites *s, const char *name)
{
    struct ti_node *x = grown(s->node, sizeof *x, s->nnodes);
    char *copy = strdup(name);

    if (x)
        s->node = x;
    if (!x || !copy) {
        free(copy);
        return NULL;
    }
    x += s->nnodes++;
    *x = (struct ti_node){.name = copy, .cluster = s->nclusters - 1};
    return x;
}

void ti_sites_filter(struct ti_sites *s, const bool *keep)
{
    int64_t left = 0;

    for (int64_t i = 0; i < s->nnodes; i++) {
        if (!keep[i]) {
            free(s->node[i].name);
            continue;
        }
        s->node[left++] = s->node[i];
    }
    s->nnodes = left;
}

static void free_words(char **word, int n)
{
    for (int i = 0; i < n; i++)
        free(word[i]);
    free(word);
}

void ti__cluster_release(struct ti_cluster *c)
{
    free(c->name);
    free(c->cpu);
    free(c->family);
    free(c->isa);
    free(c->program);
    free(c->trace_dir);
    free(c->tiara);
    free_words(c->env, c->nenv);
}

void ti__site_release(struct ti_site *x)
{
    free(x->name);
    free(x->gateway);
    free(x->domain);
    free(x->network);
}

void ti_sites_free(struct ti_sites *s)
{
    int n = 0;

    if (!s)
        return;
    for (int i = 0; i < s->nsites; i++)
        ti__site_release(&s->site[i]);
    for (int i = 0; i < s->nclusters; i++)
        ti__cluster_release(&s->cluster[i]);
    for (int64_t i = 0; i < s->nnodes; i++)
        free(s->node[i].name);
    while (s->via && s->via[n])
        n++;
    free_words(s->via, n);
    free(s->site);
    free(s->cluster);
    free(s->node);
    free(s->path);
    free(s);
}
