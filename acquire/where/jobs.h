/* The nodes of the batch job that this process runs in, by its environment. */
#ifndef TI_ACQUIRE_WHERE_JOBS_H
#define TI_ACQUIRE_WHERE_JOBS_H

#include <stdbool.h>

#include "common/err.h"
#include "config/sites.h"

#define TI_WHERE_BYTES 256

/*
 * The nodes of a Slurm allocation (slurm.c); and those of an OAR, PBS or LSF job (nodefile.c), if
 * there is one, which *found says.
 *
 *   *out  NULL when the job has only this machine; release with ti_sites_free()
 *   what  the job in words: "Slurm job 1234 (normal), 4 nodes"
 */
bool ti_jobs_in_slurm(void);
ti_status ti_jobs_slurm(struct ti_sites **out, char what[TI_WHERE_BYTES], struct ti_err *err);
ti_status ti_jobs_nodefile(struct ti_sites **out, char what[TI_WHERE_BYTES], bool *found,
                           struct ti_err *err);

#endif
