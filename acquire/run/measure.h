/*
 * What a rank of the job's program takes in memory, measured by running it here.
 */
#ifndef TI_MEASURE_H
#define TI_MEASURE_H

#include "acquire/run/job.h"
#include "acquire/plan/memory_model.h"

/*
 * With few ranks, once or as often as it takes to find that np ranks fit: fills
 * in->source, app_bytes and pilot_np, and makes j->plan.  What is not known is
 * warned of.  TI_ERR_APP when interrupted (j->signal is set then).
 */
ti_status ti_measure_memory(struct ti_job *j, struct ti_plan_in *in, struct ti_err *err);

/*
 * --pilot: run the program with each number of ranks in `list` ("4,8,16"; NULL:
 * 4,8,16 as far as they are no more than np) and fit a model.  The program must
 * be on this machine (j->program) and j->machine, j->mpirun and j->run_id be known;
 * j->dir need not be open.  Numbers at which the program fails, or that would
 * not fit into the memory here, are left out with a warning as long as two others
 * are there.  Adds to j->pilot_started and j->pilot_seconds.
 *
 * TI_ERR_INPUT when nothing is known in the end: the hint is --mem-per-rank.
 */
ti_status ti_pilot_model(struct ti_job *j, const char *list, struct ti_memory_model *out,
                         struct ti_err *err);

/*
 * What a plan over nodes is to go by: --mem-per-rank, else the model of --pilot, else one of
 * 4,8,16 ranks where the program is on this machine.  *model has n == 0 with
 * --mem-per-rank.  Returns in *rank_bytes what a rank of np takes, tracing included.
 * TI_ERR_INPUT when it cannot be told here: the hint names --mem-per-rank and --pilot.
 */
ti_status ti_measure_rank(struct ti_job *j, struct ti_memory_model *model, int64_t *rank_bytes,
                          struct ti_err *err);

#endif
