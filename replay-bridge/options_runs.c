#include "replay-bridge/options_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The option of a --tolerance, if values of it can be searched. */
static const struct ti_opt *find_number(const char *name, size_t bytes)
{
    for (const struct ti_opt *opt = ti_replay_cli.opts; opt->name || opt->help; opt++) {
        if (!opt->name || strlen(opt->name) != bytes || strncmp(opt->name, name, bytes) != 0)
            continue;
        if (!strcmp(opt->name, "latency") || !strcmp(opt->name, "bandwidth") ||
            opt->kind == TI_KIND_QUANTITY)
            return opt;
        return opt->kind == TI_KIND_INTEGER && ti_sweep_passes(opt) &&
                       strcmp(opt->name, "seed") != 0
                   ? opt
                   : NULL;
    }
    return NULL;
}

ti_status ti__replay_parse_tolerance(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;
    struct ti_tolerance *t = &o->tolerance[o->ntolerances];
    size_t bytes = strcspn(arg, "=");
    const char *at = arg + bytes;
    char *end;

    if (o->ntolerances == TI_TOLERANCES)
        return ti_err_set(err, TI_ERR_USAGE, "more than %d --tolerance", TI_TOLERANCES);
    *t = (struct ti_tolerance){.opt = find_number(arg, bytes)};
    if (!t->opt) {
        ti_err_set(err, TI_ERR_USAGE,
                   "--tolerance: '%.*s' is not an option whose value is a number", (int)bytes, arg);
        ti_err_hint(err, "such as --tolerance latency=1%%,5%%; also bandwidth, speed, reduce-rate, "
                         "cores, ranks-per-host");
        return TI_ERR_USAGE;
    }
    for (; *at; at = end + 1) {
        double percent = strtod(at + 1, &end);

        if (end == at + 1 || *end != '%' || !(percent > 0 && percent <= 1e6) ||
            (end[1] && end[1] != ','))
            return ti_err_set(err, TI_ERR_USAGE,
                              "--tolerance %s: '%s' is not shares such as 1%%,2%%,5%%",
                              t->opt->name, arg + bytes + 1);
        if (t->n == TI_TOLERANCE_SHARES)
            return ti_err_set(err, TI_ERR_USAGE, "--tolerance %s: more than %d shares",
                              t->opt->name, TI_TOLERANCE_SHARES);
        t->slower[t->n++] = percent / 100;
    }
    o->ntolerances += t->n > 0;
    return t->n ? TI_OK
                : ti_err_set(err, TI_ERR_USAGE, "--tolerance %s: by how much?  Such as %s=1%%,5%%",
                             t->opt->name, t->opt->name);
}

ti_status ti__replay_parse_scaling(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->scaling = TI_SCALING_AUTO;
    if (!arg)
        return TI_OK;
    if (strcmp(arg, "strong") != 0 && strcmp(arg, "weak") != 0)
        return ti_err_set(err, TI_ERR_USAGE, "--scaling: '%s' is neither strong nor weak", arg);
    o->scaling = !strcmp(arg, "weak") ? TI_SCALING_WEAK : TI_SCALING_STRONG;
    return TI_OK;
}

int ti__replay_add_runs(struct ti_replay_options *o)
{
    struct ti_err err = {0};
    char seeds[64];

    snprintf(seeds, sizeof seeds, "seed=0..%lld", (long long)o->sweep.runs - 1);
    if (!o->sweep.runs || ti_sweep_add(&o->sweep.sweep, seeds, ti_replay_cli.opts, &err) == TI_OK)
        return TI_CLI_END;
    return (int)ti_cli_usage(&ti_replay_cli, "--runs %lld: %s", (long long)o->sweep.runs, err.text);
}

ti_status ti__replay_calibrate_noise(struct ti_replay_options *o, struct ti_err *err)
{
    struct ti_noise *n = &o->noise;
    const struct ti_calibration *c = &o->calibrated.file;

    if (!n->calibration)
        return TI_OK;
    if (c->noise.burst < 0) {
        ti_err_set(err, TI_ERR_INPUT, "'%s' has no noise", o->calibration);
        ti_err_hint(err,
                    "ti-calibrate measures it, unless with --no-network; or give it: --noise 3%%");
        return TI_ERR_INPUT;
    }
    n->burst = n->rate || n->burst >= 0 ? n->burst : c->noise.burst;
    n->core = n->core >= 0 ? n->core : c->noise.core;
    n->node = n->node >= 0 ? n->node : c->noise.node;
    return TI_OK;
}

/* ---- sweeps ---- */

/* Takes a value of an option that is swept into options that are thrown away. */
static ti_status try_value(const struct ti_replay_options *o, const struct ti_opt *opt,
                           const char *value, struct ti_err *err)
{
    struct ti_replay_options trial = *o;

    return ti_opt_parse(opt, &trial, value, err);
}

static bool accepts(const struct ti_opt *opt, const char *value, const void *o)
{
    struct ti_err none;

    return try_value(o, opt, value, &none) == TI_OK;
}

ti_status ti__replay_parse_sweep(void *options, const char *text, struct ti_err *err)
{
    struct ti_replay_options *o = options;
    struct ti_sweep *sweep = &o->sweep.sweep;
    ti_status st = ti_sweep_add(sweep, text, ti_replay_cli.opts, err);

    for (int v = 0; !st && v < sweep->choice[sweep->n - 1].value.n; v++) {
        st = try_value(o, sweep->choice[sweep->n - 1].opt, sweep->choice[sweep->n - 1].value.v[v],
                       err);
        if (st)
            ti_sweep_hint(sweep, &(struct ti_sweep_judge){accepts, o}, err);
    }
    return st;
}
