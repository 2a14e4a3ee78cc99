/* Watching the run: progress, nodes in trouble, and how everything is ended. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "acquire/run/nodes.h"
#include "session/conn.h"

#define POLL_MS      250
#define STATUS_MS    1000
#define LAST_MS      50 /* between status messages after the end of mpirun */
#define DAEMONS_S    2.0
#define LAST_S       2.0
#define MANY_NODES   64   /* from here on nodes report less often */
#define QUIET_S      15.0 /* silence of a node after which a warning is given */
#define DEAF_S       5.0  /* a longer gap between two checks was ours */
#define GRACE_S      5.0  /* for mpirun to end after SIGTERM */
#define NODE_GRACE_S 1.0  /* for ranks to end after mpirun has */
#define END_LIMIT_S  20.0 /* for a node to end all processes and answer */
#define MEMORY_TIGHT                                                                               \
    4 /* the run is ended when less than 1 / MEMORY_TIGHT of a node's reserve is left */
#define DISK_BYTES (INT64_C(64) << 10)
#define SWAP_BYTES (INT64_C(16) << 20)

/* --- progress ------------------------------------------------------------ */

#define CLOCKS_S 86400.0 /* that a node's clock may be ahead of ours */

/* A number of a node's status, limited so that the sum over all nodes cannot overflow, whatever a
 * node sends. */
static int64_t number(const json_t *status, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(status, key));

    return v < 0 ? 0 : v > INT64_C(1) << 45 ? INT64_C(1) << 45 : v;
}

static void add_up(const struct ti_nodes_backend *b, struct ti_run_progress *p)
{
    double now = ti_wall() + CLOCKS_S;

    *p = (struct ti_run_progress){.nodes = b->nused};
    for (int64_t i = 0; i < b->nused; i++) {
        const json_t *s = b->used[i].status;
        double last = json_number_value(json_object_get(s, "last_start"));

        p->started += number(s, "started");
        p->finished += number(s, "finished");
        p->bytes += number(s, "bytes");
        if (last > p->last_start && last <= now)
            p->last_start = last;
    }
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
        ti_runlog_note(&b->a->log, "%s swaps", name);
    }
    if (json_is_integer(json_object_get(u->status, "room_bytes")) &&
        number(u->status, "room_bytes") <
            ti_node_resources(&b->in, u->node).reserve_bytes / MEMORY_TIGHT &&
        !u->short_of_memory) {
        u->short_of_memory = true;
        b->a->outcome.out_of_memory = true;
        snprintf(b->a->short_of_memory, sizeof b->a->short_of_memory, "%s", name);
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
    ti_runlog_note(&b->a->log, "%s has no room in %s", name, u->directory);
}

/* Warn of trouble on nodes, and of nodes that report nothing.  Silence during a gap of our own does
 * not count: this process may have been stopped, or blocked by the reader of its output. */
static void check_nodes(struct ti_nodes_backend *b)
{
    double now = ti_now();
    bool deaf = now - b->checked_at > DEAF_S;

    b->checked_at = now;
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

void ti__nodes_update(struct ti_acquisition *a, struct ti_run_progress *progress)
{
    struct ti_nodes_backend *b = a->state;

    if (b->mpirun.proc.running)
        check_nodes(b);
    add_up(b, progress);
}

int ti__nodes_wait(struct ti_acquisition *a, int ms)
{
    struct ti_nodes_backend *b = a->state;
    double until = ti_now() + ms / 1e3, left = ms / 1e3;
    int sig;

    do {
        ti_fleet_poll(b->fleet, (int)(left * 1e3));
        left = until - ti_now();
    } while (left > 1e-3 && !b->fleet->sig && !a->lost_nodes && ti_launch_running(&b->mpirun.proc));
    sig = b->fleet->sig;
    b->fleet->sig = 0; /* a further signal shortens what follows */
    return sig;
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

    b->a->outcome.not_told = 0;
    ti_fleet_ask_all(b->fleet, end_request, b, END_LIMIT_S, "ending the run");
    for (int64_t i = 0; i < b->nused; i++) {
        const struct ti_fleet_node *m = &b->fleet->member[b->used[i].node];

        if (!b->used[i].open)
            continue;
        if (!ti_fleet_ok(b->fleet, b->used[i].node, NULL)) {
            b->a->outcome.not_told++;
            ti_runlog_note(&b->a->log, "%s was not told to end the run",
                           b->sites->node[b->used[i].node].name);
            continue;
        }
        found += number(m->answer, "found");
        b->a->outcome.left += (int)number(m->answer, "left");
    }
    ti_runlog_note(&b->a->log, "%" PRId64 " processes were ended on the nodes", found);
    return found;
}

static void wait_for_end(struct ti_nodes_backend *b, struct ti_mpirun_proc *p, double seconds)
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
        wait_for_end(b, p, b->a->lost_nodes ? GRACE_S / 5 : GRACE_S);
    }
    if (ti_launch_running(&p->proc)) {
        killpg(p->proc.pid, SIGKILL);
        b->fleet->sig = 0;
        wait_for_end(b, p, GRACE_S);
    }
    b->fleet->sig = 0;
    end_on_nodes(b);
    b->a->outcome.left += ti_launch_sweep(&p->proc, 0.2, &found);
    if (!b->fleet->sig)
        b->fleet->sig = sig;
}

