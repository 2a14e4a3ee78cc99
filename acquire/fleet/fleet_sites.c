/* Messages about many nodes: how many are still to come, from which sites, and the slow ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/fleet/fleet_internal.h"

#define SITES_TOLD 3

struct waiting {
    int site;
    int64_t nodes;
};

static int most_first(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;

    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? 1 : -1;
    return x->site - y->site;
}

const char *ti__fleet_waiting_text(const struct ti_fleet *f,
                                   bool (*waits)(const struct ti_fleet *f, int64_t node,
                                                 const void *arg),
                                   const void *arg, char *text, size_t bytes)
{
    int nsites = f->sites->nsites, open = 0;
    struct waiting *w = nsites > 1 ? calloc((size_t)nsites, sizeof *w) : NULL;
    size_t used = 0;

    text[0] = '\0';
    for (int s = 0; w && s < nsites; s++)
        w[s].site = s;
    for (int64_t i = 0; w && i < f->n; i++)
        w[ti__cluster_of(f, i)->site].nodes += waits(f, i, arg);
    if (w)
        qsort(w, (size_t)nsites, sizeof *w, most_first);
    while (w && open < nsites && w[open].nodes)
        open++;
    for (int i = 0; i < open && i < SITES_TOLD && used < bytes; i++)
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s %" PRId64,
                             i ? ", " : "to come: ", f->sites->site[w[i].site].name, w[i].nodes);
    if (open > SITES_TOLD && used < bytes)
        snprintf(text + used, bytes - used, ", %d more sites", open - SITES_TOLD);
    free(w);
    return text;
}

struct slow {
    int64_t node;
    double seconds;
};

static int slowest_first(const void *a, const void *b)
{
    const struct slow *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

char *ti_fleet_slowest(const struct ti_fleet *f, int most)
{
    struct slow *list = calloc((size_t)f->n + 1, sizeof *list);
    int64_t n = 0;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    for (int64_t i = 0; list && i < f->n; i++)
        if (f->member[i].ready_s > 0)
            list[n++] = (struct slow){i, f->member[i].ready_s};
    if (list)
        qsort(list, (size_t)n, sizeof *list, slowest_first);
    for (int64_t i = 0; out && i < n && i < most; i++)
        fprintf(out, "%s%s %.1f s", i ? ", " : "", f->sites->node[list[i].node].name,
                list[i].seconds);
    free(list);
    if (!out)
        return NULL;
    fclose(out);
    return text;
}
