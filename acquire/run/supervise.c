#include "acquire/run/supervise.h"

#include <inttypes.h>
#include <string.h>

#define POLL_MS    250
#define FINALIZE_S 30.0

/* Find a former run, by which the end of this one is estimated. */
static void find_former(struct ti_acquisition *a)
{
    const char *command = json_string_value(json_object_get(a->json, "command"));
    const char *where[] = {a->dir_name, a->output};

    if (!ti_progress_on() || a->label || !command || !a->choice.of)
        return;
    for (int i = 0; i < 2 && !a->former.np; i++)
        if (where[i][0])
            ti_former_find(where[i], a->application, a->o->np, command, a->choice.of->name,
                           &a->former);
}

/* Seconds until the application ends, by a former run; below 0: not known. */
static double left_of(const struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;
    double left;

    if (!a->former.np)
        return -1;
    left = ti_estimate_seconds(&a->former, a->o->np, a->plan.folding) -
           (o->started > 0 ? ti_wall() - o->started : 0);
    return left > 0 ? left : -1;
}

/* Of one of several runs: how many of them were done. */
static void show_runs(const struct ti_acquisition *a, const char *ranks)
{
    char note[256];

    snprintf(note, sizeof note, "%s, %s", a->label, ranks);
    ti_progress_show(&(struct ti_progress){
        .step = "measuring", .unit = "runs", .done = a->nth, .of = a->nruns, .note = note});
}

static void show(const struct ti_acquisition *a, const struct ti_run_progress *p, const char *what)
{
    char nodes[48] = "", ranks[160];

    if (a->forward->open_line)
        return;
    if (p->nodes)
        snprintf(nodes, sizeof nodes, " on %" PRId64 " nodes", p->nodes);
    snprintf(ranks, sizeof ranks,
             "%" PRId64 " of %" PRId64 " ranks started, %" PRId64 " finished%s", p->started,
             a->o->np, p->finished, nodes);
    if (a->label)
        show_runs(a, ranks);
    else
        ti_progress_show(
            &(struct ti_progress){.step = what,
                                  .unit = "bytes",
                                  .done = p->bytes,
                                  .of = a->former.bytes > p->bytes ? a->former.bytes : 0,
                                  .left_s = left_of(a),
                                  .note = ranks,
                                  .also = {{"ranks_started", (double)p->started},
                                           {"ranks_finished", (double)p->finished}}});
}

/* mpirun has ended, and its output, too.  `p`: the traces that it left. */
static void show_end(const struct ti_acquisition *a, const struct ti_run_progress *p, bool complete)
{
    if (a->label) {
        ti_progress_clear();
        return;
    }
    if (complete)
        ti_progress_show(&(struct ti_progress){.step = "running",
                                               .unit = "bytes",
                                               .done = p->bytes,
                                               .of = p->bytes,
                                               .also = {{"ranks_started", (double)p->started},
                                                        {"ranks_finished", (double)p->finished}}});
    ti_progress_end(complete);
}

void ti_supervise_show(struct ti_acquisition *a, const char *what)
{
    struct ti_run_progress p = {.started = 0};

    a->former = (struct ti_former){.np = 0}; /* this run does not end as that one did */
    a->backend->update(a, &p);
    show(a, &p, what);
}

/* Update the progress, and note when all ranks have started. */
static struct ti_run_progress look(struct ti_acquisition *a)
{
    struct ti_run_progress p = {.started = 0};

    a->backend->update(a, &p);
    if (p.started < a->o->np || a->outcome.started > 0)
        return p;
    a->outcome.started = p.last_start;
    ti_runlog_note(&a->log, "all %" PRId64 " ranks have started", p.started);
    if (a->o->verbose)
        ti_say("all %" PRId64 " ranks started after %.1f s", p.started,
               p.last_start - a->outcome.launched);
    return p;
}

static bool has_to_end(const struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;

    return o->signal || o->timed_out || o->out_of_memory || o->hung || a->lost_nodes;
}

