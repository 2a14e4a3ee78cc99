/* The steps of a job in which the program runs: launch, watch, report, gather. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acquire/run/acquisition.h"
#include "acquire/run/forward.h"
#include "formats/json.h"
#include "node/watch.h"

#define POLL_MS        250
#define GRACE_S        5.0 /* for mpirun to end after SIGTERM */
#define LINGER_S       1.0 /* for ranks to end after mpirun has */
#define FILES_PER_RANK 16

/* --- watching ------------------------------------------------------------ */

static void show(const struct ti_watch *w, double seconds, const char *what)
{
    char size[32];

    ti_progress(
        "%s: %" PRId64 " of %" PRId64 " ranks started, %" PRId64 " finished, %s traced, %.0f s",
        what, w->started, w->np, w->finished, ti_format_size(w->bytes, size, sizeof size), seconds);
}

struct ending {
    struct ti_watch *watch;
    struct ti_forward *forward;
    double start;
};

static void show_ending(void *arg)
{
    struct ending *e = arg;

    ti_forward_some(e->forward, -1, 0);
    ti_watch_update(e->watch);
    if (!e->forward->open_line)
        show(e->watch, ti_now() - e->start, "ending the run");
}

static bool was_ended(const struct ti_outcome *o)
{
    return o->signal || o->timed_out || o->out_of_memory;
}

/* ti_launch_sleep() that forwards the program's output meanwhile. */
static int sleep_forwarding(struct ti_forward *forward, int signals, int ms)
{
    if (forward->from[0] < 0 && forward->from[1] < 0)
        return ti_launch_sleep(ms);
    ti_forward_some(forward, signals, ms);
    return ti_launch_sleep(0);
}

/* Watch until mpirun ends or has to be ended. */
static void watch(struct ti_acquisition *a, struct ti_proc *proc, struct ti_watch *w,
                  struct ti_forward *forward)
{
    double start = ti_now(), check_s = 0;
    struct ending ending = {w, forward, start};
    int signals = ti_launch_signal_fd();
    bool all_said = false;

    while (ti_launch_running(proc)) {
        double now;
        /* Checks take at most a tenth of the time. */
        int sig = sleep_forwarding(forward, signals,
                                   check_s * 10e3 > POLL_MS ? (int)(check_s * 10e3) : POLL_MS);

        if (sig)
            a->outcome.signal = sig;
        else if (a->o->timeout_s && ti_now() - start > (double)a->o->timeout_s)
            a->outcome.timed_out = true;
        else if (ti_machine_room() < a->o->reserve_bytes / 4)
            a->outcome.out_of_memory = true;
        if (was_ended(&a->outcome)) {
            ti_say("%s: ending the run", sig                    ? strsignal(sig)
                                         : a->outcome.timed_out ? "time is up"
                                                                : "memory is running out");
            a->outcome.left = ti_launch_end(proc, GRACE_S, show_ending, &ending);
            break;
        }
        now = ti_now();
        ti_watch_update(w);
        check_s = ti_now() - now;
        if (w->started == w->np && !all_said) {
            all_said = true;
            if (a->o->verbose)
                ti_say("all %" PRId64 " ranks started after %.1f s", w->np,
                       w->last_start - a->outcome.launched);
        }
        if (!forward->open_line)
            show(w, ti_now() - start, a->label ? a->label : "running");
    }
    if (signals >= 0)
        close(signals);
    /* A signal to the whole process group may have ended mpirun before mpirun had its own group.
     * Then the signal is still pending here. */
    if (!was_ended(&a->outcome) && proc->wait_status != 0)
        a->outcome.signal = ti_launch_sleep(0);
    ti_progress_clear();
}

/* --- run ----------------------------------------------------------------- */

static ti_status launch(struct ti_acquisition *a, struct ti_forward *forward, struct ti_proc *proc,
                        struct ti_err *err)
{
    struct ti_launch l = {.argv = a->command.v,
                          .drowsy = a->plan.drowsy,
                          .run_id = a->run_id,
                          .stdin_path = a->repeated            ? ti_acquisition_input()
                                        : isatty(STDIN_FILENO) ? "/dev/null"
                                                               : NULL,
                          .stdout_to_stderr = a->o->json,
                          .output = a->repeated ? 0 : forward->into[0],
                          .errors = forward->into[1],
                          .stdout_path = a->repeated ? "/dev/null" : NULL,
                          .pin = a->pinned ? &a->pin : NULL,
                          .no_core = a->choice.valgrind,
                          .files = (long)a->o->np * FILES_PER_RANK + 256};

    ti_status st;

    a->outcome.launched = ti_wall();
    st = ti_launch_start(&l, proc, err);
    ti_forward_started(forward);
    return st;
}

