/* Entering and leaving the library, the volume of bursts, and ti_emit(), which every recorder ends
 * with. */
#include <signal.h>
#include <string.h>

#include "minitrace/state.h"

static const volatile uint64_t no_word;

struct ti_state ti_state;
const volatile uint64_t *ti_now_word = &no_word;

/*
 * Threads.
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
struct thread {
    bool fast;  /* takes the fast path of ti_enter() */
    bool first; /* called MPI_Init */
    bool known; /* `last` is valid */
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

/* initial-exec: no access calls a function, not even a thread's first one. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct thread thread;

/* The thread that owns a shared ti_state, NULL if none; atomic. */
static struct thread *owner;

static bool is_active(void)
{
    return __atomic_load_n(&ti_state.active, __ATOMIC_ACQUIRE);
}

static bool is_owner(const struct thread *me)
{
    if (!ti_state.shared)
        return me->first;
    return __atomic_load_n(&owner, __ATOMIC_RELAXED) == me;
}

static bool try_acquire(struct thread *me)
{
    struct thread *nobody = NULL;

    if (!ti_state.shared || !__atomic_compare_exchange_n(&owner, &nobody, me, false,
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

static void release(struct thread *me)
{
    if (!ti_state.shared)
        return;
    if (!ti_state.counter.sum) {
        me->burst = ti_state.burst;
        me->since_poll = ti_state.since_poll;
        me->polling = ti_state.polling;
    }
    __atomic_store_n(&owner, NULL, __ATOMIC_RELEASE);
}

/* Whether pass-through calls of a thread that is not the owner are taken out of its volume. */
static bool excludes_pass_through(void)
{
    return (ti_state.shared || ti_state.counter.sum) &&
           !(ti_state.counter.sum && !ti_state.counter.others);
}

/* The dispatcher calls this before each shim, including nested ones. */
static void read_before_shim(void)
{
    if (is_active() && (thread.first || excludes_pass_through()))
        thread.now = ti_state.counter.read();
}

/* Whether only the first thread may read the counter: it sums threads up without telling them
 * apart. */
static bool only_first_reads(void)
{
    return ti_state.counter.sum && (!ti_state.counter.others || ti_state.counter.nalso);
}

void ti_set_stopped(bool stopped)
{
    ti_state.stopped = stopped;
    ti_state.slow_emit = stopped || ti_state.extras || !ti_state.active;
}

void ti_threads_begin(int level)
{
    ti_state.level = level;
    ti_state.shared = level == MPI_THREAD_SERIALIZED && !only_first_reads();
    ti_state.many_counts = ti_state.counter.sum || ti_state.extras;
    ti_state.slow_path = ti_state.shared || ti_state.many_counts;
    ti_state.account = &thread.account;
    if ((ti_state.shared || ti_state.counter.sum) &&
        ti_state.counter.read_elsewhere) /* valid in this thread too */
        ti_state.counter.read = ti_state.counter.read_elsewhere;
    thread.first = true;
    thread.known = true;
    thread.fast = !ti_state.slow_path;
    if (ti_state.counter.read)
        ti_mpi_backend.read_before_shims(read_before_shim);
    __atomic_store_n(&ti_now_word, ti_state.counter.word, __ATOMIC_RELAXED);
    __atomic_store_n(&ti_state.no_conflict, true, __ATOMIC_RELAXED);
    __atomic_store_n(&ti_state.active, true, __ATOMIC_RELEASE);
    ti_set_stopped(false);
}

void ti_threads_end(void)
{
    __atomic_store_n(&ti_state.active, false, __ATOMIC_RELAXED);
    __atomic_store_n(&ti_state.no_conflict, false, __ATOMIC_RELAXED);
    ti_state.slow_emit = true;
}

bool ti_thread_is_first(void)
{
    return thread.first;
}

bool ti_thread_acquire(void)
{
    return is_owner(&thread) || try_acquire(&thread);
}

static const char *why_conflict(void)
{
    if (ti_state.level == MPI_THREAD_MULTIPLE)
        return "a second thread calls MPI, and what threads do at once (MPI_THREAD_MULTIPLE) has "
               "no order but that of time";
    if (ti_state.shared)
        return "a second thread called MPI while one was in a call, against the rules of "
               "MPI_THREAD_SERIALIZED";
    if (ti_state.level == MPI_THREAD_SERIALIZED)
        return "a second thread calls MPI, and this counter sums up threads for the one that "
               "called MPI_Init only";
    return "a second thread calls MPI, against the rules of MPI_THREAD_SINGLE and "
           "MPI_THREAD_FUNNELED, one of which the application asked for";
}

bool ti_thread_conflict(void)
{
    return __builtin_expect(!__atomic_load_n(&ti_state.no_conflict, __ATOMIC_RELAXED), 0);
}

void ti_stop_conflict(void)
{
    ti_stop_recording("%s", why_conflict());
}

/* A recorded call of a thread that cannot own ti_state. */
static void note_conflict(unsigned op)
{
    __atomic_store_n(&ti_state.no_conflict, false, __ATOMIC_RELAXED);
    /* MPI allows no other call during or after MPI_Finalize, so no owner is disturbed */
    if (op == TI_OP_FINALIZE && !ti_state.shared &&
        __atomic_load_n(&ti_state.inside.phase, __ATOMIC_RELAXED) == TI_OUTSIDE)
        ti_stop_conflict();
}

static bool is_poll(unsigned op)
{
    return op == TI_OP_POLL || ti_op_is(op, TI_T_POLLS);
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

static inline void set_phase(enum ti_phase phase)
{
    __atomic_store_n(&ti_state.inside.phase, phase, __ATOMIC_RELAXED);
}

static inline uint64_t own_count(void)
{
    return ti_state.counter.read ? ti_state.counter.read() : *ti_now_word;
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
static inline struct ti_mpi_call *enter(uint64_t now, unsigned op, enum ti_binding binding,
                                        const void *site, const void *frame)
{
    set_phase(TI_INSIDE);
    ti_state.inside.frame = frame;
    count_burst(burst_since(ti_state.last, now), op);
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
    return ti_state.counter.read ? thread.now : now;
}

static uint64_t read_leaving(struct ti_account *account)
{
    uint64_t *also = account->last + 1;

    if (!ti_state.extras)
        return own_count();
    if (!ti_state.counter.read && ti_state.counter.read_also)
        ti_state.counter.read_also(also);
    ti_extra_leave(account);
    return ti_state.counter.read && ti_state.counter.read_also ? ti_state.counter.read_also(also)
                                                               : own_count();
}

#if defined __x86_64__ || defined __aarch64__
/* Bounds of this library's code, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool is_ours(uintptr_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext;
}
#endif

#ifdef __x86_64__
#define SHIM_WORDS 64 /* more than the stack frame of any shim */

/* The old frame is gone if its return address was overwritten, or if the stack below it has no
 * return address into a shim.  Not detected: a new frame that lies over the old one without having
 * written there.  Such a call is taken for a nested one, see abandon_call(). */
static bool is_below(const uintptr_t *old, const void *site, const uintptr_t *frame)
{
    if (*--old != (uintptr_t)site)
        return false;
    /* include the new call's own return address: MPI may have reached this shim by a jump, as
     * MPICH's mpi_pcontrol_ does */
    for (int i = 0; i < SHIM_WORDS && --old >= frame - 1; i++)
        if (is_ours(*old))
            return true;
    return false;
}
#elif defined __aarch64__
/* Strip the pointer authentication code from a return address. */
static uintptr_t unsigned_address(uintptr_t address)
{
    register uintptr_t lr __asm__("x30") = address;

    __asm__("hint 7" : "+r"(lr)); /* xpaclri: does nothing on older processors */
    return lr;
}

/*
 * A frame starts with a record: address of the caller's record, and return address.  The old frame
 * is gone if the chain of records from the new frame leads past it; or if another record lies
 * there now, with a different return address or without a return address into a shim below it. A
 * broken chain (code that uses x29 for other purposes) proves nothing; the call is taken for a
 * nested one.
 */
static bool is_below(const uintptr_t *old, const void *site, const uintptr_t *frame)
{
    const uintptr_t *at = frame, *last;

    do {
        last = at;
        at = (const uintptr_t *)*at;
    } while (at > last && at < old && (uintptr_t)at % 16 == 0);
    if (at != old)
        return at < old || (uintptr_t)at % 16 != 0;
    if (unsigned_address(old[1]) != (uintptr_t)site)
        return false;
    while (--old > frame)
        if (is_ours(unsigned_address(*old)))
            return true;
    return false;
}
#else
static bool is_below(const uintptr_t *old, const void *site, const uintptr_t *frame)
{
    (void)old;
    (void)site;
    (void)frame;
    return true;
}
#endif

static bool is_on(const stack_t *stack, const void *frame)
{
    return (uintptr_t)frame - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * Whether a call at `frame` is made inside the call `in`.  If `in` was left by longjmp() or an
 * exception, for instance from an error handler, its frame is gone: the new frame is at its place
 * or above it, or below it but not called from it.
 */
static bool is_nested(const struct ti_inside *in, const void *frame)
{
    stack_t other;

    /* a signal handler's stack may lie anywhere */
    if ((uintptr_t)frame >= (uintptr_t)in->frame && sigaltstack(NULL, &other) == 0 &&
        other.ss_flags & SS_ONSTACK && !is_on(&other, in->frame))
        return true;
    return (uintptr_t)frame < (uintptr_t)in->frame && is_below(in->frame, in->site, frame);
}

/* Why the counter can no longer be trusted; NULL if it can.  Not asked while recording begins
 * (init_end is 0). */
static const char *counter_trouble(void)
{
    const char *why = ti_state.counter.trouble ? ti_state.counter.trouble() : NULL;

    return __builtin_expect(!why || !ti_state.init_end, 1) ? NULL : why;
}

/* End the recording while entering a call, which is only forwarded then. */
static __attribute__((noinline)) struct ti_mpi_call *stop(struct thread *me, const char *why)
{
    ti_stop_recording("%s", why);
    release(me);
    return NULL;
}

/* The owner's call was left by longjmp() or an exception; `op` is the next one.  Returns whether
 * calls since then may have been taken for nested ones. */
static bool abandon_call(unsigned op)
{
    bool nested = ti_state.inside.phase == TI_NESTED;

    set_phase(TI_OUTSIDE);
    if (op == TI_OP_ABORT) /* most likely called by an error handler */
        return false;
    ti_state.abandoned++;
    return nested;
}

/* A pass-through call of a thread that is not the owner: only takes the call out of its volume. */
static struct ti_mpi_call *enter_pass_through(struct thread *me, uint64_t now, const void *site,
                                              const void *frame)
{
    static struct ti_mpi_call nobody_reads_it;
    uint64_t at[TI_READINGS] = {0};

    if (!excludes_pass_through())
        return NULL;
    now = read_entering(now, at);
    if (!me->known) {
        me->cost = ti_state.cost;
        if (!ti_state.counter.from_start)
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

static void leave_pass_through(struct thread *me, uint64_t cost)
{
    me->pass_through.phase = TI_OUTSIDE;
    me->last = cost + (ti_state.counter.sum ? own_count() : read_leaving(&me->account));
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

/* The column `longest` of the event's burst.  The next burst begins at the entry of this call. */
static uint64_t take_longest(void)
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

static __attribute__((noinline)) struct ti_mpi_call *
enter_extra(struct thread *me, uint64_t now, bool abandoned, unsigned op, enum ti_binding binding,
            const void *site, const void *frame)
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
    if (abandoned || (!me->known && !ti_state.counter.from_start && !ti_state.counter.sum))
        ti_state.last = now;
    me->known = true;
    set_phase(TI_INSIDE);
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
static __attribute__((noinline)) void calibrate_here(struct thread *me)
{
    uint64_t begun[TI_READINGS] = {0}, ended[TI_READINGS] = {0};
    struct thread before;

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
    struct thread *me = &thread;
    bool abandoned;

    if (!is_active() ||
        (me->pass_through.phase != TI_OUTSIDE && is_nested(&me->pass_through, frame)))
        return NULL;
    me->pass_through.phase = TI_OUTSIDE;
    abandoned = is_owner(me) && ti_state.inside.phase != TI_OUTSIDE;
    if (abandoned && op != TI_OP_FINALIZE && op != TI_OP_ABORT &&
        is_nested(&ti_state.inside, frame)) {
        if (op != TI_OP_PASS_THROUGH)
            set_phase(TI_NESTED);
        return NULL;
    }
    if (!is_owner(me) && op == TI_OP_PASS_THROUGH)
        return enter_pass_through(me, now, site, frame);
    if (__builtin_expect(!me->calibrated, 0))
        calibrate_here(me);
    if (!is_owner(me) && !try_acquire(me)) {
        note_conflict(op);
        return NULL;
    }
    if (!is_active()) {
        release(me);
        return NULL;
    }
    if (ti_thread_conflict())
        return stop(me, why_conflict());
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
    if (abandoned || (!me->known && !ti_state.counter.from_start && !ti_state.counter.sum))
        ti_state.last = now;
    me->known = true;
    return enter(now, op, binding, site, frame);
}

/*
 * Entering if a function reads the counter.  This function and all rare cases are tail calls of
 * ti_enter() and ti_leave(), so that these save no registers.
 */
static __attribute__((noinline)) struct ti_mpi_call *
enter_reading(unsigned op, enum ti_binding binding, const void *site, const void *frame)
{
    const char *why = counter_trouble();

    if (__builtin_expect(why != NULL, 0))
        return stop(&thread, why);
    return enter(thread.now, op, binding, site, frame);
}

struct ti_mpi_call *ti_enter(uint64_t now, unsigned op, enum ti_binding binding, const void *site,
                             const void *frame)
{
    if (__builtin_expect(!thread.fast || ti_state.inside.phase != TI_OUTSIDE ||
                             !__atomic_load_n(&ti_state.no_conflict, __ATOMIC_RELAXED),
                         0))
        return enter_slow(now, op, binding, site, frame);
    if (ti_state.counter.read)
        return enter_reading(op, binding, site, frame);
    return enter(now, op, binding, site, frame);
}

static __attribute__((noinline)) void leave_extra(struct thread *me, uint64_t cost)
{
    if (ti_state.counter.sum) {
        ti_state.last = read_leaving(ti_state.account) + ti_state.others + cost;
        release(me);
    } else if (ti_state.shared) {
        release(me);
        me->last = read_leaving(&me->account) + cost;
    } else {
        ti_state.last = read_leaving(ti_state.account) + cost;
    }
}

static inline __attribute__((always_inline)) void leave_slow(enum ti_leave_kind kind)
{
    struct thread *me = &thread;

    if (me->pass_through.phase != TI_OUTSIDE) {
        leave_pass_through(me,
                           me->cost.least[kind == TI_LEAVE_CALL ? TI_LEAVE_PASS_THROUGH : kind]);
        return;
    }
    set_phase(TI_OUTSIDE);
    if (__builtin_expect(ti_state.many_counts, 0)) {
        if (ti_state.extras) {
            leave_extra(me, me->cost.least[kind]);
        } else {
            ti_state.last = own_count() + ti_state.others + me->cost.least[kind];
            release(me);
        }
        return;
    }
    release(me);
    me->last = own_count() + me->cost.least[kind];
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
        set_phase(TI_OUTSIDE);                                                                     \
        if (ti_state.counter.read)                                                                 \
            return leave##_reading(value);                                                         \
        ti_state.last = *ti_now_word + ti_state.cost.least[kind];                                  \
        return value;                                                                              \
    }

LEAVE(ti_leave, int, TI_LEAVE_CALL)
LEAVE(ti_leave_double, double, TI_LEAVE_DOUBLE)
LEAVE(ti_leave_aint, MPI_Aint, TI_LEAVE_AINT)

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
    uint64_t extra[TI_EXTRAS_MAX], longest = take_longest();
    ti_status st;

    ev->volume = ti_state.stopped ? 0 : ti_state.burst;
    ti_state.burst = 0;
    if (ti_state.extras)
        ti_extra_take(ti_state.account, ti_state.stopped, longest, extra);
    if (!ti_state.active || (ti_state.stopped && !always))
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
    if (__builtin_expect(ti_state.slow_emit, 0)) {
        emit_slow(c, ev, always);
        return;
    }
    ev->volume = ti_state.burst;
    ti_state.burst = 0;
    ev->site = ti_site(c->site);
    if (__builtin_expect(ti_writer_event(ti_state.writer, ev), 0))
        give_up_writing();
}

/* ----------------------------------------------------------------- spans -- */

static bool span_ended;

static uint64_t whole_count(void)
{
    return own_count() + (ti_state.counter.others ? ti_state.counter.others() : 0);
}

static uint64_t outside_count(void)
{
    return ti_state.counter.outside ? ti_state.counter.outside() : 0;
}

void ti_span_begin(void)
{
    /* first, because it looks up symbols */
    ti_counter_blocks(&ti_state.blocks.from, &ti_state.blocks_own.from);
    ti_state.outside.from = outside_count();
    ti_state.whole.from = whole_count();
}

void ti_span_end(void)
{
    if (span_ended || !thread.first)
        return;
    ti_state.whole.count = whole_count() - ti_state.whole.from;
    ti_state.outside.count = outside_count() - ti_state.outside.from;
    ti_counter_blocks(&ti_state.blocks.count, &ti_state.blocks_own.count);
    ti_state.blocks.count -= ti_state.blocks.from;
    ti_state.blocks_own.count -= ti_state.blocks_own.from;
    span_ended = true;
}

bool ti_span_known(void)
{
    return span_ended;
}

/* ----------------------------------------------------------- calibration -- */

/* Calibration shims, one for each way to leave. */
static uint64_t found[2]; /* the burst that the last two calls of empty_event() found */
static unsigned nth;      /* calls of empty_event() in this sample */
static enum ti_leave_kind measured;

static int empty_event(void)
{
    if (!TI_ENTER(TI_OP_PCONTROL, TI_BINDING_C))
        return 0; /* another thread is in a call */
    if (ti_state.extras && thread.first && measured == TI_LEAVE_CALL)
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
    struct thread *me = &thread;
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
