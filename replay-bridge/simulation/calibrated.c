#include "replay-bridge/simulation/calibrated.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

/* Option names of SimGrid 3.32; 4.x accepts them as aliases. */
#define CFG_OS      "smpi/os:"
#define CFG_OIS     "smpi/ois:"
#define CFG_OR      "smpi/or:"
#define CFG_BW      "smpi/bw-factor:"
#define CFG_LAT     "smpi/lat-factor:"
#define CFG_EAGER   "smpi/send-is-detached-thresh:"
#define CFG_EARLY   "smpi/async-small-thresh:"
#define CFG_BUFFERS "smpi/buffering:"

/* Number of links between the two nearest hosts. */
static int path_links(const struct ti_topology *topology)
{
    switch (topology->kind) {
    case TI_TOPO_CLUSTER:
    case TI_TOPO_FAT_TREE:
    case TI_TOPO_DRAGONFLY:
        return 2; /* up to a switch or router, and down */
    case TI_TOPO_TORUS:
    case TI_TOPO_HIERARCHICAL:
        break;
    }
    return 1;
}

/* The speeds by the number of ranks that compute, as shares of the speed.  NULL: not known. */
static char *shares_of(const struct ti_calibration *f)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = f->host.speeds && f->host.speed > 0 ? open_memstream(&text, &bytes) : NULL;

    for (const char *p = f->host.speeds; out && *p;) {
        char *end;
        long ranks = strtol(p, &end, 10);

        fprintf(out, "%s%ld:%.12g", p == f->host.speeds ? "" : ";", ranks,
                strtod(end + 1, &end) / f->host.speed);
        p = end + (*end == ';');
    }
    if (out)
        fclose(out);
    return text;
}

static void use_speeds(struct ti_calibrated *c, const struct ti_topology *topology)
{
    const struct ti_calibration *f = &c->file;
    bool node = f->network.within && strcmp(f->network.within, "node") == 0;

    if (f->host.speed > 0)
        snprintf(c->speed, sizeof c->speed, "%.9gf", f->host.speed);
    if (f->network.bandwidth > 0)
        snprintf(c->bandwidth, sizeof c->bandwidth, "%.9gBps", f->network.bandwidth);
    if (f->network.latency >= 0)
        snprintf(c->latency, sizeof c->latency, "%.9gs", f->network.latency / path_links(topology));
    if (f->network.copy > 0)
        snprintf(c->copy, sizeof c->copy, "%.9gBps", f->network.copy);
    c->contention = shares_of(f);
    if (node && *c->bandwidth && *c->latency) {
        strcpy(c->loopback_bandwidth, c->bandwidth);
        snprintf(c->loopback_latency, sizeof c->loopback_latency, "%.9gs", f->network.latency);
    }
}

static void add(struct ti_calibrated *c, const char *key, const char *text)
{
    if (text && asprintf(&c->cfg[c->ncfg], "%s%s", key, text) >= 0)
        c->ncfg++;
}

static void use_settings(struct ti_calibrated *c)
{
    const struct ti_calibration *f = &c->file;
    char size[32];

    add(c, CFG_OS, f->network.os);
    add(c, CFG_OIS, f->network.ois);
    add(c, CFG_OR, f->network.or);
    add(c, CFG_BW, f->network.bandwidth_factor);
    add(c, CFG_LAT, f->network.latency_factor);
    if (f->network.eager < 0)
        return;
    /* Below these sizes the sender does not wait, and the message is sent before a receive is
     * posted. */
    snprintf(size, sizeof size, "%" PRId64,
             f->network.eager < INT_MAX ? f->network.eager + 1 : INT_MAX);
    add(c, CFG_EAGER, size);
    add(c, CFG_EARLY, size);
}

ti_status ti_calibrated_read(const char *path, const struct ti_topology *topology,
                             struct ti_calibrated *out, struct ti_err *err)
{
    char *more = NULL;
    ti_status st;

    *out = (struct ti_calibrated){0};
    st = ti_calibration_read(path, &out->file, &more, err);
    for (char *line = more, *end; line && (end = strchr(line, '\n')); line = end + 1)
        ti_say("%.*s", (int)(end - line), line);
    free(more);
    if (st)
        return st;
    use_speeds(out, topology);
    use_settings(out);
    return TI_OK;
}

void ti_calibrated_free(struct ti_calibrated *c)
{
    for (int i = 0; i < c->ncfg; i++)
        free(c->cfg[i]);
    c->ncfg = 0;
    free(c->contention);
    c->contention = NULL;
    ti_calibration_free(&c->file);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool ti_calibrated_eager_given(char **user, int nuser)
{
    for (int i = 0; i < nuser; i++)
        if (begins(user[i], CFG_EAGER) || begins(user[i], CFG_EARLY) ||
            begins(user[i], CFG_BUFFERS))
            return true;
    return false;
}

/* Whether two settings have the same key.  The user may use the names of SimGrid 4.x. */
static bool same_key(const char *ours, const char *user)
{
    size_t key = strcspn(ours, ":") + 1;

    return strncmp(ours, user, key) == 0 ||
           (begins(ours, CFG_BW) && begins(user, "network/bandwidth-factor:")) ||
           (begins(ours, CFG_LAT) && begins(user, "network/latency-factor:"));
}

char **ti_calibrated_cfg(const struct ti_calibrated *c, char **user, int nuser, int *n)
{
    char **all = malloc((size_t)(c->ncfg + nuser + 1) * sizeof *all);
    bool eager = ti_calibrated_eager_given(user, nuser);

    *n = 0;
    for (int i = 0; all && i < c->ncfg; i++) {
        bool given = eager && (begins(c->cfg[i], CFG_EAGER) || begins(c->cfg[i], CFG_EARLY));

        for (int k = 0; k < nuser && !given; k++)
            given = same_key(c->cfg[i], user[k]);
        if (!given)
            all[(*n)++] = c->cfg[i];
    }
    for (int k = 0; all && k < nuser; k++)
        all[(*n)++] = user[k];
    return all;
}
