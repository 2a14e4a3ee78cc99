/* Writing events: what every recorder ends with. */
#include "minitrace/core/state.h"

void ti_set_stopped(bool stopped)
{
    ti_state.stopped = stopped;
    ti_flags.fast_emit = !stopped && !ti_state.extras && ti_flags.active;
}

/* The column `longest` of the event's burst.  The next burst begins at the entry of this call. */
static uint64_t read_longest(void)
{
    struct ti_shares s = ti_state.shares;
    uint64_t own = ti_state.burst > s.others ? ti_state.burst - s.others : 0;

    if (!ti_extra_has_longest())
        return 0;
    ti_state.shares = (struct ti_shares){0, 0, 0};
    ti_state.counter.mark();
    if (s.longest > ti_state.burst) /* it counted pass-through calls, which are in no burst */
        s.longest = ti_state.burst;
    return own > s.longest ? own : s.longest;
}

static __attribute__((noinline)) void give_up_writing(void)
{
    struct ti_err err;

    if (!ti_state.writer) /* a signal handler's call has ended the recording */
        return;
    ti_writer_error(ti_state.writer, &err);
    ti_stop_recording("%s", err.text);
}

/* The slow path of ti_emit(): while MPI_Pcontrol(0) holds, with extra columns, or when the
 * recording has ended during this call. */
static __attribute__((noinline)) void emit_slow(const struct ti_mpi_call *c, struct ti_event *ev,
                                                bool always)
{
    uint64_t extra[TI_EXTRAS_MAX], longest = read_longest();
    ti_status st;

    ev->volume = ti_state.stopped ? 0 : ti_state.burst;
    ti_state.burst = 0;
    if (ti_state.extras)
        ti_extra_read(ti_state.account, ti_state.stopped, longest, extra);
    if (!ti_flags.active || (ti_state.stopped && !always))
        return;
    ev->site = ti_site(c->site);
    st = ti_state.extras ? ti_writer_event_extra(ti_state.writer, ev, extra)
                         : ti_writer_event(ti_state.writer, ev);
    if (st)
        give_up_writing();
}

void ti_emit(const struct ti_mpi_call *c, struct ti_event *ev, bool always)
{
    ev->op = c->op;
    if (__builtin_expect(!ti_flags.fast_emit, 0)) {
        emit_slow(c, ev, always);
        return;
    }
    ev->volume = ti_state.burst;
    ti_state.burst = 0;
    ev->site = ti_site(c->site);
    if (__builtin_expect(ti_writer_event(ti_state.writer, ev), 0))
        give_up_writing();
}
