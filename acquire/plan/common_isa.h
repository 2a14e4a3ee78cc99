/*
 * Nodes that are not alike: whether the same program executes the same
 * instructions on all of them, and what to do about it.  Pure computation.
 *
 * glibc chooses its functions by the processor (acquire/plan/isa.h).  Where processors
 * differ, in level or only in model, the traces of a run over all of them would
 * differ by where a rank was; so it is given the least level that all have, and that
 * is said.  Only who asks for --isa native gets what each node chooses.
 *
 * Another glibc has other functions, and another Open MPI may not even talk to
 * ours: that cannot be levelled, and is warned of.
 */
#ifndef TI_COMMON_ISA_H
#define TI_COMMON_ISA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* What is not known is NULL, and differs from nothing.  The strings are the caller's. */
struct ti_common_isa_node {
    const char *name;
    const char *family; /* as uname -m */
    const char *isa;    /* "x86-64-v3"; x86-64-v1 is called x86-64 as well */
    const char *cpu;    /* model */
    const char *glibc;  /* "2.36" */
    const char *mpi;    /* version of Open MPI, "4.1.4" */
};

#define TI_COMMON_ISA_WARNINGS 8

struct ti_common_isa {
    const char
        *isa;    /* for ti_isa_tunables(): asked for, or chosen since nodes differ; NULL: none */
    bool chosen; /* by us */
    char *said;  /* why, a sentence for ti_say(); NULL: nothing to say */
    char *warning[TI_COMMON_ISA_WARNINGS]; /* sentences for ti_warn() */
    int nwarnings;
};

/* The fields of ti-node's answer to "facts" (node/messages.h), borrowed from it. */
struct ti_common_isa_node ti_common_isa_node_of_facts(const char *name, const json_t *facts);

/*
 *   asked    --isa, NULL: not given
 *   native   --isa native: glibc chooses, whatever the nodes
 *   counted  what is counted are instructions; else there is nothing to level
 *
 * TI_ERR_INPUT when `asked` is more than some node has: names it.
 * Release with ti_common_isa_free() in any case.
 */
ti_status ti_common_isa_choose(const struct ti_common_isa_node *node, int64_t n, const char *asked,
                               bool native, bool counted, struct ti_common_isa *out,
                               struct ti_err *err);
void ti_common_isa_free(struct ti_common_isa *c);

#endif
