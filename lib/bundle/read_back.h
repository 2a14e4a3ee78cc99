/*
 * Looks into bundles that were written: what was just written is read back, and a bundle that is to
 * be replaced is searched for traces that exist nowhere else.
 */
#ifndef TI_BUNDLE_READ_BACK_H
#define TI_BUNDLE_READ_BACK_H

#include "bundle/run.h"
#include "bundle/zip.h"

/*
 * Opens the bundle `path`, whose file is `fd`, and checks its seal, and that it has exactly the
 * traces of `run`: by its directory, or, if ranks are merged, by the CRC of each record.
 * (*member)[i] is the index of the member of rank i, and (*member)[nranks] that of the manifest;
 * -1: none.  The caller frees *member and closes *z in any case.
 */
ti_status ti_bundle_open_back(int fd, const char *path, const struct ti_run *run, struct ti_zip **z,
                              int64_t **member, struct ti_err *err);

/* Reads directory, manifest and member headers back; ti_bundle_remove_sources() reads the traces.
 */
ti_status ti_bundle_read_back(int fd, const char *path, const struct ti_run *run,
                              struct ti_err *err);

/* Refuses to replace the bundle `output` if it has the only traces of some ranks of `run`, as after
 * --remove.  A file that is no bundle, or is not there, is fine. */
ti_status ti_bundle_check_replaced(const char *output, const struct ti_run *run,
                                   struct ti_err *err);

#endif
