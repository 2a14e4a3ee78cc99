/* In place of otf2.c, where the OTF2 library is missing. */
#include "timeline/internal.h"

static ti_status open_trace(struct ti_timeline *t, struct ti_err *err)
{
    (void)t;
    ti_err_set(err, TI_ERR_USAGE,
               "OTF2 traces are not written: Tiara was built without OTF2's library");
    ti_err_hint(err, "install libotf2-trace-dev and build again");
    return TI_ERR_USAGE;
}

const struct ti__format ti__otf2 = {.endings = ".otf2", .open = open_trace};
