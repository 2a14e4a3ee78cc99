/* Entering and leaving the library, and the volume of bursts. */
#include "minitrace/core/thread.h"

static const volatile uint64_t no_word;

struct ti_state ti_state;
_Alignas(TI_FLAGS_BYTES) union ti_flags ti_flags;
const volatile uint64_t *ti_now_word = &no_word;

static bool is_poll(unsigned op)
{
    return op == TI_OP_POLL || (op < TI_OP_COUNT && ti_op_is(op, TI_T_POLLS));
}

/*
 * An unsuccessful poll, or one that answers what is known, leaves no event.  So that a
 * polling loop gives the same trace whatever its number of rounds, the instructions
 * between two polls must not count either.  But some applications poll now and then
 * while they compute, to make the MPI library progress, and that computation must count.
 * So the part of a burst after an unsuccessful poll
 *
 *   - is dropped if the next call is a poll and the part is shorter than TI_SPIN_LIMIT;
 *   - counts otherwise.
 *
 * Pass-through calls decide nothing: the part waits for the next other call.
 */
static inline enum ti_fate count_burst(uint64_t delta, unsigned op)
{
    enum ti_fate fate = TI_FATE_COUNTS;

    if (__builtin_expect(!ti_state.polling, 1)) {
        ti_state.burst += delta;
        return fate;
    }
    ti_state.since_poll += delta;
    if (op == TI_OP_PASS_THROUGH) /* neither an event nor a poll */
        return TI_FATE_WAITS;
    if (!is_poll(op) || ti_state.since_poll >= TI_SPIN_LIMIT)
        ti_state.burst += ti_state.since_poll;
    else
        fate = TI_FATE_DROPPED;
    ti_state.polling = false;
    ti_state.since_poll = 0;
    return fate;
}

void ti_poll_failed(void)
{
    ti_state.polling = true;
    ti_state.since_poll = 0;
}

void ti_rec_poll(struct ti_mpi_call *c)
{
    (void)c;
    ti_poll_failed();
}

static struct ti_mpi_call current; /* one is enough: there is one owner, in one call */

const struct ti_mpi_call *ti_current(void)
{
    return &current;
}

/* A part of a burst was smaller than the cost that is subtracted from it.  A burst has several
 * parts if pass-through calls interrupt it; it is counted once, so that `negative` is at most the
 * number of events. */
static __attribute__((noinline)) uint64_t count_negative(void)
{
    static uint64_t event = UINT64_MAX;
    uint64_t now = ti_state.writer ? ti_writer_events(ti_state.writer) : UINT64_MAX;

    if (now != __atomic_exchange_n(&event, now, __ATOMIC_RELAXED))
        __atomic_fetch_add(&ti_state.negative, 1, __ATOMIC_RELAXED);
    return 0;
}

/* The volume since the last call.  `last` includes the cost of leaving, so it may be ahead of
 * `now`. */
static inline uint64_t burst_since(uint64_t last, uint64_t now)
{
    if (__builtin_expect((int64_t)(now - last) >= 0, 1))
        return now - last;
    return count_negative();
}

static inline struct ti_mpi_call *describe(unsigned op, enum ti_binding binding, const void *site)
{
    current.site = ti_state.inside.site = site;
    current.op = (uint16_t)op;
    current.binding = (uint8_t)binding;
    return &current;
}

/* Fast end of entering: the calling thread is the owner, and the call is recorded. */
static inline struct ti_mpi_call *enter(uint64_t delta, unsigned op, enum ti_binding binding,
                                        const void *site, const void *frame)
{
    ti_set_phase(TI_INSIDE);
    ti_state.inside.frame = frame;
    count_burst(delta, op);
    return describe(op, binding, site);
}

/*
 * Read the counter and the extra columns.  The counter is read first on entry and last on leaving,
 * so that the other readings are outside the volume.  `now` is the count if a plain load reads it.
 */
static uint64_t read_entering(uint64_t now, uint64_t *at)
{
    at[0] = ti_extra_clock();
    if (ti_state.counter.read_also)
        ti_state.counter.read_also(at + 1);
    return ti_state.counter.read ? ti_thread.now : now;
}

