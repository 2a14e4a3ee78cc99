/*
 * PAPI's path, every line of it, on any machine: with software defined events (SDE),
 * whose values are known since the tests set them, beside events of the kernel's
 * (perf::TASK-CLOCK), which need no hardware either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "minitrace/counters/counter_papi.h"

#ifdef PAPI_VER_CURRENT

#define VOLUME "sde:::ti_papi::VOLUME"
#define FIRST  "sde:::ti_papi::FIRST"
#define SECOND "sde:::ti_papi::SECOND"
#define DELTA  "sde:::ti_papi::DELTA"
#define CLOCK  "perf::TASK-CLOCK"

#define INSTANT 0x10 /* of libsde: the value as it is, not what it grew since the start */

/* The work of the calling thread, as the events below count it. */
static _Thread_local unsigned long long steps[3];
static bool moves;      /* the volume grows with each look at it */
static int steps_after; /* FIRST: with one, after so many; 0: never */

static long long value(void *which)
{
    unsigned long long *mine = &steps[(intptr_t)which];

    if (moves && which == NULL)
        ++*mine;
    if (which == (void *)1 && steps_after && --steps_after == 0)
        ++*mine;
    return (long long)*mine;
}

static void *libsde, *handle; /* NULL without libsde */
static int (*sde_register)(void *, const char *, int, int, long long (*)(void *), void *);
static bool sanitized;

static void register_events(void)
{
    sde_register(handle, "VOLUME", INSTANT, 0, value, (void *)0);
    sde_register(handle, "FIRST", INSTANT, 0, value, (void *)1);
    sde_register(handle, "SECOND", INSTANT, 0, value, (void *)2);
    sde_register(handle, "DELTA", 0, 0, value, (void *)0);
}