/* An inotify descriptor that reports when the program's file is opened, which happens at its
 * start; -1 if that cannot be watched. */
static int watch_program(const char *path)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), file = -1;
    char byte, events[4096];

    /* check that it works by opening the file here */
    if (fd >= 0 && inotify_add_watch(fd, path, IN_OPEN | IN_ACCESS) >= 0 &&
        (file = open(path, O_RDONLY | O_CLOEXEC)) >= 0 && read(file, &byte, 1) == 1 &&
        read(fd, events, sizeof events) > 0) {
        while (read(fd, events, sizeof events) > 0)
            ;
    } else if (fd >= 0) {
        close(fd);
        fd = -1;
    }
    if (file >= 0)
        close(file);
    return fd;
}

static bool was_opened(int fd)
{
    char events[4096];

    return fd < 0 || read(fd, events, sizeof events) > 0;
}

ti_status ti_acquisition_note_start(struct ti_acquisition *a, json_t *json, struct ti_err *err)
{
    char text[32];

    a->json = json;
    if (!a->json) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s/%s'", a->dir.given, TI_RUN_JSON);
    }
    json_object_set_new(a->json, "started", json_string(ti_time_text(ti_wall(), text)));
    json_object_set_new(a->json, "state", json_string("running"));
    return ti_rundir_write(&a->dir, a->json, err);
}

static json_t *pilot_step(const struct ti_acquisition *a)
{
    char text[32];

    return json_pack("{s:s, s:s, s:f}", "name", "probe", "started",
                     ti_time_text(a->pilot_started, text), "seconds",
                     (double)(int64_t)(a->pilot_seconds * 1e3) / 1e3);
}

void ti_acquisition_note_outcome(struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;
    char text[32];

    json_object_set_new(a->json, "ended", json_string(ti_time_text(o->ended, text)));
    json_object_set_new(a->json, "state", json_string(ti_outcome_word(o, &a->ranks)));
    json_object_set_new(a->json, "ranks", ti_ranks_json(&a->ranks));
    json_object_set_new(a->json, "negative_bursts", json_integer((json_int_t)a->ranks.negative));
    if (WIFEXITED(o->wait_status))
        json_object_set_new(a->json, "exit_status", json_integer(WEXITSTATUS(o->wait_status)));
    else
        json_object_set_new(a->json, "mpirun_signal", json_integer(WTERMSIG(o->wait_status)));
    if (o->signal)
        json_object_set_new(a->json, "signal", json_integer(o->signal));
}

static void note_end(struct ti_acquisition *a)
{
    json_t *steps = ti_steps_json(&a->outcome, &a->ranks);
    struct ti_err err;

    if (a->pilot_seconds > 0)
        json_array_insert_new(steps, 0, pilot_step(a));
    json_object_set_new(a->json, "steps", steps);
    ti_acquisition_note_outcome(a);
    if (ti_rundir_write(&a->dir, a->json, &err) != TI_OK)
        ti_warn("%s", err.text);
}

ti_status ti_acquisition_run(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_outcome *o = &a->outcome;
    struct ti_forward forward = {.from = {-1, -1}};
    struct ti_watch w;
    struct ti_proc proc;
    int64_t room;
    int opened;
    ti_status st = ti_acquisition_note_start(a, ti_acquisition_json(a), err);

    if (st == TI_OK)
        st = ti_watch_open(a->dir.fd, a->o->np, &w, err);
    if (st != TI_OK) {
        ti_rundir_unscratch(&a->dir);
        ti_rundir_discard(&a->dir, false);
        return st;
    }
    opened = watch_program(a->program.path);
    o->user_args = a->o->mpirun.n > 0;
    st = ti_forward_open(&forward, a->o->json ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO, err);
    if (st == TI_OK)
        st = launch(a, &forward, &proc, err);
    if (st == TI_OK) {
        watch(a, &proc, &w, &forward);
        o->ended = ti_wall();
        o->wait_status = proc.wait_status;
        if (!was_ended(o))
            o->left = ti_launch_sweep(&proc, LINGER_S, &o->swept);
        ti_watch_update(&w);
        if (w.started == w.np)
            o->started = w.last_start;
        o->not_started = !was_opened(opened);
    }
    ti_forward_close(&forward);
    if (opened >= 0)
        close(opened);
    ti_watch_close(&w);
    ti_rundir_unscratch(&a->dir);
    if (st != TI_OK) {
        ti_rundir_discard(&a->dir, false);
        return st;
    }
    if (o->swept)
        ti_warn("%d process%s outlived mpirun and %s ended", o->swept, o->swept == 1 ? "" : "es",
                o->swept == 1 ? "was" : "were");
    if (o->left)
        ti_warn("%d processes of the run could not be ended", o->left);
    st = ti_ranks_read(a->dir.path, a->o->np, a->run_id, &a->ranks, err);
    if (st != TI_OK)
        return st;
    note_end(a);
    room = ti_disk_free(a->dir.path);
    if (a->ranks.with_trace && !ti_ranks_complete(&a->ranks) && room >= 0 && room < 1 << 20)
        ti_warn("no space is left in '%s'", a->dir.given);
    a->signal = o->signal;
    return TI_OK;
}

