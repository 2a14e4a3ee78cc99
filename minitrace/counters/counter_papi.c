/*
 * The counter papi, and PAPI events beside other counters.  PAPI is loaded when it is asked
 * for, so that the library works without it.
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
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/fds.h"
#include "minitrace/counters/counter_impl.h"

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
    int (*pfm_initialize)(void); /* of libpfm; NULL if PAPI contains it */
} papi;

#define EVENTS   (1 + TI_ALSO_MAX)
#define PAPI_FDS 16      /* more than PAPI opens at a time */
#define LOOP     1000000 /* rounds of the probe's loop; each is more than one instruction */

/* STILL_NS: CPU time without progress after which the count has stopped.  STILL_STEP_NS: the most
 * that counts between two reads, because a thread that waits in MPI uses CPU time too. */
#define STILL_NS      1000000000
#define STILL_STEP_NS 400000000

/* The plan, the same for every thread: the events, one event set per component, and the place of
 * each event in its set. */
static struct {
    bool has_volume;   /* event 0 is the volume; else all events are beside it */
    bool instructions; /* the volume is PAPI_TOT_INS */
    bool inherited;    /* threads inherit the events from the thread that starts them */
    int nevents, nsets;
    struct {
        char name[TI_EVENT_NAME];
        int set, place;
    } event[EVENTS];
    int component[EVENTS]; /* the component of each set */
} plan;

/* The calling thread's event sets, and their last values. */
enum { SET_NONE = 0, SET_RUNS, SET_OVER }; /* SET_OVER: failed, or closed */
static _Thread_local struct {
    int state;
    int set[EVENTS];
    uint64_t value[EVENTS];
    uint64_t seen, still; /* while the volume does not move: CPU time at the last read, 0 if it
                           * moves; and the sum of CPU time since */
} mine __attribute__((tls_model("initial-exec")));

static pthread_key_t at_thread_exit;
static bool have_key;

/* ----------------------------------------------------------------- loading -- */

/* Load the version of PAPI that the header belongs to. */
static void *load_by_name(int flags)
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
        lib = dlopen(name[i], flags);
    return lib;
}

/* Whether PAPI's symbols are in the global scope.  The next function: whether PAPI is in the
 * process at all. */
static bool papi_is_shared(void)
{
    return dlsym(RTLD_DEFAULT, "PAPI_library_init") != NULL;
}

static bool application_has_papi(void)
{
    void *lib = load_by_name(RTLD_LAZY | RTLD_NOLOAD);

    if (lib)
        dlclose(lib);
    return lib || papi_is_shared();
}

/* Whether malloc() is not the C library's but, say, a sanitizer's or jemalloc's. */
static bool malloc_is_foreign(void)
{
    void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
    bool foreign = !libc || dlsym(libc, "malloc") != dlsym(RTLD_DEFAULT, "malloc");

    if (libc)
        dlclose(libc);
    return foreign;
}

static bool copy_file(const char *path, int to)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n = 1;
    off_t done = 0;

    if (from < 0)
        return false;
    if (fstat(from, &st) == 0)
        while (done < st.st_size && n > 0)
            n = sendfile(to, from, &done, (size_t)(st.st_size - done));
    close(from);
    return n > 0 && done > 0;
}

/*
 * Load a copy of the library `lib`; NULL if that is not possible.
 *
 * If PAPI's symbols are in the global scope, the copy needs RTLD_DEEPBIND, or it would call
 * the application's PAPI.  But with RTLD_DEEPBIND the copy calls the C library's free() on
 * memory of a foreign malloc(), and sanitizers end the program.
 */