static int begin(void **state)
{
    void *(*init)(const char *);

    (void)state;
    sanitized = dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
    libsde = dlopen("libsde.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!libsde)
        return 0;
    *(void **)&init = dlsym(libsde, "papi_sde_init");
    *(void **)&sde_register = dlsym(libsde, "papi_sde_register_counter_cb");
    handle = init("ti_papi");
    register_events();
    return 0;
}

static ti_status open_with(const char *choice, const char *also, struct ti_counter *c,
                           struct ti_err *err)
{
    struct ti_counter_request wish = {.choice = choice, .also = also};
    ti_status st;

    memset(err, 0, sizeof *err);
    moves = true;
    errno = 77;
    st = ti_counter_open(&wish, c, err);
    assert_int_equal(errno, 77);
    moves = false;
    return st;
}

/* Opens, or the test is skipped where there is no SDE at all. */
static void open_or_skip(const char *choice, const char *also, struct ti_counter *c)
{
    struct ti_err err;

    if (!libsde)
        skip();
    if (open_with(choice, also, c, &err) != TI_OK)
        fail_msg("%s, %s: %s (%s)", choice, also ? also : "", err.text, err.hint);
}

/* The kernel may allow nobody but root to count, or nobody at all. */
static void need_clock(void)
{
    struct ti_counter c;
    struct ti_err err;

    if (open_with("papi:" CLOCK, NULL, &c, &err) == TI_OK) {
        ti_counter_close(&c);
        return;
    }
    print_message("%s; %s\n", err.text, err.hint);
    skip();
}

static void refused(ti_status st, const char *choice, const char *also, const char *words)
{
    struct ti_counter c;
    struct ti_err err;

    assert_int_equal(open_with(choice, also, &c, &err), st);
    if (!strstr(err.text, words) || !err.hint[0])
        fail_msg("'%s' is not in: %s (hint: %s)", words, err.text, err.hint);
}

static void burn(int ms)
{
    struct timespec a, b;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

/* ------------------------------------------------------------- known values -- */

static void volumes(void **state)
{
    struct ti_counter c;
    uint64_t (*read)(void), last;

    (void)state;
    open_or_skip("papi:" VOLUME, NULL, &c);
    assert_string_equal(c.backend->name, "papi");
    assert_string_equal(c.event, VOLUME);
    assert_string_equal(c.unit, "events");
    assert_string_equal(c.read_method, "function");
    assert_false(c.exact || c.backend->estimate);
    assert_int_equal(c.nalso, 0);
    assert_null(c.read_also);
    last = c.read();
    for (uint64_t n = 1; n < UINT64_C(1) << 40; n *= 7) {
        steps[0] += n;
        assert_int_equal(c.read() - last, n);
        last = c.read();
    }
    assert_int_equal(errno, 77);
    assert_null(c.trouble());
    read = c.read;
    ti_counter_close(&c);
    steps[0]++;
    assert_int_equal(read(), last); /* and it counts no more */
}

/* Wherever an event starts: PAPI hands on signed values, the event goes beyond. */
static void no_overflow(void **state)
{
    static const unsigned long long start[] = {INT_MAX, UINT_MAX, LLONG_MAX, ULLONG_MAX};
    struct ti_counter c;
    uint64_t before;

    (void)state;
    for (size_t i = 0; i < sizeof start / sizeof *start; i++) {
        steps[0] = 1000;
        open_or_skip("papi:" VOLUME, NULL, &c);
        for (; start[i] - 2 - steps[0] > LLONG_MAX; c.read())
            steps[0] += LLONG_MAX / 2;
        steps[0] = start[i] - 2;
        before = c.read();
        steps[0] += 5;
        assert_int_equal(c.read() - before, 5);
        assert_null(c.trouble());
        ti_counter_close(&c);
    }
    steps[0] = 0;
}

/* In the order of the wish, in one set or several. */
static void beside(void **state)
{
    struct ti_counter c;
    uint64_t before[3], after[3], volume;

    (void)state;
    need_clock();
    open_or_skip("papi:" VOLUME, SECOND "," CLOCK "," FIRST, &c);
    assert_int_equal(c.nalso, 3);
    assert_string_equal(c.also[0], SECOND);
    assert_string_equal(c.also[1], CLOCK);
    assert_string_equal(c.also[2], FIRST);
    volume = c.read_also(before);
    steps[0] += 10;
    steps[1] += 200;
    steps[2] += 3000;
    burn(2);
    assert_int_equal(c.read_also(after) - volume, 10);
    assert_int_equal(after[0] - before[0], 3000);
    assert_in_range(after[1] - before[1], 1000000, 10000000000);
    assert_int_equal(after[2] - before[2], 200);
    assert_int_equal(c.read() - volume, 10);
    ti_counter_close(&c);
}

/* The other way round: the volume is the kernel's. */
static void beside_a_clock(void **state)
{
    struct ti_counter c;
    uint64_t before, after, volume;

    (void)state;
    need_clock();
    open_or_skip("papi:" CLOCK, FIRST, &c);
    assert_string_equal(c.read_method, "system call");
    volume = c.read_also(&before);
    steps[1] += 42;
    burn(2);
    assert_in_range(c.read_also(&after) - volume, 1000000, 10000000000);
    assert_int_equal(after - before, 42);
    ti_counter_close(&c);
}

static void beside_another_back_end(void **state)
{
    struct ti_counter c;
    uint64_t before[2], after[2], volume;

    (void)state;
    open_or_skip("cputime", SECOND "," FIRST, &c);
    assert_string_equal(c.backend->name, "cputime");
    assert_true(c.backend->estimate);
    assert_int_equal(c.nalso, 2);
    volume = c.read_also(before);
    steps[1] += 7;
    steps[2] += 8;
    burn(2);
    assert_in_range(c.read_also(after) - volume, 1000000, 10000000000);
    assert_int_equal(after[0] - before[0], 8);
    assert_int_equal(after[1] - before[1], 7);
    for (int i = 0; i < 2; i++) { /* what is counted beside may stand still */
        burn(550);
        c.read_also(after);
    }
    assert_null(c.trouble());
    ti_counter_close(&c);
}

static void wishes_that_are_none(void **state)
{
    char many[512] = "";

    (void)state;
    if (!libsde)
        skip();
    refused(TI_ERR_USAGE, "papi:" VOLUME, FIRST ",", "is empty");
    refused(TI_ERR_USAGE, "papi:" VOLUME, ",", "is empty");
    refused(TI_ERR_USAGE, "papi:" VOLUME, FIRST "," SECOND "," FIRST, "wanted twice");
    refused(TI_ERR_USAGE, "papi:" VOLUME, VOLUME, "wanted twice");
    refused(TI_ERR_USAGE, "cputime", FIRST "," FIRST, "wanted twice");
    refused(TI_ERR_USAGE, "cputime",
            "an-event-whose-name-is-longer-than-the-sixty-three-characters-it-may-have",
            "longer than 63");
    refused(TI_ERR_INPUT, "cputime", "sde:::ti_papi::NOBODY", "no library has made it");
    refused(TI_ERR_INPUT, "papi:sde:::ti_papi::NOBODY", NULL, "no library has made it");
    refused(TI_ERR_INPUT, "papi:" VOLUME, FIRST ",sde:::nobody::NEVER", "'sde:::nobody::NEVER'");
    refused(TI_ERR_INPUT, "papi:" VOLUME, "NO_SUCH_EVENT", "'NO_SUCH_EVENT' does not");
    for (int i = 0; i <= TI_ALSO_MAX; i++) {
        char name[32];

        snprintf(name, sizeof name, "MANY_%d", i);
        sde_register(handle, name, 0, 0, value, (void *)1);
        snprintf(many + strlen(many), sizeof many - strlen(many), "%ssde:::ti_papi::%s",
                 i ? "," : "", name);
    }
    refused(TI_ERR_USAGE, "papi:" VOLUME, many, "more than 8");
    refused(TI_ERR_USAGE, "cputime", many, "more than 8");
}

static void as_many_as_may_be(void **state)
{
    char many[512] = "";
    uint64_t before[TI_ALSO_MAX], after[TI_ALSO_MAX], volume;
    struct ti_counter c;

    (void)state;
    for (int i = 0; i < TI_ALSO_MAX; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "%ssde:::ti_papi::MANY_%d",
                 i ? "," : "", i);
    open_or_skip("papi:" VOLUME, many, &c);
    volume = c.read_also(before);
    steps[0]++;
    steps[1] += 2;
    assert_int_equal(c.read_also(after) - volume, 1);
    for (int i = 0; i < TI_ALSO_MAX; i++)
        assert_int_equal(after[i] - before[i], 2);
    ti_counter_close(&c);
}

/* ----------------------------------------------------------------- threads -- */

struct job {
    struct ti_counter *c;
    uint64_t step;
    uint64_t grown, also;
};

static void *count_there(void *arg)
{
    struct job *job = arg;
    uint64_t before, after, volume = job->c->read_also(&before);

    for (int i = 0; i < 100; i++) {
        steps[0] += job->step;
        steps[1] += 2 * job->step;
        job->c->read_also(&after);
    }
    job->grown = job->c->read_also(&after) - volume;
    job->also = after - before;
    return NULL;
}

static void threads(void **state)
{
    struct ti_counter c;
    struct job job[4];
    pthread_t t[4];
    uint64_t volume, also[2];

    (void)state;
    open_or_skip("papi:" VOLUME, FIRST, &c);
    volume = c.read_also(&also[0]);
    for (int i = 0; i < 4; i++) {
        job[i] = (struct job){.c = &c, .step = 1 + (uint64_t)i};
        assert_int_equal(pthread_create(&t[i], NULL, count_there, &job[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(job[i].grown, 100 * job[i].step);
        assert_int_equal(job[i].also, 200 * job[i].step);
    }
    assert_int_equal(c.read_also(&also[1]), volume);
    assert_int_equal(also[1], also[0]);
    assert_null(c.trouble());
    ti_counter_close(&c);
}

/* ------------------------------------------------------------------ faults -- */

static void refuses_what_does_not_grow(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    if (!libsde)
        skip();
    assert_int_equal(open_with("papi:" FIRST, NULL, &c, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "'" FIRST "' does not count here: it grew by 0"));
    for (int k = 1; k < 8; k++) { /* once, by chance */
        steps_after = k;
        assert_int_equal(open_with("papi:" FIRST, NULL, &c, &err), TI_ERR_INPUT);
        assert_non_null(strstr(err.text, "'" FIRST "' does not count here"));
    }
    steps_after = 0;
}

static void notices_what_stops(void **state)
{
    struct ti_counter c;
    uint64_t last;

    (void)state;
    open_or_skip("papi:" VOLUME, NULL, &c);
    steps[0]++;
    last = c.read();
    for (int i = 0; i < 4; i++) { /* slow, but it moves */
        burn(300);
        steps[0]++;
        last = c.read();
        assert_null(c.trouble());
    }
    for (int i = 0; i < 2; i++) { /* as in a long wait, and reads in a call that MPI makes */
        assert_int_equal(c.read(), last);
        burn(1100);
        assert_int_equal(c.read(), last);
        assert_null(c.trouble());
        steps[0]++;
        last++;
        assert_int_equal(c.read(), last);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(c.read(), last);
        assert_null(c.trouble());
        burn(260);
    }
    assert_int_equal(c.read(), last);
    assert_non_null(c.trouble());
    assert_non_null(strstr(c.trouble(), "'" VOLUME "' stands still"));
    ti_counter_close(&c);
    open_or_skip("papi:" VOLUME, NULL, &c);
    assert_null(c.trouble());
    ti_counter_close(&c);
}

static void *start_there(void *arg)
{
    struct ti_counter *c = arg;

    c->read();
    return NULL;
}

/* libsde keeps one beginning of such an event for all threads: when another one
 * starts, the event starts anew in this one. */
static void notices_what_goes_back(void **state)
{
    struct ti_counter c;
    uint64_t last;
    pthread_t t;

    (void)state;
    open_or_skip("papi:" DELTA, NULL, &c);
    last = c.read();
    steps[0] += 1000;
    assert_int_equal(c.read() - last, 1000);
    last = c.read();
    pthread_create(&t, NULL, start_there, &c);
    pthread_join(t, NULL);
    steps[0] = 5;
    assert_int_equal(c.read(), last);
    assert_non_null(c.trouble());
    assert_non_null(strstr(c.trouble(), "'" DELTA "' went back from"));
    ti_counter_close(&c);
}

/* A thread that finds no file descriptor for the kernel's counter. */
static void notices_uncounted_threads(void **state)
{
    struct rlimit limit, none;
    struct ti_counter c;
    uint64_t before;
    pthread_t t;

    (void)state;
    need_clock();
    open_or_skip("papi:" CLOCK, NULL, &c);
    before = c.read();
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    pthread_create(&t, NULL, start_there, &c);
    pthread_join(t, NULL);
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_non_null(c.trouble());
    assert_non_null(strstr(c.trouble(), "'" CLOCK "' cannot be counted in another thread: PAPI_"));
    burn(1);
    assert_true(c.read() > before); /* this one is */
    ti_counter_close(&c);
}

/* The kernel's counter is gone: whoever closed it. */
static void notices_failing_reads(void **state)
{
    struct ti_counter c;
    uint64_t last;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)state;
    need_clock();
    open_or_skip("papi:" CLOCK, NULL, &c);
    last = c.read();
    assert_null(c.trouble());
    for (int fd = 3; fd < 1024; fd++) { /* those that PAPI has opened */
        char link[64], name[64] = "";

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, name, sizeof name - 1) > 0 && strstr(name, "perf_event"))
            dup2(null, fd);
    }
    assert_true(c.read() >= last);
    last = c.read();
    assert_non_null(c.trouble());
    assert_non_null(strstr(c.trouble(), "'" CLOCK "' cannot be read any more: PAPI_read"));
    assert_int_equal(c.read(), last);
    assert_true(last > 0); /* no zeros */
    ti_counter_close(&c);
    close(null);
}

/* First of all tests: what the kernel allows, PAPI asks once. */
static void explains_a_container(void **state)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    char text[2048] = "";
    int fd[2], status;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        struct ti_counter c;
        struct ti_err err = {"", ""};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(77);
        if (ti_counter_open(&(struct ti_counter_request){.choice = "papi"}, &c, &err) !=
            TI_ERR_INPUT)
            _exit(1);
        dprintf(fd[1], "%s; %s", err.text, err.hint);
        _exit(0);
    }
    close(fd[1]);
    if (read(fd[0], text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd[0]);
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
    print_message("%s\n", text);
    assert_non_null(strstr(text, "'PAPI_TOT_INS' does not count here"));
    /* unless the machine's own rules come first */
    assert_true(strstr(text, "--cap-add PERFMON") || strstr(text, "kernel.perf_event_paranoid is"));
}

/* ------------------------------------------------ processors of several kinds -- */

static void has_processors(const char *dir, const char *device, const char *list)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, device);
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, list ? "/cpus" : "/cpumask");
    f = fopen(path, "w");
    fprintf(f, "%s\n", list ? list : "0");
    fclose(f);
}

