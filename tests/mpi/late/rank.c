/* Between the library and the C library: rank LATE_RANK of Open MPI comes LATE_S seconds late
 * to what the library does at the end of MPI_Init, before it makes its directory or, with
 * LATE_AT=gethostname, after that. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void be_late(const char *at)
{
    static int done;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *late = getenv("LATE_RANK");
    const char *where = getenv("LATE_AT"), *seconds = getenv("LATE_S");
    int initialized = 0;

    if (done || !rank || !late || !seconds || strcmp(rank, late) != 0 ||
        strcmp(at, where ? where : "mkdir") != 0)
        return;
    PMPI_Initialized(&initialized);
    if (!initialized)
        return;
    done = 1;
    sleep((unsigned)atoi(seconds));
}

int mkdir(const char *path, mode_t mode)
{
    int (*next)(const char *, mode_t);

    *(void **)&next = dlsym(RTLD_NEXT, "mkdir");
    be_late("mkdir");
    return next(path, mode);
}

int gethostname(char *name, size_t bytes)
{
    int (*next)(char *, size_t);

    *(void **)&next = dlsym(RTLD_NEXT, "gethostname");
    be_late("gethostname");
    return next(name, bytes);
}
