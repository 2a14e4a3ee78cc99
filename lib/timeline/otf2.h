/*
 * Definitions of an OTF2 trace: texts, regions and communicators get their numbers when they are
 * first used, and are written at the end.  Private to otf2.c and otf2_definitions.c.
 */
#ifndef TI_TIMELINE_OTF2_H
#define TI_TIMELINE_OTF2_H

#include <otf2/otf2.h>

#include "timeline/internal.h"

#define TI__OTF2_TICKS   UINT64_C(1000000000) /* a second: those of ti__ns() */
#define TI__OTF2_PROGRAM 0                    /* the region of what is no MPI call */
#define TI__OTF2_SOURCE  0                    /* the attribute of an enter: the source line */

struct ti__otf2_defs;
struct ti__otf2_defs *ti__otf2_defs_new(const struct ti_timeline *t);
void ti__otf2_defs_free(struct ti__otf2_defs *d); /* NULL is fine */

uint32_t ti__otf2_string(struct ti__otf2_defs *d, const char *text);

/* The region of an MPI function, such as "MPI_Send"; `op` is its operation. */
uint32_t ti__otf2_region(struct ti__otf2_defs *d, const char *name, uint32_t op);

/* The communicator with global number `gid` in a job. */
uint32_t ti__otf2_comm(struct ti__otf2_defs *d, int job, int64_t gid);

/* The rank in that communicator, in its group of an intercommunicator, of a rank of the job; -1:
 * it is no member. */
int64_t ti__otf2_member(struct ti__otf2_defs *d, int job, int64_t gid, int64_t rank);

/* Write all definitions.  `events`: the number of records of each rank; `length`: ticks. */
OTF2_ErrorCode ti__otf2_define(struct ti__otf2_defs *d, OTF2_Archive *archive,
                               const uint64_t *events, uint64_t length);

#endif
