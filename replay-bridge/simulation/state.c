#include "replay-bridge/simulation/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct ti_replay_state {
    struct ti_replay_progress *rank;
    size_t bytes;
};

ti_status ti_replay_state_make(const char *path, int64_t np, struct ti_err *err)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    int rc;

    if (fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    /* Allocate now: writing to a mapping when the disk is full would end the program. */
    rc = posix_fallocate(fd, 0, (off_t)((size_t)np * sizeof(struct ti_replay_progress)));
    close(fd);
    if (rc == 0)
        return TI_OK;
    errno = rc;
    return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
}

ti_status ti_replay_state_open(const char *path, int64_t np, struct ti_replay_state **out,
                               struct ti_err *err)
{
    size_t bytes = (size_t)np * sizeof(struct ti_replay_progress);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    void *map;

    if (fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
    if (fstat(fd, &status) != 0 || (size_t)status.st_size != bytes) {
        close(fd);
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is not the state of %lld ranks", path,
                          (long long)np);
    }
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    *out = map == MAP_FAILED ? NULL : malloc(sizeof **out);
    if (!*out) {
        if (map != MAP_FAILED)
            munmap(map, bytes);
        return ti_err_errno(err, TI_ERR_IO, "cannot map '%s'", path);
    }
    **out = (struct ti_replay_state){map, bytes};
    return TI_OK;
}

void ti_replay_state_close(struct ti_replay_state *state)
{
    if (state)
        munmap(state->rank, state->bytes);
    free(state);
}

struct ti_replay_progress *ti_replay_progress(struct ti_replay_state *state, int64_t rank)
{
    return state ? &state->rank[rank] : NULL;
}
