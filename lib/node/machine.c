#include "node/machine.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/isalevel.h"
#include "trace/rankname.h"

/* Read one number from a file; false if there is no file or no number ("max"). */
static bool read_number(const char *path, int64_t *out)
{
    FILE *f = fopen(path, "re");
    bool ok = f && fscanf(f, "%" SCNd64, out) == 1;

    if (f)
        fclose(f);
    return ok;
}

/* The value of `key` in a file of "key value" lines. */
static bool read_key(const char *path, const char *key, int64_t *out)
{
    FILE *f = fopen(path, "re");
    char line[256];
    size_t len = strlen(key);
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f))
        found = strncmp(line, key, len) == 0 && sscanf(line + len, "%" SCNd64, out) == 1;
    if (f)
        fclose(f);
    return found;
}

/* --- control groups ------------------------------------------------------ */

/* The differences between the two versions of control groups. */
struct group_files {
    const char *limit, *used, *stat, *cache;
};
static const struct group_files memory_v2 = {"memory.max", "memory.current", "memory.stat",
                                             "inactive_file "};
static const struct group_files memory_v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                             "memory.stat", "total_inactive_file "};

/* Lower *room to the free memory of the group in `dir`: its limit minus the memory used.  File
 * cache that the kernel would drop counts as free. */
static void group_memory(const char *dir, const struct group_files *g, int64_t *room)
{
    char path[PATH_MAX + 64];
    int64_t limit, used, cache = 0;

    snprintf(path, sizeof path, "%s/%s", dir, g->limit);
    if (!read_number(path, &limit) || limit > INT64_MAX / 2)
        return;
    snprintf(path, sizeof path, "%s/%s", dir, g->used);
    if (!read_number(path, &used))
        return;
    snprintf(path, sizeof path, "%s/%s", dir, g->stat);
    if (!read_key(path, g->cache, &cache) || cache > used)
        cache = 0;
    limit -= used - cache;
    if (limit < 0)
        limit = 0;
    if (limit < *room)
        *room = limit;
}

static void group_processes(const char *dir, int64_t *room)
{
    char path[PATH_MAX + 64];
    int64_t limit, used;

    snprintf(path, sizeof path, "%s/pids.max", dir);
    if (!read_number(path, &limit))
        return;
    snprintf(path, sizeof path, "%s/pids.current", dir);
    if (read_number(path, &used) && limit - used < *room)
        *room = limit > used ? limit - used : 0;
}

enum group_kind { GROUP_V2, GROUP_MEMORY, GROUP_PIDS };

/* Apply the limits of our group and of all groups above it.  In a container, the path may not exist
 * as seen from inside; then the root is our group. */
static void climb(const char *base, const char *group, enum group_kind kind, int64_t *memory,
                  int64_t *processes)
{
    char dir[PATH_MAX];
    size_t stop = strlen(base);

    snprintf(dir, sizeof dir, "%s%s", base, group);
    for (;;) {
        char *slash;

        if (kind == GROUP_V2)
            group_memory(dir, &memory_v2, memory);
        if (kind == GROUP_MEMORY)
            group_memory(dir, &memory_v1, memory);
        if (kind != GROUP_MEMORY)
            group_processes(dir, processes);
        slash = strrchr(dir, '/');
        if (strlen(dir) <= stop || !slash)
            return;
        *slash = '\0';
    }
}

static void read_groups(const char *root, int64_t *memory, int64_t *processes)
{
    char path[PATH_MAX], line[PATH_MAX + 64], base[PATH_MAX];
    FILE *f;

    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!group)
            continue;
        line[strcspn(line, "\n")] = '\0';
        *controllers++ = '\0';
        *group++ = '\0';
        if (!*controllers) {
            snprintf(base, sizeof base, "%s/sys/fs/cgroup", root);
            climb(base, group, GROUP_V2, memory, processes);
        } else if (strcmp(controllers, "memory") == 0) {
            snprintf(base, sizeof base, "%s/sys/fs/cgroup/memory", root);
            climb(base, group, GROUP_MEMORY, memory, processes);
        } else if (strcmp(controllers, "pids") == 0) {
            snprintf(base, sizeof base, "%s/sys/fs/cgroup/pids", root);
            climb(base, group, GROUP_PIDS, memory, processes);
        }
    }
    if (f)
        fclose(f);
}

/* --- the machine --------------------------------------------------------- */

/* Processes that we may still start under RLIMIT_NPROC, which counts all threads of the user.  Root
 * is exempt. */
static int64_t processes_left(void)
{
    struct rlimit limit;

    if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return INT64_MAX;
    return (int64_t)limit.rlim_cur;
}

