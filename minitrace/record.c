/* Entering and leaving the library, and what every recorder ends with. */
#include <errno.h>
#include <string.h>

#include "minitrace/state.h"

static const volatile uint64_t no_word;

struct ti_state ti_state;
const volatile uint64_t *ti_now_word = &no_word;

/* initial-exec: no call hides in an access, not even the first */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    bool ours;   /* the thread that called MPI_Init */
    bool inside; /* a call of it is being recorded */
} thread;

void ti_thread_is_ours(bool ours)
{
    thread.ours = ours;
}

bool ti_thread_ours(void)
{
    return thread.ours;
}

/* Our thread may be in the middle of a call: it gives up by itself, at its next
 * event or at the end. */
static __attribute__((noinline)) void intrude(void)
{
    __atomic_store_n(&ti_state.intruded, true, __ATOMIC_RELAXED);
}

bool ti_intruded(void)
{
    if (__builtin_expect(!__atomic_load_n(&ti_state.intruded, __ATOMIC_RELAXED), 1))
        return false;
    ti_give_up("MPI is called from a second thread, which this version does not trace");
    return true;
}

static bool is_poll(unsigned op)
{
    switch (op) {
    case TI_OP_IPROBE:
    case TI_OP_IMPROBE:
    case TI_OP_TEST:
    case TI_OP_TESTALL:
    case TI_OP_TESTANY:
    case TI_OP_TESTSOME:
    case TI_OP_WIN_TEST:
    case TI_OP_PARRIVED:
    case TI_OP_POLL:
        return true;
    default:
        return false;
    }
}

/*
 * A poll that says "no" leaves no event, and so that a loop of any length gives
 * the same trace, what such a loop executes between two polls must not count
 * either.  But some applications poll now and then to make the library work
 * while they compute; that work must.  So: what lies between a failed poll and
 * the next one is dropped if it is shorter than TI_SPIN_LIMIT and counts if it
 * is longer; what lies between a failed poll and any other event counts.
 */
static void count(uint64_t delta, unsigned op)
{
    if (!ti_state.polling) {
        ti_state.burst += delta;
        return;
    }
    ti_state.since_poll += delta;
    if (op == TI_OP_NOTED) /* neither an event nor a poll */
        return;
    if (!is_poll(op) || ti_state.since_poll >= TI_SPIN_LIMIT)
        ti_state.burst += ti_state.since_poll;
    ti_state.polling = false;
    ti_state.since_poll = 0;
}

void ti_poll_failed(void)
{
    ti_state.polling = true;
    ti_state.since_poll = 0;
}

void ti_rec_poll(struct ti_call *c)
{
    (void)c;
    ti_poll_failed();
}

static struct ti_call current; /* one thread, one call at a time */

const struct ti_call *ti_current(void)
{
    return &current;
}

struct ti_call *ti_enter(uint64_t now, unsigned op, enum ti_binding binding, const void *site)
{
    uint64_t delta;

    if (__builtin_expect(!ti_state.active || thread.inside, 0))
        return NULL;
    if (__builtin_expect(!thread.ours, 0)) {
        intrude();
        return NULL;
    }
    if (ti_state.counter.read)
        now = ti_state.counter.read();
    thread.inside = true;
    delta = now - ti_state.last;
    if (__builtin_expect(delta >= ti_state.calibration, 1)) {
        delta -= ti_state.calibration;
    } else {
        delta = 0;
        ti_state.negative++;
    }
    count(delta, op);
    current.site = site;
    current.op = (uint16_t)op;
    current.binding = (uint8_t)binding;
    return &current;
}

int ti_leave(int rc)
{
    thread.inside = false;
    ti_state.last = ti_state.counter.read ? ti_state.counter.read() : *ti_now_word;
    return rc;
}

void ti_emit(const struct ti_call *c, struct ti_event *ev, bool always)
{
    int saved = errno;

    ev->op = c->op;
    ev->volume = ti_state.stopped ? 0 : ti_state.burst;
    ti_state.burst = 0;
    if (!ti_state.active || ti_intruded() || (ti_state.stopped && !always))
        return;
    ev->site = ti_site(c->site);
    ti_writer_event(ti_state.writer, ev);
    if (__builtin_expect(ti_writer_error(ti_state.writer, NULL), 0)) {
        struct ti_err err;

        ti_writer_error(ti_state.writer, &err);
        ti_give_up("%s", err.text);
    }
    errno = saved;
}

/* ----------------------------------------------------------- calibration -- */

#define SAMPLES 64

static uint64_t sample[2 * SAMPLES];
static int nsamples;

int ti_nothing(void)
{
    if (TI_ENTER(TI_OP_PCONTROL, TI_BINDING_C))
        sample[nsamples++] = ti_state.burst;
    return ti_leave(0);
}

/*
 * Two calls with nothing between them: the second finds in its burst what
 * leaving the first and entering the second cost, the call instruction
 * included, which is what each real burst has too much.  The least of many is
 * taken: interrupts and cold caches only add.
 */
uint64_t ti_calibrate(uint64_t *spread)
{
    int (*volatile through)(void) = ti_flavour.through; /* a stub, like the application */
    uint64_t least = UINT64_MAX, most = 0;

    nsamples = 0;
    ti_state.calibration = 0;
    for (int i = 0; i < SAMPLES; i++) {
        int (*call)(void) = through;

        call();
        call();
    }
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t pair = sample[2 * i + 1] - sample[2 * i];

        least = pair < least ? pair : least;
        most = pair > most ? pair : most;
    }
    ti_state.burst = 0;
    ti_state.negative = 0;
    *spread = most - least;
    return least;
}