static uint64_t read_leaving(struct ti_account *account)
{
    uint64_t *also = account->last + 1;

    if (!ti_state.extras)
        return ti_own_count();
    if (!ti_state.counter.read && ti_state.counter.read_also)
        ti_state.counter.read_also(also);
    ti_extra_leave(account);
    return ti_state.counter.read && ti_state.counter.read_also ? ti_state.counter.read_also(also)
                                                               : ti_own_count();
}

/* Why the counter can no longer be trusted; NULL if it can.  Not asked while recording begins
 * (init_end is 0). */
static const char *counter_trouble(void)
{
    const char *why = ti_state.counter.trouble ? ti_state.counter.trouble() : NULL;

    return __builtin_expect(!why || !ti_state.init_end, 1) ? NULL : why;
}

/* End the recording while entering a call, which is only forwarded then. */
static __attribute__((noinline)) struct ti_mpi_call *stop(struct ti_thread *me, const char *why)
{
    ti_stop_recording("%s", why);
    ti_release(me);
    return NULL;
}

/* The owner's call was left by longjmp() or an exception; `op` is the next one.  Returns whether
 * calls since then may have been taken for nested ones. */
static bool abandon_call(unsigned op)
{
    bool nested = ti_state.inside.phase == TI_NESTED;

    ti_set_phase(TI_OUTSIDE);
    if (op == TI_OP_ABORT) /* most likely called by an error handler */
        return false;
    ti_state.abandoned++;
    return nested;
}

/* A pass-through call of a thread that is not the owner: only takes the call out of its volume. */
static struct ti_mpi_call *enter_pass_through(struct ti_thread *me, uint64_t now, const void *site,
                                              const void *frame)
{
    static TI_SPARSE struct ti_mpi_call nobody_reads_it;
    uint64_t at[TI_READINGS] = {0};

    if (!ti_excludes_pass_through())
        return NULL;
    now = read_entering(now, at);
    if (!me->known) {
        me->cost = ti_state.cost;
        if (!ti_state.counter.backend->from_start)
            me->last = now;
    }
    me->known = true;
    *(me->polling ? &me->since_poll : &me->burst) += burst_since(me->last, now);
    if (ti_state.extras && !ti_state.counter.sum)
        ti_extra_enter(&me->account, at, me->polling ? TI_FATE_WAITS : TI_FATE_COUNTS);
    me->pass_through = (struct ti_inside){TI_INSIDE, frame, site};
    me->pass_through_since = now;
    return &nobody_reads_it;
}

static void leave_pass_through(struct ti_thread *me, uint64_t cost)
{
    me->pass_through.phase = TI_OUTSIDE;
    me->last = cost + (ti_state.counter.sum ? ti_own_count() : read_leaving(&me->account));
    __atomic_fetch_add(&ti_state.others_excluded, me->last - me->pass_through_since,
                       __ATOMIC_RELAXED);
}

/* With summed counts: the count of the other threads, less their pass-through calls.  It is read
 * on entry only.  Other threads go on while this one is in a call, and what they do meanwhile
 * counts in the next burst. */
static uint64_t others_count(void)
{
    uint64_t others = ti_state.counter.others ? ti_state.counter.others() : 0;

    ti_state.others = others - __atomic_load_n(&ti_state.others_excluded, __ATOMIC_RELAXED);
    return ti_state.others;
}

/* `others`: what other threads did since the last entry.  If spinning is dropped, it is dropped
 * from their sum but not from the longest thread's count. */
static void add_share(uint64_t others, enum ti_fate fate)
{
    struct ti_shares *s = &ti_state.shares;

    s->since_poll += others;
    if (fate != TI_FATE_WAITS) {
        s->others += fate == TI_FATE_COUNTS ? s->since_poll : 0;
        s->since_poll = 0;
    }
    s->longest = ti_state.counter.longest();
}