static void keep_on(int first, int last)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = first; i <= last; i++)
        CPU_SET(i, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        skip();
}

static void kinds_of_processors(void **state)
{
    char dir[] = "/tmp/t-papi-XXXXXX", text[128], remove[64];
    cpu_set_t all;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (!CPU_ISSET(0, &all) || !CPU_ISSET(1, &all))
        skip();
    assert_non_null(mkdtemp(dir));
    assert_int_equal(ti__papi_kinds("/nowhere", text, sizeof text), 0);
    has_processors(dir, "cpu", NULL); /* all alike, on x86 */
    has_processors(dir, "uncore_imc", NULL);
    assert_int_equal(ti__papi_kinds(dir, text, sizeof text), 0);
    has_processors(dir, "cpu_core", "0,4-5,7-8");
    has_processors(dir, "cpu_lowpower", ""); /* all off-line */
    assert_int_equal(ti__papi_kinds(dir, text, sizeof text), 1);
    has_processors(dir, "cpu_atom", "1-3,6");
    assert_int_equal(ti__papi_kinds(dir, text, sizeof text), 2);
    assert_string_equal(text, "cpu_atom (1-3,6), cpu_core (0,4-5,7-8)");
    assert_int_equal(ti__papi_kinds(dir, text, 20), 2);
    assert_string_equal(text, "cpu_atom (1-3,6), c");
    keep_on(1, 1);
    assert_int_equal(ti__papi_kinds(dir, text, sizeof text), 1);
    assert_string_equal(text, "cpu_atom (1-3,6)");
    keep_on(0, 0);
    assert_int_equal(ti__papi_kinds(dir, text, sizeof text), 1);
    assert_string_equal(text, "cpu_core (0,4-5,7-8)");
    sched_setaffinity(0, sizeof all, &all);
    snprintf(remove, sizeof remove, "rm -r %s", dir);
    assert_int_equal(system(remove), 0);
}

