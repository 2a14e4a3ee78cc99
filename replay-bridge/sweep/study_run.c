/*
 * The points of a study as child processes: this program itself, with --json; on another machine,
 * if there is a runner.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/map.h"
#include "common/scratch.h"
#include "common/write.h"
#include "replay-bridge/sweep/study.h"

#define PATIENCE_S   8.0 /* between signals; a child waits 5 s for smpirun */
#define SELF         "/proc/self/exe"
#define PAUSE_NS     (10 * 1000 * 1000)
#define MESSAGES_MAX 10 /* messages of points that are shown */

struct child {
    pid_t pid; /* 0: none */
    int64_t point;
    int out, messages; /* unlinked temporary files for stdout and stderr */
};

struct pool {
    struct ti_study *study;
    struct child *child;
    int64_t jobs, running;
    double signalled;
    int signals; /* number of signals sent to all children */
    bool verbose;
    json_t *shown; /* messages already shown */
};

/* ---- one child ---- */

/* This program, by a name that holds on machines that share its folder. */
static const char *program_path(void)
{
    static char path[PATH_MAX];

    if (!path[0] && readlink(SELF, path, sizeof path - 1) < 0)
        TI_BUG(SELF " cannot be read");
    return path;
}

static struct ti_args command_of(const struct ti_study *study, int64_t point)
{
    const struct ti_args *own = &study->point[point].args;
    struct ti_args args = {0};

    if (study->runner) { /* the words of the command stay words, whatever is in them */
        ti_args_add(&args, "/bin/sh", "-c");
        ti_args_addf(&args, "%s \"$@\"", study->runner);
        ti_args_add(&args, "runner");
    }
    ti_args_add(&args, study->runner ? program_path() : "ti-replay");
    ti_args_add_all(&args, own, 0);
    ti_args_add(&args, "--json", "--no-progress", "--", ti_study_trace(study, point));
    return args;
}

static _Noreturn void become(const struct pool *pool, int64_t slot, char **argv, pid_t parent)
{
    const struct child *c = &pool->child[slot];
    int in = open("/dev/null", O_RDONLY);
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)slot);
    if (pool->study->runner)
        setenv("TIARA_SLOT", text, 1);
    setpgid(0, 0); /* a terminal's ^C is for the parent, which ends its children */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent && dup2(in, STDIN_FILENO) >= 0 && dup2(c->out, STDOUT_FILENO) >= 0 &&
        dup2(c->messages, STDERR_FILENO) >= 0)
        execv(pool->study->runner ? argv[0] : SELF, argv);
    _exit(127);
}

static ti_status spawn(struct pool *pool, int64_t slot, int64_t point, struct ti_err *err)
{
    struct child *c = &pool->child[slot];
    struct ti_args args = command_of(pool->study, point);
    pid_t parent = getpid();

    c->point = point;
    c->out = memfd_create("result", MFD_CLOEXEC);
    c->messages = memfd_create("messages", MFD_CLOEXEC);
    if (!ti_args_ok(&args) || c->out < 0 || c->messages < 0 || (c->pid = fork()) < 0) {
        c->pid = 0;
        ti_args_free(&args);
        return ti_err_errno(err, TI_ERR_IO, "cannot run another point");
    }
    if (c->pid == 0)
        become(pool, slot, args.v, parent);
    setpgid(c->pid, c->pid);
    ti_args_free(&args);
    pool->running++;
    return TI_OK;
}

/* The contents of a temporary file; free() it. */
static char *contents(int fd)
{
    char *text = lseek(fd, 0, SEEK_SET) == 0 ? ti_read_all(fd, SIZE_MAX, NULL) : NULL;

    if (!text)
        TI_BUG("a temporary file cannot be read");
    return text;
}

/* ---- output of a child ---- */

/* Shows each line that was not shown for another point, up to MESSAGES_MAX. */
static void show_messages(struct pool *pool, char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (json_object_get(pool->shown, line))
            continue;
        if (json_object_size(pool->shown) < MESSAGES_MAX) {
            ti_progress_clear();
            ti_print(stderr, "%s\n", line);
        }
        json_object_set_new(pool->shown, line, json_true());
    }
}

/* The error of a child that failed without printing JSON. */
static void find_error(const char *messages, int status, const char *runner, struct ti_err *why)
{
    static const char tool[] = "ti-replay: ";
    size_t skip = strncmp(messages, tool, strlen(tool)) ? 0 : strlen(tool);

    if (WIFSIGNALED(status))
        ti_err_set(why, TI_ERR_IO, "ended by signal %d", WTERMSIG(status));
    else if (messages[0])
        ti_err_set(why, TI_ERR_IO, "%.*s", (int)strcspn(messages + skip, "\n"), messages + skip);
    else if (runner)
        ti_err_set(why, TI_ERR_IO, "'%s' ended with status %d and printed no result", runner,
                   WEXITSTATUS(status));
    else
        ti_err_set(why, TI_ERR_IO, "ended with status %d and printed no result",
                   WEXITSTATUS(status));
}

static void tell_point(const struct pool *pool, int64_t i, const char *error)
{
    const struct ti_study *study = pool->study;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f;

    if ((!pool->verbose && !error) ||
        (error && (study->all_or_none || study->failed > MESSAGES_MAX)) ||
        !(f = open_memstream(&text, &bytes)))
        return;
    ti_study_print_settings(study, i, f);
    fclose(f);
    ti_progress_clear();
    if (error)
        ti_warn("%s: %s", text, error);
    else
        ti_say("%s: %.9g s", text, ti_study_point_time(&study->point[i]));
    free(text);
}

