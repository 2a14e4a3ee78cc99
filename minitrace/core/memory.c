#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "minitrace/core/state.h"

/* Larger pieces are mapped from files, so that memory remains for later ones. */
#define LARGE (32 * 1024)

/* Pieces up to this size share pages. */
#define SMALL 1024

/* The rest of the page from which small pieces are cut. */
static char *rest;
static size_t rest_bytes;

/* Addresses mapped from files; NULL: free.  When full, memory is used. */
#define SPILLS 64
static TI_SPARSE const void *spill[SPILLS];
static const char *folder; /* the trace directory, for the files */
static int64_t allowed = TI_MEMORY_BYTES;

static size_t pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

void ti_mapped(int64_t bytes)
{
    ti_state.mapped += bytes;
    if (ti_state.mapped > ti_state.memory_bytes)
        ti_state.memory_bytes = ti_state.mapped;
}

static void spilled(int64_t bytes)
{
    ti_state.spilled += bytes;
    if (ti_state.spilled > ti_state.spilled_bytes)
        ti_state.spilled_bytes = ti_state.spilled;
}

/* ---------------------------------------------------------------- files -- */

void ti_map_begin(const char *dir, int64_t beyond)
{
    allowed += beyond;
    folder = dir;
}

/* Open an unnamed file.  -1 on failure. */
static int nameless(void)
{
    char path[PATH_MAX];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    /* some file systems do not have O_TMPFILE */
    if (snprintf(path, sizeof path, "%s/.tiara-%d-%d", folder, ti_state.rank, (int)getpid()) >=
        (int)sizeof path)
        return -1;
    fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* Allocate all blocks of the file now.  Otherwise a disk that fills up later would end the
 * application by SIGBUS, and a file above the size limit by SIGXFSZ. */
static bool allocate_blocks(int fd, size_t bytes)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
        bytes > most.rlim_cur)
        return false;
    return posix_fallocate(fd, 0, (off_t)bytes) == 0;
}

/* Index of the entry for `p`, or of a free one if `p` is NULL; SPILLS if there is none. */
static int spill_of(const void *p)
{
    int i = 0;

    while (i < SPILLS && spill[i] != p)
        i++;
    return i;
}

static void *map_file(size_t bytes)
{
    int entry = spill_of(NULL), fd = entry < SPILLS && folder ? nameless() : -1;
    void *p = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (allocate_blocks(fd, bytes))
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd); /* the mapping keeps the file */
    if (p == MAP_FAILED)
        return NULL;
    spill[entry] = p;
    spilled((int64_t)bytes);
    return p;
}

/* --------------------------------------------------------------- memory -- */

static bool fits(size_t bytes)
{
    return bytes <= LARGE && ti_state.mapped + (int64_t)bytes <= allowed;
}

static void *map_pages(size_t bytes)
{
    int saved = errno;
    void *p = NULL;

    bytes = pages(bytes);
    if (!fits(bytes))
        p = map_file(bytes);
    if (!p) {
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            p = NULL;
        else
            ti_mapped((int64_t)bytes);
    }
    errno = saved;
    return p;
}

static void unmap_pages(void *p, size_t bytes)
{
    int entry = spill_of(p);

    bytes = pages(bytes);
    if (munmap(p, bytes) != 0)
        return;
    if (entry == SPILLS) {
        ti_mapped(-(int64_t)bytes);
    } else {
        spill[entry] = NULL;
        spilled(-(int64_t)bytes);
    }
}

static size_t aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static void *cut_off(size_t bytes)
{
    char *p;

    if (!rest || rest_bytes < bytes) {
        p = map_pages(1);
        if (!p)
            return NULL;
        rest = p;
        rest_bytes = pages(1);
    }
    p = rest;
    rest += bytes;
    rest_bytes -= bytes;
    return p;
}

/* The memory of a piece is used again if it was the last that was cut off. */
static void put_back(char *p, size_t bytes)
{
    if (p + bytes != rest)
        return;
    memset(p, 0, bytes);
    rest = p;
    rest_bytes += bytes;
}

void *ti_map(size_t bytes)
{
    return bytes <= SMALL ? cut_off(aligned(bytes)) : map_pages(bytes);
}

void ti_unmap(void *p, size_t bytes)
{
    if (p && bytes <= SMALL)
        put_back(p, aligned(bytes));
    else if (p)
        unmap_pages(p, bytes);
}

bool ti__grow(void **p, size_t *room, size_t bytes)
{
    size_t want = *room ? *room : 256;
    void *grown;

    while (want < bytes)
        want *= 2;
    if (want > SMALL)
        want = pages(want);
    grown = ti_map(want);
    if (!grown)
        return false;
    if (*p) {
        memcpy(grown, *p, *room);
        ti_unmap(*p, *room);
    }
    *p = grown;
    *room = want;
    return true;
}
