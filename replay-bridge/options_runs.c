#include "replay-bridge/options_internal.h"

#include <stdio.h>

int ti__replay_check_noise(const struct ti_replay_options *o)
{
    const struct ti_noise *n = &o->noise;

    if (n->calibration && !o->calibration)
        return (int)ti_cli_usage(&ti_replay_cli, "--noise calibration needs the file: "
                                                 "--calibration FILE");
    if (n->rate && !o->rate)
        return (int)ti_cli_usage(&ti_replay_cli, "--noise rate needs the file: --rate FILE");
    if ((ti_noise_any(n) || n->calibration) && (o->no_compute || o->times))
        return (int)ti_cli_usage(&ti_replay_cli, "--noise has no effect with --%s",
                                 o->times ? "times: bursts take their measured durations"
                                          : "no-compute: bursts take no time");
    return TI_CLI_END;
}

int ti__replay_check_runs(const struct ti_replay_options *o)
{
    const char *option = o->keep        ? "keep"
                         : o->lint_only ? "lint"
                         : o->show      ? "show-platform"
                         : o->timeline  ? "timeline"
                         : o->profile   ? "profile"
                         : o->links     ? "links"
                         : o->against   ? "against"
                                        : NULL;

    if (o->sweep.runs && o->seed_given)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--runs %lld replays with the seeds 0 to %lld: --seed cannot be "
                                 "given too",
                                 (long long)o->sweep.runs, (long long)o->sweep.runs - 1);
    return option ? (int)ti_cli_usage(&ti_replay_cli,
                                      "--%s is for one replay, such as --seed 0, not for --runs",
                                      option)
                  : TI_CLI_END;
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
