/*
 * The counter blocks: the count that code compiled with ti-mpicc adds up in the thread-local
 * variable tiara_blocks.  The variable is in the program, or in libtiara-blocks.so if only shared
 * objects were compiled with ti-mpicc.  Its distance from the thread pointer is the same in all
 * threads; compiled code and read_elsewhere() use that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "minitrace/counters/counter_impl.h"

#ifdef __x86_64__
static char *thread_pointer(void)
{
    char *self;

    __asm__("movq %%fs:0, %0" : "=r"(self));
    return self;
}

/* The calling thread's variable.  libtiara-blocks.so may be visible only to a plug-in, so it is
 * looked up by name as well. */
static const volatile uint64_t *find_word(const char *name)
{
    void *word = dlsym(RTLD_DEFAULT, name), *library;

    if (!word && (library = dlopen("libtiara-blocks.so", RTLD_LAZY | RTLD_NOLOAD))) {
        word = dlsym(library, name);
        dlclose(library);
    }
    return word;
}
#else
static char *thread_pointer(void)
{
    return NULL;
}

static const volatile uint64_t *find_word(const char *name)
{
    (void)name;
    return NULL;
}
#endif

static ptrdiff_t distance; /* of tiara_blocks, from the thread pointer */

static uint64_t read_elsewhere(void)
{
    return *(const volatile uint64_t *)(thread_pointer() + distance);
}

bool ti_counter_blocks(uint64_t *count, uint64_t *own)
{
    int saved = errno;
    const volatile uint64_t *word = find_word("tiara_blocks");
    const volatile uint64_t *added = find_word("tiara_blocks_own");

    errno = saved;
    *count = word ? *word : 0;
    *own = added ? *added : 0;
    return word != NULL;
}

static ti_status blocks_open(const char *event, const struct ti_counter_request *wish,
                             struct ti_counter *out, struct ti_err *err)
{
    const volatile uint64_t *word = find_word("tiara_blocks");

    (void)event;
    (void)wish;
    if (!word) {
        ti_err_set(err, TI_ERR_INPUT, "the program does not count its blocks");
        ti_err_hint(err, "compile and link it with ti-mpicc, ti-mpicxx or ti-mpifort, or choose "
                         "another counter");
        return TI_ERR_INPUT;
    }
    distance = (const volatile char *)word - thread_pointer();
    out->word = word;
    out->read_elsewhere = read_elsewhere;
    return TI_OK;
}

const struct ti_counter_backend ti__counter_blocks = {
    .name = "blocks",
    .event = "instructions of code compiled with ti-mpicc",
    .unit = "instructions",
    .read_method = "load",
    .advice = "ti-mpicc compiles programs that count themselves",
    .exact = true,
    .from_start = true,
    .compiled = true,
    .open = blocks_open,
};
