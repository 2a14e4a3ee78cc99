#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostlist.h"
#include "common/map.h"
#include "config/sites_internal.h"

static int by_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    if (c)
        return c;
    if (x->key != y->key)
        return x->key->at.line < y->key->at.line ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Join the lines of a hostlist, with a comma unless there is one. */
static void join_lines(char *text)
{
    char *last = NULL; /* last character that is not blank */

    for (char *p = text; *p; p++) {
        if (*p == '\n')
            *p = !last || *last == ',' || *last == '[' ? ' ' : ',';
        if (*p != ' ' && *p != '\t')
            last = p;
    }
}

static bool add_node(struct reading *r, struct names *all, const char *name, const char *domain,
                     const struct ti_ini_key *k, int offset)
{
    char full[2 * TI_HOST_NAME_MAX + 2];
    struct ti_node *node;

    if (domain && !strchr(name, '.'))
        snprintf(full, sizeof full, "%.*s.%.*s", TI_HOST_NAME_MAX, name, TI_HOST_NAME_MAX, domain);
    else
        snprintf(full, sizeof full, "%s", name);
    all->v = ti_grow(all->v, &all->cap, all->n + 1, sizeof *all->v);
    node = ti_sites_add_node(r->out, full);
    if (!node)
        return false;
    all->v[all->n++] = (struct name){node->name, k, offset, node->cluster};
    return true;
}

/* Whether a name looks like "n1-n4": it is one node, but four may be meant. */
static bool looks_like_range(const char *name)
{
    for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-')) {
        size_t left = (size_t)(dash - name), right = strlen(dash + 1), a = left, b = right;

        while (a && isdigit((unsigned char)name[a - 1]))
            a--;
        while (b && isdigit((unsigned char)dash[b]))
            b--;
        if (a && a == b && a < left && b < right && strncmp(name, dash + 1, a) == 0)
            return true;
    }
    return false;
}

void ti__sites_hostlist(struct reading *r, struct names *all, const struct ti_ini_key *k,
                        const char *domain)
{
    char **names = NULL;
    struct ti_err err;
    int *at = NULL, column;
    int64_t n = 0;
    bool warned = false;
    ti_status st;

    join_lines(k->value);
    st = ti__hostlist_expand(k->value, &names, &at, &n, &column, &err);
    if (st == TI_ERR_INPUT)
        ti_ini_error(r->ini, ti_ini_at(k, column - 1), "%s", err.text);
    r->failed |= st == TI_ERR_IO;
    for (int64_t i = 0; i < n && !r->failed; i++) {
        if (looks_like_range(names[i]) && !warned) {
            ti_ini_warning(r->ini, ti_ini_at(k, at[i] - 1),
                           "'%s' is one node; n[1-4] would be four", names[i]);
            warned = true;
        }
        if (all)
            r->failed |= !add_node(r, all, names[i], domain, k, at[i] - 1);
    }
    free(names);
    free(at);
}

void ti__sites_find_twins(struct reading *r, struct names *all)
{
    if (all->n)
        qsort(all->v, all->n, sizeof *all->v, by_name);
    for (size_t i = 1; i < all->n; i++) {
        const struct name *a = &all->v[i - 1], *b = &all->v[i];

        if (strcmp(a->name, b->name) != 0)
            continue;
        ti_ini_error(
            r->ini, ti_ini_at(b->key, b->offset), "node '%s' is in cluster '%s' %s, in line %d",
            b->name, r->out->cluster[a->cluster].name,
            a->cluster == b->cluster ? "already" : "as well", ti_ini_at(a->key, a->offset).line);
    }
}
