/*
 * Common part of the targets that have times instead of volumes: Dimemas and GOAL.
 *
 * A conversion reads the trace twice.  ti_conversion_prepare() checks that the target can express
 * it and collects facts about the whole trace.  ti_dimemas_write() or ti_goal_write() then walks
 * over each rank and writes one file.
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_TARGET_H
#define TI_REPLAY_BRIDGE_CONVERT_TARGET_H

#include "replay-bridge/convert/clock.h"
#include "replay-bridge/convert/sizes.h"
#include "replay-bridge/trace/lint.h"

struct ti_conversion {
    struct ti_source *s;
    const struct ti_pace *pace;
    struct ti_lint lint;
    struct ti_problems problems; /* reasons why the trace cannot be converted */
    struct ti_sizes sizes;
    int64_t *comm; /* by gid: 1 + number among the communicators in use; 0: not in use */
    size_t comm_cap;
    int64_t ncomms;
    uint64_t actions; /* written so far */
};

/* Why neither target can express a step, NULL if this check finds nothing: anything other than
 * messages, collectives and bursts.  Static text. */
const char *ti_target_refusal(const struct ti_step *step);

/*
 * Check the trace, and collect message sizes and communicators.  `refusal` returns why the target
 * cannot express a step, or NULL.  TI_OK with problems means that the trace cannot be converted, as
 * for ti_lint().  Needs the scratch directory.  Release with ti_conversion_free(), after errors
 * too.
 */
ti_status
ti_conversion_prepare(struct ti_conversion *conv, struct ti_source *s, const struct ti_pace *pace,
                      const char *(*refusal)(const struct ti_comms *, const struct ti_step *,
                                             int64_t, char *, size_t),
                      struct ti_err *err);
void ti_conversion_free(struct ti_conversion *conv);

/* Number of communicator `gid` among the communicators in use, from 0. */
int64_t ti_conversion_comm(const struct ti_conversion *conv, int64_t gid);

/* The lowest tag above those that ti_lint_tag() gives to messages. */
int64_t ti_conversion_unused_tag(const struct ti_conversion *conv);

/* Bytes of a message that `rank` sends or receives; see ti_sizes_of() for the order of calls. */
ti_status ti_conversion_bytes(struct ti_conversion *conv, int64_t rank, const struct ti_msg *m,
                              int64_t *bytes, struct ti_err *err);

/* Call `step` for each step of `rank`.  `clock` is started here; each burst is added to it before
 * `step` is called. */
ti_status ti_conversion_walk(struct ti_conversion *conv, int64_t rank, struct ti_clock *clock,
                             ti_status (*step)(void *arg, const struct ti_step *step,
                                               struct ti_err *err),
                             void *arg, struct ti_err *err);

/* Whether nothing ever waits for the message: a buffered send completes locally. */
static inline bool ti_msg_unwaited(const struct ti_msg *m)
{
    return !m->recv && m->mode == TI_SEND_BUFFERED;
}

/* Write the converted trace into the file `out_name` of the scratch directory. */
ti_status ti_goal_write(struct ti_conversion *conv, const char *out_name, struct ti_err *err);
ti_status ti_dimemas_write(struct ti_conversion *conv, const char *out_name, struct ti_err *err);

/* For ti_conversion_prepare(): why the target cannot express a step, or NULL.  The text is static
 * or in `buf`.  `eager` is not used. */
const char *ti_goal_refusal(const struct ti_comms *comms, const struct ti_step *step, int64_t eager,
                            char *buf, size_t bytes);
const char *ti_dimemas_refusal(const struct ti_comms *comms, const struct ti_step *step,
                               int64_t eager, char *buf, size_t bytes);

#endif
