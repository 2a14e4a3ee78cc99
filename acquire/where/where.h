/*
 * The nodes to run on: a sites file or hostfile that was named, the nodes of a job, or this
 * machine.
 *
 * In order: --local is this machine; --sites; --hostfile; a Slurm allocation ($SLURM_JOB_ID); an
 * OAR job ($OAR_NODEFILE); a PBS job ($PBS_NODEFILE) or an LSF job ($LSB_DJOB_HOSTFILE,
 * $LSB_HOSTS); else this machine.  A job whose only node is this machine counts as this machine,
 * because the kernel reports its limits.
 */
#ifndef TI_ACQUIRE_WHERE_WHERE_H
#define TI_ACQUIRE_WHERE_WHERE_H

#include "acquire/options.h"
#include "acquire/where/jobs.h"
#include "common/err.h"
#include "config/sites.h"

/*
 * Find the nodes; those of --exclude are left out.
 *
 *   *out   NULL for this machine; release with ti_sites_free()
 *   what   the source in words: "Slurm job 1234 (normal), 4 nodes"; "": nothing to say
 *   *more  further findings as of ti_sites_read(), also after an error; may be NULL
 *
 * TI_ERR_USAGE: options that exclude each other.  TI_ERR_INPUT: malformed input, with file or
 * variable, or a node of --exclude that does not exist.  TI_ERR_IO.
 */
ti_status ti_where_find(const struct ti_options *o, struct ti_sites **out,
                        char what[TI_WHERE_BYTES], char **more, struct ti_err *err);

/* Print each line of `more` as a warning; NULL is fine. */
void ti_where_say(const char *more);

#endif