static __attribute__((noinline)) struct ti_mpi_call *
enter_extra(struct ti_thread *me, uint64_t now, bool abandoned, unsigned op,
            enum ti_binding binding, const void *site, const void *frame)
{
    uint64_t at[TI_READINGS] = {0}, others = ti_state.others;
    const char *why;
    enum ti_fate fate;

    if (ti_state.shared && !ti_state.counter.sum)
        ti_state.account = &me->account;
    now = read_entering(now, at);
    why = counter_trouble();
    if (why)
        return stop(me, why);
    if (ti_state.counter.sum)
        now += others_count();
    if (abandoned || (!me->known && !ti_state.counter.backend->from_start && !ti_state.counter.sum))
        ti_state.last = now;
    me->known = true;
    ti_set_phase(TI_INSIDE);
    ti_state.inside.frame = frame;
    fate = count_burst(burst_since(ti_state.last, now), op);
    ti_extra_enter(ti_state.account, at, fate);
    if (ti_extra_has_longest())
        add_share(abandoned ? 0 : ti_state.others - others, fate);
    return describe(op, binding, site);
}

/*
 * Calibrate in a thread's first call that leaves an event, after only the counter of the volume
 * has been read.  Only threads that may own a state with volumes of their own: if volumes are
 * summed up, the measurement would include other threads.
 */
static __attribute__((noinline)) void calibrate_here(struct ti_thread *me)
{
    uint64_t begun[TI_READINGS] = {0}, ended[TI_READINGS] = {0};
    struct ti_thread before;

    me->calibrated = true;
    me->cost = ti_state.cost;
    if (!ti_state.shared || ti_state.counter.sum)
        return;
    before = *me;
    read_entering(0, begun);
    ti_calibrate();
    read_entering(0, ended);
    before.cost = me->cost;
    for (int i = 0; i < TI_READINGS; i++)
        before.account.last[i] += ended[i] - begun[i];
    *me = before;
}

/* The slow path: a call of another thread, inside another call, or after the end; or threads share
 * ti_state or their volumes are summed up. */
static __attribute__((noinline)) struct ti_mpi_call *
enter_slow(uint64_t now, unsigned op, enum ti_binding binding, const void *site, const void *frame)
{
    struct ti_thread *me = &ti_thread;
    bool abandoned;

    if (!ti_is_active() ||
        (me->pass_through.phase != TI_OUTSIDE && ti_is_nested(&me->pass_through, frame)))
        return NULL;
    me->pass_through.phase = TI_OUTSIDE;
    abandoned = ti_is_owner(me) && ti_state.inside.phase != TI_OUTSIDE;
    if (abandoned && op != TI_OP_FINALIZE && op != TI_OP_ABORT &&
        ti_is_nested(&ti_state.inside, frame)) {
        if (op != TI_OP_PASS_THROUGH)
            ti_set_phase(TI_NESTED);
        return NULL;
    }
    if (!ti_is_owner(me) && op == TI_OP_PASS_THROUGH)
        return enter_pass_through(me, now, site, frame);
    if (__builtin_expect(!me->calibrated, 0))
        calibrate_here(me);
    if (!ti_is_owner(me) && !ti_try_acquire(me)) {
        ti_note_conflict(op);
        return NULL;
    }
    if (!ti_is_active()) {
        ti_release(me);
        return NULL;
    }
    if (ti_thread_conflict())
        return stop(me, ti_why_conflict());
    if (abandoned && abandon_call(op))
        return stop(me, "an MPI call was left by longjmp() or an exception, and calls since then "
                        "may be missing");
    if (__builtin_expect(ti_state.extras != 0, 0))
        return enter_extra(me, now, abandoned, op, binding, site, frame);
    if (ti_state.counter.read) { /* only such a counter can fail */
        const char *why = counter_trouble();

        if (why)
            return stop(me, why);
        now = me->now;
    }
    if (ti_state.counter.sum)
        now += others_count();
    if (abandoned || (!me->known && !ti_state.counter.backend->from_start && !ti_state.counter.sum))
        ti_state.last = now;
    me->known = true;
    return enter(burst_since(ti_state.last, now), op, binding, site, frame);
}

