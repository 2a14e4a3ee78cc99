/* The event sets of each thread: starting, reading and stopping them. */
#include "minitrace/counters/counter_papi.h"

#ifdef PAPI_VER_CURRENT

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/fds.h"

/* STILL_NS: CPU time without progress after which the count has stopped.  STILL_STEP_NS: the most
 * that counts between two reads, because a thread that waits in MPI uses CPU time too. */
#define STILL_NS      1000000000
#define STILL_STEP_NS 400000000

struct ti__papi_plan ti__papi_plan;
_Thread_local struct ti__papi_thread ti__papi_mine;

static pthread_key_t at_thread_exit;
static bool have_key;

/* ----------------------------------------------------------------- trouble -- */

static char trouble_text[256];
static bool trouble_taken;  /* the text is being written or written; atomic */
static const char *trouble; /* trouble_text once it is written, else NULL; atomic */

/* Keeps the first reason. */
__attribute__((format(printf, 1, 2))) static void set_trouble(const char *fmt, ...)
{
    va_list ap;

    if (__atomic_exchange_n(&trouble_taken, true, __ATOMIC_RELAXED))
        return;
    va_start(ap, fmt);
    vsnprintf(trouble_text, sizeof trouble_text, fmt, ap);
    va_end(ap);
    __atomic_store_n(&trouble, trouble_text, __ATOMIC_RELEASE);
}

const char *ti__papi_trouble(void)
{
    return __atomic_load_n(&trouble, __ATOMIC_ACQUIRE);
}

void ti__papi_clear_trouble(void)
{
    trouble_taken = false;
    trouble = NULL;
}

/* --------------------------------------------------- one thread's event sets -- */

static void drop_sets(bool running)
{
    long long last[TI__PAPI_EVENTS];

    for (int s = 0; s < ti__papi_plan.nsets; s++) {
        if (ti__papi_mine.set[s] == PAPI_NULL)
            continue;
        if (running)
            ti__papi.PAPI_stop(ti__papi_mine.set[s], last);
        ti__papi.PAPI_cleanup_eventset(ti__papi_mine.set[s]);
        ti__papi.PAPI_destroy_eventset(&ti__papi_mine.set[s]);
    }
}

void ti__papi_stop(void)
{
    if (ti__papi_mine.state == TI__SET_RUNS)
        drop_sets(true);
    ti__papi_mine.state = TI__SET_NONE;
}

static void thread_exits(void *unused)
{
    (void)unused;
    ti__papi_stop();
    ti__papi.PAPI_unregister_thread();
}

int ti__papi_create_set(int component, int *set, struct ti__papi_failure *f)
{
    PAPI_option_t option;
    int rc;

    f->event = -1;
    f->call = "PAPI_create_eventset";
    rc = ti__papi.PAPI_create_eventset(set);
    if (rc != PAPI_OK)
        return rc;
    f->call = "PAPI_assign_eventset_component";
    rc = ti__papi.PAPI_assign_eventset_component(*set, component);
    if (rc != PAPI_OK)
        return rc;
    memset(&option, 0, sizeof option);
    option.domain.eventset = *set;
    option.domain.domain = PAPI_DOM_USER;
    f->call = "PAPI_set_opt(PAPI_DOMAIN)";
    /* some components do not accept a domain, even the one that they have; that is no failure,
     * because PAPI's default is user code, and nobody else can have changed it in our copy */
    rc = ti__papi.PAPI_set_opt(PAPI_DOMAIN, &option);
    if (rc != PAPI_OK &&
        ti__papi.PAPI_get_component_info(component)->default_domain & ~PAPI_DOM_USER)
        return rc;
    if (!ti__papi_plan.inherited)
        return PAPI_OK;
    memset(&option, 0, sizeof option);
    option.inherit.eventset = *set;
    option.inherit.inherit = PAPI_INHERIT_ALL;
    f->call = "PAPI_set_opt(PAPI_INHERIT)";
    return ti__papi.PAPI_set_opt(PAPI_INHERIT, &option);
}

/* Create and fill all event sets.  Returns PAPI_OK, or PAPI's error and *f. */
static int fill_sets(struct ti__papi_failure *f)
{
    int rc;

    for (int s = 0; s < ti__papi_plan.nsets; s++)
        ti__papi_mine.set[s] = PAPI_NULL;
    for (int s = 0; s < ti__papi_plan.nsets; s++)
        if ((rc = ti__papi_create_set(ti__papi_plan.component[s], &ti__papi_mine.set[s], f)) !=
            PAPI_OK)
            return rc;
    f->call = "PAPI_add_named_event";
    for (f->event = 0; f->event < ti__papi_plan.nevents; f->event++) {
        rc = ti__papi.PAPI_add_named_event(ti__papi_mine.set[ti__papi_plan.event[f->event].set],
                                           ti__papi_plan.event[f->event].name);
        if (rc != PAPI_OK)
            return rc;
    }
    return PAPI_OK;
}

/* PAPI's descriptors get high numbers: they are read at each MPI call, and if the application
 * closed one and got its number for a file of its own, that file would be read. */
