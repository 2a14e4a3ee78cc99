/*
 * The recording of one process, from MPI_Init to its end.
 *
 * Environment (man tiara-minitrace; [default]):
 *   TIARA_TRACE_DIR  folder of the rank files [tiara.run in the current directory]
 *   TIARA_COUNTER    auto, papi[:EVENT], valgrind, blocks, cputime [auto]
 *   TIARA_THREADS    caller, sum: whose work a burst is [caller]
 *   TIARA_TIMES      1: record durations of bursts and calls [0]
 *   TIARA_ALSO       PAPI events to count beside the volume [none]
 *   TIARA_MODE       full; whole: trace Init, Finalize and Abort only [full]
 *   TIARA_BUFFER     bytes of trace in memory before they are written, 4K to 16M [24K]
 *   TIARA_RUN_ID     32 hexadecimal digits that the files of one run share
 *                    [random, from rank 0]
 *   TIARA_RANKS_PER_NODE  ranks per node of the target machine [as it is here]
 *   TIARA_REDACT     patterns, one per line, of arguments that are not recorded [none]
 *   TIARA_SAMPLE     0: do not sample code that the counter `blocks` does not see [1]
 *   TIARA_LINGER     seconds, up to 60, that a rank stays at the end of MPI_Finalize [0]
 *   TIARA_QUIET      set: rank 0 prints nothing at the end of a good run
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/isalevel.h"
#include "minitrace/state.h"

#ifndef TI_VERSION
#define TI_VERSION "0.1.0"
#endif

#define DEFAULT_DIR "tiara.run"
#define PATH_BYTES  4096
#define LINGER_MOST 60

static char reason[512]; /* why recording stopped */
static int64_t buffer_bytes = TI_BUFFER_DEFAULT;

double ti_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether this rank prints messages: rank 0, or rank 1 if rank 0 is not traced.  Also the first
 * rank of each node, because a failure may concern one node only, if the launcher says which rank
 * that is. */
static bool speaks(void)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

    if (!local)
        local = getenv("MPI_LOCALRANKID"); /* MPICH's Hydra */
    return ti_state.rank == 0 || ti_state.speaks_for_rank_0 || (local && strcmp(local, "0") == 0);
}

static void speak(const char *fmt, va_list ap)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "tiara: rank %d: ", ti_state.rank);

    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* there is nowhere to report this */
}

void ti_stderr_line(const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    va_start(ap, fmt);
    speak(fmt, ap);
    va_end(ap);
    errno = saved;
}

void ti_stop_recording(const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    if (!ti_state.active || ti_state.pid != getpid())
        return;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    if (speaks())
        ti_stderr_line("recording stopped: %s; the application goes on, its trace is incomplete",
                       reason);
    ti_recording_end(TI_END_STOPPED);
    errno = saved;
}

void ti_stop_call(const char *why)
{
    /* operation names are the names of MPI calls in lower case */
    const char *text = ti_op_info(ti_current()->op)->text;

    if (!ti_state.active)
        return;
    ti_stop_recording("MPI_%c%s, after event %llu: %s", toupper((unsigned char)text[0]), text + 1,
                      (unsigned long long)ti_writer_events(ti_state.writer), why);
}

void ti_stop_unknown(const char *kind)
{
    char why[64];

    snprintf(why, sizeof why, "a %s that no traced call made", kind);
    ti_stop_call(why);
}

/* ------------------------------------------------------------- metadata -- */

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

static void write_info(void)
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
                                         ti_state.counter.backend,
                                         "event",
                                         ti_state.counter.event,
                                         "unit",
                                         ti_state.counter.unit,
                                         "exact",
                                         ti_state.counter.exact ? "yes" : "no",
                                         "estimate",
                                         ti_state.counter.estimate ? "yes" : "no",
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

/* ---------------------------------------------------------------- begin -- */

static bool hex_id(const char *text, uint8_t id[TI_RUN_ID_BYTES])
{
    if (!text || strlen(text) != 2 * TI_RUN_ID_BYTES)
        return false;
    for (int i = 0; i < TI_RUN_ID_BYTES; i++) {
        unsigned byte;

        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        id[i] = (uint8_t)byte;
    }
    return true;
}

static bool rank_path(const char *dir, int rank, char *path, size_t bytes)
{
    return snprintf(path, bytes, "%s/rank-%06d.ti", dir, rank) < (int)bytes;
}

/* The run id, as far as this rank knows it.  A launcher sets it, and makes sure that the directory
 * is fresh; otherwise rank 0 draws it.  False on rank 0 if the directory holds traces of another
 * run, because traces of two runs could not be told apart. */
