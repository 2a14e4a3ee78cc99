#include "replay-bridge/replayer/profile/overview.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define GROUPS 32
#define BINS   1024
#define FIRST  1e-6 /* length of a piece at first, in seconds */

struct ti_overview {
    int64_t group, ngroups;
    double bin_s, end_s;
    double (*spent)[BINS][TI_OVERVIEW_KINDS]; /* of each group */
};

struct ti_overview *ti_overview_new(int64_t np)
{
    size_t none = 0;
    struct ti_overview *o = ti_grow(NULL, &none, 1, sizeof *o);

    o->group = (np + GROUPS - 1) / GROUPS;
    o->ngroups = (np + o->group - 1) / o->group;
    o->bin_s = FIRST;
    none = 0;
    o->spent = ti_grow(NULL, &none, (size_t)o->ngroups, sizeof *o->spent);
    return o;
}

void ti_overview_free(struct ti_overview *o)
{
    if (o)
        free(o->spent);
    free(o);
}

/* Join each two pieces. */
static void join(struct ti_overview *o)
{
    for (int64_t g = 0; g < o->ngroups; g++) {
        for (int bin = 0; bin < BINS / 2; bin++)
            for (int k = 0; k < TI_OVERVIEW_KINDS; k++)
                o->spent[g][bin][k] = o->spent[g][2 * bin][k] + o->spent[g][2 * bin + 1][k];
        memset(o->spent[g][BINS / 2], 0, sizeof *o->spent / 2);
    }
    o->bin_s *= 2;
}

void ti_overview_add(struct ti_overview *o, int64_t rank, enum ti_overview_kind kind, double begin,
                     double end)
{
    double(*spent)[TI_OVERVIEW_KINDS] = o->spent[rank / o->group];

    if (!(end > begin))
        return;
    while (end >= BINS * o->bin_s)
        join(o);
    o->end_s = end > o->end_s ? end : o->end_s;
    for (int bin = (int)(begin / o->bin_s); begin < end && bin < BINS; bin++) {
        double to = (bin + 1) * o->bin_s < end ? (bin + 1) * o->bin_s : end;

        if (to > begin) {
            spent[bin][kind] += to - begin;
            begin = to;
        }
    }
}

json_t *ti_overview_json(const struct ti_overview *o)
{
    json_t *groups = json_array();
    int used = (int)(o->end_s / o->bin_s) + 1;

    for (int64_t g = 0; g < o->ngroups; g++) {
        json_t *list = json_array();

        for (int bin = 0; bin < used && bin < BINS; bin++)
            for (int k = 0; k < TI_OVERVIEW_KINDS; k++)
                json_array_append_new(list, json_real(o->spent[g][bin][k]));
        json_array_append_new(groups, list);
    }
    return json_pack("{s:I, s:f, s:f, s:o}", "group", (json_int_t)o->group, "bin_s", o->bin_s,
                     "end_s", o->end_s, "spent", groups);
}
