/*
 * A calibration file as a replay uses it: speeds of a platform that is made, and SMPI's settings.
 */
#ifndef TI_CALIBRATED_H
#define TI_CALIBRATED_H

#include <stdbool.h>

#include "formats/calibration.h"
#include "replay-bridge/platform/platform.h"

#define TI_CALIBRATED_CFG 7

struct ti_calibrated {
    struct ti_calibration file;
    /* As SimGrid writes them; "" where the file has none.  The latency is of one link. */
    char speed[32], bandwidth[32], latency[32], loopback_bandwidth[32], loopback_latency[32];
    char *cfg[TI_CALIBRATED_CFG]; /* KEY:VALUE */
    int ncfg;
};

/*
 * Read the file for a platform of that topology: messages between the nearest hosts of it take as
 * long as between the two ranks that were measured.  What is wrong beside the first error is said.
 * ti_calibrated_free() releases it, after errors too.
 */
ti_status ti_calibrated_read(const char *path, const struct ti_topology *topology,
                             struct ti_calibrated *out, struct ti_err *err);
void ti_calibrated_free(struct ti_calibrated *c);

/*
 * SMPI's settings: those of the user (KEY:VALUE), behind those of the calibration whose keys the
 * user does not set, in an array that the caller frees; the texts are not copied.  NULL: no memory.
 * What the user says of eager sends replaces all that the calibration says of them.
 */
char **ti_calibrated_cfg(const struct ti_calibrated *c, char **user, int nuser, int *n);

/* Whether one of the user's settings says which sends are eager. */
bool ti_calibrated_eager_given(char **user, int nuser);

#endif
