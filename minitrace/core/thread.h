/*
 * The threads of the process, and which of them owns ti_state.
 *
 * One thread at a time owns ti_state, and with it the tables and the writer.  The thread
 * level that the application promised to keep to decides which thread may own it:
 *
 *   single, funneled   the thread that called MPI_Init
 *   serialized         any thread, one at a time: entering a call acquires ownership and
 *                      leaving releases it; acquiring fails while another thread is
 *                      inside a call
 *   multiple           the thread that called MPI_Init
 *
 * If a thread may not own ti_state or cannot acquire it, its call is only forwarded, and
 * `no_conflict` is cleared.  Nothing else is touched, because the owner may be in the
 * middle of a call.  The next owner finds `no_conflict` cleared and stops recording: calls
 * of several threads at once have no order that does not depend on time.
 *
 * MPI allows some pass-through calls in any thread at any time.  In the trace they are
 * only instructions to take out of a burst, so they need no ownership and disturb no
 * owner.
 *
 * Volumes: if each thread has its own, the members below hold the thread's volume while
 * it is not the owner.  If the volumes of all threads are summed up, ti_state has the only
 * volume.
 */
#ifndef TI_MINITRACE_CORE_THREAD_H
#define TI_MINITRACE_CORE_THREAD_H

#include "minitrace/core/state.h"

struct ti_thread {
    bool fast;    /* takes the fast path of ti_enter() */
    bool first;   /* called MPI_Init */
    bool known;   /* `last` is valid */
    uint64_t now; /* the count at the current call, if a function reads the counter */

    struct ti_inside pass_through; /* the current pass-through call, of a thread that is not the
                                    * owner */
    uint64_t pass_through_since;

    uint64_t last, burst, since_poll; /* as in ti_state */
    bool polling;
    struct ti_account account; /* of the extra columns */
    bool calibrated; /* `cost` was measured in this thread, not copied from the first one */
    struct ti_cost cost;
};

/* Of the calling thread.  initial-exec: no access calls a function, not even a thread's first
 * one. */
extern _Thread_local struct ti_thread ti_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The thread that owns a shared ti_state, NULL if none; atomic. */
extern struct ti_thread *ti_owner __attribute__((visibility("hidden")));

/* Whether pass-through calls of a thread that is not the owner are taken out of its volume. */
bool ti_excludes_pass_through(void);

/* A thread that cannot own ti_state makes the recorded call `op`. */
void ti_note_conflict(unsigned op);

/* Why threads conflict, for the message. */
const char *ti_why_conflict(void);

/* Whether a call at `frame` is made inside the call `in` (frame.c). */
bool ti_is_nested(const struct ti_inside *in, const void *frame);

static inline bool ti_is_active(void)
{
    return __atomic_load_n(&ti_flags.active, __ATOMIC_ACQUIRE);
}

static inline bool ti_is_owner(const struct ti_thread *me)
{
    if (!ti_state.shared)
        return me->first;
    return __atomic_load_n(&ti_owner, __ATOMIC_RELAXED) == me;
}

static inline bool ti_try_acquire(struct ti_thread *me)
{
    struct ti_thread *nobody = NULL;

    if (!ti_state.shared || !__atomic_compare_exchange_n(&ti_owner, &nobody, me, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    if (ti_state.counter.sum)
        return true;
    ti_state.last = me->last;
    ti_state.burst = me->burst;
    ti_state.since_poll = me->since_poll;
    ti_state.polling = me->polling;
    return true;
}

static inline void ti_release(struct ti_thread *me)
{
    if (!ti_state.shared)
        return;
    if (!ti_state.counter.sum) {
        me->burst = ti_state.burst;
        me->since_poll = ti_state.since_poll;
        me->polling = ti_state.polling;
    }
    __atomic_store_n(&ti_owner, NULL, __ATOMIC_RELEASE);
}

static inline void ti_set_phase(enum ti_phase phase)
{
    __atomic_store_n(&ti_state.inside.phase, phase, __ATOMIC_RELAXED);
}

static inline uint64_t ti_own_count(void)
{
    return ti_state.counter.read ? ti_state.counter.read() : *ti_now_word;
}

#endif
