/*
 * PAPI, loaded when asked for: nobody who does not want it needs it, and an
 * application that uses PAPI itself keeps its own copy.
 *
 * PAPI lets a thread run one event set per component.  If the application's
 * runs when we open, we say so; if it starts one later, its own PAPI_start()
 * is told PAPI_EISRUN.  Whoever counts with PAPI inside the application should
 * trace it with another counter.
 *
 * Every thread that reads gets an event set of its own at its first read, and
 * gives it back when it ends.  Where that fails, the thread's count stands
 * still.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minitrace/counter_impl.h"

#if defined(__has_include)
#if __has_include(<papi.h>)
#include <papi.h>
#endif
#endif

#ifdef PAPI_VER_CURRENT

#include <linux/perf_event.h>

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

static struct {
#define MEMBER(name) __typeof__(name) *name;
    PAPI_CALLS(MEMBER)
#undef MEMBER
} papi;

/* The calling thread's event set. */
enum { SET_NONE = 0, SET_RUNS, SET_FAILED };
static _Thread_local struct {
    int state;
    int set;
} mine __attribute__((tls_model("initial-exec")));

static char event_name[64];
static bool inherited; /* by the threads that a counting thread starts */
static pthread_key_t at_thread_exit;
static bool have_key;

#define LOOP 1000000 /* the probe's length; every round is more than one instruction */

/* --- loading ------------------------------------------------------------- */

