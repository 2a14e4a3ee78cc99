/*
 * The heap of a simulation, in libti-smpi-preload.so: a malloc() for small blocks of few sizes.
 *
 * For each event of a trace, SimGrid allocates and frees dozens of objects of some 30 sizes.
 * Here a freed block waits in a list for the next request of its size.  This takes less time than
 * glibc's malloc(), and it keeps objects of one kind together.  The second matters more if there
 * are many ranks: SimGrid 3.32 keeps all eager messages under way in one linked list, which it
 * searches whenever one ends, and the search takes half the time if the nodes are close together.
 *
 * A block of up to MOST bytes is part of a slab, an aligned piece of the region that begins with
 * the size of its blocks.  The region is only reserved at first, and made accessible step by step.
 * Larger blocks and aligned ones are glibc's; so are all if the region cannot be reserved.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#define GRAIN  16 /* sizes of blocks are multiples of it; also their alignment */
#define MOST   1024
#define SLAB   ((size_t)64 << 10)
#define STEP   ((size_t)1 << 20) /* what becomes accessible at a time */
#define REGION ((size_t)1 << (sizeof(size_t) < 8 ? 28 : 33))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

/* By the size of blocks / GRAIN. */
static void *freed[MOST / GRAIN + 1]; /* lists: each block begins with the address of the next */
static struct fresh {
    char *next, *end; /* of the present slab: blocks that were never used */
} fresh[MOST / GRAIN + 1];

static char *region, *region_end; /* NULL: not reserved */
static char *next_slab, *accessible;
static bool refused; /* the system gives no memory for slabs any more */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- slabs ---- */

static bool reserve(void)
{
    char *p =
        mmap(NULL, REGION + SLAB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return false;
    region = accessible = next_slab = p + (SLAB - (uintptr_t)p % SLAB) % SLAB;
    region_end = region + REGION;
    return true;
}

static bool new_slab(struct fresh *f, size_t class)
{
    if (refused)
        return false;
    if (!region && !reserve()) {
        refused = true;
        return false;
    }
    if (next_slab == accessible) {
        if (accessible == region_end || mprotect(accessible, STEP, PROT_READ | PROT_WRITE) != 0) {
            refused = true;
            return false;
        }
        accessible += STEP;
    }
    *(size_t *)(void *)next_slab = class;
    f->next = next_slab + GRAIN;
    f->end = next_slab + SLAB;
    next_slab += SLAB;
    return true;
}

static bool is_ours(const void *p)
{
    return (const char *)p >= region && (const char *)p < region_end;
}

static size_t class_at(const void *p)
{
    return *(const size_t *)((uintptr_t)p & ~(uintptr_t)(SLAB - 1));
}

static size_t class_of(size_t bytes)
{
    return bytes ? (bytes + GRAIN - 1) / GRAIN : 1;
}

/* ---- blocks ---- */

/* A block that was never used; NULL: no memory for slabs. */
static void *fresh_block(size_t class)
{
    struct fresh *f = &fresh[class];
    char *p;

    if ((size_t)(f->end - f->next) < class * GRAIN && !new_slab(f, class))
        return NULL;
    p = f->next;
    f->next += class * GRAIN;
    return p;
}

static void *pop(size_t class)
{
    void *p = freed[class];

    if (p)
        freed[class] = *(void **)p;
    return p;
}

static void push(void *p, size_t class)
{
    *(void **)p = freed[class];
    freed[class] = p;
}

/* For several threads, or if no block is free. */
static __attribute__((noinline)) void *take_slowly(size_t bytes, size_t class)
{
    bool locks = !__libc_single_threaded;
    void *p;

    if (locks)
        pthread_mutex_lock(&mutex);
    p = pop(class);
    p = p ? p : fresh_block(class);
    if (locks)
        pthread_mutex_unlock(&mutex);
    return p ? p : __libc_malloc(bytes);
}

static __attribute__((noinline)) void give_slowly(void *p, size_t class)
{
    pthread_mutex_lock(&mutex);
    push(p, class);
    pthread_mutex_unlock(&mutex);
}

static inline void *take(size_t bytes)
{
    size_t class = class_of(bytes);

    return __libc_single_threaded && freed[class] ? pop(class) : take_slowly(bytes, class);
}

static inline void give(void *p, size_t class)
{
    if (__libc_single_threaded)
        push(p, class);
    else
        give_slowly(p, class);
}

static inline void *allocate(size_t bytes)
{
    return bytes <= MOST ? take(bytes) : __libc_malloc(bytes);
}

static inline void release(void *p)
{
    if (is_ours(p))
        give(p, class_at(p));
    else
        __libc_free(p);
}

/* ---- C ---- */

void *malloc(size_t bytes)
{
    return allocate(bytes);
}

void free(void *p)
{
    release(p);
}

void *calloc(size_t n, size_t size)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(n, size, &bytes) || bytes > MOST)
        return __libc_calloc(n, size);
    p = take(bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void *realloc(void *p, size_t bytes)
{
    size_t had;
    void *moved;

    if (!p)
        return allocate(bytes);
    if (!is_ours(p))
        return __libc_realloc(p, bytes);
    had = class_at(p) * GRAIN;
    if (bytes && bytes <= had)
        return p;
    moved = bytes ? allocate(bytes) : NULL;
    if (moved)
        memcpy(moved, p, had);
    if (moved || !bytes)
        release(p);
    return moved;
}

size_t malloc_usable_size(void *p)
{
    static size_t (*next)(void *);

    if (is_ours(p))
        return class_at(p) * GRAIN;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    return next(p);
}

/* ---- C++: operators new and delete ---- */

void *operator_new(size_t bytes) __asm__("_Znwm");
void operator_delete(void *p) __asm__("_ZdlPv");
void operator_delete_sized(void *p, size_t bytes) __asm__("_ZdlPvm");

/* Throws std::bad_alloc, unless there is memory now. */
static void *new_of_library(size_t bytes)
{
    void *(*next)(size_t);

    *(void **)&next = dlsym(RTLD_NEXT, "_Znwm");
    return next(bytes);
}

void *operator_new(size_t bytes)
{
    void *p = allocate(bytes);

    return p ? p : new_of_library(bytes);
}

void operator_delete(void *p)
{
    release(p);
}

void operator_delete_sized(void *p, size_t bytes)
{
    if (is_ours(p))
        give(p, class_of(bytes));
    else
        __libc_free(p);
}
