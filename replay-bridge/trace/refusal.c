#include "replay-bridge/trace/refusal.h"

#include <stdio.h>

#include "replay-bridge/replayer/operations.h"
#include "replay-bridge/trace/elements.h"

/* The reason why an operation is refused with any arguments; NULL: it is not. */
#define OWN(text)                         NULL
#define LOWERED(text)                     NULL
#define REFUSED(text)                     text
#define REASON(name, function, how, text) [TI_OP_##name] = how(text),
static const char *const reasons[TI_OP_COUNT] = {TI_REPLAYED(REASON)};

const char *ti_taken_for_small(const struct ti_msg *m, int64_t eager_bytes, char *buf, size_t bytes)
{
    if (m->null || m->recv || m->mode != TI_SEND_STANDARD ||
        ti_is_eager(m->bytes, eager_bytes) == (m->bytes < eager_bytes))
        return NULL;
    snprintf(buf, bytes, "SimGrid takes a message of %lld bytes for a small one",
             (long long)m->bytes);
    return buf;
}

/* Number of partners in a collective of the step; 0: none. */
static int64_t peers_of(const struct ti_comms *comms, const struct ti_step *step)
{
    return step->gid >= 0 ? ti_comms_group(comms, step->gid)->size : 0;
}

static const char *live_refusal(const struct ti_comms *comms, const struct ti_step *step,
                                int64_t eager_bytes, char *buf, size_t bytes)
{
    (void)eager_bytes;
    return step->ev.op == TI_OP_ABORT
               ? reasons[TI_OP_ABORT]
               : ti_elements_refusal(true, &step->ev, peers_of(comms, step), buf, bytes);
}

static const char *replayer_refusal(const struct ti_comms *comms, const struct ti_step *step,
                                    int64_t eager_bytes, char *buf, size_t bytes)
{
    const struct ti_event *ev = &step->ev;
    const char *why = reasons[ev->op];

    if (!why && ti_op_collective(ev->op) && step->gid >= 0 &&
        ti_comms_group(comms, step->gid)->shape == TI_COMM_INTER &&
        ti_op_base(ev->op) != TI_OP_BARRIER)
        why = "SimGrid has no collectives between two groups";
    for (size_t i = 0; i < step->nposted && !why; i++)
        why = ti_taken_for_small(&step->posted[i], eager_bytes, buf, bytes);
    for (size_t i = 0; i < step->ndone && !why; i++)
        if (!step->done[i].recv &&
            (step->done[i].cancelled || ti_may_be_cancelled(&step->done[i], step)))
            why = "SMPI cannot cancel a send";
    return why ? why : ti_elements_refusal(false, ev, peers_of(comms, step), buf, bytes);
}

const struct ti_target ti_replayer_target = {.refusal = replayer_refusal, .repeats = true};
const struct ti_target ti_live_target = {.refusal = live_refusal, .repeats = true};
