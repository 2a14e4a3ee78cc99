/* Watching the run: progress, nodes in trouble, and how everything is ended. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acquire/run/nodes.h"
#include "node/watch.h"

#define POLL_MS      250
#define STATUS_MS    1000
#define LAST_MS      50 /* between status messages after the end of mpirun */
#define LAST_S       2.0
#define MANY_NODES   64   /* from here on nodes report less often */
#define QUIET_S      15.0 /* silence of a node after which a warning is given */
#define DEAF_S       5.0  /* a longer gap between two checks was ours */
#define GRACE_S      5.0  /* for mpirun to end after SIGTERM */
#define NODE_GRACE_S 1.0  /* for ranks to end after mpirun has */
#define END_LIMIT_S  20.0 /* for a node to end all processes and answer */
#define MEMORY_TIGHT                                                                               \
    4 /* the run is ended when less than 1 / MEMORY_TIGHT of a node's reserve is left */
#define DISK_BYTES   (INT64_C(64) << 10)
#define SWAP_BYTES   (INT64_C(16) << 20)

const char *ti__text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

ti_status ti__nodes_interrupted(struct ti_nodes_backend *b, struct ti_err *err)
{
    b->a->signal = b->fleet->sig;
    return ti_err_set(err, TI_ERR_APP, "interrupted by signal %d (%s)", b->a->signal,
                      strsignal(b->a->signal));
}

ti_status ti__nodes_lost(struct ti_nodes_backend *b, struct ti_err *err)
{
    *err = b->lost;
    if (b->nlost > 1)
        ti_err_prefix(err, TI_ERR_REMOTE, "%" PRId64 " nodes were lost", b->nlost);
    if (b->sites->origin == TI_SITES_SLURM && strstr(err->text, "CANCELLED"))
        ti_err_hint(err, "the job was cancelled or ran out of time, and with it the run: scancel, "
                         "sbatch --time");
    if (!err->hint[0])
        ti_err_hint(err, "--exclude leaves it out; --retry N does so by itself");
    return TI_ERR_REMOTE;
}

/* --- totals -------------------------------------------------------------- */

#define CLOCKS_S 86400.0 /* that a node's clock may be ahead of ours */

struct totals {
    int64_t started, finished, bytes, heard;
    double last_start;
};

/* A number of a node's status, limited so that the sum over all nodes cannot overflow, whatever a
 * node sends. */
static int64_t number(const json_t *status, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(status, key));

    return v < 0 ? 0 : v > INT64_C(1) << 45 ? INT64_C(1) << 45 : v;
}

static struct totals add_up(const struct ti_nodes_backend *b)
{
    double now = ti_wall() + CLOCKS_S;
    struct totals t = {0};

    for (int64_t i = 0; i < b->nused; i++) {
        const json_t *s = b->used[i].status;
        double last = json_number_value(json_object_get(s, "last_start"));

        t.heard += s != NULL;
        t.started += number(s, "started");
        t.finished += number(s, "finished");
        t.bytes += number(s, "bytes");
        if (last > t.last_start && last <= now)
            t.last_start = last;
    }
    return t;
}

static void show(const struct ti_nodes_backend *b, const char *what, double seconds)
{
    struct totals t = add_up(b);
    char size[32];

    ti_progress("%s: %" PRId64 " of %" PRId64 " ranks started, %" PRId64 " finished, %s traced on "
                "%" PRId64 " nodes, %.0f s",
                what, t.started, b->a->o->np, t.finished,
                ti_format_size(t.bytes, size, sizeof size), b->nused, seconds);
}

/* --- nodes in trouble ---------------------------------------------------- */

static void check_memory(struct ti_nodes_backend *b, struct ti_used_node *u)
{
    const char *name = b->sites->node[u->node].name;
    int64_t swap = number(u->status, "swap_out_bytes");
    char text[32];

    if (swap > SWAP_BYTES && !u->swapped) {
        u->swapped = true;
        ti_progress_clear();
        ti_warn("node '%s' swaps: %s so far; its ranks will be slow, and fewer fit", name,
                ti_format_size(swap, text, sizeof text));
        ti_runlog_note(&b->log, "%s swaps", name);
    }
    if (json_is_integer(json_object_get(u->status, "room_bytes")) &&
        number(u->status, "room_bytes") <
            ti_node_resources(&b->in, u->node).reserve_bytes / MEMORY_TIGHT &&
        !u->short_of_memory) {
        u->short_of_memory = true;
        b->a->outcome.out_of_memory = true;
        snprintf(b->short_of_memory, sizeof b->short_of_memory, "%s", name);
    }
}

static void check_disk(struct ti_nodes_backend *b, struct ti_used_node *u)
{
    const char *name = b->sites->node[u->node].name;

    if (u->disk_full || !json_is_integer(json_object_get(u->status, "free_bytes")) ||
        number(u->status, "free_bytes") >= DISK_BYTES)
        return;
    u->disk_full = true;
    ti_progress_clear();
    ti_warn("node '%s': its disk is full, traces in '%s' are being cut off", name, u->directory);
    ti_runlog_note(&b->log, "%s has no room in %s", name, u->directory);
}

