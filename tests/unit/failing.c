#include "tests/unit/failing.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The functions that these take the place of. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif

void *REAL(malloc)(size_t bytes);
void *REAL(calloc)(size_t n, size_t bytes);
void *REAL(realloc)(void *p, size_t bytes);
void REAL(free)(void *p);

static struct {
    bool on, once;
    int64_t at, n, held;
} failing;

void failing_begin(int64_t at, bool once)
{
    failing.on = true;
    failing.once = once;
    failing.at = at;
    failing.n = failing.held = 0;
}

int64_t failing_end(int64_t *held)
{
    failing.on = false;
    if (held)
        *held = failing.held;
    return failing.n;
}

bool failing_now(void)
{
    int64_t n;

    if (!failing.on)
        return false;
    n = failing.n++;
    return failing.at >= 0 && (n == failing.at || (!failing.once && n > failing.at));
}

/* Whether an allocation is to fail. */
static bool is_short(void)
{
    if (!failing_now())
        return false;
    errno = ENOMEM;
    return true;
}

static void *count(void *p)
{
    failing.held += failing.on && p;
    return p;
}

void *malloc(size_t bytes)
{
    return is_short() ? NULL : count(REAL(malloc)(bytes));
}

void *calloc(size_t n, size_t bytes)
{
    return is_short() ? NULL : count(REAL(calloc)(n, bytes));
}

void *realloc(void *p, size_t bytes)
{
    if (is_short())
        return NULL;
    return p ? REAL(realloc)(p, bytes) : count(REAL(realloc)(NULL, bytes));
}

void *reallocarray(void *p, size_t n, size_t bytes)
{
    size_t all;

    if (__builtin_mul_overflow(n, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, all);
}

void free(void *p)
{
    failing.held -= failing.on && p;
    REAL(free)(p);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *p = MAP_FAILED;

    if (!is_short())
        p = (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
    failing.held += failing.on && p != MAP_FAILED;
    return p;
}

int munmap(void *p, size_t bytes)
{
    failing.held -= failing.on;
    return (int)syscall(SYS_munmap, p, bytes);
}

/* Sanitizers have these in the place of the C library's, which call malloc(). */
char *strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

char *strndup(const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    char *copy = malloc(n + 1);

    if (copy)
        memcpy(copy, text, n);
    if (copy)
        copy[n] = '\0';
    return copy;
}
