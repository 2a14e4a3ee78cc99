/*
 * Counters.  What this machine can count is not known beforehand; a counter
 * either opens and counts, or refuses with a reason.  PAPI's own path is tried
 * with a software defined event, which needs no hardware; more of it in t-papi.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "minitrace/counters/counter.h"

#define ROUNDS 1000000

static void work(void)
{
    for (volatile int i = 0; i < ROUNDS; i++)
        ;
}

static uint64_t value(const struct ti_counter *c)
{
    return c->read ? c->read() : *c->word;
}

/* Open `choice`, and check what holds for every outcome. */
static ti_status open_for(bool sum, const char *choice, struct ti_counter *c, struct ti_err *err)
{
    struct ti_counter before;
    ti_status st;

    memset(c, 0x5a, sizeof *c);
    memcpy(&before, c, sizeof before);
    memset(err, 0, sizeof *err);
    errno = 77;
    st = ti_counter_open(&(struct ti_counter_request){.choice = choice, .sum = sum}, c, err);
    assert_int_equal(errno, 77);
    if (st != TI_OK) {
        assert_memory_equal(c, &before, sizeof before);
        assert_true(err->text[0] != '\0');
        assert_true(err->hint[0] != '\0');
        return st;
    }
    assert_non_null(c->word);
    assert_true(c->backend->name[0] && c->event[0] && c->unit[0]);
    assert_int_equal(c->exact, strcmp(c->unit, "instructions") == 0);
    assert_int_equal(c->sum, sum);
    assert_true(sum || !c->others);
    return st;
}

static ti_status open_counter(const char *choice, struct ti_counter *c, struct ti_err *err)
{
    return open_for(false, choice, c, err);
}

static void check_counts(struct ti_counter *c)
{
    uint64_t before = value(c);
    uint64_t grown;

    work();
    grown = value(c) - before;
    if (strcmp(c->unit, "instructions") == 0)
        assert_in_range(grown, ROUNDS, 100 * (uint64_t)ROUNDS);
    else
        assert_in_range(grown, 1, 60000000000);
    assert_int_equal(errno, 77);
    ti_counter_close(c);
    assert_null(c->backend);
    assert_int_equal(errno, 77);
}

static void cputime(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    assert_int_equal(open_counter("cputime", &c, &err), TI_OK);
    assert_string_equal(c.backend->name, "cputime");
    assert_string_equal(c.unit, "nanoseconds");
    check_counts(&c);
}

static void *fresh_thread(void *arg)
{
    uint64_t *out = arg;
    struct ti_counter c;

    *out = UINT64_MAX;
    if (ti_counter_open(&(struct ti_counter_request){.choice = "cputime"}, &c, NULL) == TI_OK)
        *out = value(&c);
    return NULL;
}

