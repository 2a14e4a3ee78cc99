/*
 * The plan: how `np` ranks are run on this machine.  Pure computation.
 *
 * The paper's notation: R is a regular run, at most one rank a core; F-x is
 * folded, x ranks on a core.
 */
#ifndef TI_PLAN_H
#define TI_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "acquire/plan/memory_model.h"
#include "common/err.h"

/*
 * From these folding factors on, settings of Open MPI pay.  Measured with an
 * empty program on two cores (Open MPI 4.1.4):
 *   pml ob1        0.70 to 0.34 s at 8 ranks a core, 2.5 to 2.0 s at 32
 *   SCHED_IDLE     nothing at 16, 2.0 to 1.6 s at 32, 11.5 to 7.5 s at 64: the
 *                  launcher no longer starves among spinning ranks; over nodes, whenever
 *                  ranks share a core: ti-node must be heard, too
 *   procs on demand  7.5 to 6.0 s at 64
 *   drowsy (node/launch.h)  CPU seconds beside other work, one or two runs each, procs on
 *                  demand in both: 4.6 to 3.5 at 32, 16 and 20 to 10 at 64, 86 to 48 at 128;
 *                  nothing at 16
 * One run each at 64 a core showed no effect of fewer components (btl self,vader or
 * self,tcp; coll cut down), smaller segments of vader, the gds hash of PMIx,
 * HWLOC_COMPONENTS=-x86 or async_mpi_init: 10.7 to 13.9 s, 11 to 14 s without.
 */
#define TI_FOLD_OB1        2
#define TI_FOLD_DROWSY     16
#define TI_FOLD_IDLE       32
#define TI_FOLD_LAZY_PROCS 64

/* Memory a rank needs for our sake: the tracing library. */
#define TI_RANK_BYTES (256 * 1024)

/* And under the valgrind counter: 34 MiB were measured (Open MPI 4.1.4, valgrind
 * 3.19), the same for a rank of 3 MB, of 13 MB and of 310 MB: it is translated
 * code and debug information, while the program's data stay as they are.  Big
 * programs have more code. */
#define TI_VALGRIND_BYTES (INT64_C(48) << 20)

/*
 * How long ranks stay when they are through MPI_Finalize (TIARA_LINGER).  PMIx waits 2 s
 * for its daemon to hear that a rank has finished; where the daemon sees the end of the
 * process before it comes to the word, mpirun of Open MPI 4 calls the rank failed and kills
 * the others.  Seen with 512 and 1,024 ranks on two cores, never with 256.
 */
#define TI_LINGER_FREE     128 /* ranks on a node, that need none of it */
#define TI_LINGER_RANKS_PER_SECOND 100 /* ranks beyond these */
#define TI_LINGER_MAX              30

/*
 * Start-up: CPU seconds that MPI_Init of n ranks on a node takes, which grow with their square,
 * and of each under valgrind.  From 2 cores with the settings above: 7.5 s at 128 ranks, 29 at
 * 256, 113 at 512, 365 to 610 at 1,024.
 */
#define TI_START_PAIR_S     0.00086
#define TI_START_VALGRIND_S 1.2
#define TI_START_LONG_S     300 /* is warned of */

/* Seconds until so many ranks on one node are through MPI_Init, at most; the network aside. */
double ti_plan_start_seconds(int64_t ranks, int cores, bool valgrind);

/* Processes and threads of one rank, counted generously. */
#define TI_RANK_THREADS 4

enum ti_memory_source {
    TI_MEMORY_UNKNOWN,  /* nothing is known, nothing is checked */
    TI_MEMORY_GIVEN,    /* --mem-per-rank */
    TI_MEMORY_MEASURED, /* measured at pilot_np ranks */
    TI_MEMORY_MODEL,    /* extrapolated from several such numbers, --pilot */
};

struct ti_plan_in {
    int64_t np;
    int cores;
    int64_t available_bytes; /* on the machine, nothing reserved yet */
    int64_t reserve_bytes;
    enum ti_memory_source source;
    int64_t app_bytes; /* of a rank, unless unknown or by a model */
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
    const struct ti_memory_model *model; /* the caller's */
    int64_t app_bytes;                   /* a rank, the program alone */
    int64_t rank_bytes;                  /* a rank, with what tracing adds */
    int64_t needed_bytes;                /* all; 0 if unknown */
    int64_t available_bytes;             /* less what is reserved, 0 or more */
    int64_t reserve_bytes;
    int64_t largest_np; /* that fits; INT64_MAX if unknown */
    bool fits;          /* also if unknown */
    bool yield, ob1, drowsy, idle, lazy_procs;
};

/* What a rank takes, with what tracing adds to the program's own. */
int64_t ti_plan_rank_bytes(int64_t app_bytes, bool valgrind);

void ti_plan_make(const struct ti_plan_in *in, struct ti_plan *plan);

/* Seconds that each of so many ranks on one node stays. */
int ti_plan_linger(int64_t ranks);

/* The settings (yield, ob1, idle, lazy_procs) for plan->folding, here or on nodes. */
void ti_plan_settings(struct ti_plan *plan);

/* TI_OK, or TI_ERR_INPUT with what is needed, what there is, and what would fit. */
ti_status ti_plan_check(const struct ti_plan *plan, struct ti_err *err);

/* "12.3 MiB a rank by a probe at 4 ranks, ..." into buf; returns buf. */
char *ti_plan_memory_text(const struct ti_plan *plan, char *buf, int buf_bytes);

/* A new object; NULL when out of memory. */
json_t *ti_plan_json(const struct ti_plan *plan);

#endif
