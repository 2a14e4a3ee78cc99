/*
 * Declarations that the files of the counter papi share: counter_papi_load.c loads PAPI,
 * counter_papi_sets.c counts with it in each thread, counter_papi_explain.c says why it does
 * not count, counter_papi_kinds.c where it counts, and counter_papi.c decides what to count and
 * whether it counts.
 *
 * Functions that return int return PAPI_OK, or PAPI's error and what failed in *f.
 */
#ifndef TI_MINITRACE_COUNTERS_COUNTER_PAPI_H
#define TI_MINITRACE_COUNTERS_COUNTER_PAPI_H

#include <string.h>

#include "minitrace/counters/counter_impl.h"

/* How the names of software defined events begin. */
#define TI__PAPI_SOFTWARE_DEFINED "sde:::"

#if defined(__has_include)
#if __has_include(<papi.h>)
#include <papi.h>
#endif
#endif

#ifdef PAPI_VER_CURRENT

/* The functions of PAPI's library, NULL until it is loaded. */
#define PAPI_CALLS(X)                                                                              \
    X(PAPI_library_init)                                                                           \
    X(PAPI_thread_init)                                                                            \
    X(PAPI_strerror)                                                                               \
    X(PAPI_num_components)                                                                         \
    X(PAPI_get_component_info)                                                                     \
    X(PAPI_event_name_to_code)                                                                     \
    X(PAPI_get_event_component)                                                                    \
    X(PAPI_assign_eventset_component)                                                              \
    X(PAPI_set_opt)                                                                                \
    X(PAPI_create_eventset)                                                                        \
    X(PAPI_add_named_event)                                                                        \
    X(PAPI_start)                                                                                  \
    X(PAPI_stop)                                                                                   \
    X(PAPI_read)                                                                                   \
    X(PAPI_cleanup_eventset)                                                                       \
    X(PAPI_destroy_eventset)                                                                       \
    X(PAPI_unregister_thread)

extern struct ti__papi {
#define MEMBER(name) __typeof__(name) *name;
    PAPI_CALLS(MEMBER)
#undef MEMBER
    int (*pfm_initialize)(void); /* of libpfm; NULL if PAPI contains it */
} ti__papi __attribute__((visibility("hidden")));

#define TI__PAPI_EVENTS (1 + TI_ALSO_MAX)

/* The plan, the same for every thread: the events, one event set per component, and the place of
 * each event in its set. */
extern struct ti__papi_plan {
    bool has_volume;   /* event 0 is the volume; else all events are beside it */
    bool instructions; /* the volume is PAPI_TOT_INS */
    bool inherited;    /* threads inherit the events from the thread that starts them */
    int nevents, nsets;
    struct {
        char name[TI_EVENT_NAME];
        int set, place;
    } event[TI__PAPI_EVENTS];
    int component[TI__PAPI_EVENTS]; /* the component of each set */
} ti__papi_plan __attribute__((visibility("hidden")));

/* The calling thread's event sets, and their last values. */
enum { TI__SET_NONE = 0, TI__SET_RUNS, TI__SET_OVER }; /* TI__SET_OVER: failed, or closed */
extern _Thread_local struct ti__papi_thread {
    int state;
    int set[TI__PAPI_EVENTS];
    uint64_t value[TI__PAPI_EVENTS];
    uint64_t seen, still; /* while the volume does not move: CPU time at the last read, 0 if it
                           * moves; and the sum of CPU time since */
} ti__papi_mine __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A failed call of PAPI, and the index of its event, or -1. */
struct ti__papi_failure {
    const char *call;
    int event;
};

static inline const char *ti__papi_event_of(const struct ti__papi_failure *f)
{
    return ti__papi_plan.event[f->event < 0 ? 0 : f->event].name;
}

static inline bool ti__papi_is_software_defined(const char *event)
{
    return strncmp(event, TI__PAPI_SOFTWARE_DEFINED, strlen(TI__PAPI_SOFTWARE_DEFINED)) == 0;
}

/* For a hint: the counters that count instructions without PAPI, as "with blocks or with valgrind".
 * If all threads are to be counted, only those that can. */
const char *ti__papi_others(void);

/* Load PAPI's library and start it, once. */
ti_status ti__papi_load(struct ti_err *err);

/* Create an event set for `component`, for user code only, and inherited by new threads if the
 * plan says so. */
int ti__papi_create_set(int component, int *set, struct ti__papi_failure *f);

/* Start counting in the calling thread; stop. */
int ti__papi_start(struct ti__papi_failure *f);
void ti__papi_stop(void);

/* Make each thread stop counting when it ends. */
void ti__papi_stop_at_exit(void);

/* Read all sets into ti__papi_mine.value.  Values that cannot be read stay as they were.  False if
 * there are such values. */
bool ti__papi_read_sets(void);

/* Functions for struct ti_counter.  ti__papi_set_beside(): the volume is another back end's
 * counter, which ti__papi_read_beside() reads last. */
uint64_t ti__papi_read(void);
uint64_t ti__papi_read_also(uint64_t *also);
void ti__papi_set_beside(const struct ti_counter *volume);
uint64_t ti__papi_read_beside(uint64_t *also);
const char *ti__papi_trouble(void);
void ti__papi_clear_trouble(void);

/* How many kinds of processors the calling process may run on, of those that count by themselves:
 * 2 of an Alder Lake, 1 of it if the process is kept on one kind, 0 where all are alike.  `devices`
 * is the kernel's list.  `text` gets their names and numbers: "cpu_atom (16-23), cpu_core (0-15)".
 */
#define TI__PAPI_DEVICES "/sys/bus/event_source/devices"
int ti__papi_kinds(const char *devices, char *text, size_t bytes);

/* Set err: an event does not count, because of `f` and PAPI's error rc; or not for all threads.
 * ti__papi_explain() adds a hint on why the machine does not count it. */
ti_status ti__papi_refuse(struct ti_err *err, const struct ti__papi_failure *f, int rc);
ti_status ti__papi_refuse_sum(struct ti_err *err, const char *event, const char *why);
void ti__papi_explain(struct ti_err *err, const char *event);

#endif
#endif
