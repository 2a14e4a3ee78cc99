/* The back end for this machine. */

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "acquire/plan/place.h"
#include "acquire/run/acquisition.h"
#include "acquire/run/environment.h"
#include "acquire/run/measure.h"
#include "acquire/run/preflight.h"
#include "acquire/run/supervise.h"
#include "common/beside.h"
#include "common/json.h"
#include "node/watch.h"

#define GRACE_S        5.0 /* for mpirun to end after SIGTERM */
#define LINGER_S       1.0 /* for ranks to end after mpirun has */
#define FILES_PER_RANK 16

/* While mpirun runs. */
struct local {
    struct ti_watch watch; /* of the run directory */
    struct ti_forward forward;
    struct ti_proc proc;
    int opened;  /* see watch_program() */
    int signals; /* readable while a signal is pending */
};

static ti_status check(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = ti_preflight_here(a, err);
    struct ti_err why;

    if (st == TI_OK)
        st = ti_place_check_local(a->o, a->machine.host, a->machine.cores, err);
    if (st == TI_OK)
        st = ti_preflight_output(a, err);
    if (st == TI_OK && a->o->dry_run && ti_rundir_peek(a->dir_name, a->o->force, &why) != TI_OK)
        ti_warn("%s: a run would be refused", why.text);
    return st;
}

/* --- the plan ------------------------------------------------------------ */

/* Plan by the model of --pilot. */
static ti_status by_pilot(struct ti_acquisition *a, struct ti_plan_in *in, struct ti_err *err)
{
    ti_status st = ti_pilot_model(a, a->o->pilot, &a->model, err);

    if (st != TI_OK)
        return st;
    in->source = TI_MEMORY_MODEL;
    in->model = &a->model;
    ti_plan_make(in, &a->plan);
    if (ti_memory_model_far(&a->model, a->o->np))
        ti_warn("what a rank of %" PRId64 " takes is extrapolated far: from %" PRId64
                " ranks, with %.0f %% added for safety",
                a->o->np, a->model.point[a->model.n - 1].np,
                ti_memory_model_margin_pct(&a->model, a->o->np));
    return TI_OK;
}

/* No pilot is run if this much memory is available per rank: few programs need more, and a run
 * is ended before memory is short. */
#define NO_PILOT_BYTES (INT64_C(1) << 30)

/* Without folding a rank needs no more memory than without us. */
static bool needs_pilot(const struct ti_acquisition *a)
{
    return !a->o->rank_bytes && !a->o->no_pilot && a->plan.folding > 1 &&
           a->plan.available_bytes / a->o->np <
               ti_plan_rank_bytes(NO_PILOT_BYTES, a->choice.valgrind);
}

static ti_status make_plan(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_plan_in in = {.np = a->o->np,
                            .cores = a->machine.cores,
                            .available_bytes = a->machine.memory_bytes,
                            .reserve_bytes = a->o->reserve_bytes,
                            .valgrind = a->choice.valgrind};
    ti_status st = TI_OK;

    if (a->o->rank_bytes) {
        in.source = TI_MEMORY_GIVEN;
        in.app_bytes = a->o->rank_bytes;
    }
    ti_plan_make(&in, &a->plan);
    if (a->o->pilot || (needs_pilot(a) && !a->o->dry_run)) {
        ti_step_begin(a, TI_STEP_PILOT);
        st = a->o->pilot ? by_pilot(a, &in, err) : ti_measure_memory(a, &in, err);
        ti_step_end(a, TI_STEP_PILOT);
    }
    if (st == TI_OK)
        st = ti_plan_check(&a->plan, err);
    return st;
}

/* The command between mpirun and the program; `env` is what mpirun gives the command. */
static ti_status wrapper(const struct ti_acquisition *a, struct ti_args *env, struct ti_args *w,
                         struct ti_err *err)
{
    struct ti_container container;
    ti_status st = TI_OK;
    char path[PATH_MAX];

    if (a->plan.idle && ti_find_on_path("chrt", path))
        ti_args_add(w, "chrt", "-i", "0");
    if (ti_environment_container(a, &container))
        st = ti_container_words(&container, env, w, err);
    ti_environment_wrapper(a, w);
    return st;
}

