/* In place of the other sources where there is no OTF2 library. */
#include "replay-bridge/otf2/otf2.h"

ti_status ti_otf2_import(const char *path, struct ti_otf2_imported *out, struct ti_err *err)
{
    (void)path;
    *out = (struct ti_otf2_imported){0};
    ti_err_set(err, TI_ERR_USAGE, "this ti-convert was built without the OTF2 library");
    ti_err_hint(err, "install libotf2-trace-dev and build Tiara again");
    return TI_ERR_USAGE;
}
