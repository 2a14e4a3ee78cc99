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

/* In a process of its own, as PAPI is loaded once: what the counter says, "" if it
 * counts. */
static void open_papi(bool shared, char *said, size_t bytes)
{
    struct ti_counter_request wish = {.choice = "papi:perf::TASK-CLOCK"};
    int ends[2], status;
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    if (fork() == 0) {
        struct ti_err err = {"", ""};
        struct ti_counter c;
        char name[48];

        snprintf(name, sizeof name, "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
                 PAPI_VERSION_MINOR(PAPI_VERSION));
        if (shared && !dlopen(name, RTLD_NOW | RTLD_GLOBAL))
            snprintf(err.text, sizeof err.text, "there is no %s", name);
        else if (ti_counter_open(&wish, &c, &err) == TI_OK)
            ti_counter_close(&c);
        _exit(write(ends[1], err.text, strlen(err.text)) < 0);
    }
    close(ends[1]);
    n = read(ends[0], said, bytes - 1);
    assert_true(n >= 0);
    said[n] = '\0';
    close(ends[0]);
    wait(&status);
    assert_int_equal(status, 0);
}

static void counts_or_says_why(void **state)
{
    char said[256];

    (void)state;
    open_papi(false, said, sizeof said);
    print_message("%s\n", said);
    assert_null(strstr(said, "malloc()"));
}

static void refuses_a_second_copy(void **state)
{
    char said[256];

    (void)state;
    open_papi(true, said, sizeof said);
    if (strstr(said, "there is no libpapi"))
        skip();
    assert_non_null(strstr(said, "cannot be loaded here: its malloc() is not the C library's"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_or_says_why),
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
