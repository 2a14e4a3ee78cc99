/* Processors of several kinds, each with counters of its own: Intel's hybrid ones, arm's
 * big.LITTLE. */
#include "minitrace/counters/counter_papi.h"

#ifdef PAPI_VER_CURRENT

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether one of the processors in `list`, as "0-3,8", is in the set. */
static bool meets(const char *list, const cpu_set_t *set)
{
    for (char *end; *list; list = end + (*end == ',')) {
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (end == list)
            return false;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; first <= last && first < CPU_SETSIZE; first++)
            if (CPU_ISSET(first, set))
                return true;
        if (*end != ',')
            return false;
    }
    return false;
}

static int one_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int ti__papi_kinds(const char *devices, char *text, size_t bytes)
{
    struct dirent **entry;
    cpu_set_t mine;
    int n = scandir(devices, &entry, one_name, alphasort), kinds = 0;
    size_t used = 0;

    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        memset(&mine, 0xff, sizeof mine);
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        char path[512], list[512];
        FILE *f;

        /* only counters that belong to some processors have this file */
        snprintf(path, sizeof path, "%s/%s/cpus", devices, entry[i]->d_name);
        f = fopen(path, "re");
        if (f && fgets(list, sizeof list, f) && meets(list, &mine)) {
            kinds++;
            if (used < bytes)
                used += (size_t)snprintf(text + used, bytes - used, "%s%s (%.*s)", used ? ", " : "",
                                         entry[i]->d_name, (int)strcspn(list, "\n"), list);
        }
        if (f)
            fclose(f);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
    return kinds;
}

#endif
