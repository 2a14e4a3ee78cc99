#include "acquire/where/batch.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/hostlist.h"

bool ti_batch_is_here(const char *node)
{
    char here[TI_HOST_NAME_MAX + 1] = "";
    size_t n = strcspn(node, "."), h;

    if (gethostname(here, sizeof here - 1) < 0)
        return false;
    h = strcspn(here, ".");
    if (node[n] && here[h])
        return strcasecmp(node, here) == 0;
    return n == h && strncasecmp(node, here, n) == 0;
}

bool ti_batch_via(struct ti_sites *s, const char *const *words)
{
    int n = 0;

    while (words[n])
        n++;
    s->via = calloc((size_t)n + 1, sizeof *s->via);
    for (int i = 0; s->via && i < n; i++)
        if (!(s->via[i] = strdup(words[i])))
            return false;
    return s->via != NULL;
}
