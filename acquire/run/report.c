#include "acquire/run/report.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/cli.h"
#include "trace/rankname.h"

/* --- the traces ---------------------------------------------------------- */

static void say_ranks_of(const struct ti_ranks *r, int end, const char *what)
{
    int64_t *list = malloc((size_t)r->np * sizeof *list);
    int64_t n = 0;
    char text[256];

    for (int64_t rank = 0; list && rank < r->np; rank++)
        if (r->end[rank] == end)
            list[n++] = rank;
    if (n)
        ti_say("%s %s: %s", n == 1 ? "rank" : "ranks", ti_ranks_text(list, n, text, sizeof text),
               what);
    free(list);
}

void ti_ranks_say(const struct ti_ranks *r)
{
    if (r->with_trace)
        say_ranks_of(r, TI_END_COMPLETE, ti_end_text(TI_END_COMPLETE));
    for (int end = TI_END_COMPLETE + 1; end < TI_END_COUNT; end++)
        say_ranks_of(r, end, ti_end_text((enum ti_end)end));
    say_ranks_of(r, TI_RANK_BAD, "the trace cannot be read, or is of another run");
    say_ranks_of(r, TI_RANK_NO_TRACE, "no trace");
}

/* --- the outcome --------------------------------------------------------- */

/* mpirun exits with 0 if the last eight bits of the status of MPI_Abort are 0. */
static bool failed(const struct ti_outcome *o, const struct ti_ranks *r)
{
    return (o->wait_status != 0 && !(o->hung && ti_ranks_complete(r))) || r->by_end[TI_END_ABORTED];
}

const char *ti_outcome_word(const struct ti_outcome *o, const struct ti_ranks *r)
{
    if (o->signal)
        return "interrupted";
    if (o->timed_out)
        return "timed out";
    if (o->out_of_memory)
        return "out of memory";
    if (failed(o, r))
        return "failed";
    return ti_ranks_complete(r) ? "complete" : "incomplete";
}

/* Describe the end: mpirun's status is that of the application, or 128 + signal. */
static void how_it_ended(const struct ti_outcome *o, const struct ti_ranks *r, char *buf,
                         size_t bytes, int *sig)
{
    int code = WIFEXITED(o->wait_status) ? WEXITSTATUS(o->wait_status) : 0;

    *sig = code > 128 && code < 128 + NSIG ? code - 128 : 0;
    if (WIFSIGNALED(o->wait_status))
        snprintf(buf, bytes, "mpirun was killed by signal %d (%s)", WTERMSIG(o->wait_status),
                 strsignal(WTERMSIG(o->wait_status)));
    else if (r->by_end[TI_END_ABORTED])
        snprintf(buf, bytes, "called MPI_Abort (status %d)", code);
    else if (*sig)
        snprintf(buf, bytes, "was killed by signal %d (%s)", *sig, strsignal(*sig));
    else
        snprintf(buf, bytes, "ended with status %d", code);
}

static void hint_of_sigill(struct ti_err *err)
{
    ti_err_hint(err,
                "valgrind knows no AVX-512; if the program was built for it (-march=native, on "
                "such a machine), build it with -march=x86-64-v3 or -mno-avx512f, its "
                "libraries too, or choose another counter with -c");
}

static ti_status no_trace(const struct ti_outcome *o, const struct ti_ranks *r,
                          const struct ti_args *words, const char *how, bool illegal,
                          struct ti_err *err)
{
    const char *program = words->v[0];
    char *command;

    if (o->wait_status == 0) {
        ti_err_set(err, TI_ERR_APP, "'%s' ran, but no rank wrote a trace", program);
        ti_err_hint(err, "does it call MPI_Init, and is it dynamically linked? "
                         "If the library said something above, that is why");
        return TI_ERR_APP;
    }
    ti_err_set(err, TI_ERR_APP, "'%s' %s before any rank was through MPI_Init", program, how);
    if (illegal)
        hint_of_sigill(err);
    else if (!o->no_try && (command = ti_args_shell(words)) != NULL) {
        ti_err_hint(err, "does it run without us? Try: mpirun -np %" PRId64 " %s%s", r->np,
                    r->np > 2 ? "--oversubscribe " : "", command);
        free(command);
    }
    return TI_ERR_APP;
}

