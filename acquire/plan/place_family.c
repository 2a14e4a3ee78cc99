/* All nodes of a run are of one processor family, as far as families are known. */
#include "acquire/plan/place_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

struct family_count {
    const char *family;
    int64_t nodes;
    int clusters;
};

/* Usable nodes per cluster; NULL when out of memory. */
static int64_t *count_usable(const struct ti_place_request *in)
{
    int64_t *n = calloc((size_t)in->sites->nclusters + 1, sizeof *n);

    for (int64_t i = 0; n && i < in->sites->nnodes; i++)
        n[in->sites->node[i].cluster] += ti_node_resources(in, i).usable;
    return n;
}

static struct family_count *find_family(struct family_count *kind, int *n, const char *family)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(kind[i].family, family) == 0)
            return &kind[i];
    kind[*n] = (struct family_count){.family = family};
    return &kind[(*n)++];
}

/* "x86_64 (700 nodes of 144 clusters)", "aarch64 (26 nodes of pyxis)" */
static void describe_family(const struct ti_place_request *in, const int64_t *usable,
                            const struct family_count *k, char *text, size_t room)
{
    const struct ti_sites *s = in->sites;
    size_t n = 0;
    char count[32];

    ti_format_count((uint64_t)k->nodes, count, sizeof count);
    if (k->clusters > 4) {
        snprintf(text, room, "%s (%s nodes of %d clusters)", k->family, count, k->clusters);
        return;
    }
    n += (size_t)snprintf(text, room, "%s (%s node%s of", k->family, count,
                          k->nodes == 1 ? "" : "s");
    for (int c = 0, told = 0; c < s->nclusters && n < room; c++)
        if (usable[c] && s->cluster[c].family && strcmp(s->cluster[c].family, k->family) == 0)
            n += (size_t)snprintf(text + n, room - n, "%s %s", told++ ? "," : "",
                                  s->cluster[c].name);
    if (n < room)
        snprintf(text + n, room - n, ")");
}

static ti_status refuse_families(const struct ti_place_request *in, const int64_t *usable,
                                 struct family_count *kind, int kinds, struct ti_err *err)
{
    const struct family_count *most = kind;
    char list[900] = "", text[400];

    for (int i = 0; i < kinds; i++) {
        size_t n = strlen(list);

        describe_family(in, usable, &kind[i], text, sizeof text);
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", text);
        if (kind[i].nodes > most->nodes)
            most = &kind[i];
    }
    ti_err_set(err, TI_ERR_INPUT, "'%s' has processors of %d families: %s", in->sites->path, kinds,
               list);
    ti_err_hint(err,
                "a program is of one family, and so are comparable instructions: --family %s takes "
                "most nodes",
                most->family);
    return TI_ERR_INPUT;
}

ti_status ti__place_check_family(const struct ti_place_request *in, struct ti_err *err)
{
    const struct ti_sites *s = in->sites;
    int64_t *usable = count_usable(in);
    struct family_count *kind = calloc((size_t)s->nclusters + 1, sizeof *kind);
    ti_status st = TI_OK;
    int kinds = 0;

    if (!usable || !kind)
        st = ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    for (int c = 0; st == TI_OK && c < s->nclusters; c++)
        if (usable[c] && s->cluster[c].family) {
            struct family_count *k = find_family(kind, &kinds, s->cluster[c].family);

            k->nodes += usable[c];
            k->clusters++;
        }
    if (st == TI_OK && !in->family && kinds > 1)
        st = refuse_families(in, usable, kind, kinds, err);
    free(usable);
    free(kind);
    return st;
}