/* Warn of trouble on nodes, and of nodes that report nothing.  Silence during a gap of our own does
 * not count: this process may have been stopped, or blocked by the reader of its output. */
static void check_nodes(struct ti_nodes_backend *b, double *checked_at)
{
    double now = ti_now();
    bool deaf = now - *checked_at > DEAF_S;

    *checked_at = now;
    for (int64_t i = 0; i < b->nused; i++) {
        struct ti_used_node *u = &b->used[i];

        if (deaf)
            u->status_at = now;
        if (b->fleet->member[u->node].state != TI_NODE_READY)
            continue;
        if (u->status) {
            check_memory(b, u);
            check_disk(b, u);
        }
        if (now - u->status_at > QUIET_S && u->warned_status_at != u->status_at) {
            u->warned_status_at = u->status_at;
            ti_progress_clear();
            ti_warn("node '%s' has said nothing for %.0f s", b->sites->node[u->node].name, QUIET_S);
        }
    }
}

/* --- ending -------------------------------------------------------------- */

static json_t *end_request(struct ti_fleet *f, int64_t node, void *arg)
{
    struct ti_nodes_backend *b = arg;
    const struct ti_used_node *u = ti__nodes_used(b, node);

    (void)f;
    if (!u || !u->open)
        return NULL;
    return json_pack("{s:s, s:f}", "do", "end", "grace_s", NODE_GRACE_S);
}

/* End all processes of the run on the nodes; returns how many there were. */
static int64_t end_on_nodes(struct ti_nodes_backend *b)
{
    int64_t found = 0;

    b->not_ended = 0;
    ti_fleet_ask_all(b->fleet, end_request, b, END_LIMIT_S, "ending the run");
    for (int64_t i = 0; i < b->nused; i++) {
        const struct ti_fleet_node *m = &b->fleet->member[b->used[i].node];

        if (!b->used[i].open)
            continue;
        if (!ti_fleet_ok(b->fleet, b->used[i].node, NULL)) {
            b->not_ended++;
            ti_runlog_note(&b->log, "%s was not told to end the run",
                           b->sites->node[b->used[i].node].name);
            continue;
        }
        found += number(m->answer, "found");
        b->a->outcome.left += (int)number(m->answer, "left");
    }
    ti_runlog_note(&b->log, "%" PRId64 " processes were ended on the nodes", found);
    return found;
}

static void wait_for(struct ti_nodes_backend *b, struct ti_mpirun_proc *p, double seconds)
{
    double until = ti_now() + seconds;

    while (ti_launch_running(&p->proc) && ti_now() < until && !b->fleet->sig)
        ti_fleet_poll(b->fleet, POLL_MS);
}

/* End mpirun first, which ends its daemons; then let the ti-nodes end what is left.  A second
 * signal shortens the waits. */
void ti__nodes_end(struct ti_nodes_backend *b, struct ti_mpirun_proc *p)
{
    int sig = b->fleet->sig;
    int found;

    b->fleet->sig = 0;
    if (ti_launch_running(&p->proc)) {
        /* our own message is clearer */
        p->mute = true;
        kill(p->proc.pid, SIGTERM);
        /* mpirun would wait for the lost node */
        wait_for(b, p, b->nlost ? GRACE_S / 5 : GRACE_S);
    }
    if (ti_launch_running(&p->proc)) {
        killpg(p->proc.pid, SIGKILL);
        b->fleet->sig = 0;
        wait_for(b, p, GRACE_S);
    }
    b->fleet->sig = 0;
    end_on_nodes(b);
    b->a->outcome.left += ti_launch_sweep(&p->proc, 0.2, &found);
    if (!b->fleet->sig)
        b->fleet->sig = sig;
}

/* --- watching ------------------------------------------------------------ */

static json_t *watch_request(struct ti_fleet *f, int64_t node, void *arg)
{
    struct ti_nodes_backend *b = arg;

    (void)f;
    if (!ti__nodes_used(b, node))
        return NULL;
    return json_pack("{s:s, s:i}", "do", "watch", "every_ms",
                     b->nused > MANY_NODES ? 3 * STATUS_MS : STATUS_MS);
}

static bool has_to_end(const struct ti_nodes_backend *b)
{
    const struct ti_outcome *o = &b->a->outcome;

    return o->signal || o->timed_out || o->out_of_memory || b->nlost;
}

static void say_why(struct ti_nodes_backend *b)
{
    const struct ti_outcome *o = &b->a->outcome;

    ti_progress_clear();
    if (o->signal)
        ti_say("%s: ending the run", strsignal(o->signal));
    else if (o->timed_out)
        ti_say("time is up: ending the run");
    else if (o->out_of_memory)
        ti_say("memory is running out on node '%s': ending the run", b->short_of_memory);
    else
        ti_say("%s: ending the run", b->lost.text);
}

