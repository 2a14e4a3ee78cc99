#include "node/load.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/map.h"
#include "common/order.h"
#include "node/launch.h"

/* A process may join the run later: our own child, between fork and exec.  So its environment is
 * read again after this many updates. */
#define ASK_AGAIN 8

static ssize_t read_file(pid_t pid, const char *name, char *buf, size_t bytes)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = read(fd, buf, bytes - 1);
    close(fd);
    buf[n > 0 ? n : 0] = '\0';
    return n;
}

/* Read state and start time: fields 3 and 22.  The name before them may contain anything. */
static bool read_stat(pid_t pid, char *state, uint64_t *born)
{
    char buf[1024];
    const char *p;

    if (read_file(pid, "stat", buf, sizeof buf) <= 0 || !(p = strrchr(buf, ')')) ||
        sscanf(p + 1, " %c", state) != 1)
        return false;
    for (int field = 2; field < 22; field++) {
        p = strchr(p + 1, ' ');
        if (!p)
            return false;
    }
    return sscanf(p, " %" SCNu64, born) == 1;
}

static int64_t own_bytes(pid_t pid)
{
    char buf[128];
    int64_t size, resident, shared;

    if (read_file(pid, "statm", buf, sizeof buf) <= 0 ||
        sscanf(buf, "%" SCNd64 " %" SCNd64 " %" SCNd64, &size, &resident, &shared) != 3)
        return 0;
    return (resident - shared) * sysconf(_SC_PAGESIZE);
}

static struct ti_load_process *entry_of(struct ti_load *l, pid_t pid)
{
    int at;

    TI_FIRST(at, 0, l->n, l->process[at].pid < pid);
    if (at < l->n && l->process[at].pid == pid)
        return &l->process[at];
    l->process = ti_grow(l->process, &l->room, (size_t)l->n + 1, sizeof *l->process);
    memmove(&l->process[at + 1], &l->process[at], (size_t)(l->n - at) * sizeof *l->process);
    l->n++;
    l->process[at] = (struct ti_load_process){.pid = pid};
    return &l->process[at];
}

static void look(struct ti_load *l, pid_t pid, char *buf)
{
    struct ti_load_process *p;
    uint64_t born;
    char state;

    if (!read_stat(pid, &state, &born) || state == 'Z' || state == 'X')
        return;
    p = entry_of(l, pid);
    p->seen = true;
    if (p->born != born || (!p->ours && ++p->looks >= ASK_AGAIN)) {
        p->born = born;
        p->looks = 0;
        p->ours = ti_launch_is_of(pid, l->run_id, buf);
    }
    if (!p->ours)
        return;
    l->alive++;
    l->rss_bytes += own_bytes(pid);
}

void ti_load_update(struct ti_load *l)
{
    char *buf = malloc(TI_ENVIRON_MAX);
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int kept = 0;

    l->alive = 0;
    l->rss_bytes = 0;
    while (buf && dir && (entry = readdir(dir)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (pid > 0 && !*end)
            look(l, (pid_t)pid, buf);
    }
    if (dir)
        closedir(dir);
    free(buf);
    for (int i = 0; i < l->n; i++)
        if (l->process[i].seen) {
            l->process[i].seen = false;
            l->process[kept++] = l->process[i];
        }
    l->n = kept;
}

void ti_load_free(struct ti_load *l)
{
    free(l->process);
    l->process = NULL;
    l->n = 0;
    l->room = 0;
}