static ti_status make_command(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_args env = {.n = 0}, wrap = {.n = 0};
    struct ti_mpirun_program *more = calloc((size_t)a->o->nmore + 1, sizeof *more);
    struct ti_mpirun_job run = {.np = ti_options_first_np(a->o),
                                .tmp = a->dir.tmp[0] ? a->dir.tmp : NULL,
                                .shm = a->dir.shm[0] ? a->dir.shm : NULL,
                                .env = &env,
                                .user = &a->o->mpirun,
                                .wrapper = &wrap,
                                .program = &a->o->program,
                                .more = more,
                                .nmore = a->o->nmore};
    char here[PATH_MAX] = "";
    ti_status st;

    if (!more)
        return ti_err_errno(err, TI_ERR_IO, "cannot put mpirun's command together");
    for (int i = 0; i < run.nmore; i++)
        more[i] = (struct ti_mpirun_program){a->o->more[i].np, &a->o->more[i].words, NULL};
    /* An absolute path: ranks may change directory before they write. */
    if (!a->dir.given[0] && (a->dir_name[0] == '/' || getcwd(here, sizeof here)) &&
        snprintf(a->dir.path, sizeof a->dir.path, "%s%s%s", here, *here ? "/" : "", a->dir_name) >=
            (int)sizeof a->dir.path) {
        free(more);
        return ti_err_set(err, TI_ERR_USAGE, "the run directory's name is too long");
    }
    ti_environment_here(a, &env);
    st = wrapper(a, &env, &wrap, err);
    if (st == TI_OK)
        st = ti_mpirun_command(&a->mpirun, &a->plan, &run, &a->command, err);
    ti_args_free(&env);
    ti_args_free(&wrap);
    free(more);
    return st;
}

static ti_status plan(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = make_plan(a, err);

    if (st == TI_OK)
        st = make_command(a, err);
    a->planned = st == TI_OK;
    return st;
}

static void print_ranks(const struct ti_acquisition *a, FILE *out)
{
    char text[256], size[32];

    ti_print(out, "  mode      %s: %" PRId64 " rank%s on %d core%s of %s", a->plan.mode, a->plan.np,
             a->plan.np == 1 ? "" : "s", a->plan.cores, a->plan.cores == 1 ? "" : "s",
             a->machine.host);
    if (a->plan.folding > 1)
        ti_print(out, ", up to %" PRId64 " a core", a->plan.folding);
    ti_print(out, "\n  memory    %s (%s, %s left for the system)\n",
             ti_plan_memory_text(&a->plan, text, sizeof text), a->machine.limited_by,
             ti_format_size(a->plan.reserve_bytes, size, sizeof size));
    if (a->o->dry_run && !a->o->pilot && needs_pilot(a))
        ti_print(out, "  pilot     the program first runs briefly with few ranks, to measure its "
                      "memory\n");
}

static void print_traces(const struct ti_acquisition *a, FILE *out)
{
    int64_t room = ti_disk_free(a->dir.given[0] ? a->dir.path : ".");
    char size[32];

    ti_print(out, "  traces    %s", a->dir_name);
    if (room >= 0)
        ti_print(out, " (%s free)", ti_format_size(room, size, sizeof size));
    fputc('\n', out);
}

static void describe(const struct ti_acquisition *a, json_t *json)
{
    json_t *plan_json = a->planned ? ti_plan_json(&a->plan) : NULL;

    if (plan_json && a->o->pin)
        json_object_set_new(plan_json, "pin", ti_json_text(a->o->pin));
    if (plan_json)
        json_object_set_new(json, "plan", plan_json);
}

/* --- the run ------------------------------------------------------------- */

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

static ti_status open_run(struct ti_acquisition *a, struct ti_err *err)
{
    struct local *l = calloc(1, sizeof *l);
    ti_status st;

    if (!l)
        return ti_err_errno(err, TI_ERR_IO, "cannot watch the run");
    st = ti_watch_open(a->dir.fd, a->o->np, &l->watch, err);
    if (st != TI_OK) {
        free(l);
        return st;
    }
    l->opened = a->o->container ? -1 : watch_program(a->program.path);
    l->signals = ti_launch_signal_fd();
    a->state = l;
    a->proc = &l->proc;
    a->forward = &l->forward;
    return ti_forward_open(&l->forward, a->o->json ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO,
                           err);
}

