/*
 * What the targets that know no volumes have in common: which traces they can take, what must
 * be known of the whole trace, and a walk over it, rank by rank, into one file.
 */
#ifndef TI_TARGET_H
#define TI_TARGET_H

#include "replay-bridge/convert/clock.h"
#include "replay-bridge/convert/sizes.h"
#include "replay-bridge/trace/lint.h"

struct ti_conversion {
    struct ti_source *s;
    const struct ti_pace *pace;
    struct ti_lint lint;
    struct ti_problems problems; /* that the trace cannot be converted for */
    struct ti_sizes sizes;
    int64_t *comm; /* by global number: 1 + its number among those used; 0: none */
    size_t comm_cap;
    int64_t ncomms;
    uint64_t actions; /* written */
};

/* What all of them refuse, as ti_lower_refusal(): what is no message, collective or burst. */
const char *ti_target_refusal(const struct ti_step *step);

/*
 * Lint for a target that refuses what `refusal` says, and learn sizes and communicators.  As
 * ti_lint(): TI_OK with problems is a trace that cannot be converted.  Needs the scratch
 * directory; release with ti_conversion_free() in any case.
 */
ti_status
ti_conversion_prepare(struct ti_conversion *conv, struct ti_source *s, const struct ti_pace *pace,
                      const char *(*refusal)(const struct ti_comms *, const struct ti_step *,
                                             int64_t, char *, size_t),
                      struct ti_err *err);
void ti_conversion_free(struct ti_conversion *conv);

/* Number of communicator `gid` among those used, from 0. */
int64_t ti_conversion_comm(const struct ti_conversion *conv, int64_t gid);

/* The first tag that no message has. */
int64_t ti_conversion_unused_tag(const struct ti_conversion *conv);

/* Size of a message, as its receiver has it too. */
ti_status ti_conversion_bytes(struct ti_conversion *conv, int64_t rank, const struct ti_msg *m,
                              int64_t *bytes, struct ti_err *err);

/* Each step of `rank`, with its bursts so far on `clock`. */
ti_status ti_conversion_walk(struct ti_conversion *conv, int64_t rank, struct ti_clock *clock,
                             ti_status (*step)(void *arg, const struct ti_step *step,
                                               struct ti_err *err),
                             void *arg, struct ti_err *err);

/* A file of the scratch directory: made, and closed with `st` unless that fails. */
ti_status ti_file_create(const char *name, FILE **out, struct ti_err *err);
ti_status ti_file_finish(FILE *f, const char *name, ti_status st, struct ti_err *err);

/* Of a message that nobody waits for: what sent it, or its request, does not end later. */
static inline bool ti_msg_unwaited(const struct ti_msg *m)
{
    return !m->recv && m->mode == TI_SEND_BUFFERED;
}

/*
 * Write `out_name` into the scratch directory: LogGOPSim's GOAL, and Dimemas's trace.
 */
ti_status ti_goal_write(struct ti_conversion *conv, const char *out_name, struct ti_err *err);
ti_status ti_dimemas_write(struct ti_conversion *conv, const char *out_name, struct ti_err *err);

const char *ti_goal_refusal(const struct ti_comms *comms, const struct ti_step *step, int64_t eager,
                            char *buf, size_t bytes);
const char *ti_dimemas_refusal(const struct ti_comms *comms, const struct ti_step *step,
                               int64_t eager, char *buf, size_t bytes);

#endif
