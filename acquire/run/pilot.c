#include "acquire/run/pilot.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/order.h"

#define START_S     (TI_PILOT_SECONDS / 2) /* until the ranks appear */
#define RUN_S       (TI_PILOT_SECONDS / 2) /* from then on */
#define GROWN_BYTES (INT64_C(1) << 20)

/* A pilot ends earlier if memory did not grow while the ranks computed for QUIET_CPU_S on
 * average, or for QUIET_WALL_S.  CPU time counts because ranks on a loaded machine may get little
 * of it. */
#define QUIET_CPU_S  0.5
#define QUIET_WALL_S 5.0
#define SAMPLE_MS    50

/* The largest file and shared memory seen of a process, which do not count as its own. */
struct process {
    pid_t pid;
    int64_t file, shmem;
};

struct sample {
    int64_t now[TI_PILOT_NP_MAX];
    double cpu_s; /* sum over all ranks */
    int64_t np;
    int seen;
    struct process process[16 * TI_PILOT_NP_MAX]; /* seen so far; further ones are ignored */
    int processes;
};

/* Read the values of `keys` from a /proc file, converted from kB to bytes; false if there was
 * none.  All values are of one moment, because the kernel makes the text at the first read. */
static bool read_keys(pid_t pid, const char *file, const char *const keys[], int n, int64_t bytes[])
{
    char path[64], line[256];
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    f = fopen(path, "re");
    for (int i = 0; i < n; i++)
        bytes[i] = 0;
    while (f && fgets(line, sizeof line, f)) {
        for (int i = 0; i < n; i++) {
            size_t len = strlen(keys[i]);
            int64_t kib;

            if (strncmp(line, keys[i], len) == 0 && sscanf(line + len, "%" SCNd64, &kib) == 1) {
                bytes[i] = kib * 1024;
                found = true;
            }
        }
    }
    if (f)
        fclose(f);
    return found;
}

static int64_t at_least_0(int64_t x)
{
    return x > 0 ? x : 0;
}

/* A lower bound of how far the anonymous memory of a process is below its peak.  The kernel's
 * peak includes libraries and shared memory, so what of them is no longer mapped (after
 * MPI_Finalize) is subtracted. */
static int64_t below_peak(pid_t pid, struct process *most)
{
    enum { PEAK, RSS, FILE_PAGES, SHMEM, N };
    static const char *const keys[N] = {"VmHWM:", "VmRSS:", "RssFile:", "RssShmem:"};
    int64_t is[N];

    if (!read_keys(pid, "status", keys, N, is))
        return 0;
    if (is[FILE_PAGES] > most->file)
        most->file = is[FILE_PAGES];
    if (is[SHMEM] > most->shmem)
        most->shmem = is[SHMEM];
    return at_least_0(is[PEAK] - is[RSS] - (most->file - is[FILE_PAGES]) -
                      (most->shmem - is[SHMEM]));
}

/* Private memory plus the distance to the peak.  The files are read one after the other, so
 * memory that is freed or touched in between could count twice.  Therefore the smaller of the
 * distances before and after is used.  `most`: NULL if the peak is unknown. */
static int64_t private_bytes(pid_t pid, struct process *most)
{
    enum { ANON, SHMEM, N };
    static const char *const share[N] = {"Pss_Anon:", "Pss_Shmem:"};
    static const char *const whole[N] = {"RssAnon:", "RssShmem:"};
    int64_t is[N], before = most ? below_peak(pid, most) : 0, after;

    if (!read_keys(pid, "smaps_rollup", share, N, is) && !read_keys(pid, "status", whole, N, is))
        return 0;
    after = most ? below_peak(pid, most) : 0;
    return is[ANON] + is[SHMEM] + (before < after ? before : after);
}

/* NULL when the table is full. */
static struct process *process_of(struct sample *sample, pid_t pid)
{
    for (int i = 0; i < sample->processes; i++)
        if (sample->process[i].pid == pid)
            return &sample->process[i];
    if (sample->processes == (int)(sizeof sample->process / sizeof *sample->process))
        return NULL;
    sample->process[sample->processes] = (struct process){.pid = pid};
    return &sample->process[sample->processes++];
}

static double cpu_seconds(pid_t pid)
{
    unsigned long long user, kernel;
    char path[64], line[1024] = "";
    const char *p;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f && !fgets(line, sizeof line, f))
        line[0] = '\0';
    if (f)
        fclose(f);
    p = strrchr(line, ')'); /* the name before it may contain anything */
    if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
                     &kernel) != 2)
        return 0;
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

/* The rank that a process belongs to, from its environment, which child processes inherit; -1:
 * none. */
static int64_t rank_of(pid_t pid)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=",
                                        "PMI_RANK="}; /* MPICH: the latter */
    char path[64], *line = NULL;
    size_t room = 0;
    int64_t rank = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    f = fopen(path, "re");
    while (f && rank < 0 && getdelim(&line, &room, '\0', f) > 0)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(line, names[i], strlen(names[i])) == 0)
                rank = strtoll(line + strlen(names[i]), NULL, 10);
    if (f)
        fclose(f);
    free(line);
    return rank;
}

static void sample_process(pid_t pid, void *arg)
{
    struct sample *sample = arg;
    int64_t rank = rank_of(pid);

    if (rank < 0 || rank >= sample->np)
        return;
    if (!sample->now[rank])
        sample->seen++;
    sample->now[rank] += private_bytes(pid, process_of(sample, pid));
    sample->cpu_s += cpu_seconds(pid);
}

TI_ORDER_NUMBERS(by_value, int64_t)

