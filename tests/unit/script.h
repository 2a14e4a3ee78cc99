/*
 * Traces for unit tests, written as scripts:
 *
 *   RANKS OPERATION field=value ... v0=1,2,3     "*", "2" or "0-2"; v=: volume; ns=:
 *                                                burst_ns, if one has it all ranks do;
 *                                                site=: call site, up to 15 different ones
 *   RANKS COMM INDEX KIND 0,1,2                  a communicator, for its members;
 *                                                "0,1|2": of two groups
 *   RANK END STATE                               how its trace ends, see TI_ENDS
 */
#ifndef TI_TESTS_UNIT_SCRIPT_H
#define TI_TESTS_UNIT_SCRIPT_H

#include "bundle/source.h"

/* Write the trace of a script of up to 256 ranks and open it as script_source;
 * `missing` is a rank left out, or -1.  The one before is forgotten. */
void script_trace(int np, int missing, const char *script);
void script_forget(void);
const char *script_dir(void); /* where its rank files are */

extern struct ti_source *script_source;
extern const char *const *script_info; /* three keys with values, or NULL */

#endif
