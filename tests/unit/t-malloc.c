/*
 * PAPI in a program whose malloc() is not the C library's, as with jemalloc: here one
 * that hands out a piece of static memory, which the C library's free() ends the
 * process for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minitrace/counters/counter.h"

#if __has_include(<papi.h>)
#include <papi.h>
#endif

#if defined PAPI_VER_CURRENT && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__

#define ALIGN 16

static _Alignas(ALIGN) char memory[64 << 20];
static size_t used;

void *malloc(size_t bytes)
{
    size_t room = ALIGN + (bytes + ALIGN - 1) / ALIGN * ALIGN;
    size_t at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);

    if (at + room > sizeof memory)
        return NULL;
    memcpy(memory + at, &bytes, sizeof bytes);
    return memory + at + ALIGN;
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t n, size_t bytes)
{
    return malloc(n * bytes); /* never used before, so it is zero */
}

void *realloc(void *p, size_t bytes)
{
    void *other = malloc(bytes);
    size_t old = 0;

    if (p)
        memcpy(&old, (char *)p - ALIGN, sizeof old);
    if (other && p)
        memcpy(other, p, old < bytes ? old : bytes);
    return other;
}

/* Whether our copy of PAPI's library is in the process. */
static bool has_copy(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;

    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, "memfd:tiara-libpapi") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static bool counts(const struct ti_counter *c)
{
    uint64_t before = c->read();

    for (volatile int i = 0; i < 10000000; i++)
        ;
    return c->read() > before;
}

struct answer {
    bool copied;    /* our copy of PAPI was loaded */
    char said[256]; /* "" if the counter counts; else the counter's message */
};

/* Ask in a process of its own, because PAPI is loaded once.  `shared`: the program has PAPI, in
 * the global scope. */
static struct answer open_papi(bool shared)
{
    struct ti_counter_request wish = {.choice = "papi:perf::TASK-CLOCK"};
    struct answer answer = {false, ""};
    int ends[2], status;

    assert_int_equal(pipe(ends), 0);
    if (fork() == 0) {
        struct ti_err err = {"", ""};
        struct ti_counter c;
        char name[48];

        snprintf(name, sizeof name, "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
                 PAPI_VERSION_MINOR(PAPI_VERSION));
        if (shared && !dlopen(name, RTLD_NOW | RTLD_GLOBAL)) {
            snprintf(err.text, sizeof err.text, "there is no %s", name);
        } else if (ti_counter_open(&wish, &c, &err) == TI_OK) {
            if (!counts(&c))
                snprintf(err.text, sizeof err.text, "the counter is open and stands still");
            ti_counter_close(&c);
        }
        answer.copied = has_copy();
        snprintf(answer.said, sizeof answer.said, "%.255s", err.text);
        _exit(write(ends[1], &answer, sizeof answer) < 0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &answer, sizeof answer), sizeof answer);
    close(ends[0]);
    wait(&status);
    assert_int_equal(status, 0);
    return answer;
}

/* The copy works with the program's malloc(): it counts, or PAPI itself says why this machine does
 * not. */
static void counts_with_a_copy(void **state)
{
    struct answer a = open_papi(false);

    (void)state;
    if (strstr(a.said, "cannot load PAPI's library"))
        skip();
    assert_true(a.copied);
    if (a.said[0])
        assert_non_null(strstr(a.said, "PAPI event 'perf::TASK-CLOCK' does not count here: "));
}

static void refuses_a_second_copy(void **state)
{
    struct answer a = open_papi(true);

    (void)state;
    if (strstr(a.said, "there is no libpapi"))
        skip();
    assert_false(a.copied);
    assert_non_null(strstr(a.said, "cannot be loaded here: its malloc() is not the C library's"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_with_a_copy),
        cmocka_unit_test(refuses_a_second_copy),
    };

    return cmocka_run_group_tests_name("malloc", tests, NULL, NULL);
}

#else

int main(void)
{
    printf("built without PAPI, or with a sanitizer\n");
    return 77;
}

#endif
