/*
 * Conversion of an OTF2 trace, as Score-P writes it, to rank files.
 *
 *   definitions -> survey of all ranks -> events, rank by rank
 *
 * The survey collects the sizes of collectives with counts, which the trace spreads over the ranks.
 * The events of a rank are read twice: a non-blocking receive shows its message where it completes,
 * but a rank file needs it where it is posted.  Memory grows with the non-blocking receives of one
 * rank, and with the members of all collectives with counts and scans.
 */
#ifndef TI_REPLAY_BRIDGE_OTF2_OTF2_H
#define TI_REPLAY_BRIDGE_OTF2_OTF2_H

#include <stdint.h>

#include "common/err.h"

/* Counts of a conversion. */
struct ti_otf2_imported {
    int64_t np;
    uint64_t records, events; /* records of the trace read; events written */
};

/*
 * Read the trace with the anchor file `path` and write rank files into the scratch directory.  Each
 * kind of guess is reported once by ti_warn().  The rank files are not checked.
 *
 * TI_ERR_INPUT with path, rank, record and cause.  TI_ERR_USAGE without the OTF2 library.
 */
ti_status ti_otf2_import(const char *path, struct ti_otf2_imported *out, struct ti_err *err);

#endif
