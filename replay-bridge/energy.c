#include "replay-bridge/energy.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/map.h"
#include "common/table.h"
#include "common/write.h"
#include "replay-bridge/report.h"
#include "replay-bridge/simulation/engines.h"
#include "terminal/pictures.h"

#define ROWS 10 /* of the table */

/* Whether the platform has the power of hosts. */
static bool has_watts(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    char *text;
    bool found;

    if (res->sites)
        return ti_sites_have_watts(res->sites, &o->wan);
    if (!o->platform)
        return o->speeds.watts.given;
    text = ti_read_file(o->platform, SIZE_MAX, NULL);
    found = text && strstr(text, TI_WATTS_PROPERTY);
    free(text);
    return found;
}

/* The host that has more ranks than cores; NULL: none is known to. */
static const struct ti_host *crowded(const struct ti_replay_result *res)
{
    int64_t *ranks = ti_place_count(&res->hosts, res->host_of, res->np);
    const struct ti_host *found = NULL;

    for (size_t i = 0; !found && i < res->hosts.n; i++)
        if (res->hosts.list[i].cores && ranks[i] > res->hosts.list[i].cores)
            found = &res->hosts.list[i];
    free(ranks);
    return found;
}

/* Why the energy is not known; NULL: it is. */
static const char *reason(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    if (!(res->engine->serves & TI_SERVES_ENERGY))
        return "the engine does not tell how long cores compute";
    if (o->steady)
        return "--steady leaves out some of the time";
    if (o->threads == TI_THREADS_LONGEST)
        return "--threads longest gives threads cores that hosts do not have";
    if (o->times && crowded(res))
        return "with --times, hosts with more ranks than cores compute on more cores than they "
               "have";
    return NULL;
}

ti_status ti_energy_plan(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    res->watts = has_watts(o, res);
    res->no_energy = res->watts ? reason(o, res) : NULL;
    if (!res->no_energy || !o->speeds.watts.given)
        return TI_OK;
    ti_err_set(err, TI_ERR_USAGE, "--watts: the energy is not known: %s", res->no_energy);
    if (o->threads == TI_THREADS_LONGEST)
        ti_err_hint(err, "give --cores N, so that threads share the cores of a host");
    else if (o->times && !o->steady)
        ti_err_hint(err, "give --cores N: '%s' has %lld", crowded(res)->name,
                    (long long)crowded(res)->cores);
    return TI_ERR_USAGE;
}

void ti_energy_print(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    const json_t *hosts = json_object_get(res->energy, "hosts"), *host;
    double idle_j = 0;
    size_t i, idle = 0;

    if (res->no_energy)
        ti_replay_print_line(o, "energy:", "not known: %s", res->no_energy);
    if (!res->energy)
        return;
    json_array_foreach(hosts, i, host)
    {
        if (ti_json_number(host, "ranks") > 0)
            continue;
        idle++;
        idle_j += ti_json_number(host, "joules");
    }
    if (idle)
        ti_replay_print_line(o, "energy:", "%.9g J, of which %.9g J of %zu host%s without ranks",
                             ti_json_number(res->energy, "joules"), idle_j, idle,
                             idle == 1 ? "" : "s");
    else
        ti_replay_print_line(o, "energy:", "%.9g J", ti_json_number(res->energy, "joules"));
}

/* The most joules first; else in the order of names. */
static int by_joules(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    double p = ti_json_number(*x, "joules"), q = ti_json_number(*y, "joules");

    return p > q   ? -1
           : p < q ? 1
                   : strverscmp(ti_json_string(*x, "host"), ti_json_string(*y, "host"));
}

void ti_energy_print_hosts(const json_t *energy, int width, FILE *f)
{
    static const struct ti_table_column columns[] = {{"energy of hosts", TI_CELLS_WORDS, 0},
                                                     {"", TI_CELLS_BARS, 6},
                                                     {"ranks", TI_CELLS_COUNTS, 0},
                                                     {"", TI_CELLS_TEXT, 12}};
    const json_t *hosts = json_object_get(energy, "hosts");
    size_t n = json_array_size(hosts), none = 0;
    struct ti_text_table *t = ti_table_new(columns, sizeof columns / sizeof *columns);
    const json_t **sorted = ti_grow(NULL, &none, n, sizeof *sorted);

    for (size_t i = 0; i < n; i++)
        sorted[i] = json_array_get(hosts, i);
    qsort(sorted, n, sizeof *sorted, by_joules);
    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < n && i < ROWS; i++) {
        ti_table_text(t, "%.9g J", ti_json_number(sorted[i], "joules"));
        ti_table_bar(t, 1, &(double){ti_json_number(sorted[i], "joules")});
        ti_table_count(t, (uint64_t)ti_json_number(sorted[i], "ranks"));
        ti_table_text(t, "%s", ti_json_string(sorted[i], "host"));
    }
    if (n > ROWS)
        ti_table_line(t, "  ... and %zu more hosts: --json has all", n - ROWS);
    ti_paint_table(t, f, width, ti_ink_of(f));
    free(sorted);
}