static bool run_id(const char *dir, uint8_t id[TI_RUN_ID_BYTES], struct ti_err *err)
{
    char path[PATH_BYTES];

    memset(id, 0, TI_RUN_ID_BYTES);
    if (hex_id(getenv("TIARA_RUN_ID"), id) || ti_state.rank != 0)
        return true;
    if (rank_path(dir, 0, path, sizeof path) && access(path, F_OK) == 0) {
        ti_err_set(err, TI_ERR_IO, "'%s' holds the traces of another run", dir);
        ti_err_hint(err, "remove it, or set TIARA_TRACE_DIR to another directory");
        return false;
    }
    if (getrandom(id, TI_RUN_ID_BYTES, 0) != TI_RUN_ID_BYTES)
        memset(id, 0, TI_RUN_ID_BYTES);
    return true;
}

/* Whether the variable is unset, empty, or one of the two values. */
static bool one_of(const char *name, const char *first, const char *second, struct ti_err *err)
{
    const char *value = getenv(name);

    if (!value || !value[0] || strcmp(value, first) == 0 || strcmp(value, second) == 0)
        return true;
    ti_err_set(err, TI_ERR_USAGE, "unknown %s '%s'", name, value);
    ti_err_hint(err, "choose %s or %s", first, second);
    return false;
}

/* "4096", "64K", "16M" */
static bool take_buffer(struct ti_err *err)
{
    const char *text = getenv("TIARA_BUFFER");
    char *unit;
    long long n;

    if (!text || !text[0])
        return true;
    n = isdigit((unsigned char)text[0]) ? strtoll(text, &unit, 10) : 0;
    if (n > 0 && n <= TI_BUFFER_MOST) {
        int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;

        buffer_bytes = (int64_t)n << shift;
        unit += shift > 0;
        if (!*unit && buffer_bytes >= TI_BUFFER_LEAST && buffer_bytes <= TI_BUFFER_MOST)
            return true;
    }
    ti_err_set(err, TI_ERR_USAGE, "TIARA_BUFFER '%s' is no size from 4K to 16M", text);
    return false;
}

/* TIARA_LINGER; -1 if it is not valid. */
static long linger_seconds(void)
{
    const char *text = getenv("TIARA_LINGER");
    char *end;
    long seconds;

    if (!text || !text[0])
        return 0;
    seconds = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : -1;
    return seconds >= 0 && seconds <= LINGER_MOST && !*end ? seconds : -1;
}

static bool take_linger(struct ti_err *err)
{
    if (linger_seconds() >= 0)
        return true;
    ti_err_set(err, TI_ERR_USAGE, "TIARA_LINGER '%s' is no number of seconds from 0 to %d",
               getenv("TIARA_LINGER"), LINGER_MOST);
    return false;
}

static bool open_counter(struct ti_err *err)
{
    const char *counter = getenv("TIARA_COUNTER"), *threads = getenv("TIARA_THREADS");
    struct ti_counter_request wish = {
        .choice = counter && counter[0] ? counter : "auto",
        .sum = threads && strcmp(threads, "sum") == 0,
        .also = getenv("TIARA_ALSO"),
    };

    if (!one_of("TIARA_THREADS", "caller", "sum", err) ||
        !one_of("TIARA_MODE", "full", "whole", err) || !one_of("TIARA_TIMES", "1", "0", err) ||
        !take_buffer(err) || !take_linger(err) || !ti_nodes_take(err) ||
        ti_counter_open(&wish, &ti_state.counter, err) != TI_OK)
        return false;
    if (ti_extra_open(&ti_state.counter, ti_state.level != MPI_THREAD_SERIALIZED, &ti_state.extras,
                      err) == TI_OK)
        return true;
    ti_counter_close(&ti_state.counter);
    return false;
}

/* The directory's absolute name, because the application may change its working directory. */
static bool absolute(const char *dir, char *out, size_t bytes)
{
    char here[PATH_BYTES] = "";

    if (dir[0] != '/' && !getcwd(here, sizeof here))
        return false;
    return snprintf(out, bytes, "%s%s%s", here, here[0] ? "/" : "", dir) < (int)bytes;
}

