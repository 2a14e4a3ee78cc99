/*
 * A calibration file as a replay uses it: speeds of a generated platform, and settings of SMPI.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_CALIBRATED_H
#define TI_REPLAY_BRIDGE_SIMULATION_CALIBRATED_H

#include <stdbool.h>

#include "config/calibration.h"
#include "replay-bridge/platform/platform.h"

#define TI_CALIBRATED_CFG 7

struct ti_calibrated {
    struct ti_calibration file;
    /* As SimGrid writes them; "" where the file has none.  The latency is of one link. */
    char speed[32], bandwidth[32], latency[32], loopback_bandwidth[32], loopback_latency[32];
    char copy[32];
    char *contention; /* shares of the speed, see ti_ranks_value(); NULL: none are known */
    char *cfg[TI_CALIBRATED_CFG]; /* KEY:VALUE */
    int ncfg;
};

/*
 * Reads the calibration file for a platform of `topology`.  The speeds are chosen so that messages
 * between the nearest hosts take as long as between the two ranks that were measured.  Errors after
 * the first are printed at once.  Release *out with ti_calibrated_free(), after errors too.
 */
ti_status ti_calibrated_read(const char *path, const struct ti_topology *topology,
                             struct ti_calibrated *out, struct ti_err *err);
void ti_calibrated_free(struct ti_calibrated *c);

/*
 * Settings for SMPI (KEY:VALUE), *n of them: those of the calibration whose keys the user does not
 * set, then those of the user.  If the user sets any limit of eager sends, all settings of the
 * calibration for eager sends are dropped.  The caller frees the array but not the texts, which are
 * not copied.  NULL: out of memory.
 */
char **ti_calibrated_cfg(const struct ti_calibrated *c, char **user, int nuser, int *n);

/* Whether one of the user's settings is a limit of eager sends. */
bool ti_calibrated_eager_given(char **user, int nuser);

#endif
