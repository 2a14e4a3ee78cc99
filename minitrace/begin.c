/*
 * The beginning of a recording, in MPI_Init.
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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "minitrace/begin.h"
#include "minitrace/recorders/shared.h"
#include "trace/foreign.h"

#define DEFAULT_DIR "tiara.run"
#define PATH_BYTES  4096
#define LINGER_MOST 60

/* Of functions with large buffers: not inlined, so that the buffer is off the stack when MPI is
 * called. */
#define SHORT_LIVED __attribute__((noinline))

static int64_t buffer_bytes = TI_BUFFER_DEFAULT;

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
static SHORT_LIVED bool run_id(const char *dir, uint8_t id[TI_RUN_ID_BYTES], struct ti_err *err)
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
static bool read_buffer(struct ti_err *err)
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

static bool read_linger(struct ti_err *err)
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
        !read_buffer(err) || !read_linger(err) || !ti_nodes_read(err) ||
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
    size_t n = 0;

    if (dir[0] != '/') {
        if (!getcwd(out, bytes))
            return false;
        n = strlen(out);
        out[n++] = '/';
    }
    return n < bytes && snprintf(out + n, bytes - n, "%s", dir) < (int)(bytes - n);
}

/* A copy that is never freed; NULL without memory. */
static const char *copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    void *p = ti_map(bytes);

    return p ? memcpy(p, text, bytes) : NULL;
}

static SHORT_LIVED bool open_trace(const char *dir, const uint8_t id[TI_RUN_ID_BYTES],
                                   struct ti_err *err)
{
    char path[PATH_BYTES];
    const char *kept; /* by the writer, until it is closed */

    if (!rank_path(dir, ti_state.rank, path, sizeof path)) {
        ti_err_set(err, TI_ERR_IO, "the name of the trace directory is too long");
        return false;
    }
    kept = copy(path);
    if (!kept) {
        ti_err_set(err, TI_ERR_IO, "no memory for the name of the trace");
        return false;
    }
    if (ti_writer_open(kept, (uint32_t)ti_state.rank, (uint32_t)ti_state.nranks, id,
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
static SHORT_LIVED const char *trace_dir(struct ti_err *err)
{
    char dir[PATH_BYTES];
    const char *name = getenv("TIARA_TRACE_DIR"), *kept = NULL, *other;

    if (!name || !name[0])
        name = DEFAULT_DIR;
    if (mkdir(name, 0700) != 0 && errno != EEXIST) {
        ti_err_errno(err, TI_ERR_IO, "cannot create the trace directory '%s'", name);
        return NULL;
    }
    other = ti_foreign(name);
    if (other) {
        ti_err_set(err, TI_ERR_IO,
                   "the trace directory '%s' is not safe: '%s' belongs to another user, in a "
                   "folder that everybody can write to",
                   name, other);
        return NULL;
    }
    if (!absolute(name, dir, sizeof dir))
        ti_err_set(err, TI_ERR_IO, "the name of the trace directory is too long");
    else if (!(kept = copy(dir)))
        ti_err_set(err, TI_ERR_IO, "no memory for the name of the trace directory");
    return kept;
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

/* In a child of fork(), where the kernel has not cleared ti_flags: nothing is recorded, and tables
 * shared with the parent are left alone. */
static void in_child(void)
{
    ti_threads_end();
}

void ti_recording_begin(double start, int provided, int level)
{
    struct ti_mpi_call c = {.op = TI_OP_INIT};
    struct ti_event ev = {.mask = TI_M_LEVEL};
    struct ti_err err;
    int saved = errno;

    if (ti_state.writer || ti_flags.active)
        return;
    ti_state.init_start = start;
    ti_state.level = level;
    PMPI_Comm_rank(MPI_COMM_WORLD, &ti_state.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ti_state.nranks);
    if (!open_all(&err)) {
        if (ti_speaks() && err.text[0])
            ti_stderr_line("nothing is recorded: %s%s%s", err.text, err.hint[0] ? "; hint: " : "",
                           err.hint);
        errno = saved;
        return;
    }
    ti_state.pid = getpid();
    pthread_atfork(NULL, NULL, in_child);
    ti_threads_begin(level);
    ti_calibrate();
    ti_write_metadata();
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
    ti_state.cpu_begin = ti_cpu_now();
    ti_uncounted_begin();
    errno = saved;
    ti_span_begin();
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