static ti_status start(struct ti_acquisition *a, struct ti_err *err)
{
    struct local *run = a->state;
    struct ti_launch l = {.argv = a->command.v,
                          .timer_slack = a->plan.timer_slack,
                          .run_id = a->run_id,
                          .stdin_path = a->repeated            ? ti_environment_input()
                                        : isatty(STDIN_FILENO) ? "/dev/null"
                                                               : NULL,
                          .stdout_to_stderr = a->o->json,
                          .output = a->repeated ? 0 : run->forward.into[0],
                          .errors = run->forward.into[1],
                          .stdout_path = a->repeated ? "/dev/null" : NULL,
                          .pin = a->pinned ? &a->pin : NULL,
                          .no_core = a->choice.valgrind,
                          .files = (long)a->o->np * FILES_PER_RANK + 256};
    ti_status st;

    a->outcome.launched = ti_wall();
    st = ti_launch_start(&l, &run->proc, err);
    ti_forward_started(&run->forward);
    return st;
}

static int wait_for(struct ti_acquisition *a, int ms)
{
    struct local *l = a->state;

    if (!l || !ms || (l->forward.from[0] < 0 && l->forward.from[1] < 0))
        return ti_launch_sleep(ms);
    ti_forward_some(&l->forward, l->signals, ms);
    return ti_launch_sleep(0);
}

static void update(struct ti_acquisition *a, struct ti_run_progress *p)
{
    struct local *l = a->state;

    ti_watch_update(&l->watch);
    *p = (struct ti_run_progress){.started = l->watch.started,
                                  .finished = l->watch.finished,
                                  .bytes = l->watch.bytes,
                                  .last_start = l->watch.last_start};
    if (l->proc.running && ti_machine_room() < a->o->reserve_bytes / 4)
        a->outcome.out_of_memory = true;
}

static void show_ending(void *arg)
{
    struct ti_acquisition *a = arg;

    ti_forward_some(a->forward, -1, 0);
    ti_supervise_show(a, "ending the run");
}

static void end(struct ti_acquisition *a)
{
    a->outcome.left = ti_launch_end(a->proc, GRACE_S, show_ending, a);
}

static void sweep(struct ti_acquisition *a)
{
    a->outcome.left = ti_launch_sweep(a->proc, LINGER_S, &a->outcome.swept);
}

static void stop(struct ti_acquisition *a)
{
    struct local *l = a->state;

    if (!l)
        return;
    ti_forward_close(&l->forward);
    a->outcome.not_started = !was_opened(l->opened);
    if (l->opened >= 0)
        close(l->opened);
    if (l->signals >= 0)
        close(l->signals);
    ti_watch_close(&l->watch);
    free(l);
    a->state = NULL;
    a->proc = NULL;
    a->forward = NULL;
}

/* --- the end ------------------------------------------------------------- */

static ti_status collect(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = ti_ranks_read(a->dir.path, a->o->np, a->run_id, &a->ranks, err);
    int64_t room = ti_disk_free(a->dir.path);

    if (st == TI_OK && a->ranks.with_trace && !ti_ranks_complete(&a->ranks) && room >= 0 &&
        room < 1 << 20)
        ti_warn("no space is left in '%s'", a->dir.given);
    return st;
}

/* Of a failed run nothing is kept that has no events. */
static void say_where(struct ti_acquisition *a, ti_status app)
{
    bool complete = ti_ranks_complete(&a->ranks), failed = app != TI_OK && !complete;
    bool keep = a->o->keep || a->o->no_gather;

    if (failed && !a->ranks.with_trace) {
        ti_rundir_discard(&a->dir, false);
        return;
    }
    if (!complete)
        ti_ranks_say(&a->ranks);
    if (!failed) {
        ti_say("the traces are in '%s'", a->dir.given);
    } else if (a->ranks.events) {
        ti_say("the traces are in '%s': 'ti-info %s' shows them, 'ti-gather %s -o %s' bundles "
               "them",
               a->dir.given, a->dir.given, a->dir.given, a->output);
    } else {
        ti_say("nothing was written yet: the traces hold no events%s; --buffer 4K writes earlier",
               keep ? "" : ", and are removed");
        if (!keep) {
            ti_rundir_remove(a->dir.path);
            ti_rundir_discard(&a->dir, true);
        }
    }
}

const struct ti_backend ti_backend_local = {
    .check = check,
    .plan = plan,
    .print_ranks = print_ranks,
    .print_traces = print_traces,
    .describe = describe,
    .open = open_run,
    .start = start,
    .wait = wait_for,
    .update = update,
    .end = end,
    .sweep = sweep,
    .stop = stop,
    .collect = collect,
    .say_where = say_where,
};
