/*
 * Lint: whether a trace is one that an engine can reproduce.
 *
 * Nothing is approximated: a trace is sound (sound/check.h) and every call in it
 * has an exact counterpart, or it is refused with the rank, the event and the
 * reason.
 */
#ifndef TI_LINT_H
#define TI_LINT_H

#include "formats/caveats.h"
#include "sound/check.h"

/* What replays a trace. */
enum ti_engine {
    TI_ENGINE_STOCK, /* SimGrid's replay of text actions, see lower.h */
    TI_ENGINE_TIARA, /* ti-smpi-replay, see replayer/operations.h */
    TI_ENGINE_LIVE   /* ti-live-replay */
};

/* What lowering needs to know of the whole trace. */
struct ti_lint {
    int64_t np;
    int64_t eager_bytes; /* smpi/send-is-detached-thresh */
    struct ti_check check;
    struct ti_caveats caveats;
    struct ti_volumes {
        char counter[32], unit[32]; /* "" if the trace does not say, "mixed" if
                                       ranks differ */
        bool inexact, estimate;     /* so some rank's trace says */
    } volumes;
    /* Problems by what can be done about them; those in no count make the trace unsound. */
    uint64_t refused;  /* calls that the engine cannot replay */
    uint64_t unsaid;   /* calls that stock replay cannot say, */
    uint64_t untimed;  /* or says without the time that they take: communicators, probes */
    uint64_t untraced; /* calls that are not traced */
    int64_t missing;   /* ranks without a whole trace */
    /* (gid, tag, whether to oneself) -> the tags SimGrid is given for it:
     * `first` and the `window` - 1 after it, in turn, so that no two
     * outstanding requests of a rank look alike to a stock "wait". */
    struct ti_map classes;
    struct ti_tags {
        int64_t first;
        uint64_t window;
    } * tags;
    size_t tags_cap;
};

/*
 * Lint `s` for an engine.  TI_OK with problems->n == 0: the trace can be replayed.  TI_OK with
 * problems: it cannot.  Else the trace could not be read (err).  Release *out
 * with ti_lint_free() in any case.
 */
ti_status ti_lint(struct ti_source *s, enum ti_engine engine, int64_t eager_bytes,
                  struct ti_lint *out, struct ti_problems *problems, struct ti_err *err);
void ti_lint_free(struct ti_lint *lint);

/* What a trace is checked for, engine or file format. */
struct ti_target {
    int64_t eager_bytes; /* as above; INT64_MAX: sends never wait for their receive */
    bool tags;           /* ti_lint_tag() is going to be asked */
    /* Why the target cannot express a step; NULL if it can.  As ti_lower_refusal(). */
    const char *(*refusal)(const struct ti_comms *comms, const struct ti_step *step,
                           int64_t eager_bytes, char *buf, size_t bytes);
    /* Sees each step that is sound and not refused, rank by rank, in order; NULL: nobody does. */
    void (*see)(void *arg, int64_t rank, const struct ti_step *step);
    void *arg;
};

/* As ti_lint(), for `target`. */
ti_status ti_lint_for(struct ti_source *s, const struct ti_target *target, struct ti_lint *out,
                      struct ti_problems *problems, struct ti_err *err);

/* Whether SimGrid 3.32 sends so many bytes eagerly: it asks this of the size
 * cut to 32 bits, which for sizes above 2^31-1 can be wrong. */
static inline bool ti_is_eager(int64_t bytes, int64_t eager_bytes)
{
    return (int32_t)(uint32_t)(uint64_t)bytes < eager_bytes;
}

/* The tag that SimGrid is given for `msg` of `rank`. */
int64_t ti_lint_tag(const struct ti_lint *lint, int64_t rank, const struct ti_msg *msg);

/* Whether stock replay must never wait for this send: MPI gave it back before
 * it was delivered, SimGrid's wait would not. */
bool ti_never_waited(const struct ti_msg *msg, int64_t eager_bytes);

#endif
