#include "acquire/run/choose.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/write.h"

/* The result that the trying child sends. */
struct answer {
    ti_status status;
    char event[64];
    bool exact;
    struct ti_err err;
};

static void answer(const struct ti_counter_request *wish, int fd)
{
    struct ti_counter counter;
    struct answer a;

    memset(&a, 0, sizeof a);
    a.status = ti_counter_open(wish, &counter, &a.err);
    if (a.status == TI_OK) {
        snprintf(a.event, sizeof a.event, "%s", counter.event);
        a.exact = counter.exact;
    }
    if (write(fd, &a, sizeof a) != (ssize_t)sizeof a)
        _exit(1);
    _exit(0);
}

static ti_status try_wish(const struct ti_counter_request *wish, struct ti_counter_choice *out,
                          struct ti_err *err)
{
    struct answer a;
    ssize_t got;
    int fd[2];
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot try counter '%s'", wish->choice);
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        answer(wish, fd[1]);
    close(fd[1]);
    got = pid < 0 ? -1 : read(fd[0], &a, sizeof a);
    close(fd[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    if (got != (ssize_t)sizeof a)
        return ti_err_set(err, TI_ERR_IO, "cannot try counter '%s': the process that tried died",
                          wish->choice);
    if (a.status != TI_OK) {
        *err = a.err;
        return a.status;
    }
    memcpy(out->event, a.event, sizeof out->event);
    out->exact = a.exact;
    return TI_OK;
}

/* Whether only the ranks of the program can try some of the events. */
static bool is_programs_own(const char *events)
{
    for (int i = 0; ti_counter_table[i]; i++)
        if (ti_counter_table[i]->own_events && strstr(events, ti_counter_table[i]->own_events))
            return true;
    return false;
}

ti_status ti_counter_check_also(const char *also, bool sum, const struct ti_counter_choice *choice,
                                struct ti_err *err)
{
    /* other counters need the program; take one that works without */
    bool here = !choice->of->wrapper && !choice->of->compiled && !is_programs_own(choice->event);
    struct ti_counter_request wish = {
        .choice = here ? choice->counter : "cputime", .sum = sum, .also = also};
    struct ti_counter_choice ignored;

    if (is_programs_own(also))
        return TI_OK;
    return try_wish(&wish, &ignored, err);
}

/* Run a small program under the wrapper, which must report a count.  *first is the first line of
 * its output otherwise. */
static bool tool_counts(const struct ti_counter_wrapper *w, const char *lib, char *first,
                        size_t first_bytes)
{
    const char *command[16] = {"env", "-u", "LD_PRELOAD"}, **word = command + 3, *p;
    char *text;
    int status;
    bool counts;

    for (int i = 0; w->words[i]; i++)
        *word++ = w->words[i];
    *word++ = w->report;
    *word = "true";
    status = ti_read_output((char *const *)command, STDERR_FILENO, w->variable, lib, &text);
    snprintf(first, first_bytes, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
    p = text ? strstr(text, w->said) : NULL;
    counts = status == 0 && p && strtoull(p + strlen(w->said), NULL, 10) > 1000;
    free(text);
    return counts;
}

static ti_status try_wrapper(const struct ti_counter_backend *b, const char *lib,
                             struct ti_counter_choice *out, struct ti_err *err)
{
    const struct ti_counter_wrapper *w = b->wrapper;
    char path[PATH_MAX], said[256];

    if (!ti_find_on_path(w->words[0], path)) {
        ti_err_set(err, TI_ERR_INPUT, "cannot count with %s: it is not installed", b->name);
        ti_err_hint(err, "install %s, or choose another counter with -c", w->words[0]);
        return TI_ERR_INPUT;
    }
    if (!lib) {
        ti_err_set(err, TI_ERR_INPUT, "cannot count with %s: our tool for it, %s, is missing",
                   b->name, w->tool);
        ti_err_hint(err, "build again with %s's headers installed, or choose another counter",
                    w->words[0]);
        return TI_ERR_INPUT;
    }
    if (strlen(lib) >= sizeof out->valgrind_lib)
        return ti_err_set(err, TI_ERR_INPUT, "the path '%s' is too long", lib);
    if (!tool_counts(w, lib, said, sizeof said)) {
        ti_err_set(err, TI_ERR_INPUT, "cannot count with %s: '%s %s true' failed%s%s", b->name,
                   w->words[0], w->words[1], said[0] ? ": " : "", said);
        ti_err_hint(err, "%s in '%s' must have been built for the installed %s", w->tool, lib,
                    w->words[0]);
        return TI_ERR_INPUT;
    }
    strcpy(out->valgrind_lib, lib);
    out->valgrind = true;
    return TI_OK;
}

/* The programs that a script starts are not known before it runs.  So `auto` does not choose the
 * counter `blocks` for a script; a user may. */
static ti_status look_at_program(const struct ti_program *program, bool automatic,
                                 const char *counter, struct ti_err *err)
{
    if (program->blocks || (!automatic && !program->is_elf))
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "cannot count %s: '%s' was not compiled with ti-mpicc", counter,
               program->given ? program->given : "");
    ti_err_hint(err, "compile and link it with ti-mpicc, ti-mpicxx or ti-mpifort, or choose "
                     "another counter with -c");
    return TI_ERR_INPUT;
}

struct trial {
    bool sum;
    const struct ti_program *program;
    const char *lib;
    struct ti_counter_choice *out;
};

static ti_status try_counter(void *arg, const struct ti_counter_backend *b, const char *event,
                             bool automatic, struct ti_err *err)
{
    struct trial *t = arg;
    struct ti_counter_choice *out = t->out;
    struct ti_counter_request wish = {.choice = out->counter, .sum = t->sum};

    *out = (struct ti_counter_choice){.of = b, .exact = b->exact, .estimate = b->estimate};
    snprintf(out->counter, sizeof out->counter, "%s%s%s", b->name, b->takes_event ? ":" : "",
             b->takes_event ? event : "");
    snprintf(out->event, sizeof out->event, "%s", event);
    if (b->wrapper)
        return try_wrapper(b, t->lib, out, err);
    if (b->compiled)
        return look_at_program(t->program, automatic, b->name, err);
    if (is_programs_own(event)) {
        out->exact = false;
        return TI_OK;
    }
    return try_wish(&wish, out, err);
}

ti_status ti_counter_choose(const char *wanted, bool sum, const struct ti_program *program,
                            const char *lib, struct ti_counter_choice *out, struct ti_err *err)
{
    struct trial t = {sum, program, lib, out};
    struct ti_err refused;
    ti_status st = ti_counter_pick(wanted, sum, try_counter, &t, &refused, err);

    if (st == TI_OK)
        snprintf(out->why, sizeof out->why, "%s", refused.text);
    else
        memset(out, 0, sizeof *out);
    return st;
}
