/*
 * Try a heap that is preloaded: heap [THREADS].  Blocks of all sizes are allocated, grown, shrunk
 * and freed at random, by several threads that pass them on to each other.  Each block keeps what
 * was written into it, is aligned, and lies apart from the others.  Prints how many bytes a block
 * of 100 bytes has.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 512 /* of a thread */
#define TURNS  200000

enum way { PLAIN, ZEROED, ALIGNED, NEW, WAYS };

struct place {
    pthread_mutex_t mutex;
    uint8_t *block; /* each byte has the value `mark` */
    size_t bytes;
    uint8_t mark;
    bool new; /* made by operator new */
};

static struct place *place;
static int nplaces;
static void *(*operator_new)(size_t);
static void (*operator_delete)(void *);
static void (*operator_delete_sized)(void *, size_t);

static void fail(const char *what)
{
    printf("FAILED: %s\n", what);
    exit(1);
}

static void check(const struct place *p)
{
    for (size_t i = 0; i < p->bytes; i++)
        if (p->block[i] != p->mark)
            fail("a block has lost what was written into it");
}

/* Mostly small sizes, and those around the largest small one. */
static size_t some_bytes(uint64_t random)
{
    switch (random % 4) {
    case 0:
        return random / 4 % 40;
    case 1:
        return random / 4 % 300;
    case 2:
        return 1000 + random / 4 % 50;
    default:
        return random / 4 % 3000;
    }
}

static void *zeroed(size_t bytes)
{
    uint8_t *block = calloc(bytes, 1);

    for (size_t i = 0; i < bytes; i++)
        if (block[i])
            fail("calloc() gives bytes that are not 0");
    return block;
}

static void *aligned(size_t bytes, size_t to)
{
    void *block;

    if (posix_memalign(&block, to, bytes) != 0 || (uintptr_t)block % to)
        fail("posix_memalign()");
    return block;
}

static void make(struct place *p, uint64_t random)
{
    enum way way = (enum way)(random / 7 % WAYS);
    size_t bytes = some_bytes(random / 64);

    if (way == NEW && !operator_new)
        way = PLAIN;
    p->block = way == PLAIN     ? malloc(bytes)
               : way == ZEROED  ? zeroed(bytes)
               : way == ALIGNED ? aligned(bytes, 64 << random % 3)
                                : operator_new(bytes);
    p->bytes = bytes;
    p->new = way == NEW;
    p->mark = (uint8_t)random;
    if (!p->block || (uintptr_t)p->block % _Alignof(max_align_t))
        fail("no block, or one that is not aligned");
    memset(p->block, p->mark, bytes);
}

static void drop(struct place *p, uint64_t random)
{
    check(p);
    if (!p->new)
        free(p->block);
    else if (random % 2)
        operator_delete_sized(p->block, p->bytes);
    else
        operator_delete(p->block);
    p->block = NULL;
}

static void resize(struct place *p, uint64_t random)
{
    size_t bytes = 1 + some_bytes(random), kept = bytes < p->bytes ? bytes : p->bytes;

    check(p);
    p->block = realloc(p->block, bytes);
    if (!p->block)
        fail("realloc()");
    p->bytes = kept;
    check(p);
    p->bytes = bytes;
    memset(p->block, p->mark, bytes);
}

static void *run(void *seed)
{
    uint64_t x = (uintptr_t)seed * 2654435761u + 1;

    for (int i = 0; i < TURNS; i++) {
        struct place *p;

        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        p = &place[(x >> 20) % (uint64_t)nplaces];
        pthread_mutex_lock(&p->mutex);
        if (!p->block)
            make(p, x >> 24);
        else if (x >> 62 || p->new)
            drop(p, x >> 24);
        else
            resize(p, x >> 24);
        pthread_mutex_unlock(&p->mutex);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    volatile size_t huge = SIZE_MAX / 2;
    pthread_t thread[16];

    if (threads < 1 || threads > 16)
        return 2;
    *(void **)&operator_new = dlsym(RTLD_DEFAULT, "_Znwm");
    *(void **)&operator_delete = dlsym(RTLD_DEFAULT, "_ZdlPv");
    *(void **)&operator_delete_sized = dlsym(RTLD_DEFAULT, "_ZdlPvm");
    nplaces = PLACES * threads;
    place = calloc((size_t)nplaces, sizeof *place);
    for (int i = 0; i < nplaces; i++)
        pthread_mutex_init(&place[i].mutex, NULL);
    run(NULL); /* while there is one thread */
    for (uintptr_t i = 1; i < (uintptr_t)threads; i++)
        if (pthread_create(&thread[i], NULL, run, (void *)i) != 0)
            fail("pthread_create()");
    run(&thread);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < nplaces; i++)
        if (place[i].block)
            drop(&place[i], 1);
    free(place);
    free(NULL);
    if (realloc(malloc(10), 0))
        fail("realloc() to 0 bytes");
    if (calloc(huge, 4))
        fail("calloc() of more than can be addressed");
    printf("%zu\n", malloc_usable_size(malloc(100)));
    return 0;
}
