/*
 * What there is to run on: a sites file or hostfile that was named, or the job we
 * are in.
 *
 * In order: --local is this machine; --sites; --hostfile; a Slurm allocation
 * ($SLURM_JOB_ID), an OAR job ($OAR_NODEFILE), one of PBS ($PBS_NODEFILE) or LSF
 * ($LSB_DJOB_HOSTFILE, $LSB_HOSTS); else this machine.  A job of one node that is the
 * one we are on is this machine too: what limits us there, the kernel says.
 */
#ifndef TI_WHERE_H
#define TI_WHERE_H

#include "acquire/options.h"
#include "common/err.h"
#include "formats/sites.h"

#define TI_WHERE_BYTES 256

/*
 * *out is NULL for this machine; release with ti_sites_free().  `what` says in words
 * where that is: "Slurm job 1234 (normal), 4 nodes"; "" when there is nothing to say.  *more,
 * unless NULL, is as of ti_sites_read(), on failure too.  TI_ERR_USAGE for options that exclude
 * each other, TI_ERR_INPUT for what is malformed, naming file or variable, TI_ERR_IO.  Nodes in
 * --exclude are left out: TI_ERR_INPUT for one that is not there.
 */
ti_status ti_where_find(const struct ti_options *o, struct ti_sites **out,
                        char what[TI_WHERE_BYTES], char **more, struct ti_err *err);

/* Each line of `more`, as a warning is told; NULL is fine. */
void ti_where_say(const char *more);

/* Parts.  Whether the environment has such a job, and what it is; *out stays NULL when it
 * is of this machine alone. */
bool ti__where_in_slurm(void);
ti_status ti__where_slurm(struct ti_sites **out, char what[TI_WHERE_BYTES], struct ti_err *err);
ti_status ti__where_nodefile(struct ti_sites **out, char what[TI_WHERE_BYTES], bool *found,
                             struct ti_err *err);

/* Whether this is the machine that `node` names. */
bool ti__where_is_here(const char *node);

/* Add words of an argv to s->via, NULL behind the last; false when memory is short. */
bool ti__where_via(struct ti_sites *s, const char *const *words);

#endif
