/*
 * Nodes with different processors: choose the instruction set for which glibc selects its
 * functions on all of them.  Pure computation.
 *
 * glibc selects functions by the processor (acquire/plan/isa.h).  Where processors differ, in
 * level or only in model, the traces would depend on the node of each rank.  So all nodes get the
 * lowest level among them, and a message says so; with --isa native each node selects by itself.
 *
 * Another version of glibc has other functions, and another Open MPI may not even connect to
 * ours.  A common level does not help there; a warning is given.
 */
#ifndef TI_ACQUIRE_PLAN_COMMON_ISA_H
#define TI_ACQUIRE_PLAN_COMMON_ISA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* The facts of a node that matter.  NULL: unknown, which differs from nothing.  The strings are
 * borrowed. */
struct ti_common_isa_node {
    const char *name;
    const char *family; /* as of uname -m */
    const char *isa;    /* "x86-64-v3"; x86-64-v1 is called x86-64 as well */
    const char *cpu;    /* model name */
    const char *glibc;  /* "2.36" */
    const char *mpi;    /* version of Open MPI, "4.1.4" */
};

#define TI_COMMON_ISA_WARNINGS 8

struct ti_common_isa {
    const char *isa; /* argument of ti_isa_tunables(); NULL: glibc selects by itself */
    bool chosen;     /* not asked for, but chosen because nodes differ */
    char *said;      /* why it was chosen, for ti_say(); NULL: nothing to say */
    char *warning[TI_COMMON_ISA_WARNINGS]; /* for ti_warn() */
    int nwarnings;
};

/* From ti-node's answer to "facts" (session/messages.h); borrows its strings. */
struct ti_common_isa_node ti_common_isa_node_of_facts(const char *name, const json_t *facts);

/*
 *   asked    --isa; NULL: not given
 *   native   --isa native
 *   counted  the counter counts instructions; otherwise the instruction set does not matter
 *
 * TI_ERR_INPUT when a node lacks the level `asked`: the message names the node.  Release with
 * ti_common_isa_free() in any case.
 */
ti_status ti_common_isa_choose(const struct ti_common_isa_node *node, int64_t n, const char *asked,
                               bool native, bool counted, struct ti_common_isa *out,
                               struct ti_err *err);
void ti_common_isa_free(struct ti_common_isa *c);

#endif