/* The library our header belongs to, which the application may have loaded. */
static void *load_library(void)
{
    char name[4][48];
    void *lib = NULL;

    snprintf(name[0], sizeof name[0], "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION));
    snprintf(name[1], sizeof name[1], "libpapi.so.%d", PAPI_VERSION_MAJOR(PAPI_VERSION));
    snprintf(name[2], sizeof name[2], "libpapi.so.%d.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION), PAPI_VERSION_REVISION(PAPI_VERSION));
    snprintf(name[3], sizeof name[3], "libpapi.so");
    for (int i = 0; i < 4 && !lib; i++)
        lib = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
    return lib;
}

static ti_status load(struct ti_err *err)
{
    void *lib;
    int rc;

    if (papi.PAPI_library_init)
        return TI_OK;
    lib = load_library();
    if (!lib) {
        ti_err_set(err, TI_ERR_INPUT, "cannot load PAPI's library, libpapi.so.%d.%d",
                   PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
        ti_err_hint(err, "install PAPI's run-time library, or put its folder on LD_LIBRARY_PATH");
        return TI_ERR_INPUT;
    }
#define FIND(name)                                                                                 \
    *(void **)&papi.name = dlsym(lib, #name);                                                      \
    if (!papi.name) {                                                                              \
        memset(&papi, 0, sizeof papi);                                                             \
        return ti_err_set(err, TI_ERR_INPUT, "PAPI's library has no '%s'", #name);                 \
    }
    PAPI_CALLS(FIND)
#undef FIND
    rc = papi.PAPI_library_init(PAPI_VER_CURRENT);
    if (rc != PAPI_VER_CURRENT) {
        ti_err_set(err, TI_ERR_INPUT, "cannot start PAPI: %s",
                   rc > 0 ? "its version is not the one we were built with"
                          : papi.PAPI_strerror(rc));
        memset(&papi, 0, sizeof papi);
        return TI_ERR_INPUT;
    }
    /* Refused if the application did it already, with the same effect. */
    papi.PAPI_thread_init(pthread_self);
    return TI_OK;
}

/* --- one thread's event set ---------------------------------------------- */

static void stop_mine(void)
{
    long long last;

    if (mine.state == SET_RUNS) {
        papi.PAPI_stop(mine.set, &last);
        papi.PAPI_cleanup_eventset(mine.set);
        papi.PAPI_destroy_eventset(&mine.set);
    }
    mine.state = SET_NONE;
}

static void thread_exits(void *unused)
{
    (void)unused;
    stop_mine();
    papi.PAPI_unregister_thread();
}

/* Before its event is added, tell the calling thread's set to count for threads
 * to come as well.  PAPI wants to know for which component. */
static int inherit(const char **call)
{
    PAPI_option_t option;
    int code, rc;

    *call = "PAPI_event_name_to_code";
    rc = papi.PAPI_event_name_to_code(event_name, &code);
    if (rc != PAPI_OK)
        return rc;
    *call = "PAPI_assign_eventset_component";
    rc = papi.PAPI_assign_eventset_component(mine.set, papi.PAPI_get_event_component(code));
    if (rc != PAPI_OK)
        return rc;
    memset(&option, 0, sizeof option);
    option.inherit.eventset = mine.set;
    option.inherit.inherit = PAPI_INHERIT_ALL;
    *call = "PAPI_set_opt(PAPI_INHERIT)";
    return papi.PAPI_set_opt(PAPI_INHERIT, &option);
}

/* Returns PAPI_OK or PAPI's error, and in *call what failed. */
static int start_mine(const char **call)
{
    int rc;

    mine.state = SET_FAILED;
    mine.set = PAPI_NULL;
    *call = "PAPI_create_eventset";
    rc = papi.PAPI_create_eventset(&mine.set);
    if (rc != PAPI_OK)
        return rc;
    rc = inherited ? inherit(call) : PAPI_OK;
    if (rc == PAPI_OK) {
        *call = "PAPI_add_named_event";
        rc = papi.PAPI_add_named_event(mine.set, event_name);
    }
    if (rc == PAPI_OK) {
        *call = "PAPI_start";
        rc = papi.PAPI_start(mine.set);
    }
    if (rc != PAPI_OK) {
        papi.PAPI_cleanup_eventset(mine.set);
        papi.PAPI_destroy_eventset(&mine.set);
        return rc;
    }
    mine.state = SET_RUNS;
    return PAPI_OK;
}

static uint64_t papi_read(void)
{
    int saved = errno;
    long long value = 0;
    const char *call;

    if (mine.state == SET_NONE && start_mine(&call) == PAPI_OK && have_key)
        pthread_setspecific(at_thread_exit, &mine);
    if (mine.state == SET_RUNS && papi.PAPI_read(mine.set, &value) != PAPI_OK)
        value = 0;
    errno = saved;
    return (uint64_t)value;
}

/* --- does it count? ------------------------------------------------------ */

static void work(void)
{
    for (volatile int i = 0; i < LOOP; i++)
        ;
}

/* Why PAPI switched off one of its components; NULL if it did not. */
static const char *why_disabled(const char *component)
{
    const PAPI_component_info_t *info;

    for (int i = 0; i < papi.PAPI_num_components(); i++) {
        info = papi.PAPI_get_component_info(i);
        if (info && strcmp(info->name, component) == 0 && info->disabled)
            return info->disabled_reason;
    }
    return NULL;
}

/* Why can't the kernel count instructions for us?  Ask it. */
static void explain(struct ti_err *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .disabled = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, (unsigned long)0);
    int cause = errno;
    int paranoid = -100;
    const char *disabled;
    FILE *f;

    if (fd >= 0) {
        close(fd);
        disabled = why_disabled("perf_event");
        if (disabled)
            ti_err_hint(err,
                        "the kernel can count instructions here, PAPI cannot (%s); "
                        "a newer PAPI may know this processor",
                        disabled);
        else
            ti_err_hint(err, "papi_avail and papi_native_avail list this machine's events");
        return;
    }
    if (cause == EACCES || cause == EPERM) {
        f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
        if (f) {
            if (fscanf(f, "%d", &paranoid) != 1)
                paranoid = -100;
            fclose(f);
        }
        if (paranoid > 2)
            ti_err_hint(err,
                        "kernel.perf_event_paranoid is %d here; counting one's own "
                        "instructions needs 2 or less",
                        paranoid);
        else
            ti_err_hint(err, "this process may not use perf_event_open (a container's rules?)");
        return;
    }
    ti_err_hint(err, "the kernel offers no hardware counters here (a virtual machine?)");
}

static ti_status refuse(struct ti_err *err, const char *call, int rc)
{
    if (rc == PAPI_EISRUN) {
        ti_err_set(err, TI_ERR_INPUT,
                   "cannot count PAPI event '%s': the application is already counting with PAPI",
                   event_name);
        ti_err_hint(err, "trace an application that uses PAPI itself with another counter");
        return TI_ERR_INPUT;
    }
    ti_err_set(err, TI_ERR_INPUT, "PAPI event '%s' does not count here: %s: %s", event_name, call,
               papi.PAPI_strerror(rc));
    explain(err);
    return TI_ERR_INPUT;
}

static ti_status refuse_sum(struct ti_err *err, const char *why)
{
    ti_err_set(err, TI_ERR_INPUT, "PAPI does not count '%s' for all threads here: %s", event_name,
               why);
    ti_err_hint(err, "count with valgrind, or the calling thread only");
    return TI_ERR_INPUT;
}

static void *work_in_thread(void *unused)
{
    work();
    return unused;
}

/* Does it count what a thread does that is started now?  `alone` is how much the
 * same work was here. */
static ti_status probe_sum(long long alone, struct ti_err *err)
{
    long long before = 0, after = 0;
    pthread_t thread;
    int rc = papi.PAPI_read(mine.set, &before);

    if (pthread_create(&thread, NULL, work_in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    if (rc == PAPI_OK)
        rc = papi.PAPI_read(mine.set, &after);
    if (rc == PAPI_OK && after - before >= alone / 2)
        return TI_OK;
    stop_mine();
    return refuse_sum(err, "what a second thread did was not counted");
}

static ti_status probe(bool instructions, struct ti_err *err)
{
    const char *call;
    char why[128];
    long long before = 0;
    long long after = 0;
    int rc = start_mine(&call);

    if (rc != PAPI_OK && inherited) {
        snprintf(why, sizeof why, "%s: %s", call, papi.PAPI_strerror(rc));
        inherited = false; /* is it that? */
        rc = start_mine(&call);
        if (rc == PAPI_OK) {
            stop_mine();
            return refuse_sum(err, why);
        }
    }
    if (rc != PAPI_OK)
        return refuse(err, call, rc);
    call = "PAPI_read";
    rc = papi.PAPI_read(mine.set, &before);
    work();
    if (rc == PAPI_OK)
        rc = papi.PAPI_read(mine.set, &after);
    if (rc == PAPI_OK && after != before && (!instructions || after - before >= LOOP))
        return inherited ? probe_sum(after - before, err) : TI_OK;
    stop_mine();
    if (rc != PAPI_OK)
        return refuse(err, call, rc);
    ti_err_set(err, TI_ERR_INPUT,
               "PAPI event '%s' does not count here: it grew by %lld over a loop of %d rounds",
               event_name, after - before, LOOP);
    explain(err);
    return TI_ERR_INPUT;
}

ti_status ti__counter_open_papi(const char *event, bool sum, struct ti_counter *out,
                                struct ti_err *err)
{
    bool instructions = strcmp(event, TI__PAPI_DEFAULT) == 0;
    size_t len = strlen(event);
    ti_status st;

    if (len == 0 || len >= sizeof event_name) {
        ti_err_set(err, TI_ERR_USAGE, "PAPI event '%s' is %s", event,
                   len == 0 ? "empty" : "longer than 63 characters");
        ti_err_hint(err, "papi_avail and papi_native_avail list events");
        return TI_ERR_USAGE;
    }
    if (mine.state == SET_RUNS)
        return ti_err_set(err, TI_ERR_INPUT, "a PAPI counter is open already");
    st = load(err);
    if (st != TI_OK)
        return st;
    memcpy(event_name, event, len + 1);
    inherited = sum;
    st = probe(instructions, err);
    if (st != TI_OK) {
        mine.state = SET_NONE;
        return st;
    }
    if (!have_key)
        have_key = pthread_key_create(&at_thread_exit, thread_exits) == 0;
    *out = (struct ti_counter){
        .backend = "papi",
        .exact = instructions,
        .word = &ti__counter_no_word,
        .read = papi_read,
        .sum = sum,
    };
    memcpy(out->event, event, len + 1);
    strcpy(out->unit, instructions ? "instructions" : "events");
    return TI_OK;
}

void ti__counter_close_papi(void)
{
    stop_mine();
}

#else

ti_status ti__counter_open_papi(const char *event, bool sum, struct ti_counter *out,
                                struct ti_err *err)
{
    (void)sum;
    (void)out;
    ti_err_set(err, TI_ERR_INPUT, "cannot count '%s': built without PAPI", event);
    ti_err_hint(err, "install PAPI with its headers, then build again");
    return TI_ERR_INPUT;
}

void ti__counter_close_papi(void)
{
}

#endif