static bool open_trace(const char *dir, const uint8_t id[TI_RUN_ID_BYTES], struct ti_err *err)
{
    static char path[PATH_BYTES]; /* the writer keeps the pointer until it is closed */

    if (!rank_path(dir, ti_state.rank, path, sizeof path)) {
        ti_err_set(err, TI_ERR_IO, "the name of the trace directory is too long");
        return false;
    }
    if (ti_writer_open(path, (uint32_t)ti_state.rank, (uint32_t)ti_state.nranks, id,
                       &ti_state.writer, err))
        return false;
    ti_writer_extras(ti_state.writer, ti_state.extras);
    if (ti_writer_buffer(ti_state.writer, (size_t)buffer_bytes, err) != TI_OK) {
        ti_writer_close(ti_state.writer, TI_END_STOPPED, NULL, 0, NULL);
        ti_state.writer = NULL;
        unlink(path);
        return false;
    }
    ti_mapped((int64_t)ti_writer_memory(ti_state.writer));
    ti_map_begin(dir, (int64_t)ti_writer_memory(ti_state.writer) - TI_WRITER_BYTES);
    return true;
}

/* Create the trace directory if need be.  Returns its absolute name; NULL and `err` on failure. */
static const char *trace_dir(struct ti_err *err)
{
    static char dir[PATH_BYTES];
    const char *name = getenv("TIARA_TRACE_DIR");

    if (!name || !name[0])
        name = DEFAULT_DIR;
    if (mkdir(name, 0777) != 0 && errno != EEXIST) {
        ti_err_errno(err, TI_ERR_IO, "cannot create the trace directory '%s'", name);
        return NULL;
    }
    if (absolute(name, dir, sizeof dir))
        return dir;
    ti_err_set(err, TI_ERR_IO, "the name of the trace directory is too long");
    return NULL;
}

/* Open counter and trace.  Whatever fails on this rank, it takes part in ti_agree(), which is
 * collective.  The directory is removed if it stays empty. */
static bool open_all(struct ti_err *err)
{
    const char *dir = trace_dir(err);
    struct ti_err why = {"", ""};
    uint8_t id[TI_RUN_ID_BYTES];
    bool counts, go_on;

    if (!dir)
        return false;
    counts = open_counter(&why);
    go_on = run_id(dir, id, err);
    go_on = ti_agree(dir, counts ? NULL : &why, go_on, id, err);
    if (go_on && !counts)
        *err = why;
    if (go_on && counts && open_trace(dir, id, err))
        return true;
    if (counts)
        ti_counter_close(&ti_state.counter);
    rmdir(dir);
    return false;
}

/* In a child of fork(): nothing is recorded, and tables shared with the parent are left alone. */
static void in_child(void)
{
    ti_threads_end();
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    return clock_gettime(clock, &t) == 0
               ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
               : 0;
}