/* --- starting and stopping ----------------------------------------------- */

/* How often a node reports its status: while the ranks run; at the end; never. */
static json_t *watch_every(struct ti_nodes_backend *b, int64_t node, int ms)
{
    return ti__nodes_used(b, node) ? json_pack("{s:s, s:i}", "do", "watch", "every_ms", ms) : NULL;
}

static json_t *watch_request(struct ti_fleet *f, int64_t node, void *arg)
{
    struct ti_nodes_backend *b = arg;

    (void)f;
    return watch_every(b, node, b->nused > MANY_NODES ? 3 * STATUS_MS : STATUS_MS);
}

static json_t *last_request(struct ti_fleet *f, int64_t node, void *arg)
{
    (void)f;
    return watch_every(arg, node, LAST_MS);
}

static json_t *stop_request(struct ti_fleet *f, int64_t node, void *arg)
{
    (void)f;
    return watch_every(arg, node, 0);
}

ti_status ti__nodes_watch(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_fleet_ask_all(b->fleet, watch_request, b, END_LIMIT_S, "watching");
    b->checked_at = ti_now();
    for (int64_t i = 0; i < b->nused; i++) {
        b->fleet->member[b->used[i].node].doing = "running its ranks";
        b->used[i].status_at = b->checked_at;
    }
    return ti__nodes_trouble(b, err);
}

static bool has_processes(const struct ti_used_node *u)
{
    return number(u->status, "alive") > 0;
}

/* Ask the nodes for statuses until each has told one, or one without processes, for at most
 * `seconds`. */
static void collect_last_status(struct ti_nodes_backend *b, double seconds, bool without)
{
    double now = ti_now(), until;
    bool all_told = false;

    ti_fleet_ask_all(b->fleet, last_request, b, END_LIMIT_S, "looking");
    until = ti_conns_clock(b->fleet->conns) + seconds;
    while (!all_told && ti_conns_clock(b->fleet->conns) < until && !b->fleet->sig) {
        ti_fleet_poll(b->fleet, LAST_MS);
        all_told = true;
        for (int64_t i = 0; i < b->nused; i++)
            all_told = all_told && b->used[i].status && b->used[i].status_at > now &&
                       !(without && has_processes(&b->used[i]));
    }
}

void ti__nodes_sweep(struct ti_acquisition *a)
{
    struct ti_nodes_backend *b = a->state;
    int found;

    /* a short program may end before its nodes have reported its start */
    if (a->outcome.started <= 0 && !a->lost_nodes)
        collect_last_status(b, LAST_S, false);
    /* PRRTE's mpirun ends before its daemons, which are no processes that outlive it */
    if (ti_mpirun_is_prrte(&a->mpirun) && !a->lost_nodes)
        collect_last_status(b, DAEMONS_S, true);
    a->outcome.swept = (int)end_on_nodes(b);
    a->outcome.left += ti_launch_sweep(a->proc, 0.2, &found);
}

void ti__nodes_stop(struct ti_acquisition *a)
{
    struct ti_nodes_backend *b = a->state;

    if (a->proc) {
        ti__mpirun_close(b, &b->mpirun);
        ti_fleet_ask_all(b->fleet, stop_request, b, END_LIMIT_S, "ending");
        a->proc = NULL;
        a->forward = NULL;
    }
    ti_rsh_free(b->rsh);
    b->rsh = NULL;
}