int ti__papi_start(struct ti__papi_failure *f)
{
    struct ti_fds_low low;
    int rc, s = 0;

    ti__papi_mine.state = TI__SET_OVER;
    ti__papi_mine.seen = 0;
    ti_fds_reserve_low(&low);
    /* PAPI_shutdown() of the application also ends libpfm, which both copies share */
    if (ti__papi.pfm_initialize)
        ti__papi.pfm_initialize();
    rc = fill_sets(f);
    if (rc == PAPI_OK) {
        f->call = "PAPI_start";
        f->event = -1;
        while (s < ti__papi_plan.nsets &&
               (rc = ti__papi.PAPI_start(ti__papi_mine.set[s])) == PAPI_OK)
            s++;
    }
    if (rc != PAPI_OK) {
        for (long long last[TI__PAPI_EVENTS]; s > 0 && f->event < 0; s--)
            ti__papi.PAPI_stop(ti__papi_mine.set[s - 1], last);
        drop_sets(false);
        ti_fds_give_back(&low);
        return rc;
    }
    ti_fds_give_back(&low);
    ti__papi_mine.state = TI__SET_RUNS;
    return PAPI_OK;
}

/* A thread's first read. */
static void begin_thread(void)
{
    struct ti__papi_failure f;
    int rc = ti__papi_start(&f);

    if (rc != PAPI_OK)
        set_trouble("PAPI event '%s' cannot be counted in another thread: %s: %s",
                    ti__papi_event_of(&f), f.call, ti__papi.PAPI_strerror(rc));
    else if (have_key)
        pthread_setspecific(at_thread_exit, &ti__papi_mine);
}

void ti__papi_stop_at_exit(void)
{
    if (!have_key)
        have_key = pthread_key_create(&at_thread_exit, thread_exits) == 0;
}

/* ----------------------------------------------------------------- reading -- */

/* The volume has not moved since the last read, though the thread has executed at least this code.
 * A count of instructions cannot do that.  Other events, such as floating point operations, get
 * some time, and more reads than one MPI call has. */
static __attribute__((noinline)) void stands_still(void)
{
    uint64_t now = ti__clock(CLOCK_THREAD_CPUTIME_ID),
             passed = ti__papi_mine.seen ? now - ti__papi_mine.seen : 0;

    ti__papi_mine.still = ti__papi_mine.seen ? ti__papi_mine.still : 0;
    ti__papi_mine.still += passed < STILL_STEP_NS ? passed : STILL_STEP_NS;
    ti__papi_mine.seen = now;
    if (ti__papi_plan.instructions || ti__papi_mine.still >= STILL_NS)
        set_trouble("PAPI event '%s' stands still at %llu, while the thread computes",
                    ti__papi_plan.event[0].name, (unsigned long long)ti__papi_mine.value[0]);
}

/* Software defined events may be reset, by the application or by PAPI when another thread starts
 * them. */
static __attribute__((noinline)) void goes_back(uint64_t was)
{
    set_trouble("PAPI event '%s' went back from %lld to %lld", ti__papi_plan.event[0].name,
                (long long)was, (long long)ti__papi_mine.value[0]);
    ti__papi_mine.value[0] = was;
}

bool ti__papi_read_sets(void)
{
    long long value[TI__PAPI_EVENTS];
    int rc;

    for (int s = 0; s < ti__papi_plan.nsets; s++) {
        rc = ti__papi.PAPI_read(ti__papi_mine.set[s], value);
        if (rc != PAPI_OK) {
            set_trouble("PAPI event '%s' cannot be read any more: PAPI_read: %s",
                        ti__papi_plan.event[0].name, ti__papi.PAPI_strerror(rc));
            return false;
        }
        for (int e = 0; e < ti__papi_plan.nevents; e++)
            if (ti__papi_plan.event[e].set == s)
                ti__papi_mine.value[e] = (uint64_t)value[ti__papi_plan.event[e].place];
    }
    return true;
}

static void read_mine(void)
{
    int saved = errno;
    uint64_t was = ti__papi_mine.value[0];
    bool first = ti__papi_mine.state == TI__SET_NONE;

    if (first)
        begin_thread();
    if (ti__papi_mine.state == TI__SET_RUNS && ti__papi_read_sets() && ti__papi_plan.has_volume &&
        !first) {
        if (__builtin_expect((int64_t)(ti__papi_mine.value[0] - was) > 0, 1))
            ti__papi_mine.seen = 0;
        else if (ti__papi_mine.value[0] == was)
            stands_still();
        else
            goes_back(was);
    }
    errno = saved;
}

uint64_t ti__papi_read(void)
{
    read_mine();
    return ti__papi_mine.value[0];
}

uint64_t ti__papi_read_also(uint64_t *also)
{
    read_mine();
    memcpy(also, ti__papi_mine.value + 1, (size_t)(ti__papi_plan.nevents - 1) * sizeof *also);
    return ti__papi_mine.value[0];
}

static uint64_t (*count_beside)(void);
static const volatile uint64_t *word_beside;

void ti__papi_set_beside(const struct ti_counter *volume)
{
    count_beside = volume->read ? volume->read : volume->read_elsewhere;
    word_beside = volume->word;
}

uint64_t ti__papi_read_beside(uint64_t *also)
{
    read_mine();
    memcpy(also, ti__papi_mine.value, (size_t)ti__papi_plan.nevents * sizeof *also);
    return count_beside ? count_beside() : *word_beside;
}

#endif
