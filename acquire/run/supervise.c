#include "acquire/run/supervise.h"

#include <inttypes.h>
#include <string.h>

#define POLL_MS 250

static void show(const struct ti_acquisition *a, const struct ti_run_progress *p, const char *what)
{
    char size[32], nodes[48] = "";

    if (a->forward->open_line)
        return;
    if (p->nodes)
        snprintf(nodes, sizeof nodes, " on %" PRId64 " nodes", p->nodes);
    ti_progress(
        "%s: %" PRId64 " of %" PRId64 " ranks started, %" PRId64 " finished, %s traced%s, %.0f s",
        what, p->started, a->o->np, p->finished, ti_format_size(p->bytes, size, sizeof size), nodes,
        ti_wall() - a->outcome.launched);
}

void ti_supervise_show(struct ti_acquisition *a, const char *what)
{
    struct ti_run_progress p = {.started = 0};

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

    return o->signal || o->timed_out || o->out_of_memory || a->lost_nodes;
}

static void say_why(const struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;

    ti_progress_clear();
    if (o->signal)
        ti_say("%s: ending the run", strsignal(o->signal));
    else if (o->timed_out)
        ti_say("time is up: ending the run");
    else if (o->out_of_memory && a->short_of_memory[0])
        ti_say("memory is running out on node '%s': ending the run", a->short_of_memory);
    else if (o->out_of_memory)
        ti_say("memory is running out: ending the run");
    else
        ti_say("%s: ending the run", a->lost.text);
}

/* Watch until mpirun ends or has to be ended.  Returns whether it was ended. */
static bool watch(struct ti_acquisition *a)
{
    struct ti_outcome *o = &a->outcome;
    double start = ti_now(), look_s = 0;

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
        if (has_to_end(a)) {
            say_why(a);
            a->backend->end(a);
            return true;
        }
        show(a, &p, a->label ? a->label : "running");
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
    ti_status st;

    o->user_args = a->o->mpirun.n > 0;
    st = a->backend->start(a, err);
    if (st == TI_OK) {
        bool ended = watch(a);

        ti_progress_clear();
        o->ended = ti_wall();
        o->wait_status = a->proc->wait_status;
        if (!ended)
            a->backend->sweep(a);
        look(a);
        ti_runlog_note(&a->log, "mpirun ended with wait status %#x", (unsigned)o->wait_status);
    } else {
        o->launched = 0;
    }
    a->backend->stop(a);
    if (st != TI_OK)
        return st;
    say_what_was_ended(a);
    a->signal = o->signal;
    return a->lost_nodes && !a->signal ? ti_acquisition_lost_error(a, err) : TI_OK;
}