ti_status ti_outcome_check(const struct ti_outcome *o, const struct ti_ranks *r,
                           const struct ti_args *words, bool valgrind, struct ti_err *err)
{
    const char *program = words->v[0];
    char how[160];
    int sig;

    how_it_ended(o, r, how, sizeof how, &sig);
    if (o->signal)
        return ti_err_set(err, TI_ERR_APP, "interrupted by signal %d (%s)", o->signal,
                          strsignal(o->signal));
    if (o->timed_out) {
        ti_err_set(err, TI_ERR_APP, "'%s' was ended: it took longer than --timeout allows",
                   program);
        return TI_ERR_APP;
    }
    if (o->out_of_memory) {
        ti_err_set(err, TI_ERR_APP,
                   "'%s' was ended: it had taken all memory but a quarter of --reserve", program);
        ti_err_hint(err, "fewer ranks or a smaller problem fit; --mem-per-rank lets the plan tell");
        return TI_ERR_APP;
    }
    if (r->with_trace == 0 && o->not_started) {
        ti_status st = o->user_args ? TI_ERR_USAGE : TI_ERR_IO;

        ti_err_set(err, st, "mpirun did not start the program '%s'", program);
        ti_err_hint(err, "see what mpirun says above%s",
                    o->user_args ? "; its arguments behind '--' and those of --mca are yours" : "");
        return st;
    }
    if (r->with_trace == 0)
        return no_trace(o, r, words, how, sig == SIGILL && valgrind, err);
    if (!failed(o, r))
        return TI_OK;
    if (WIFSIGNALED(o->wait_status))
        ti_err_set(err, TI_ERR_APP, "'%s' was ended: %s", program, how);
    else
        ti_err_set(err, TI_ERR_APP, "'%s' %s", program, how);
    if (ti_ranks_complete(r))
        ti_err_hint(err, "all its ranks were through MPI_Finalize by then: the trace is complete");
    else if (sig == SIGILL && valgrind)
        hint_of_sigill(err);
    else if (sig == SIGKILL)
        ti_err_hint(err,
                    "out of memory? The kernel's log tells; fewer ranks or a smaller problem help");
    return TI_ERR_APP;
}

/* --- figures ------------------------------------------------------------- */

double ti_outcome_start_seconds(const struct ti_outcome *o)
{
    return o->started > o->launched ? o->started - o->launched : 0;
}

double ti_outcome_app_seconds(const struct ti_outcome *o)
{
    double from = o->started > o->launched ? o->started : o->launched;

    return o->ended > from ? o->ended - from : 0;
}

void ti_outcome_say(const struct ti_outcome *o, const struct ti_ranks *r)
{
    char events[32], volume[32], size[32], memory[32];

    if (!r->with_trace)
        return;
    if (o->started > 0)
        ti_say("start %.1f s (until all ranks had left MPI_Init), application %.1f s, of which "
               "writing traces %.2f s at most in a rank",
               ti_outcome_start_seconds(o), ti_outcome_app_seconds(o), r->flush_seconds_max);
    if (!ti_ranks_complete(r)) {
        ti_say("%s events in %s", ti_format_count(r->events, events, sizeof events),
               ti_format_size(r->bytes, size, sizeof size));
        return;
    }
    ti_say("%s events in %s, volume %s %s%s; the library took %s in a rank",
           ti_format_count(r->events, events, sizeof events),
           ti_format_size(r->bytes, size, sizeof size),
           ti_format_count(r->volume, volume, sizeof volume), r->unit[0] ? r->unit : "units",
           r->estimate ? ", an estimate" : "",
           ti_format_size(r->memory_bytes_max, memory, sizeof memory));
}

/* Every inexact counter has some; from one burst in a hundred on, warn. */
void ti_negative_say(const struct ti_ranks *r)
{
    char negative[32], events[32];

    if (r->negative * 100 < r->events || !r->negative)
        return;
    ti_warn("%s of %s bursts were shorter than what measuring them costs, and count as 0: this "
            "counter is too coarse for them; count with valgrind, or one thread with blocks",
            ti_format_count(r->negative, negative, sizeof negative),
            ti_format_count(r->events, events, sizeof events));
}

void ti_caveats_say(const struct ti_ranks *r)
{
    char text[512];

    for (int i = 0; ti_caveats_text(&r->caveats, i, text, sizeof text); i++)
        ti_warn("%s", text);
}

void ti_untraced_say(const struct ti_ranks *r)
{
    char text[1024] = "", calls[32];
    size_t used = 0;

    for (int i = 0; i < r->nuntraced && used < sizeof text - 320; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%s call%s)", i ? ", " : "",
                                 r->untraced[i].name,
                                 ti_format_count(r->untraced[i].calls, calls, sizeof calls),
                                 r->untraced[i].calls == 1 ? "" : "s");
    if (used)
        ti_say("not traced: %s; ti-replay will refuse this trace", text);
}