ti_status ti_pilot_list(const char *list, int64_t *np, int *n, struct ti_err *err)
{
    char text[16];

    *n = 0;
    for (const char *at = list;; at++) {
        size_t len = strcspn(at, ",");
        ti_status st;

        if (*n == TI_MEMORY_POINTS_MAX)
            return ti_err_set(err, TI_ERR_USAGE, "--pilot takes at most %d numbers",
                              TI_MEMORY_POINTS_MAX);
        snprintf(text, sizeof text, "%.*s", len < sizeof text ? (int)len : (int)sizeof text, at);
        st = ti_parse_int(text, "--pilot", 1, TI_PILOT_NP_MAX, &np[*n], err);
        if (st != TI_OK)
            return st;
        ++*n;
        at += len;
        if (!*at)
            break;
    }
    qsort(np, (size_t)*n, sizeof *np, by_value);
    for (int i = 1; i < *n; i++)
        if (np[i] == np[i - 1])
            return ti_err_set(err, TI_ERR_USAGE, "--pilot has %" PRId64 " twice", np[i]);
    return TI_OK;
}

/* --- messages ------------------------------------------------------------- */

#define ERRORS_BYTES (1 << 20)

/* A memory file of fixed size: writing beyond its end fails without harm.  0: none. */
static int room_for_errors(void)
{
    int fd = memfd_create("tiara-pilot", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return 0;
    if (ftruncate(fd, ERRORS_BYTES) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0)
        return fd;
    close(fd);
    return 0;
}

static void close_errors(int fd)
{
    if (fd > 0)
        close(fd);
}

static void read_errors(int fd, char said[TI_PILOT_SAID])
{
    off_t end = fd > 0 ? lseek(fd, 0, SEEK_CUR) : 0, from = 0;
    ssize_t n = 0;

    if (end > TI_PILOT_SAID - 1)
        from = end - (TI_PILOT_SAID - 1);
    if (end > from)
        n = pread(fd, said, (size_t)(end - from), from);
    said[n > 0 ? n : 0] = '\0';
    ti_strip_controls(said);
}

int64_t ti_pilot_failed_rank(const char *said)
{
    /* messages of MPI_Abort, of a signal, and of an exit status in Open MPI 4 and 5 */
    static const struct {
        const char *before, *rank;
    } says[] = {{"MPI_ABORT was invoked on rank ", ""},
                {"noticed that process rank ", ""},
                {"Process name: [[", "],"},
                {"Process name: [prterun", ","}};

    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        const char *p = strstr(said, says[i].before);

        p = p ? strstr(p + strlen(says[i].before), says[i].rank) : NULL;
        if (p && isdigit((unsigned char)p[strlen(says[i].rank)]))
            return strtoll(p + strlen(says[i].rank), NULL, 10);
    }
    return -1;
}

ti_status ti_pilot_run(const struct ti_mpirun *m, const struct ti_mpirun_job *job,
                       const struct ti_plan *plan, const char *run_id, const char *stdin_path,
                       const cpu_set_t *pin, bool overlay, struct ti_pilot *out, struct ti_err *err)
{
    double start = ti_now(), all_there = 0;
    double grown = start,
           grown_cpu_s = 0; /* time and CPU seconds of the latest noticeable growth */
    int64_t then = 0;       /* memory at that time */
    bool quiet = false;
    struct ti_args command = {.n = 0};
    struct ti_launch launch = {
        .run_id = run_id, .stdin_path = stdin_path, .mute = true, .pin = pin, .overlay = overlay};
    struct sample sample = {.np = job->np};
    struct ti_proc proc;
    ti_status st;
    int said;

    memset(out, 0, sizeof *out);
    st = ti_mpirun_command(m, plan, job, &command, err);
    launch.argv = command.v;
    launch.errors = said = room_for_errors();
    if (st == TI_OK)
        st = ti_launch_start(&launch, &proc, err);
    ti_args_free(&command);
    if (st != TI_OK) {
        close_errors(said);
        return st;
    }
    for (;;) {
        char note[64];
        double now;

        out->signal = ti_launch_sleep(SAMPLE_MS);
        if (out->signal || !ti_launch_running(&proc))
            break;
        memset(sample.now, 0, sizeof sample.now);
        sample.cpu_s = 0;
        sample.seen = 0;
        ti_launch_each(run_id, sample_process, &sample);
        now = ti_now();
        for (int64_t i = 0; i < job->np; i++)
            if (sample.now[i] > out->rank_bytes)
                out->rank_bytes = sample.now[i];
        if (out->rank_bytes > then + then / 50 + GROWN_BYTES) {
            then = out->rank_bytes;
            grown = now;
            grown_cpu_s = sample.cpu_s;
        }
        quiet = sample.cpu_s - grown_cpu_s > QUIET_CPU_S * (double)job->np ||
                now - grown > QUIET_WALL_S;
        if (!all_there && sample.seen == job->np)
            all_there = now;
        if (all_there ? quiet || now - all_there > RUN_S : now - start > START_S)
            break;
        snprintf(note, sizeof note, "the memory of %" PRId64 " rank%s", job->np,
                 job->np == 1 ? "" : "s");
        ti_progress_show(&(struct ti_progress){.step = "probing", .note = note});
    }
    ti_progress_end(!out->signal);
    out->growing = proc.running && !quiet;
    out->ended = !out->signal && !proc.running;
    out->wait_status = proc.wait_status;
    out->left = ti_launch_end(&proc, 2, NULL, NULL);
    out->seconds = ti_now() - start;
    read_errors(said, out->said);
    close_errors(said);
    return TI_OK;
}