static void note_progress(struct ti_nodes_backend *b, bool *all_said)
{
    struct totals t = add_up(b);

    if (t.started < b->a->o->np || *all_said)
        return;
    *all_said = true;
    b->a->outcome.started = t.last_start;
    ti_runlog_note(&b->log, "all %" PRId64 " ranks have started", t.started);
    if (b->a->o->verbose)
        ti_say("all %" PRId64 " ranks started after %.1f s", t.started,
               t.last_start - b->a->outcome.launched);
}

static void watch(struct ti_nodes_backend *b, struct ti_mpirun_proc *p)
{
    struct ti_acquisition *a = b->a;
    double start = ti_now(), checked_at = start;
    bool all_said = false;

    for (int64_t i = 0; i < b->nused; i++)
        b->used[i].status_at = start;
    while (ti_launch_running(&p->proc)) {
        bool due;

        ti_fleet_poll(b->fleet, POLL_MS);
        /* hundreds of nodes report hundreds of times a second: do not check all of them each time
         */
        due = ti_now() - checked_at >= POLL_MS / 1e3;
        if (due) {
            check_nodes(b, &checked_at);
            note_progress(b, &all_said);
        }
        if (b->fleet->sig)
            a->outcome.signal = b->fleet->sig;
        else if (a->o->timeout_s && ti_now() - start > (double)a->o->timeout_s)
            a->outcome.timed_out = true;
        if (has_to_end(b)) {
            say_why(b);
            ti__nodes_end(b, p);
            break;
        }
        if (due && !p->forward.open_line)
            show(b, "running", ti_now() - start);
    }
    note_progress(b, &all_said);
    ti_progress_clear();
}

static json_t *stop_request(struct ti_fleet *f, int64_t node, void *arg)
{
    (void)f;
    if (!ti__nodes_used(arg, node))
        return NULL;
    return json_pack("{s:s, s:i}", "do", "watch", "every_ms", 0);
}

static json_t *last_request(struct ti_fleet *f, int64_t node, void *arg)
{
    (void)f;
    if (!ti__nodes_used(arg, node))
        return NULL;
    return json_pack("{s:s, s:i}", "do", "watch", "every_ms", LAST_MS);
}

/* A short program may end before its nodes have reported its start: ask for the last status. */
static void collect_last_status(struct ti_nodes_backend *b)
{
    double now = ti_now();
    bool all_said = false, all_told = false;

    ti_fleet_ask_all(b->fleet, last_request, b, END_LIMIT_S, "looking");
    while (!all_told && ti_now() - now < LAST_S && !b->fleet->sig) {
        ti_fleet_poll(b->fleet, LAST_MS);
        all_told = true;
        for (int64_t i = 0; i < b->nused; i++)
            all_told = all_told && b->used[i].status && b->used[i].status_at > now;
    }
    note_progress(b, &all_said);
}

static void say_what_was_ended(struct ti_nodes_backend *b)
{
    const struct ti_outcome *o = &b->a->outcome;

    if (o->swept && !has_to_end(b))
        ti_warn("%d process%s outlived mpirun and %s ended", o->swept, o->swept == 1 ? "" : "es",
                o->swept == 1 ? "was" : "were");
    if (o->left)
        ti_warn("%d processes of the run could not be ended", o->left);
    if (b->not_ended)
        ti_warn("%" PRId64 " node%s could not be told to end the run: what runs there ends when "
                "the connection is found broken",
                b->not_ended, b->not_ended == 1 ? "" : "s");
}

ti_status ti__nodes_launch(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    struct ti_mpirun_proc p;
    ti_status st = ti__nodes_command(b, false, &a->command, err);

    if (st != TI_OK)
        return st;
    ti_fleet_ask_all(b->fleet, watch_request, b, END_LIMIT_S, "watching");
    if (b->fleet->sig)
        return ti__nodes_interrupted(b, err);
    if (b->nlost)
        return ti__nodes_lost(b, err);
    a->outcome.user_args = a->o->mpirun.n > 0;
    a->outcome.launched = ti_wall();
    ti__step_begin(b, TI_STEP_START);
    st = ti__mpirun_start(b, &a->command, false, &p, err);
    if (st != TI_OK) {
        a->outcome.launched = 0;
        return st;
    }
    for (int64_t i = 0; i < b->nused; i++)
        b->fleet->member[b->used[i].node].doing = "running its ranks";
    watch(b, &p);
    b->fleet->sig = 0; /* handled; a further signal shortens what follows */
    a->outcome.ended = ti_wall();
    a->outcome.wait_status = p.proc.wait_status;
    if (!has_to_end(b)) {
        int found;

        if (a->outcome.started <= 0)
            collect_last_status(b);
        a->outcome.swept = (int)end_on_nodes(b);
        a->outcome.left += ti_launch_sweep(&p.proc, 0.2, &found);
    }
    ti__mpirun_close(b, &p);
    ti_fleet_ask_all(b->fleet, stop_request, b, END_LIMIT_S, "ending");
    say_what_was_ended(b);
    ti_runlog_note(&b->log, "mpirun ended with wait status %#x", (unsigned)p.proc.wait_status);
    a->signal = a->outcome.signal;
    if (b->nlost && !a->signal)
        return ti__nodes_lost(b, err);
    return TI_OK;
}
