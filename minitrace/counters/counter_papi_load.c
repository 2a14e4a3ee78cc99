/* Loading PAPI's library: a copy of our own where that is possible, see counter_papi.c. */
#include "minitrace/counters/counter_papi.h"

#ifdef PAPI_VER_CURRENT

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fds.h"

#define PAPI_FDS 16 /* more than PAPI opens at a time */

struct ti__papi ti__papi;

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
        ti_err_hint(err, "count %s", ti__papi_others());
        return TI_ERR_INPUT;
    }
    *out = copy ? copy : lib;
    return TI_OK;
}

ti_status ti__papi_load(struct ti_err *err)
{
    void *lib;
    ti_status st;
    int rc;

    if (ti__papi.PAPI_library_init)
        return TI_OK;
    st = load_library(&lib, err);
    if (st != TI_OK)
        return st;
#define FIND(name)                                                                                 \
    *(void **)&ti__papi.name = dlsym(lib, #name);                                                  \
    if (!ti__papi.name) {                                                                          \
        memset(&ti__papi, 0, sizeof ti__papi);                                                     \
        ti_err_set(err, TI_ERR_INPUT, "PAPI's library has no '%s'", #name);                        \
        ti_err_hint(err, "install PAPI as of version 5.5");                                        \
        return TI_ERR_INPUT;                                                                       \
    }
    PAPI_CALLS(FIND)
#undef FIND
    *(void **)&ti__papi.pfm_initialize = dlsym(lib, "pfm_initialize");
    if (!ti_fds_room(PAPI_FDS)) { /* libpapi would end the process */
        memset(&ti__papi, 0, sizeof ti__papi);
        return ti_err_set(err, TI_ERR_INPUT,
                          "PAPI needs descriptors, and fewer than %d more may be opened", PAPI_FDS);
    }
    rc = ti__papi.PAPI_library_init(PAPI_VER_CURRENT);
    if (rc != PAPI_VER_CURRENT) {
        ti_err_set(err, TI_ERR_INPUT, "cannot start PAPI: %s",
                   rc > 0 ? "its version is not the one we were built with"
                          : ti__papi.PAPI_strerror(rc));
        ti_err_hint(err, "we were built with PAPI %d.%d: put that on LD_LIBRARY_PATH",
                    PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
        memset(&ti__papi, 0, sizeof ti__papi);
        return TI_ERR_INPUT;
    }
    ti__papi.PAPI_thread_init(pthread_self);
    return TI_OK;
}

#endif