static struct ti_cpu cpu_now(void)
{
    return (struct ti_cpu){clock_ns(CLOCK_THREAD_CPUTIME_ID), clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
}

void ti_recording_begin(double start, int provided, int level)
{
    struct ti_mpi_call c = {.op = TI_OP_INIT};
    struct ti_event ev = {.mask = TI_M_LEVEL};
    struct ti_err err;
    int saved = errno;

    if (ti_state.writer || ti_state.active)
        return;
    ti_state.init_start = start;
    ti_state.level = level;
    PMPI_Comm_rank(MPI_COMM_WORLD, &ti_state.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ti_state.nranks);
    if (!open_all(&err)) {
        if (speaks() && err.text[0])
            ti_stderr_line("nothing is recorded: %s%s%s", err.text, err.hint[0] ? "; hint: " : "",
                           err.hint);
        errno = saved;
        return;
    }
    ti_state.pid = getpid();
    pthread_atfork(NULL, NULL, in_child);
    ti_threads_begin(level);
    ti_calibrate();
    write_info();
    ti_types_begin();
    ti_nodes_begin();
    if (ti_comm_begin()) {
        ev.arg[TI_F_LEVEL] = provided;
        c.site = NULL;
        ti_emit(&c, &ev, false);
    } else {
        ti_stop_recording("no memory for the communicators");
    }
    ti_state.init_end = ti_seconds();
    ti_state.cpu_begin = cpu_now();
    ti_uncounted_begin();
    errno = saved;
    ti_span_begin();
}

/* ------------------------------------------------------------------ end -- */

/* CPU time in ns since recording began: of this thread, and of all others.  "" if the volumes
 * include the work of others, or if this is not the first thread. */
static void cpu_text(char caller[32], char others[32])
{
    struct ti_cpu now = cpu_now(), from = ti_state.cpu_begin;
    uint64_t own = now.thread - from.thread, all = now.process - from.process;

    caller[0] = others[0] = '\0';
    if (ti_state.counter.sum || ti_state.shared || !ti_thread_is_first())
        return;
    snprintf(caller, 32, "%llu", (unsigned long long)own);
    snprintf(others, 32, "%llu", (unsigned long long)(all > own ? all - own : 0));
}

/* With a decimal point, in every locale. */
static void seconds_text(char text[32], double seconds)
{
    long long us = (long long)(seconds * 1e6);

    snprintf(text, 32, "%lld.%06lld", us / 1000000, us % 1000000);
}

void ti_recording_end(enum ti_end end)
{
    char flush[32], init[32], app[32], memory[32], spilled[32], negative[32], abandoned[32];
    char untraced[2048], times[128] = "", whole[32] = "", outside[32] = "";
    char blocks[32] = "", own[32] = "", caller_ns[32], other_ns[32], questions[32];
    struct ti_writer *writer = ti_state.writer;
    struct ti_uncounted_text seen;
    struct ti_counter counter;
    struct ti_err err;
    double now = ti_seconds();

    /* a child made by _Fork() has run no handler of pthread_atfork() */
    if (!ti_state.active || ti_state.pid != getpid())
        return;
    if (end != TI_END_STOPPED && ti_thread_conflict()) {
        ti_stop_conflict();
        return;
    }
    ti_threads_end();
    ti_span_end();
    if (ti_span_known())
        snprintf(whole, sizeof whole, "%llu", (unsigned long long)ti_state.whole.count);
    if (ti_span_known() && ti_state.counter.outside)
        snprintf(outside, sizeof outside, "%llu", (unsigned long long)ti_state.outside.count);
    if (ti_span_known() && ti_state.blocks.count)
        snprintf(blocks, sizeof blocks, "%llu", (unsigned long long)ti_state.blocks.count);
    if (ti_span_known() && ti_state.blocks_own.count)
        snprintf(own, sizeof own, "%llu", (unsigned long long)ti_state.blocks_own.count);
    seconds_text(flush, ti_writer_flush_seconds(writer));
    seconds_text(init, ti_state.init_end - ti_state.init_start);
    seconds_text(app, now - ti_state.init_end);
    snprintf(memory, sizeof memory, "%lld", (long long)ti_state.memory_bytes);
    snprintf(spilled, sizeof spilled, "%lld", (long long)ti_state.spilled_bytes);
    snprintf(negative, sizeof negative, "%llu", (unsigned long long)ti_state.negative);
    if (!ti_state.shared || ti_state.counter.sum) /* there is one account */
        ti_extra_times(ti_state.account, times, sizeof times);
    snprintf(abandoned, sizeof abandoned, "%llu", (unsigned long long)ti_state.abandoned);
    if (ti_untraced_list(untraced, sizeof untraced) && ti_state.rank == 0 && !getenv("TIARA_QUIET"))
        ti_stderr_line("not traced: %s (calls of this rank)", untraced);
    cpu_text(caller_ns, other_ns);
    ti_uncounted_end(&seen);
    snprintf(questions, sizeof questions, "%llu", (unsigned long long)ti_state.node_questions);
    ti_state.writer = NULL;
    if (ti_writer_close(writer, end,
                        (const char *const[]){
                            "flush_seconds",   flush,        "init_seconds",    init,
                            "app_seconds",     app,          "memory_bytes",    memory,
                            "spilled_bytes",   spilled,      "negative_bursts", negative,
                            "abandoned_calls", abandoned,    "untraced",        untraced,
                            "whole",           whole,        "outside",         outside,
                            "blocks",          blocks,       "blocks_own",      own,
                            "reason",          reason,       "caller_ns",       caller_ns,
                            "other_ns",        other_ns,     "node_questions",  questions,
                            "samples",         seen.samples, "uncounted",       seen.uncounted,
                            "uncounted_in",    seen.objects, "unknown",         seen.unknown,
                            "times_ns",        times},
                        times[0] ? 21 : 20, &err) &&
        end != TI_END_STOPPED && speaks())
        ti_stderr_line("the trace is incomplete: %s", err.text);
    /* a copy: another thread may be in a call that reads the counter */
    counter = ti_state.counter;
    ti_counter_close(&counter);
}

/* Closes the trace of a process that exits without MPI_Finalize.  If it exits in a second thread,
 * or in a signal handler during recording, the file keeps the chunks written so far. */
__attribute__((destructor)) static void at_exit(void)
{
    if (ti_state.active && ti_thread_acquire() && !ti_writer_busy(ti_state.writer))
        ti_recording_end(TI_END_NO_FINALIZE);
}

void ti_linger(void)
{
    static bool done; /* one binding may be implemented by another */
    long seconds = linger_seconds();
    int saved = errno;
    struct timespec until;

    if (done || seconds <= 0)
        return;
    done = true;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
    errno = saved;
}
