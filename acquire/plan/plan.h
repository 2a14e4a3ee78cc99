/*
 * The plan: how np ranks run on this machine, whether their memory suffices, and which settings
 * of Open MPI help.  Pure computation.
 *
 * Modes are those of acquire/plan/place.h: R is a regular run with at most one rank a core, F-x a
 * folded one with x ranks a core.
 */
#ifndef TI_ACQUIRE_PLAN_PLAN_H
#define TI_ACQUIRE_PLAN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "acquire/plan/memory_model.h"
#include "common/err.h"

/*
 * Folding factors from which a setting of Open MPI helps.  Measured with an empty program on two
 * cores (Open MPI 4.1.4):
 *   pml ob1          0.70 to 0.34 s at 8 ranks a core, 2.5 to 2.0 s at 32
 *   SCHED_IDLE       no effect at 16, 2.0 to 1.6 s at 32, 11.5 to 7.5 s at 64: spinning ranks
 *                    no longer starve the launcher.  Over several nodes it is used whenever
 *                    ranks share a core, because ti-node needs processor time, too.
 *   procs on demand  7.5 to 6.0 s at 64
 *   timer slack      CPU seconds beside other work, one or two runs, with procs on demand (see
 *                    node/launch.h): no effect at 16; 4.6 to 3.5 at 32; 16 and 20 to 10 at 64;
 *                    86 to 48 at 128
 * At 64 ranks a core, in one run each, these showed no effect (10.7 to 13.9 s; 11 to 14 s without
 * them): fewer components (btl self,vader or self,tcp; a short list of coll), smaller segments of
 * vader, the gds hash of PMIx, HWLOC_COMPONENTS=-x86, async_mpi_init.
 */
#define TI_FOLD_OB1        2
#define TI_FOLD_TIMER_SLACK 16
#define TI_FOLD_IDLE       32
#define TI_FOLD_LAZY_PROCS 64

/* Memory that the tracing library adds to a rank. */
#define TI_RANK_BYTES (256 * 1024)

/* Memory that the valgrind counter adds to a rank.  Measured were 34 MiB (Open MPI 4.1.4,
 * valgrind 3.19) for ranks of 3, 13 and 310 MB alike: translated code and debug information grow
 * with the code, not with the data. */
#define TI_VALGRIND_BYTES (INT64_C(48) << 20)

/*
 * How long a rank waits after MPI_Finalize before it exits (TIARA_LINGER).  PMIx waits 2 s for
 * its daemon to read that a rank has finished.  If the daemon sees the end of the process first,
 * mpirun of Open MPI 4 reports the rank as failed and kills the others.  Seen with 512 and 1,024
 * ranks on two cores, never with 256.
 */
#define TI_LINGER_FREE             128 /* ranks on a node that need no wait */
#define TI_LINGER_RANKS_PER_SECOND 100 /* one second for so many ranks beyond these */
#define TI_LINGER_MAX              30

/*
 * CPU seconds that MPI_Init of all ranks on a node takes: a term for each pair of ranks, and
 * under valgrind one for each rank.  Measured on 2 cores with the settings above: 7.5 s at 128
 * ranks, 29 at 256, 113 at 512, 365 to 610 at 1,024.
 */
#define TI_START_PAIR_S     0.00086
#define TI_START_VALGRIND_S 1.2
#define TI_START_LONG_S     300 /* from here on, warn */

/* An upper estimate of the seconds until `ranks` on one node have left MPI_Init, without the
 * network. */
double ti_plan_start_seconds(int64_t ranks, int cores, bool valgrind);

/* An upper estimate of the processes and threads of one rank. */
#define TI_RANK_THREADS 4

enum ti_memory_source {
    TI_MEMORY_UNKNOWN,  /* nothing is checked */
    TI_MEMORY_GIVEN,    /* --mem-per-rank */
    TI_MEMORY_MEASURED, /* by a pilot with pilot_np ranks */
    TI_MEMORY_MODEL,    /* extrapolated from several pilots, --pilot */
};

struct ti_plan_in {
    int64_t np;
    int cores;
    int64_t available_bytes; /* on the machine, reserve included */
    int64_t reserve_bytes;
    enum ti_memory_source source;
    int64_t app_bytes; /* of a rank, if source is GIVEN or MEASURED */
    int64_t pilot_np;
    const struct ti_memory_model *model;
    bool valgrind;
};

struct ti_plan {
    int64_t np;
    int cores;
    int64_t folding; /* ranks on the fullest core */
    char mode[32];   /* "R", "F-32" */
    enum ti_memory_source source;
    int64_t pilot_np;
    const struct ti_memory_model *model; /* borrowed */
    int64_t app_bytes;                   /* of a rank, the program alone */
    int64_t rank_bytes;                  /* of a rank, with tracing */
    int64_t needed_bytes;                /* of all ranks; 0 if unknown */
    int64_t available_bytes;             /* less reserve_bytes, not negative */
    int64_t reserve_bytes;
    int64_t largest_np; /* that fits; INT64_MAX if unknown */
    bool fits;          /* also if unknown */
    double start_seconds; /* ti_plan_start_seconds(), of the node that takes longest */
    bool yield, ob1, timer_slack, idle, lazy_procs;
};

/* Memory of a rank with tracing, from that of the program alone. */
int64_t ti_plan_rank_bytes(int64_t app_bytes, bool valgrind);

void ti_plan_make(const struct ti_plan_in *in, struct ti_plan *plan);

/* TIARA_LINGER in seconds, for so many ranks on one node. */
int ti_plan_linger(int64_t ranks);

/* Set yield, ob1, timer_slack, idle and lazy_procs by plan->folding. */
void ti_plan_settings(struct ti_plan *plan);

/* TI_ERR_INPUT when memory does not suffice: what is needed, what is available, what would fit. */
ti_status ti_plan_check(const struct ti_plan *plan, struct ti_err *err);

/* "12.3 MiB a rank by a probe at 4 ranks, ..." into buf; returns buf. */
char *ti_plan_memory_text(const struct ti_plan *plan, char *buf, int buf_bytes);

/* A new object; NULL when out of memory. */
json_t *ti_plan_json(const struct ti_plan *plan);

#endif
