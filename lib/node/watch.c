#include "node/watch.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/folder.h"
#include "trace/rankname.h"

ti_status ti_watch_open(int dir, int64_t np, struct ti_watch *w, struct ti_err *err)
{
    memset(w, 0, sizeof *w);
    w->np = np;
    w->dir = dir;
    w->size = malloc((size_t)np * sizeof *w->size);
    w->done = calloc((size_t)np, 1);
    if (!w->size || !w->done) {
        ti_err_errno(err, TI_ERR_IO, "cannot watch the run");
        ti_watch_close(w);
        return TI_ERR_IO;
    }
    for (int64_t i = 0; i < np; i++)
        w->size[i] = -1;
    return TI_OK;
}

void ti_watch_close(struct ti_watch *w)
{
    free(w->size);
    free(w->done);
    w->size = NULL;
    w->done = NULL;
}

/* When the file was made; now, if the file system does not tell. */
static double birth(const struct statx *st)
{
    if (st->stx_mask & STATX_BTIME)
        return ti_wall_of((double)st->stx_btime.tv_sec + st->stx_btime.tv_nsec / 1e9);
    return ti_wall();
}

static bool has_end_mark(int dir, const char *name, int64_t bytes)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool done = fd >= 0 && ti_rank_file_ends(fd, bytes);

    if (fd >= 0)
        close(fd);
    return done;
}

static void look(struct ti_watch *w, const char *name)
{
    int64_t rank = ti_rank_of_name(name);
    struct statx st;

    if (rank < 0 || rank >= w->np || w->done[rank] ||
        statx(w->dir, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_SIZE | STATX_BTIME, &st) < 0 ||
        !S_ISREG(st.stx_mode) || (w->size[rank] == (int64_t)st.stx_size))
        return;
    if (w->size[rank] < 0) {
        double made = birth(&st);

        w->started++;
        w->size[rank] = 0;
        if (made > w->last_start)
            w->last_start = made;
    }
    w->bytes += (int64_t)st.stx_size - w->size[rank];
    w->size[rank] = (int64_t)st.stx_size;
    if (has_end_mark(w->dir, name, w->size[rank])) {
        w->done[rank] = 1;
        w->finished++;
    }
}

void ti_watch_update(struct ti_watch *w)
{
    DIR *dir = ti_names_in(w->dir);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL)
        look(w, entry->d_name);
    closedir(dir);
}
