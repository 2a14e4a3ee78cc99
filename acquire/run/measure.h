/*
 * Measures the memory of a rank of the job's program by pilots on this machine.
 */
#ifndef TI_ACQUIRE_RUN_MEASURE_H
#define TI_ACQUIRE_RUN_MEASURE_H

#include "acquire/plan/memory_model.h"
#include "acquire/run/acquisition.h"

/*
 * Run pilots with few ranks until np ranks are known to fit.  Fills in->source, app_bytes and
 * pilot_np, and makes a->plan.  If nothing could be measured, a warning is printed.  TI_ERR_APP
 * when interrupted (a->signal is set).
 */
ti_status ti_measure_memory(struct ti_acquisition *a, struct ti_plan_in *in, struct ti_err *err);

/*
 * --pilot: run the program with each number of ranks in `list` ("4,8,16") and fit a model.  NULL:
 * those of 4, 8 and 16 that are at most np, or np alone if it is less than 4.
 *
 * The program must be on this machine, and a->program, a->machine, a->mpirun and a->run_id be
 * known; a->dir need not be open.  Numbers of ranks at which the program fails, or which do not
 * fit into the memory here, are left out with a warning if two others remain.
 *
 * TI_ERR_INPUT when no number could be measured; the hint is --mem-per-rank.
 */
ti_status ti_pilot_model(struct ti_acquisition *a, const char *list, struct ti_memory_model *out,
                         struct ti_err *err);

/*
 * The memory of a rank for a plan over nodes: --mem-per-rank, else the model of --pilot, else a
 * model of 4, 8 and 16 ranks if the program is on this machine.
 *
 *   *model       n == 0 with --mem-per-rank
 *   *rank_bytes  of a rank among np, with tracing
 *
 * TI_ERR_INPUT when it cannot be measured here; the hint names --mem-per-rank and --pilot.
 */
ti_status ti_measure_rank(struct ti_acquisition *a, struct ti_memory_model *model,
                          int64_t *rank_bytes, struct ti_err *err);

#endif