ti_status ti_machine_read(const char *root, struct ti_machine *m, struct ti_err *err)
{
    char path[PATH_MAX];
    int64_t kib, group = INT64_MAX;
    cpu_set_t set;

    memset(m, 0, sizeof *m);
    if (gethostname(m->host, sizeof m->host - 1) < 0)
        strcpy(m->host, "?");
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot tell which cores we may run on");
    m->cores = CPU_COUNT(&set);
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (!read_key(path, "MemAvailable:", &kib))
        return ti_err_set(err, TI_ERR_IO,
                          "cannot tell how much memory is free: no MemAvailable in '%s'", path);
    m->memory_bytes = kib * 1024;
    if (read_key(path, "MemTotal:", &kib))
        m->total_bytes = kib * 1024;
    if (read_key(path, "SwapTotal:", &kib))
        m->swap_bytes = kib * 1024;
    m->limited_by = "free memory";
    m->processes = processes_left();
    read_groups(root, &group, &m->processes);
    if (group < m->memory_bytes) {
        m->memory_bytes = group;
        m->limited_by = "the memory limit of our control group";
    }
    return TI_OK;
}

int64_t ti_machine_swapped_out(void)
{
    int64_t pages;

    return read_key("/proc/vmstat", "pswpout ", &pages) ? pages * sysconf(_SC_PAGESIZE) : 0;
}

void ti_machine_cpu(char *buf, size_t bytes)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[512];

    buf[0] = '\0';
    while (f && !buf[0] && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');

        if (!value || strncmp(line, "model name", 10) != 0)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(buf, bytes, "%s", value);
    }
    if (f)
        fclose(f);
}

const char *ti_machine_isa(void)
{
    return ti_isa_level();
}

int64_t ti_machine_room(void)
{
    int64_t free_kib, swap_kib = 0, group = INT64_MAX, processes = INT64_MAX;

    if (!read_key("/proc/meminfo", "MemAvailable:", &free_kib))
        return INT64_MAX;
    read_key("/proc/meminfo", "SwapFree:", &swap_kib);
    read_groups("", &group, &processes);
    return (free_kib + swap_kib) * 1024 < group ? (free_kib + swap_kib) * 1024 : group;
}

/* Write "0-3, 8" into buf. */
static char *cores_text(const cpu_set_t *set, char *buf, size_t buf_bytes)
{
    int64_t core[CPU_SETSIZE], n = 0;

    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, set))
            core[n++] = i;
    return ti_ranks_text(core, n, buf, buf_bytes);
}

ti_status ti_machine_pin(const char *list, cpu_set_t *set, int *cores, struct ti_err *err)
{
    const char *p = list;
    char may[256];
    cpu_set_t ours;

    if (sched_getaffinity(0, sizeof ours, &ours) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot tell which cores we may run on");
    CPU_ZERO(set);
    for (;;) {
        char *end;
        long from, to;

        if (!isdigit((unsigned char)*p))
            goto bad;
        errno = 0;
        from = to = strtol(p, &end, 10);
        if (*end == '-') {
            p = end + 1;
            if (!isdigit((unsigned char)*p))
                goto bad;
            to = strtol(p, &end, 10);
        }
        if (errno || to < from || to >= CPU_SETSIZE)
            goto bad;
        for (long core = from; core <= to; core++) {
            if (!CPU_ISSET((size_t)core, &ours))
                return ti_err_set(err, TI_ERR_USAGE,
                                  "--pin names core %ld, which we may not run on, only on %s", core,
                                  cores_text(&ours, may, sizeof may));
            CPU_SET((size_t)core, set);
        }
        if (!*end)
            break;
        if (*end != ',')
            goto bad;
        p = end + 1;
    }
    *cores = CPU_COUNT(set);
    return TI_OK;
bad:
    return ti_err_set(err, TI_ERR_USAGE, "--pin must be a list of cores such as 0-3,8, not '%s'",
                      list);
}

int64_t ti_disk_free(const char *path)
{
    struct statvfs fs;

    if (statvfs(path, &fs) < 0)
        return -1;
    return (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
}

bool ti_disk_is_remote(const char *path)
{
    /* magic numbers as in statfs(2): NFS, SMB, CIFS, SMB2, AFS, Ceph, FUSE, Lustre, GPFS, BeeGFS */
    static const unsigned long remote[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                           0x5346414f, 0x00c36400, 0x65735546, 0x0bd00bd0,
                                           0x47504653, 0x19830326};
    struct statfs fs;

    if (statfs(path, &fs) < 0)
        return false;
    for (unsigned i = 0; i < sizeof remote / sizeof *remote; i++)
        if (((unsigned long)fs.f_type & 0xffffffffUL) == remote[i])
            return true;
    return false;
}