static void say_why(const struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;

    ti_progress_clear();
    if (o->signal)
        ti_say("%s: ending the run", strsignal(o->signal));
    else if (o->timed_out)
        ti_say("time is up: ending the run");
    else if (o->hung)
        ti_say("all traces are complete, and the program has not ended for %.0f s: ending the run, "
               "since MPI_Finalize of MPICH %s may hang on several nodes",
               FINALIZE_S, a->mpirun.version);
    else if (o->out_of_memory && a->short_of_memory[0])
        ti_say("memory is running out on node '%s': ending the run", a->short_of_memory);
    else if (o->out_of_memory)
        ti_say("memory is running out: ending the run");
    else
        ti_say("%s: ending the run", a->lost.text);
}

/* MPI_Finalize of MPICH before 4.2 may hang where UCX carries messages between nodes: ranks wait in
 * a barrier of the launcher, without the progress that others need to disconnect from them.  Traces
 * are closed before MPI_Finalize, so nothing is lost. */
static bool hangs(const struct ti_acquisition *a, const struct ti_run_progress *p, double now,
                  double *since)
{
    const struct ti_mpirun *m = &a->mpirun;

    if (!a->sites || !m->hydra || m->major * 100 + m->minor >= 402 || p->finished < a->o->np)
        return false;
    if (*since < 0)
        *since = now;
    return now - *since > FINALIZE_S;
}

/* Watch until mpirun ends or has to be ended.  Returns whether it was ended. */
static bool watch(struct ti_acquisition *a)
{
    struct ti_outcome *o = &a->outcome;
    double start = ti_now(), look_s = 0, finished = -1;

    while (ti_launch_running(a->proc)) {
        struct ti_run_progress p;
        double now;

        /* looking takes at most a tenth of the time */
        o->signal = a->backend->wait(a, look_s * 10e3 > POLL_MS ? (int)(look_s * 10e3) : POLL_MS);
        now = ti_now();
        p = look(a);
        look_s = ti_now() - now;
        if (a->o->timeout_s && now - start > (double)a->o->timeout_s)
            o->timed_out = !o->signal;
        o->hung = !has_to_end(a) && hangs(a, &p, now, &finished);
        if (has_to_end(a)) {
            say_why(a);
            a->backend->end(a);
            return true;
        }
        show(a, &p, "running");
    }
    /* A signal to the whole process group may have ended mpirun before mpirun had its own group.
     * Then the signal is still pending here. */
    if (a->proc->wait_status != 0)
        o->signal = a->backend->wait(a, 0);
    return false;
}

static void say_what_was_ended(const struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;

    if (o->swept && !has_to_end(a))
        ti_warn("%d process%s outlived mpirun and %s ended", o->swept, o->swept == 1 ? "" : "es",
                o->swept == 1 ? "was" : "were");
    if (o->left)
        ti_warn("%d processes of the run could not be ended", o->left);
    if (o->not_told)
        ti_warn("%" PRId64 " node%s could not be told to end the run: what runs there ends when "
                "the connection is found broken",
                o->not_told, o->not_told == 1 ? "" : "s");
}

ti_status ti_supervise(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_outcome *o = &a->outcome;
    struct ti_run_progress p = {.started = 0};
    bool complete = false;
    ti_status st;

    o->user_args = a->o->mpirun.n > 0;
    find_former(a);
    st = a->backend->start(a, err);
    if (st == TI_OK) {
        bool ended = watch(a);

        ti_progress_clear();
        o->ended = ti_wall();
        o->wait_status = a->proc->wait_status;
        if (!ended)
            a->backend->sweep(a);
        p = look(a);
        complete = !ended && o->wait_status == 0;
        ti_runlog_note(&a->log, "mpirun ended with wait status %#x", (unsigned)o->wait_status);
    } else {
        o->launched = 0;
    }
    a->backend->stop(a);
    show_end(a, &p, complete);
    if (st != TI_OK)
        return st;
    say_what_was_ended(a);
    a->signal = o->signal;
    return a->lost_nodes && !a->signal ? ti_acquisition_lost_error(a, err) : TI_OK;
}
