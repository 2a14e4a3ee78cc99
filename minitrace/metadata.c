/* The metadata of a trace: its process, program and machine. */
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/isalevel.h"
#include "minitrace/begin.h"

#ifndef TI_VERSION
#define TI_VERSION "0.1.0"
#endif

/* Read the start of a file, as a string.  Returns its length. */
static size_t read_start(const char *path, char *buf, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    if (fd >= 0) {
        n = read(fd, buf, bytes - 1);
        close(fd);
    }
    buf[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Whether the argument matches a pattern of TIARA_REDACT. */
static bool is_redacted(const char *argument)
{
    const char *line = getenv("TIARA_REDACT");
    char pattern[512];

    while (line && *line) {
        size_t n = strcspn(line, "\n");

        if (n < sizeof pattern) {
            memcpy(pattern, line, n);
            pattern[n] = '\0';
        }
        if (n >= sizeof pattern || fnmatch(pattern, argument, 0) == 0)
            return true;
        line += n + (line[n] == '\n');
    }
    return false;
}

/* The command line, with blanks between arguments.  Arguments that do not fit are left out. */
static void command_line(char *out, size_t bytes)
{
    char buf[4096];
    size_t n = read_start("/proc/self/cmdline", buf, sizeof buf), used = 0;

    out[0] = '\0';
    for (const char *p = buf; p + strlen(p) < buf + n && used < bytes; p += strlen(p) + 1)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", p > buf ? " " : "",
                                 is_redacted(p) ? "[redacted]" : p);
}

/* The value of the first line `key: value` of a file. */
static void from_file(const char *path, const char *key, char *out, size_t bytes)
{
    char buf[4096], *p;

    out[0] = '\0';
    if (!read_start(path, buf, sizeof buf))
        return;
    p = strstr(buf, key);
    p = p ? strchr(p, ':') : NULL;
    if (!p)
        return;
    p += 1 + strspn(p + 1, " \t");
    p[strcspn(p, "\n")] = '\0';
    snprintf(out, bytes, "%s", p);
}

/* The dispatcher reads the same variable, and leaves out the other shims. */
static bool is_whole(void)
{
    const char *mode = getenv("TIARA_MODE");

    return mode && strcmp(mode, "whole") == 0;
}

void ti_begin_text(char out[80])
{
    char id[64];

    out[0] = '\0';
    if ((!is_whole() && !ti_extra_has_times()) ||
        !read_start("/proc/sys/kernel/random/boot_id", id, sizeof id))
        return;
    id[strcspn(id, "\n")] = '\0';
    snprintf(out, 80, "%lld %s", (long long)(ti_state.init_end * 1e6), id);
}

void ti_write_metadata(void)
{
    char rank[16], host[256] = "", command[1024], cpu[128], mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    const struct ti_cost *cost = &ti_state.cost;
    char calibration[128], program[512], ranks_per_node[32] = "";
    const char *tunables = getenv("GLIBC_TUNABLES"), *base;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    int len;

    program[n < 0 ? 0 : n] = '\0';
    base = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
    snprintf(rank, sizeof rank, "%d", ti_state.rank);
    gethostname(host, sizeof host - 1);
    command_line(command, sizeof command);
    from_file("/proc/cpuinfo", "model name", cpu, sizeof cpu);
    PMPI_Get_library_version(mpi, &len);
    mpi[strcspn(mpi, ",\n")] = '\0';
    for (char *p = mpi; (p = strchr(p, '\t'));)
        *p = ' ';
    if (ti_state.ranks_per_node)
        snprintf(ranks_per_node, sizeof ranks_per_node, "%lld", (long long)ti_state.ranks_per_node);
    /* ways to leave without an error code exist in pass-through calls only */
    snprintf(
        calibration, sizeof calibration,
        "%llu spread %llu samples %d noted %llu double %llu address %llu",
        (unsigned long long)cost->least[TI_LEAVE_CALL], (unsigned long long)cost->spread,
        TI_CALIBRATION_SAMPLES,
        (unsigned long long)cost->least[ti_state.shared ? TI_LEAVE_PASS_THROUGH : TI_LEAVE_CALL],
        (unsigned long long)cost->least[TI_LEAVE_DOUBLE],
        (unsigned long long)cost->least[TI_LEAVE_AINT]);
    ti_writer_info(ti_state.writer,
                   (const char *const[]){"rank",
                                         rank,
                                         "host",
                                         host,
                                         "application",
                                         base,
                                         "command",
                                         command,
                                         "counter",
                                         ti_state.counter.backend->name,
                                         "event",
                                         ti_state.counter.event,
                                         "unit",
                                         ti_state.counter.unit,
                                         "exact",
                                         ti_state.counter.exact ? "yes" : "no",
                                         "estimate",
                                         ti_state.counter.backend->estimate ? "yes" : "no",
                                         "read",
                                         ti_state.counter.read_method,
                                         "threads",
                                         ti_state.counter.sum ? "sum" : "caller",
                                         "mode",
                                         is_whole() ? "whole" : "full",
                                         "calibration",
                                         calibration,
                                         "cpu",
                                         cpu,
                                         "isa",
                                         ti_isa_level(),
                                         "tunables",
                                         tunables ? tunables : "",
                                         "mpi",
                                         mpi,
                                         "library",
                                         TI_VERSION,
                                         "ranks_per_node",
                                         ranks_per_node,
                                         "extra",
                                         ti_extra_names(),
                                         "extra_calibration",
                                         ti_extra_calibration()},
                   ti_state.extras ? 21 : 19);
}