/* --- gather -------------------------------------------------------------- */

ti_status ti_acquisition_gather(struct ti_acquisition *a, struct ti_err *err)
{
    bool complete = ti_ranks_complete(&a->ranks), remove = complete && !a->o->keep;
    struct ti_args args = {.n = 0};
    struct ti_launch l = {.stdin_path = "/dev/null", .stdout_to_stderr = true};
    struct ti_proc proc;
    ti_status st;

    if (!a->paths.gather[0]) {
        ti_err_set(err, TI_ERR_IO, "cannot find 'ti-gather' beside ti-acquire");
        ti_err_hint(err, "the traces are in '%s'", a->dir.given);
        return TI_ERR_IO;
    }
    ti_args_add(&args, a->paths.gather);
    ti_args_add(&args, "-q");
    ti_args_add(&args, "--trust"); /* RUN.json was written just now, by us */
    if (a->o->force)
        ti_args_add(&args, "--force");
    if (remove)
        ti_args_add(&args, "--remove");
    if (a->o->transport) {
        ti_args_add(&args, "--transport");
        ti_args_add(&args, a->o->transport);
    }
    ti_args_add(&args, a->dir.path);
    ti_args_add(&args, "-o");
    ti_args_add(&args, a->output);
    l.argv = args.v;
    st = ti_args_ok(&args) ? ti_launch_start(&l, &proc, err)
                           : ti_err_set(err, TI_ERR_IO, "cannot start ti-gather: out of memory");
    ti_args_free(&args);
    if (st != TI_OK)
        return st;
    while (ti_launch_running(&proc)) {
        int sig = ti_launch_sleep(POLL_MS);

        if (!sig)
            continue;
        a->signal = sig;
        kill(proc.pid, sig);
    }
    if (!WIFEXITED(proc.wait_status))
        return ti_err_set(err, TI_ERR_IO, "ti-gather was ended by signal %d (%s)",
                          WTERMSIG(proc.wait_status), strsignal(WTERMSIG(proc.wait_status)));
    st = (ti_status)WEXITSTATUS(proc.wait_status);
    a->bundled = st == TI_OK || st == TI_ERR_PARTIAL;
    if (!a->bundled) {
        ti_err_set(err, st, "the traces could not be gathered");
        ti_err_hint(err, "they are in '%s': 'ti-gather %s -o BUNDLE' tries again", a->dir.given,
                    a->dir.given);
    } else if (st == TI_OK && remove) {
        ti_rundir_discard(&a->dir, true);
    }
    return st;
}

/* --- the end of --json --------------------------------------------------- */

void ti_acquisition_summary(const struct ti_acquisition *a, ti_status st, const struct ti_err *err)
{
    json_t *json = a->json        ? json_incref(a->json)
                   : a->command.n ? ti_acquisition_json(a)
                                  : json_object();

    if (!json)
        return;
    if (a->ranks.end) {
        json_object_set_new(json, "events", json_integer((json_int_t)a->ranks.events));
        json_object_set_new(json, "bytes", json_integer(a->ranks.bytes));
        if (a->ranks.volume <= INT64_MAX)
            json_object_set_new(json, "volume", json_integer((json_int_t)a->ranks.volume));
        else
            json_object_set_new(json, "volume", json_sprintf("%" PRIu64, a->ranks.volume));
        json_object_set_new(json, "unit", json_string(a->ranks.unit));
        json_object_set_new(json, "init_seconds_max", json_real(a->ranks.init_seconds_max));
        json_object_set_new(json, "memory_bytes_max", json_integer(a->ranks.memory_bytes_max));
    }
    json_object_set_new(json, "bundle", a->bundled ? ti_json_text(a->output) : json_null());
    if (access(a->dir_name, F_OK) < 0)
        json_object_del(json, "directory");
    json_object_set_new(json, "status", json_integer(st));
    if (err->text[0])
        json_object_set_new(json, "error", ti_json_text(err->text));
    if (err->hint[0])
        json_object_set_new(json, "hint", ti_json_text(err->hint));
    json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(json);
}
