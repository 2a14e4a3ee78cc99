#include "replay-bridge/convert/target.h"

#include <stdlib.h>

#include "common/cli.h"
#include "common/scratch.h"

const char *ti_target_refusal(const struct ti_step *step)
{
    if (step->ev.op == TI_OP_ABORT)
        return "the run was aborted";
    if (step->ev.op == TI_OP_CANCEL)
        return "the target cannot cancel";
    if (ti_op_is(step->ev.op, TI_T_PARTITIONED))
        return "the target has no partitioned messages";
    if (step->ev.mask & TI_M_WIN)
        return "the target has no one-sided communication";
    if (step->ev.mask & (TI_M_FILE | TI_M_NAME))
        return "the target has no files";
    for (size_t i = 0; i < step->nposted; i++)
        if (step->posted[i].astray)
            return "it is received out of order, after a matched probe, which the target cannot";
    return NULL;
}

/* ---- preparation ---- */

static void use_comm(struct ti_conversion *conv, int64_t gid)
{
    conv->comm = ti_grow(conv->comm, &conv->comm_cap, (size_t)gid + 1, sizeof conv->comm[0]);
    if (!conv->comm[gid])
        conv->comm[gid] = ++conv->ncomms;
}

static void see(void *arg, int64_t rank, const struct ti_step *step)
{
    struct ti_conversion *conv = arg;

    for (size_t i = 0; i < step->nposted; i++) {
        ti_sizes_add(&conv->sizes, rank, &step->posted[i]);
        if (!step->posted[i].null)
            use_comm(conv, step->posted[i].gid);
    }
    if (ti_op_collective(step->ev.op) && step->gid >= 0)
        use_comm(conv, step->gid);
}

ti_status
ti_conversion_prepare(struct ti_conversion *conv, struct ti_source *s, const struct ti_pace *pace,
                      const char *(*refusal)(const struct ti_comms *, const struct ti_step *,
                                             int64_t, char *, size_t),
                      struct ti_err *err)
{
    const struct ti_target target = {.tags = true, .refusal = refusal, .see = see, .arg = conv};
    ti_status st;

    *conv = (struct ti_conversion){.s = s, .pace = pace};
    if ((st = ti_sizes_open(&conv->sizes, err)) ||
        (st = ti_lint(s, &target, INT64_MAX, &conv->lint, &conv->problems, err)))
        return st;
    return ti_sizes_seal(&conv->sizes, err);
}

void ti_conversion_free(struct ti_conversion *conv)
{
    ti_lint_free(&conv->lint);
    ti_sizes_close(&conv->sizes);
    free(conv->comm);
}

int64_t ti_conversion_comm(const struct ti_conversion *conv, int64_t gid)
{
    if (gid < 0 || (size_t)gid >= conv->comm_cap || !conv->comm[gid])
        TI_BUG("a communicator was not seen");
    return conv->comm[gid] - 1;
}

int64_t ti_conversion_unused_tag(const struct ti_conversion *conv)
{
    const struct ti_lint *lint = &conv->lint;
    size_t n = lint->classes.n;

    return n ? lint->tags[n - 1].first + (int64_t)lint->tags[n - 1].window : 0;
}

ti_status ti_conversion_bytes(struct ti_conversion *conv, int64_t rank, const struct ti_msg *m,
                              int64_t *bytes, struct ti_err *err)
{
    if (m->recv)
        return ti_sizes_of(&conv->sizes, rank, m, bytes, err);
    *bytes = m->bytes;
    return TI_OK;
}

/* ---- the walk ---- */

ti_status ti_conversion_walk(struct ti_conversion *conv, int64_t rank, struct ti_clock *clock,
                             ti_status (*each)(void *arg, const struct ti_step *step,
                                               struct ti_err *err),
                             void *arg, struct ti_err *err)
{
    struct ti_step step;
    struct ti_walk *w;
    ti_status st = ti_walk_open(conv->s, &conv->lint.check.comms, rank, &w, err);
    int got = 1;

    if (st)
        return st;
    ti_progress("writing", "ranks", rank, conv->lint.np);
    ti_clock_start(clock, conv->pace, conv->s, rank, ti_walk_reader(w));
    while (!st && (got = ti_walk_next(w, &step, err)) == 1) {
        st = ti_clock_add(clock, &step.ev, step.index, err);
        if (!st)
            st = each(arg, &step, err);
        if (!st && step.index % 4096 == 0)
            st = ti_stop_check(err);
    }
    ti_walk_close(w);
    if (rank + 1 == conv->lint.np)
        ti_progress_end(!st && got == 0);
    return got < 0 ? TI_ERR_INPUT : st;
}
