/* The end of a recording, and the messages of the library. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "minitrace/core/state.h"

static TI_SPARSE char reason[512]; /* why recording stopped */

double ti_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool ti_speaks(void)
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

    if (!ti_flags.active || ti_state.pid != getpid())
        return;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    if (ti_speaks())
        ti_stderr_line("recording stopped: %s; the application goes on, its trace is incomplete",
                       reason);
    ti_recording_end(TI_END_STOPPED);
    errno = saved;
}

void ti_stop_call(const char *why)
{
    /* operation names are the names of MPI calls in lower case */
    const char *text = ti_op_info(ti_current()->op)->text;

    if (!ti_flags.active)
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

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    return clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
                                         : 0;
}

struct ti_cpu ti_cpu_now(void)
{
    return (struct ti_cpu){clock_ns(CLOCK_THREAD_CPUTIME_ID), clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
}

/* CPU time in ns since recording began: of this thread, and of all others.  "" if the volumes
 * include the work of others, or if this is not the first thread. */
static void cpu_text(char caller[32], char others[32])
{
    struct ti_cpu now = ti_cpu_now(), from = ti_state.cpu_begin;
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
    char begin[80], blocks[32] = "", own[32] = "", caller_ns[32], other_ns[32], questions[32];
    struct ti_writer *writer = ti_state.writer;
    struct ti_uncounted_text seen;
    struct ti_counter counter;
    struct ti_err err;
    double now = ti_seconds();

    /* a child made by _Fork() has run no handler of pthread_atfork() */
    if (!ti_flags.active || ti_state.pid != getpid())
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
    ti_begin_text(begin);
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
                            "begin",           begin,
                            "times_ns",        times},
                        times[0] ? 22 : 21, &err) &&
        end != TI_END_STOPPED && ti_speaks())
        ti_stderr_line("the trace is incomplete: %s", err.text);
    /* a copy: another thread may be in a call that reads the counter */
    counter = ti_state.counter;
    ti_counter_close(&counter);
}

/* Closes the trace of a process that exits without MPI_Finalize.  If it exits in a second thread,
 * or in a signal handler during recording, the file keeps the chunks written so far. */
__attribute__((destructor)) static void at_exit(void)
{
    if (ti_flags.active && ti_thread_acquire() && !ti_writer_busy(ti_state.writer))
        ti_recording_end(TI_END_NO_FINALIZE);
}
