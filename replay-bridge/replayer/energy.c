#include "replay-bridge/replayer/energy.h"

#include <jansson.h>
#include <simgrid/host.h>
#include <simgrid/plugins/energy.h>
#include <stdlib.h>
#include <string.h>
#include <xbt/sysdep.h>

#include "config/host_values.h"
#include "replay-bridge/replayer/engine.h"

void ti_energy_burst(struct ti_replayer *p, const struct ti_event *ev, double seconds)
{
    bool times = p->setup->job[p->job].bursts.as == TI_BURSTS_TIMES;

    p->unseen_core_s += seconds * (times ? 1 : ti_bursts_cores(&p->bursts, ev) - 1);
}

static void add_rank(const struct ti_replayer *p)
{
    struct ti_engine_host *mine = ti_engine_of_host(sg_host_self());

    mine->unseen_core_s += p->unseen_core_s;
    mine->ranks++;
}

/* Whether the platform has the power of a host, which is not a disk. */
static bool has_watts(sg_host_t host)
{
    return sg_host_get_property_value(host, TI_WATTS_PROPERTY) &&
           strncmp(sg_host_get_name(host), TI_DISK_PREFIX, strlen(TI_DISK_PREFIX)) != 0;
}

/* The energy of a host since time 0 of all jobs. */
static double joules_of(sg_host_t host, double zero)
{
    double range = sg_host_get_power_range_slope_at(host, (int)sg_host_get_pstate(host));

    return sg_host_get_consumed_energy(host) - zero * sg_host_get_idle_consumption(host) +
           range / sg_host_core_count(host) * ti_engine_of_host(host)->unseen_core_s;
}

/* By name, with numbers by their value. */
static int by_name(const void *a, const void *b)
{
    const sg_host_t *x = a, *y = b;

    return strverscmp(sg_host_get_name(*x), sg_host_get_name(*y));
}

static json_t *energy_json(double zero)
{
    size_t n = sg_host_count();
    sg_host_t *host = sg_host_list();
    json_t *list = json_array();
    double all = 0;

    qsort(host, n, sizeof *host, by_name);
    for (size_t i = 0; i < n; i++) {
        double joules;

        if (!has_watts(host[i]))
            continue;
        joules = joules_of(host[i], zero);
        all += joules;
        json_array_append_new(list, json_pack("{s:s, s:f, s:I}", "host", sg_host_get_name(host[i]),
                                              "joules", joules, "ranks",
                                              (json_int_t)ti_engine_of_host(host[i])->ranks));
    }
    xbt_free(host);
    return json_pack("{s:f, s:o}", "joules", all, "hosts", list);
}

void ti_energy_end(struct ti_replayer *p, bool last)
{
    json_t *j;

    if (!p->setup->energy)
        return;
    add_rank(p);
    if (!last)
        return;
    j = energy_json(p->zero);
    if (!j || json_dump_file(j, p->setup->energy, JSON_COMPACT | JSON_REAL_PRECISION(15)) != 0)
        ti_replay_fail(p, TI_ERR_IO, "cannot write '%s'", p->setup->energy);
    json_decref(j);
}