static void *load_copy(void *lib)
{
    int flags = RTLD_NOW | RTLD_LOCAL | (papi_is_shared() ? RTLD_DEEPBIND : 0);
    struct link_map *map;
    char path[64];
    void *copy = NULL;
    int fd;

    if ((flags & RTLD_DEEPBIND && malloc_is_foreign()) || dlinfo(lib, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    fd = memfd_create("tiara-libpapi", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    /* the loader compares names, so this one must be unique */
    snprintf(path, sizeof path, "/proc/self/./fd/./%d", fd);
    if (copy_file(map->l_name, fd))
        copy = dlopen(path, flags);
    close(fd);
    return copy;
}

static ti_status load_library(void **out, struct ti_err *err)
{
    bool theirs = application_has_papi();
    void *lib = load_by_name(RTLD_NOW | RTLD_LOCAL), *copy;

    if (!lib) {
        ti_err_set(err, TI_ERR_INPUT, "cannot load PAPI's library, libpapi.so.%d.%d",
                   PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
        ti_err_hint(err, "install PAPI's run-time library, or put its folder on LD_LIBRARY_PATH");
        return TI_ERR_INPUT;
    }
    /* `lib` stays loaded.  Otherwise an application that loads PAPI later would get the copy,
     * which has the same soname. */
    copy = load_copy(lib);
    if (!copy && theirs) {
        ti_err_set(err, TI_ERR_INPUT,
                   "the application uses PAPI itself, and a second copy of it for us cannot be "
                   "loaded here%s",
                   malloc_is_foreign() ? ": its malloc() is not the C library's" : "");
        ti_err_hint(err, "trace it with another counter: valgrind or blocks");
        return TI_ERR_INPUT;
    }
    *out = copy ? copy : lib;
    return TI_OK;
}

static ti_status load(struct ti_err *err)
{
    void *lib;
    ti_status st;
    int rc;

    if (papi.PAPI_library_init)
        return TI_OK;
    st = load_library(&lib, err);
    if (st != TI_OK)
        return st;
#define FIND(name)                                                                                 \
    *(void **)&papi.name = dlsym(lib, #name);                                                      \
    if (!papi.name) {                                                                              \
        memset(&papi, 0, sizeof papi);                                                             \
        ti_err_set(err, TI_ERR_INPUT, "PAPI's library has no '%s'", #name);                        \
        ti_err_hint(err, "install PAPI as of version 5.5");                                        \
        return TI_ERR_INPUT;                                                                       \
    }
    PAPI_CALLS(FIND)
#undef FIND
    *(void **)&papi.pfm_initialize = dlsym(lib, "pfm_initialize");
    if (!ti_fds_room(PAPI_FDS)) { /* libpapi would end the process */
        memset(&papi, 0, sizeof papi);
        return ti_err_set(err, TI_ERR_INPUT,
                          "PAPI needs descriptors, and fewer than %d more may be opened", PAPI_FDS);
    }
    rc = papi.PAPI_library_init(PAPI_VER_CURRENT);
    if (rc != PAPI_VER_CURRENT) {
        ti_err_set(err, TI_ERR_INPUT, "cannot start PAPI: %s",
                   rc > 0 ? "its version is not the one we were built with"
                          : papi.PAPI_strerror(rc));
        ti_err_hint(err, "we were built with PAPI %d.%d: put that on LD_LIBRARY_PATH",
                    PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
        memset(&papi, 0, sizeof papi);
        return TI_ERR_INPUT;
    }
    papi.PAPI_thread_init(pthread_self);
    return TI_OK;
}

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

static const char *papi_trouble(void)
{
    return __atomic_load_n(&trouble, __ATOMIC_ACQUIRE);
}

/* --------------------------------------------------- one thread's event sets -- */

/* A failed call of PAPI, and the index of its event, or -1. */
struct failure {
    const char *call;
    int event;
};

static void drop_sets(bool running)
{
    long long last[EVENTS];

    for (int s = 0; s < plan.nsets; s++) {
        if (mine.set[s] == PAPI_NULL)
            continue;
        if (running)
            papi.PAPI_stop(mine.set[s], last);
        papi.PAPI_cleanup_eventset(mine.set[s]);
        papi.PAPI_destroy_eventset(&mine.set[s]);
    }
}

static void stop_mine(void)
{
    if (mine.state == SET_RUNS)
        drop_sets(true);
    mine.state = SET_NONE;
}

static void thread_exits(void *unused)
{
    (void)unused;
    stop_mine();
    papi.PAPI_unregister_thread();
}

/* Create an event set for `component`, for user code only, and inherited by new threads if the
 * plan says so.  Some components do not accept a domain, even the one that they have.  That is no
 * failure, because PAPI's default is user code, and nobody else can have changed it in our copy. */
static int create_set(int component, int *set, struct failure *f)
{
    PAPI_option_t option;
    int rc;

    f->event = -1;
    f->call = "PAPI_create_eventset";
    rc = papi.PAPI_create_eventset(set);
    if (rc != PAPI_OK)
        return rc;
    f->call = "PAPI_assign_eventset_component";
    rc = papi.PAPI_assign_eventset_component(*set, component);
    if (rc != PAPI_OK)
        return rc;
    memset(&option, 0, sizeof option);
    option.domain.eventset = *set;
    option.domain.domain = PAPI_DOM_USER;
    f->call = "PAPI_set_opt(PAPI_DOMAIN)";
    rc = papi.PAPI_set_opt(PAPI_DOMAIN, &option);
    if (rc != PAPI_OK && papi.PAPI_get_component_info(component)->default_domain & ~PAPI_DOM_USER)
        return rc;
    if (!plan.inherited)
        return PAPI_OK;
    memset(&option, 0, sizeof option);
    option.inherit.eventset = *set;
    option.inherit.inherit = PAPI_INHERIT_ALL;
    f->call = "PAPI_set_opt(PAPI_INHERIT)";
    return papi.PAPI_set_opt(PAPI_INHERIT, &option);
}

/* Create and fill all event sets.  Returns PAPI_OK, or PAPI's error and *f. */
static int fill_sets(struct failure *f)
{
    int rc;

    for (int s = 0; s < plan.nsets; s++)
        mine.set[s] = PAPI_NULL;
    for (int s = 0; s < plan.nsets; s++)
        if ((rc = create_set(plan.component[s], &mine.set[s], f)) != PAPI_OK)
            return rc;
    f->call = "PAPI_add_named_event";
    for (f->event = 0; f->event < plan.nevents; f->event++) {
        rc = papi.PAPI_add_named_event(mine.set[plan.event[f->event].set],
                                       plan.event[f->event].name);
        if (rc != PAPI_OK)
            return rc;
    }
    return PAPI_OK;
}

/* Start counting in the calling thread.  PAPI's descriptors get high numbers: they are read at
 * each MPI call, and if the application closed one and got its number for a file of its own, that
 * file would be read. */
static int start_mine(struct failure *f)
{
    struct ti_fds_low low;
    int rc, s = 0;

    mine.state = SET_OVER;
    mine.seen = 0;
    ti_fds_take_low(&low);
    /* PAPI_shutdown() of the application also ends libpfm, which both copies share */
    if (papi.pfm_initialize)
        papi.pfm_initialize();
    rc = fill_sets(f);
    if (rc == PAPI_OK) {
        f->call = "PAPI_start";
        f->event = -1;
        while (s < plan.nsets && (rc = papi.PAPI_start(mine.set[s])) == PAPI_OK)
            s++;
    }
    if (rc != PAPI_OK) {
        for (long long last[EVENTS]; s > 0 && f->event < 0; s--)
            papi.PAPI_stop(mine.set[s - 1], last);
        drop_sets(false);
        ti_fds_give_back(&low);
        return rc;
    }
    ti_fds_give_back(&low);
    mine.state = SET_RUNS;
    return PAPI_OK;
}

static const char *event_of(const struct failure *f)
{
    return plan.event[f->event < 0 ? 0 : f->event].name;
}

/* A thread's first read. */
static void begin_thread(void)
{
    struct failure f;
    int rc = start_mine(&f);

    if (rc != PAPI_OK)
        set_trouble("PAPI event '%s' cannot be counted in another thread: %s: %s", event_of(&f),
                    f.call, papi.PAPI_strerror(rc));
    else if (have_key)
        pthread_setspecific(at_thread_exit, &mine);
}

/* ----------------------------------------------------------------- reading -- */

/* The volume has not moved since the last read, though the thread has executed at least this code.
 * A count of instructions cannot do that.  Other events, such as floating point operations, get
 * some time, and more reads than one MPI call has. */
static __attribute__((noinline)) void stands_still(void)
{
    uint64_t now = ti__clock(CLOCK_THREAD_CPUTIME_ID), passed = mine.seen ? now - mine.seen : 0;

    mine.still = mine.seen ? mine.still : 0;
    mine.still += passed < STILL_STEP_NS ? passed : STILL_STEP_NS;
    mine.seen = now;
    if (plan.instructions || mine.still >= STILL_NS)
        set_trouble("PAPI event '%s' stands still at %llu, while the thread computes",
                    plan.event[0].name, (unsigned long long)mine.value[0]);
}

/* Software defined events may be reset, by the application or by PAPI when another thread starts
 * them. */
static __attribute__((noinline)) void goes_back(uint64_t was)
{
    set_trouble("PAPI event '%s' went back from %lld to %lld", plan.event[0].name, (long long)was,
                (long long)mine.value[0]);
    mine.value[0] = was;
}

/* Read all sets into mine.value; values that cannot be read stay as they were. */
static bool read_sets(void)
{
    long long value[EVENTS];
    int rc;

    for (int s = 0; s < plan.nsets; s++) {
        rc = papi.PAPI_read(mine.set[s], value);
        if (rc != PAPI_OK) {
            set_trouble("PAPI event '%s' cannot be read any more: PAPI_read: %s",
                        plan.event[0].name, papi.PAPI_strerror(rc));
            return false;
        }
        for (int e = 0; e < plan.nevents; e++)
            if (plan.event[e].set == s)
                mine.value[e] = (uint64_t)value[plan.event[e].place];
    }
    return true;
}

static void read_mine(void)
{
    int saved = errno;
    uint64_t was = mine.value[0];
    bool first = mine.state == SET_NONE;

    if (first)
        begin_thread();
    if (mine.state == SET_RUNS && read_sets() && plan.has_volume && !first) {
        if (__builtin_expect((int64_t)(mine.value[0] - was) > 0, 1))
            mine.seen = 0;
        else if (mine.value[0] == was)
            stands_still();
        else
            goes_back(was);
    }
    errno = saved;
}

static uint64_t papi_read(void)
{
    read_mine();
    return mine.value[0];
}

static uint64_t papi_read_also(uint64_t *also)
{
    read_mine();
    memcpy(also, mine.value + 1, (size_t)(plan.nevents - 1) * sizeof *also);
    return mine.value[0];
}

/* The volume's counter if that is another back end.  It is read last. */
static uint64_t (*count_beside)(void);
static const volatile uint64_t *word_beside;

static uint64_t read_beside(uint64_t *also)
{
    read_mine();
    memcpy(also, mine.value, (size_t)plan.nevents * sizeof *also);
    return count_beside ? count_beside() : *word_beside;
}

/* ---------------------------------------------------------- why it does not -- */

/* Why PAPI disabled one of its components; NULL if it did not. */
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

/* Whether a line of the file contains `word`. */
static bool file_has(const char *path, const char *word)
{
    char line[4096];
    bool found = false;
    FILE *f = fopen(path, "re");

    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, word) != NULL;
    if (f)
        fclose(f);
    return found;
}

static int number_in(const char *path, int otherwise)
{
    int number = otherwise;
    FILE *f = fopen(path, "re");

    if (f) {
        if (fscanf(f, "%d", &number) != 1)
            number = otherwise;
        fclose(f);
    }
    return number;
}

#define OR_ELSE "; or count with valgrind, or with blocks"

/* A hint: the kernel lets this process count nothing. */
static void explain_denied(struct ti_err *err)
{
    int paranoid = number_in("/proc/sys/kernel/perf_event_paranoid", -100);

    if (paranoid > 2)
        ti_err_hint(err,
                    "kernel.perf_event_paranoid is %d, which lets only root count; counting one's "
                    "own instructions needs 2 or less: sysctl kernel.perf_event_paranoid=2, as "
                    "root" OR_ELSE,
                    paranoid);
    else if (file_has("/proc/self/status", "Seccomp:\t2"))
        ti_err_hint(err, "a seccomp filter, as containers have, forbids perf_event_open: start the "
                         "container with --cap-add PERFMON, or a profile that allows it" OR_ELSE);
    else
        ti_err_hint(err,
                    "perf_event_open is forbidden to this process, though "
                    "kernel.perf_event_paranoid is %d: a security module, or a container's rules "
                    "(--cap-add PERFMON)" OR_ELSE,
                    paranoid);
}

/* A hint: why the kernel cannot count instructions.  Found out by asking it. */
static void explain_kernel(struct ti_err *err)
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
    const char *disabled;

    if (fd >= 0) {
        close(fd);
        disabled = why_disabled("perf_event");
        if (disabled && strstr(disabled, "paranoid"))
            explain_denied(err); /* PAPI does not try, though root may count */
        else if (disabled)
            ti_err_hint(err,
                        "the kernel can count instructions here, PAPI cannot (%s); "
                        "a newer PAPI may know this processor",
                        disabled);
        else
            ti_err_hint(err, "papi_avail and papi_native_avail list this machine's events");
    } else if (cause == EACCES || cause == EPERM || cause == ENOSYS) {
        explain_denied(err);
    } else if (file_has("/proc/cpuinfo", " hypervisor")) {
        ti_err_hint(err, "this virtual machine has no hardware counters: its host has to give it "
                         "some (a virtual PMU)" OR_ELSE);
    } else {
        ti_err_hint(err, "the kernel offers no hardware counters here" OR_ELSE);
    }
}

static bool is_software_defined(const char *event)
{
    return strncmp(event, "sde:::", 6) == 0;
}

static void explain(struct ti_err *err, const char *event)
{
    if (is_software_defined(event))
        ti_err_hint(err, "a library of the application must have made it before MPI_Init, with "
                         "libsde; papi_native_avail --sde FILE lists what FILE makes");
    else
        explain_kernel(err);
}

/* List the events of the set that fit into it together, tried in turn: "A, B". */
static void list_fitting(int set, char *text, size_t bytes)
{
    struct failure f;
    size_t used = 0;
    int trial = PAPI_NULL;

    text[0] = '\0';
    if (create_set(plan.component[set], &trial, &f) == PAPI_OK)
        for (int e = 0; e < plan.nevents && used < bytes; e++)
            if (plan.event[e].set == set &&
                papi.PAPI_add_named_event(trial, plan.event[e].name) == PAPI_OK)
                used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                         plan.event[e].name);
    if (trial != PAPI_NULL) {
        papi.PAPI_cleanup_eventset(trial);
        papi.PAPI_destroy_eventset(&trial);
    }
}

/* The processor has too few counters, or too few free ones. */
static ti_status refuse_conflict(struct ti_err *err, const struct failure *f)
{
    char fitting[256];

    list_fitting(plan.event[f->event < 0 ? 0 : f->event].set, fitting, sizeof fitting);
    if (!fitting[0]) {
        ti_err_set(err, TI_ERR_INPUT,
                   "PAPI event '%s' does not count here: the processor's counters are taken",
                   event_of(f));
        ti_err_hint(err, "by the application, a profiler%s; or count with valgrind, or with blocks",
                    number_in("/proc/sys/kernel/nmi_watchdog", 0) == 1
                        ? ", or the kernel's watchdog (sysctl kernel.nmi_watchdog=0, as root)"
                        : "");
        return TI_ERR_INPUT;
    }
    ti_err_set(err, TI_ERR_INPUT,
               "the events do not fit into the processor's counters together; these do: %s",
               fitting);
    ti_err_hint(err, "count the others in another run: nothing is multiplexed, which would make "
                     "counts estimates");
    return TI_ERR_INPUT;
}

static ti_status refuse(struct ti_err *err, const struct failure *f, int rc)
{
    if (rc == PAPI_ECNFLCT)
        return refuse_conflict(err, f);
    ti_err_set(err, TI_ERR_INPUT, "PAPI event '%s' does not count here: %s: %s", event_of(f),
               f->call, papi.PAPI_strerror(rc));
    /* the kernel's own events need no hardware, so the name must be wrong */
    if (strcmp(f->call, "PAPI_event_name_to_code") == 0 &&
        strncmp(event_of(f), "perf::", 6) == 0 && !why_disabled("perf_event"))
        ti_err_hint(err, "is the name right? papi_native_avail lists this machine's events");
    else
        explain(err, event_of(f));
    return TI_ERR_INPUT;
}

static ti_status refuse_sum(struct ti_err *err, const char *event, const char *why)
{
    ti_err_set(err, TI_ERR_INPUT, "PAPI does not count '%s' for all threads here: %s", event, why);
    ti_err_hint(err, "count with valgrind, or the calling thread only");
    return TI_ERR_INPUT;
}

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
    uint64_t before = mine.value[0];
    pthread_t thread;

    if (pthread_create(&thread, NULL, work_in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    if (read_sets() && mine.value[0] - before >= alone / 2)
        return TI_OK;
    return refuse_sum(err, plan.event[0].name, "what a second thread did was not counted");
}

/* Whether the volume grows with computation.  It must grow in both halves of the loop, so that a
 * single page fault is not taken for growth. */
static ti_status probe_volume(struct ti_err *err)
{
    uint64_t before = mine.value[0], half, grown;

    work(LOOP / 2);
    if (!read_sets())
        return TI_OK; /* probe() reports the trouble */
    half = mine.value[0];
    work(LOOP - LOOP / 2);
    if (!read_sets())
        return TI_OK;
    grown = mine.value[0] - before;
    if (half == before || mine.value[0] == half || (plan.instructions && grown < LOOP)) {
        ti_err_set(err, TI_ERR_INPUT,
                   "PAPI event '%s' does not count here: it grew by %llu over a loop of %d rounds",
                   plan.event[0].name, (unsigned long long)grown, LOOP);
        if (strncmp(plan.event[0].name, "perf::", 6) == 0)
            ti_err_hint(err, "what measures bursts must grow whenever the program computes; what "
                             "does not may be counted beside it (--also, TIARA_ALSO)");
        else
            explain(err, plan.event[0].name);
        return TI_ERR_INPUT;
    }
    return plan.inherited ? probe_sum(grown, err) : TI_OK;
}

/* Whether software defined events exist.  PAPI accepts any name, for libraries loaded later; until
 * then the value is -1. */
static ti_status probe_names(struct ti_err *err)
{
    for (int e = 0; e < plan.nevents; e++)
        if (is_software_defined(plan.event[e].name) && mine.value[e] == UINT64_MAX) {
            ti_err_set(err, TI_ERR_INPUT,
                       "PAPI event '%s' does not count here: no library has made it",
                       plan.event[e].name);
            explain(err, plan.event[e].name);
            return TI_ERR_INPUT;
        }
    return TI_OK;
}

static ti_status probe(struct ti_err *err)
{
    struct failure f = {NULL, -1};
    char why[128];
    int rc = start_mine(&f);
    ti_status st = TI_OK;

    if (rc != PAPI_OK && plan.inherited) {
        snprintf(why, sizeof why, "%s: %s", f.call, papi.PAPI_strerror(rc));
        plan.inherited = false; /* does it fail without inheritance too? */
        rc = start_mine(&f);
        if (rc == PAPI_OK) {
            stop_mine();
            return refuse_sum(err, event_of(&f), why);
        }
    }
    if (rc != PAPI_OK)
        return refuse(err, &f, rc);
    if (read_sets())
        st = probe_names(err);
    if (st == TI_OK && plan.has_volume)
        st = probe_volume(err);
    if (st == TI_OK && papi_trouble()) {
        st = ti_err_set(err, TI_ERR_INPUT, "%s", papi_trouble());
        explain(err, plan.event[0].name);
    }
    if (st != TI_OK)
        stop_mine();
    return st;
}

/* ------------------------------------------------------------ what to count -- */

static ti_status plan_event(const char *name, size_t len, struct ti_err *err)
{
    struct failure f = {"PAPI_event_name_to_code", plan.nevents};
    int code, component, s = 0, rc;

    if (len == 0 || len >= TI_EVENT_NAME || plan.nevents == EVENTS - !plan.has_volume) {
        if (len == 0 || len >= TI_EVENT_NAME)
            ti_err_set(err, TI_ERR_USAGE, "PAPI event '%.*s' is %s", (int)len, name,
                       len == 0 ? "empty" : "longer than 63 characters");
        else
            ti_err_set(err, TI_ERR_USAGE, "there are more than %d events beside the volume",
                       TI_ALSO_MAX);
        ti_err_hint(err, "papi_avail and papi_native_avail list events");
        return TI_ERR_USAGE;
    }
    snprintf(plan.event[plan.nevents].name, TI_EVENT_NAME, "%.*s", (int)len, name);
    for (int e = 0; e < plan.nevents; e++)
        if (strcmp(plan.event[e].name, plan.event[plan.nevents].name) == 0) {
            ti_err_set(err, TI_ERR_USAGE, "PAPI event '%s' is wanted twice", plan.event[e].name);
            ti_err_hint(err, "give it once");
            return TI_ERR_USAGE;
        }
    rc = papi.PAPI_event_name_to_code(plan.event[plan.nevents].name, &code);
    if (rc != PAPI_OK)
        return refuse(err, &f, rc);
    component = papi.PAPI_get_event_component(code);
    while (s < plan.nsets && plan.component[s] != component)
        s++;
    plan.event[plan.nevents].set = s;
    for (int e = 0; e < plan.nevents; e++)
        plan.event[plan.nevents].place += plan.event[e].set == s;
    plan.component[s] = component;
    plan.nsets += s == plan.nsets;
    plan.nevents++;
    return TI_OK;
}

/* Open the events.  `volume` and `also` may be NULL. */
static ti_status open_events(const char *volume, const char *also, bool sum, struct ti_err *err)
{
    ti_status st;

    if (mine.state == SET_RUNS) {
        ti_err_set(err, TI_ERR_INPUT, "a PAPI counter is open already");
        ti_err_hint(err, "close it first");
        return TI_ERR_INPUT;
    }
    st = load(err);
    memset(&plan, 0, sizeof plan);
    trouble_taken = false;
    trouble = NULL;
    plan.has_volume = volume != NULL;
    plan.instructions = volume && strcmp(volume, TI__PAPI_DEFAULT) == 0;
    plan.inherited = sum;
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
        mine.state = SET_NONE;
        return st;
    }
    if (!have_key)
        have_key = pthread_key_create(&at_thread_exit, thread_exits) == 0;
    return TI_OK;
}

/* How PAPI reads the events of a set. */
static const char *read_method(int set)
{
    const PAPI_component_info_t *info = papi.PAPI_get_component_info(plan.component[set]);

    if (strncmp(info->name, "perf_event", 10) != 0)
        return "function";
    return info->fast_counter_read && !plan.inherited ? "rdpmc" : "system call";
}

static void say_also(struct ti_counter *out)
{
    int first = plan.has_volume;

    out->nalso = plan.nevents - first;
    for (int i = 0; i < out->nalso; i++)
        strcpy(out->also[i], plan.event[first + i].name);
    out->trouble = papi_trouble;
}

ti_status ti__counter_open_papi(const char *event, const char *also, bool sum,
                                struct ti_counter *out, struct ti_err *err)
{
    ti_status st = open_events(event, also, sum, err);

    if (st != TI_OK)
        return st;
    *out = (struct ti_counter){
        .backend = "papi",
        .exact = plan.instructions,
        .read_method = read_method(0),
        .word = &ti__counter_no_word,
        .read = papi_read,
        .sum = sum,
    };
    strcpy(out->event, event);
    strcpy(out->unit, plan.instructions ? "instructions" : "events");
    say_also(out);
    if (out->nalso)
        out->read_also = papi_read_also;
    return TI_OK;
}

ti_status ti__counter_add_papi(const char *also, struct ti_counter *counter, struct ti_err *err)
{
    ti_status st = open_events(NULL, also, counter->sum, err);

    if (st != TI_OK)
        return st;
    count_beside = counter->read ? counter->read : counter->read_elsewhere;
    word_beside = counter->word;
    say_also(counter);
    counter->read_also = read_beside;
    return TI_OK;
}

/* SET_OVER, because a call in progress may read once more. */
void ti__counter_close_papi(void)
{
    stop_mine();
    mine.state = SET_OVER;
}

#else

static ti_status without(const char *event, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT, "cannot count '%s': built without PAPI", event);
    ti_err_hint(err, "install PAPI with its headers, then build again");
    return TI_ERR_INPUT;
}

ti_status ti__counter_open_papi(const char *event, const char *also, bool sum,
                                struct ti_counter *out, struct ti_err *err)
{
    (void)also;
    (void)sum;
    (void)out;
    return without(event, err);
}

ti_status ti__counter_add_papi(const char *also, struct ti_counter *counter, struct ti_err *err)
{
    (void)counter;
    return without(also, err);
}

void ti__counter_close_papi(void)
{
}

#endif
