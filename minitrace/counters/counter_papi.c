/*
 * The counter papi, and PAPI events beside other counters: preset, native or software
 * defined; of user code only.  PAPI is loaded when it is asked for, so that the library
 * works without it.  An event is accepted only if it counts when tried: added, started, and
 * grown over a loop of known length, because PAPI lists events that cannot be started.
 *
 * The application may use PAPI itself, before MPI_Init or at any later time.  PAPI keeps
 * state per process: one running event set per thread and component, the identity of
 * threads, what PAPI_shutdown() ends.  So the library loads a copy of its own, from an
 * unnamed file: the loader takes it for another object, with its own state.  The two meet
 * only in the kernel, which counts for both while the processor has enough counters.  If no
 * copy can be loaded, an application that has PAPI is refused.
 *
 * Each thread gets event sets at its first read, one per component, and releases them when
 * it ends.
 *
 * Nothing is multiplexed: PAPI does so on demand only, and extrapolated counts are no
 * counts.  Counts have 64 bits throughout (the kernel extends the processor's, with rdpmc
 * too), which last 58 years at 10^10 instructions a second.  Only differences modulo 2^64
 * are used, so an event may start at any value and wrap.
 */
#include "minitrace/counters/counter_papi.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef PAPI_VER_CURRENT

#define LOOP 1000000 /* rounds of the probe's loop; each is more than one instruction */

/* ---------------------------------------------------------- does it count? -- */

/* Some of everything that events count: branches, loads, stores, floating point. */
static void work(int rounds)
{
    volatile double x = 1;

    for (volatile int i = 0; i < rounds; i++)
        x = x * 0.5 + 1;
}

static void *work_in_thread(void *unused)
{
    work(LOOP);
    return unused;
}