/*
 * Entering if a function reads the counter; and if the burst is below zero.  These and all rare
 * cases are tail calls of ti_enter() and ti_leave(), so that these save no registers.
 */
static __attribute__((noinline)) struct ti_mpi_call *
enter_reading(unsigned op, enum ti_binding binding, const void *site, const void *frame)
{
    const char *why = counter_trouble();

    if (__builtin_expect(why != NULL, 0))
        return stop(&ti_thread, why);
    return enter(burst_since(ti_state.last, ti_thread.now), op, binding, site, frame);
}

static __attribute__((noinline)) struct ti_mpi_call *
enter_negative(unsigned op, enum ti_binding binding, const void *site, const void *frame)
{
    return enter(count_negative(), op, binding, site, frame);
}

struct ti_mpi_call *ti_enter(uint64_t now, unsigned op, enum ti_binding binding, const void *site,
                             const void *frame)
{
    if (__builtin_expect(!ti_thread.fast || ti_state.inside.phase != TI_OUTSIDE ||
                             !__atomic_load_n(&ti_flags.no_conflict, __ATOMIC_RELAXED),
                         0))
        return enter_slow(now, op, binding, site, frame);
    if (ti_state.counter.read)
        return enter_reading(op, binding, site, frame);
    if (__builtin_expect((int64_t)(now - ti_state.last) < 0, 0))
        return enter_negative(op, binding, site, frame);
    return enter(now - ti_state.last, op, binding, site, frame);
}

static __attribute__((noinline)) void leave_extra(struct ti_thread *me, uint64_t cost)
{
    if (ti_state.counter.sum) {
        ti_state.last = read_leaving(ti_state.account) + ti_state.others + cost;
        ti_release(me);
    } else if (ti_state.shared) {
        ti_release(me);
        me->last = read_leaving(&me->account) + cost;
    } else {
        ti_state.last = read_leaving(ti_state.account) + cost;
    }
}

static inline __attribute__((always_inline)) void leave_slow(enum ti_leave_kind kind)
{
    struct ti_thread *me = &ti_thread;

    if (me->pass_through.phase != TI_OUTSIDE) {
        leave_pass_through(me,
                           me->cost.least[kind == TI_LEAVE_CALL ? TI_LEAVE_PASS_THROUGH : kind]);
        return;
    }
    ti_set_phase(TI_OUTSIDE);
    if (__builtin_expect(ti_state.many_counts, 0)) {
        if (ti_state.extras) {
            leave_extra(me, me->cost.least[kind]);
        } else {
            ti_state.last = ti_own_count() + ti_state.others + me->cost.least[kind];
            ti_release(me);
        }
        return;
    }
    ti_release(me);
    me->last = ti_own_count() + me->cost.least[kind];
}

/*
 * Rare cases are tail calls.  The instructions after the counter is read differ by the type that
 * is returned; ti_calibrate() measures each.
 */
#define LEAVE(leave, type, kind)                                                                   \
    static __attribute__((noinline)) type leave##_reading(type value)                              \
    {                                                                                              \
        ti_state.last = ti_state.counter.read() + ti_state.cost.least[kind];                       \
        return value;                                                                              \
    }                                                                                              \
    static __attribute__((noinline)) type leave##_slow(type value)                                 \
    {                                                                                              \
        leave_slow(kind);                                                                          \
        return value;                                                                              \
    }                                                                                              \
    type leave(type value)                                                                         \
    {                                                                                              \
        if (__builtin_expect(ti_state.slow_path, 0))                                               \
            return leave##_slow(value);                                                            \
        ti_set_phase(TI_OUTSIDE);                                                                  \
        if (ti_state.counter.read)                                                                 \
            return leave##_reading(value);                                                         \
        ti_state.last = *ti_now_word + ti_state.cost.least[kind];                                  \
        return value;                                                                              \
    }

LEAVE(ti_leave, int, TI_LEAVE_CALL)
LEAVE(ti_leave_double, double, TI_LEAVE_DOUBLE)
LEAVE(ti_leave_aint, MPI_Aint, TI_LEAVE_AINT)