/* --------------------------------------------- an application that has PAPI -- */

static struct {
    int (*library_init)(int);
    int (*is_initialized)(void);
    int (*thread_init)(unsigned long (*)(void));
    int (*create)(int *);
    int (*add)(int, const char *);
    int (*start)(int);
    int (*read)(int, long long *);
    int (*stop)(int, long long *);
    void (*shutdown)(void);
} app;

static bool load_theirs(void)
{
    char soname[48];
    void *lib;

    snprintf(soname, sizeof soname, "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION));
    lib = dlopen(soname, RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        return false;
    *(void **)&app.library_init = dlsym(lib, "PAPI_library_init");
    *(void **)&app.is_initialized = dlsym(lib, "PAPI_is_initialized");
    *(void **)&app.thread_init = dlsym(lib, "PAPI_thread_init");
    *(void **)&app.create = dlsym(lib, "PAPI_create_eventset");
    *(void **)&app.add = dlsym(lib, "PAPI_add_named_event");
    *(void **)&app.start = dlsym(lib, "PAPI_start");
    *(void **)&app.read = dlsym(lib, "PAPI_read");
    *(void **)&app.stop = dlsym(lib, "PAPI_stop");
    *(void **)&app.shutdown = dlsym(lib, "PAPI_shutdown");
    return true;
}

static unsigned long other_identity(void)
{
    return (unsigned long)syscall(SYS_gettid);
}

static int start_theirs(void)
{
    int set = PAPI_NULL;

    assert_int_equal(app.library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    assert_int_equal(app.thread_init(other_identity), PAPI_OK);
    assert_int_equal(app.create(&set), PAPI_OK);
    assert_int_equal(app.add(set, VOLUME), PAPI_OK);
    assert_int_equal(app.start(set), PAPI_OK);
    return set;
}

/* Both count the same steps, whoever is first; `ours` may be NULL. */
static void check_both(int set, struct ti_counter *ours)
{
    uint64_t before = ours ? ours->read() : 0;
    long long theirs[2];

    assert_int_equal(app.read(set, &theirs[0]), PAPI_OK);
    steps[0] += 11;
    assert_int_equal(app.read(set, &theirs[1]), PAPI_OK);
    assert_int_equal(theirs[1] - theirs[0], 11);
    if (ours)
        assert_int_equal(ours->read() - before, 11);
}

/* Where the application shuts PAPI down, our threads still count. */
static void *count_clock(void *arg)
{
    struct ti_counter *c = arg;
    uint64_t before = c->read();

    burn(2);
    *(c->read() - before > 1000000 ? &steps[0] : &steps[1]) += 1;
    return (void *)(uintptr_t)(c->trouble() == NULL && steps[0] == 1);
}

static void application_is_not_met(void **state)
{
    struct ti_counter c;
    long long last;
    pthread_t t;
    void *fine;
    int set;

    (void)state;
    if (!libsde || !load_theirs())
        skip();
    if (sanitized) /* the only copy there can be */
        skip();
    /* we first: the application finds PAPI as it would without us */
    open_or_skip("papi:" VOLUME, NULL, &c);
    assert_int_equal(app.is_initialized(), PAPI_NOT_INITED);
    set = start_theirs();
    check_both(set, &c);
    ti_counter_close(&c);
    check_both(set, NULL);
    /* the application first */
    open_or_skip("papi:" VOLUME, NULL, &c);
    check_both(set, &c);
    assert_int_equal(app.stop(set, &last), PAPI_OK);
    app.shutdown();
    steps[0]++;
    last = (long long)c.read();
    steps[0] += 3;
    assert_int_equal(c.read() - (uint64_t)last, 3);
    assert_null(c.trouble());
    ti_counter_close(&c);
    need_clock();
    open_or_skip("papi:" CLOCK, FIRST, &c);
    pthread_create(&t, NULL, count_clock, &c);
    pthread_join(t, &fine);
    assert_non_null(fine);
    ti_counter_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explains_a_container),
        cmocka_unit_test(volumes),
        cmocka_unit_test(no_overflow),
        cmocka_unit_test(beside),
        cmocka_unit_test(beside_a_clock),
        cmocka_unit_test(beside_another_back_end),
        cmocka_unit_test(wishes_that_are_none),
        cmocka_unit_test(as_many_as_may_be),
        cmocka_unit_test(threads),
        cmocka_unit_test(kinds_of_processors),
        cmocka_unit_test(refuses_what_does_not_grow),
        cmocka_unit_test(notices_what_stops),
        cmocka_unit_test(notices_what_goes_back),
        cmocka_unit_test(notices_uncounted_threads),
        cmocka_unit_test(application_is_not_met),
        cmocka_unit_test(notices_failing_reads), /* the last: PAPI cannot stop what is gone */
    };

    return cmocka_run_group_tests_name("papi", tests, begin, NULL);
}

#else

int main(void)
{
    printf("built without PAPI\n");
    return 77;
}

#endif