/* Whether a thread started now is counted.  `alone`: the count of the same work in this thread. */
static ti_status probe_sum(uint64_t alone, struct ti_err *err)
{
    uint64_t before = ti__papi_mine.value[0];
    pthread_t thread;

    if (pthread_create(&thread, NULL, work_in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    if (ti__papi_read_sets() && ti__papi_mine.value[0] - before >= alone / 2)
        return TI_OK;
    return ti__papi_refuse_sum(err, ti__papi_plan.event[0].name,
                               "what a second thread did was not counted");
}

/* Whether the volume grows with computation.  It must grow in both halves of the loop, so that a
 * single page fault is not taken for growth. */
static ti_status probe_volume(struct ti_err *err)
{
    uint64_t before = ti__papi_mine.value[0], half, grown;

    work(LOOP / 2);
    if (!ti__papi_read_sets())
        return TI_OK; /* probe() reports the trouble */
    half = ti__papi_mine.value[0];
    work(LOOP - LOOP / 2);
    if (!ti__papi_read_sets())
        return TI_OK;
    grown = ti__papi_mine.value[0] - before;
    if (half == before || ti__papi_mine.value[0] == half ||
        (ti__papi_plan.instructions && grown < LOOP)) {
        ti_err_set(err, TI_ERR_INPUT,
                   "PAPI event '%s' does not count here: it grew by %llu over a loop of %d rounds",
                   ti__papi_plan.event[0].name, (unsigned long long)grown, LOOP);
        if (strncmp(ti__papi_plan.event[0].name, "perf::", 6) == 0)
            ti_err_hint(err, "what measures bursts must grow whenever the program computes; what "
                             "does not may be counted beside it (--also, TIARA_ALSO)");
        else
            ti__papi_explain(err, ti__papi_plan.event[0].name);
        return TI_ERR_INPUT;
    }
    return ti__papi_plan.inherited ? probe_sum(grown, err) : TI_OK;
}

/* Whether software defined events exist.  PAPI accepts any name, for libraries loaded later; until
 * then the value is -1. */
static ti_status probe_names(struct ti_err *err)
{
    for (int e = 0; e < ti__papi_plan.nevents; e++)
        if (ti__papi_is_software_defined(ti__papi_plan.event[e].name) &&
            ti__papi_mine.value[e] == UINT64_MAX) {
            ti_err_set(err, TI_ERR_INPUT,
                       "PAPI event '%s' does not count here: no library has made it",
                       ti__papi_plan.event[e].name);
            ti__papi_explain(err, ti__papi_plan.event[e].name);
            return TI_ERR_INPUT;
        }
    return TI_OK;
}

/* Whether the kernel itself makes the event, by software, on processors of every kind. */
static bool is_of_kernel(const char *event)
{
    static const char *const words[] = {"CLOCK", "FAULTS", "SWITCHES", "MIGRATIONS", "COUNT_SW"};

    for (size_t i = 0; strncmp(event, "perf::", 6) == 0 && i < sizeof words / sizeof *words; i++)
        if (strstr(event, words[i]))
            return true;
    return false;
}

/* Whether the processors that this process may run on count the events alike.  An event of a
 * processor belongs to one kind of processors.  On the others it stands still, without an error. */
static ti_status probe_kinds(struct ti_err *err)
{
    char kinds[256];

    for (int e = 0; e < ti__papi_plan.nevents; e++) {
        const char *name = ti__papi_plan.event[e].name;
        const PAPI_component_info_t *info =
            ti__papi.PAPI_get_component_info(ti__papi_plan.component[ti__papi_plan.event[e].set]);

        if (strcmp(info->name, "perf_event") != 0 || is_of_kernel(name) ||
            ti__papi_kinds(TI__PAPI_DEVICES, kinds, sizeof kinds) < 2)
            continue;
        ti_err_set(err, TI_ERR_INPUT,
                   "PAPI event '%s' counts on one kind of processors, and this process may run on "
                   "several: %s",
                   name, kinds);
        ti_err_hint(err, "keep the program on one kind (taskset -c LIST); or count %s",
                    ti__papi_others());
        return TI_ERR_INPUT;
    }
    return TI_OK;
}

static ti_status probe(struct ti_err *err)
{
    struct ti__papi_failure f = {NULL, -1};
    char why[128];
    ti_status st = probe_kinds(err);
    int rc;

    if (st != TI_OK)
        return st;
    rc = ti__papi_start(&f);
    if (rc != PAPI_OK && ti__papi_plan.inherited) {
        snprintf(why, sizeof why, "%s: %s", f.call, ti__papi.PAPI_strerror(rc));
        ti__papi_plan.inherited = false; /* does it fail without inheritance too? */
        rc = ti__papi_start(&f);
        ti__papi_plan.inherited = true;
        if (rc == PAPI_OK) {
            ti__papi_stop();
            return ti__papi_refuse_sum(err, ti__papi_event_of(&f), why);
        }
    }
    if (rc != PAPI_OK)
        return ti__papi_refuse(err, &f, rc);
    if (ti__papi_read_sets())
        st = probe_names(err);
    if (st == TI_OK && ti__papi_plan.has_volume)
        st = probe_volume(err);
    if (st == TI_OK && ti__papi_trouble()) {
        st = ti_err_set(err, TI_ERR_INPUT, "%s", ti__papi_trouble());
        ti__papi_explain(err, ti__papi_plan.event[0].name);
    }
    if (st != TI_OK)
        ti__papi_stop();
    return st;
}

/* ------------------------------------------------------------ what to count -- */

static ti_status plan_event(const char *name, size_t len, struct ti_err *err)
{
    struct ti__papi_failure f = {"PAPI_event_name_to_code", ti__papi_plan.nevents};
    int code, component, s = 0, rc;

    if (len == 0 || len >= TI_EVENT_NAME ||
        ti__papi_plan.nevents == TI__PAPI_EVENTS - !ti__papi_plan.has_volume) {
        if (len == 0 || len >= TI_EVENT_NAME)
            ti_err_set(err, TI_ERR_USAGE, "PAPI event '%.*s' is %s", (int)len, name,
                       len == 0 ? "empty" : "longer than 63 characters");
        else
            ti_err_set(err, TI_ERR_USAGE, "there are more than %d events beside the volume",
                       TI_ALSO_MAX);
        ti_err_hint(err, "papi_avail and papi_native_avail list events");
        return TI_ERR_USAGE;
    }
    snprintf(ti__papi_plan.event[ti__papi_plan.nevents].name, TI_EVENT_NAME, "%.*s", (int)len,
             name);
    for (int e = 0; e < ti__papi_plan.nevents; e++)
        if (strcmp(ti__papi_plan.event[e].name, ti__papi_plan.event[ti__papi_plan.nevents].name) ==
            0) {
            ti_err_set(err, TI_ERR_USAGE, "PAPI event '%s' is wanted twice",
                       ti__papi_plan.event[e].name);
            ti_err_hint(err, "give it once");
            return TI_ERR_USAGE;
        }
    rc = ti__papi.PAPI_event_name_to_code(ti__papi_plan.event[ti__papi_plan.nevents].name, &code);
    if (rc != PAPI_OK)
        return ti__papi_refuse(err, &f, rc);
    component = ti__papi.PAPI_get_event_component(code);
    while (s < ti__papi_plan.nsets && ti__papi_plan.component[s] != component)
        s++;
    ti__papi_plan.event[ti__papi_plan.nevents].set = s;
    for (int e = 0; e < ti__papi_plan.nevents; e++)
        ti__papi_plan.event[ti__papi_plan.nevents].place += ti__papi_plan.event[e].set == s;
    ti__papi_plan.component[s] = component;
    ti__papi_plan.nsets += s == ti__papi_plan.nsets;
    ti__papi_plan.nevents++;
    return TI_OK;
}

/* Open the events.  `volume` and `also` may be NULL. */
static ti_status open_events(const char *volume, const char *also, bool sum, struct ti_err *err)
{
    ti_status st;

    if (ti__papi_mine.state == TI__SET_RUNS) {
        ti_err_set(err, TI_ERR_INPUT, "a PAPI counter is open already");
        ti_err_hint(err, "close it first");
        return TI_ERR_INPUT;
    }
    memset(&ti__papi_plan, 0, sizeof ti__papi_plan);
    ti__papi_clear_trouble();
    ti__papi_plan.has_volume = volume != NULL;
    ti__papi_plan.instructions = volume && strcmp(volume, ti__counter_papi.event) == 0;
    ti__papi_plan.inherited = sum;
    st = ti__papi_load(err);
    if (st == TI_OK && volume)
        st = plan_event(volume, strlen(volume), err);
    for (const char *p = also; st == TI_OK && p && *p;) {
        size_t len = strcspn(p, ",");

        st = plan_event(p, len, err);
        p += len;
        if (*p == ',' && !*++p && st == TI_OK)
            st = plan_event(p, 0, err);
    }
    if (st == TI_OK)
        st = probe(err);
    if (st != TI_OK) {
        ti__papi_mine.state = TI__SET_NONE;
        return st;
    }
    ti__papi_stop_at_exit();
    return TI_OK;
}

/* How PAPI reads the events of a set. */
static const char *read_method(int set)
{
    const PAPI_component_info_t *info =
        ti__papi.PAPI_get_component_info(ti__papi_plan.component[set]);

    if (strncmp(info->name, "perf_event", 10) != 0)
        return "function";
    return info->fast_counter_read && !ti__papi_plan.inherited ? "rdpmc" : "system call";
}

/* TI__SET_OVER, because a call in progress may read once more. */
static void papi_close(void)
{
    ti__papi_stop();
    ti__papi_mine.state = TI__SET_OVER;
}

static void say_also(struct ti_counter *out)
{
    int first = ti__papi_plan.has_volume;

    out->nalso = ti__papi_plan.nevents - first;
    for (int i = 0; i < out->nalso; i++)
        strcpy(out->also[i], ti__papi_plan.event[first + i].name);
    out->trouble = ti__papi_trouble;
    out->close = papi_close;
}

static ti_status papi_open(const char *event, const struct ti_counter_request *wish,
                           struct ti_counter *out, struct ti_err *err)
{
    ti_status st = open_events(event, wish->also, wish->sum, err);

    if (st != TI_OK)
        return st;
    out->event = ti__papi_plan.event[0].name;
    out->exact = ti__papi_plan.instructions;
    if (!out->exact)
        out->unit = "events";
    out->read_method = read_method(0);
    out->read = ti__papi_read;
    say_also(out);
    if (out->nalso)
        out->read_also = ti__papi_read_also;
    return TI_OK;
}

ti_status ti__counter_add_papi(const char *also, struct ti_counter *counter, struct ti_err *err)
{
    ti_status st = open_events(NULL, also, counter->sum, err);

    if (st != TI_OK)
        return st;
    ti__papi_set_beside(counter);
    say_also(counter);
    counter->read_also = ti__papi_read_beside;
    return TI_OK;
}

#else

static ti_status without(const char *event, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT, "cannot count '%s': built without PAPI", event);
    ti_err_hint(err, "install PAPI with its headers, then build again");
    return TI_ERR_INPUT;
}

static ti_status papi_open(const char *event, const struct ti_counter_request *wish,
                           struct ti_counter *out, struct ti_err *err)
{
    (void)wish;
    (void)out;
    return without(event, err);
}

ti_status ti__counter_add_papi(const char *also, struct ti_counter *counter, struct ti_err *err)
{
    (void)counter;
    return without(also, err);
}

#endif

const struct ti_counter_backend ti__counter_papi = {
    .name = "papi",
    .event = "PAPI_TOT_INS",
    .unit = "instructions",
    .read_method = "system call",
    .advice = "papi:EVENT takes another event, see papi_native_avail",
    .own_events = TI__PAPI_SOFTWARE_DEFINED,
    .exact = true,
    .takes_event = true,
    .sums = true,
    .open = papi_open,
};