/* Records the outcome of a point. */
static ti_status read_result(struct pool *pool, const struct child *c, int status,
                             struct ti_err *err)
{
    char *out = contents(c->out), *messages = contents(c->messages);
    json_t *result = json_loads(out, 0, NULL);
    const char *error = json_string_value(json_object_get(result, "error"));
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    struct ti_err why;
    ti_status st;

    if (!code && !json_is_number(json_object_get(result, "clock_s")))
        code = TI_ERR_IO;
    if (code && !error)
        find_error(messages, status, pool->study->runner, &why);
    else if (code)
        ti_err_set(&why, TI_ERR_IO, "%s", error);
    else
        show_messages(pool, messages);
    st = ti_study_record(pool->study, c->point, code, result, code ? why.text : NULL, err);
    if (!st)
        tell_point(pool, c->point, code ? why.text : NULL);
    free(out);
    free(messages);
    return st;
}

/* ---- all children ---- */

static void tell_progress(const struct pool *pool)
{
    const struct ti_study *study = pool->study;

    ti_progress_show(&(struct ti_progress){.step = study->step,
                                           .unit = study->unit,
                                           .done = study->done + study->failed,
                                           .of = study->n,
                                           .note = study->failed ? "some failed" : NULL});
}

/* After a signal or an error: the first and second signal ask the children to end, where the second
 * makes a child kill smpirun.  Then the children are killed. */
static void end_children(struct pool *pool, bool at_once)
{
    int sig = pool->signals < 2 ? SIGTERM : SIGKILL;

    if (pool->signals && !at_once && ti_now() - pool->signalled < PATIENCE_S)
        return;
    for (int64_t j = 0; j < pool->jobs; j++)
        if (pool->child[j].pid)
            kill(pool->study->runner ? -pool->child[j].pid : pool->child[j].pid, sig);
    pool->signals++;
    pool->signalled = ti_now();
}

/* Records the points that have ended, except those ended by a signal of this program. */
static ti_status reap(struct pool *pool, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int64_t j = 0; j < pool->jobs; j++) {
        struct child *c = &pool->child[j];
        int status;

        if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid)
            continue;
        if (!st && (!pool->signals || (WIFEXITED(status) && !WEXITSTATUS(status))))
            st = read_result(pool, c, status, err);
        close(c->out);
        close(c->messages);
        *c = (struct child){0};
        pool->running--;
    }
    return st;
}

/* Starts points from `*next` on while fewer than the maximum are running. */
static ti_status fill(struct pool *pool, int64_t *next, struct ti_err *err)
{
    struct ti_study *study = pool->study;
    ti_status st = TI_OK;

    if (study->all_or_none && study->failed)
        return TI_OK;
    for (int64_t j = 0; j < pool->jobs && !st; j++) {
        while (*next < study->n && study->point[*next].record)
            ++*next;
        if (*next == study->n)
            return TI_OK;
        if (!pool->child[j].pid)
            st = spawn(pool, j, (*next)++, err);
    }
    return st;
}

static ti_status run(struct pool *pool, struct ti_err *err)
{
    struct timespec pause = {0, PAUSE_NS};
    int64_t next = 0;
    int stops = 0;
    ti_status st = TI_OK, more;

    for (;;) {
        if (!st && !ti_stopped())
            st = fill(pool, &next, err);
        if (!pool->running)
            break;
        if (st || ti_stopped())
            end_children(pool, ti_stop_count() > stops && pool->signals);
        stops = ti_stop_count();
        tell_progress(pool);
        nanosleep(&pause, NULL);
        more = reap(pool, err);
        st = st ? st : more;
    }
    ti_progress_end(!st && pool->study->done + pool->study->failed == pool->study->n);
    return st;
}

/* The status and the error of the first point that failed. */
static ti_status first_failure(const struct ti_study *study, struct ti_err *err)
{
    for (int64_t i = 0; i < study->n; i++) {
        const json_t *record = study->point[i].record;
        json_int_t status = json_integer_value(json_object_get(record, "status"));
        const char *error = json_string_value(json_object_get(record, "error"));
        const char *hint =
            json_string_value(json_object_get(json_object_get(record, "result"), "hint"));

        if (!status)
            continue;
        status = status > 0 && status <= TI_ERR_APP ? status : TI_ERR_IO;
        if (study->ntraces > 1)
            ti_err_set(err, (ti_status)status, "the replay of '%s' failed: %s",
                       ti_study_trace(study, i), error ? error : "its cause is not known");
        else
            ti_err_set(err, (ti_status)status, "%s", error ? error : "a replay failed");
        if (hint)
            ti_err_hint(err, "%s", hint);
        return (ti_status)status;
    }
    return TI_OK;
}

ti_status ti_study_run(struct ti_study *study, int64_t jobs, bool verbose, struct ti_err *err)
{
    struct pool pool = {.study = study, .jobs = jobs, .verbose = verbose, .shown = json_object()};
    size_t none = 0;
    ti_status st;

    pool.child = ti_grow(NULL, &none, (size_t)jobs, sizeof *pool.child);
    st = run(&pool, err);
    if (json_object_size(pool.shown) > MESSAGES_MAX)
        ti_say("%zu more messages of points are not shown",
               json_object_size(pool.shown) - MESSAGES_MAX);
    json_decref(pool.shown);
    free(pool.child);
    st = st ? st : ti_stop_check(err);
    return st || !study->all_or_none ? st : first_failure(study, err);
}
