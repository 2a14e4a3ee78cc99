/*
 * The volumes of the target, and how far the inputs determine them.
 */
#ifndef TI_EXTRAPOLATE_VOLUMES_H
#define TI_EXTRAPOLATE_VOLUMES_H

#include "extrapolate/model.h"

/* The volume of the target: as it is made, and its interval. */
struct ti_volume {
    const char *site; /* before calls from this site, of the text in the trace; "": it has none */
    double is, low, high;
    int64_t decides; /* ranks whose trace would make the interval narrow; 0: not known */
    double widest;   /* the interval of the fit that says so, as a share */
};

struct ti_target_volumes {
    struct ti_volume all, *site;
    size_t nsites, cap;
};

/* Sum up the volumes of the target.  Release *out in any case, before the inputs of the models.
 * TI_ERR_INPUT: a rule gives no number at a rank; TI_ERR_IO. */
ti_status ti_target_volumes_find(const struct ti_models *m, struct ti_target_volumes *out,
                                 struct ti_err *err);
void ti_target_volumes_free(struct ti_target_volumes *v);

#endif
