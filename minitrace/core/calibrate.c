/* The cost of leaving one call and entering the next, measured with shims of no MPI function. */
#include <string.h>

#include "minitrace/core/thread.h"

/* Calibration shims, one for each way to leave. */
static uint64_t found[2]; /* the burst that the last two calls of empty_event() found */
static unsigned nth;      /* calls of empty_event() in this sample */
static enum ti_leave_kind measured;

static int empty_event(void)
{
    if (!TI_ENTER(TI_OP_PCONTROL, TI_BINDING_C))
        return 0; /* another thread is in a call */
    if (ti_state.extras && ti_thread.first && measured == TI_LEAVE_CALL)
        ti_extra_calibrate_pair(ti_state.account, nth);
    nth++;
    found[0] = found[1];
    found[1] = ti_state.burst;
    return ti_leave(0);
}

static int empty_pass_through(void)
{
    return TI_ENTER(TI_OP_PASS_THROUGH, TI_BINDING_C) ? ti_leave(0) : 0;
}

static double empty_double(void)
{
    return TI_ENTER(TI_OP_PASS_THROUGH, TI_BINDING_C) ? ti_leave_double(0) : 0;
}

static MPI_Aint empty_aint(void)
{
    return TI_ENTER(TI_OP_PASS_THROUGH, TI_BINDING_C) ? ti_leave_aint(0) : 0;
}

void (*const ti_calibration_shims[TI_LEAVE_KINDS])(void) = {
    [TI_LEAVE_CALL] = (void (*)(void))empty_event,
    [TI_LEAVE_PASS_THROUGH] = (void (*)(void))empty_pass_through,
    [TI_LEAVE_DOUBLE] = (void (*)(void))empty_double,
    [TI_LEAVE_AINT] = (void (*)(void))empty_aint,
};

/* Makes three calls with nothing but call instructions between them. */
static __attribute__((noinline)) void call_three(void (*event)(void), void (*other)(void))
{
    event();
    other();
    event();
    __asm__ volatile(""); /* keeps the last call from becoming a jump */
}

/*
 * Make two calls with nothing between them.  The second finds in its burst the cost of leaving the
 * first and entering the second, the call instruction included: the amount by which every real
 * burst is too large.  The minimum of many samples is taken, because interrupts and cold caches
 * only add.  A pass-through call is put between two calls that are events, whose own cost is known
 * by then.
 */
void ti_calibrate(void)
{
    struct ti_thread *me = &ti_thread;
    struct ti_cost *cost = ti_state.slow_path ? &me->cost : &ti_state.cost;
    uint64_t negative = ti_state.negative;

    me->calibrated = true;
    memset(cost, 0, sizeof *cost);
    if (me->first)
        ti_extra_calibrate_begin(ti_state.account);
    for (int kind = 0; kind < TI_LEAVE_KINDS; kind++) {
        uint64_t least = UINT64_MAX, most = 0;

        measured = (enum ti_leave_kind)kind;
        for (int i = 0; i < TI_CALIBRATION_SAMPLES; i++) {
            uint64_t n;

            nth = 0;
            call_three(ti_mpi_backend.calibration_stub[TI_LEAVE_CALL],
                       ti_mpi_backend.calibration_stub[kind]);
            n = found[1] - found[0];
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
        cost->least[kind] = least;
        if (most - least > cost->spread)
            cost->spread = most - least;
    }
    ti_state.negative = negative;
    ti_state.burst = 0;
    if (!me->first)
        return;
    ti_extra_calibrate_end(ti_state.account);
    ti_state.cost = *cost;
}
