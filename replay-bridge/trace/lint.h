/*
 * Lint: checks before a replay whether its target can reproduce a trace exactly.
 *
 * Nothing is approximated.  A trace passes if it is sound (sound/check.h) and the target has an
 * exact counterpart of every call.  Otherwise it is refused with rank, event and reason.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_LINT_H
#define TI_REPLAY_BRIDGE_TRACE_LINT_H

#include "sound/check.h"
#include "trace/caveats.h"

/* Result of the check: facts about the whole trace, which lowering needs too. */
struct ti_lint {
    int64_t np;
    int64_t eager_bytes; /* smpi/send-is-detached-thresh */
    struct ti_check check;
    struct ti_caveats caveats;
    struct ti_volumes {
        char counter[32], unit[32]; /* "" if the trace does not say, "mixed" if ranks differ */
        bool inexact, estimate;     /* true if this holds for any rank */
    } volumes;
    /* Numbers of problems, by remedy.  A problem that is in no count makes the trace unsound. */
    uint64_t refused;  /* calls that the engine cannot replay */
    uint64_t untraced; /* calls that are not traced */
    int64_t missing;   /* ranks without a complete trace */
    bool files;        /* some rank has calls of MPI-IO */
    /* Calls that take no time in stock replay. */
    struct ti_untimed {
        uint64_t comms;  /* communicators that are made; one counts once, whatever its size */
        uint64_t probes; /* successful calls of probes */
    } untimed;
    /* (gid, tag, whether to oneself) -> the tags that SimGrid gets for these messages: `first` to
     * `first` + `window` - 1, in turn.  A stock "wait" finds a request by ranks and tag, so no two
     * outstanding requests of a rank may share them. */
    struct ti_map classes;
    struct ti_tags {
        int64_t first;
        uint64_t window;
    } * tags;
    size_t tags_cap;
};

/* Writes "making 4 communicators and 1 probe" into buf; "" if there is nothing. */
#define TI_UNTIMED_BYTES 96
void ti_untimed_text(const struct ti_untimed *u, char buf[TI_UNTIMED_BYTES]);

/* Whether so many ranks are missing that the check reports them at once: its time and memory follow
 * what a trace holds, not how many ranks it claims to have. */
bool ti_lint_mostly_missing(const struct ti_source *s);

/* The replayer or file format that a trace is checked for: ti_lower_target (lower.h),
 * ti_replayer_target and ti_live_target (refusal.h), or a target of the caller. */
struct ti_target {
    bool tags;    /* the caller will use ti_lint_tag() */
    bool repeats; /* it makes the communicators, windows and files itself, so that the trace must
                     have the calls which make them */
    /* Why the target cannot express a step, perhaps in `buf`; NULL if it can.  The step is sound,
     * and its call is traced. */
    const char *(*refusal)(const struct ti_comms *comms, const struct ti_step *step,
                           int64_t eager_bytes, char *buf, size_t bytes);
    /* Called for each step that is sound and not refused, rank by rank, in order; may be NULL. */
    void (*see)(void *arg, int64_t rank, const struct ti_step *step);
    void *arg;
};

/*
 * Checks `s` for a target.  TI_OK with problems->n == 0: the trace can be replayed.  TI_OK with
 * problems: the trace cannot be replayed.  Any other status: the trace could not be read (err).
 * `eager_bytes` is SimGrid's smpi/send-is-detached-thresh; INT64_MAX: sends never wait for their
 * receive.  Release *out with ti_lint_free(), after errors too.
 */
ti_status ti_lint(struct ti_source *s, const struct ti_target *target, int64_t eager_bytes,
                  struct ti_lint *out, struct ti_problems *problems, struct ti_err *err);
void ti_lint_free(struct ti_lint *lint);

/* Whether SimGrid 3.32 sends a message of `bytes` eagerly.  SimGrid truncates the size to 32 bits
 * first, so sizes above 2^31-1 can be misjudged; this function repeats the error. */
static inline bool ti_is_eager(int64_t bytes, int64_t eager_bytes)
{
    return (int32_t)(uint32_t)(uint64_t)bytes < eager_bytes;
}

/* The tag for SimGrid of message `msg` of `rank`.  Needs ti_target.tags. */
int64_t ti_lint_tag(const struct ti_lint *lint, int64_t rank, const struct ti_msg *msg);

/* Whether stock replay must not wait for this send: a large buffered send.  MPI completes it before
 * delivery, but SimGrid's "wait" would block until delivery. */
bool ti_never_waited(const struct ti_msg *msg, int64_t eager_bytes);

#endif