static void cputime_is_the_threads_own(void **state)
{
    struct timespec cpu;
    uint64_t there;
    pthread_t t;

    (void)state;
    for (int i = 0; i < 200; i++)
        work();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    assert_int_equal(pthread_create(&t, NULL, fresh_thread, &there), 0);
    pthread_join(t, NULL);
    assert_true(there < (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec);
}

static void bad_choices(void **state)
{
    static const char *const bad[] = {
        "",
        "foo",
        "PAPI",
        "papi ",
        "papi:",
        "valgrind:x",
        "cputime ",
        "papix",
        "auto:papi",
        "papi:an-event-whose-name-is-longer-than-the-sixty-three-characters-it-may-have",
    };
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(open_counter(bad[i], &c, &err), TI_ERR_USAGE);
    assert_int_equal(open_counter("foo", &c, &err), TI_ERR_USAGE);
    assert_string_equal(err.text, "unknown counter 'foo'");
    assert_string_equal(err.hint, "choose auto, papi[:EVENT], blocks, valgrind or cputime");
    assert_int_equal(ti_counter_open(&(struct ti_counter_request){.choice = "foo"}, &c, NULL),
                     TI_ERR_USAGE);
}

static void valgrind(void **state)
{
    struct ti_counter c;
    struct ti_err err;
    ti_status st = open_counter("valgrind", &c, &err);

    (void)state;
    if (st == TI_OK) {
        assert_string_equal(c.backend->name, "valgrind");
        assert_null(c.read);
        assert_true(c.exact);
        check_counts(&c);
    } else {
        assert_int_equal(st, TI_ERR_INPUT);
    }
}

static void papi_either(const char *choice, const char *event)
{
    struct ti_counter c;
    struct ti_err err;
    ti_status st;

    /* Twice: what the first left behind must not hinder the second. */
    for (int i = 0; i < 2; i++) {
        st = open_counter(choice, &c, &err);
        if (st == TI_OK) {
            assert_string_equal(c.backend->name, "papi");
            assert_string_equal(c.event, event);
            assert_int_equal(c.exact, strcmp(event, "PAPI_TOT_INS") == 0);
            check_counts(&c);
        } else {
            assert_int_equal(st, TI_ERR_INPUT);
            print_message("%s: %s\nhint: %s\n", choice, err.text, err.hint);
        }
    }
}

static void papi_default(void **state)
{
    (void)state;
    papi_either("papi", "PAPI_TOT_INS");
    papi_either("papi:PAPI_TOT_INS", "PAPI_TOT_INS");
}

static void papi_software_event(void **state)
{
    (void)state;
    papi_either("papi:perf::TASK-CLOCK", "perf::TASK-CLOCK");
}

static void papi_no_such_event(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    assert_int_equal(open_counter("papi:NO_SUCH_EVENT", &c, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "NO_SUCH_EVENT"));
}

static void automatic(void **state)
{
    struct ti_counter c;
    struct ti_err err;
    ti_status st;
    bool valgrind_counts = open_counter("valgrind", &c, &err) == TI_OK;
    bool papi_counts;

    (void)state;
    if (valgrind_counts)
        ti_counter_close(&c);
    papi_counts = open_counter("papi", &c, &err) == TI_OK;
    if (papi_counts)
        ti_counter_close(&c);
    st = open_counter("auto", &c, &err);
    if (valgrind_counts || papi_counts) {
        assert_int_equal(st, TI_OK);
        assert_string_equal(c.backend->name, valgrind_counts ? "valgrind" : "papi");
        check_counts(&c);
    } else {
        assert_int_equal(st, TI_ERR_INPUT);
        assert_non_null(strstr(err.hint, "valgrind"));
        assert_non_null(strstr(err.hint, "cputime"));
    }
}

static ti_status count_nothing(void *arg, const struct ti_counter_backend *b, const char *event,
                               bool is_auto, struct ti_err *err)
{
    assert_true(is_auto && strcmp(event, b->event) == 0);
    strcat(strcat(arg, b->name), " ");
    return ti_err_set(err, TI_ERR_INPUT, "no %s", b->name);
}

/* The order of `auto`, where nothing counts. */
static void order(void **state)
{
    char tried[64] = "";
    struct ti_err err;

    (void)state;
    if (open_counter("valgrind", &(struct ti_counter){0}, &err) == TI_OK)
        return; /* the only one that is tried */
    assert_int_equal(ti_counter_pick("auto", false, count_nothing, tried, NULL, &err),
                     TI_ERR_INPUT);
    assert_string_equal(tried, "papi blocks valgrind ");
    assert_string_equal(err.text, "no exact counter works here: no papi; no blocks; no valgrind");
    tried[0] = '\0';
    assert_int_equal(ti_counter_pick("auto", true, count_nothing, tried, NULL, &err), TI_ERR_INPUT);
    assert_string_equal(tried, "papi valgrind ");
}

/* --- all threads --------------------------------------------------------- */

static void *work_there(void *unused)
{
    work();
    return unused;
}

/* The work of another thread is in the sum. */
static void check_sum(struct ti_counter *c)
{
    uint64_t own = value(c), others = c->others ? c->others() : 0, grown;
    pthread_t t;

    assert_int_equal(pthread_create(&t, NULL, work_there, NULL), 0);
    pthread_join(t, NULL);
    grown = value(c) - own + (c->others ? c->others() - others : 0);
    assert_in_range(grown, strcmp(c->unit, "nanoseconds") == 0 ? ROUNDS / 10 : ROUNDS, 60000000000);
    check_counts(c);
}

static void sum_of_cputime(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    assert_int_equal(open_for(true, "cputime", &c, &err), TI_OK);
    check_sum(&c);
}

static void sum_of_valgrind(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    if (open_for(true, "valgrind", &c, &err) == TI_OK) {
        assert_non_null(c.others);
        check_sum(&c);
    } else {
        assert_string_equal(err.text, "not running under valgrind --tool=ticount");
    }
}

/* Where it counts for one thread only, it says so, and still counts for one. */
static void sum_of_papi(void **state)
{
    static const char *const event[] = {"papi", "papi:perf::TASK-CLOCK"};
    struct ti_counter c;
    struct ti_err err, alone;

    (void)state;
    for (size_t i = 0; i < sizeof event / sizeof event[0]; i++) {
        ti_status st = open_for(true, event[i], &c, &err);

        if (st == TI_OK) {
            check_sum(&c);
            continue;
        }
        assert_int_equal(st, TI_ERR_INPUT);
        print_message("%s, sum: %s\nhint: %s\n", event[i], err.text, err.hint);
        if (open_counter(event[i], &c, &alone) == TI_OK) {
            assert_non_null(strstr(err.text, "for all threads"));
            check_counts(&c);
        } else {
            assert_string_equal(err.text, alone.text);
        }
    }
}

static void sum_of_auto(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    if (open_for(true, "auto", &c, &err) == TI_OK)
        check_sum(&c);
    else
        assert_non_null(strstr(err.hint, "valgrind"));
    assert_int_equal(open_for(true, "foo", &c, &err), TI_ERR_USAGE);
}

/* --- PAPI, with an event of our own -------------------------------------- */

static bool have_sde;

/* The calling thread's CPU time, or nothing at all. */
static bool stands_still;
static long long thread_time(void *unused)
{
    struct timespec ts = {0, 0};

    (void)unused;
    if (stands_still)
        return 42;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Before PAPI is first loaded: it looks for such events only then. */
static int register_event(void **state)
{
    void *lib = dlopen("libsde.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *(*init)(const char *);
    int (*add)(void *, const char *, int, int, long long (*)(void *), void *);

    (void)state;
    if (!lib)
        return 0;
    *(void **)&init = dlsym(lib, "papi_sde_init");
    *(void **)&add = dlsym(lib, "papi_sde_register_counter_cb");
    if (init && add)
        have_sde = add(init("ti_test"), "TIME", 0, 0, thread_time, NULL) == 0;
    return 0;
}

#define SDE "sde:::ti_test::TIME"

static bool open_sde(struct ti_counter *c)
{
    struct ti_err err;

    if (!have_sde || open_counter("papi:" SDE, c, &err) != TI_OK) {
        print_message("no software defined events: %s\n", have_sde ? err.text : "no libsde");
        return false;
    }
    return true;
}

static void sde_counts(void **state)
{
    struct ti_counter c;
    struct ti_counter again;
    struct ti_err err;

    (void)state;
    if (!open_sde(&c))
        skip();
    assert_string_equal(c.backend->name, "papi");
    assert_string_equal(c.event, SDE);
    assert_string_equal(c.unit, "events");
    assert_false(c.exact);
    assert_int_equal(
        ti_counter_open(&(struct ti_counter_request){.choice = "papi:" SDE}, &again, &err),
        TI_ERR_INPUT);
    check_counts(&c);
    assert_true(open_sde(&c));
    ti_counter_close(&c);
}

static void sde_stands_still(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    if (!open_sde(&c))
        skip();
    ti_counter_close(&c);
    stands_still = true;
    assert_int_equal(open_counter("papi:" SDE, &c, &err), TI_ERR_INPUT);
    stands_still = false;
    assert_non_null(strstr(err.text, "grew by 0"));
}

/* PAPI has no way to hand such an event on to threads. */
static void sde_of_all_threads(void **state)
{
    static const char refusal[] = "PAPI does not count '" SDE "' for all threads here: PAPI_";
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    if (!open_sde(&c))
        skip();
    ti_counter_close(&c);
    assert_int_equal(open_for(true, "papi:" SDE, &c, &err), TI_ERR_INPUT);
    assert_int_equal(strncmp(err.text, refusal, strlen(refusal)), 0);
    assert_string_equal(err.hint, "count with valgrind, or the calling thread only");
    print_message("%s\n", err.text);
    assert_true(open_sde(&c));
    check_counts(&c);
}

struct in_thread {
    struct ti_counter *c;
    uint64_t grown;
};

static void *count_in_thread(void *arg)
{
    struct in_thread *in = arg;
    uint64_t before = value(in->c);

    work();
    in->grown = value(in->c) - before;
    return NULL;
}

static void sde_in_threads(void **state)
{
    struct ti_counter c;
    struct in_thread in = {&c, 0};
    pthread_t t;

    (void)state;
    if (!open_sde(&c))
        skip();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&t, NULL, count_in_thread, &in), 0);
        pthread_join(t, NULL);
        assert_in_range(in.grown, 1, 60000000000);
    }
    check_counts(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cputime),
        cmocka_unit_test(cputime_is_the_threads_own),
        cmocka_unit_test(bad_choices),
        cmocka_unit_test(valgrind),
        cmocka_unit_test(papi_default),
        cmocka_unit_test(papi_software_event),
        cmocka_unit_test(papi_no_such_event),
        cmocka_unit_test(automatic),
        cmocka_unit_test(order),
        cmocka_unit_test(sum_of_cputime),
        cmocka_unit_test(sum_of_valgrind),
        cmocka_unit_test(sum_of_papi),
        cmocka_unit_test(sum_of_auto),
        cmocka_unit_test(sde_counts),
        cmocka_unit_test(sde_stands_still),
        cmocka_unit_test(sde_in_threads),
        cmocka_unit_test(sde_of_all_threads),
    };

    return cmocka_run_group_tests_name("counter", tests, register_event, NULL);
}
