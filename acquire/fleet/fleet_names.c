#include <stdio.h>
#include <string.h>

#include "acquire/fleet/fleet_internal.h"

char *ti_fleet_name(const struct ti_fleet *f, int64_t node, char *buf, size_t bytes)
{
    const struct ti_site *site = ti__site_of(f, node);

    snprintf(buf, bytes, "'%s' of cluster %s at site %s%s%s", f->sites->node[node].name,
             ti__cluster_of(f, node)->name, site->name, site->gateway ? ", by gateway " : "",
             site->gateway ? site->gateway : "");
    return buf;
}

const char *ti_fleet_unnamed(const struct ti_fleet *f, int64_t node, const char *text)
{
    char name[512], prefix[2][600];

    snprintf(prefix[0], sizeof prefix[0], "node %s: ", ti_fleet_name(f, node, name, sizeof name));
    snprintf(prefix[1], sizeof prefix[1], "node '%s': ", f->sites->node[node].name);
    for (int i = 0; i < 2; i++)
        if (strncmp(text, prefix[i], strlen(prefix[i])) == 0)
            return text + strlen(prefix[i]);
    return text;
}

int64_t ti_fleet_find(const struct ti_fleet *f, const char *name)
{
    for (int64_t i = 0; i < f->n; i++)
        if (strcmp(f->sites->node[i].name, name) == 0)
            return i;
    return -1;
}
